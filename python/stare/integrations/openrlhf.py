"""STARE in OpenRLHF: a launcher in front of its stock PPO command line.

    python -m stare.integrations.openrlhf --stare.target_entropy 0.3 -- <the usual arguments>

OpenRLHF has no registry, and its trainer lives in Ray actors. So the launcher starts Ray with a
set-up hook for every worker process, and that hook waits for OpenRLHF's experience maker: its
`compute_advantages_and_returns`, whole batch, on the CPU, is followed by the weights. The gate
reads the mean surprisal of the sampled tokens; the controller's state is not checkpointed.
"""

from __future__ import annotations

import functools
import json
import os
import runpy
import sys
from typing import Any

from stare.coerce import build
from stare.config import StareConfig
from stare.errors import ConfigError
from stare.integrations.effect import check_effect
from stare.integrations.hosts import enforce
from stare.integrations.imports import after_import
from stare.integrations.other_rules import OPENRLHF, Run

__all__ = ["install", "main", "parse"]

_VARIABLE = "STARE_OPENRLHF"
_MAKER = "openrlhf.trainer.ppo_utils.experience_maker"
_RAY = {
    "TOKENIZERS_PARALLELISM": "true",
    "NCCL_DEBUG": "WARN",
    "RAY_ENABLE_ZERO_COPY_TORCH_TENSORS": "1",
}
"""What OpenRLHF sets when it starts Ray itself, which it does not do once Ray runs."""


def install() -> None:
    """Watch for the experience maker; Ray runs this in each worker process."""
    after_import({_MAKER: _hook})


def _hook(module: Any) -> None:
    maker = module.RemoteExperienceMaker
    original = maker.compute_advantages_and_returns
    if hasattr(original, "stare_original"):
        return

    @functools.wraps(original)
    def compute(self: Any, experiences: list[Any]) -> list[Any]:
        result: list[Any] = original(self, experiences)
        if not hasattr(self, "stare"):
            self.stare = _controller(self.args)
        weigh(result, self.stare)
        return result

    compute.stare_original = original  # type: ignore[attr-defined]
    maker.compute_advantages_and_returns = compute


def _controller(args: Any) -> Any:
    from stare.algo.gate import TargetEntropyController

    config = build(StareConfig, json.loads(os.environ[_VARIABLE]), "stare")
    enforce(OPENRLHF, Run(config=config, host=args))
    return TargetEntropyController(config)


def weigh(experiences: list[Any], controller: Any) -> None:
    """Give each experience new advantages, weighted over all of them, and log the gate."""
    import torch

    from stare.algo.reweight import reweight
    from stare.integrations.sampled import check_usable, sampled_entropy

    logprobs = [row for e in experiences for row in e.action_log_probs]
    masks = [row for e in experiences for row in e.action_mask]
    check_usable(
        logprobs, masks, "action_log_probs", "hint: OpenRLHF's actor computes them before this step"
    )
    gate = controller.update(sampled_entropy(logprobs, masks))
    weighted, stats = reweight(
        [row for e in experiences for row in e.advantages],
        logprobs,
        masks,
        config=controller.config,
        gate=gate,
    )
    start = 0
    for experience in experiences:
        rows = len(experience.advantages)
        experience.advantages = torch.stack(list(weighted[start : start + rows]))
        start += rows
        for name, value in (
            ("entropy", gate.entropy),
            ("gate", float(gate.on)),
            ("w", gate.w),
            ("selected_frac", stats.selected_frac),
        ):
            experience.info[f"stare_{name}"] = torch.full((rows,), value)


def parse(arguments: list[str]) -> tuple[StareConfig, list[str]]:
    """The settings before `--`, and OpenRLHF's arguments after it.

    Example:
        >>> parse(["--stare.variant", "C2", "--", "--actor.num_nodes", "1"])[1]
        ['--actor.num_nodes', '1']
    """
    if "--" not in arguments:
        raise ConfigError("usage: python -m stare.integrations.openrlhf [--stare.KEY VALUE] -- ...")
    split = arguments.index("--")
    ours, theirs = arguments[:split], arguments[split + 1 :]
    table: dict[str, Any] = {}
    while ours:
        name = ours.pop(0)
        if not name.startswith("--stare.") or not ours:
            raise ConfigError(f"expected --stare.KEY VALUE before --, got {name!r}")
        text = ours.pop(0)
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        table[name.removeprefix("--stare.")] = value
    config = build(StareConfig, table, "stare")
    check_effect(config)
    enforce(OPENRLHF, Run(config=config))
    return config, theirs


def main(arguments: list[str]) -> None:
    """Start Ray with the hook, then OpenRLHF as if it had been called."""
    from dataclasses import asdict

    config, theirs = parse(arguments)
    import ray

    variables = {name: os.environ.get(name, value) for name, value in _RAY.items()}
    variables[_VARIABLE] = json.dumps(asdict(config))
    ray.init(
        runtime_env={
            "env_vars": variables,
            "worker_process_setup_hook": "stare.integrations.openrlhf.install",
        }
    )
    print(f"stare: on in OpenRLHF, {config}", flush=True)
    sys.argv = ["openrlhf.cli.train_ppo_ray", *theirs]
    runpy.run_module("openrlhf.cli.train_ppo_ray", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
