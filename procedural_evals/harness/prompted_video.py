"""A multiple-choice question whose visual prompts are shown inside the video."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from procedural_evals import folders, prompted_video, video
from procedural_evals.harness import records
from procedural_evals.harness.protocols import (
    Doc,
    MultipleChoice,
    frames_for_video,
    in_place_of_video,
    rounded,
)
from procedural_evals.harness.shown import recall


@dataclass(frozen=True)
class PromptedVideo(MultipleChoice):
    """The video and the visual prompts of a row as one video (`procedural_evals.prompted_video`).

    It has `plan.count` frames at most: a model that takes as many sees them all. A reply to a
    `concat` of which the model itself says that it took other frames than the prompts is no answer.

    Attributes:
        form: one of `prompted_video.FORMS`.
    """

    form: str = "concat"

    def _form(self) -> prompted_video.Plan:
        plan = self._plan()
        return prompted_video.Plan(self.form, plan.count, plan.rule, plan.size or (640, 480))

    def _media(self, doc: Doc) -> tuple[list[Any], tuple[float, ...]]:
        path, prompts = Path(doc["video"]["path"]), doc["visual_prompts"]
        if not frames_for_video():
            folder = folders.cache("prompted-videos")
            return [str(prompted_video.prompted_video(path, prompts, self._form(), folder))], ()
        frames, times = prompted_video.pictures(path, prompts, self._form())
        return in_place_of_video([Image.fromarray(frame) for frame in frames]), rounded(times)

    def failure(self, doc: Doc, reply: str) -> str | None:
        """Also a failure: the model's own choice of frames left out a visual prompt."""
        return super().failure(doc, reply) or self._lost_prompt(doc)

    def _lost_prompt(self, doc: Doc) -> str | None:
        taken = recall(self.key(doc)).frame_times
        if self.form != "concat" or not taken or frames_for_video():
            return None
        count = len(doc["frame_indices"])
        rate = float(self._form().rate(Path(doc["video"]["path"]), count))
        seen = {round(time * rate) for time in taken}
        if seen.issuperset(range(count)):
            return None
        return (
            f"the model took {len(taken)} frames of the video and not all of its {count} visual "
            f"prompts; make the video as short as that with --frames {len(taken)}"
        )

    def _frames_record(self, times: tuple[float, ...]) -> records.Record:
        return {
            "frame_plan": f"{self.form} {self._plan()}",
            "frame_times": list(times),
            "decoder": video.DECODER_VERSION,
        }
