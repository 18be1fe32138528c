"""The parts of the local Hub: what it stores, what it answers, how it misbehaves."""
