"""Metrics, errors and comparisons of scores: pure functions of counts, no I/O."""
