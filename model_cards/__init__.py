"""Published results as figures, and cards of the reference systems."""
