"""What the README and its pages name is there: files, commands, options, tasks."""

import re
import shlex
from pathlib import Path

import pytest

from procedural_evals import cli, commands
from procedural_evals.harness.plugin import task_names
from procedural_evals.hub import commands as hub_commands
from procedural_evals.registry import benchmarks

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LMMS_EVALS = {
    "--output_path",
    "--model",
    "--model_args",
    "--tasks",
    "--limit",
    "--repeats",
    "--gen_kwargs",
    "--predict_only",
}


def shell_lines(page):
    """The commands of a page's code blocks, continued lines joined, comments left out."""
    blocks = re.findall(r"(?ms)^```\n(.*?)^```", page.read_text(encoding="utf-8"))
    for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True) if line.count("'") % 2 == 0 else []
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            words = words[1:]
        if words and words[0] in ("python", "procedural-evals", "accelerate", "make"):
            yield words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith("http")]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_exists_with_its_options(page, capsys):
    for words in shell_lines(page):
        if words[0] == "procedural-evals":
            package, rest, prog = commands, words[1:], "procedural-evals"
        elif words[:2] == ["python", "upload.py"]:
            package, rest, prog = hub_commands, words[2:], "upload.py"
        else:
            if words[0] == "python" and words[1] != "-m" and not words[1].startswith("-"):
                assert (ROOT / words[1]).is_file(), words
            continue
        assert rest[0] in package.NAMES, words
        with pytest.raises(SystemExit) as ended:
            cli.run_command(package, prog, "", [rest[0], "--help"])
        assert ended.value.code == 0
        known = set(re.findall(r"--[\w-]+", capsys.readouterr().out)) | LMMS_EVALS
        used = {word.split("=")[0] for word in rest if word.startswith("--")}
        assert used <= known, f"{prog} {rest[0]} has no {', '.join(sorted(used - known))}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_task_and_dataset_exists(page):
    for words in shell_lines(page):
        if "--tasks" in words:
            named = re.split("[,:]", words[words.index("--tasks") + 1])
            assert set(named) <= task_names(), words
        if words[:2] in (["procedural-evals", "check-data"], ["procedural-evals", "simulate"]):
            assert words[2] in benchmarks(), words
