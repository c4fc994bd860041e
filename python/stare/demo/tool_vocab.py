"""Vocabulary and tokenizer of the tool demo: one token a digit or a piece of markup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from stare.demo.tokenizing import DemoTokenizer

__all__ = ["EOS_ID", "ToolTokenizer"]

TOKENS = (
    *"0123456789",
    *("*", "=", "print", "(", ")", "\n", "```python\n", "```\n", "```output\n"),
    *("<unknown>", "<end>", "<pad>"),
)
TOKEN_ID = {token: i for i, token in enumerate(TOKENS)}
EOS_ID = TOKEN_ID["<end>"]
UNKNOWN = "<unknown>"
PIECES = re.compile("|".join(re.escape(t) for t in sorted(TOKENS, key=len, reverse=True)))


class ToolTokenizer(DemoTokenizer):
    r"""Has the part of the Hugging Face interface that learner and samplers use.

    A run of characters that are in no token becomes one `<unknown>`: error messages must be shown.

    Example:
        >>> tokenizer = ToolTokenizer()
        >>> ids = tokenizer.encode("```python\nprint(4*7)\n```\n")
        >>> len(ids), tokenizer.decode(ids)
        (9, '```python\nprint(4*7)\n```\n')
        >>> tokenizer.decode(tokenizer.encode("line 1\n"))
        '<unknown>1\n'
    """

    eos_token, pad_token = "<end>", "<pad>"
    eos_token_id, pad_token_id = EOS_ID, TOKEN_ID["<pad>"]
    bos_token = bos_token_id = chat_template = None
    padding_side = "left"
    all_special_ids = (EOS_ID, TOKEN_ID["<pad>"])
    all_special_tokens = ("<end>", "<pad>")
    model_max_length = 40
    name_or_path = "stare.demo.tool"

    def __len__(self) -> int:
        return len(TOKENS)

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        """Token ids of a text; nothing is added, whatever `add_special_tokens` says."""
        ids, at = [], 0
        for match in PIECES.finditer(text):
            if match.start() > at:
                ids.append(TOKEN_ID[UNKNOWN])
            ids.append(TOKEN_ID[match[0]])
            at = match.end()
        return ids if at == len(text) else [*ids, TOKEN_ID[UNKNOWN]]

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """Text of token ids; an id beyond the vocabulary (the head is larger) is unknown."""
        skipped = self.all_special_ids if skip_special_tokens else ()
        return "".join(TOKENS[i] if i < len(TOKENS) else UNKNOWN for i in ids if i not in skipped)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the vocabulary to `folder/vocab.json`, for the reader: it never changes."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / "vocab.json").write_text(json.dumps({"tokens": TOKENS}), encoding="utf-8")
