"""The tool demo's task: products of two-digit numbers, which the tiny policy cannot do in its head.

It may write the product at once, or a program that prints it, read the output and copy it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from stare.types import Completion, Problem

__all__ = ["products", "reward"]

HELD_OUT = 200


def products(data_cfg: Any = None) -> tuple[list[Problem], list[Problem]]:
    """Training and held-out problems (`data.factory`): all 8,100 products, 200 of them held out.

    Example:
        >>> train, held_out = products()
        >>> len(train), len(held_out), products()[1][0].problem == held_out[0].problem
        (7900, 200, True)
    """
    pairs = [(a, b) for a in range(10, 100) for b in range(10, 100)]
    random.Random(0).shuffle(pairs)
    problems = [
        Problem(id=f"{a}*{b}", problem=f"{a}*{b}=", answer=str(a * b), extra={"pair": [a, b]})
        for a, b in pairs
    ]
    return problems[HELD_OUT:], problems[:HELD_OUT]


def reward(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    r"""1.0 where the last line the policy itself wrote is the product and it ended there, else 0.0.

    Example:
        >>> problem = Problem(id="", problem="12*12=", answer="144")
        >>> text = "```python\nprint(12*12)\n```\n\n144"
        >>> right = Completion(prompt_ids=[], token_ids=[], text=text, finish_reason="stop")
        >>> reward([problem], [right])
        [1.0]
    """
    return [
        float(c.finish_reason == "stop" and c.text.rsplit("\n", 1)[-1] == p.answer)
        for p, c in zip(problems, completions, strict=True)
    ]
