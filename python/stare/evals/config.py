"""Everything a run can be told: flags of the command line and keys of a TOML file are the same.

Later sources win: defaults, a preset, `--config FILE`, flags. What results is saved with the run.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from stare.coerce import build, check_fields, interval, nearest
from stare.errors import ArgumentError, ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "EvalConfig",
    "Shard",
    "load_config",
    "parse_backend_arg",
    "parse_shard",
    "preset_names",
    "split_list",
    "to_dict",
]

Backend = Literal["auto", "vllm", "openai", "transformers", "replay", "mock"]


def _help(text: str) -> dict[str, str]:
    return {"help": text}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig:
    """What to sample, from what, and how. Field names are flags (`_` written `-`) and TOML keys.

    Raises:
        ConfigError: a value of the wrong type or out of range, or a contradiction.

    Example:
        >>> EvalConfig(model="m", temperature=0.6).max_tokens
        3072
    """

    model: str = field(
        default="", metadata=_help("folder, Hub id, name at the server, or (replay) a recorded run")
    )
    bench: str = field(
        default="stare6", metadata=_help("benchmarks and suites: stare6, or aime24:32,math500:4")
    )
    n: int | None = field(
        default=None, metadata=_help("samples a problem, where --bench gives no number of its own")
    )
    limit: int | None = field(
        default=None, metadata=_help("only the first K problems of each benchmark")
    )
    problems: str = field(
        default="",
        metadata=_help("only these problems: numbers from 1 and ids, as 1,5-9,aime24-60"),
    )
    data_dir: str | None = field(
        default=None, metadata=_help("the local store of benchmarks (default: $STARE_DATA)")
    )

    temperature: float = field(default=1.0, metadata=_help("0 is greedy"))
    top_p: float = field(default=1.0, metadata=_help("nucleus mass; 1 keeps all"))
    top_k: int = field(default=-1, metadata=_help("most probable tokens kept; -1 keeps all"))
    min_p: float = field(
        default=0.0, metadata=_help("least probability relative to the most probable token")
    )
    max_tokens: int = field(default=3072, metadata=_help("token limit of a response"))
    stop: tuple[str, ...] = field(
        default=(), metadata=_help("a string that ends a response (repeatable); it is kept")
    )
    seed: int = field(
        default=0, metadata=_help("seed of the run; every sample's own is derived from it")
    )

    template: str = field(
        default="auto",
        metadata=_help("auto, boxed-suffix, qwen25-math-cot, r1-zero, r1-distill, none, or a file"),
    )
    system: str = field(
        default="template-default",
        metadata=_help("system prompt: a text, none, or template-default"),
    )
    thinking: Literal["auto", "on", "off"] = field(
        default="auto", metadata=_help("enable_thinking of the chat template")
    )
    tokenizer: str | None = field(
        default=None, metadata=_help("folder or Hub id of the tokenizer (default: the model's)")
    )

    backend: Backend = field(
        default="auto",
        metadata=_help("vllm, openai, transformers, replay or mock; auto: openai with --base-url"),
    )
    base_url: tuple[str, ...] = field(
        default=(), metadata=_help("server, as http://host:8000/v1 (repeatable)")
    )
    api: Literal["auto", "chat", "completions"] = field(
        default="auto", metadata=_help("endpoint of the server")
    )
    api_key_env: str = field(
        default="OPENAI_API_KEY", metadata=_help("environment variable that holds the key")
    )
    concurrency: int = field(
        default=64, metadata=_help("requests at a time, over all servers, a worker")
    )
    retries: int = field(
        default=12, metadata=_help("tries of a request before the server counts as gone")
    )
    stall_limit: float | None = field(
        default=None,
        metadata=_help(
            "seconds without a byte from a server, or a sample from a worker, that end it"
        ),
    )
    revision: str | None = field(default=None, metadata=_help("revision of a model on the Hub"))
    dtype: str = field(
        default="auto", metadata=_help("dtype of the weights: auto, float32, bfloat16, float16")
    )
    tp: int = field(default=1, metadata=_help("GPUs a worker (vllm: tensor parallel)"))
    workers: int = field(
        default=1, metadata=_help("processes, each with the model and its own GPUs")
    )
    ray: bool = field(default=False, metadata=_help("workers on a Ray cluster ($RAY_ADDRESS)"))
    shard: str | None = field(
        default=None, metadata=_help("this machine's part, as 2/4; put together by merge")
    )
    max_batch: int = field(default=32, metadata=_help("transformers: responses decoded together"))
    max_model_len: int | None = field(
        default=None, metadata=_help("vllm: context length to reserve for")
    )
    backend_args: dict[str, Any] = field(
        default_factory=dict, metadata=_help("KEY=VALUE for the back end (repeatable)")
    )
    offline: bool = field(default=False, metadata=_help("never ask the Hub"))

    grader: str = field(default="stare", metadata=_help("graders, as stare,math-verify"))
    max_truncated: float | None = field(
        default=None, metadata=_help("exit with 1 above this share of cut-off responses")
    )
    price_in: float | None = field(
        default=None, metadata=_help("doctor: price of a million prompt tokens")
    )
    price_out: float | None = field(
        default=None, metadata=_help("doctor: price of a million response tokens")
    )

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("n", "limit", "max_tokens", "concurrency", "retries", "tp", "workers"):
            interval(name, getattr(self, name), 1)
        interval("max_batch", self.max_batch, 1)
        interval("max_model_len", self.max_model_len, 1)
        interval("temperature", self.temperature, 0.0)
        interval("top_p", self.top_p, 0.0, 1.0, open_low=True)
        interval("min_p", self.min_p, 0.0, 1.0, open_high=True)
        interval("stall_limit", self.stall_limit, 0.0, open_low=True)
        interval("max_truncated", self.max_truncated, 0.0, 1.0)
        if self.top_k != -1:
            interval("top_k", self.top_k, 1)
        if not self.bench.strip():
            raise ConfigError("bench names no benchmark")
        if any(not one for one in self.stop):
            raise ConfigError("stop must not hold an empty string")
        for url in self.base_url:
            if not re.fullmatch(r"https?://[^/\s@]+(/\S*)?", url):
                raise ConfigError(
                    f"base_url must look like http://host:8000/v1, got {_without_secret(url)!r}"
                )
        if self.backend == "openai" and not self.base_url:
            raise ConfigError(
                "back end openai needs base_url\nhint: --base-url http://127.0.0.1:8000/v1"
            )
        if self.base_url and self.backend not in ("auto", "openai"):
            raise ConfigError(f"base_url is for back end openai, not {self.backend}")
        if self.shard is not None:
            parse_shard(self.shard)


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of the work, `number` of `of`, counted from 1."""

    number: int
    of: int


