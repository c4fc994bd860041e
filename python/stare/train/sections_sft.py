"""What `stare-train sft` can be told."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from stare.coerce import build, check_fields, interval
from stare.errors import ConfigError
from stare.train.overrides import parse_value, put
from stare.train.sections import ModelConfig

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["SftConfig", "load_sft_config"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SftConfig:
    """Supervised training on conversations, before a run: a cold start."""

    model: ModelConfig = field(default_factory=ModelConfig)
    """The policy, as in `stare-train run`."""
    data: str
    """JSONL of {"messages": [{"role", "content"}, ...]}."""
    out: str
    """Folder of the run; the result is in its folder `model`."""
    mask: str | None = None
    """Regular expression (dot matches all) of what an assistant message holds that is not the
    policy's own, such as tool output within a message."""
    max_tokens: int = 4096
    """Longest conversation."""
    too_long: Literal["error", "drop"] = "error"
    """What becomes of a longer one."""
    epochs: int = 2
    """Passes over the conversations."""
    batch_size: int = 32
    """Conversations of an optimiser step."""
    micro_batch_tokens: int = 16_384
    """Most tokens, padding included, of one forward pass."""
    lr: float = 1e-5
    """Rate of AdamW at the end of the warm-up; falls to 0 by a cosine."""
    warmup_steps: int = 10
    """Steps of linear warm-up."""
    weight_decay: float = 0.0
    """Of AdamW."""
    grad_clip: float = 1.0
    """Largest gradient norm."""
    seed: int = 0
    """Order of the conversations."""
    device: str = "auto"
    """`auto` takes CUDA where there is one."""
    checkpoint_every: int = 50
    """Steps between checkpoints; 0 leaves the last one."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.model.path is None and self.model.factory is None:
            raise ConfigError("model.path is not set, nor is model.factory; one of them is needed")
        for name in ("max_tokens", "epochs", "batch_size", "micro_batch_tokens"):
            interval(name, getattr(self, name), 1)
        for name in ("warmup_steps", "weight_decay", "checkpoint_every"):
            interval(name, getattr(self, name), 0)
        interval("lr", self.lr, 0, open_low=True)
        interval("grad_clip", self.grad_clip, 0, open_low=True)


def load_sft_config(source: str | Path, overrides: Sequence[str] = ()) -> SftConfig:
    """A TOML file with `key=value` overrides, `model.path=...` included.

    Raises:
        ConfigError: no such file, invalid TOML, an unknown key, a wrong type.
    """
    try:
        table: dict[str, Any] = tomllib.loads(Path(source).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"configuration {source} cannot be read: {error}") from None
    for text in overrides:
        key, equals, raw = text.partition("=")
        if not equals:
            raise ConfigError(f"expected key=value, got {text!r}")
        put(table, key.strip(), parse_value(raw.strip()))
    return build(SftConfig, table)
