"""One folder a benchmark: lmms-eval task files, prompt templates and the functions they name."""
