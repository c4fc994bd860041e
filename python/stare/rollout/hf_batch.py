"""One batch of responses while it is being decoded by `stare.rollout.hf`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from stare.errors import RunError
from stare.rollout.cache import decoding_cache
from stare.rollout.decode import draw_tokens, uniforms
from stare.rollout.sampler import SamplingParams
from stare.rollout.stop import StopTexts
from stare.types import Completion

if TYPE_CHECKING:
    from stare.rollout.hf import TransformersSampler

__all__ = ["DecodingBatch", "Draw", "Piece"]

# A batch is cut down to its unfinished rows once this share of it has finished. Cutting costs about
# what one step's growth of the cache costs, so it pays early.
COMPACT_SHARE = 0.125


@dataclass(frozen=True, slots=True)
class Piece:
    """Responses `first` .. `first + count - 1` to one prompt."""

    prompt: int
    first: int
    count: int


class Draw(NamedTuple):
    """What the uniforms of one response are derived from, beside its prompt."""

    seed: int
    repeat: int
    sample: int


class DecodingBatch:
    """One batch being decoded. B rows at the start; finished rows leave."""

    def __init__(
        self,
        sampler: TransformersSampler,
        pieces: list[Piece],
        encoded: list[list[int]],
        draws: list[list[Draw]],
        params: SamplingParams,
    ) -> None:
        self.sampler, self.pieces, self.params = sampler, pieces, params
        device = sampler.device
        self.prompts = [encoded[piece.prompt] for piece in pieces]
        self.row_piece = [i for i, piece in enumerate(pieces) for _ in range(piece.count)]
        size, steps = len(self.row_piece), params.max_tokens
        lengths = [len(self.prompts[i]) for i in self.row_piece]
        self.prompt_length_B = torch.tensor(lengths, device=device)
        room = sampler.context
        limits = [steps if room is None else min(steps, room - length) for length in lengths]
        self.limit_B = torch.tensor(limits, device=device)
        streams = [
            uniforms(draw.seed, encoded[p.prompt], draw.repeat, draw.sample, steps)
            for p in pieces
            for draw in draws[p.prompt][p.first : p.first + p.count]
        ]
        self.uniforms_BT = torch.from_numpy(np.stack(streams)).to(device)
        self.tokens_BT = torch.zeros(size, steps, dtype=torch.int64, device=device)
        self.logprobs_BT = torch.zeros(size, steps, device=device)
        self.entropy_BT = torch.zeros(size, steps, device=device)
        self.length_B = torch.zeros(size, dtype=torch.int64, device=device)
        self.stopped_B = torch.zeros(size, dtype=torch.bool, device=device)
        self.eos = torch.tensor(sampler.eos_token_ids, dtype=torch.int64, device=device)
        self.stops = StopTexts(sampler.tokenizer, params.stop, size) if params.stop else None

    def _prefill(self) -> tuple[Tensor, Tensor, Any]:
        """Run each prompt once; return logits, attention mask and cache, one row a response."""
        device = self.sampler.device
        width = max(len(ids) for ids in self.prompts)
        ids_PL = torch.full((len(self.prompts), width), _filler_id(self.sampler), device=device)
        mask_PS = torch.ones(
            len(self.prompts), width + self.params.max_tokens, dtype=torch.int64, device=device
        )
        for row, ids in enumerate(self.prompts):
            ids_PL[row, width - len(ids) :] = torch.tensor(ids, device=device)
            mask_PS[row, : width - len(ids)] = 0
        positions_PL = (mask_PS[:, :width].cumsum(dim=-1) - 1).clamp_(min=0)
        cache = decoding_cache(self.sampler.model.config)
        logits_PV = self.sampler.forward(ids_PL, mask_PS[:, :width], positions_PL, cache)
        rows = torch.tensor(self.row_piece, device=device)
        if len(rows) != len(self.prompts):
            cache.batch_select_indices(rows)
        return logits_PV[rows], mask_PS[rows], cache

    def run(self) -> None:
        """Decode until every row has stopped or reached its limit."""
        logits_BV, mask_BS, cache = self._prefill()
        width = mask_BS.shape[1] - self.params.max_tokens
        rows = torch.arange(len(self.row_piece), device=self.sampler.device)
        live = torch.ones_like(rows, dtype=torch.bool)  # of the rows still in the batch
        for step in range(self.params.max_tokens):
            with torch.autocast(self.sampler.device.type, enabled=False):  # draw in float32
                tokens, logprobs, entropy = draw_tokens(
                    logits_BV,
                    self.uniforms_BT[rows, step],
                    temperature=self.params.temperature,
                    top_p=self.params.top_p,
                )
            self.tokens_BT[rows, step] = tokens
            self.logprobs_BT[rows, step] = logprobs
            self.entropy_BT[rows, step] = entropy
            stopped = torch.isin(tokens, self.eos)
            if self.stops is not None:
                completed = self.stops.completed(rows.tolist(), tokens.tolist())
                stopped |= torch.tensor(completed, device=stopped.device)
            ended = live & (stopped | (step + 1 >= self.limit_B[rows]))
            self.length_B[rows[ended]] = step + 1
            self.stopped_B[rows[ended]] = stopped[ended]
            live &= ~ended
            remaining = int(live.sum())
            if remaining == 0:
                break
            if len(rows) - remaining >= COMPACT_SHARE * len(rows):
                keep = live.nonzero()[:, 0]
                rows, tokens, mask_BS, live = rows[keep], tokens[keep], mask_BS[keep], live[keep]
                cache.batch_select_indices(keep)
            logits_BV = self.sampler.forward(
                tokens[:, None],
                mask_BS[:, : width + step + 1],
                (self.prompt_length_B[rows] + step)[:, None],
                cache,
            )

    def completions(self) -> list[tuple[Piece, list[Completion]]]:
        """Cut the rows to their lengths and decode them."""
        lengths = self.length_B.tolist()
        ids = [row[:n] for row, n in zip(self.tokens_BT.tolist(), lengths, strict=True)]
        logprobs = [row[:n] for row, n in zip(self.logprobs_BT.tolist(), lengths, strict=True)]
        entropies = [row[:n] for row, n in zip(self.entropy_BT.tolist(), lengths, strict=True)]
        if not np.isfinite(np.concatenate([np.asarray(row) for row in logprobs])).all():
            raise RunError(
                "the model returned NaN or infinite log-probabilities while sampling\n"
                "hint: the weights have diverged; resume an earlier checkpoint, lower the rate"
            )
        texts = self.sampler.tokenizer.batch_decode(ids, skip_special_tokens=True)
        stopped = self.stopped_B.tolist()
        result, row = [], 0
        for piece, prompt_ids in zip(self.pieces, self.prompts, strict=True):
            group = [
                Completion(
                    prompt_ids=prompt_ids,
                    token_ids=ids[r],
                    logprobs=logprobs[r],
                    entropies=entropies[r],
                    text=texts[r],
                    finish_reason="stop" if stopped[r] else "length",
                )
                for r in range(row, row + piece.count)
            ]
            result.append((piece, group))
            row += piece.count
        return result


def _filler_id(sampler: TransformersSampler) -> int:
    """Any valid id will do for padding: padded positions are masked."""
    pad = sampler.tokenizer.pad_token_id
    if pad is None:
        pad = sampler.tokenizer.eos_token_id
    return int(pad) if pad is not None else 0
