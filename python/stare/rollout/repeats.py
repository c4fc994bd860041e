"""Equal prompts must not get equal responses, so they are numbered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

__all__ = ["repeats"]


def repeats(prompts: Sequence[Hashable]) -> list[int]:
    """How many of the prompts before each are equal to it.

    Example:
        >>> repeats(["a", "b", "a", "a"])
        [0, 0, 1, 2]
    """
    seen: Counter[Hashable] = Counter()
    numbers = []
    for prompt in prompts:
        numbers.append(seen[prompt])
        seen[prompt] += 1
    return numbers
