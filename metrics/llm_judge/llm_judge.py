"""An LLM judge as an `evaluate` module: features, checks and a call into the library."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import datasets
import evaluate

from procedural_evals.judge.cache import ReplyCache
from procedural_evals.judge.judging import judge_items, make_judges
from procedural_evals.judge.rubric import JudgeItem
from procedural_evals.judge.summary import check_labels, summarise
from procedural_evals.scores.uncertainty import DRAWS

_DESCRIPTION = """
Mean score in [0, 100] that one or several LLM judges give to open answers under a rubric, with a
bootstrap interval, by category, and with what was left unjudged.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one answer an item, strings.
    references: a list of reference answers an item.
    model: the name of the judging model on its server; or
    judge: "lexical" (offline, compares words, not comparable), or a model's name; or
    judges: several of them, each a name or {"model": ..., "base_url": ..., ...}; an item's score is
        their mean.
    rubric: "promqa_ternary" (default), "procobject_four_dimensions", "dyad_response", or the path
        of a rubric file.
    questions, steps, contexts: one text, list of texts and text an item, as the rubric needs them.
    ids: one name an item; its number by default.
    categories: one label an item, or several lists by name.
    clusters: one recording an item, for the interval.
    cache_dir: where replies are kept (default: the user's cache folder).
    progress, retry_unjudged: show a bar; ask again where kept replies hold no verdict.
    base_url, key_variable, arguments, concurrency, timeout, retries, prices: how a model is asked.
    draws, seed: replicates of the bootstrap and its seed.
Returns:
    score in [0, 100] over judged items, None when there are none; interval, [low, high]; judged and
    total, counts; unjudged, a list of {"id", "judge", "reason"}; by_category, by_judge, grades,
    comparable, judges, usage.
Examples:
    >>> import evaluate
    >>> llm_judge = evaluate.load("metrics/llm_judge")
    >>> found = llm_judge.compute(
    ...     predictions=["Attach the roof."], references=[["attach roof"]], judge="lexical"
    ... )
    >>> found["score"], found["judged"], found["total"], found["comparable"]
    (100.0, 1, 1, False)
"""

_CITATION = """
@inproceedings{zheng2023judging,
  title = {Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena},
  author = {Zheng, Lianmin and others},
  booktitle = {NeurIPS Datasets and Benchmarks},
  year = {2023}
}
"""


class LLMJudge(evaluate.Metric):
    """LLM judges under a rubric; see the card beside this file."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.List(datasets.Value("string")),
                }
            ),
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        model: str | None = None,
        judge: str | None = None,
        judges: Sequence[Any] | None = None,
        rubric: str = "promqa_ternary",
        questions: Sequence[str] | None = None,
        steps: Sequence[Sequence[str] | None] | None = None,
        contexts: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        categories: Any = None,
        clusters: Sequence[Hashable] | None = None,
        cache_dir: str | None = None,
        progress: bool | None = None,
        retry_unjudged: bool = False,
        draws: int = DRAWS,
        seed: int = 0,
        **endpoint: Any,
    ) -> dict[str, Any]:
        chosen = [name for name in (model, judge, *(judges or ())) if name is not None]
        if not chosen or (judges and len(chosen) > len(judges)):
            raise ValueError('choose one of model="NAME", judge="lexical" and judges=[...]')
        total = len(predictions)
        columns = {"questions": questions, "steps": steps, "contexts": contexts, "ids": ids}
        for name, values in columns.items():
            if values is not None and len(values) != total:
                raise ValueError(f"{name}: {len(values)} for {total} predictions; give one an item")
        items = [
            JudgeItem(
                id=str(n) if ids is None else str(ids[n]),
                prediction=predictions[n],
                answers=tuple(references[n] or ()),
                question="" if questions is None else questions[n],
                steps=None if steps is None or steps[n] is None else tuple(steps[n] or ()),
                context="" if contexts is None else contexts[n],
            )
            for n in range(total)
        ]
        check_labels(total, categories, clusters)
        asked = make_judges(chosen, rubric, **endpoint)
        with ReplyCache(cache_dir) as cache:
            judging = judge_items(items, asked, cache, progress, retry_unjudged=retry_unjudged)
        return summarise(judging, categories, clusters, draws, seed)
