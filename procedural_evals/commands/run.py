"""`procedural-evals run`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from procedural_evals.commands import set_variables

HELP = "run lmms-eval and print scores with intervals"
DESCRIPTION = "Every other argument goes to lmms-eval as it is: --model, --tasks, ..."
PASSES_ON = True


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--processes", type=int, default=1, help="processes to start (torchrun)")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="ask everything anew, also what is kept in OUTPUT_PATH/.responses",
    )
    parser.add_argument(
        "--judge", help="who judges open answers: MODEL, MODEL@http://HOST/v1, lexical or none"
    )
    parser.add_argument("--judge-concurrency", type=int, help="judge requests at once (default 16)")
    parser.add_argument("--judge-max-tokens", type=int, help="longest judge reply (default 1024)")
    parser.add_argument("--encoder", help="for similarities: MODEL, MODEL@LAYER, packaged or none")
    parser.add_argument(
        "--frames", type=int, metavar="N", help="frames shown, instead of the protocol's own"
    )
    parser.add_argument(
        "--video-as",
        choices=("file", "frames"),
        help="show videos as files (default) or as frames, for models that take pictures only",
    )
    parser.add_argument(
        "--sampling",
        metavar="RULE",
        help="uniform or stride_from_end, instead of the protocol's own",
    )
    parser.add_argument("--view", help="camera of the recordings (promqa-assembly)")
    parser.add_argument("--allow-failed", action="store_true", help="exit 0 although items failed")
    parser.add_argument(
        "--allow-unjudged", action="store_true", help="exit 0 although some have no verdict"
    )


def execute(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run lmms-eval with the settings in its environment; the exit status."""
    from procedural_evals import registry
    from procedural_evals.harness import (
        judging,
        preflight,
        protocols,
        response_log,
        runner,
        similarity,
    )

    if preflight.only_replies(rest):  # which nothing scores, so that whatever would is not needed
        options.judge, options.encoder = judging.NO_JUDGE, similarity.NONE
    set_variables(
        {
            judging.JUDGE_VARIABLE: options.judge,
            judging.CONCURRENCY_VARIABLE: options.judge_concurrency,
            judging.MAX_TOKENS_VARIABLE: options.judge_max_tokens,
            similarity.ENCODER_VARIABLE: options.encoder,
            protocols.FRAMES_VARIABLE: options.frames,
            protocols.SAMPLING_VARIABLE: options.sampling,
            protocols.VIDEO_AS_VARIABLE: options.video_as,
            registry.VIEW_VARIABLE: options.view,
            response_log.FRESH_VARIABLE: "1" if options.fresh else None,
        }
    )
    preflight.check(rest)
    return runner.run(rest, options.processes, options.allow_failed, options.allow_unjudged)
