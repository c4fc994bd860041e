r"""Whether a gold answer can be checked at all, asked of the verifier.

A gold that the verifier cannot read makes every response to it undecided: the problem costs
rollouts and teaches nothing. A proof has no answer to check.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stare.types import Verdict
from stare.verify import equivalent, grade_batch

__all__ = ["AnswerKind", "answer_kinds", "same_answer"]

_PROOF = re.compile(r"^\W*(?:prove|show|demonstrate|verify)\b", re.IGNORECASE)
_PROOF_TASK = re.compile(r"(?:^|[.!?$]\s+)(?:prove|show) that\b", re.IGNORECASE)
_PROOF_ANSWER = re.compile(
    r"\b(?:proof|proved|proven|q\.?e\.?d|see (?:the )?(?:solution|proof|above)|"
    r"(?:statement|claim|result|inequality) (?:is|holds)|no solution provided)\b",
    re.IGNORECASE,
)
_PARTS = re.compile(r"(?:^|\W)\(?(?:a|i|1)\)\s.*(?:\W)\(?(?:b|ii|2)\)\s", re.DOTALL)
_WRAPPED = re.compile(r"\\(?:text|mathrm|textbf|mathbf)\s*\{([^{}]*)\}")
_WORDS = re.compile(r"[A-Za-z]+(?:[ '-][A-Za-z]+)*")
_FEW_WORDS = 3


@dataclass(frozen=True, slots=True)
class AnswerKind:
    """What the verifier can do with a gold."""

    problem: Literal["ok", "unreadable-answer", "proof"]
    """Why the problem cannot be checked, or `ok`."""
    multi_part: bool
    """The statement or the gold has parts (a), (b): one gold answers them all, if at all."""


def answer_kinds(problems: Sequence[str], golds: Sequence[str]) -> list[AnswerKind]:
    r"""Classify each problem.

    `unreadable-answer`: the verifier does not parse the gold, or it is a sentence (more than three
    words). `proof`: the statement asks for a proof (`Prove that ...`) or the gold says it is one.

    Args:
        problems: [N] statements.
        golds: [N] gold answers.

    Example:
        >>> asked, golds = ["2+2?", "Prove it for 2.", "x?"], ["4", "QED", "see the table below"]
        >>> kinds = answer_kinds(asked, golds)
        >>> [k.problem for k in kinds]
        ['ok', 'proof', 'unreadable-answer']
    """
    # Compared with 0 rather than with itself: a text equals itself also where nobody can read it.
    grades = grade_batch([r"\boxed{0}"] * len(golds), list(golds), fallback=False)
    kinds = []
    for text, gold, graded in zip(problems, golds, grades, strict=True):
        readable = graded.reason != "gold-unparsed" and not _sentence(gold)
        proof = bool(_PROOF_ANSWER.search(gold)) or (
            bool(_PROOF.match(text) or _PROOF_TASK.search(text)) and not _value(gold, readable)
        )
        parts = bool(_PARTS.search(text) or _PARTS.search(f" {gold} "))
        kind: Literal["ok", "unreadable-answer", "proof"] = (
            "proof" if proof else "ok" if readable else "unreadable-answer"
        )
        kinds.append(AnswerKind(kind, parts))
    return kinds


def _sentence(gold: str) -> bool:
    bare = _WRAPPED.sub(r"\1", gold).strip(" $.")
    return bool(_WORDS.fullmatch(bare)) and len(bare.split()) > _FEW_WORDS


def _value(gold: str, readable: bool) -> bool:
    """A gold with a digit or a formula is something to find, whatever the statement says."""
    return readable and bool(re.search(r"\d|\\[a-z]+", gold))


def same_answer(a: str, b: str) -> bool:
    """Whether two golds are proved the same.

    Example:
        >>> same_answer("1/2", "0.5"), same_answer("1", "2")
        (True, False)
    """
    return a.strip() == b.strip() or equivalent(a, b, fallback=False) is Verdict.CORRECT
