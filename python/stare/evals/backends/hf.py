"""Transformers as a back end: any causal LM on this machine, one seed a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stare.errors import ConfigError, MissingExtraError, StareError
from stare.evals.backends.batching import MicroBatcher, in_thread
from stare.evals.backends.protocol import Request, Response, Sampling
from stare.evals.config import EvalConfig
from stare.evals.failures import BackendError

__all__ = ["TransformersBackend"]


class TransformersBackend:
    """A `Backend` over `TransformersSampler`.

    A response is a function of weights, prompt, sampling and seed; how requests are batched changes
    it only through the rounding of matrix products. Stop strings are looked for afterwards, which
    gives the same text at the cost of the tokens behind them.
    """

    def __init__(
        self, config: EvalConfig, sampling: Sampling, *, device: str | None = None
    ) -> None:
        if sampling.top_k != -1 or sampling.min_p != 0.0:
            raise ConfigError(
                "back end transformers has no top_k and no min_p\nhint: leave them out, or use vllm"
            )
        self._config, self._sampling, self._device = config, sampling, device
        self._batcher = MicroBatcher(self._sample, config.max_batch)
        self._sampler: Any = None
        self.capacity = config.max_batch

    async def open(self) -> Mapping[str, Any]:
        """Load weights and tokenizer."""
        return await in_thread(self._load)

    def _load(self) -> Mapping[str, Any]:
        try:
            import torch
            import transformers
        except ImportError:
            raise MissingExtraError("torch", "train", "back end transformers") from None
        from stare.rollout.hf import TransformersSampler

        config = self._config
        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        dtype = "auto" if config.dtype == "auto" else getattr(torch, config.dtype, None)
        if dtype is None:
            raise ConfigError(f"dtype {config.dtype!r} is not one of torch's")
        options = {"revision": config.revision} if config.revision else {}
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                config.tokenizer or config.model, **({} if config.tokenizer else options)
            )
            model = transformers.AutoModelForCausalLM.from_pretrained(
                config.model, dtype=dtype, **options
            ).to(device)
        except Exception as error:  # the library raises whatever a broken folder provokes
            raise BackendError(f"model {config.model} does not load: {error}") from error
        self._sampler = TransformersSampler(model, tokenizer, max_batch=config.max_batch)
        return {
            "transformers": transformers.__version__,
            "torch": torch.__version__,
            "device": torch.cuda.get_device_name() if device.startswith("cuda") else device,
            "dtype": str(model.dtype).removeprefix("torch."),
        }

    async def generate(self, request: Request) -> Response:
        """Wait for the batch that the request is part of."""
        return await self._batcher.submit(request)

    def _sample(self, requests: Sequence[Request]) -> list[Response]:
        from stare.rollout.sampler import SamplingParams

        params = SamplingParams(
            temperature=self._sampling.temperature,
            top_p=self._sampling.top_p,
            max_tokens=self._sampling.max_tokens,
        )
        # Equal prompts together: the prompt is then run once for all of its samples.
        groups: dict[str, list[int]] = {}
        for place, request in enumerate(requests):
            groups.setdefault(request.prompt.text, []).append(place)
        seeds = [[requests[place].seed for place in places] for places in groups.values()]
        try:
            sampled = self._sampler.sample(list(groups), params, seeds)
        except StareError as error:
            raise BackendError(str(error)) from error
        except RuntimeError as error:  # out of memory, for one
            raise BackendError(
                f"the model failed: {error}\nhint: --max-batch {max(1, self.capacity // 2)}"
            ) from error
        responses: dict[int, Response] = {}
        for places, completions in zip(groups.values(), sampled, strict=True):
            for place, completion in zip(places, completions, strict=True):
                responses[place] = self._response(completion)
        return [responses[place] for place in range(len(requests))]

    def _response(self, completion: Any) -> Response:
        text, count, reason = completion.text, len(completion.token_ids), completion.finish_reason
        found = [(text.find(stop), stop) for stop in self._sampling.stop if stop in text]
        hit = None
        if found:
            at, hit = min(found)
            text, reason = text[: at + len(hit)], "stop"
            count = self._tokens_until(completion.token_ids, text)
        return Response(
            text=text,
            finish_reason=reason,
            n_prompt_tokens=len(completion.prompt_ids),
            n_tokens=count,
            stop_hit=hit,
            logprob_sum=sum(completion.logprobs[:count]),
        )

    def _tokens_until(self, ids: list[int], text: str) -> int:
        """Fewest tokens whose text has all of `text`."""
        low, high = 0, len(ids)
        while low < high:
            middle = (low + high) // 2
            decoded = self._sampler.tokenizer.decode(ids[:middle], skip_special_tokens=True)
            low, high = (low, middle) if decoded.startswith(text) else (middle + 1, high)
        return low

    async def close(self) -> None:
        """Forget the model."""
        self._sampler = None
