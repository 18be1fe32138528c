"""The command line, `procedural-evals`: one function a command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="procedural-evals", description="Benchmarks of procedural video understanding."
    )
    commands = parser.add_subparsers(dest="command", required=True)

    run = commands.add_parser(
        "run",
        help="run lmms-eval and print scores with intervals",
        description="Every other argument goes to lmms-eval as it is: --model, --tasks, ...",
    )
    run.add_argument("--processes", type=int, default=1, help="processes to start (torchrun)")
    run.add_argument(
        "--judge", help="who judges open answers: MODEL, MODEL@http://HOST/v1, lexical or none"
    )
    run.add_argument("--judge-concurrency", type=int, help="judge requests at once (default 16)")
    run.add_argument("--judge-max-tokens", type=int, help="longest judge reply (default 1024)")
    run.add_argument("--encoder", help="for similarities: MODEL, MODEL@LAYER, packaged or none")
    run.add_argument("--frames", type=int, help="frames shown, instead of the protocol's own")
    run.add_argument(
        "--video-as",
        choices=("file", "frames"),
        help="show videos as files (default) or as frames, for models that take pictures only",
    )
    run.add_argument("--sampling", help="uniform or stride_from_end, instead of the protocol's own")
    run.add_argument("--view", help="camera of the recordings (promqa-assembly)")
    run.add_argument("--allow-failed", action="store_true", help="exit 0 although items failed")
    run.add_argument(
        "--allow-unjudged", action="store_true", help="exit 0 although some have no verdict"
    )

    check = commands.add_parser(
        "check-data", help="say what of a benchmark's files is missing, damaged or extra"
    )
    check.add_argument("name", help="dataset name, for example flatpack-bench")
    check.add_argument(
        "--data-dir", help="folder to look into (default: $PROCEDURAL_EVALS_DATA/NAME)"
    )

    sheet = commands.add_parser(
        "contact-sheet", help="put the pictures of a dozen rows on one page, to look at"
    )
    sheet.add_argument("name", help="dataset name, for example flatpack-bench")
    sheet.add_argument("--config", help="its configuration, for example sample")
    sheet.add_argument("--data-dir", help="folder with its files")
    sheet.add_argument("--out", default="contact-sheet.png", help="picture to write")

    report = commands.add_parser(
        "report", help="print a run's scores beside the published ones, and what they rest on"
    )
    report.add_argument("results", help="results folder of a run, or its results file")
    report.add_argument("--judge", help="as for run (default: the run's own)")
    report.add_argument("--encoder", help="MODEL, MODEL@LAYER, packaged or none, for similarities")

    audit = commands.add_parser(
        "judge-audit", help="compare several judges over the same answers, and with people"
    )
    audit.add_argument("answers", nargs="+", help="predictions (.json, .jsonl) or results folders")
    audit.add_argument("--judge", action="append", required=True, help="once a judge, as for run")
    audit.add_argument("--rubric", help="name or file (default: the runs' own, or promqa_ternary)")
    audit.add_argument(
        "--human",
        help="people's grades (.csv, .json, .jsonl): id, grade, predictor as the tables name it",
    )
    audit.add_argument("--out", help="JSON file for the tables")

    simulate = commands.add_parser(
        "simulate", help="write a simulated assembly world in a benchmark's layout"
    )
    simulate.add_argument("name", nargs="?", help="dataset name, for example flatpack-bench")
    simulate.add_argument("--out", help="folder to write to: new or empty")
    simulate.add_argument("--count", type=int, default=4, help="products, toys or sessions (4)")
    simulate.add_argument("--seed", type=int, default=0, help="another seed is another world (0)")
    simulate.add_argument("--difficulty", default="medium", help="easy, medium or hard (medium)")
    simulate.add_argument(
        "--sample", action="store_true", help="make the embedded sample anew, of NAME or of all"
    )

    demo = commands.add_parser("demo", help="score the reference policies on the embedded sample")
    demo.add_argument("--output", help="folder for results (default: a new temporary one)")
    return parser


def _set(variables: dict[str, object]) -> None:
    """Settings go through the environment: lmms-eval runs in a process (or several) of its own."""
    for name, value in variables.items():
        if value is not None:
            os.environ[name] = str(value)


def _run(options: argparse.Namespace, rest: Sequence[str]) -> int:
    from procedural_evals import registry
    from procedural_evals.harness import judging, protocols, runner, similarity

    _set(
        {
            judging.JUDGE_VARIABLE: options.judge,
            judging.CONCURRENCY_VARIABLE: options.judge_concurrency,
            judging.MAX_TOKENS_VARIABLE: options.judge_max_tokens,
            similarity.ENCODER_VARIABLE: options.encoder,
            protocols.FRAMES_VARIABLE: options.frames,
            protocols.SAMPLING_VARIABLE: options.sampling,
            protocols.VIDEO_AS_VARIABLE: options.video_as,
            registry.VIEW_VARIABLE: options.view,
        }
    )
    return runner.run(rest, options.processes, options.allow_failed, options.allow_unjudged)


def _check_data(options: argparse.Namespace) -> int:
    from procedural_evals import registry
    from procedural_evals.harness import media_check

    report = media_check.check(options.name, options.data_dir)
    print("\n".join(report.lines(registry.builder_class(options.name).HUB_REPOS)))
    return 0 if report.complete else 1


def _contact_sheet(options: argparse.Namespace) -> int:
    from procedural_evals import contact_sheet

    count = contact_sheet.make_contact_sheet(
        options.name, Path(options.out), options.config, data_dir=options.data_dir
    )
    print(f"{count} pictures in {options.out}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from procedural_evals.harness import judging, report

    _set({judging.JUDGE_VARIABLE: options.judge})
    print(report.report(Path(options.results), options.encoder))
    return 0


def _judge_audit(options: argparse.Namespace) -> int:
    from procedural_evals.harness import judge_audit

    return judge_audit.run(
        [Path(path) for path in options.answers],
        options.judge,
        options.rubric,
        Path(options.human) if options.human else None,
        Path(options.out) if options.out else None,
    )


def _simulate(options: argparse.Namespace) -> int:
    from procedural_evals import folders
    from procedural_evals.simulator import writers

    if options.sample:
        for name in [options.name] if options.name else writers.WRITERS:
            folder = folders.dataset_scripts() / name.replace("-", "_") / "sample"
            print(writers.make_sample(name, folder))
    elif options.name and options.out:
        print(
            writers.simulate(
                options.name, Path(options.out), options.count, options.seed, options.difficulty
            )
        )
    else:
        raise ValueError("say NAME and --out FOLDER, or --sample for the embedded samples")
    return 0


def _demo(options: argparse.Namespace) -> int:
    from procedural_evals.harness import demo

    return demo.run(options.output)


COMMANDS = {
    "check-data": _check_data,
    "contact-sheet": _contact_sheet,
    "report": _report,
    "judge-audit": _judge_audit,
    "simulate": _simulate,
    "demo": _demo,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 2 for a wrong argument or a missing file."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "run":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        if options.command == "run":
            return _run(options, rest)
        return COMMANDS[options.command](options)
    except (ImportError, OSError, KeyError, ValueError, RuntimeError) as error:
        message = error.args[0] if isinstance(error, KeyError) else error
        print(f"procedural-evals {options.command}: {message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
