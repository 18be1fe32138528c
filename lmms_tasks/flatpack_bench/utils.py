"""Flat-Pack Bench for lmms-eval: its protocols, under the names that the task files use."""

from typing import Any

from procedural_evals.harness.prompted_video import PromptedVideo
from procedural_evals.harness.protocols import FramePlan, MultipleChoice
from procedural_evals.harness.records import CHOICE_METRICS
from procedural_evals.harness.self_consistency import SelfConsistency

TASKS = ("track", "tord", "tloc", "mate")
SHOWN = ("video", "visual_prompts")


def protocol(
    template: str, *columns: str, kind: type[MultipleChoice] = MultipleChoice, **more: Any
) -> MultipleChoice:
    """Flat-Pack Bench's protocol with these media, in this order, before the question."""
    return kind("flatpack_bench", template, columns, categories=TASKS, **more)


def prompted(form: str) -> MultipleChoice:
    """The protocol whose visual prompts are inside the video."""
    plan = FramePlan.from_environment(32, "uniform", (640, 480))
    return protocol(form, *SHOWN, kind=PromptedVideo, form=form, plan=plan)


VIDEO = protocol("video", *SHOWN)
IMAGE_ONLY = protocol("image_only", "visual_prompts")
BLIND = protocol("blind")
COT = protocol("cot", *SHOWN, explicit=True)
VOTED = protocol("cot", *SHOWN, kind=SelfConsistency, explicit=True)
ORDERS = protocol("video", *SHOWN, metrics=(*CHOICE_METRICS, "strict", "majority", "any"))
CONCAT = prompted("concat")
COLLAGE = prompted("collage")

target = VIDEO.target

video_messages, video_visuals = VIDEO.messages, VIDEO.visuals
video_text, video_process = VIDEO.text, VIDEO.process

image_only_messages, image_only_visuals = IMAGE_ONLY.messages, IMAGE_ONLY.visuals
image_only_text, image_only_process = IMAGE_ONLY.text, IMAGE_ONLY.process

blind_messages, blind_visuals = BLIND.messages, BLIND.visuals
blind_text, blind_process = BLIND.text, BLIND.process

cot_messages, cot_visuals = COT.messages, COT.visuals
cot_text, cot_process = COT.text, COT.process

voted_process, orders_process = VOTED.process, ORDERS.process

concat_messages, concat_visuals = CONCAT.messages, CONCAT.visuals
concat_text, concat_process = CONCAT.text, CONCAT.process

collage_messages, collage_visuals = COLLAGE.messages, COLLAGE.visuals
collage_text, collage_process = COLLAGE.text, COLLAGE.process
