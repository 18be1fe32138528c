"""A simulated assembly world whose truth is exact, written out in the layouts of the benchmarks."""
