"""STARE in NeMo-RL: a runner in front of its example scripts.

    python -m stare.integrations.nemo_rl examples/run_grpo.py --config ... \
        ++grpo.adv_estimator.stare.target_entropy=0.3

NeMo-RL picks its advantage estimator in a closed list, so the runner follows the function that
picks it: the estimator's result, whole batch, on the driver, is weighted. The section
`grpo.adv_estimator.stare` switches it on. The gate reads the mean surprisal of the sampled tokens;
the controller's state is not checkpointed. What NeMo-RL does to advantages afterwards (message
penalties, clipping) meets the weighted ones.
"""

from __future__ import annotations

import functools
import runpy
import sys
from typing import Any

from stare.algo.gate import TargetEntropyController
from stare.coerce import build
from stare.config import StareConfig
from stare.errors import ArgumentError, ConfigError
from stare.integrations.effect import check_effect
from stare.integrations.hosts import enforce
from stare.integrations.imports import after_import
from stare.integrations.other_rules import NEMO_RL, Run

__all__ = ["Weighing", "install", "main"]


def install() -> None:
    """Watch for NeMo-RL's GRPO module."""
    after_import({"nemo_rl.algorithms.grpo": _hook})


def _hook(module: Any) -> None:
    original = module._create_advantage_estimator
    if hasattr(original, "stare_original"):
        return

    @functools.wraps(original)
    def create(master_config: Any) -> Any:
        estimator = original(master_config)
        section = getattr(master_config.grpo.adv_estimator, "stare", None)
        if section is None:
            raise ConfigError(
                "this runner puts STARE into NeMo-RL, and the configuration has no section for it\n"
                "hint: ++grpo.adv_estimator.stare.target_entropy=0.3"
            )
        config = build(StareConfig, dict(section), "grpo.adv_estimator.stare")
        check_effect(config)
        enforce(NEMO_RL, Run(config=config, host=master_config))
        print(f"stare: on in NeMo-RL, {config}", flush=True)
        return Weighing(estimator, config)

    create.stare_original = original  # type: ignore[attr-defined]
    module._create_advantage_estimator = create


class Weighing:
    """An advantage estimator of NeMo-RL, followed by the weights.

    Attributes:
        last_metrics: of the last batch, for a logger of yours: NeMo-RL logs none of an estimator.
    """

    def __init__(self, estimator: Any, config: StareConfig) -> None:
        enforce(NEMO_RL, Run(config=config))
        self.estimator = estimator
        self.controller = TargetEntropyController(config)
        self.last_metrics: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.estimator, name)

    def compute_advantage(self, **arguments: Any) -> Any:
        """(B, S) advantages: position t is token t; position 0, which has no logits, is not used.

        Raises:
            ArgumentError: log-probabilities that are missing or all zero.
        """
        from stare.algo.reweight import reweight
        from stare.integrations.sampled import sampled_entropy

        advantages = self.estimator.compute_advantage(**arguments)
        logprobs = arguments.get("logprobs_policy")
        mask = arguments["mask"].clone()
        mask[:, 0] = 0
        if logprobs is None or not bool(logprobs[mask != 0].any()):
            raise ArgumentError(
                "prev_logprobs are missing or zero for every token\n"
                "hint: loss_fn.force_on_policy_ratio=false"
            )
        gate = self.controller.update(sampled_entropy([logprobs], [mask]))
        weighted, stats = reweight(
            advantages, logprobs, mask, config=self.controller.config, gate=gate
        )
        self.last_metrics = {**stats.as_dict(), "stare/entropy": gate.entropy}
        print(f"stare: {self.last_metrics}", flush=True)
        return weighted


def main(arguments: list[str]) -> None:
    """Run one of NeMo-RL's scripts with the hook in place."""
    if not arguments:
        raise ConfigError("usage: python -m stare.integrations.nemo_rl SCRIPT [ITS ARGUMENTS]")
    install()
    sys.argv = list(arguments)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
