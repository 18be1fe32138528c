"""ProMQA (cooking) for lmms-eval: the recipe's graph with frames, or the graph alone."""

from procedural_evals.harness.judging import require_judge as _require_judge
from procedural_evals.harness.protocols import FramePlan, OpenAnswer
from procedural_evals.layouts.promqa_cooking import QUESTION_TYPES
from procedural_evals.published_rows import with_media

RUBRIC = "promqa_ternary"

PLAN = FramePlan.from_environment(20, "uniform", (640, 360))


def protocol(template, *columns):
    """ProMQA's protocol with these inputs before the question."""
    return OpenAnswer(
        "promqa_cooking",
        template,
        columns,
        PLAN,
        rubric=RUBRIC,
        cluster="sequence",
        groups={"question_type": QUESTION_TYPES},
    )


FRAMES = protocol("frames", "task_graph", "frames")
TEXT = protocol("text", "task_graph")

target = FRAMES.target

frames_messages, frames_visuals = FRAMES.messages, FRAMES.visuals
frames_text, frames_process = FRAMES.text, FRAMES.process

text_messages, text_visuals = TEXT.messages, TEXT.visuals
text_text, text_process = TEXT.text, TEXT.process


def require_judge(rows):
    """Stop before any model request when the judge is not chosen or cannot be reached."""
    _require_judge(RUBRIC)
    return with_media(rows)
