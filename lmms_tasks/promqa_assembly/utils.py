"""ProMQA-Assembly for lmms-eval: graph, parts picture and frames, or less than that."""

from procedural_evals.harness.judging import require_judge as _require_judge
from procedural_evals.harness.protocols import FramePlan, OpenAnswer
from procedural_evals.layouts.promqa_assembly import QUESTION_TYPES, SOURCES
from procedural_evals.published_rows import with_media

RUBRIC = "promqa_ternary"

# The authors take stride_from_end; uniform shows as many frames as asked for, and the last as well.
PLAN = FramePlan.from_environment(20, "uniform", (640, 360))


def multimodal_procedural(row):
    """Whether the question needs the recording and the instructions, and is about steps."""
    return (
        None if row["multimodal"] is None else row["multimodal"] and row["procedural"] is not False
    )


def protocol(template, *columns):
    """ProMQA-Assembly's protocol with these inputs before the question."""
    return OpenAnswer(
        "promqa_assembly",
        template,
        columns,
        PLAN,
        rubric=RUBRIC,
        cluster="sequence",
        groups={
            "multimodal procedural": multimodal_procedural,
            "question_type": QUESTION_TYPES,
            "source": SOURCES,
        },
    )


FRAMES = protocol("frames", "task_graph", "parts_image", "frames")
TEXT = protocol("text", "task_graph")
NO_GRAPH = protocol("no_graph", "parts_image", "frames")
VIDEO = protocol("video", "task_graph", "parts_image", "clip")

target = FRAMES.target

frames_messages, frames_visuals = FRAMES.messages, FRAMES.visuals
frames_text, frames_process = FRAMES.text, FRAMES.process

text_messages, text_visuals = TEXT.messages, TEXT.visuals
text_text, text_process = TEXT.text, TEXT.process

no_graph_messages, no_graph_visuals = NO_GRAPH.messages, NO_GRAPH.visuals
no_graph_text, no_graph_process = NO_GRAPH.text, NO_GRAPH.process

video_messages, video_visuals = VIDEO.messages, VIDEO.visuals
video_text, video_process = VIDEO.text, VIDEO.process


def require_judge(rows):
    """Stop before any model request when the judge is not chosen or cannot be reached."""
    _require_judge(RUBRIC)
    return with_media(rows)
