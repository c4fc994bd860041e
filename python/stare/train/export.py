"""A checkpoint of a run to a Hugging Face folder: what vLLM, TRL and `from_pretrained` load."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import torch

from stare.errors import ConfigError, RunError
from stare.train.checkpoint_files import read_meta, read_state
from stare.train.config import from_dict
from stare.train.runfolder import read_config
from stare.train.session import load_model

__all__ = ["export", "write_folder"]

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def export(run: Path, out: Path, *, step: int | None = None, dtype: str = "float32") -> int:
    """Write the policy of a run, sharded or not, with its configuration and tokenizer.

    The run may be going on: nothing in its folder is touched. The folder `out` appears at once,
    complete. The model is built as the run built it, so `model.path` must still be there.

    Args:
        run: run folder.
        out: folder to make; an empty one may be there.
        step: which checkpoint; None takes the newest that is intact.
        dtype: of the weights written: float32 as they were trained, or bfloat16.

    Returns:
        Training steps behind the weights.

    Raises:
        RunError: no such checkpoint, none intact, `out` is in use, or the disk refuses.
        ConfigError: the policy comes from a factory whose model is no Hugging Face model.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out} exists and is not an empty folder\nhint: choose another")
    config = from_dict(read_config(run))
    model, tokenizer = load_model(config.model, torch.device("cpu"))
    for part in (model, tokenizer):
        if not hasattr(part, "save_pretrained"):
            raise ConfigError(
                f"model.factory={config.model.factory!r} makes a {type(part).__name__}, which has "
                "no save_pretrained: it cannot become a Hugging Face folder"
            )
    done = _load_newest(run, model, step)
    write_folder(out, model.to(_DTYPES[dtype]), tokenizer)
    return done


def _load_newest(run: Path, model: torch.nn.Module, step: int | None) -> int:
    folder = run / "checkpoints"
    names = [f"step-{step:06d}"] if step is not None else []
    names = names or sorted((p.name for p in folder.glob("step-*")), reverse=True)
    damage: list[str] = []
    for name in names:
        try:
            _load(folder / name, model)
        except RunError as error:
            damage.append(str(error))
            continue
        for message in damage:
            print(f"warning: {message}; an older checkpoint is used", file=sys.stderr)
        return int(name.rpartition("-")[2])
    if not damage:
        raise RunError(f"{run} has no checkpoint yet")
    raise RunError("no intact checkpoint:\n" + "\n".join(f"  {m}" for m in damage))


def _load(path: Path, model: torch.nn.Module) -> None:
    if "shards" in read_meta(path):
        from stare.train.checkpoint_sharded import read_model

        read_model(path, model)
        return
    weights = read_state(path).get("model")
    try:
        model.load_state_dict(weights)  # type: ignore[arg-type]
    except (RuntimeError, TypeError) as error:
        raise RunError(f"checkpoint {path} is of another model: {error}") from error


def write_folder(out: Path, model: Any, tokenizer: Any) -> None:
    """Write a Hugging Face folder that appears at once, complete.

    Raises:
        RunError: the disk refuses.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.parent / f".{out.name}.{os.getpid()}.tmp"
    try:
        temporary.mkdir()
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        temporary.replace(out)
    except OSError as error:
        raise RunError(f"{out} could not be written: {error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
