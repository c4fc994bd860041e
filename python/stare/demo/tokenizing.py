"""What the tokenizers of the demos share of the Hugging Face interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

__all__ = ["DemoTokenizer"]


class DemoTokenizer(ABC):
    """Encodes and decodes one text; many follow from that."""

    @abstractmethod
    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        """Token ids of a text; nothing is added, whatever `add_special_tokens` says."""

    @abstractmethod
    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """Text of token ids."""

    def batch_decode(
        self, rows: Iterable[Iterable[int]], *, skip_special_tokens: bool = False
    ) -> list[str]:
        """`decode` of each row."""
        return [self.decode(row, skip_special_tokens=skip_special_tokens) for row in rows]

    def __call__(
        self, text: str | Sequence[str], *, add_special_tokens: bool = False
    ) -> dict[str, list[int] | list[list[int]]]:
        """`{"input_ids", "attention_mask"}` of one text or, unpadded, of several."""
        if isinstance(text, str):
            ids = self.encode(text)
            return {"input_ids": ids, "attention_mask": [1] * len(ids)}
        rows = [self.encode(t) for t in text]
        return {"input_ids": rows, "attention_mask": [[1] * len(row) for row in rows]}
