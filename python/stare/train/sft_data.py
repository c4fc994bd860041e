"""Conversations to tokens, with the tokens that teach.

The text of a conversation is what the chat template makes of all its messages. Each assistant
message is found in it by rendering what comes before with the header of an answer, and what comes
before and the message: both must be beginnings of the whole, or the conversation is refused. Its
tokens start where those of a rollout would: the header is encoded by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stare.errors import DataError

__all__ = ["Conversation", "encode_conversation", "load_conversations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One training sequence."""

    ids: list[int]
    """[L] tokens."""
    mask: list[bool]
    """[L] True on tokens that the loss counts."""


def load_conversations(path: str | Path) -> list[list[dict[str, str]]]:
    """The messages of each line.

    Raises:
        DataError: a line is no such object, or has no assistant message; its number is named.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            messages = json.loads(line)["messages"]
            parsed = [{"role": m["role"], "content": m["content"]} for m in messages]
            good = all(isinstance(v, str) for m in parsed for v in m.values())
        except (ValueError, KeyError, TypeError):
            good, parsed = False, []
        if not good or not any(m["role"] == "assistant" for m in parsed):
            raise DataError(
                f"{path}:{number} must be an object with messages, a list of {{role, content}} "
                "with an assistant's among them"
            )
        found.append(parsed)
    if not found:
        raise DataError(f"{path} holds no conversation")
    return found


def encode_conversation(
    tokenizer: Any, messages: Sequence[dict[str, str]], mask: str | None = None
) -> Conversation:
    """Tokens of a conversation; True on those of the assistant, up to the end token of each turn.

    Args:
        tokenizer: with a chat template.
        messages: {role, content} each.
        mask: what an assistant message holds that is not the policy's own.

    Raises:
        DataError: the template is not prefix-stable on these messages, or ends an answer without
            an end token, so that the policy would not learn to stop.
    """
    whole = _render(tokenizer, messages, header=False)
    ids: list[int] = []
    teaches: list[bool] = []

    def add(text: str, own: bool) -> None:
        part = list(tokenizer(text, add_special_tokens=False)["input_ids"]) if text else []
        ids.extend(part)
        teaches.extend([own] * len(part))

    at = 0
    special = set(tokenizer.all_special_ids)
    for number, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        before = _render(tokenizer, messages[:number], header=True) if number else ""
        after = _render(tokenizer, messages[: number + 1], header=False)
        stable = whole.startswith(before) and whole.startswith(after)
        if not (stable and at <= len(before) <= len(after)):
            raise DataError(
                f"the chat template changes what came before message {number} when it is added: "
                "which tokens are the policy's cannot be told\n"
                "hint: a template without such rules (some drop the reasoning of earlier turns)"
            )
        add(whole[at : len(before)], own=False)
        start = len(ids)
        answer, done = whole[len(before) : len(after)], 0
        for match in re.finditer(mask, answer, re.DOTALL) if mask else ():
            add(answer[done : match.start()], own=True)
            add(match[0], own=False)
            done = match.end()
        add(answer[done:], own=True)
        ends = [i for i in range(start, len(ids)) if ids[i] in special]
        if not ends:
            raise DataError(
                f"the chat template ends message {number} without an end token: the policy would "
                "not learn to stop"
            )
        # What follows the end token (a line break) is never sampled.
        teaches[ends[-1] + 1 :] = [False] * (len(ids) - ends[-1] - 1)
        at = len(after)
    add(whole[at:], own=False)
    return Conversation(ids=ids, mask=teaches)


def _render(tokenizer: Any, messages: Sequence[dict[str, str]], *, header: bool) -> str:
    try:
        return str(
            tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=header
            )
        )
    except Exception as error:  # templates are programs of the model's authors
        raise DataError(f"the chat template refuses these messages: {error}") from error
