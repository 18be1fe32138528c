"""Scores: pure functions of numpy arrays and lists; no files, no network, no models."""
