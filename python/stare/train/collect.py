"""From problems to graded groups: sampling, rewards, dynamic sampling. No tensors here.

Source: dynamic sampling of GRPO-ds (groups whose rewards are all equal carry no gradient; they are
dropped and the batch is refilled, a bounded number of times).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stare.errors import DataError
from stare.rollout.sampler import Sampler, SamplingParams
from stare.seeds import derive_seed
from stare.train.config import RewardConfig, RolloutConfig
from stare.train.data import ProblemSource
from stare.types import Completion, Problem

__all__ = [
    "Collected",
    "Group",
    "RewardFn",
    "Share",
    "collect",
    "overlong_penalty",
    "sample_groups",
]

Share = Callable[[Sequence[str], Callable[[list[int]], list["Group"]]], list["Group"]]
"""Divides prompts: `(prompts, work) -> groups of all prompts`, where `work` takes the indices of
the prompts that this process samples."""

RewardFn = Callable[[Sequence[Problem], Sequence[Completion]], Sequence[float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The responses to one problem with their rewards."""

    problem: Problem
    completions: list[Completion]
    """[G] responses whose reward was decided (or counted as 0)."""
    rewards: list[float]
    """[G] verifier rewards, before any length penalty."""
    undecided: int = 0
    """Responses that the reward function could not decide."""

    @property
    def is_mixed(self) -> bool:
        """Whether the rewards differ, so that the group carries a gradient."""
        return bool(self.rewards) and min(self.rewards) != max(self.rewards)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """One training batch and all that was generated to fill it."""

    kept: list[Group]
    """Groups to train on, at most `prompts_per_step`."""
    generated: list[Group]
    """Every group generated in this step, kept or not."""
    refills: int
    """Generation rounds after the first."""
    counts: dict[str, int] = field(default_factory=dict)
    """Groups without signal, by reason (all_solved, none_solved, other_equal), and the surplus of a
    full batch."""


def grade_groups(
    problems: Sequence[Problem],
    completions: Sequence[list[Completion]],
    reward_fn: RewardFn,
    config: RewardConfig,
) -> list[Group]:
    flat_problems = [p for p, cs in zip(problems, completions, strict=True) for _ in cs]
    flat = [c for cs in completions for c in cs]
    rewards = list(reward_fn(flat_problems, flat))
    if len(rewards) != len(flat):
        raise DataError(
            f"the reward function returned {len(rewards)} rewards for {len(flat)} completions\n"
            "hint: it must return one float (or None for undecided) per completion, in order"
        )
    groups, at = [], 0
    for problem, members in zip(problems, completions, strict=True):
        own = rewards[at : at + len(members)]
        at += len(members)
        undecided = sum(r is None for r in own)
        pairs = [(c, 0.0 if r is None else float(r)) for c, r in zip(members, own, strict=True)]
        if undecided and config.undecided == "drop":
            pairs = [pair for pair, r in zip(pairs, own, strict=True) if r is not None]
        for _, reward in pairs:
            if reward != reward or reward in (float("inf"), float("-inf")):
                raise DataError(
                    f"the reward function returned {reward!r} for problem {problem.id!r}\n"
                    "hint: rewards must be finite; return None for a response it cannot decide"
                )
        groups.append(
            Group(
                problem=problem,
                completions=[c for c, _ in pairs],
                rewards=[r for _, r in pairs],
                undecided=undecided,
            )
        )
    return groups


