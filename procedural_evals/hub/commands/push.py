"""`upload.py push`: built folders into repositories of the Hub."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from procedural_evals.hub.sending import Target

HELP = "push datasets, metrics, cards or the leaderboard to repositories of the Hub"
DESCRIPTION = """Each repository is made if it is missing, private without --public, and gets
the new files in one commit: what is there already is not sent again, what the build no longer has
is removed. Interrupted, the same command goes on."""

#: Names may stand after the options, too.
ALSO_LAST = "names"
KINDS = ("datasets", "metrics", "cards", "leaderboard")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("kind", choices=KINDS, help="what to push")
    parser.add_argument(
        "names", nargs="*", default=[], metavar="NAME", help="only these (default: all)"
    )
    parser.add_argument(
        "--namespace", required=True, metavar="ORG", help="user or organization to push to"
    )
    parser.add_argument(
        "--public",
        action="store_true",
        help="make it public when its files are there; refused for what may not be passed on",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would be done, file by file, and change nothing on the Hub",
    )
    parser.add_argument("--verbose", action="store_true", help="print every file of the plan")
    parser.add_argument(
        "--build-dir",
        default="outputs",
        help="folder with what `build` has made; what is missing is built into it "
        "(default: %(default)s)",
    )
    parser.add_argument("--rebuild", action="store_true", help="build datasets anew before pushing")
    parser.add_argument(
        "--results",
        metavar="FOLDER|ORG/NAME",
        help="submissions for the leaderboard: a folder, or a repository of traces",
    )
    parser.add_argument(
        "--adopt",
        action="store_true",
        help="take over a repository that was filled by something else",
    )


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Push one after the other; the first that fails stops the rest."""
    del rest
    from procedural_evals.hub.plan import size_text
    from procedural_evals.hub.problems import PushError
    from procedural_evals.hub.push import push
    from procedural_evals.hub.tokens import open_session

    api = open_session(options.namespace).api  # before anything is built
    found = _targets(options)
    pushed: list[str] = []
    for number, target in enumerate(found):
        try:
            done = push(
                api,
                target,
                public=options.public,
                dry_run=options.dry_run,
                adopt=options.adopt,
                verbose=options.verbose,
            )
        except PushError as error:
            left = ", ".join(str(each) for each in found[number + 1 :]) or "none"
            raise PushError(f"{error}\nNot looked at: {left}") from error
        if options.dry_run:
            continue
        if done.commit is not None:
            pushed.append(str(target))
            sent, state = size_text(done.plan.upload_bytes), "public" if done.public else "private"
            print(f"{target}: pushed {sent} in {done.seconds:.1f} s, {state}, {done.url(api)}")
    if not options.dry_run and found:
        what = f"pushed {', '.join(pushed)}" if pushed else "already up to date"
        print(f"{what}; {len(found) - len(pushed)} of {len(found)} needed no commit")
    return 0


def _targets(options: argparse.Namespace) -> list[Target]:
    from procedural_evals.hub import targets

    namespace, build_dir = options.namespace, Path(options.build_dir)
    names = list(dict.fromkeys(options.names))
    if options.results and options.kind != "leaderboard":
        raise ValueError(f"--results goes with the leaderboard, not with {options.kind}")
    if options.kind == "datasets":
        return targets.datasets(names, namespace, build_dir, rebuild=options.rebuild)
    if options.kind == "metrics":
        return targets.metrics(names, namespace, build_dir)
    if options.kind == "cards":
        return targets.cards(names, namespace, build_dir)
    if names:
        raise ValueError(f"there is one leaderboard: leave out {' '.join(names)}")
    return targets.leaderboard(namespace, build_dir, options.results)
