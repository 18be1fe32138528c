"""One folder a benchmark: its `datasets` builder, its card and a small simulated sample."""
