"""The metric keys of `metrics.jsonl`, as data: the documentation table is made from this."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["METRICS", "MetricKey", "is_metric_key", "metric_table"]


class MetricKey(NamedTuple):
    """One key: what it is measured in and what it means."""

    key: str
    unit: str
    meaning: str


METRICS = tuple(
    MetricKey(*row)
    for row in (
        (
            "step",
            "steps",
            "training steps done; 0 is the evaluation before training",
        ),
        ("entropy/batch", "nats", "token-mean entropy of the kept batch: what the controller sees"),
        ("entropy/rollouts", "nats", "token-mean entropy of all rollouts, dropped groups included"),
        ("entropy/target", "nats", "H_tgt of this step"),
        ("stare/gate", "0 or 1", "1 where factors apply (below the target; PI: W above 1)"),
        ("stare/w", "factor", "live amplification W"),
        ("stare/m", "factor", "live attenuation M"),
        ("stare/selected_frac", "share", "selected tokens among all; also while the gate is off"),
        (
            "stare/selected_RULE",
            "count",
            "tokens a rule selects (positive_high, negative_high, ...)",
        ),
        ("stare/threshold_RULE", "nats", "surprisal of the last token a rule selects"),
        ("stare/n_tokens", "count", "tokens under the mask"),
        ("stare/n_positive", "count", "of these, with A > 0"),
        ("stare/n_negative", "count", "of these, with A < 0"),
        ("stare/dropped_nonfinite", "count", "candidates without a usable log-probability"),
        ("stare/mean_weight", "factor", "mean weight of the tokens under the mask"),
        ("stare/base_in", "share", "tokens with A > 0 whose update raises entropy (s > s*)"),
        ("stare/sel_in", "share", "selected tokens with A > 0 whose update raises entropy"),
        ("stare/lambda", "nats", "Lambda: first-order entropy decrease per unit learning rate"),
        ("stare/gamma", "nats", "Gamma: the part of it that W acts on; W* = 1 + Lambda/Gamma"),
        ("stare/gamma_minus", "nats", "Gamma-: what the selected tokens with A < 0 add to Lambda"),
        ("stare/w_star", "factor", "W* = 1 + Lambda/Gamma, pooled over the last 50 batches"),
        ("stare/w_star_exact", "factor", "W* if exactly the tokens with A > 0, s > s* were W's"),
        ("stare/ignored_nonfinite", "count", "non-finite entropies the controller ignored so far"),
        ("stare/alarms", "count", "steps so far with an entropy above the ceiling"),
        ("mismatch/mean_abs", "nats", "mean size of ln r, r = trainer's probability / sampler's"),
        ("mismatch/max_abs", "nats", "largest size of ln r"),
        ("mismatch/far_frac", "share", "tokens with r outside [1/2, 2]"),
        ("rollout/engine_restarts", "count", "engines that died or hung so far"),
        ("groups/kept", "count", "groups with signal in the batch"),
        ("groups/generated", "count", "groups sampled for this step, all rounds"),
        ("groups/mixed_frac", "share", "sampled groups with unequal rewards"),
        ("groups/all_solved_frac", "share", "sampled groups with every response right"),
        ("groups/none_solved_frac", "share", "sampled groups with every response wrong"),
        ("groups/refills", "count", "sampling rounds after the first"),
        ("groups/other_equal_frac", "share", "sampled groups with equal rewards, not 0 or 1"),
        ("groups/surplus", "count", "groups with signal beyond a full batch, not trained on"),
        ("groups/short", "count", "groups missing from the batch after the last refill"),
        ("reward/rollouts", "reward", "mean reward of all rollouts"),
        ("reward/batch", "reward", "mean reward of the kept batch"),
        ("length/mean", "tokens", "mean response length of all rollouts"),
        ("length/max", "tokens", "longest response"),
        ("rollout/share_le_N", "share", "responses of N/2 + 1 to N tokens, N a power of two"),
        ("rollout/reward_le_N", "reward", "their mean reward; an empty bucket has no key"),
        ("rollout/truncated_le_N", "share", "of these, cut off by the token limit"),
        (
            "rollout/entropy_dK",
            "nats",
            "mean entropy in the K-th tenth of a response (surprisal where it is unknown)",
        ),
        ("truncated_frac", "share", "responses cut off by the token limit"),
        ("verify/undecided_frac", "share", "responses that the reward could not decide"),
        ("tools/calls", "count", "calls of the tool in this step, malformed ones included"),
        ("tools/calling_frac", "share", "responses with a call"),
        ("tools/turns", "count", "mean turns of a response: calls and the answer"),
        ("tools/error_frac", "share", "calls that did not end well, for whatever reason"),
        ("tools/timeout_frac", "share", "calls over the wall limit"),
        ("tools/malformed_frac", "share", "calls that hold no program"),
        ("tools/turn_limit_frac", "share", "responses ended by a call beyond tools.max_turns"),
        ("tools/observation_tokens", "tokens", "mean tokens of tool output in a response"),
        ("loss/total", "1", "loss of the step, averaged over its optimiser steps"),
        ("loss/clip_high_frac", "share", "tokens clipped from above"),
        ("loss/clip_low_frac", "share", "tokens clipped from below"),
        ("loss/clip_dual_frac", "share", "tokens bounded by the dual clip"),
        ("loss/entropy", "nats", "token-mean entropy in the update's own forward passes"),
        ("loss/is_weight", "factor", "mean importance weight (only with loss.is_correction)"),
        ("loss/is_capped_frac", "share", "importance weights at loss.is_cap"),
        ("kl/old", "nats", "token-mean KL(old, new) estimate within the step"),
        ("kl/ref", "nats", "token-mean KL to the reference policy (only with loss.kl_coef > 0)"),
        ("kl/rollout", "nats", "token-mean KL(sampler, trainer) estimate: their mismatch"),
        ("optim/grad_norm", "1", "global gradient norm before clipping"),
        ("optim/lr", "1", "learning rate of the last optimiser step"),
        ("optim/skipped", "count", "optimiser steps skipped: bad gradient, or no advantage at all"),
        ("optim/bad_in_a_row", "count", "steps up to this one with a loss or norm not finite"),
        ("speed/tokens_per_s", "tokens/s", "response tokens of the step over time/step"),
        ("memory/peak_mb", "MB", "peak memory: CUDA allocator, else resident set of the process"),
        ("time/rollout", "s", "sampling and grading"),
        ("time/tools", "s", "running programs, within time/rollout; summed over ranks"),
        ("time/update", "s", "forward, backward and optimiser"),
        ("time/sync", "s", "handing the weights to the engine"),
        ("time/step", "s", "the whole step, evaluation and checkpoint left out"),
        ("time/checkpoint", "s", "writing the previous checkpoint"),
        ("time/eval", "s", "evaluation"),
        ("eval/pass@k", "share", "unbiased pass@k on held-out problems (k as configured)"),
        ("eval/greedy", "share", "held-out problems solved by greedy decoding"),
        ("eval/entropy", "nats", "token-mean entropy of the evaluation samples"),
        ("eval/undecided_frac", "share", "evaluation samples that could not be decided"),
    )
)
"""Every `eval/` mean has a twin with the suffix `_se`: its standard error over problems."""

_KNOWN = {m.key for m in METRICS}
_FAMILY = re.compile(
    r"eval/pass@[1-9][0-9]*|stare/(selected|threshold)_[a-z_0-9]+"
    r"|rollout/(share|reward|truncated)_le_[1-9][0-9]*|rollout/entropy_d([1-9]|10)"
)


def is_metric_key(key: str) -> bool:
    """Whether a key is on the list (or starts with `extra/`, the room for plug-ins).

    Example:
        >>> is_metric_key("eval/pass@8_se"), is_metric_key("entropy/batches")
        (True, False)
    """
    base = key[:-3] if key.startswith("eval/") and key.endswith("_se") else key
    return base in _KNOWN or bool(_FAMILY.fullmatch(base)) or key.startswith("extra/")


def metric_table() -> str:
    """The list as a Markdown table."""
    rows = [f"| `{m.key}` | {m.unit} | {m.meaning} |" for m in METRICS]
    return "\n".join(["| key | unit | meaning |", "|---|---|---|", *rows])


if __name__ == "__main__":
    print(metric_table())
