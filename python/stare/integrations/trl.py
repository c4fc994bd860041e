"""STARE in TRL's GRPOTrainer and its subclasses, without a copy of any of its code.

    trainer = stare.integrations.trl.attach(GRPOTrainer(...), StareConfig(target_entropy=0.3))

Advantages are reweighted once for each generation batch, over all its micro-batches and ranks,
before TRL cuts it up; the loss is TRL's. docs/integrations.md says what was tested with what.
"""

from __future__ import annotations

import json
import logging
import math
import time
from pathlib import Path
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor

from stare.algo.gate import GateState, TargetEntropyController
from stare.algo.reweight import ReweightStats, reweight
from stare.config import StareConfig
from stare.errors import ConfigError, MissingExtraError
from stare.integrations.effect import check_effect
from stare.integrations.hosts import at_least, enforce
from stare.integrations.trl_probe import check_seam
from stare.integrations.trl_rules import HOST
from stare.integrations.trl_source import (
    LogprobSource,
    Statistics,
    gather_statistics,
    loss_mask,
    mean_entropy,
)

try:
    import trl as _host
    from transformers import TrainerCallback
    from trl import GRPOTrainer
except ModuleNotFoundError as missing:
    raise MissingExtraError("trl", "trl", "stare.integrations.trl") from missing

__all__ = ["StareGRPOTrainer", "StareMixin", "attach"]

STATE_FILE = "stare_state.json"
_STAMP = "stare_advantages"
"""Key of a second copy of the advantages, by which a host that changes them is found out."""
_LOG = logging.getLogger(__name__)

Scope = Literal["batch", "microbatch"]


class _Embedded:
    """What STARE keeps for one trainer."""

    def __init__(self, config: StareConfig, scope: Scope, logprobs: LogprobSource) -> None:
        self.config, self.scope, self.logprobs = config, scope, logprobs
        self.controller = TargetEntropyController(config)
        self.taping: list[tuple[Tensor, Tensor | None]] | None = None
        self.watched: _Watched | None = None
        self.window = [0.0, 0.0]
        """Sum of entropies and tokens since the last optimiser step (`microbatch`)."""
        self.sources: tuple[str, str] | None = None
        """Where the log-probs and the entropy of the last batch came from."""

    @property
    def need_entropy(self) -> bool:
        return self.config.gate in ("sample", "token")


class _Watched(dict[str, Any]):
    """Inputs of the loss whose advantages are not there yet (`microbatch`)."""

    ready = False

    def __getitem__(self, key: str) -> Any:
        if key == "advantages" and not self.ready:
            raise ConfigError(
                "this trainer reads the advantages before the forward of the loss, so "
                "scope='microbatch' would do nothing\nhint: scope='batch'"
            )
        return super().__getitem__(key)


class StareMixin:
    """Overrides of a GRPOTrainer; goes before it in the bases. `attach` puts it there."""

    _stare: _Embedded | None = None

    @property
    def stare(self) -> TargetEntropyController:
        """The controller, with the state of the gate."""
        assert self._stare is not None
        return self._stare.controller

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        stare = self._stare
        training = self.model.training  # type: ignore[attr-defined]
        if stare is None or not training or stare.scope == "microbatch":
            return super()._generate_and_score_completions(inputs)  # type: ignore[misc, no-any-return]
        stare.taping = []
        try:
            batch: dict[str, Any] = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
            taped = stare.taping
        finally:
            stare.taping = None
        _reweight_batch(self, stare, batch, taped)
        return batch

    def _get_per_token_logps_and_entropies(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        stare = self._stare
        forward = super()._get_per_token_logps_and_entropies  # type: ignore[misc]
        if stare is not None and stare.taping is not None and model is self.model:  # type: ignore[attr-defined]
            out = forward(model, *args, **kwargs | {"compute_entropy": True})
            stare.taping.append((out[0], out[1]))
            return out
        out = forward(model, *args, **kwargs)
        if stare is not None and stare.watched is not None and not stare.watched.ready:
            _reweight_micro_batch(self, stare, stare.watched, out[0].detach(), out[1])
        return out

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        stare = self._stare
        if stare is None or not self.model.training:  # type: ignore[attr-defined]
            return super()._compute_loss(model, inputs)  # type: ignore[misc]
        if stare.scope == "batch":
            _check_advantages(inputs)
            return super()._compute_loss(model, inputs)  # type: ignore[misc]
        stare.watched = _Watched(inputs)
        try:
            loss = super()._compute_loss(model, stare.watched)  # type: ignore[misc]
            if not stare.watched.ready:
                raise ConfigError(
                    "this trainer's loss makes no forward of its own, so scope='microbatch' would "
                    "do nothing\nhint: scope='batch'"
                )
        finally:
            stare.watched = None
        return loss

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)  # type: ignore[misc]
        if self._stare is None or checkpoint is None:
            return
        path = Path(checkpoint) / STATE_FILE
        if path.is_file():
            try:
                state = json.loads(path.read_text())
            except ValueError as error:
                raise ConfigError(
                    f"{path} cannot be read: {error}\nhint: delete it to start the controller anew"
                ) from error
            self._stare.controller.load_state_dict(state)
        else:
            _LOG.warning("no %s in %s: STARE's controller starts anew", STATE_FILE, checkpoint)


