"""Flat-Pack Bench for lmms-eval: its three protocols, under the names that the task files use."""

from procedural_evals.harness.protocols import MultipleChoice

TASKS = ("track", "tord", "tloc", "mate")


def protocol(template: str, *columns: str) -> MultipleChoice:
    """Flat-Pack Bench's protocol with these media, in this order, before the question."""
    return MultipleChoice("flatpack_bench", template, columns, categories=TASKS)


VIDEO = protocol("video", "video", "visual_prompts")
IMAGE_ONLY = protocol("image_only", "visual_prompts")
BLIND = protocol("blind")

target = VIDEO.target

video_messages, video_visuals = VIDEO.messages, VIDEO.visuals
video_text, video_process = VIDEO.text, VIDEO.process

image_only_messages, image_only_visuals = IMAGE_ONLY.messages, IMAGE_ONLY.visuals
image_only_text, image_only_process = IMAGE_ONLY.text, IMAGE_ONLY.process

blind_messages, blind_visuals = BLIND.messages, BLIND.visuals
blind_text, blind_process = BLIND.text, BLIND.process
