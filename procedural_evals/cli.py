"""The command line, `procedural-evals`: a shell over `procedural_evals.commands`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from procedural_evals import __version__, commands
from procedural_evals.printable import printable


def _module(package: ModuleType, name: str) -> ModuleType:
    return import_module(f"{package.__name__}.{name.replace('-', '_')}")


def _parser(package: ModuleType, prog: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--version", action="version", version=__version__)
    chosen = parser.add_subparsers(dest="command", required=True)
    for name in package.NAMES:
        module = _module(package, name)
        module.configure(
            chosen.add_parser(
                name, help=module.HELP, description=getattr(module, "DESCRIPTION", None)
            )
        )
    return parser


def run_command(
    package: ModuleType, prog: str, description: str, arguments: Sequence[str] | None = None
) -> int:
    """Run one command of a package of commands, such as `procedural_evals.commands`.

    The exit status is what the command returns, 2 for a wrong argument or a missing file, 130
    after an interrupt, 141 when the reader of its output has gone.
    """
    parser = _parser(package, prog, description)
    options, rest = parser.parse_known_args(arguments)
    module = _module(package, options.command)
    # argparse takes no positional arguments after an option once it has seen some before it.
    takes = getattr(module, "ALSO_LAST", None)
    if takes is not None and not any(word.startswith("-") for word in rest):
        setattr(options, takes, [*getattr(options, takes), *rest])
        rest = []
    if rest and not getattr(module, "PASSES_ON", False):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        status = int(module.execute(options, rest))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read along, such as `head`, has seen enough; nothing more is written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (ImportError, OSError, KeyError, ValueError, RuntimeError) as error:
        message = error.args[0] if isinstance(error, KeyError) else error
        print(f"{prog} {options.command}: {printable(str(message))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 2 for a wrong argument or a missing file."""
    return run_command(
        commands,
        prog="procedural-evals",
        description="Benchmarks of procedural video understanding.",
        arguments=arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
