"""What is counted of a run, without its texts: one compact row a sample, joined with its grade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from stare.evals.grading import StaleGradesError, graded_hash, natural, opened_prompts
from stare.evals.records import FinishReason, GradeRow, Key, Outcome
from stare.evals.run_facts import answered
from stare.evals.store import RunFolder

__all__ = ["OUTCOMES", "ProblemTally", "SampleFacts", "outcome_counts", "sample_facts", "tally"]

OUTCOMES: tuple[Outcome, ...] = (
    "correct",
    "incorrect",
    "no_answer",
    "truncated",
    "undecided",
    "grader_timeout",
    "grader_error",
)


class SampleFacts(NamedTuple):
    """A sample without its text."""

    sample: int
    finish_reason: FinishReason
    n_tokens: int | None
    characters: int
    seeded: bool
    sha: str
    """`text_sha` that its grade must have."""


@dataclass(frozen=True, slots=True)
class ProblemTally:
    """The samples of a problem, by sample number, and their grades."""

    id: str
    facts: tuple[SampleFacts, ...]
    grades: tuple[GradeRow, ...]

    @property
    def n(self) -> int:
        """Samples."""
        return len(self.facts)

    @property
    def c(self) -> int:
        """Correct ones."""
        return self.count("correct")

    def count(self, outcome: Outcome) -> int:
        """Samples of this outcome."""
        return sum(row.outcome == outcome for row in self.grades)

    def votes(self) -> tuple[list[str | None], list[bool]]:
        """What each sample votes for, and whether it is right.

        Answers that were graded correct all equal the gold, so they are one class however they are
        written; of the others, those with the same key, or without one the same text.
        """
        keys: list[str | None] = []
        for row in self.grades:
            if row.outcome == "correct":
                keys.append("=gold")
            elif row.answer_key is not None:
                keys.append("key " + row.answer_key)
            else:
                keys.append(None if row.extracted is None else "text " + row.extracted)
        return keys, [row.outcome == "correct" for row in self.grades]


def sample_facts(folder: RunFolder, bench: str) -> dict[str, list[SampleFacts]]:
    """Facts of all samples of a benchmark by problem, in one pass over the texts."""
    opened = opened_prompts(folder)
    found: dict[str, list[SampleFacts]] = {}
    for one in answered(folder, bench):
        sha = graded_hash(one.text, one.finish_reason, one.prompt_sha in opened)
        facts = SampleFacts(
            one.sample, one.finish_reason, one.n_tokens, len(one.text), one.seed is not None, sha
        )
        found.setdefault(one.problem_id, []).append(facts)
    for rows in found.values():
        rows.sort()
    return {name: found[name] for name in sorted(found, key=lambda one: (natural(one), one))}


def tally(
    folder: RunFolder,
    bench: str,
    facts: Mapping[str, list[SampleFacts]],
    grades: Mapping[Key, GradeRow],
) -> list[ProblemTally]:
    """Join facts and grades.

    Raises:
        StaleGradesError: samples without a grade, or with the grade of another text.
    """
    stale = 0
    found = []
    for problem, rows in facts.items():
        joined = [grades.get(Key(bench, problem, one.sample)) for one in rows]
        good = [
            row for row, one in zip(joined, rows, strict=True) if row and row.text_sha == one.sha
        ]
        stale += len(rows) - len(good)
        found.append(ProblemTally(problem, tuple(rows), tuple(good)))
    if stale:
        raise StaleGradesError(
            f"{bench}: {stale} samples have no grade, or that of another text\n"
            f"hint: stare-eval grade {folder.path}"
        )
    return found


def outcome_counts(problems: list[ProblemTally]) -> dict[str, int]:
    """How many samples of each outcome, all outcomes named."""
    counts = Counter(row.outcome for one in problems for row in one.grades)
    return {outcome: counts[outcome] for outcome in OUTCOMES}
