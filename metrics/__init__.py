"""One folder a metric: an `evaluate` module that validates its input and calls `scores`."""
