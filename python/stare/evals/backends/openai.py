"""Any OpenAI-compatible server as a back end: one request a sample, never `n`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from stare.errors import ConfigError
from stare.evals.backends.http import Pool
from stare.evals.backends.protocol import Request, Response, Sampling
from stare.evals.backends.quirks import PLAIN, Quirks, server_quirks
from stare.evals.config import EvalConfig
from stare.evals.failures import BackendError, RequestError
from stare.evals.prompts import as_messages

__all__ = ["OpenAIBackend", "read_choice"]


class OpenAIBackend:
    """A `Backend` over one or more servers of the same model.

    The key is read from the environment variable that the configuration names, and never written.

    Args:
        config: servers, model name, concurrency, retries.
        sampling: how to sample.
        backoff: first pause after a failure, seconds.
        extra: further fields of every request, from `backend_args`.
    """

    def __init__(
        self, config: EvalConfig, sampling: Sampling, *, backoff: float = 0.5, **extra: Any
    ) -> None:
        if not config.base_url:
            raise ConfigError("back end openai needs base_url")
        self._config, self._sampling, self._extra = config, sampling, extra
        self._quirks: Quirks = PLAIN
        self._pool = Pool(
            config.base_url,
            key=os.environ.get(config.api_key_env),
            retries=config.retries,
            stall_limit=config.stall_limit,
            backoff=backoff,
        )
        self.capacity = config.concurrency

    async def open(self) -> Mapping[str, Any]:
        """Ask every server for its models, which also tells what kind it is."""
        kinds = []
        for endpoint in self._pool.endpoints:
            models = await self._pool.get("/models", endpoint)
            names = [str(m.get("id")) for m in (models or {}).get("data") or ()]
            if names and self._config.model not in names:
                raise BackendError(
                    f"{endpoint.url} does not serve {self._config.model!r}\n"
                    f"hint: it serves {', '.join(names[:5])}"
                )
            kinds.append(server_quirks(models or {}))
        if len({kind.name for kind in kinds}) > 1:
            names = [kind.name for kind in kinds]
            raise BackendError(f"the servers are of different kinds: {', '.join(names)}")
        self._quirks = kinds[0]
        return {"server": self._quirks.name}

    async def generate(self, request: Request) -> Response:
        """Ask the least busy server; lost connections, 429 and 5xx are tried again."""
        chat = is_chat(self._config, request)
        body = request_body(self._config, self._sampling, self._quirks, request) | self._extra
        answer = await self._pool.post(
            "/chat/completions" if chat else "/completions", body, unusable
        )
        return read_choice(answer.body, self._sampling, answer.attempts)

    async def close(self) -> None:
        """End all connections."""
        self._pool.close()


def is_chat(config: EvalConfig, request: Request) -> bool:
    """Whether the server renders the conversation."""
    if config.api == "auto":
        return request.prompt.messages is not None and request.prompt.ids is None
    return config.api == "chat"


def request_body(
    config: EvalConfig, sampling: Sampling, quirks: Quirks, request: Request
) -> dict[str, Any]:
    """The JSON object of one request.

    Raises:
        ConfigError: the endpoint does not fit the prompt.
    """
    body: dict[str, Any] = {
        "model": config.model,
        "n": 1,
        "seed": request.seed & ((1 << quirks.seed_bits) - 1),
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "stream": False,
        **quirks.extra,
    }
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.top_k != -1:
        body["top_k"] = sampling.top_k
    elif quirks.top_k_off is not None:
        body["top_k"] = quirks.top_k_off
    if sampling.min_p or quirks.min_p:
        body["min_p"] = sampling.min_p
    prompt = request.prompt
    if is_chat(config, request):
        if prompt.messages is None:
            raise ConfigError("a raw template needs the endpoint completions\nhint: --api auto")
        body["messages"] = as_messages(prompt.messages)
        if config.thinking != "auto":
            body["chat_template_kwargs"] = {"enable_thinking": config.thinking == "on"}
        return body
    if prompt.messages is not None and prompt.ids is None:
        raise ConfigError(
            "the endpoint completions needs the prompt rendered here\nhint: --tokenizer PATH"
        )
    body |= quirks.raw_extra
    body["prompt"] = prompt.text if quirks.takes_bos or prompt.bare is None else prompt.bare
    return body


def unusable(body: Mapping[str, Any]) -> str | None:
    """Why an answer is to be asked for again: none in it, or a server that was shutting down.

    Raises:
        RequestError: the model ended in a way that asking again will not change.
    """
    choices = body.get("choices")
    if not (isinstance(choices, list) and choices and isinstance(choices[0], Mapping)):
        return "an answer without choices"
    reason = choices[0].get("finish_reason")
    if reason in ("stop", "length", "eos"):
        return None
    if reason in (None, "abort", "error"):
        return f"an answer that was dropped (finish_reason {reason!r})"
    raise RequestError(f"the server ended with finish_reason {reason!r}")


def read_choice(body: Mapping[str, Any], sampling: Sampling, attempts: int = 1) -> Response:
    """The response in a server's answer, of either endpoint.

    Thinking that the server has split off is put back, between think tags. A stop string that it
    has cut off is put back where it says which one it was.
    """
    choice = body["choices"][0]
    message = choice.get("message")
    text = choice.get("text") if message is None else message.get("content")
    thought = None
    if message is not None:
        thought = message.get("reasoning_content") or message.get("reasoning")
    text = text or ""
    if thought:
        text = f"<think>\n{thought}\n</think>\n\n{text}"
    hit = choice.get("stop_reason")
    hit = hit if isinstance(hit, str) and hit in sampling.stop else None
    if hit is not None and not text.endswith(hit):
        text += hit
    usage = body.get("usage") or {}
    return Response(
        text=text,
        finish_reason="length" if choice["finish_reason"] == "length" else "stop",
        n_prompt_tokens=usage.get("prompt_tokens"),
        n_tokens=usage.get("completion_tokens"),
        stop_hit=hit,
        attempts=attempts,
    )
