"""Finding stop texts in what is being decoded, wherever token boundaries fall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stare.errors import ArgumentError

__all__ = ["StopTexts"]


class StopTexts:
    r"""Tells which response has just completed a stop text.

    Text is that of `Completion.text`: special tokens have none.

    Args:
        tokenizer: Decodes tokens.
        texts: None of them empty.
        rows: Responses being decoded.

    Raises:
        ArgumentError: a text is empty.
    """

    def __init__(self, tokenizer: Any, texts: Sequence[str], rows: int) -> None:
        if any(not text for text in texts):
            raise ArgumentError(f"stop texts must not be empty, got {tuple(texts)!r}")
        self._tokenizer, self._texts = tokenizer, tuple(texts)
        self._special = frozenset(tokenizer.all_special_ids)
        # A token with text has a byte of it at least.
        self._window = max(len(text.encode()) for text in texts)
        self._tails: list[list[int]] = [[] for _ in range(rows)]
        self._last = frozenset(text[-1] for text in texts)
        self._may_end: dict[int, bool] = {}

    def completed(self, rows: Sequence[int], tokens: Sequence[int]) -> list[bool]:
        """Take the next token of each of the given rows; True where it completes a stop text."""
        found = [False] * len(rows)
        asked = []
        for i, (row, token) in enumerate(zip(rows, tokens, strict=True)):
            if token in self._special:
                continue
            tail = self._tails[row]
            tail.append(token)
            del tail[: -self._window]
            if self._can_end(token):
                asked.append(i)
        if asked:
            tails = [self._tails[rows[i]] for i in asked]
            decoded = self._tokenizer.batch_decode(tails, skip_special_tokens=True)
            for i, text in zip(asked, decoded, strict=True):
                # A text that was there before would have ended the response then.
                found[i] = any(stop in text for stop in self._texts)
        return found

    def _can_end(self, token: int) -> bool:
        """Whether the token may hold the last character of a stop text; most do not."""
        known = self._may_end.get(token)
        if known is None:
            text = self._tokenizer.decode([token])
            # White space may come from between tokens; U+FFFD is a part of a character.
            known = "\ufffd" in text or any(c.isspace() or c in text for c in self._last)
            self._may_end[token] = known
        return known
