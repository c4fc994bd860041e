"""From a configuration to a back end."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from stare.errors import ConfigError
from stare.evals.backends.protocol import Backend, Sampling
from stare.evals.config import EvalConfig

__all__ = ["create", "sampling_of"]

FACTORIES: dict[str, tuple[str, str]] = {
    "mock": ("mock", "MockBackend"),
    "openai": ("openai", "OpenAIBackend"),
    "replay": ("replay", "ReplayBackend"),
    "transformers": ("hf", "TransformersBackend"),
    "vllm": ("vllm_offline", "VllmBackend"),
}


def sampling_of(config: EvalConfig, stop: tuple[str, ...] = ()) -> Sampling:
    """The sampling part of a configuration, with the stop strings of its template."""
    return Sampling(
        temperature=config.temperature,
        top_p=config.top_p,
        top_k=config.top_k,
        min_p=config.min_p,
        max_tokens=config.max_tokens,
        stop=tuple(dict.fromkeys((*config.stop, *stop))),
    )


def create(
    config: EvalConfig, sampling: Sampling, golds: Mapping[tuple[str, str], str] | None = None
) -> Backend:
    """The back end that a configuration names, not yet open.

    Args:
        config: the configuration.
        sampling: how to sample.
        golds: (benchmark, problem id) -> gold; what the mock back end answers with.

    Raises:
        ConfigError: a setting that this back end cannot honour.
    """
    module, name = FACTORIES[config.backend]
    factory: Any = getattr(import_module(f"stare.evals.backends.{module}"), name)
    arguments = dict(config.backend_args)
    if config.backend == "mock":
        arguments["golds"] = golds or {}
    try:
        backend: Backend = factory(config, sampling, **arguments)
    except TypeError as error:
        raise ConfigError(f"back end {config.backend}: {error}\nhint: --backend-arg") from error
    return backend
