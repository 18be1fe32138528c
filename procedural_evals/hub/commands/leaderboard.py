"""`upload.py leaderboard`: the page of published and submitted results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from huggingface_hub import HfApi

HELP = "show the leaderboard here, or write and push it as a Space"
DESCRIPTION = """Without --serve and --push the Space is written into a folder (--out). Published
rows come with the package; --results adds submissions, from a folder of traces or a repository."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--results",
        metavar="FOLDER|ORG/REPO",
        help="submissions: a folder as `submit` lays it out, or a traces repository on the Hub",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        metavar="DIR",
        help="where the Space is written (default: outputs/procedural-video-leaderboard)",
    )
    parser.add_argument("--serve", action="store_true", help="show it in the browser, from here")
    parser.add_argument(
        "--port", type=_port, help="with --serve (default: the first free from 7860)"
    )
    parser.add_argument("--push", metavar="ORG", help="push the Space to this user or organization")
    parser.add_argument("--public", action="store_true", help="with --push: make it public")
    parser.add_argument(
        "--dry-run", action="store_true", help="with --push: change nothing on the Hub"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text!r} is no port, 1 to {(1 << 16) - 1}")
    return int(text)


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Serve until interrupted, or write the Space and push it where that is asked for."""
    del rest
    if options.serve and (options.push or options.out):
        raise ValueError("--serve shows the page from here; leave out --out and --push")
    if (options.public or options.dry_run) and not options.push:
        raise ValueError("--public and --dry-run belong to --push ORG")
    if options.results:
        _say_what_is_there(options.results, must_be_read=bool(options.push))
    if options.serve:
        return _serve(options.results, options.port)
    from procedural_evals.hub import spaces

    api = _session(options.push) if options.push else None  # before anything is built
    folder = spaces.build_leaderboard(
        options.out or Path("outputs") / spaces.LEADERBOARD, options.results
    )
    print(
        f"{folder}: written; `python app.py` there runs it with requirements.txt and gradio alone"
    )
    if api is not None:
        _push(api, folder, options)
    return 0


def _say_what_is_there(results: str, must_be_read: bool) -> None:
    """How many submissions a folder or repository holds, and what in it is none.

    A repository that cannot be read now is named on stderr; ValueError if it must be.
    """
    from procedural_evals.hub.leaderboard_app import read_now
    from procedural_evals.hub.leaderboard_submitted import submitted_entries
    from procedural_evals.printable import printable

    try:
        folder = read_now(results)
    except ValueError as error:
        if must_be_read:
            raise
        print(printable(f"{error}\nThe page is without them until it can."), file=sys.stderr)
        return
    rows, problems = submitted_entries(folder) if folder is not None else ([], [])
    count = f"{len(rows)} submitted row{'' if len(rows) == 1 else 's'}"
    place = Path(results).expanduser() if Path(results).expanduser().is_dir() else results
    lines = [f"{place}: {count}", *(f"  left out, {each}" for each in problems)]
    if not rows and not problems:
        lines[0] += "; submissions lie in BENCHMARK/ORG--MODEL/TASK, as `submit` sends them"
    print(printable("\n".join(lines)))


def _serve(results: str | None, port: int | None) -> int:
    from procedural_evals.hub import leaderboard_app

    source = leaderboard_app.source_of(results)
    page = leaderboard_app.page(leaderboard_app.Results(source))
    page.launch(server_port=port, **leaderboard_app.options())
    return 0


def _session(namespace: str) -> HfApi:
    from procedural_evals.hub.tokens import open_session

    return open_session(namespace).api


def _push(api: HfApi, folder: Path, options: argparse.Namespace) -> None:
    from procedural_evals.hub.push import push
    from procedural_evals.hub.sending import Target
    from procedural_evals.hub.spaces import LEADERBOARD

    target = Target(folder, f"{options.push}/{LEADERBOARD}", "space", "gradio", built=True)
    done = push(api, target, public=options.public, dry_run=options.dry_run)
    if not options.dry_run:
        print(f"{target}: {done.url(api)}" if done.commit else f"{target}: already up to date")
