"""Vocabulary and tokenizer of the arithmetic demo: one token a number, one token a symbol."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from stare.demo.tokenizing import DemoTokenizer
from stare.errors import DataError

__all__ = ["EOS", "N_NUMBERS", "OPERATORS", "PAD", "TOKENS", "TOKEN_ID", "VOCAB_SIZE", "Tokenizer"]

N_NUMBERS = 100
"""The numbers 0..99 are the token ids 0..99."""
OPERATORS = ("+", "-", "*")
EOS = "$"
PAD = "<pad>"
TOKENS = (
    *(str(i) for i in range(N_NUMBERS)),
    *OPERATORS,
    *("=", ";", "!", EOS, "B", ">", ":", "?", PAD),
)
"""Token text by id; `?` is reserved."""
TOKEN_ID = {token: i for i, token in enumerate(TOKENS)}
VOCAB_SIZE = len(TOKENS)


class Tokenizer(DemoTokenizer):
    """Splits at white space; has the part of the Hugging Face interface that the learner uses.

    Encoding and decoding are inverse to each other: one space between tokens.

    Example:
        >>> tokenizer = Tokenizer()
        >>> tokenizer.encode("B 3 7 9 > 2 :")
        [107, 3, 7, 9, 108, 2, 109]
        >>> tokenizer.decode([3, 100, 7, 103, 10, 106], skip_special_tokens=True)
        '3 + 7 = 10'
    """

    eos_token = EOS
    eos_token_id = TOKEN_ID[EOS]
    pad_token = PAD
    pad_token_id = TOKEN_ID[PAD]
    bos_token = None
    bos_token_id = None
    chat_template = None
    padding_side = "left"
    vocab_size = VOCAB_SIZE
    all_special_ids = (TOKEN_ID[EOS], TOKEN_ID[PAD])
    model_max_length = 20
    name_or_path = "stare.demo"

    def __len__(self) -> int:
        return VOCAB_SIZE

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        """Token ids of `text`; nothing is added, whatever `add_special_tokens` says.

        Raises:
            DataError: a word is not in the vocabulary.
        """
        try:
            return [TOKEN_ID[word] for word in text.split()]
        except KeyError as error:
            raise DataError(
                f"unknown token {error.args[0]!r} in {text!r}\n"
                "hint: the demo knows the numbers 0..99 and " + " ".join(TOKENS[N_NUMBERS:])
            ) from None

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """Text of token ids, one space between tokens; ids outside the vocabulary are an error."""
        if skip_special_tokens:
            ids = [i for i in ids if i not in self.all_special_ids]
        return " ".join(map(TOKENS.__getitem__, ids))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the vocabulary to `folder/vocab.json`, for the reader: it never changes."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"tokens": TOKENS, "eos": EOS, "pad": PAD}, indent=0)
        (path / "vocab.json").write_text(text, encoding="utf-8")
