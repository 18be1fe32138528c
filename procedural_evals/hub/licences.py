"""Whether a column's content may be passed on, under which licence, and who says so.

Three answers: it may be passed on; it may be, for non-commercial use and under the licence that the
card then carries; it may not. What nobody has stated counts as the third. Media that may not be
passed on are linked instead of embedded, and text that may not be passed on is refused: both can be
overruled for a copy of one's own, which is recorded, and which `push` then never makes public.

The simulated samples are this project's own.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


class Share(enum.Enum):
    """Whether something may be passed on."""

    YES = "yes"
    NONCOMMERCIAL = "non-commercial"
    NO = "no"


@dataclass(frozen=True)
class Terms:
    """The terms of some columns of a benchmark.

    Attributes:
        subject: what it is, in words.
        columns: the columns meant; none for all that no other entry names.
        share: whether it may be passed on.
        licence: identifier as the Hub knows it, "other" for any other licence.
        statement: where the terms are stated, and what is not.
        source: value of the rows' column `source` that is meant; None for all rows.
        notice: text that must stand in every copy.
    """

    subject: str
    columns: tuple[str, ...]
    share: Share
    licence: str
    statement: str
    source: str | None = None
    notice: str = ""

    def as_record(self) -> dict[str, Any]:
        """As it is written into the record of a build."""
        return asdict(self) | {"columns": list(self.columns), "share": self.share.value}


#: Where the text of a licence stands.
LINKS = {
    "apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "cc-by-nc-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "mit": "https://opensource.org/license/mit",
}

MIT_FLAT_PACK_BENCH = """\
MIT License

Copyright (c) 2026 Aditya Chetan

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE."""

_GENERATED = (
    "verified answers are Apache-2.0; for the generated pairs it refers to OpenAI's terms of use "
    "and grants nothing itself"
)
_PROMQA_LICENCE = "LICENSE.md of github.com/kimihiroh/promqa-assembly at 7ac32f0"
_COOKING_LICENCE = "LICENSE.md of github.com/kimihiroh/promqa at f150b98"

SIMULATED = Terms(
    "simulated sample",
    (),
    Share.YES,
    "apache-2.0",
    "made by the simulator of procedural-evals, LICENSE of that package",
)

TERMS: dict[str, tuple[Terms, ...]] = {
    "flatpack-bench": (
        Terms(
            "questions, masks, part annotations",
            (),
            Share.YES,
            "mit",
            "LICENSE of github.com/justachetan/flat-pack-bench at 95bc290; built on IKEA Manuals "
            "at Work (yunongLiu1/IKEA-Manuals-at-Work), whose annotations are CC BY 4.0",
            notice=MIT_FLAT_PACK_BENCH,
        ),
        Terms(
            "footage, and pictures drawn from it",
            ("video", "visual_prompts"),
            Share.NO,
            "other",
            "public assembly videos listed by IKEA Manuals at Work; CC BY 4.0 is stated for that "
            "dataset, nothing by those who uploaded the videos",
        ),
    ),
    "promqa-assembly": (
        Terms(
            "task graphs, step annotations, recordings' names and times",
            (),
            Share.NONCOMMERCIAL,
            "cc-by-nc-4.0",
            f"{_PROMQA_LICENCE}, following Assembly101",
        ),
        Terms(
            "questions and reference answers",
            ("question", "answers"),
            Share.NO,
            "other",
            f"{_PROMQA_LICENCE}: {_GENERATED}",
        ),
        Terms(
            "parts pictures",
            ("parts_image",),
            Share.NONCOMMERCIAL,
            "cc-by-nc-4.0",
            f"{_PROMQA_LICENCE}, following Assembly101",
        ),
        Terms(
            "recordings of Assembly101",
            ("video",),
            Share.NO,
            "cc-by-nc-4.0",
            "CC BY-NC 4.0 by assembly-101.github.io; its owners hand the recordings out themselves",
        ),
    ),
    "promqa-cooking": (
        Terms(
            "task graphs, step annotations, recordings' names and times",
            (),
            Share.YES,
            "apache-2.0",
            f"{_COOKING_LICENCE}, following CaptainCook4D",
        ),
        Terms(
            "questions and reference answers",
            ("question", "answers"),
            Share.NO,
            "other",
            f"{_COOKING_LICENCE}: {_GENERATED}",
        ),
        Terms(
            "recordings of CaptainCook4D",
            ("video",),
            Share.NO,
            "other",
            "no statement about copies of the recordings; its owners hand them out themselves",
        ),
    ),
    "procobject-10k": (
        Terms(
            "annotations",
            (),
            Share.NONCOMMERCIAL,
            "cc-by-nc-4.0",
            "project page wenliangguo.github.io/ProcObject-10K-Page at 21702a8",
        ),
        Terms(
            "videos of COIN",
            ("video",),
            Share.NO,
            "other",
            "collected from YouTube; COIN states terms for its codes and files, for research only, "
            "and none for the videos",
            source="COIN",
        ),
        Terms(
            "videos of EgoPER",
            ("video",),
            Share.NO,
            "other",
            "no statement that they may be passed on",
            source="EgoPER",
        ),
        Terms(
            "videos of CaptainCook4D",
            ("video",),
            Share.NO,
            "other",
            "no statement about copies of the recordings; its owners hand them out themselves",
            source="CaptainCook4D",
        ),
        Terms(
            "videos of HoloAssist",
            ("video",),
            Share.NO,
            "other",
            "CDLA-Permissive-2.0 by holoassist.github.io; not stated for the copies that came with "
            "another dataset",
            source="HoloAssist",
        ),
        Terms(
            "videos of any other source",
            ("video",),
            Share.NO,
            "other",
            "the project page says that videos remain under the licences of their sources",
        ),
    ),
    "dyad": (
        Terms(
            "recordings and annotations",
            (),
            Share.NO,
            "other",
            "controlled access by arXiv 2609.09023; nothing is public",
        ),
    ),
}


def terms_of(name: str, *, simulated: bool) -> tuple[Terms, ...]:
    """All terms of a benchmark, or those of its simulated sample.

    KeyError for a benchmark without an entry: what nobody has stated is not passed on.
    """
    if simulated:
        return (SIMULATED,)
    if name not in TERMS:
        raise KeyError(
            f"{name}: procedural_evals.hub.licences has no terms for it; state them there before "
            "it is built"
        )
    return TERMS[name]


def terms_for(terms: Sequence[Terms], column: str, source: str | None = None) -> Terms:
    """The terms of a column in rows of this `source`: the entry that says most about it.

    >>> terms_for(TERMS["flatpack-bench"], "video").share
    <Share.NO: 'no'>
    >>> terms_for(TERMS["flatpack-bench"], "question").licence
    'mit'
    """
    named = [each for each in terms if column in each.columns]
    for each in named:
        if each.source is not None and each.source == source:
            return each
    for each in (*named, *terms):
        if each.source is None and (column in each.columns or not each.columns):
            return each
    raise KeyError(f"no terms are stated for column {column!r}")


def sources_of(terms: Sequence[Terms], column: str) -> list[str]:
    """The values of `source` for which the column has terms of its own."""
    return [each.source for each in terms if column in each.columns and each.source is not None]
