"""What the dataset builders share: where their files are, and media that may be missing."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import datasets
from PIL import Image

from procedural_evals import folders, revisions, sources

T = TypeVar("T")


@dataclass
class BenchmarkConfig(datasets.BuilderConfig):
    """Options that every benchmark has.

    Attributes:
        sample: read the embedded simulated sample instead of the authors' files.
        revision: commit or tag of the authors' Hub repository, where that is downloaded.
        found: the folder that was found without a `data_dir`, in the working directory or under
            $PROCEDURAL_EVALS_DATA; set when the dataset's name is looked up.
    """

    sample: bool = False
    revision: str | None = None
    found: str | None = field(default=None, compare=False)

    def create_config_id(
        self, config_kwargs: dict[str, Any], custom_features: datasets.Features | None = None
    ) -> str:
        """The name under which rows are cached; the sample's are the same whatever was found."""
        if self.sample:
            config_kwargs = {key: value for key, value in config_kwargs.items() if key != "found"}
        return str(super().create_config_id(config_kwargs, custom_features))


class BenchmarkBuilder(datasets.GeneratorBasedBuilder):
    """A builder that reads a folder in the authors' layout; the sample is one such folder."""

    NAME: ClassVar[str]
    HUB_REPOS: ClassVar[Sequence[sources.HubRepo]] = ()
    #: How to get what is not in `HUB_REPOS`, as `check-data` prints it.
    MEDIA_HINT: ClassVar[str] = ""
    #: Sets of paths below a folder; where all of one set are there, it has the authors' layout.
    MARKERS: ClassVar[Sequence[Sequence[str]]] = ()
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = BenchmarkConfig
    DEFAULT_WRITER_BATCH_SIZE = 64  # small row groups: the rows carry pictures

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Check that the sample and a folder are not asked for at once."""
        super().__init__(*args, **kwargs)
        if self.config.sample and self.config.data_dir is not None:
            raise ValueError(
                f"{self.NAME}: data_dir={self.config.data_dir!r} was given with the embedded "
                "sample, which is read from no other folder; leave out data_dir, or choose "
                "another configuration"
            )

    @classmethod
    def recognises(cls, folder: Path) -> bool:
        """Whether the folder has the authors' layout, as far as the names in it say."""
        return any(all((folder / path).exists() for path in paths) for paths in cls.MARKERS)

    @property
    def data_folder(self) -> str | None:
        """The folder that was given, or else found."""
        folder: str | None = self.config.data_dir or self.config.found
        return folder

    @classmethod
    def sample_folder(cls) -> Path:
        """The embedded sample, in the authors' layout."""
        return folders.dataset_scripts() / cls.NAME.replace("-", "_") / "sample"

    @classmethod
    def media(cls, folder: Path) -> Iterator[tuple[str, sources.Media]]:
        """Every media file that the benchmark's rows name, once, with its kind ("video", ...)."""
        raise NotImplementedError

    def video_file(self, row: Mapping[str, Any]) -> str:
        """Where the row's video is looked for, as a path below $PROCEDURAL_EVALS_DATA.

        It names the video in a published row whose video may not be passed on.
        """
        raise NotImplementedError

    @classmethod
    def beside(cls, folder: Path) -> list[Path]:
        """Other folders that the rows are read from, whether they are there or not."""
        return []

    @classmethod
    def deviations(cls, folder: Path) -> list[str]:
        """A line for each published figure that the files in the folder do not give."""
        return []

    def source(self) -> sources.Source:
        """The folder to read, downloaded when it has to be."""
        if self.config.sample:
            folder = self.sample_folder()
            if not folder.is_dir():
                raise FileNotFoundError(f"{self.NAME}: the sample {folder} is not installed")
            return sources.Source(folder, "sample")
        return sources.resolve(self.NAME, self.HUB_REPOS, self.data_folder, self.config.revision)

    @staticmethod
    def revision_of(source: sources.Source, *annotations: Path) -> str:
        """What the rows were read from: Hub commits, and a digest of each annotation file."""
        return revisions.revision_of(source, annotations)


def per_version(function: Callable[[Path], T]) -> Callable[[Path], T]:
    """The function of a file, called once for each size and time of change that the file has."""

    @lru_cache(maxsize=4096)
    def remembered(path: Path, size: int, changed: int) -> T:
        return function(path)

    @wraps(function)
    def called(path: Path) -> T:
        stat = path.stat()
        return remembered(path, stat.st_size, stat.st_mtime_ns)

    return called


@per_version
def video_problem(path: Path) -> str | None:
    """Why this video cannot be read, or None; a file is opened once until it changes."""
    from procedural_evals import video

    reason = video.check_video(path)
    return f"damaged: {path.name}: {reason}" if reason else None


def checked_video(media: sources.Media, problems: list[str]) -> str | None:
    """The video's path, or None with the reason added to the row's problems."""
    if media.path is None:
        problems.append(f"video {media.problem}")
        return None
    reason = video_problem(media.path)
    if reason:
        problems.append(f"video {reason}")
        return None
    return str(media.path)


@per_version
def picture_problem(path: Path) -> str | None:
    """Why this picture cannot be read, or None; a file is decoded once until it changes."""
    try:
        with Image.open(path) as image:
            image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return f"damaged: {path.name}: not a readable picture ({error})"
    return None


def checked_picture(media: sources.Media, problems: list[str], kind: str) -> str | None:
    """The picture's path, or None with the reason, after its kind, added to the problems."""
    problem = media.problem if media.path is None else picture_problem(media.path)
    if problem:
        problems.append(f"{kind} {problem}")
        return None
    return str(media.path)


def jpeg(picture: Image.Image, quality: int = 95) -> dict[str, Any]:
    """A picture as the `datasets` Image feature stores it."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality, subsampling=0)
    return {"bytes": buffer.getvalue(), "path": None}
