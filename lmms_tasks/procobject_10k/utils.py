"""ProcObject-10K for lmms-eval: frames with their times, the video itself, or the words alone."""

from procedural_evals.harness.judging import require_judge
from procedural_evals.harness.protocols import FramePlan, OpenAnswer
from procedural_evals.harness.records import GROUNDED_METRICS, JUDGED_METRICS
from procedural_evals.harness.similarity import require_encoder
from procedural_evals.layouts.procobject_10k import QUESTION_TYPES, REASONINGS
from procedural_evals.published_rows import with_media

RUBRIC = "procobject_four_dimensions"
PLAN = FramePlan.from_environment(32, "uniform", (640, 360))


def protocol(template, *columns, grounded=True):
    """ProcObject-10K's protocol with these media before the question."""
    return OpenAnswer(
        "procobject_10k",
        template,
        columns,
        PLAN,
        metrics=GROUNDED_METRICS if grounded else JUDGED_METRICS,
        rubric=RUBRIC,
        cluster="video_path",
        groups={
            "reasoning": list(REASONINGS.values()),
            "question_type": list(QUESTION_TYPES.values()),
        },
        grounded=grounded,
        reads_json=True,
    )


FRAMES = protocol("frames", "frames")
VIDEO = protocol("video", "clip")
EXCERPT = protocol("video")  # the published examples come without their videos
BLIND = protocol("blind", grounded=False)

target = FRAMES.target

frames_messages, frames_visuals = FRAMES.messages, FRAMES.visuals
frames_text, frames_process = FRAMES.text, FRAMES.process

video_messages, video_visuals = VIDEO.messages, VIDEO.visuals
video_text, video_process = VIDEO.text, VIDEO.process

excerpt_messages, excerpt_visuals = EXCERPT.messages, EXCERPT.visuals
excerpt_text, excerpt_process = EXCERPT.text, EXCERPT.process

blind_messages, blind_visuals = BLIND.messages, BLIND.visuals
blind_text, blind_process = BLIND.text, BLIND.process


def require_scorers(rows):
    """Stop before any model request when the judge or the encoder cannot be used."""
    require_judge(RUBRIC)
    require_encoder()
    return with_media(rows)
