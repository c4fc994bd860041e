"""Flags made from the fields of `EvalConfig`: what a file can say, the command line can."""

from __future__ import annotations

import argparse
import dataclasses
import types
from typing import Any, Literal, Union, get_args, get_origin

from stare.evals.config import EvalConfig, load_config, parse_backend_arg, preset_names

__all__ = ["add_flags", "config_of"]

ALSO = {"bench": ["--suite"], "backend_args": ["--backend-arg"]}
"""Further names of flags."""
GROUPS = {
    "what to score": "bench n limit problems data_dir",
    "sampling": "temperature top_p top_k min_p max_tokens stop seed",
    "prompt": "template system thinking tokenizer",
    "back end": "backend base_url api api_key_env concurrency retries stall_limit revision dtype "
    "tp workers ray shard max_batch max_model_len backend_args offline",
    "results": "grader max_truncated price_in price_out",
}


def add_flags(parser: argparse.ArgumentParser, *, leave_out: tuple[str, ...] = ()) -> None:
    """Add MODEL, `--preset`, `--config` and a flag for every key of the configuration."""
    fields = {field.name: field for field in dataclasses.fields(EvalConfig)}
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", default=None, help=fields["model"].metadata["help"]
    )
    parser.add_argument(
        "--preset", metavar="NAME", help=f"settings by name: {', '.join(preset_names())}"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="a TOML file with the names of the flags as keys"
    )
    for title, names in GROUPS.items():
        group = parser.add_argument_group(title)
        for name in names.split():
            if name not in leave_out:
                _add(group, fields[name])


def _add(group: Any, field: dataclasses.Field[Any]) -> None:
    from stare.coerce import field_types

    kind = field_types(EvalConfig)[field.name]
    names = [f"--{field.name.replace('_', '-')}", *ALSO.get(field.name, [])]
    if field.name == "backend_args":
        names.pop(0)
    options: dict[str, Any] = {"dest": f"cfg_{field.name}", "default": argparse.SUPPRESS}
    text = field.metadata["help"]
    default = field.default
    if default not in (None, "", (), False, -1, dataclasses.MISSING):
        text += f" (default {default})"
    options["help"] = text.replace("%", "%%")
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(one for one in get_args(kind) if one is not type(None))
    if kind is bool:
        group.add_argument(*names, action="store_true", **options)
        return
    if get_origin(kind) is Literal:
        options |= {"choices": get_args(kind)}
    elif get_origin(kind) is tuple:
        options |= {"action": "append", "metavar": "TEXT"}
    elif get_origin(kind) is dict:
        options |= {"action": "append", "metavar": "KEY=VALUE"}
    else:
        metavar = {int: "N", float: "X"}.get(kind, "TEXT")
        options |= {"type": kind, "metavar": metavar}
    group.add_argument(*names, **options)


def config_of(args: argparse.Namespace) -> EvalConfig:
    """The effective configuration of a command line.

    Raises:
        ConfigError: an unknown preset or key, a bad value, no model.
    """
    from stare.errors import ConfigError

    flags = {k[4:]: v for k, v in vars(args).items() if k.startswith("cfg_")}
    if "backend_args" in flags:
        flags["backend_args"] = dict(parse_backend_arg(text) for text in flags["backend_args"])
    if args.model is not None:
        flags["model"] = args.model
    config = load_config(preset=args.preset, file=args.config, flags=flags)
    if not config.model:
        raise ConfigError("no MODEL\nhint: stare-eval run MODEL, or model = in the --config file")
    return config
