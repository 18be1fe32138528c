"""The leaderboard of procedural video understanding, as a Space."""

from pathlib import Path

from procedural_evals.hub import leaderboard_app

# Submissions: a folder beside this file, or a traces repository ORG/NAME that is read anew every
# ten minutes; the Space's variable PROCEDURAL_EVALS_RESULTS goes first.
RESULTS = "$results"

if __name__ == "__main__":
    folder = Path(__file__).parent / RESULTS
    leaderboard_app.launch(str(folder) if RESULTS and folder.is_dir() else RESULTS)
