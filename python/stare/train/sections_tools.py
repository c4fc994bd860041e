"""`[tools]`: a Python tool that responses may call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stare.coerce import check_fields, interval
from stare.errors import ConfigError
from stare.rollout.tools.formats import FORMATS
from stare.rollout.tools.limits import Limits

__all__ = ["ToolsConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsConfig:
    """How programs are called, run and shown.

    Example:
        >>> ToolsConfig(enabled=True, limits={"wall_seconds": 5}).executor
        'sandbox'
        >>> ToolsConfig(executor="http")
        Traceback (most recent call last):
        ...
        stare.errors.ConfigError: tools.executor='http' needs tools.url
        hint: the address of a SandboxFusion server, such as "http://sandbox:8080"
    """

    enabled: bool = False
    """Whether responses may call the tool."""
    format: str = "fence"
    """How calls are written: `fence` (a fenced block of Python), `tool_call` (the markup of Qwen's
    chat template), or `package.module:name` of a `ToolFormat` of your own."""
    max_turns: int = 4
    """Most calls of a response. A further one ends it and is not run."""
    max_observation_tokens: int = 512
    """Longer output loses its middle. Observations count towards `rollout.max_response_tokens`."""
    executor: str = "sandbox"
    """What runs programs: `sandbox` (bubblewrap, on this machine), `http` (a SandboxFusion server)
    or `package.module:name` of a function without arguments that makes an `Executor`."""
    url: str | None = None
    """The server of `http`."""
    workers: int | None = None
    """Programs at one time; None: one a processor (`sandbox`), 16 (`http`). Of each rank."""
    preload: tuple[str, ...] = ()
    """Modules that every program of `sandbox` finds imported already."""
    unsafe: bool = False
    """Run programs of `sandbox` without any sandbox."""
    limits: dict[str, Any] = field(default_factory=dict)
    """Of one program; the fields of `Limits`."""

    def __post_init__(self) -> None:
        check_fields(self)
        interval("max_turns", self.max_turns, 1)
        interval("max_observation_tokens", self.max_observation_tokens, 1)
        if self.workers is not None:
            interval("workers", self.workers, 1)
        for key, value, known in (
            ("format", self.format, sorted(FORMATS)),
            ("executor", self.executor, ["http", "sandbox"]),
        ):
            if value not in known and ":" not in value:
                raise ConfigError(
                    f"tools.{key} must be one of {', '.join(known)} or package.module:name, "
                    f"got {value!r}"
                )
        if (self.executor == "http") != (self.url is not None):
            raise ConfigError(
                "tools.executor='http' needs tools.url\n"
                'hint: the address of a SandboxFusion server, such as "http://sandbox:8080"'
                if self.url is None
                else f"tools.url is for tools.executor='http', got {self.executor!r}"
            )
        if self.unsafe and self.executor != "sandbox":
            raise ConfigError(
                f"tools.unsafe=true is for tools.executor='sandbox', got {self.executor!r}"
            )
        unknown = sorted(set(self.limits) - set(Limits.__dataclass_fields__))
        if unknown:
            raise ConfigError(
                f"tools.limits has no {', '.join(unknown)}\n"
                f"hint: it has {', '.join(Limits.__dataclass_fields__)}"
            )
        self.program_limits()

    def program_limits(self) -> Limits:
        """The limits of one program."""
        return Limits(**self.limits)