def sample_groups(
    problems: Sequence[Problem],
    render: Callable[[Sequence[Problem]], list[str]],
    sampler: Sampler,
    reward_fn: RewardFn,
    config: RewardConfig,
    params: SamplingParams,
    share: Share | None = None,
) -> list[Group]:
    """Sample `params.n` responses to each problem and grade them.

    Args:
        problems: what to answer.
        render: problems to prompts.
        sampler: any back end.
        reward_fn: (problems, completions) -> one reward or None each.
        config: what an undecided reward counts as.
        params: how to sample.
        share: divides the prompts over several processes; None does them all here.

    Raises:
        DataError: the sampler or the reward function returned another number than asked for, or a
            reward that is not finite.
    """
    prompts = render(problems)

    def work(indices: list[int]) -> list[Group]:
        completions = sampler.sample([prompts[i] for i in indices], params)
        sizes = [len(members) for members in completions]
        if sizes != [params.n] * len(indices):
            raise DataError(
                f"the sampler returned groups of {sizes} responses for {len(indices)} prompts "
                f"with n={params.n}"
            )
        return grade_groups([problems[i] for i in indices], completions, reward_fn, config)

    return work(list(range(len(problems)))) if share is None else share(prompts, work)


def _why_no_signal(group: Group) -> str:
    names = {1.0: "all_solved", 0.0: "none_solved"}
    return names.get(group.rewards[0], "other_equal") if group.rewards else "other_equal"


def collect(
    stream: ProblemSource,
    render: Callable[[Sequence[Problem]], list[str]],
    sampler: Sampler,
    reward_fn: RewardFn,
    rollout: RolloutConfig,
    reward: RewardConfig,
    *,
    seed: int,
    share: Share | None = None,
) -> Collected:
    """Generate until `prompts_per_step` groups carry a gradient or the refills are used up.

    Round r asks for ceil(missing * over_sample) problems. Without dynamic sampling there is one
    round of `prompts_per_step` problems and every non-empty group is kept.

    Args:
        stream: where problems come from; its cursor advances.
        render: problems to prompts.
        sampler: any back end.
        reward_fn: (problems, completions) -> one reward or None each.
        rollout: sizes and sampling parameters.
        reward: what an undecided reward counts as.
        seed: the draw is a pure function of the weights and this seed.
        share: divides each round's prompts over several processes, all of which get all groups
            back, and so take the same decisions; None does them all here.

    Returns:
        The groups kept and everything generated.
    """
    kept: list[Group] = []
    generated: list[Group] = []
    counts = {"all_solved": 0, "none_solved": 0, "other_equal": 0, "surplus": 0}
    rounds = 1 + (rollout.max_refills if rollout.dynamic_sampling else 0)
    done = 0
    for round_index in range(rounds):
        missing = rollout.prompts_per_step - len(kept)
        if missing <= 0:
            break
        done = round_index + 1
        problems = stream.take(rollout.prompts_in_round(missing))
        params = SamplingParams(
            n=rollout.group_size,
            temperature=rollout.temperature,
            top_p=rollout.top_p,
            max_tokens=rollout.max_response_tokens,
            seed=derive_seed(seed, "round", round_index),
        )
        groups = sample_groups(problems, render, sampler, reward_fn, reward, params, share)
        generated += groups
        for group in groups:
            if not group.is_mixed:
                counts[_why_no_signal(group)] += 1
            if not group.rewards or (rollout.dynamic_sampling and not group.is_mixed):
                continue
            if len(kept) < rollout.prompts_per_step:
                kept.append(group)
            else:
                counts["surplus"] += 1
    return Collected(kept=kept, generated=generated, refills=max(0, done - 1), counts=counts)


def overlong_penalty(length: int, config: RolloutConfig) -> float:
    """Soft overlong punishment (DAPO, eq. 13): 0 up to the buffer, then linear to -penalty.

    Example:
        >>> cfg = RolloutConfig(max_response_tokens=100, truncation="penalty", overlong_buffer=20)
        >>> overlong_penalty(80, cfg), overlong_penalty(90, cfg), overlong_penalty(100, cfg)
        (0.0, -0.5, -1.0)
    """
    over = length - (config.max_response_tokens - config.overlong_buffer)
    if over <= 0:
        return 0.0
    return -config.overlong_penalty * min(1.0, over / config.overlong_buffer)
