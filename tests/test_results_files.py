"""Editing a file of results: what others wrote stays as they wrote it."""

import pytest
import yaml
from huggingface_hub import EvalResultEntry

from procedural_evals.hub.results_files import as_yaml, edited, existing_entries, has


def entry(task_id="b", value=3.0, **more):
    return EvalResultEntry(dataset_id="acme/bench", task_id=task_id, value=value, **more)


OURS = yaml.safe_load(as_yaml([entry()]))[0]
THEIRS = """\
# checked by Ann
- dataset:
    id: acme/bench
    task_id: a   # the main one
  value: 12.5

# by Bob
- dataset: {id: other/bench, task_id: b}
  value: 1
"""
OLD = """\
- dataset:
    id: acme/bench
    task_id: b
  value: 1.0   # of May
  notes: |
    two
    lines
# the last line
"""


def test_a_new_entry_stands_at_the_end_and_nothing_else_is_touched():
    text = edited(THEIRS, [entry()])
    assert text.startswith(THEIRS)
    assert existing_entries(text) == [*existing_entries(THEIRS), OURS]


def test_an_entry_of_the_same_task_is_replaced_where_it_stands():
    text = edited(THEIRS + OLD, [entry()])
    assert text.startswith(THEIRS)
    assert text.endswith("# the last line\n")
    assert existing_entries(text) == [*existing_entries(THEIRS), OURS]
    text = edited(OLD + THEIRS, [entry(), entry("c", 4.0)])
    assert "# the last line\n# checked by Ann" in text
    assert [each["value"] for each in existing_entries(text)] == [3.0, 12.5, 1, 4.0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing yet\n",
        "[]\n",
        "[{dataset: {id: acme/bench, task_id: b}, value: 1}]\n",
        "- {dataset: {id: acme/bench, task_id: b}, value: 1}\n",
        "  - dataset: {id: acme/bench, task_id: a}\n    value: 1",
        "---\n- 1\n- null\n- [x]\n- {dataset: 3}\n- {dataset: {id: [1], task_id: {a: b}}}\n",
        "- dataset: &d {id: acme/bench, task_id: a}\n  value: 1\n- dataset: *d\n  value: 2\n",
        "- dataset:\r\n    id: acme/bench\r\n    task_id: b\r\n  value: 1\r\n",
        "- dataset:\n    id: acme/bench\n    task_id: b\n  value: 1\n...\n",
    ],
)
def test_files_of_any_style_keep_their_entries_and_get_ours(text):
    before = existing_entries(text)
    content = edited(text, [entry()])
    after = existing_entries(content)
    assert OURS in after
    others = [each for each in before if not (isinstance(each, dict) and _task(each) == "b")]
    assert [each for each in after if each != OURS] == others
    assert has(content, [entry(dataset_revision="c0ffee")])
    assert edited(content, [entry()]) == content


def _task(each):
    return each["dataset"].get("task_id") if isinstance(each["dataset"], dict) else None


@pytest.mark.parametrize("text", ["a: 1", "a: [1", "words", "!!python/object/apply:os.abort []"])
def test_a_file_of_something_else_is_refused(text):
    with pytest.raises(ValueError, match=r"not readable as YAML|no list of results"):
        edited(text, [entry()])
