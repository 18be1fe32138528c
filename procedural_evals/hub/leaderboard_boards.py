"""What the leaderboard shows: its boards, their columns, and in words what each number means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PER_CENT = (0.0, 100.0)
ALL = "all"


@dataclass(frozen=True)
class Metric:
    """A number of a board: its title, the ends of its scale, decimals, and its meaning."""

    title: str
    meaning: str
    scale: tuple[float, float] = PER_CENT
    digits: int = 1


@dataclass(frozen=True)
class Board:
    """One table: what its task asks, where it comes from, and its numbers, the main one first.

    `key` is the main task of lmms-eval, and begins the names of its variants. `groups` are titles
    of kinds of question, by the label they have in score tables; `views` are sets of columns that
    are shown together, by title: either some groups of the main number, or all numbers of a group.
    """

    key: str
    title: str
    asks: str
    dataset: str
    links: tuple[tuple[str, str], ...]
    metrics: dict[str, Metric]
    groups: dict[str, str]
    views: dict[str, tuple[str, ...]]


def column(metric: str, group: str = ALL) -> str:
    """The key of a column.

    >>> column("accuracy")
    'accuracy:all'
    """
    return f"{metric}:{group}"


def _main(metric: str, groups: Iterable[str]) -> tuple[str, ...]:
    return tuple(column(metric, group) for group in groups)


def _each(metrics: Iterable[str], group: str = ALL) -> tuple[str, ...]:
    return tuple(column(metric, group) for metric in metrics)


def _arxiv(number: str) -> tuple[str, str]:
    return f"arXiv {number}", f"https://arxiv.org/abs/{number}"


JUDGE = Metric(
    "Judge",
    "Mean grade by an LLM judge, on a scale of 0 to 100. A reply of the judge without a verdict "
    "leaves the item out and is counted. Only rows of one judge compare.",
)
SIMILARITY = Metric(
    "Similarity",
    "Cosine of the sentence vectors of answer and reference, times 100. Only rows of one encoder "
    "compare.",
)
BERTSCORE = Metric(
    "BERTScore", "F1 of the tokens' closest matches, times 100. Only rows of one encoder compare."
)

_FLATPACK = {
    ALL: "All",
    "tord": "Order",
    "tloc": "Location",
    "track": "Tracking",
    "mate": "Mating",
}
_ASSEMBLY_KINDS = {
    "question_type: next": "Next",
    "question_type: missing": "Missing",
    "question_type: order": "Order",
    "question_type: past": "Past",
    "question_type: misadjustment": "Misadjusted",
    "question_type: others (process)": "Other process",
    "question_type: location": "Location",
    "question_type: others (step)": "Other step",
}
_ASSEMBLY_NEEDS = {
    "multimodal procedural: yes": "Needs video",
    "multimodal procedural: no": "Text suffices",
}
_GROUNDED = {
    "sentence_similarity": SIMILARITY,
    "bertscore_f1": BERTSCORE,
    "judge": Metric("Judge", f"{JUDGE.meaning} Here from 0 to 5.", (0.0, 5.0), 2),
    "iou": Metric(
        "IoU", "Overlap of the evidence spans with the true ones over their union; mean, times 100."
    ),
    "iop": Metric("IoP", "The share of the predicted evidence that is evidence, times 100."),
    "iog": Metric("IoG", "The share of the true evidence that was found, times 100."),
}
_GROUNDED_GROUPS = {
    ALL: "All",
    "reasoning: multi-hop": "Multi-hop",
    "reasoning: needle in a haystack": "Needle",
}

BOARDS = (
    Board(
        "flatpack_bench",
        "Flat-Pack Bench",
        "Which part, in which order, when: multiple choice about furniture that is being "
        "assembled, the parts marked in the picture.",
        "flatpack-bench",
        (
            _arxiv("2605.21625"),
            ("data", "https://huggingface.co/datasets/justachetan/flat-pack-bench"),
        ),
        {
            "accuracy": Metric(
                "Accuracy",
                "Right answers per 100 questions. A reply that names none of the offered letters "
                "is wrong and counted, never guessed. The dashed line is random guessing.",
                digits=2,
            )
        },
        _FLATPACK,
        {"By task": _main("accuracy", _FLATPACK)},
    ),
    Board(
        "promqa_assembly",
        "ProMQA-Assembly",
        "Open questions on what was done to a toy and what comes next, beside its task graph.",
        "promqa-assembly",
        (_arxiv("2509.02949"), ("data", "https://github.com/kimihiroh/promqa-assembly")),
        {"judge": JUDGE},
        {ALL: "All", **_ASSEMBLY_NEEDS, **_ASSEMBLY_KINDS},
        {
            "By need of the video": _main("judge", (ALL, *_ASSEMBLY_NEEDS)),
            "By kind of question": _main("judge", (ALL, *_ASSEMBLY_KINDS)),
        },
    ),
    Board(
        "promqa_cooking",
        "ProMQA",
        "The sibling of ProMQA-Assembly: open questions on a cook at work, beside the recipe's "
        "graph.",
        "promqa-cooking",
        (_arxiv("2410.22211"), ("data", "https://github.com/kimihiroh/promqa")),
        {"judge": JUDGE},
        {ALL: "All"},
        {"All": _each(["judge"])},
    ),
    Board(
        "procobject_10k",
        "ProcObject-10K",
        "Open questions on how objects change, answered with the spans of time that show it.",
        "procobject-10k",
        (_arxiv("2512.03479"), ("data", "https://github.com/WenliangGuo/ProcObject-10K-Page")),
        _GROUNDED,
        _GROUNDED_GROUPS,
        {title: _each(_GROUNDED, group) for group, title in _GROUNDED_GROUPS.items()},
    ),
    Board(
        "dyad_step",
        "DYAD: steps",
        "Which of eight steps is being done, at each second, from the frames up to it.",
        "dyad",
        (_arxiv("2609.09023"),),
        {
            "f1_10": Metric("F1@0.1", "F1 of the segments that overlap a true one by a tenth."),
            "edit": Metric("Edit", "Agreement of the order of the steps, by edit distance."),
            "mof": Metric("MoF", "Share of the seconds with the right step."),
            "map_10": Metric("mAP@0.1", "Mean average precision of the segments at a tenth."),
        },
        {ALL: "All"},
        {"All": _each(["f1_10", "edit", "mof", "map_10"])},
    ),
    Board(
        "dyad_mode",
        "DYAD: modes",
        "Will the helper speak or act, told from the moments before?",
        "dyad",
        (_arxiv("2609.09023"),),
        {
            "macro_f1": Metric("Macro-F1", "Mean of the F1 of speaking and of acting."),
            "auprc": Metric("AUPRC", "Average precision of telling that the helper will act."),
        },
        {ALL: "All"},
        {"All": _each(["macro_f1", "auprc"])},
    ),
    Board(
        "dyad_response",
        "DYAD: responses",
        "What should the helper say to the question that was asked?",
        "dyad",
        (_arxiv("2609.09023"),),
        {"judge": JUDGE, "bertscore_f1": BERTSCORE},
        {ALL: "All"},
        {"All": _each(["judge", "bertscore_f1"])},
    ),
)

#: The number by which a board is sorted at first, where it is not the board's first.
MAIN = {"procobject_10k": "iou"}


def main_column(board: Board) -> str:
    """Key of the column by which the board is sorted at first."""
    return column(MAIN.get(board.key, next(iter(board.metrics))))


def board_of(task: str) -> Board | None:
    """The board on which a task of lmms-eval has its place; None for one that has none.

    >>> board_of("dyad_step_likelihood_sample").title
    'DYAD: steps'
    """
    for board in BOARDS:
        if task == board.key or task.startswith(f"{board.key}_"):
            return board
    return None
