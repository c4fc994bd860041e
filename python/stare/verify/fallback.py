r"""What the core leaves undecided, put to math-verify in processes that can be killed.

math-verify has no verdict for "I do not know", may hang, and needs the main thread. Here it runs in
worker processes with a deadline and a memory limit; a time-out, an error, an answer it cannot parse
and a verdict of a kind it is known to get wrong (`stare.verify.distrust`) all leave the pair
undecided. Without math-verify installed they stay undecided too, which is said once.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from stare.errors import ConfigError
from stare.types import Verdict
from stare.verify._arguments import levels_to_caller
from stare.verify._pool_config import PoolConfig
from stare.verify.distrust import PairReport, distrust, distrust_texts

if TYPE_CHECKING:
    from stare.verify.pool import Reply, WorkerPool

__all__ = [
    "FALLBACK_REASONS",
    "FallbackStats",
    "Judgement",
    "configure_fallback",
    "count_pairs",
    "fallback_stats",
    "judge",
    "reset_fallback_stats",
    "shut_down_fallback",
]

FALLBACK_REASONS = frozenset({"unproved", "answer-unparsed", "gold-unparsed"})
"""Reasons of the core with which a pair goes to the fallback. Not among them: `limit`, where more
work is just what was refused, and `ambiguous`, `unlike-kinds`, `unlike-units`, where the question
is what was meant: math-verify does not know either, it only does not say so."""

_ENGINE = "stare.verify._math_verify:engine"
_ALARM_S = 2
_FLOAT_ROUNDING = 12
_PARITY_ROUNDING = 6
_HINT = "pip install 'stare-rl[verify]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackStats:
    """What the fallback did in this process since the start or the last reset.

    Example:
        >>> FallbackStats(pairs=200, sent=5, decided=3).share
        0.025
    """

    pairs: int = 0
    """Pairs graded in calls that allowed the fallback."""
    sent: int = 0
    """Pairs (completion and one gold) put to math-verify."""
    decided: int = 0
    """Of those, decided."""
    distrusted: int = 0
    """Pairs that were not sent, or whose verdict does not count (`stare.verify.distrust`)."""
    timeouts: int = 0
    """Jobs that ran out of time, stopped by themselves or killed."""
    killed: int = 0
    """Worker processes killed for overrunning."""
    crashed: int = 0
    """Worker processes that died or talked nonsense."""
    started: int = 0
    """Worker processes started."""
    recycled: int = 0
    """Worker processes replaced after their number of jobs, or out of memory."""
    errors: int = 0
    """Jobs that failed otherwise: an exception, no memory, no worker."""
    ms: float = 0.0
    """Milliseconds that callers waited for the fallback."""

    @property
    def share(self) -> float:
        """Share of the pairs that went to the fallback."""
        return self.sent / self.pairs if self.pairs else 0.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the fallback says about one pair."""

    verdict: Verdict
    """Undecided if it has no say."""
    detail: str
    """`equal` or `different`, or why it has no say: the rule of distrust, or the failure."""


