"""Benchmarks of procedural video understanding for the Hugging Face ecosystem."""