class _SaveState(TrainerCallback):  # type: ignore[misc]
    """Writes the controller into every checkpoint."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Called by transformers after it has written a checkpoint."""
        if not args.should_save:
            return
        folder = Path(self._trainer._get_output_dir(trial=None)) / f"checkpoint-{state.global_step}"
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{STATE_FILE}.part"
        part.write_text(json.dumps(self._trainer.stare.state_dict()))
        part.replace(folder / STATE_FILE)


class StareGRPOTrainer(StareMixin, GRPOTrainer):  # type: ignore[misc]
    """`GRPOTrainer` with STARE.

    Args:
        *args: of GRPOTrainer.
        stare: the configuration; None is the paper's.
        stare_options: `scope`, `logprobs` and `probe` of `attach`.
        **kwargs: of GRPOTrainer.
    """

    def __init__(
        self,
        *args: Any,
        stare: StareConfig | None = None,
        stare_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        _embed(self, stare, **(stare_options or {}))


def attach(
    trainer: Any,
    config: StareConfig | None = None,
    *,
    scope: Scope = "batch",
    logprobs: LogprobSource = "auto",
    probe: bool = True,
) -> Any:
    """Put STARE into a trainer that exists; all ranks must call it, before `train`.

    Args:
        trainer: a GRPOTrainer or an instance of a subclass. Its class becomes one with
            `StareMixin` in front.
        config: None is the paper's main setting. The selector `critical` is not available.
        scope: `batch` chooses tokens over the generation batch of all ranks, under the policy that
            made it. `microbatch` chooses in the forward of the loss, over a micro-batch of all
            ranks: no forward is added, but the set depends on the micro-batch size, and the gate
            follows the entropy of the step before where a step has several micro-batches.
        logprobs: `auto` takes TRL's `old` ones, else vLLM's (`sampling`), else makes one `forward`
            without gradients.
        probe: check that the trainer's loss gives each token its own advantage.

    Returns:
        The trainer.

    Raises:
        ConfigError: STARE would do nothing, or something else, with the reason and the remedy.

    Example:
        >>> trainer = attach(GRPOTrainer(...), StareConfig(target_entropy=0.3))  # doctest: +SKIP
        >>> trainer.train()  # doctest: +SKIP
    """
    if isinstance(trainer, StareMixin):
        raise ConfigError("STARE is attached to this trainer already")
    if not isinstance(trainer, GRPOTrainer):
        raise ConfigError(
            f"STARE can be attached to a GRPOTrainer, got {type(trainer).__name__}\n"
            "hint: other trainers of TRL have no token-level advantages"
        )
    plain = type(trainer)
    trainer.__class__ = type(f"Stare{plain.__name__}", (StareMixin, plain), {})
    try:
        _embed(trainer, config, scope=scope, logprobs=logprobs, probe=probe)
    except BaseException:
        trainer.__class__ = plain
        raise
    return trainer


def _embed(
    trainer: Any,
    config: StareConfig | None,
    *,
    scope: Scope = "batch",
    logprobs: LogprobSource = "auto",
    probe: bool = True,
) -> None:
    config = StareConfig() if config is None else config
    _check_options(config, scope, logprobs)
    if not at_least(_host.__version__, HOST.oldest):
        raise ConfigError(
            f"TRL {_host.__version__} takes one advantage a sequence\n"
            f"hint: pip install 'trl>={HOST.oldest}'"
        )
    for note in enforce(HOST, trainer):
        _LOG.warning("STARE with %s", note)
    if probe:
        check_seam(trainer)
    trainer._stare = _Embedded(config, scope, logprobs)
    trainer.add_callback(_SaveState(trainer))


def _check_options(config: StareConfig, scope: str, logprobs: str) -> None:
    if not isinstance(config, StareConfig):
        raise ConfigError(f"config must be a StareConfig, got {type(config).__name__}")
    if config.selector == "critical":
        raise ConfigError(
            "selector='critical' needs the concentration of every token, which TRL does not "
            "compute\nhint: selector='quantile'"
        )
    check_effect(config)
    if scope not in ("batch", "microbatch"):
        raise ConfigError(f"scope must be batch or microbatch, got {scope!r}")
    if logprobs not in ("auto", "old", "sampling", "forward"):
        raise ConfigError(f"logprobs must be auto, old, sampling or forward, got {logprobs!r}")
    if scope == "microbatch" and logprobs != "auto":
        raise ConfigError(
            f"scope='microbatch' uses the log-probs of the loss, so logprobs={logprobs!r} would do "
            "nothing\nhint: leave logprobs at 'auto'"
        )


def _reweight_batch(
    trainer: Any,
    stare: _Embedded,
    batch: dict[str, Any],
    taped: list[tuple[Tensor, Tensor | None]],
) -> None:
    started = time.perf_counter()
    statistics = gather_statistics(
        trainer, batch, taped, source=stare.logprobs, need_entropy=stare.need_entropy
    )
    read = time.perf_counter()
    mask = loss_mask(batch)
    entropy = mean_entropy(statistics, mask, distributed=_distributed(trainer))
    gate = stare.controller.update(entropy)
    advantages, stats = _weighted(trainer, stare, batch["advantages"], statistics, mask, gate)
    if stats.gate_on:  # else plain GRPO, to the bit
        batch["advantages"] = advantages
    batch[_STAMP] = batch["advantages"]
    _announce(stare, statistics)
    _log(trainer, stats, gate)
    metrics = trainer._metrics["train"]
    metrics["stare/forward_seconds"].append(read - started)
    metrics["stare/select_seconds"].append(time.perf_counter() - read)


def _reweight_micro_batch(
    trainer: Any, stare: _Embedded, inputs: _Watched, logprobs: Tensor, entropy: Tensor | None
) -> None:
    inputs.ready = True
    mask = loss_mask(inputs)
    statistics = Statistics(logprobs, None if entropy is None else entropy.detach(), "loss")
    distributed = _distributed(trainer)
    mean, tokens = mean_entropy(statistics, mask, distributed=distributed), float(mask.sum())
    controller = stare.controller
    if trainer.current_gradient_accumulation_steps == 1:
        gate = controller.update(mean)
    else:
        gate = controller.state
        if math.isfinite(mean):  # NaN where a micro-batch has no token
            stare.window[0] += mean * tokens
            stare.window[1] += tokens
        if trainer.accelerator.sync_gradients:
            window = torch.tensor(stare.window, device=logprobs.device, dtype=torch.double)
            if distributed:
                dist.all_reduce(window)
            total, count = window.tolist()
            controller.update(total / count if count else float("nan"))
            stare.window = [0.0, 0.0]
    advantages, stats = _weighted(trainer, stare, inputs["advantages"], statistics, mask, gate)
    if stats.gate_on:
        inputs["advantages"] = advantages
    _announce(stare, statistics)
    _log(trainer, stats, gate)


def _weighted(
    trainer: Any,
    stare: _Embedded,
    advantages: Tensor,
    statistics: Statistics,
    mask: Tensor,
    gate: GateState,
) -> tuple[Tensor, ReweightStats]:
    """New advantages (B, T), chosen over all ranks."""
    options: dict[str, Any] = {
        "config": stare.config,
        "gate": gate,
        "entropy": statistics.entropy if stare.need_entropy else None,
        "drop_nonfinite": statistics.source == "sampling",
    }
    if _distributed(trainer):
        from stare.algo.distributed import reweight_distributed

        return reweight_distributed(advantages, statistics.logprobs, mask, **options)
    return reweight(advantages, statistics.logprobs, mask, **options)


def _distributed(trainer: Any) -> bool:
    return bool(trainer.accelerator.num_processes > 1)


def _check_advantages(inputs: dict[str, Any]) -> None:
    """Whether the loss gets the advantages that STARE made."""
    stamped = inputs.get(_STAMP)
    if stamped is None or not torch.equal(stamped, inputs["advantages"]):
        raise ConfigError(
            "the advantages that reach the loss are not those that STARE made: something between "
            "_generate_and_score_completions and the loss replaced them\n"
            "hint: remove it, or reweight after it; scope='microbatch' reweights in the loss"
        )


def _announce(stare: _Embedded, statistics: Statistics) -> None:
    """Say what is used, and again when it changes."""
    entropy = "sampled surprisal" if statistics.entropy is None else "exact"
    sources = (statistics.source, entropy)
    if sources != stare.sources:
        stare.sources = sources
        _LOG.info("STARE: log-probs from %s, entropy: %s", *sources)


def _log(trainer: Any, stats: ReweightStats, gate: GateState) -> None:
    metrics = trainer._metrics["train"]
    for name, value in stats.as_dict().items():
        metrics[name].append(float(value))
    metrics["stare/entropy"].append(gate.entropy)
    metrics["stare/target"].append(gate.target)
    metrics["stare/ignored_nonfinite"].append(float(trainer.stare.ignored_nonfinite))
