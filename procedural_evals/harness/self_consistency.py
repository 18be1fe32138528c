"""Self-consistency: a question is asked several times, and the commonest answer counts.

The task's `repeats` says how often each request is made, its `temperature` how much the samples
differ; `EveryReply` hands all of them to `process`, where lmms-eval's default keeps the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_eval.api.filter import Filter

from procedural_evals import replies
from procedural_evals.harness import records
from procedural_evals.harness.protocols import Doc, MultipleChoice
from procedural_evals.scores.voting import majority_vote

VOTE_METRICS = (*records.CHOICE_METRICS, "single_sample_accuracy", "vote_agreement")


class EveryReply(Filter):  # type: ignore[misc]
    """All replies to a request, in the order in which they were made."""

    def apply(self, resps: Iterable[Any], docs: Any) -> list[Any]:
        """The replies as they are: a list for each request."""
        return list(resps)


@dataclass(frozen=True)
class SelfConsistency(MultipleChoice):
    """Multiple choice whose letter is that of most samples (`voting.majority_vote`).

    An item of which a sample failed is a failed item: a vote of fewer samples is another protocol.
    Its record is that of the first sample that chose the winner, and holds besides: `votes` by
    letter, `num_samples`, `agreement` in [0, 100], and what each of the `samples` said.
    """

    metrics: tuple[str, ...] = field(default=VOTE_METRICS)

    def process(self, doc: Doc, results: Sequence[Any]) -> dict[str, records.Record]:
        """The item's record under every metric of the task, from all of its replies."""
        given = results[0] if results and isinstance(results[0], list) else list(results)
        return records.under_metrics(self.voted(doc, given), self.metrics)

    def voted(self, doc: Doc, given: Sequence[Any]) -> records.Record:
        """The record of the vote over these replies."""
        if not given:
            return self.record(doc, f"{replies.FAILURE_MARKS[1]}] the model gave no reply")
        samples = [self.record(doc, self.reply_text(reply)) for reply in given]
        for number, sample in enumerate(samples, 1):
            if sample["failure"] is not None:
                # Where a row cannot be shown, every sample says so in the same words.
                if any(other["failure"] != sample["failure"] for other in samples):
                    where = f"sample {number} of {len(samples)}"
                    sample["failure"] = f"{where}: {sample['failure']}"
                return sample
        vote = majority_vote([sample["letter"] for sample in samples])
        chosen = next(sample for sample in samples if sample["letter"] == vote.winner)
        return chosen | {
            "votes": vote.counts,
            "num_samples": vote.samples,
            "agreement": vote.agreement,
            "samples": [
                {key: sample[key] for key in ("reply", "letter", "reason")} for sample in samples
            ],
        }
