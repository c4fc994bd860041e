"""What may be wrong with a run before it is run: no weights are loaded, nothing is sampled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from stare.chat import hidden_system_prompt
from stare.errors import StareError
from stare.evals.backends.create import create, sampling_of
from stare.evals.config import EvalConfig
from stare.evals.prompts import Prompt, check_window
from stare.evals.session import Session, prepare

__all__ = ["Checkup", "Estimate", "Finding", "examine"]

NEUTRAL = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
}
"""Fields of a generation_config.json that change what is sampled, and what leaves it alone."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    level: Literal["ok", "note", "warning", "problem"]
    topic: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run takes at most."""

    samples: int
    prompt_tokens: int | None
    """Each prompt counted for each of its samples; None without a tokenizer."""
    most_response_tokens: int
    price: tuple[float, float] | None
    """Without any response token, and with all; in the unit of the given prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """Everything that was found."""

    findings: tuple[Finding, ...]
    estimate: Estimate | None = None
    first_name: str | None = None
    first_prompt: Prompt | None = None
    first_tokens: tuple[tuple[int, str], ...] = ()
    """(id, token) at the beginning of the first prompt."""

    @property
    def well(self) -> bool:
        """Whether the run may start."""
        return all(finding.level != "problem" for finding in self.findings)


def examine(config: EvalConfig, ks: Sequence[int] = ()) -> Checkup:
    """Look for everything that makes a run fail, or its score another than it seems.

    Args:
        config: of the run.
        ks: the k of pass@k that will be asked for.
    """
    try:
        session = prepare(config, check=False)
    except StareError as error:
        return Checkup(findings=(Finding("problem", "setup", str(error)),))
    findings = [
        *_benchmarks(session, ks),
        *_window(session),
        *_template(session),
        *_generation_config(session),
        *_sampling(session),
        *_backend(session),
    ]
    name, prompt = next(iter(session.prompts.items()))
    return Checkup(
        findings=tuple(findings),
        estimate=estimate(session),
        first_name="/".join(name),
        first_prompt=prompt,
        first_tokens=_first_tokens(session, prompt),
    )


def _benchmarks(session: Session, ks: Sequence[int]) -> Iterator[Finding]:
    for plan in session.plans:
        count = len(plan.problem_ids) if plan.selected is None else len(plan.selected)
        text = f"{plan.bench}: {count} problems, n = {plan.n}"
        too_many = [k for k in ks if k > plan.n]
        if too_many:
            listed = ", ".join(map(str, too_many))
            yield Finding("problem", "n", f"{text}: pass@k is undefined for k > n (k = {listed})")
        elif plan.n == 1 and session.config.temperature > 0:
            yield Finding(
                "warning", "n", f"{text}: one sample a problem cannot show how much a re-run varies"
            )
        else:
            yield Finding("ok", "n", text)


def _window(session: Session) -> Iterator[Finding]:
    names = ["/".join(name) for name in session.prompts]
    prompts = list(session.prompts.values())
    window, limit = session.facts.window, session.config.max_tokens
    if window is None:
        text = "the context length is not known here; only the server can refuse a long prompt"
        if session.config.backend in ("openai", "vllm", "transformers"):
            yield Finding("note", "window", text)
        return
    try:
        check_window(names, prompts, limit, window)
    except StareError as error:
        yield Finding("problem", "window", str(error))
        return
    lengths = [len(prompt.ids) for prompt in prompts if prompt.ids is not None]
    if lengths:
        text = f"longest prompt {max(lengths)} + max_tokens {limit} <= {window}"
        yield Finding("ok", "window", text)


