"""Records of made-up runs, one maker a kind, for tests of comparisons and audits."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from procedural_evals.dyad.vocabulary import MODES, STEPS

LETTERS = "ABCD"
Records = list[dict[str, Any]]


def _common(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"q{number:03}",
        "reply": f"reply {number}",
        "template": "bench/video@0123456789ab",
        "revision": "local:questions.jsonl@0123456789ab",
        "failure": None,
        "shown": ["video"],
        "frame_plan": "8 uniform",
        "frame_times": [0.0, float(number)],
        "decoder": "frames-1 av-15",
        **more,
    }


def choice(n: int = 40, clusters: int = 12, rate: float = 0.5, seed: int = 0) -> Records:
    """Questions with four options; right answers at that rate."""
    generator = random.Random(seed)
    records = []
    for number in range(n):
        gold = LETTERS[number * 7 % 4]
        wrong = [letter for letter in LETTERS if letter != gold]
        letter = gold if generator.random() < rate else generator.choice(wrong)
        records.append(
            _common(
                number,
                kind="choice",
                cluster=f"v{number % clusters}",
                category=("mate", "track")[number % 2],
                gold=gold,
                num_options=4,
                parser="choices-2",
                letter=letter,
                reason=None,
                score=100.0 * (letter == gold),
            )
        )
    return records


def judged(n: int = 40, clusters: int = 12, rate: float = 0.5, seed: int = 0) -> Records:
    """Open answers with a judge's score of 0, 50 or 100."""
    generator = random.Random(seed)
    return [
        _common(
            number,
            kind="judged",
            rubric="promqa_ternary",
            encoder="none",
            judge="lexical",
            cluster=f"v{number % clusters}",
            groups={"type": ("past", "next")[number % 2]},
            question=f"question {number}?",
            answers=[f"answer {number}"],
            prediction=f"prediction {number} of {seed}",
            judges=["lexical@1|promqa_ternary@1"],
            judge_score=100.0 if generator.random() < rate else generator.choice([0.0, 50.0]),
            grades={"Judge": 1.0},
        )
        for number in range(n)
    ]


def grounded(n: int = 40, clusters: int = 12, rate: float = 0.5, seed: int = 0) -> Records:
    """Judged answers with evidence spans of which some part is right."""
    generator = random.Random(seed + 1000)
    return [
        record
        | {
            "kind": "grounded",
            "parser": "2",
            "spans": [[0.0, round(generator.uniform(1, 10), 2)]],
            "invalid_spans": 0,
            "evidence": [[0.0, 5.0]],
        }
        for record in judged(n, clusters, rate, seed)
    ]


def modes(n: int = 60, clusters: int = 12, rate: float = 0.6, seed: int = 0) -> Records:
    """DYAD's interventions, spoken or physical."""
    generator = random.Random(seed)
    records = []
    for number in range(n):
        gold = MODES[number % 3 == 0]
        other = next(mode for mode in MODES if mode != gold)
        named = gold if generator.random() < rate else generator.choice([other, None])
        records.append(
            _common(
                number,
                kind="mode",
                cluster=f"p{number % clusters}",
                session=f"s{number % clusters}",
                fold=0,
                gold=gold,
                parser="choices-2",
                column=None if named is None else MODES.index(named),
                prediction=named,
                reason=None,
            )
        )
    return records


def steps(n: int = 240, clusters: int = 12, rate: float = 0.7, seed: int = 0) -> Records:
    """DYAD's seconds: one session a participant, steps of five seconds, some without a label."""
    generator = random.Random(seed)
    seconds = n // clusters
    records = []
    for number in range(n):
        person, second = divmod(number, seconds)
        gold = None if second % 10 == 9 else STEPS[second // 5 % len(STEPS)]
        right = gold is not None and generator.random() < rate
        column = STEPS.index(gold) if right else generator.randrange(len(STEPS))
        records.append(
            _common(
                number,
                kind="steps",
                cluster=f"p{person:02}",
                session=f"s{person:02}",
                time=float(second),
                decoding="smoothing=1,margin=0,dwell=1,pmi=yes",
                gold=gold,
                parser="choices-2",
                column=column,
                prediction=STEPS[column],
                reason=None,
            )
        )
    return records


KINDS = {
    "choice": choice,
    "judged": judged,
    "grounded": grounded,
    "mode": modes,
    "steps": steps,
}
_WHOLE_UNDER = {"choice": "accuracy", "grounded": "iou", "mode": "macro_f1", "steps": "f1_10"}


def write_run(
    folder: Path,
    tasks: dict[str, Records],
    model: str = "m",
    date: str = "20260101_000000",
    judgements: bool = True,
    **config: Any,
) -> Path:
    """A results folder as lmms-eval and `procedural-evals run` leave it; the results file."""
    folder.mkdir(parents=True, exist_ok=True)
    results = {
        "config": {"model": model, "model_args": "size=1", **config},
        "configs": {
            task: {"generation_kwargs": {"temperature": 0}, "package_versions": {"av": "15"}}
            for task in tasks
        },
        "n-samples": {
            task: {"original": len(records), "effective": len(records)}
            for task, records in tasks.items()
        },
    }
    for task, records in tasks.items():
        lines = []
        verdicts = []
        for number, record in enumerate(records):
            verdict = ("judge_score", "judges", "grades")
            plain = {key: value for key, value in record.items() if key not in verdict}
            name = _WHOLE_UNDER.get(record["kind"], "judge")
            lines.append(json.dumps({"doc_id": number, name: plain}))
            if judgements and "judges" in record:
                verdicts += [
                    json.dumps(
                        {
                            "item": record["id"],
                            "judge": judge,
                            "grades": record["grades"],
                            "score": record["judge_score"],
                        }
                    )
                    for judge in record["judges"]
                ]
        (folder / f"{date}_samples_{task}.jsonl").write_text("\n".join(lines) + "\n")
        if verdicts:
            (folder / f"{date}_judgements_{task}.jsonl").write_text("\n".join(verdicts) + "\n")
    file = folder / f"{date}_results.json"
    file.write_text(json.dumps(results))
    return file
