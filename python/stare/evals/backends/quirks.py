"""How OpenAI-compatible servers differ, as data.

Every one has sampling defaults of its own, which count for fields that a request leaves out:
llama.cpp's are top_k 40 and min_p 0.05, vLLM takes the model's generation_config. So each is sent
what switches everything off that was not asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["PLAIN", "Quirks", "server_quirks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirks:
    """One kind of server."""

    name: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields sent with every request beside the standard ones."""
    top_k_off: int | None = None
    """Value of `top_k` that keeps all tokens; None: sent only where one is asked for."""
    min_p: bool = False
    """Whether `min_p` is always sent."""
    raw_extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields sent with completions requests alone."""
    seed_bits: int = 63
    """Lowest bits of a seed that are used."""

    @property
    def takes_bos(self) -> bool:
        """Whether a prompt's own beginning-of-sequence token is kept and none is added."""
        return self.raw_extra.get("add_special_tokens") is False


PLAIN = Quirks(name="unknown")

KINDS: dict[str, Quirks] = {
    "vllm": Quirks(
        name="vllm",
        extra={"repetition_penalty": 1.0, "include_stop_str_in_output": True},
        raw_extra={"add_special_tokens": False},
        top_k_off=-1,
        min_p=True,
    ),
    "sglang": Quirks(
        name="sglang",
        extra={"repetition_penalty": 1.0, "no_stop_trim": True},
        top_k_off=-1,
        min_p=True,
    ),
    "llamacpp": Quirks(
        name="llama.cpp",
        extra={"repeat_penalty": 1.0, "typical_p": 1.0},
        top_k_off=0,
        min_p=True,
        seed_bits=31,
    ),
    # llama-cpp-python: ignores n, serves requests one after the other.
    "me": Quirks(
        name="llama-cpp-python",
        extra={"repeat_penalty": 1.0},
        top_k_off=0,
        min_p=True,
        seed_bits=31,
    ),
}
"""By `owned_by` of the server's list of models."""


def server_quirks(models: Mapping[str, Any]) -> Quirks:
    """What kind of server gave this list of models.

    Example:
        >>> server_quirks({"data": [{"id": "m", "owned_by": "vllm"}]}).name
        'vllm'
    """
    for model in models.get("data") or ():
        if isinstance(model, Mapping) and model.get("owned_by") in KINDS:
            return KINDS[str(model["owned_by"])]
    return PLAIN
