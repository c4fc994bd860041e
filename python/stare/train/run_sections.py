"""The sections that change no training step: evaluation, and the run's length and files."""

from __future__ import annotations

from dataclasses import dataclass

from stare.coerce import check_fields, interval
from stare.errors import ConfigError
from stare.train.prometheus import parse_address

__all__ = ["EvalConfig", "RunConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig:
    """Evaluation on held-out problems during training."""

    every: int = 50
    """Steps between evaluations (also at step 0 and at the end); 0 switches them off."""
    problems: int | None = 100
    """The first so many held-out problems; None takes all."""
    n: int = 32
    """Samples per problem."""
    ks: tuple[int, ...] = (1, 8, 32)
    """k of pass@k; none above `n`."""
    temperature: float = 1.0
    """Softmax temperature of the samples."""
    top_p: float = 0.7
    """Nucleus mass of the samples (the paper's validation sampling)."""
    greedy: bool = True
    """Also decode every problem once greedily."""

    def __post_init__(self) -> None:
        check_fields(self)
        interval("every", self.every, 0)
        interval("problems", self.problems, 1)
        interval("n", self.n, 1)
        interval("temperature", self.temperature, 0, open_low=True)
        interval("top_p", self.top_p, 0, 1, open_low=True)
        for i, k in enumerate(self.ks):
            interval(f"ks[{i}]", k, 1, self.n)
        if len(set(self.ks)) != len(self.ks):
            raise ConfigError(f"ks must not repeat a value, got {list(self.ks)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Length, seed, device and files of the run."""

    steps: int = 1000
    """Training steps, counted from the start of the run (not of a resumed process)."""
    seed: int = 0
    """Seeds data order, rollouts, evaluation and initialisation."""
    device: str = "auto"
    """`auto` (CUDA where there is one), `cpu`, `cuda` or `cuda:N`."""
    out: str | None = None
    """Run folder; None: `runs/` and a name made of preset and seed."""
    checkpoint_every: int = 1
    """Steps between checkpoints; 0 keeps only the one at the end."""
    keep_checkpoints: int = 2
    """Newest checkpoints kept."""
    fsync: bool = False
    """Flush checkpoints to the disk: survives a power cut, not only `kill -9`; costs time."""
    log_every: int = 10
    """Steps between plain progress lines where stderr is no terminal."""
    deterministic: bool = True
    """Ask torch for deterministic algorithms (bit-exact resume)."""
    tensorboard: bool = False
    """Write TensorBoard events into the run folder (extra `tensorboard`)."""
    prometheus: str | None = None
    """`file`: write `metrics.prom` into the run folder after each step (for node_exporter);
    `host:port`: serve /metrics there (`:port` on the loopback address)."""
    wandb: bool = False
    """Log to Weights & Biases (extra `wandb`)."""
    wandb_project: str | None = None
    """Project for `wandb`; None: stare."""

    def __post_init__(self) -> None:
        check_fields(self)
        interval("steps", self.steps, 1)
        interval("seed", self.seed, 0, 2**63 - 1)
        interval("checkpoint_every", self.checkpoint_every, 0)
        interval("keep_checkpoints", self.keep_checkpoints, 1)
        interval("log_every", self.log_every, 1)
        if self.prometheus not in (None, "file"):
            parse_address(self.prometheus)
        kind, colon, index = self.device.partition(":")
        if not (
            self.device in ("auto", "cpu", "cuda") or (kind == "cuda" and colon and index.isdigit())
        ):
            raise ConfigError(f"device must be auto, cpu, cuda or cuda:N, got {self.device!r}")
        if self.wandb_project is not None and not self.wandb:
            raise ConfigError(f"wandb_project={self.wandb_project!r} needs wandb=true")
