"""Every prompt of every sample task, kept as text: a change of a word shows in the diff.

After a change that is meant, `pytest tests/test_prompt_snapshots.py --update-golden` writes them.
"""

import datasets
import pytest

from procedural_evals import folders
from procedural_evals.harness.plugin import task_names

from .conftest import GOLDEN

#: Tasks whose prompts are another task's, word for word: only pictures, orders or repeats differ.
SAME_WORDS = {
    "flatpack_bench_no_labels_sample": "flatpack_bench_sample",
    "flatpack_bench_no_boundaries_sample": "flatpack_bench_sample",
    "flatpack_bench_no_masks_sample": "flatpack_bench_sample",
    "flatpack_bench_palette_sample": "flatpack_bench_sample",
    "flatpack_bench_large_labels_sample": "flatpack_bench_sample",
    "flatpack_bench_orders_sample": "flatpack_bench_sample",
    "flatpack_bench_self_consistency_sample": "flatpack_bench_cot_sample",
}
SAMPLE_TASKS = sorted(
    name
    for name in task_names()
    if name.endswith("_sample")
    and not name.endswith(("_all_sample", "_studies_sample"))
    and name not in SAME_WORDS
)


@pytest.fixture(scope="module")
def rows_of(tmp_path_factory):
    """The rows of a task; tasks that show the same rows share them."""
    cache = str(tmp_path_factory.mktemp("cache"))

    def load(config):
        return datasets.load_dataset(
            config["dataset_path"],
            config["dataset_name"],
            split=config["test_split"],
            cache_dir=cache,
            **config.get("dataset_kwargs", {}),
        )

    return load


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    """What tasks make of their media goes to a folder of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROCEDURAL_EVALS_CACHE", str(tmp_path_factory.mktemp("media")))
        yield


def task_config(name):
    from lmms_eval.utils import load_yaml_config

    (file,) = folders.lmms_tasks().rglob(f"{name}.yaml")
    return load_yaml_config(str(file), mode="full")


def as_text(messages):
    lines = []
    for message in messages:
        lines.append(f"<{message['role']}>")
        for part in message["content"]:
            if part["type"] == "text":
                lines.append(part["text"])
            elif part["type"] == "image":
                lines.append(f"[image {part['url'].size[0]}x{part['url'].size[1]}]")
            else:
                lines.append(f"[{part['type']}]")
    return "\n".join(lines)


def one_row_of_each_kind(rows):
    """The first row of each value of the finest column there is; null is no value."""
    column = next(
        name
        for name in ("template", "question_type", "qa_type", "label", "mode", "session")
        if name in rows.features
    )
    seen = {}
    for position, value in enumerate(rows[column]):
        if value is not None:
            seen.setdefault(value, position)
    feature = rows.features[column]
    for value, position in sorted(seen.items(), key=lambda item: str(item[0])):
        label = feature.int2str(value) if isinstance(feature, datasets.ClassLabel) else value
        yield label, rows[position]


@pytest.mark.parametrize("task", SAMPLE_TASKS)
def test_the_prompts_are_the_ones_on_file(task, request, rows_of):
    config = task_config(task)
    rows = rows_of(config)
    text = "\n".join(
        f"=== {label} ===\n{as_text(config['doc_to_messages'](row))}\n"
        for label, row in one_row_of_each_kind(rows)
    )
    file = GOLDEN / "prompts" / f"{task}.txt"
    if request.config.getoption("--update-golden"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.is_file(), f"no {file.name}; write it with --update-golden"
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("task", SAME_WORDS)
def test_a_study_of_pictures_or_replies_changes_no_word(task):
    config, other = task_config(task), task_config(SAME_WORDS[task])
    for way in ("doc_to_messages", "doc_to_visual", "doc_to_text"):
        assert config[way].__self__ == other[way].__self__
        assert config[way].__name__ == other[way].__name__


@pytest.mark.parametrize("task", SAMPLE_TASKS)
def test_simple_models_get_the_same_media_and_the_same_text(task, rows_of):
    """They take the media first, then the text; for the text a row comes without its pictures."""
    config = task_config(task)
    if config.get("doc_to_visual") is None:
        pytest.skip("chat models only")
    rows = rows_of(config)
    row = rows[len(rows) // 2]
    *media, text = config["doc_to_messages"](row)[0]["content"]
    visuals = config["doc_to_visual"](row)
    assert [kind(visual) for visual in visuals] == [part["type"] for part in media]
    bare = {
        key: value for key, value in row.items() if key not in ("visual_prompts", "parts_image")
    }
    assert config["doc_to_text"](bare) == text["text"]


def kind(visual):
    return "video" if isinstance(visual, str) else "image"


def test_no_snapshot_is_left_of_a_task_that_is_gone():
    assert {file.stem for file in (GOLDEN / "prompts").glob("*.txt")} <= set(SAMPLE_TASKS)
