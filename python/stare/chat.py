"""From a conversation to the text a model continues: what training and evaluation share.

A sampler encodes prompts with `add_special_tokens=False`, so a rendered text is complete: the
beginning-of-sequence token is in it wherever the tokenizer would add one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from stare.errors import ConfigError

__all__ = ["ChatTokenizer", "hidden_system_prompt", "render_chat", "takes_system", "with_bos"]

_SYSTEM, _USER = "STARE-SYSTEM-MARK", "STARE-USER-MARK"


class ChatTokenizer(Protocol):
    """What rendering needs of a Hugging Face tokenizer."""

    chat_template: Any
    bos_token: Any
    bos_token_id: Any

    def apply_chat_template(self, conversation: Any, **kwargs: Any) -> Any:
        """Render a conversation."""
        ...

    def __call__(self, text: Any, **kwargs: Any) -> Any:
        """Encode text; the result holds `input_ids`."""
        ...


def render_chat(
    tokenizer: ChatTokenizer, messages: Sequence[Mapping[str, str]], **variables: Any
) -> str:
    """Render messages by the tokenizer's chat template, up to the header of the answer.

    Args:
        tokenizer: must have a chat template.
        messages: `{"role": ..., "content": ...}` each.
        variables: further variables of the template, such as `enable_thinking`.

    Raises:
        ConfigError: there is no chat template, or it refuses these messages.
    """
    if not tokenizer.chat_template:
        raise ConfigError("the tokenizer has no chat template")
    try:
        return str(
            tokenizer.apply_chat_template(
                [dict(message) for message in messages],
                tokenize=False,
                add_generation_prompt=True,
                **variables,
            )
        )
    except Exception as error:  # templates are programs of the model's authors
        raise ConfigError(f"the chat template refuses these messages: {error}") from error


def with_bos(tokenizer: ChatTokenizer, text: str) -> str:
    """Put the beginning-of-sequence token before a plain text where the tokenizer would add it."""
    if tokenizer.bos_token_id is not None:
        head = list(tokenizer("a")["input_ids"])[:1]
        if head == [tokenizer.bos_token_id]:
            return f"{tokenizer.bos_token}{text}"
    return text


def takes_system(tokenizer: ChatTokenizer, **variables: Any) -> bool:
    """Whether the chat template renders a system message."""
    return _with_system(tokenizer, variables) is not None


def hidden_system_prompt(tokenizer: ChatTokenizer, **variables: Any) -> str | None:
    """The system prompt that the chat template puts in where none is given; None without one.

    Found by rendering a conversation with and without a system message and comparing.
    """
    given = _with_system(tokenizer, variables)
    if given is None:
        return None
    plain = render_chat(tokenizer, [{"role": "user", "content": _USER}], **variables)
    before, _, after = given.partition(_SYSTEM)
    inside = plain[len(before) : len(plain) - len(after)]
    if plain.startswith(before) and plain.endswith(after) and inside.strip():
        return inside
    return None


def _with_system(tokenizer: ChatTokenizer, variables: Mapping[str, Any]) -> str | None:
    messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": _USER}]
    try:
        text = render_chat(tokenizer, messages, **variables)
    except ConfigError:
        return None
    return text if _SYSTEM in text else None
