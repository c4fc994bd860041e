"""What a model is, without loading its weights: hashes, window, tokenizer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stare.errors import MissingExtraError
from stare.evals.config import EvalConfig
from stare.evals.failures import BackendError

__all__ = ["ModelFacts", "load_tokenizer", "model_facts", "tokenizer_identity"]

EDGE = 1 << 16
"""Bytes hashed at either end of a weights file; with its size they tell files apart."""
WEIGHTS = ("*.safetensors", "*.bin", "*.gguf", "*.pt")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is known of a model before it is loaded."""

    identity: dict[str, Any]
    """Name and revision, or the hashes of a folder's files: a moved folder is the same model."""
    window: int | None = None
    """Context length in tokens; None where only the server knows."""
    generation_config: dict[str, Any] | None = None
    """What the model's authors would sample with."""


def model_facts(config: EvalConfig) -> ModelFacts:
    """Look at the model of a configuration.

    Raises:
        BackendError: a folder without a readable `config.json`.
    """
    if config.backend in ("mock", "openai"):
        return ModelFacts(identity={"name": config.model}, window=config.max_model_len)
    if config.backend == "replay":
        return ModelFacts(identity=_recorded(Path(config.model)))
    folder = Path(config.model)
    if not folder.is_dir():
        return _from_hub(config)
    settings = _read_json(folder / "config.json")
    if settings is None:
        raise BackendError(
            f"{folder} is not a model: it has no config.json\n"
            "hint: a folder as save_pretrained writes it"
        )
    identity = {
        "config": _digest_bytes((folder / "config.json").read_bytes()),
        "weights": _weights_digest(folder),
    }
    return ModelFacts(
        identity=identity,
        window=config.max_model_len or window_of(settings),
        generation_config=_read_json(folder / "generation_config.json"),
    )


def _from_hub(config: EvalConfig) -> ModelFacts:
    if config.model.startswith((".", "/", "~")):
        raise BackendError(f"no model folder {config.model}")
    try:
        from transformers import AutoConfig
    except ImportError:
        raise MissingExtraError("transformers", "train", "looking at a model") from None
    options = {"revision": config.revision} if config.revision else {}
    try:
        settings = AutoConfig.from_pretrained(config.model, **options)
    except Exception as error:  # no network, no such model, a broken configuration
        raise BackendError(
            f"model {config.model} does not load: {error}\nhint: a folder, or the id of a model"
        ) from error
    revision = getattr(settings, "_commit_hash", None) or config.revision
    return ModelFacts(
        identity={"name": config.model, "revision": revision},
        window=config.max_model_len or window_of(settings.to_dict()),
    )


def window_of(settings: dict[str, Any]) -> int | None:
    """Context length that a `config.json` states."""
    for table in (settings, settings.get("text_config") or {}):
        if isinstance(table.get("max_position_embeddings"), int):
            return int(table["max_position_embeddings"])
    return None


def _recorded(path: Path) -> dict[str, Any]:
    """Identity of a recording: that of the model it was made with, where it says so."""
    manifest = _read_json(path / "manifest.json") if path.is_dir() else None
    return dict((manifest or {}).get("model") or {"name": path.name})


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _digest_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _weights_digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}:".encode())
        with path.open("rb") as file:
            digest.update(file.read(EDGE))
            file.seek(max(0, size - EDGE))
            digest.update(file.read(EDGE))
    return digest.hexdigest()[:16]


def load_tokenizer(config: EvalConfig) -> Any:
    """The tokenizer that renders the prompts, or None where a server (or nobody) does.

    Raises:
        BackendError: it does not load.
        MissingExtraError: transformers is not installed.
    """
    local = config.backend in ("transformers", "vllm")
    name = config.tokenizer or (config.model if local else None)
    if name is None:
        return None
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise MissingExtraError("transformers", "train", "rendering prompts") from None
    options = {"revision": config.revision} if config.revision and not config.tokenizer else {}
    try:
        return AutoTokenizer.from_pretrained(name, **options)
    except Exception as error:  # the library raises whatever a broken folder provokes
        raise BackendError(
            f"tokenizer {name} does not load: {error}\n"
            "hint: the model's folder must hold its tokenizer's files; --tokenizer takes another's"
        ) from error


def tokenizer_identity(tokenizer: Any) -> dict[str, Any] | None:
    """Hashes of a tokenizer and of its chat template; None without one."""
    if tokenizer is None:
        return None
    backend = getattr(tokenizer, "backend_tokenizer", None)
    text = backend.to_str() if backend is not None else json.dumps(sorted(tokenizer.get_vocab()))
    template = tokenizer.chat_template
    return {
        "tokenizer": _digest_bytes(text.encode("utf-8", "surrogatepass")),
        "chat_template": None if not template else _digest_bytes(str(template).encode()),
    }