class _State:
    """Pool and counters of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: WorkerPool | None = None
        self.config: PoolConfig | None = None
        self.counts: Counter[str] = Counter()
        self.ms = 0.0
        self.warned = False

    def count(self, what: str, times: int = 1) -> None:
        with self.lock:
            self.counts[what] += times


_state = _State()


def configure_fallback(config: PoolConfig | None = None) -> None:
    """Set sizes and limits of the fallback; running workers are ended.

    Args:
        config: None goes back to the defaults (`STARE_FALLBACK_WORKERS` sets the number of
            workers).

    Example:
        >>> configure_fallback(PoolConfig(workers=4, deadline_s=10.0))
        >>> configure_fallback()
    """
    shut_down_fallback()
    with _state.lock:
        _state.config = config


def fallback_stats() -> FallbackStats:
    """Counters of the fallback in this process.

    Example:
        >>> reset_fallback_stats()
        >>> fallback_stats().sent
        0
    """
    with _state.lock:
        counts = {f.name: _state.counts[f.name] for f in fields(FallbackStats) if f.name != "ms"}
        return FallbackStats(**counts, ms=_state.ms)


def reset_fallback_stats() -> None:
    """Set all counters to zero."""
    with _state.lock:
        _state.counts.clear()
        _state.ms = 0.0


def shut_down_fallback() -> None:
    """End the workers; the next undecided pair starts new ones. Runs at exit by itself."""
    with _state.lock:
        pool, _state.pool = _state.pool, None
    if pool is not None:
        pool.close()


def count_pairs(pairs: int) -> None:
    """Count pairs graded in a call that allows the fallback."""
    _state.count("pairs", pairs)


def judge(
    pairs: Sequence[tuple[str, str]], *, any_difference_counts: bool = True, parity: bool = False
) -> list[Judgement]:
    """Put pairs to math-verify and wait.

    Args:
        pairs: [N] (answer, gold); the same pair is asked once.
        any_difference_counts: False if a difference may be within the caller's tolerance.
        parity: round decimals as math-verify does by default, to reproduce its verdicts.

    Returns:
        [N] judgements.
    """
    said = {pair: _unasked(*pair) for pair in pairs}
    asked = [pair for pair, one in said.items() if one is None]
    refused = sum(one is not None and one.detail != "blank" for one in said.values())
    if refused:
        _state.count("distrusted", refused)
    if asked and _missing():
        said.update((pair, Judgement(Verdict.UNDECIDED, "unavailable")) for pair in asked)
    elif asked:
        judged = _ask(asked, any_difference_counts, _PARITY_ROUNDING if parity else _FLOAT_ROUNDING)
        said.update(zip(asked, judged, strict=True))
    return [one for pair in pairs if (one := said[pair]) is not None]


def _unasked(answer: str, gold: str) -> Judgement | None:
    """Why a pair is not put to math-verify; None if it is."""
    if not answer.strip() or not gold.strip():
        return Judgement(Verdict.UNDECIDED, "blank")
    rule = distrust_texts(_bare(gold), _bare(answer))
    return None if rule is None else Judgement(Verdict.UNDECIDED, f"distrust:{rule}")


def _ask(
    pairs: Sequence[tuple[str, str]], any_difference_counts: bool, rounding: int
) -> list[Judgement]:
    started = time.perf_counter()
    jobs: list[dict[str, Any]] = [
        {
            "answer": _bare(answer),
            "gold": _bare(gold),
            "alarm_s": _ALARM_S,
            "float_rounding": rounding,
        }
        for answer, gold in pairs
    ]
    pool = _pool()
    judged = [
        _judgement(job, reply, any_difference_counts)
        for job, reply in zip(jobs, pool.run(jobs), strict=True)
    ]
    _record(judged, (time.perf_counter() - started) * 1000)
    if pool.unavailable:
        _warn_once(pool.unavailable)
    return judged


def _judgement(job: dict[str, Any], reply: Reply, any_difference_counts: bool) -> Judgement:
    if reply.result is None:
        return Judgement(Verdict.UNDECIDED, reply.failure or "error")
    gold_kind, answer_kind = reply.result["kinds"]
    report = PairReport(
        equal=reply.result["equal"],
        kinds=(gold_kind, answer_kind),
        smallest=reply.result.get("smallest", float("inf")),
        gap=reply.result.get("gap"),
        accounted=reply.result.get("accounted", False),
    )
    rule = distrust(job["gold"], job["answer"], report)
    if rule is None and not report.equal and not any_difference_counts:
        rule = "tolerance"
    if rule is not None:
        return Judgement(Verdict.UNDECIDED, f"distrust:{rule}")
    if report.equal:
        return Judgement(Verdict.CORRECT, "equal")
    return Judgement(Verdict.INCORRECT, "different")


def _record(judged: Sequence[Judgement], ms: float) -> None:
    with _state.lock:
        counts = _state.counts
        counts["sent"] += len(judged)
        for one in judged:
            if one.verdict is not Verdict.UNDECIDED:
                counts["decided"] += 1
            elif one.detail.startswith("distrust:"):
                counts["distrusted"] += 1
            elif one.detail == "timeout":
                counts["timeouts"] += 1
            else:
                counts["errors"] += 1
        _state.ms += ms


_WRAPPERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))


def _bare(text: str) -> str:
    r"""Take off what is around an answer and says nothing: math delimiters, one full stop.

    Example:
        >>> _bare("$x + 1$."), _bare(r"\(2\)"), _bare("3...")
        ('x + 1', '2', '3...')
    """
    text = _without_full_stop(text)
    for start, end in _WRAPPERS:
        inside = text[len(start) : -len(end)]
        if text.startswith(start) and text.endswith(end) and inside and "$" not in inside:
            return _without_full_stop(inside)
    return text


def _without_full_stop(text: str) -> str:
    text = text.strip()
    return text[:-1].rstrip() if text.endswith(".") and not text.endswith("..") else text


def _missing() -> str:
    """Why the fallback cannot work, said once; empty if it can."""
    if find_spec("math_verify") is not None:
        return ""
    _warn_once("math-verify is not installed")
    return "math-verify is not installed"


def _warn_once(problem: str) -> None:
    with _state.lock:
        if _state.warned:
            return
        _state.warned = True
    warnings.warn(
        f"{problem}; answers that the core does not decide stay undecided\n"
        f"hint: {_HINT}, or pass fallback=False",
        UserWarning,
        stacklevel=levels_to_caller(),
    )


def _pool() -> WorkerPool:
    from stare.verify.pool import WorkerPool

    with _state.lock:
        if _state.pool is None:
            config = _state.config or PoolConfig(workers=_workers())
            _state.pool = WorkerPool(_ENGINE, config, on_event=_state.count)
        return _state.pool


def _workers() -> int:
    setting = os.environ.get("STARE_FALLBACK_WORKERS", "2")
    if not setting.isdecimal() or int(setting) == 0:
        raise ConfigError(f"STARE_FALLBACK_WORKERS must be a positive integer, got {setting!r}")
    return int(setting)


def _after_fork_in_child() -> None:
    """Start over: the threads are not here, the workers are the parent's, locks may be held."""
    global _state
    before, _state = _state, _State()
    _state.config, _state.warned = before.config, before.warned
    if before.pool is not None:
        before.pool.abandon()


atexit.register(shut_down_fallback)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
