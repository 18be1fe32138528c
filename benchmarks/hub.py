"""Every data set built, pushed to a local Hub, and loaded back with an empty cache.

    python benchmarks/hub.py [--data FOLDER] [NAME...]
    python benchmarks/hub.py --size 1000

The samples, and with `--data` what FOLDER has of the authors' files (a folder a benchmark, as
`build --data-dir` takes it; its text and media are embedded, since nothing leaves this machine).
Loading happens in a process of its own, which knows `datasets` and HF_ENDPOINT and nothing of this
package; features and the digests of all rows must be those of the build, or the script fails.
Seconds: `build` makes and checks the folder, `push` sends it, `again` finds everything there,
`load` is `load_dataset` of all configurations with the start of Python.

With `--size`, so many megabytes of random bytes in eight files are pushed, and pushed again, by us
and by the peer, `HfApi.upload_folder`, which commits as it goes and deletes nothing.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the local Hub is in tests/

from huggingface_hub import HfApi, constants

from procedural_evals import registry
from procedural_evals.hub import build, record, reload
from procedural_evals.hub.push import push
from procedural_evals.hub.record import BuiltDataset
from procedural_evals.hub.sending import Target
from tests import hub_server

T = TypeVar("T")
WIDTHS = "{:<16} {:<47} {:>6} {:>5} {:>9} {:>7} {:>7} {:>7} {:>7}"


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work gives, and the seconds that it took."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def data_folder(data: Path | None, name: str) -> str | None:
    """The benchmark's folder below `data`, by its name or with one hyphen more or less."""
    for found in sorted(data.iterdir()) if data else []:
        if found.is_dir() and found.name.replace("-", "") == name.replace("-", ""):
            return str(found)
    return None


def load_back(hub: hub_server.Hub, name: str, home: Path) -> dict[str, Any]:
    """Features and row digests of ORG/NAME, as a stranger to this package with a token sees it."""
    out = home / "loaded.json"
    home.mkdir(parents=True)
    script = shutil.copy(reload.__file__, home)  # beside the original, our modules are found
    subprocess.run(
        [sys.executable, script, f"ORG/{name}", str(out)],
        env=hub.environment(home / "cache"),
        cwd=home,
        check=True,
        capture_output=True,
    )
    return dict(json.loads(out.read_text()))


def differences(built: BuiltDataset, loaded: dict[str, Any]) -> list[str]:
    """Splits whose rows came back otherwise, and other surprises."""
    found = [f"loading imported {name}" for name in loaded["foreign"]]
    if set(loaded["configs"]) != set(built.splits):
        return [*found, f"configurations {sorted(loaded['configs'])}, not {sorted(built.splits)}"]
    for config, split, entry in built.each_split():
        back = loaded["configs"][config]
        if record.digest_of_rows(back["rows"].get(split, [])) != entry["digest"]:
            found.append(f"{config}/{split}: other rows")
        columns = datasets_features(built, entry)
        if back["features"].get(split) != columns:
            found.append(f"{config}/{split}: other features")
    return found


def datasets_features(built: BuiltDataset, entry: dict[str, Any]) -> dict[str, Any]:
    """The features that are written into a split's first file."""
    import pyarrow.parquet as pq
    from datasets import Features

    schema = pq.read_schema(built.folder / next(iter(entry["files"])))
    return dict(Features.from_arrow_schema(schema).to_dict())


def one(hub: hub_server.Hub, name: str, data: Path | None, work: Path) -> list[str]:
    """Build, push, push again and load one data set; what is wrong."""
    try:
        built, build_time = timed(
            lambda: build.build(
                name,
                work / "built",
                data_dir=data_folder(data, name),
                embed_media=True,
                embed_text=True,
            )
        )
    except FileNotFoundError:
        print(f"{name}: no files here and no simulated sample")
        return []
    api = HfApi(endpoint=hub.url, token=hub.token)
    target = Target(built.folder, f"ORG/{name}", "dataset")
    said: list[str] = []
    before = hub.diary.receiving
    first, push_time = timed(lambda: push(api, target, say=said.append))
    _, again_time = timed(lambda: push(api, target, say=said.append))
    loaded, load_time = timed(lambda: load_back(hub, name, work / "home" / name))
    wrong = differences(built, loaded)
    if hub.diary.receiving - before > first.plan.upload_bytes:
        wrong.append("something was sent twice")
    rows = sum(entry["rows"] for _, _, entry in built.each_split())
    seconds = (build_time, push_time, again_time, load_time)
    print(
        WIDTHS.format(
            name,
            ", ".join(built.splits),
            rows,
            len(first.plan.upload),
            f"{first.plan.upload_bytes / 1e6:.2f}",
            *(f"{each:.2f}" for each in seconds),
        ),
        flush=True,
    )
    return [f"{name}: {each}" for each in wrong]


def against_upload_folder(hub: hub_server.Hub, megabytes: int, work: Path) -> None:
    """Print the seconds of both ways, the first and the second time."""
    folder = work / "large"
    folder.mkdir()
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    for number in range(8):
        with (folder / f"{number}.parquet").open("wb") as stream:
            for _ in range(megabytes // 8):
                stream.write(os.urandom(1_000_000))
    api = HfApi(endpoint=hub.url, token=hub.token)
    api.create_repo("ORG/peer", repo_type="dataset")
    said: list[str] = []

    def ours() -> None:
        push(api, Target(folder, "ORG/ours", "dataset"), say=said.append)

    def peer() -> None:
        api.upload_folder(repo_id="ORG/peer", folder_path=folder, repo_type="dataset")

    for name, way in (("push", ours), ("upload_folder", peer)):
        seconds = [timed(way)[1] for _ in range(2)]
        print(f"{name:<14} {megabytes} MB  first {seconds[0]:7.2f} s   again {seconds[1]:7.2f} s")


def main() -> int:
    """Print a row a data set; 1 when one came back otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--data", type=Path, help="folder with the authors' files")
    parser.add_argument("--size", type=int, metavar="MB", help="compare with upload_folder instead")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    constants.HF_HUB_OFFLINE, constants.HF_HUB_DISABLE_XET = False, True
    wrong: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        hub_server.running(Path(folder) / "hub") as hub,
    ):
        if options.size:
            against_upload_folder(hub, options.size, Path(folder))
            return 0
        heads = ("configurations", "rows", "files", "MB", "build s", "push s", "again s", "load s")
        print(WIDTHS.format("", *heads))
        for name in options.names or registry.benchmarks():
            wrong += one(hub, name, options.data, Path(folder))
    print("\n".join(wrong) or "every row and feature came back as it was built")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
