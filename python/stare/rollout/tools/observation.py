"""From what a program did to the tokens a policy reads."""

from __future__ import annotations

from typing import Any

from stare.rollout.tools.executor import Execution

__all__ = ["Observations", "observation_text"]

CUT = "\n[...]\n"


def observation_text(execution: Execution) -> str:
    r"""What a program printed; its errors where it failed, and how it ended.

    Example:
        >>> failed = Execution(status="timeout", stdout="1\n", stderr="", seconds=5.0)
        >>> observation_text(failed)
        '1\n[timeout]'
    """
    parts = [execution.stdout.strip("\n")]
    if execution.status != "ok":
        parts.append(execution.stderr.strip("\n"))
        if execution.status != "error" or not any(parts):
            parts.append(f"[{execution.status}]")
    return "\n".join(part for part in parts if part) or "[no output]"


class Observations:
    """Encodes observations; each part by itself, so that output never melts into the markup.

    Args:
        tokenizer: Encodes without adding special tokens.
        template: With `{output}` once.
        max_tokens: Of the output; a longer one loses its middle.
    """

    def __init__(self, tokenizer: Any, template: str, max_tokens: int) -> None:
        self._tokenizer, self._max_tokens = tokenizer, max_tokens
        before, _, after = template.partition("{output}")
        self._before, self._after = self._ids(before), self._ids(after)
        self._marker = self._ids(CUT)
        added: dict[str, int] = getattr(tokenizer, "get_added_vocab", dict)()
        names = {*added, *getattr(tokenizer, "all_special_tokens", ())}
        # Some tokenizers have added tokens of white space or single letters; they mark nothing.
        self._markers = sorted((n for n in names if len(n.strip()) > 2), key=len, reverse=True)

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"]) if text else []

    def encode(self, execution: Execution) -> list[int]:
        """Token ids of the whole observation."""
        return [*self._before, *self._cut(self._ids(self._plain(execution))), *self._after]

    def _plain(self, execution: Execution) -> str:
        """The text, in which a program cannot write a control token."""
        text = observation_text(execution)
        for name in self._markers:
            text = text.replace(name, f"{name[0]} {name[1:]}")
        return text

    def _cut(self, ids: list[int]) -> list[int]:
        if len(ids) <= self._max_tokens:
            return ids
        room = self._max_tokens - len(self._marker)
        if room < 2:
            return ids[: self._max_tokens]
        tail = room // 2
        return [*ids[: room - tail], *self._marker, *ids[len(ids) - tail :]]
