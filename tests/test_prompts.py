"""Prompt templates: which there are, and what is refused of somebody's own."""

import pytest

from procedural_evals import folders, prompts

EVERY = [
    (path.parent.parent.name, path.stem) for path in folders.lmms_tasks().glob("*/prompts/*.txt")
]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a template of one's own; the folder is in force."""
    monkeypatch.setenv(prompts.PROMPTS_VARIABLE, str(tmp_path))

    def write(benchmark, name, text):
        file = tmp_path / benchmark / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_there_are_templates():
    assert ("flatpack_bench", "blind") in EVERY


@pytest.mark.parametrize(("benchmark", "name"), EVERY)
def test_an_own_template_needs_every_placeholder_of_ours(benchmark, name, own, monkeypatch):
    with monkeypatch.context() as without:
        without.delenv(prompts.PROMPTS_VARIABLE)
        ours = prompts.load_template(benchmark, name)
    for left_out in ours.placeholders:
        words = " ".join(f"${{{each}}}" for each in ours.placeholders - {left_out})
        own(benchmark, f"{name}.txt", f"{{{left_out}}} $${left_out} {words}")
        prompts._load.cache_clear()
        with pytest.raises(ValueError, match=rf"{name}\.txt: without \${left_out}, .* needed are"):
            prompts.load_template(benchmark, name)
    words = " ".join(f"${each}" for each in ours.placeholders)
    file = own(benchmark, f"{name}.txt", f"My words: {words}")
    prompts._load.cache_clear()
    mine = prompts.load_template(benchmark, name)
    assert (mine.path, mine.name) == (file, ours.name)
    assert mine.hash != ours.hash
    filled = mine.fill(**dict.fromkeys(ours.placeholders, "x"))
    assert filled == " ".join(["My words:", *["x"] * len(ours.placeholders)])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("$question $options $answer", r"\$answer has no value; there are \$options, \$question"),
        ("$question $options for 5 $", r"'\$' is no placeholder; a dollar sign is written \$\$"),
        ("$question $options $5", r"'\$5' is no placeholder"),
        ("", r"without \$options, \$question"),
    ],
)
def test_what_cannot_be_filled_is_refused_before_the_run(own, text, reason):
    own("flatpack_bench", "blind.txt", text)
    with pytest.raises(ValueError, match=rf"blind\.txt: {reason}"):
        prompts.load_template("flatpack_bench", "blind")


@pytest.mark.parametrize(
    ("benchmark", "file", "reason"),
    [
        (
            "flatpack-bench",
            "blind.txt",
            "flatpack-bench: no benchmark .* there are dyad, flat",
        ),
        ("flatpack_bench", "blnd.txt", r"blnd\.txt: flatpack_bench has no .* there are blind\.txt"),
        ("flatpack_bench", "blind.md", r"blind\.md: flatpack_bench has no template of that name"),
        ("", "blind.txt", r"blind\.txt: a template lies in a folder of its benchmark: dyad, "),
    ],
)
def test_names_that_nobody_would_read_are_refused(own, benchmark, file, reason):
    own(benchmark, file, "$question $options")
    with pytest.raises(ValueError, match=reason):
        prompts.load_template("promqa_cooking", "text")


def test_rubrics_and_hidden_files_may_lie_there_too(own):
    own("", "promqa_ternary.yaml", "name: promqa_ternary")
    own(".git", "config", "")
    own("flatpack_bench", ".blind.txt.swp", "")
    template = prompts.load_template("flatpack_bench", "blind")
    assert template.path.is_relative_to(folders.lmms_tasks())


def test_a_folder_that_is_none_and_a_name_that_is_none_are_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"no template 'blnd'; there are: blind, "):
        prompts.load_template("flatpack_bench", "blnd")
    monkeypatch.setenv(prompts.PROMPTS_VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError, match=r"gone is not a folder"):
        prompts.load_template("flatpack_bench", "blind")
