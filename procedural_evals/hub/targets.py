"""What `push` can push: folders that are built if they are not there, and where each goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from procedural_evals.hub.sending import Target

Say = Callable[[str], None]


def datasets(
    names: Sequence[str],
    namespace: str,
    build_dir: Path,
    say: Say = print,
    *,
    rebuild: bool = False,
) -> list[Target]:
    """Data sets that `build` has put into a folder, or that are built into it now.

    Args:
        names: dataset names; none for all, without those whose files are not on this machine and
            those of which nothing may be passed on.
        namespace: a user's or an organization's name.
        build_dir: holds a folder NAME each, as `build --out` makes them.
        say: takes lines for the user.
        rebuild: build anew what is there.

    Raises KeyError for an unknown name, ValueError for a folder that is not fit to be published,
    FileNotFoundError for a named data set whose files are not found, BuildError for one of which
    nothing may be passed on.
    """
    from procedural_evals import registry
    from procedural_evals.hub import build, validate
    from procedural_evals.hub.record import BuildError

    for name in names:
        registry.builder_class(name)
    targets = []
    for name in names or registry.benchmarks():
        folder = build_dir / name
        kept = folder.exists() and not rebuild
        if kept:
            say(f"{folder}: taken as it was built (--rebuild builds it anew); checking it")
            built = validate.require_valid(folder)
            if built.name != name:
                raise BuildError(f"{folder} was built from {built.name}: its name is wrong")
        else:
            say(f"{folder}: building it")
            try:
                built = build.build(name, build_dir, overwrite=rebuild)
            except (FileNotFoundError, BuildError) as error:
                if names:
                    raise
                say(f"{name}: left out, {error}")
                continue
        targets.append(
            Target(
                built.folder,
                f"{namespace}/{name}",
                "dataset",
                private_because="; ".join(built.restricted),
                built=not kept,
            )
        )
    return targets


def metrics(names: Sequence[str], namespace: str, build_dir: Path) -> list[Target]:
    """A Space a metric, which `evaluate.load("NAMESPACE/NAME")` loads as well."""
    from procedural_evals.hub import spaces

    return [
        _space(spaces.build_metric_space(name, build_dir / "metrics" / name), namespace)
        for name in names or spaces.metric_names()
    ]


def leaderboard(namespace: str, build_dir: Path, results: str | None = None) -> list[Target]:
    """The Space that shows the leaderboards, with submissions from a folder or a repository.

    Raises FileNotFoundError or ValueError for submissions that cannot be read.
    """
    from procedural_evals.hub import leaderboard_app, spaces

    leaderboard_app.read_now(results)
    return [_space(spaces.build_leaderboard(build_dir / spaces.LEADERBOARD, results), namespace)]


def _space(folder: Path, namespace: str) -> Target:
    return Target(folder, f"{namespace}/{folder.name}", "space", "gradio", built=True)


def cards(names: Sequence[str], namespace: str, build_dir: Path) -> list[Target]:
    """A model repository a reference system; files beside its card are left alone."""
    from procedural_evals.hub import reference_cards

    folders = {folder.name: folder for folder in reference_cards.build_cards(build_dir / "cards")}
    for name in names:
        if name not in folders:
            raise KeyError(f"no reference card {name!r}; there is {', '.join(sorted(folders))}")
    return [
        Target(folders[name], f"{namespace}/{name}", "model", delete=False, built=True)
        for name in names or sorted(folders)
    ]
