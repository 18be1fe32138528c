"""The words of a built dataset's card: how to use it, what is in it, terms, how it was made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from procedural_evals import registry, sources
from procedural_evals.hub import eval_yaml
from procedural_evals.hub.licences import LINKS
from procedural_evals.hub.record import FILE as RECORD_FILE
from procedural_evals.hub.record import BuiltDataset
from procedural_evals.published_rows import VIDEO_FILE


def body(built: BuiltDataset, about: Mapping[str, str]) -> Iterator[str]:
    """The parts after the first paragraph; `about` has the sections of the benchmark's card."""
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
    if "What is odd in the files" in about and not all_simulated(built):
        yield f"## What is odd in the files\n\n{about['What is odd in the files']}"
    if any(entry["simulated"] for entry in configs.values()) and "The sample" in about:
        yield f"## The simulated sample\n\n{about['The sample']}"
    yield _leaderboard(built)
    yield _made(built)
    citation = re.search(r"```bibtex\n.*?```", about.get("Licence and citation", ""), re.DOTALL)
    if citation:
        yield f"## Citation\n\n{citation[0]}"


def all_simulated(built: BuiltDataset) -> bool:
    """Whether the folder holds nothing real."""
    return all(entry["simulated"] for entry in built.record["configs"].values())


def only_simulated(built: BuiltDataset) -> str:
    """What is to be said first of a folder that holds nothing real; else nothing."""
    if not all_simulated(built):
        return ""
    return (
        "> **Not real video.** All rows here are simulated. They have the form of the benchmark's, "
        "described next, and show that a run works; scores on them say nothing about real video."
    )


def _use(built: BuiltDataset) -> str:
    tasks = eval_yaml.listed_tasks(built.name, built.splits)
    task = tasks[0].lmms_task if tasks else "TASK"
    config = next(name for name, entry in built.record["configs"].items() if entry["default"])
    split = next(iter(built.record["configs"][config]["splits"]))
    return f"""\
## Use

```python
from datasets import load_dataset

rows = load_dataset("ORG/{built.name}", "{config}", split="{split}")  # ORG: whose repository it is
```

Videos are read from memory, `av.open(io.BytesIO(row["video"]["bytes"]))`, or written to files by
`procedural_evals.published_rows.with_media(rows)`, after which `row["video"]["path"]` is one.
With that package, the benchmark's tasks run on a copy of this repository in the working directory:

```
hf download ORG/{built.name} --repo-type dataset --local-dir {built.name}
procedural-evals run --tasks {task} --model ...
```"""


def _contents(built: BuiltDataset) -> str:
    lines = [
        "## What is in it",
        "",
        "Of what the first paragraph describes, this repository holds:",
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
                f"| {named} | {_licence(terms['licence'])} | {terms['share']} "
                f"| {terms['statement']} |"
            )
    notices = [
        f"```\n{terms['notice']}\n```"
        for terms in built.record["terms"]
        if terms["notice"] and any(use["included"] for use in terms["configs"].values())
    ]
    return "\n\n".join(["\n".join(lines), *notices])


def _licence(name: str) -> str:
    return f"[{name}]({LINKS[name]})" if name in LINKS else name


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

`row["{VIDEO_FILE}"]` is then the file's place, which `with_media` looks at as well:

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
    flags = ["--config", *built.record["configs"]]
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
