"""The slow, obvious twin of the selection: Python lists, one sort, no cleverness."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np


def quota(n: int, ratio: float) -> int:
    """ceil(ratio * n), the ratio read as the decimal it prints as."""
    return math.ceil(Fraction(repr(float(ratio))) * n)


def select(logprobs, advantages, mask, rule) -> list[tuple[int, int]]:
    """(row, column) of the rule's tokens; rows may differ in length."""
    tokens = [
        (float(row[t]), i, t)
        for i, row in enumerate(logprobs)
        for t in range(len(row))
        if mask[i][t] and float(advantages[i][t]) * rule.sign > 0
    ]
    direction = 1 if rule.tail == "high" else -1
    tokens.sort(key=lambda token: (direction * token[0], token[1], token[2]))
    return [(i, t) for _, i, t in tokens[: quota(len(tokens), rule.ratio)]]


def weights(logprobs, advantages, mask, rules, dtype=np.float32) -> list[np.ndarray]:
    """Rows of weights with the gate on."""
    out = [np.ones(len(row)) for row in logprobs]
    for rule in rules:
        for i, t in select(logprobs, advantages, mask, rule):
            out[i][t] *= rule.factor
    return [row.astype(dtype) for row in out]
