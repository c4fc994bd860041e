"""Rendered prompts of a mix: their lengths, and dropping those that are too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from stare.chat import ChatTokenizer
from stare.errors import DataError
from stare.train.mixing.prepare import Prepared
from stare.train.mixing.report import EDGES, histogram
from stare.types import Problem

__all__ = ["character_lengths", "keep_short_prompts", "prompt_lengths"]

Render = Callable[[Sequence[Problem]], list[str]]


def prompt_lengths(mixed: Prepared, render: Render, tokenizer: ChatTokenizer) -> dict[str, Any]:
    """Histogram of prompt lengths in tokens, by source."""
    return _histograms(mixed, lambda problems: _tokens(problems, render, tokenizer), "tokens")


def character_lengths(mixed: Prepared) -> dict[str, Any]:
    """Histogram of the lengths of the problems in characters, where there is no tokenizer."""
    return _histograms(mixed, lambda problems: [len(p.problem) for p in problems], "characters")


def _histograms(
    mixed: Prepared, measure: Callable[[Sequence[Problem]], list[int]], unit: str
) -> dict[str, Any]:
    lengths = {name: measure(problems) for name, problems in mixed.sets.items()}
    return {
        "unit": unit,
        "edges": list(EDGES),
        "counts": {name: histogram(values) for name, values in lengths.items()},
        "longest": {name: max(values, default=0) for name, values in lengths.items()},
    }


def _tokens(problems: Sequence[Problem], render: Render, tokenizer: ChatTokenizer) -> list[int]:
    if not problems:
        return []
    encoded = tokenizer(render(problems), add_special_tokens=False)["input_ids"]
    return [len(ids) for ids in encoded]


def keep_short_prompts(
    mixed: Prepared, render: Render, tokenizer: ChatTokenizer, longest: int
) -> Prepared:
    """The mix without the problems whose prompt has more than `longest` tokens; counted.

    Raises:
        DataError: nothing of a source is left.
    """
    sets = {}
    for name, problems in mixed.sets.items():
        lengths = _tokens(problems, render, tokenizer)
        sets[name] = [p for p, n in zip(problems, lengths, strict=True) if n <= longest]
        long = [p.id for p, n in zip(problems, lengths, strict=True) if n > longest]
        if long:
            mixed.report.drop(name, "long-prompt", long)
        mixed.report.sources[name].kept = len(sets[name])
        if not sets[name]:
            raise DataError(
                f"every prompt of {name!r} is longer than {longest} tokens\n"
                "hint: raise rollout.max_prompt_tokens (the model's context bounds it)"
            )
    return replace(mixed, sets=sets)
