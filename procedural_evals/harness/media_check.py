"""`procedural-evals check-data`: what of a benchmark's files is there, missing, damaged or extra.

Files are read from the local folder (`--data-dir` or `$PROCEDURAL_EVALS_DATA/<name>`); nothing is
downloaded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from procedural_evals import registry, sources
from procedural_evals.builders import picture_problem, video_problem

VIDEO_SUFFIXES = frozenset({".mp4", ".mkv", ".webm", ".mov", ".avi"})
IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png"})


@dataclass
class Report:
    """What was found: counts of files by kind, and a line for each file that is not as expected."""

    name: str
    folder: Path
    present: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    expected: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)
    hint: str = ""

    @property
    def complete(self) -> bool:
        """Whether every expected file is there and can be read."""
        return not (self.missing or self.damaged or self.refused)

    def lines(self, repos: Iterable[sources.HubRepo], shown: int = 20) -> Iterator[str]:
        """The report as text; at most `shown` files of each kind of trouble."""
        yield f"{self.name} in {self.folder}"
        for kind in sorted(self.expected):
            yield f"  {kind}: {self.present[kind]} of {self.expected[kind]} there and readable"
        troubles = {
            "missing": self.missing,
            "damaged": self.damaged,
            "refused (they leave the data folder)": self.refused,
            "unexpected (no row names them)": self.unexpected,
            "figures that differ from the published ones": self.deviations,
        }
        for title, files in troubles.items():
            if files:
                yield f"  {title}: {len(files)}"
                yield from (f"    {file}" for file in files[:shown])
                if len(files) > shown:
                    yield f"    ... and {len(files) - shown} more"
        if self.missing or self.damaged:
            yield "  Get the files with:"
            yield from filter(None, (sources.how_to_get(self.name, list(repos)), self.hint))


def check(name: str, data_dir: str | None = None, progress: bool = True) -> Report:
    """Look for every media file that a row of the benchmark names, and open it.

    Raises FileNotFoundError when there is no folder to look into, KeyError for an unknown name.
    """
    builder = registry.builder_class(name)
    folder = sources.local_folder(name, data_dir)
    if folder is None:
        raise sources.SourceNotFoundError(
            f"{name}: no --data-dir was given and ${sources.DATA_VARIABLE}/{name} is no folder.\n"
            f"Get the files with:\n{sources.how_to_get(name, builder.HUB_REPOS)}\n"
            f"{builder.MEDIA_HINT}".rstrip()
        )
    sources.require_authors_files(name, folder)
    report = Report(name, folder, hint=builder.MEDIA_HINT, deviations=builder.deviations(folder))
    known: set[Path] = set()
    wanted = list(builder.media(folder))
    for kind, media in tqdm(wanted, desc=f"checking {name}", disable=not progress):
        report.expected[kind] += 1
        # An empty file has no path to read from, but it is no stranger.
        named = (folder / name for name in media.candidates)
        known |= {path.resolve() for path in (media.path, *named) if path is not None}
        problem = media.problem or _content_problem(media.path)
        if problem is None:
            report.present[kind] += 1
        elif problem.startswith("missing"):
            report.missing.append(f"{kind}: {media.candidates[0]}")
        elif problem.startswith("refused"):
            report.refused.append(f"{kind}: {media.candidates[0]}")
        else:
            report.damaged.append(f"{kind}: {media.candidates[0]}: {problem}")
    report.unexpected = [
        str(path.relative_to(folder))
        for path in sources.files_below(folder)
        if path.suffix.lower() in VIDEO_SUFFIXES | IMAGE_SUFFIXES
        and path.is_file()
        and path.resolve() not in known
    ]
    return report


def _content_problem(path: Path | None) -> str | None:
    if path is None:
        return None
    if path.suffix.lower() in VIDEO_SUFFIXES:
        return video_problem(path)
    return picture_problem(path) if path.suffix.lower() in IMAGE_SUFFIXES else None
