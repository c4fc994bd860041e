"""Dynamic sampling: what is kept, what is dropped and why, and that refills are bounded."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stare.errors import DataError
from stare.rollout.sampler import SamplingParams
from stare.train.collect import Collected, collect, overlong_penalty, sample_groups
from stare.train.config import RewardConfig, RolloutConfig
from stare.train.data import ProblemStream
from stare.types import Completion, Problem


class ScriptedSampler:
    """Completion text is `<prompt>:<sample index>`; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], SamplingParams]] = []

    def sample(self, prompts: Sequence[str], params: SamplingParams) -> list[list[Completion]]:
        self.asked.append((list(prompts), params))
        return [
            [
                Completion(
                    prompt_ids=[1], token_ids=[2, 3], text=f"{prompt}:{i}", finish_reason="stop"
                )
                for i in range(params.n)
            ]
            for prompt in prompts
        ]


def run(
    pattern: Sequence[Sequence[float | None]],
    rollout: RolloutConfig,
    reward: RewardConfig | None = None,
) -> tuple[Collected, ScriptedSampler]:
    """`pattern[i]` are the rewards of problem i's group; the data set repeats for ever."""
    problems = [Problem(id=str(i), problem=str(i), answer="") for i in range(len(pattern))]

    def reward_fn(
        asked: Sequence[Problem], completions: Sequence[Completion]
    ) -> list[float | None]:
        return [
            pattern[int(p.id)][int(c.text.split(":")[1])]
            for p, c in zip(asked, completions, strict=True)
        ]

    sampler = ScriptedSampler()
    collected = collect(
        ProblemStream(problems, seed=0, shuffle=False),
        lambda ps: [p.problem for p in ps],
        sampler,
        reward_fn,
        rollout,
        reward or RewardConfig(),
        seed=0,
    )
    return collected, sampler


rewards = st.lists(
    st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=2), min_size=1, max_size=12
)


@given(rewards, st.integers(1, 5), st.integers(0, 4), st.sampled_from([1.0, 1.5, 3.0]))
def test_every_generated_group_is_accounted_for(
    pattern: list[list[float]], wanted: int, refills: int, over: float
) -> None:
    rollout = RolloutConfig(
        prompts_per_step=wanted, group_size=2, max_refills=refills, over_sample=over
    )
    collected, sampler = run(pattern, rollout)
    assert len(collected.generated) == len(collected.kept) + sum(collected.counts.values())
    assert len(collected.generated) == sum(len(prompts) for prompts, _ in sampler.asked)
    assert len(collected.kept) <= wanted
    assert all(g.is_mixed for g in collected.kept)
    assert len(sampler.asked) <= 1 + refills
    # Stopping early is allowed only with a full batch.
    assert len(collected.kept) == wanted or len(sampler.asked) == 1 + refills
    assert len({params.seed for _, params in sampler.asked}) == len(sampler.asked)


def test_without_dynamic_sampling_equal_groups_stay() -> None:
    rollout = RolloutConfig(prompts_per_step=3, group_size=2, dynamic_sampling=False)
    collected, sampler = run([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]], rollout)
    assert [g.rewards for g in collected.kept] == [[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    assert collected.counts == {"all_solved": 1, "none_solved": 1, "other_equal": 0, "surplus": 0}
    assert len(sampler.asked) == 1


def test_why_groups_were_dropped_is_counted() -> None:
    rollout = RolloutConfig(prompts_per_step=4, group_size=2, max_refills=0, over_sample=1.0)
    collected, _ = run([[1.0, 1.0], [0.0, 0.0], [0.5, 0.5], [0.0, 1.0]], rollout)
    assert collected.counts == {"all_solved": 1, "none_solved": 1, "other_equal": 1, "surplus": 0}


@pytest.mark.parametrize(("mode", "kept"), [("zero", [1.0, 0.0, 0.0]), ("drop", [1.0, 0.0])])
def test_undecided_is_counted_and_zero_or_dropped(mode: str, kept: list[float]) -> None:
    rollout = RolloutConfig(prompts_per_step=1, group_size=3, over_sample=1.0)
    collected, _ = run([[1.0, None, 0.0]], rollout, RewardConfig(undecided=mode))  # type: ignore[arg-type]
    assert collected.kept[0].rewards == kept
    assert collected.kept[0].undecided == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_nonfinite_reward_names_the_problem(bad: float) -> None:
    rollout = RolloutConfig(prompts_per_step=1, group_size=2, over_sample=1.0)
    with pytest.raises(DataError, match=r"problem '0'"):
        run([[1.0, bad]], rollout)


@given(st.integers(0, 200))
def test_overlong_penalty_is_monotone_and_bounded(length: int) -> None:
    config = RolloutConfig(max_response_tokens=100, truncation="penalty", overlong_buffer=20)
    here, next_ = overlong_penalty(length, config), overlong_penalty(length + 1, config)
    assert -1.0 <= next_ <= here <= 0.0
    assert (here < 0.0) == (length > 80)


def test_a_sampler_that_returns_another_number_is_named() -> None:
    class Short(ScriptedSampler):
        def sample(self, prompts: Sequence[str], params: SamplingParams) -> list[list[Completion]]:
            groups = super().sample(prompts, params)
            return [groups[0][:-1], *groups[1:]]

    problems = [Problem(id=str(i), problem=str(i), answer="") for i in range(2)]
    params = SamplingParams(n=3)
    with pytest.raises(DataError, match=r"groups of \[2, 3\] responses .* n=3"):
        sample_groups(
            problems,
            lambda ps: ["a"] * len(ps),
            Short(),
            lambda ps, cs: [0.0],
            RewardConfig(),
            params,
        )
