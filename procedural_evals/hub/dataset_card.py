"""The card of a built dataset: what the Hub reads (YAML), and what people read.

What a benchmark is, what its columns mean and how it is cited is taken from the card in
`dataset_scripts/`; what is in this folder, under which terms and how it was made, from the record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import datasets
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard, DatasetCardData

from procedural_evals import folders
from procedural_evals.hub import card_text
from procedural_evals.hub.record import BuiltDataset

FILE = "README.md"

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def write_card(built: BuiltDataset, infos: Mapping[str, datasets.DatasetInfo]) -> tuple[str, str]:
    """Write `README.md` into the folder; its title and one line of description."""
    original = DatasetCard.load(
        folders.dataset_scripts() / built.name.replace("-", "_") / "README.md"
    )
    about = sections(original.text)
    title, summary = _title_and_summary(original.text)
    if card_text.all_simulated(built):
        title, summary = f"{title} (simulated sample)", f"Simulated rows in the form of: {summary}"
    card = DatasetCard(f"---\n{_metadata(title, built, infos, original.data)}\n---\n\n")
    card.text = "\n\n".join(
        part.strip()
        for part in (
            f"# {title}",
            card_text.only_simulated(built),
            _paragraph(original.text),
            *card_text.body(built, about),
        )
        if part
    )
    card.text += "\n"
    card.save(built.folder / FILE)
    return title, summary


def sections(markdown: str) -> dict[str, str]:
    """The text below each heading of the second level; code blocks hold no headings."""
    found: dict[str, list[str]] = {}
    heading, fenced = None, False
    for line in markdown.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            heading = line[3:].strip()
            found[heading] = []
        elif heading is not None:
            found[heading].append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def _paragraph(markdown: str) -> str:
    """The first paragraph after the title."""
    text = re.split(r"^# .*$", markdown, maxsplit=1, flags=re.MULTILINE)[-1].strip()
    return text.split("\n\n")[0]


def _title_and_summary(markdown: str) -> tuple[str, str]:
    match = re.search(r"^# (.*)$", markdown, flags=re.MULTILINE)
    assert match is not None, "a card has a title"
    plain = re.sub(r"\s+", " ", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", _paragraph(markdown)))
    return match[1].strip(), plain.replace("`", "").replace("*", "")


# ---- what the Hub reads -------------------------------------------------------------------------


def _metadata(
    title: str,
    built: BuiltDataset,
    infos: Mapping[str, datasets.DatasetInfo],
    original: DatasetCardData,
) -> str:
    rows = max(
        sum(split["rows"] for split in entry["splits"].values())
        for entry in built.record["configs"].values()
    )
    size = next((name for limit, name in _SIZES if rows < limit), "n>1M")
    simulated = any(entry["simulated"] for entry in built.record["configs"].values())
    tags = [*original.get("tags", []), *(["simulated"] if simulated else [])]
    licences = _licences(built)
    data = DatasetCardData(
        pretty_name=title,
        language=original.language,
        license=licences[0] if len(licences) == 1 else licences,
        task_categories=original.task_categories,
        size_categories=size,
        tags=tags,
    )
    configs = MetadataConfigs()
    for config, entry in built.record["configs"].items():
        configs[config] = {
            "data_files": [
                {"split": split, "path": f"data/{config}/{split}-*.parquet"}
                for split in entry["splits"]
            ],
            **({"default": True} if entry["default"] else {}),
        }
    configs.to_dataset_card_data(data)
    datasets.info.DatasetInfosDict(infos).to_dataset_card_data(data)
    return str(data.to_yaml())


def _licences(built: BuiltDataset) -> list[str]:
    """The licences of what is in the folder, each once."""
    return list(
        dict.fromkeys(
            terms["licence"]
            for terms in built.record["terms"]
            if any(use["included"] for use in terms["configs"].values())
        )
    )
