"""Score the policy on held-out problems during training: pass@k, greedy accuracy, entropy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stare.passk import mean_and_standard_error, pass_at_k
from stare.rollout.sampler import Sampler, SamplingParams
from stare.seeds import derive_seed
from stare.train.collect import RewardFn, Share, sample_groups
from stare.train.config import EvalConfig, RewardConfig
from stare.types import Problem

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What was counted; every score is derived from it."""

    problem_ids: list[str]
    n: int
    """Samples per problem."""
    correct: list[int]
    """Correct samples of each problem."""
    greedy: list[bool] | None
    """Whether the greedy response of each problem is correct."""
    undecided: int
    """Samples the reward function could not decide; counted as not correct."""
    entropy: float | None
    """Mean token entropy of the samples, nats, where the sampler reports it."""

    def scores(self, ks: Sequence[int]) -> dict[str, float | None]:
        """Metrics with standard errors over problems; k > n gives null, never a padded value."""
        out: dict[str, float | None] = {}
        for k in ks:
            values = [pass_at_k(self.n, c, k) for c in self.correct]
            out[f"eval/pass@{k}"], out[f"eval/pass@{k}_se"] = mean_and_standard_error(values)
        if self.greedy is not None:
            out["eval/greedy"], out["eval/greedy_se"] = mean_and_standard_error(
                [float(g) for g in self.greedy]
            )
        out["eval/entropy"] = self.entropy
        out["eval/undecided_frac"] = self.undecided / max(1, self.n * len(self.correct))
        return out


def evaluate(
    problems: Sequence[Problem],
    render: Callable[[Sequence[Problem]], list[str]],
    sampler: Sampler,
    reward_fn: RewardFn,
    config: EvalConfig,
    *,
    max_tokens: int,
    seed: int,
    share: Share | None = None,
) -> Evaluation:
    """Sample `config.n` responses per problem (and one greedy response) and count correct ones.

    A reward of 1 is correct; anything else is not. The seed is the same at every evaluation of a
    run, so curves differ by the policy and not by the draw. `share` divides the problems over
    several processes.
    """
    params = SamplingParams(
        n=config.n,
        temperature=config.temperature,
        top_p=config.top_p,
        max_tokens=max_tokens,
        seed=derive_seed(seed, "eval"),
    )
    # Every response counts: one that cannot be decided is not correct.
    reward = RewardConfig(undecided="zero")
    groups = sample_groups(problems, render, sampler, reward_fn, reward, params, share)
    greedy = None
    if config.greedy:
        one = SamplingParams(n=1, temperature=0.0, max_tokens=max_tokens, seed=0)
        best = sample_groups(problems, render, sampler, reward_fn, reward, one, share)
        greedy = [g.rewards == [1.0] for g in best]
    entropies = [h for g in groups for c in g.completions for h in (c.entropies or [])]
    return Evaluation(
        problem_ids=[p.id for p in problems],
        n=config.n,
        correct=[sum(r == 1.0 for r in g.rewards) for g in groups],
        greedy=greedy,
        undecided=sum(g.undecided for g in groups),
        entropy=sum(entropies) / len(entropies) if entropies else None,
    )
