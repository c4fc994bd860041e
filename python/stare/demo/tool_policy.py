"""The tool demo's policy: the tiny GPT with a longer context, and a sampler that continues tokens.

The sampler keeps no cache: contexts of 40 tokens are computed anew for each token. Shapes: N
responses, L positions, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stare.demo.policy import DATA, WEIGHTS_NAME, TinyPolicy, load_weights
from stare.demo.tool_vocab import EOS_ID, ToolTokenizer
from stare.errors import ArgumentError, RunError
from stare.rollout.decode import draw_tokens, uniforms
from stare.rollout.repeats import repeats
from stare.rollout.sampler import SamplingParams
from stare.rollout.stop import StopTexts
from stare.seeds import derive_seed
from stare.types import Completion

__all__ = ["CONTEXT", "ToolSampler", "load_policy"]

CONTEXT = 40


def load_policy(
    model_cfg: Any = None, device: torch.device | str = "cpu"
) -> tuple[TinyPolicy, ToolTokenizer]:
    """Model factory (`model.factory`); `model.init` is `tool` (shipped), a file or `random`.

    Raises:
        DataError: no such weights, or the weights of another model.
    """
    init = str(getattr(model_cfg, "init", None) or "tool")
    policy = TinyPolicy(context=CONTEXT)
    if init != "random":
        shipped = DATA / f"{init}.safetensors"
        file = shipped if shipped.is_file() else Path(init)
        load_weights(policy, file / WEIGHTS_NAME if file.is_dir() else file)
    return policy.to(device), ToolTokenizer()


class ToolSampler:
    """A `Sampler` and `TokenSampler` for the tiny policy."""

    def __init__(self, model: TinyPolicy, tokenizer: ToolTokenizer, device: Any = None) -> None:
        self.model, self.tokenizer = model, tokenizer

    def sample(self, prompts: Sequence[str], params: SamplingParams) -> list[list[Completion]]:
        """Sample `params.n` responses for each prompt, in the order given."""
        seeds = [
            [derive_seed(params.seed, repeat, i) for i in range(params.n)]
            for repeat in repeats(prompts)
        ]
        return self.sample_tokens([self.tokenizer.encode(p) for p in prompts], params, seeds)

    @torch.no_grad()
    def sample_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        params: SamplingParams,
        seeds: Sequence[Sequence[int]],
    ) -> list[list[Completion]]:
        """Sample one response for each seed of each prompt; see `TokenSampler`.

        Raises:
            ArgumentError: a prompt is empty or fills the context.
            RunError: the weights have diverged.
        """
        if any(not 0 < len(ids) < CONTEXT for ids in prompts):
            raise ArgumentError(f"prompts must have 1 to {CONTEXT - 1} tokens")
        starts = [list(ids) for ids, own in zip(prompts, seeds, strict=True) for _ in own]
        if not starts:
            return [[] for _ in prompts]
        rows = [list(ids) for ids in starts]
        limits = [min(params.max_tokens, CONTEXT - len(ids)) for ids in rows]
        flat_seeds = [seed for own in seeds for seed in own]
        streams_NT = torch.from_numpy(
            np.stack(
                [
                    uniforms(seed, ids, 0, 0, max(limits))
                    for seed, ids in zip(flat_seeds, starts, strict=True)
                ]
            )
        )
        stops = StopTexts(self.tokenizer, params.stop, len(rows)) if params.stop else None
        drawn: list[tuple[list[float], list[float]]] = [([], []) for _ in rows]
        ended = [False] * len(rows)
        live = list(range(len(rows)))
        step = 0
        while live:
            last = torch.tensor([len(rows[i]) - 1 for i in live])
            ids_NL = torch.full((len(live), int(last.max()) + 1), EOS_ID)
            for k, i in enumerate(live):
                ids_NL[k, : len(rows[i])] = torch.tensor(rows[i])
            # Padding comes after the last token, so causal attention never sees it.
            logits_NV = self.model(ids_NL).logits[torch.arange(len(live)), last]
            tokens, logprobs, entropies = draw_tokens(
                logits_NV,
                streams_NT[live, step],
                temperature=params.temperature,
                top_p=params.top_p,
            )
            if not bool(torch.isfinite(logprobs).all()):
                raise RunError("the policy returned NaN while sampling")
            step += 1
            new = tokens.tolist()
            full = stops.completed(live, new) if stops else [False] * len(live)
            for i, token, lp, h, stop in zip(
                live, new, logprobs.tolist(), entropies.tolist(), full, strict=True
            ):
                rows[i].append(token)
                drawn[i][0].append(lp)
                drawn[i][1].append(h)
                ended[i] = token == EOS_ID or stop
            live = [i for i in live if not ended[i] and step < limits[i]]
        responses = [row[len(ids) :] for row, ids in zip(rows, starts, strict=True)]
        texts = self.tokenizer.batch_decode(responses, skip_special_tokens=True)
        made = iter(
            Completion(
                prompt_ids=ids,
                token_ids=response,
                text=text,
                finish_reason="stop" if end else "length",
                logprobs=lp,
                entropies=h,
            )
            for ids, response, text, end, (lp, h) in zip(
                starts, responses, texts, ended, drawn, strict=True
            )
        )
        return [[next(made) for _ in own] for own in seeds]
