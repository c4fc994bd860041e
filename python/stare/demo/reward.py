"""The reward the learner calls: 1 for a right response, else 0, for the whole batch at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stare.demo.tasks import TASKS
from stare.demo.verifier import RESPONSE_LENGTH, verify_tokens
from stare.types import Completion, Problem

__all__ = ["reward"]


def reward(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    """Reward 1.0 or 0.0 of each completion; nothing is ever undecided here.

    Args:
        problems: (N,) the problem of each completion, made by `stare.demo.tasks`.
        completions: (N,) responses; judged by their token ids, end token included.

    Example:
        >>> from stare.demo.tasks import modular_problems
        >>> from stare.demo.vocab import Tokenizer
        >>> problem = modular_problems()[0][0]
        >>> ids = Tokenizer().encode("1 + 1 = 2 ; 2 + 1 = 3 ! $")
        >>> wrong = Completion(prompt_ids=[], token_ids=ids[:3], text="", finish_reason="length")
        >>> reward([problem], [wrong])
        [0.0]
    """
    rewards = np.zeros(len(problems))
    rows: dict[str, list[int]] = {}
    for i, (problem, completion) in enumerate(zip(problems, completions, strict=True)):
        if len(completion.token_ids) == RESPONSE_LENGTH:
            rows.setdefault(problem.extra["task"], []).append(i)
    for name, index in rows.items():
        rewards[index] = verify_tokens(
            np.array([completions[i].token_ids for i in index]),
            np.array([problems[i].extra["numbers"] for i in index]),
            np.array([problems[i].extra["target"] for i in index]),
            TASKS[name],
        )
    out: list[float] = rewards.tolist()
    return out
