"""The card of a built dataset: what the Hub reads (YAML), and what people read.

What a benchmark is, what its columns mean and how it is cited is taken from the card in
`dataset_scripts/`; what is in this folder, under which terms and how it was made, from the record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import datasets
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard, DatasetCardData

from procedural_evals import folders, registry, sources
from procedural_evals.hub import eval_yaml
from procedural_evals.hub.portable import VIDEO_FILE
from procedural_evals.hub.record import FILE as RECORD_FILE
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
    if _all_simulated(built):
        title, summary = f"{title} (simulated sample)", f"Simulated rows in the form of: {summary}"
    card = DatasetCard(f"---\n{_metadata(title, built, infos, original.data)}\n---\n\n")
    card.text = "\n\n".join(
        part.strip()
        for part in (
            f"# {title}",
            _only_simulated(built),
            _paragraph(original.text),
            *_body(built, about),
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


def _all_simulated(built: BuiltDataset) -> bool:
    return all(entry["simulated"] for entry in built.record["configs"].values())


# ---- what people read ---------------------------------------------------------------------------


def _body(built: BuiltDataset, about: Mapping[str, str]) -> Iterator[str]:
    configs = built.record["configs"]
    linked = sorted({column for entry in configs.values() for column in entry["linked"]})
    if built.restricted:
        yield (
            "> **Not for the public.** This copy holds what may not be passed on: "
            + "; ".join(built.restricted)
            + "."
        )
    yield _use(built)
    yield _contents(built)
    yield _terms(built)
    if linked:
        yield _how_to_get(built, linked)
    columns = about.get("Columns", "")
    yield (
        f"## Columns\n\n{columns}\n\n"
        f"Here `video` holds the bytes of the file (`bytes`) and its name (`path`), or is null. "
        f"`{VIDEO_FILE}` is the file's place below a folder of all benchmarks' media, "
        f"`${sources.DATA_VARIABLE}`. A problem that begins with a column's name says why that "
        "column is null."
    )
    if "What is odd in the files" in about and not _all_simulated(built):
        yield f"## What is odd in the files\n\n{about['What is odd in the files']}"
    if any(entry["simulated"] for entry in configs.values()) and "The sample" in about:
        yield f"## The simulated sample\n\n{about['The sample']}"
    yield _leaderboard(built)
    yield _made(built)
    citation = re.search(r"```bibtex\n.*?```", about.get("Licence and citation", ""), re.DOTALL)
    if citation:
        yield f"## Citation\n\n{citation[0]}"


def _only_simulated(built: BuiltDataset) -> str:
    if not _all_simulated(built):
        return ""
    return (
        "> **Not real video.** All rows here are simulated. They have the form of the benchmark's, "
        "described next, and show that a run works; scores on them say nothing about real video."
    )


def _use(built: BuiltDataset) -> str:
    config = next(name for name, entry in built.record["configs"].items() if entry["default"])
    split = next(iter(built.record["configs"][config]["splits"]))
    return f"""\
## Use

```python
from datasets import load_dataset

rows = load_dataset("ORG/{built.name}", "{config}", split="{split}")  # ORG: whose repository it is
```

The videos of the rows are read from memory: `av.open(io.BytesIO(row["video"]["bytes"]))`."""


def _contents(built: BuiltDataset) -> str:
    lines = [
        "## What is in it",
        "",
        "| configuration | split | rows | MB | what |",
        "|---|---|---|---|---|",
    ]
    for config, split, entry in built.each_split():
        size = sum(file["bytes"] for file in entry["files"].values()) / 1e6
        what = "simulated" if built.record["configs"][config]["simulated"] else "real"
        lines.append(f"| `{config}` | `{split}` | {entry['rows']:,} | {size:.2f} | {what} |")
    return "\n".join(lines)


def _terms(built: BuiltDataset) -> str:
    lines = [
        "## Terms",
        "",
        "| what | configurations | columns | licence | may be passed on | stated by |",
        "|---|---|---|---|---|---|",
    ]
    rest = "all others" if len(built.record["terms"]) > 1 else "all"
    for terms in built.record["terms"]:
        for state in ("included", "linked"):
            uses = {config: use[state] for config, use in terms["configs"].items() if use[state]}
            if not uses:
                continue
            columns = dict.fromkeys(column for names in uses.values() for column in names)
            named = ", ".join(f"`{column}`" for column in columns) if terms["columns"] else rest
            lines.append(
                f"| {terms['subject']}{' (linked, not here)' if state == 'linked' else ''} "
                f"| {', '.join(f'`{config}`' for config in uses)} "
                f"| {named} | {terms['licence']} | {terms['share']} | {terms['statement']} |"
            )
    notices = [
        f"```\n{terms['notice']}\n```"
        for terms in built.record["terms"]
        if terms["notice"] and any(use["included"] for use in terms["configs"].values())
    ]
    return "\n\n".join(["\n".join(lines), *notices])


def _how_to_get(built: BuiltDataset, linked: list[str]) -> str:
    builder = registry.builder_class(built.name)
    commands = sources.how_to_get(built.name, builder.HUB_REPOS)
    hints = [part for part in (commands, builder.MEDIA_HINT) if part.strip()]
    counts = ", ".join(
        f"`{column}` in {rows:,} rows of `{config}`"
        for config, entry in built.record["configs"].items()
        for column, rows in entry["linked"].items()
    )
    drawn = (
        "\n\n`visual_prompts` are drawn from the frames by `procedural-evals`, whose "
        f'`load_dataset("{built.name}")` reads the same files.'
        if "visual_prompts" in linked
        else ""
    )
    text = "\n".join(hints)
    return f"""\
## What is linked, and how to get it

Null because it may not be passed on: {counts}. From their owners:

```
{text}
```

`row["{VIDEO_FILE}"]` is then the file's place:

```python
path = os.path.join(os.environ["{sources.DATA_VARIABLE}"], row["{VIDEO_FILE}"])
```{drawn}"""


def _leaderboard(built: BuiltDataset) -> str:
    tasks = eval_yaml.listed_tasks(built.name, built.splits)
    if not tasks:
        return ""
    lines = [
        "## Leaderboard",
        "",
        "Each task id has one number, 0 to 100, from a run of `procedural-evals` on lmms-eval.",
        "",
        "| task id | lmms-eval task | number | configuration | split |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{task.id}` | `{task.lmms_task}` | {task.metric} | `{task.config}` | `{task.split}` |"
        for task in tasks
    ]
    return "\n".join(lines)


def _made(built: BuiltDataset) -> str:
    flags = [f"--config {config}" for config in built.record["configs"]]
    flags += ["--embed-media"] if built.record["embed_media"] else []
    flags += ["--embed-text"] if built.record["embed_text"] else []
    revisions = {
        config: ", ".join(f"`{each}`" for each in entry["revisions"])
        for config, entry in built.record["configs"].items()
    }
    read = "\n".join(f"- `{config}`: {names}" for config, names in revisions.items())
    command = f"python upload.py build {built.name} {' '.join(flags)}"
    return f"""\
## How it was made

By `{command}` of procedural-evals {built.record["version"]}, from

{read}

The rows are those of `load_dataset("{built.name}")` with that package, but for the media: their
files are embedded as they are, under their names without folders, or linked as said above.
`{RECORD_FILE}` has the digest of every file and of every split's rows. What the authors wrote was
brought into rows and not changed otherwise."""
