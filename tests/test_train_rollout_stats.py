"""Statistics by length and position, against loops over single tokens."""

from __future__ import annotations

import random

import pytest

from stare.train.collect import Group
from stare.train.metric_keys import is_metric_key
from stare.train.rollout_stats import by_length, by_position
from stare.types import Completion, Problem

PROBLEM = Problem(id="p", problem="", answer="")


def groups(seed: int, *, entropies: bool = True, masked: bool = False) -> list[Group]:
    draw = random.Random(seed)

    def one() -> Completion:
        n = draw.choice([0, 1, 2, 3, 4, 5, 8, 9, 16, 17, draw.randint(1, 300)])
        values = [draw.random() for _ in range(n)]
        return Completion(
            prompt_ids=[1],
            token_ids=[1] * n,
            text="",
            finish_reason=draw.choice(["stop", "length"]),
            logprobs=[-v for v in values],
            entropies=values if entropies else None,
            loss_mask=[draw.random() < 0.7 for _ in range(n)] if masked else None,
        )

    return [
        Group(
            problem=PROBLEM,
            completions=[one() for _ in range(6)],
            rewards=[draw.random() for _ in range(6)],
        )
        for _ in range(draw.randint(1, 9))
    ]


def slow_by_length(groups: list[Group]) -> dict[str, float]:
    found: dict[int, list[tuple[float, bool]]] = {}
    for group in groups:
        for c, reward in zip(group.completions, group.rewards, strict=True):
            top = 1
            while top < len(c.token_ids):
                top *= 2
            found.setdefault(top, []).append((reward, c.is_truncated))
    total = sum(map(len, found.values()))
    out = {}
    for top, members in found.items():
        out[f"rollout/share_le_{top}"] = len(members) / total
        out[f"rollout/reward_le_{top}"] = sum(r for r, _ in members) / len(members)
        out[f"rollout/truncated_le_{top}"] = sum(t for _, t in members) / len(members)
    return out


def slow_by_position(groups: list[Group]) -> dict[str, float]:
    found: dict[int, list[float]] = {}
    for group in groups:
        for c in group.completions:
            n = len(c.token_ids)
            values = c.entropies or [-v for v in c.logprobs or []]
            for i, value in enumerate(values):
                if c.loss_mask is None or c.loss_mask[i]:
                    found.setdefault(10 * i // n + 1, []).append(value)
    return {f"rollout/entropy_d{k}": sum(v) / len(v) for k, v in found.items()}


@pytest.mark.parametrize("seed", range(20))
def test_they_equal_loops(seed: int) -> None:
    some = groups(seed, entropies=seed % 2 == 0, masked=seed % 3 == 0)
    assert by_length(some) == pytest.approx(slow_by_length(some))
    assert by_position(some) == pytest.approx(slow_by_position(some))
    assert all(is_metric_key(key) for key in by_length(some) | by_position(some))


@pytest.mark.parametrize("length", [*range(70), 4095, 4096, 4097, 32768])
def test_a_bucket_holds_what_its_name_says(length: int) -> None:
    one = Completion(prompt_ids=[1], token_ids=[1] * length, text="", finish_reason="stop")
    group = Group(problem=PROBLEM, completions=[one], rewards=[0.5])
    (top,) = (int(key[17:]) for key in by_length([group]) if key.startswith("rollout/share"))
    assert top / 2 < max(length, 1) <= top


def test_nothing_generated_and_nothing_reported() -> None:
    assert by_length([]) == by_position([]) == {}
    one = Completion(prompt_ids=[1], token_ids=[1, 2], text="", finish_reason="stop")
    assert by_position([Group(problem=PROBLEM, completions=[one], rewards=[0.5])]) == {}
    assert not is_metric_key("rollout/entropy_d11")
