"""DYAD for lmms-eval: its three tasks, under the names that the task files use."""

from procedural_evals.harness.dyad_protocols import (
    BENCHMARK,
    SIZE,
    ModeAnticipation,
    ResponseGeneration,
    StepUnderstanding,
)
from procedural_evals.harness.judging import require_judge
from procedural_evals.harness.protocols import FramePlan
from procedural_evals.harness.similarity import require_encoder
from procedural_evals.published_rows import with_media

STEP = StepUnderstanding.of("step")
LIKELIHOOD = StepUnderstanding.of("step_likelihood", likelihood=True)
MODE = ModeAnticipation(BENCHMARK, "mode", plan=FramePlan.from_environment(8, "uniform", SIZE))
RESPONSE = ResponseGeneration(BENCHMARK, "response", groups={"session": None})

step_target = STEP.target
step_messages, step_visuals = STEP.messages, STEP.visuals
step_text, step_process = STEP.text, STEP.process

likelihood_messages, likelihood_visuals = LIKELIHOOD.messages, LIKELIHOOD.visuals
likelihood_text, likelihood_process = LIKELIHOOD.text, LIKELIHOOD.process

mode_target = MODE.target
mode_messages, mode_visuals = MODE.messages, MODE.visuals
mode_text, mode_process = MODE.text, MODE.process

response_target = RESPONSE.target
response_messages, response_visuals = RESPONSE.messages, RESPONSE.visuals
response_text, response_process = RESPONSE.text, RESPONSE.process


def require_scorers(rows):
    """Stop before any model request when a judge or an encoder cannot be used."""
    require_judge(RESPONSE.rubric)
    require_encoder()
    return with_media(rows)