def _without_secret(url: str) -> str:
    """The URL without user and password, which belong into the environment."""
    return re.sub(r"//[^/]*@", "//...@", url)


def parse_shard(text: str) -> Shard:
    """Parse `2/4`.

    Raises:
        ConfigError: it is not a part of a whole.

    Example:
        >>> parse_shard("2/4")
        Shard(number=2, of=4)
    """
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ConfigError(f"shard must be i/N with 1 <= i <= N, got {text!r}")
    return Shard(int(match[1]), int(match[2]))


def to_dict(config: EvalConfig) -> dict[str, Any]:
    """Plain values, as in TOML or JSON."""
    fields = dataclasses.asdict(config)
    return {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}


def preset_names() -> list[str]:
    """Names of the packaged presets.

    Example:
        >>> "stare-short-cot" in preset_names()
        True
    """
    folder = resources.files("stare.evals") / "presets"
    return sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml"))


def load_config(
    *,
    preset: str | None = None,
    file: str | Path | None = None,
    flags: Mapping[str, Any] | None = None,
) -> EvalConfig:
    """The configuration that a preset, a file and flags add up to.

    Args:
        preset: name of a packaged preset.
        file: a TOML file with the same keys; it may name a preset of its own: `preset = "..."`.
        flags: key -> value, from the command line; `backend_args` is merged key by key.

    Raises:
        ConfigError: an unknown preset or key (the nearest is named), invalid TOML, a bad value.

    Example:
        >>> config = load_config(preset="stare-short-cot", flags={"model": "m", "seed": 3})
        >>> config.top_p, config.max_tokens, config.seed
        (0.7, 3072, 3)
    """
    table = _read_file(Path(file)) if file is not None else {}
    base = preset or table.pop("preset", None)
    table.pop("preset", None)
    layers = [_read_preset(base) if base is not None else {}, table, dict(flags or {})]
    merged: dict[str, Any] = {}
    for layer in layers:
        extra = {**merged.get("backend_args", {}), **layer.get("backend_args", {})}
        merged |= layer | ({"backend_args": extra} if extra else {})
    return _resolved(build(EvalConfig, merged))


def _resolved(config: EvalConfig) -> EvalConfig:
    if config.backend != "auto":
        return config
    from importlib.util import find_spec

    local: Backend = "vllm" if find_spec("vllm") is not None else "transformers"
    return dataclasses.replace(config, backend="openai" if config.base_url else local)


def _read_preset(name: object) -> dict[str, Any]:
    if name not in preset_names():
        hint = nearest(str(name), preset_names())
        raise ConfigError(
            f"no preset is named {name!r}\nhint: {hint}\nhint: --config takes a file of your own"
        )
    text = (resources.files("stare.evals") / "presets" / f"{name}.toml").read_text("utf-8")
    table: dict[str, Any] = tomllib.loads(text)
    return table


def _read_file(path: Path) -> dict[str, Any]:
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        return table
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration {path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is no valid TOML: {error}") from None


def parse_backend_arg(text: str) -> tuple[str, Any]:
    """Split `KEY=VALUE`; the value is a TOML literal, or else the bare string.

    Raises:
        ArgumentError: there is no `=`.

    Example:
        >>> parse_backend_arg("gpu_memory_utilization=0.8"), parse_backend_arg("tool=x y")
        (('gpu_memory_utilization', 0.8), ('tool', 'x y'))
    """
    key, equals, raw = text.partition("=")
    if not equals or not key.strip():
        raise ArgumentError(f"expected KEY=VALUE, got {text!r}")
    try:
        value = tomllib.loads(f"value = {raw}")
    except tomllib.TOMLDecodeError:
        return key.strip(), raw
    return key.strip(), value["value"] if len(value) == 1 else raw


def split_list(text: str) -> Sequence[str]:
    """Items of a comma-separated list, blanks and empty ones left out."""
    return [item.strip() for item in text.split(",") if item.strip()]
