"""Labels of an `evaluate` metric reach its computation as they were given, or not at all.

The storage behind `evaluate` cuts 1.5 to 1, turns 1 into "1" once a string came first, and refuses
a missing answer in the first place. A metric on labels puts this class before `evaluate.Metric`
and declares two choices of features: with strings, then with whole numbers.
"""

from __future__ import annotations

from typing import Any

from procedural_evals.scores.labels import label_kind

# The order in which a metric on labels declares its features.
KINDS = ("string", "int64")


class LabelMetric:
    """Mixin that checks labels before they are stored; None is no label and is let through.

    A configuration with a single choice of features has no labels of its own: nothing is checked.
    """

    # Both are evaluate.EvaluationModule's, behind this class in the order of bases.
    info: Any

    def add_batch(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> None:
        """Check that all labels have one type, and take them in."""
        choices = self.info.features
        if isinstance(choices, list):
            kind = label_kind(predictions=predictions, references=references)
            self.info.features = choices[KINDS.index(kind)]
        try:
            super().add_batch(  # type: ignore[misc]
                predictions=predictions, references=references, **inputs
            )
        finally:
            self.info.features = choices

    def _enforce_nested_string_type(self, schema: Any, obj: Any) -> None:
        if obj is not None:
            super()._enforce_nested_string_type(schema, obj)  # type: ignore[misc]