def _template(session: Session) -> Iterator[Finding]:
    config, renderer, tokenizer = session.config, session.renderer, session.tokenizer
    if tokenizer is None:
        if config.backend == "openai":
            yield Finding(
                "note", "template", "the server renders the conversation; its template is not seen"
            )
        return
    if renderer.is_chat:
        yield Finding("ok", "template", f"{config.template}, by the model's chat template")
    elif not tokenizer.chat_template and config.template == "auto":
        yield Finding(
            "warning", "template", "no chat template: the prompt is plain text, as for a base model"
        )
    else:
        yield Finding("ok", "template", f"{config.template}, plain text")
        if tokenizer.chat_template:
            yield Finding(
                "note", "template", "the model has a chat template, which a raw template leaves out"
            )
    yield Finding("ok", "bos", "no prompt begins with two beginning-of-sequence tokens")
    if not renderer.is_chat:
        return
    hidden = hidden_system_prompt(tokenizer, **renderer.variables)
    if hidden is not None and config.system == "template-default":
        yield Finding(
            "warning",
            "system",
            f"the chat template puts in a system prompt of its own: {hidden.strip()!r}; "
            "--system none takes it out",
        )
    if "enable_thinking" in str(tokenizer.chat_template) and config.thinking == "auto":
        yield Finding(
            "note", "thinking", "the chat template can switch thinking: --thinking on or off"
        )


def _generation_config(session: Session) -> Iterator[Finding]:
    theirs = session.facts.generation_config or {}
    ours: dict[str, Any] = {
        name: getattr(session.sampling, name, neutral) for name, neutral in NEUTRAL.items()
    }
    off = {"top_k": (-1, 0), "min_p": (0.0, None)}
    differing = [
        f"{name} {theirs[name]} (here {ours[name]})"
        for name in NEUTRAL
        if theirs.get(name) is not None
        and theirs[name] != ours[name]
        and not (theirs[name] in off.get(name, ()) and ours[name] in off.get(name, ()))
    ]
    if differing:
        yield Finding(
            "warning",
            "generation_config",
            f"the model's authors sample with {', '.join(differing)}; "
            "the settings here are used, none of theirs",
        )


def _sampling(session: Session) -> Iterator[Finding]:
    sampling = session.sampling
    if session.config.stop:
        yield Finding(
            "warning", "stop", "stop strings also end a response in the middle of its reasoning"
        )
    if sampling.temperature == 0 and any(plan.n > 1 for plan in session.plans):
        yield Finding("warning", "n", "greedy decoding gives the same response n times")


def _backend(session: Session) -> Iterator[Finding]:
    config = session.config
    if config.backend == "openai":
        config = replace(config, retries=1)
    try:
        backend = create(config, sampling_of(config), session.golds)
        if config.backend == "openai":
            info = asyncio.run(_opened(backend))
            yield Finding("ok", "server", f"serves {config.model}; kind: {info.get('server')}")
    except StareError as error:
        yield Finding("problem", "backend", str(error))


async def _opened(backend: Any) -> Any:
    try:
        return await backend.open()
    finally:
        await backend.close()


def estimate(session: Session) -> Estimate:
    """Samples, tokens and price of the whole run, whatever is there already."""
    samples, inside = 0, 0
    for plan in session.plans:
        for (bench, _), prompt in session.prompts.items():
            if bench == plan.bench:
                samples += plan.n
                inside += plan.n * len(prompt.ids or ())
    known = session.tokenizer is not None
    most = samples * session.config.max_tokens
    config = session.config
    price = None
    if config.price_in is not None or config.price_out is not None:
        least = inside * (config.price_in or 0.0) / 1e6
        price = (least, least + most * (config.price_out or 0.0) / 1e6)
    return Estimate(
        samples=samples,
        prompt_tokens=inside if known else None,
        most_response_tokens=most,
        price=price,
    )


def _first_tokens(session: Session, prompt: Prompt, count: int = 8) -> tuple[tuple[int, str], ...]:
    if prompt.ids is None:
        return ()
    head = list(prompt.ids[:count])
    names = session.tokenizer.convert_ids_to_tokens(head)
    return tuple(zip(head, map(str, names), strict=True))
