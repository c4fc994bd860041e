"""From problems to prompts: rendered once, saved once, checked before anything is sampled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from stare.chat import ChatTokenizer, hidden_system_prompt, render_chat, takes_system, with_bos
from stare.errors import ConfigError, DataError
from stare.evals.records import text_hash
from stare.evals.store import PromptRow
from stare.evals.templates import PLACEHOLDER, Template
from stare.types import Problem

__all__ = ["Prompt", "Renderer", "check_window", "prompt_row"]

SYSTEM_DEFAULT, SYSTEM_NONE = "template-default", "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is given for one problem."""

    text: str
    """What the model continues, complete; the JSON of `messages` where the server renders them."""
    messages: tuple[tuple[str, str], ...] | None = None
    """(role, content) pairs, where there is a conversation."""
    ids: tuple[int, ...] | None = None
    """Token ids of `text`; None without a tokenizer."""
    bare: str | None = None
    """`text` without its beginning-of-sequence token, where the tokenizer adds that by itself:
    what a server is sent that encodes text as the tokenizer does."""

    @property
    def sha(self) -> str:
        """Hash of the text."""
        return text_hash(self.text)


def prompt_row(prompt: Prompt, bench: str, problem_id: str) -> PromptRow:
    """The line of `prompts.jsonl`."""
    return PromptRow(
        prompt_sha=prompt.sha,
        text=prompt.text,
        bench=bench,
        problem_id=problem_id,
        messages=None if prompt.messages is None else as_messages(prompt.messages),
        n_tokens=None if prompt.ids is None else len(prompt.ids),
    )


def as_messages(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Messages as chat templates and servers take them."""
    return [{"role": role, "content": content} for role, content in pairs]


class Renderer:
    """Renders problems by one template, system prompt and tokenizer.

    Args:
        template: the template.
        system: a system prompt; `none`: no system prompt, not even the chat template's hidden one;
            `template-default`: whatever the chat template does.
        thinking: `on` and `off` set the template's variable `enable_thinking`.
        tokenizer: None where the server renders: then a conversation stays one.

    Raises:
        ConfigError: the tokenizer has no chat template, or the template ignores system messages, or
            a system prompt is given for a raw template.

    Example:
        >>> from stare.evals.templates import TEMPLATES
        >>> problem = Problem(id="a", problem="1+1?", answer="2")
        >>> Renderer(TEMPLATES["none"]).render(problem).text
        '1+1?'
    """

    def __init__(
        self,
        template: Template,
        system: str = SYSTEM_DEFAULT,
        thinking: Literal["auto", "on", "off"] = "auto",
        tokenizer: ChatTokenizer | None = None,
    ) -> None:
        self.template, self.tokenizer = template, tokenizer
        self.variables: dict[str, Any] = (
            {} if thinking == "auto" else {"enable_thinking": thinking == "on"}
        )
        has_chat = tokenizer is None or bool(tokenizer.chat_template)
        if template.kind == "chat" and not has_chat:
            raise ConfigError(
                "the template is for chat models, and the tokenizer has no chat template\n"
                "hint: a base model takes --template none or a raw template"
            )
        self.is_chat = template.kind == "chat" or (template.kind == "auto" and has_chat)
        self._system = self._system_message(system)

    def _system_message(self, system: str) -> tuple[tuple[str, str], ...]:
        if system == SYSTEM_DEFAULT:
            return ()
        if not self.is_chat:
            if system == SYSTEM_NONE:
                return ()
            raise ConfigError("a raw template has no system prompt\nhint: write it into a template")
        if system == SYSTEM_NONE:
            hides = self.tokenizer and hidden_system_prompt(self.tokenizer, **self.variables)
            return (("system", ""),) if hides else ()
        if self.tokenizer is not None and not takes_system(self.tokenizer, **self.variables):
            raise ConfigError("the chat template renders no system message\nhint: --system none")
        return (("system", system),)

    def render(self, problem: Problem) -> Prompt:
        """The prompt of one problem."""
        return self.render_all([problem])[0]

    def render_all(self, problems: Sequence[Problem]) -> list[Prompt]:
        """The prompts of problems, in order.

        Raises:
            ConfigError: the chat template refuses, or a prompt would begin with two
                beginning-of-sequence tokens.
        """
        texts = [self.template.text.replace(PLACEHOLDER, problem.problem) for problem in problems]
        chats = [(*self._system, ("user", text)) if self.is_chat else None for text in texts]
        if self.tokenizer is None:
            return [
                Prompt(text=text if chat is None else _plain(chat), messages=chat)
                for text, chat in zip(texts, chats, strict=True)
            ]
        rendered = [
            with_bos(self.tokenizer, text)
            if chat is None
            else render_chat(self.tokenizer, as_messages(chat), **self.variables)
            for text, chat in zip(texts, chats, strict=True)
        ]
        encoded = self.tokenizer(rendered, add_special_tokens=False)["input_ids"] if texts else []
        for ids in encoded:
            check_one_bos(ids, self.tokenizer.bos_token_id)
        return [
            Prompt(text=text, messages=chat, ids=tuple(ids), bare=self._bare(text))
            for text, chat, ids in zip(rendered, chats, encoded, strict=True)
        ]

    def _bare(self, text: str) -> str | None:
        assert self.tokenizer is not None
        bos = self.tokenizer.bos_token
        if bos and text.startswith(bos) and with_bos(self.tokenizer, "").startswith(bos):
            return text[len(bos) :]
        return None


def _plain(messages: Iterable[tuple[str, str]]) -> str:
    return json.dumps(as_messages(messages), ensure_ascii=False)


def check_one_bos(ids: Sequence[int], bos: int | None) -> None:
    """Refuse a prompt that begins with two beginning-of-sequence tokens.

    Raises:
        ConfigError: it does; models are a good deal worse with two.

    Example:
        >>> check_one_bos([1, 5], 1)
    """
    if bos is not None and list(ids[:2]) == [bos, bos]:
        raise ConfigError(
            f"the prompt begins with two beginning-of-sequence tokens (id {bos})\n"
            "hint: the template writes one and the tokenizer adds one; remove it from the template"
        )


def check_window(
    names: Sequence[str], prompts: Sequence[Prompt], max_tokens: int, window: int | None
) -> None:
    """Refuse prompts that leave no room for the response, before anything is sampled.

    Args:
        names: what to call each prompt in the message.
        prompts: those without ids are not checked.
        max_tokens: token limit of a response.
        window: context length of the model; None checks nothing.

    Raises:
        DataError: prompt and response do not fit; the message has the numbers.
    """
    if window is None:
        return
    lengths = [(len(p.ids), name) for p, name in zip(prompts, names, strict=True) if p.ids]
    over = [item for item in lengths if item[0] + max_tokens > window]
    if over:
        longest, name = max(over)
        raise DataError(
            f"{len(over)} prompts do not fit: {name} has {longest} tokens, with max_tokens "
            f"{max_tokens} that is {longest + max_tokens}, the model's window is {window}\n"
            f"hint: --max-tokens {max(1, window - longest)}, or a model with a longer window"
        )
