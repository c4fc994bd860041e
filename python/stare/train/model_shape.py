"""The shape of a decoder-only transformer, from its `config.json` alone: no weights, no torch."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from stare.coerce import nearest
from stare.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["ModelShape", "built_in_shapes", "load_shape", "shape_of"]

_BIASES = {"qwen2": True, "qwen3": False, "llama": False, "mistral": False}
"""Model type -> whether q, k and v have biases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """What memory depends on.

    Example:
        >>> shape = built_in_shapes()["Qwen/Qwen2.5-Math-7B"]
        >>> f"{shape.parameters:,}", shape.kv_bytes_per_token(2)
        ('7,615,616,512', 57344)
    """

    name: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context: int
    """Positions the model was made for."""
    tied: bool
    """Whether the head shares the embedding's weights."""
    attention_bias: bool
    """Whether q, k and v have biases; `output_bias` is that of o."""
    output_bias: bool
    qk_norm: bool
    """Whether q and k are normalised per head (Qwen3)."""

    @property
    def block_parameters(self) -> int:
        """Parameters of one layer."""
        q, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = 2 * self.hidden * q + 2 * self.hidden * kv
        attention += (q + 2 * kv) * self.attention_bias + self.hidden * self.output_bias
        norms = 2 * self.hidden + 2 * self.head_dim * self.qk_norm
        return attention + 3 * self.hidden * self.intermediate + norms

    @property
    def outer_parameters(self) -> int:
        """Parameters of embedding, final norm and head."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2) + self.hidden

    @property
    def parameters(self) -> int:
        """All parameters."""
        return self.layers * self.block_parameters + self.outer_parameters

    def kv_bytes_per_token(self, element: int) -> int:
        """Key-value cache of one position: `element` bytes for each of K and V of every layer."""
        return 2 * self.layers * self.kv_heads * self.head_dim * element


def shape_of(config: Mapping[str, Any], name: str) -> ModelShape:
    """Read the shape out of a `config.json`.

    Raises:
        ConfigError: another architecture, or a key is missing or no positive integer.
    """
    kind = config.get("model_type")
    if kind not in _BIASES:
        raise ConfigError(
            f"{name}: memory can be planned for model_type {', '.join(_BIASES)}, got {kind!r}\n"
            "hint: --model-config with a shape like it"
        )

    def number(key: str, default: int | None = None) -> int:
        value = config.get(key, default)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigError(f"{name}: {key} must be a positive integer, got {value!r}")
        return value

    heads, hidden = number("num_attention_heads"), number("hidden_size")
    kv_heads = number("num_key_value_heads", heads)
    if heads % kv_heads:
        raise ConfigError(
            f"{name}: num_attention_heads must be a multiple of num_key_value_heads, "
            f"got {heads} and {kv_heads}"
        )
    bias = bool(config.get("attention_bias", False))
    return ModelShape(
        name=name,
        hidden=hidden,
        intermediate=number("intermediate_size"),
        layers=number("num_hidden_layers"),
        heads=heads,
        kv_heads=kv_heads,
        # transformers writes only what differs from its default, which is 128 for Qwen3.
        head_dim=number("head_dim", 128 if kind == "qwen3" else max(1, hidden // heads)),
        vocabulary=number("vocab_size"),
        context=number("max_position_embeddings"),
        tied=bool(config.get("tie_word_embeddings", False)),
        attention_bias=_BIASES[kind] or bias,
        output_bias=bias and kind != "qwen2",
        qk_norm=kind == "qwen3",
    )


@cache
def built_in_shapes() -> dict[str, ModelShape]:
    """Hub name -> shape of the paper's models (`model_shapes.toml`)."""
    text = (resources.files("stare.train") / "model_shapes.toml").read_text("utf-8")
    return {name: shape_of(config, name) for name, config in tomllib.loads(text).items()}


def load_shape(model: str | None, model_config: Path | None) -> ModelShape:
    """The shape of `model.path` (a local folder or a name that is built in), or of a given file.

    Raises:
        ConfigError: it is not there, not JSON, or unknown; the message says what to do.
    """
    if model_config is not None:
        return _read(model_config if model_config.is_file() else model_config / "config.json")
    if model is None:
        raise ConfigError(
            "stare-train plan needs model.path or --model-config FILE, a config.json\n"
            "hint: a model.factory has no config.json to read"
        )
    if (Path(model) / "config.json").is_file():
        return _read(Path(model) / "config.json")
    known = built_in_shapes()
    if model not in known:
        raise ConfigError(
            f"model.path={model!r} is no folder with a config.json and no shape that is built in\n"
            f"hint: --model-config FILE, or {nearest(model, known)}"
        )
    return known[model]


def _read(path: Path) -> ModelShape:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{path}: expected a JSON object, got {type(config).__name__}")
    return shape_of(config, str(path))
