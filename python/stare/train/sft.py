"""Supervised training on conversations: the cold start before a run with tools.

The loss of a step is the mean over the assistant's tokens of all its conversations, however they
are cut into micro-batches. Shapes: B conversations, L tokens.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from stare.errors import DataError, RunError
from stare.seeds import derive_seed
from stare.train.checkpoint import CheckpointStore
from stare.train.export import write_folder
from stare.train.progress import TrainProgress
from stare.train.runfolder import write_json
from stare.train.sections_sft import SftConfig
from stare.train.session import load_model, pick_device
from stare.train.sft_data import Conversation, encode_conversation, load_conversations

__all__ = ["sft"]


def sft(config: SftConfig, *, resume: bool = False) -> list[float]:
    """Train, and write `OUT/model`, a Hugging Face folder.

    A resumed run on a CPU equals an uninterrupted one bit for bit.

    Returns:
        The loss of each step that was done here.

    Raises:
        StareError: configuration, data or folder are not usable; nothing is lost.
    """
    out = Path(config.out)
    device = pick_device(config.device)
    plain = json.loads(json.dumps(asdict(config)))
    if (out / "sft.json").exists():
        if not resume:
            raise RunError(f"{out} holds a run\nhint: --resume, or another folder")
        if json.loads((out / "sft.json").read_text(encoding="utf-8")) != plain:
            raise RunError(f"{out} holds a run with another configuration")
    if (out / "model").exists():
        raise RunError(f"{out / 'model'} is there: the run is finished")
    torch.manual_seed(config.seed)
    model, tokenizer = load_model(config.model, device)
    rows = _conversations(config, tokenizer)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "sft.json", plain)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.lr, weight_decay=config.weight_decay, fused=True
    )
    store = CheckpointStore(out / "checkpoints", keep=1)
    batches = _batches(config, len(rows))
    found = store.latest(device=device) if resume else None
    step = 0
    if found is not None:
        step = found.step
        model.load_state_dict(found.state["model"])
        optimizer.load_state_dict(found.state["optimizer"])
    losses = []
    model.train()
    with (
        (out / "metrics.jsonl").open("a", encoding="utf-8") as log,
        TrainProgress(steps=len(batches), start=step, log_every=10) as progress,
    ):
        while step < len(batches):
            rate = _rate(config, step, len(batches))
            optimizer.param_groups[0]["lr"] = rate
            loss, tokens = _step(config, model, optimizer, [rows[i] for i in batches[step]], device)
            step += 1
            losses.append(loss)
            log.write(json.dumps({"step": step, "loss": loss, "tokens": tokens, "lr": rate}) + "\n")
            log.flush()
            progress.update({"step": step})
            every = config.checkpoint_every
            if step == len(batches) or (every and step % every == 0):
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                store.save(state, step)
    write_folder(out / "model", model.to("cpu"), tokenizer)
    return losses


def _conversations(config: SftConfig, tokenizer: Any) -> list[Conversation]:
    rows = []
    conversations = load_conversations(config.data)
    for number, messages in enumerate(conversations, 1):
        try:
            row = encode_conversation(tokenizer, messages, config.mask)
        except DataError as error:
            raise DataError(f"{config.data}, conversation {number}: {error}") from None
        if len(row.ids) <= config.max_tokens:
            rows.append(row)
        elif config.too_long == "error":
            raise DataError(
                f"{config.data}, conversation {number} has {len(row.ids)} tokens, max_tokens is "
                f"{config.max_tokens}\nhint: too_long = 'drop'"
            )
    if not rows:
        raise DataError(f"{config.data}: every conversation is longer than {config.max_tokens}")
    if dropped := len(conversations) - len(rows):
        print(
            f"dropped: {dropped} of {len(conversations)} conversations, longer than "
            f"max_tokens={config.max_tokens}",
            file=sys.stderr,
        )
    return rows


def _batches(config: SftConfig, count: int) -> list[list[int]]:
    """Conversations of each step, shuffled anew in each epoch."""
    batches = []
    for epoch in range(config.epochs):
        generator = torch.Generator().manual_seed(derive_seed(config.seed, "sft", epoch))
        order = torch.randperm(count, generator=generator).tolist()
        batches += [order[i : i + config.batch_size] for i in range(0, count, config.batch_size)]
    return batches


def _rate(config: SftConfig, step: int, steps: int) -> float:
    warm = min(1.0, (step + 1) / max(1, config.warmup_steps))
    return config.lr * warm * 0.5 * (1 + math.cos(math.pi * step / steps))


def _micro(rows: Sequence[Conversation], budget: int) -> list[list[Conversation]]:
    """Rows by length, in parts of at most `budget` tokens with padding (one row at least)."""
    parts: list[list[Conversation]] = []
    for row in sorted(rows, key=lambda row: len(row.ids)):
        if not parts or (len(parts[-1]) + 1) * len(row.ids) > budget:
            parts.append([])
        parts[-1].append(row)
    return parts


def _step(
    config: SftConfig,
    model: Any,
    optimizer: torch.optim.Optimizer,
    rows: Sequence[Conversation],
    device: torch.device,
) -> tuple[float, int]:
    """One update; (mean loss, tokens it counts)."""
    tokens = sum(sum(row.mask[1:]) for row in rows)
    total = 0.0
    for part in _micro(rows, config.micro_batch_tokens):
        width = max(len(row.ids) for row in part)
        ids_BL = torch.zeros(len(part), width, dtype=torch.int64)
        real_BL = torch.zeros_like(ids_BL)
        targets_BL = torch.full_like(ids_BL, -100)
        for i, row in enumerate(part):
            ids = torch.tensor(row.ids)
            ids_BL[i, : len(ids)], real_BL[i, : len(ids)] = ids, 1
            targets_BL[i, : len(ids)] = torch.where(torch.tensor(row.mask), ids, -100)
        with torch.autocast(
            device.type, dtype=torch.bfloat16, enabled=config.model.dtype == "bfloat16"
        ):
            logits_BLV = model(
                input_ids=ids_BL[:, :-1].to(device), attention_mask=real_BL[:, :-1].to(device)
            ).logits
        loss = cross_entropy(
            logits_BLV.float().flatten(0, 1),
            targets_BL[:, 1:].to(device).flatten(),
            reduction="sum",
        )
        (loss / max(1, tokens)).backward()  # type: ignore[no-untyped-call]
        total += loss.item()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_clip)
    if not torch.isfinite(norm):
        raise RunError(f"the gradient is {float(norm)}\nhint: lower lr")
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return total / max(1, tokens), tokens
