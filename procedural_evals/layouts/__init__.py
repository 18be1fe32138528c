"""The layouts that the benchmarks' authors published, read into rows; no pictures, no models."""
