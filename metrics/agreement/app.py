"""The metric's page: its card, a form with the card's examples, and the values computed."""

from pathlib import Path

from procedural_evals.hub import metric_app

if __name__ == "__main__":
    metric_app.launch(Path(__file__).parent)
