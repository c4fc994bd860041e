"""vLLM inside this process: one request a sample, continuous batching, a seed each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stare.errors import MissingExtraError
from stare.evals.backends.protocol import Request, Response, Sampling
from stare.evals.config import EvalConfig
from stare.evals.failures import BackendError, RequestError

__all__ = ["VllmBackend"]

CAPACITY = 1024
"""Requests handed over at a time; vLLM batches as many as fit its cache."""


class VllmBackend:
    """A `Backend` over vLLM's asynchronous engine.

    `n` is never used: with it the seeds of different runs overlap (child i gets seed + i). Every
    sampling field is given, and the model's generation_config is told to stay out.

    Args:
        config: model, dtype, tensor parallel size, context length.
        sampling: how to sample.
        engine: further engine arguments, from `backend_args`.
    """

    def __init__(self, config: EvalConfig, sampling: Sampling, **engine: Any) -> None:
        self._config, self._sampling, self._arguments = config, sampling, engine
        self._engine: Any = None
        self._params: Any = None
        self.capacity = CAPACITY

    async def open(self) -> Mapping[str, Any]:
        """Start the engine."""
        try:
            import vllm
            from vllm import AsyncEngineArgs, SamplingParams
            from vllm.sampling_params import RequestOutputKind
            from vllm.v1.engine.async_llm import AsyncLLM
        except ImportError as error:
            if getattr(error, "name", None) == "vllm":
                raise MissingExtraError("vllm", "vllm", "back end vllm") from None
            raise BackendError(f"vllm does not import: {error}") from error
        config = self._config
        arguments = {
            "model": config.model,
            "tokenizer": config.tokenizer,
            "revision": config.revision,
            "dtype": config.dtype,
            "tensor_parallel_size": config.tp,
            "max_model_len": config.max_model_len,
            "generation_config": "vllm",
            **self._arguments,
        }
        sampling = self._sampling

        def params(seed: int) -> Any:
            return SamplingParams(
                n=1,
                seed=seed,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                top_k=sampling.top_k,
                min_p=sampling.min_p,
                max_tokens=sampling.max_tokens,
                stop=list(sampling.stop),
                include_stop_str_in_output=True,
                repetition_penalty=1.0,
                presence_penalty=0.0,
                frequency_penalty=0.0,
                min_tokens=0,
                ignore_eos=False,
                skip_special_tokens=True,
                output_kind=RequestOutputKind.FINAL_ONLY,
            )

        self._params = params
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            self._engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**given))
        except Exception as error:  # whatever the engine finds wrong with model, memory, device
            raise BackendError(f"vllm does not start with {config.model}: {error}") from error
        return {"vllm": vllm.__version__}

    async def generate(self, request: Request) -> Response:
        """One request with its own seed; prompts go as token ids, so no token is added."""
        prompt: Any = request.prompt.text
        if request.prompt.ids is not None:
            prompt = {"prompt_token_ids": list(request.prompt.ids)}
        name = "/".join(map(str, request.key))
        final = None
        try:
            async for output in self._engine.generate(prompt, self._params(request.seed), name):
                final = output
        except ValueError as error:
            raise RequestError(str(error)) from error
        except Exception as error:
            raise BackendError(f"vllm failed: {error}") from error
        if final is None or final.outputs[0].finish_reason not in ("stop", "length"):
            raise BackendError(f"vllm dropped {name}")
        output = final.outputs[0]
        hit = output.stop_reason if isinstance(output.stop_reason, str) else None
        return Response(
            text=output.text,
            finish_reason=output.finish_reason,
            n_prompt_tokens=len(final.prompt_token_ids),
            n_tokens=len(output.token_ids),
            stop_hit=hit,
        )

    async def close(self) -> None:
        """Stop the engine and its processes."""
        if self._engine is not None:
            self._engine.shutdown()
            self._engine = None
