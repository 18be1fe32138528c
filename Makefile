# Everything runs in .venv, which is made once and again only when the requirements change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# No test may reach a model hub; a machine without one fails fast instead of waiting.
OFFLINE := HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false

.PHONY: setup browser demo test fast lint format sample clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

# The tests of pages need it, and skip without; needs root and Debian's packages.
browser:
	command -v chromium > /dev/null || (apt-get update && apt-get install -y chromium)

demo: $(READY)
	$(OFFLINE) $(BIN)/python -m procedural_evals.cli demo

test: $(READY)
	$(OFFLINE) $(BIN)/python -m pytest -n 2

fast: $(READY)
	$(OFFLINE) $(BIN)/python -m pytest -n 2 -m "not slow"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

sample: $(READY)
	$(BIN)/python -m procedural_evals.cli simulate --sample

clean:
	rm -rf $(VENV) build dist *.egg-info
