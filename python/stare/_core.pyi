"""What the compiled core offers to the rest of the package. Private: use the modules above it."""

from collections.abc import Sequence
from typing import Final, Literal

_Verdict = Literal["correct", "incorrect", "undecided"]

__all__ = ["__version__", "compare_answers", "extract_answer", "grade_answers"]

__version__: Final[str]

# --- answer verification ---------------------------------------------------------------------

def extract_answer(text: str, /) -> str | None:
    """Find the declared answer of a completion."""

def compare_answers(answer: str, gold: str, /) -> tuple[_Verdict, str]:
    """Compare an answer with a gold answer; verdict and reason."""

def grade_answers(
    pairs: Sequence[tuple[str, Sequence[str]]], /, *, threads: int
) -> list[tuple[_Verdict, str | None, str]]:
    """Grade completions, each against its golds; verdict, extracted answer and reason of each."""
