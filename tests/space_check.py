"""Run as a script: does every Space in a folder stand on its own?

    python -I space_check.py FOLDER

Each subfolder is a Space. Its page is built and one example computed in a forked process that
finds `procedural_evals` in that folder alone, and neither lmms-eval nor, but for those that name
it among their requirements, torch. Prints a line of JSON a Space: what was computed, and the
modules from elsewhere.
"""

import itertools
import json
import os
import runpy
import sys
import traceback
from pathlib import Path


class Absent:
    """Stands for packages that a Space does not have."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r} in a Space", name=name)


def leave_the_checkout():
    sys.meta_path[:] = [f for f in sys.meta_path if "__editable__" not in repr(f)]
    sys.path[:] = [p for p in sys.path if not (Path(p) / "procedural_evals").is_dir()]


def in_metric_space(space, compute):
    from procedural_evals.hub import metric_app
    from procedural_evals.hub.metric_card import read_card

    metric_app.page(space)
    card = read_card(space)
    example = card.examples[0]
    return metric_app.computed(card, example, *metric_app.fields(example)) if compute else {}


def in_leaderboard(space):
    from procedural_evals.hub import leaderboard_app

    results = leaderboard_app.Results(leaderboard_app.source_of(str(space / "results")))
    leaderboard_app.page(results)
    found = results.boards()
    pairs = []
    for board in found["boards"]:
        traced = [entry["id"] for entry in board["entries"] if entry["traces"]]
        for first, second in itertools.pairwise(traced):
            pairs.append(results.compare(first, second, board["main"].partition(":")[0]))
    return {"problems": found["problems"], "pairs": pairs}


def check(space):
    needed = (space / "requirements.txt").read_text()
    absent = {"lmms_eval", *(name for name in ("torch", "av") if f"{name}>" not in needed)}
    sys.meta_path.insert(0, Absent(absent))
    sys.path.insert(0, str(space))
    os.chdir(space)
    runpy.run_path("app.py", run_name="page")
    if (space / "results").is_dir():
        found = in_leaderboard(space)
    else:
        # Importing torch takes longer than all the rest; its Space is computed in the browser.
        found = in_metric_space(space, compute="torch" not in needed)
    ours = {
        name: module.__file__
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "procedural_evals" and getattr(module, "__file__", None)
    }
    elsewhere = [name for name, file in ours.items() if space not in Path(file).resolve().parents]
    return {"space": space.name, "modules": len(ours), "elsewhere": elsewhere, "found": found}


def main(folder):
    leave_the_checkout()
    # What all Spaces share is imported once; the processes that are forked off have it.
    import datasets  # noqa: F401
    import evaluate  # noqa: F401
    import gradio  # noqa: F401

    for space in sorted(Path(folder).resolve().iterdir()):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            try:
                print(json.dumps(check(space)), flush=True)
                os._exit(0)
            except BaseException as error:
                traceback.print_exc()
                print(json.dumps({"space": space.name, "error": repr(error)}), flush=True)
                os._exit(1)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1])
