r"""Rewards: 1 for correct, 0 for incorrect, and what you choose for undecided.

`trl_reward` and `verl_compute_score` have the signatures that TRL and verl call; neither is
imported. An undecided completion is not a wrong one. None leaves it out of the group where the
trainer knows how to (ours and TRL do); a number counts it as that. Either way it is counted.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from stare.errors import ArgumentError
from stare.types import Completion, Problem, Verdict
from stare.verify._arguments import Profile, Tolerance, levels_to_caller
from stare.verify.grading import Grade, extract_answer, grade_batch

__all__ = [
    "math_reward",
    "reset_reward_counts",
    "reward",
    "reward_counts",
    "trl_reward",
    "trl_reward_with",
    "verl_compute_score",
    "verl_compute_score_batch",
]

Undecided = float | Literal["drop", "zero"] | None
TrlReward = Callable[..., list[float | None]]

_UNREADABLE_SHARE = 0.25
_VERL_OPTIONS = ("undecided", "profile", "tolerance", "fallback", "gold_profile")
# What verl passes of its own accord to every score function.
_VERL_PASSES = frozenset(
    {
        "reward_router_address",
        "reward_model_tokenizer",
        "sandbox_fusion_url",
        "concurrent_semaphore",
        "memory_limit_mb",
    }
)

_lock = threading.Lock()
_counts: Counter[Verdict] = Counter()
_golds: Counter[str] = Counter()
"""How many golds were `seen`, were `unreadable`, and whether that was `said`."""


def reward_counts() -> dict[str, int]:
    r"""How many completions were rewarded in this process so far, by verdict.

    Example:
        >>> reset_reward_counts()
        >>> _ = reward([r"\boxed{1}", "no idea"], ["1", "1"])
        >>> reward_counts()
        {'correct': 1, 'incorrect': 1, 'undecided': 0}
    """
    with _lock:
        return {str(verdict): _counts[verdict] for verdict in Verdict}


def reset_reward_counts() -> None:
    """Set the counts to zero."""
    with _lock:
        _counts.clear()
        _golds.clear()


def reward(
    completions: Sequence[str],
    golds: Sequence[str | Sequence[str]],
    *,
    undecided: Undecided = 0.0,
    profile: Profile = "reward",
    tolerance: Tolerance = None,
    fallback: bool = True,
    gold_profile: Profile | None = None,
    threads: int = 0,
) -> list[float | None]:
    r"""Reward of each completion: 1.0 correct, 0.0 incorrect.

    Warns once if many golds cannot be read: a gold is an answer and is never searched for one.

    Args:
        completions: [N] texts.
        golds: [N] gold answers, or lists of which any is right.
        undecided: reward of an undecided completion: a number (`zero` is 0.0), or None (`drop`), to
            leave it out of its group. Left out is also spared: a policy can learn to write what
            nobody can read instead of what is wrong. Watch `reward_counts()` with None.
        profile: what counts as declaring an answer, see `extract_answer`.
        tolerance: what else is right, see `equivalent`. A number holds for EVERY gold that is a
            number: 2023 is right for 2024 at 1e-3.
        fallback: whether undecided pairs may be put to math-verify.
        gold_profile: None: golds are answers. Otherwise they are worked solutions (`.. #### 72`,
            `.. so \boxed{72}.`) whose answer is found as this profile finds that of a completion;
            a gold with none, or with several boxes, is taken as it is.
        threads: see `grade_batch`.

    Returns:
        [N] rewards.

    Raises:
        ArgumentError: as `grade_batch`, or `undecided` is not one of these.

    Example:
        >>> reward([r"\boxed{42}", r"\boxed{43}", "42, I guess"], ["42"] * 3)
        [1.0, 0.0, 0.0]
    """
    value = _undecided(undecided)
    grades = grade_batch(
        completions,
        golds if gold_profile is None else [_answer_of(gold, gold_profile) for gold in golds],
        threads=threads,
        profile=profile,
        tolerance=tolerance,
        fallback=fallback,
    )
    _count(grades)
    return [_value(graded, value) for graded in grades]


def math_reward(
    problems: Sequence[Problem],
    completions: Sequence[Completion],
    *,
    profile: Profile = "reward",
    fallback: bool = True,
) -> list[float | None]:
    r"""Reward of each completion for `stare-train`: 1.0 correct, 0.0 incorrect, None undecided.

    Args:
        problems: [N] the problem of each completion.
        completions: [N] responses, flat.
        profile: what counts as declaring an answer, see `extract_answer`.
        fallback: whether undecided pairs may be put to math-verify.

    Raises:
        ArgumentError: lengths differ.

    Example:
        >>> problem = Problem(id="1", problem="6 * 7?", answer="42")
        >>> response = Completion(
        ...     prompt_ids=[], token_ids=[], text=r"\boxed{42}", finish_reason="stop"
        ... )
        >>> math_reward([problem], [response])
        [1.0]
    """
    if len(problems) != len(completions):
        raise ArgumentError(
            "problems and completions must have the same length, "
            f"got {len(problems)} and {len(completions)}"
        )
    return reward(
        [c.text for c in completions],
        [p.answer for p in problems],
        undecided=None,
        profile=profile,
        fallback=fallback,
    )


# --- TRL -----------------------------------------------------------------------------------------


def trl_reward(
    prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
) -> list[float | None]:
    r"""Reward function for TRL: `GRPOTrainer(reward_funcs=trl_reward, ..)`.

    Golds are in the column `answer`, else `solution`. A solution may be worked: its answer is the
    one in its box, or after its `####` (`gold_profile="reward"`); an `answer` is taken as it is.
    Undecided completions get 0.0, rows whose gold is None get None, which TRL leaves out; if many
    golds cannot be read, that is said once. `trl_reward_with` has options.

    Args:
        prompts: [N] prompts; not used.
        completions: [N] texts, or lists of chat messages of which the last one by the assistant
            counts.
        **columns: [N] each; the other columns of the data set, and what else TRL passes.

    Returns:
        [N] rewards.

    Raises:
        ArgumentError: there is no such column.

    Example:
        >>> trl_reward(prompts=["6 * 7?"], completions=[r"\boxed{42}"], answer=["42"])
        [1.0]
        >>> chat = [[{"role": "assistant", "content": r"\boxed{41}"}]]
        >>> trl_reward(prompts=["6 * 7?"], completions=chat, solution=["42"])
        [0.0]
    """
    name = "answer" if columns.get("answer") is not None else "solution"
    gold_profile = "reward" if name == "solution" else None
    options = {"undecided": 0.0, "gold_profile": gold_profile}
    return _trl(completions, columns, ("answer", "solution"), options)


def trl_reward_with(
    *,
    gold: str = "answer",
    undecided: Undecided = 0.0,
    profile: Profile = "reward",
    tolerance: Tolerance = None,
    fallback: bool = True,
    gold_profile: Profile | None = None,
) -> TrlReward:
    r"""Make a reward function for TRL with options.

    Args:
        gold: the column of the data set that holds the gold answers.
        undecided: see `reward`.
        profile: see `reward`.
        tolerance: see `reward`.
        fallback: see `reward`.
        gold_profile: see `reward`; `"reward"` for a column of worked solutions, as GSM8K's
            `answer` is one.

    Example:
        >>> gsm8k = trl_reward_with(gold="answer", gold_profile="reward")
        >>> gsm8k(prompts=["?"], completions=["Answer: 4"], answer=["2 + 2 = 4\n#### 4"])
        [1.0]
    """
    options = {
        "undecided": undecided,
        "profile": profile,
        "tolerance": tolerance,
        "fallback": fallback,
        "gold_profile": gold_profile,
    }

    # TRL logs a reward function under its name.
    def stare_reward(
        prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        return _trl(completions, columns, (gold,), options)

    return stare_reward


def _trl(
    completions: Sequence[Any],
    columns: Mapping[str, Any],
    names: Sequence[str],
    options: Mapping[str, Any],
) -> list[float | None]:
    golds = next((columns[name] for name in names if columns.get(name) is not None), None)
    if golds is None:
        raise ArgumentError(
            f"no column {' or '.join(map(repr, names))} with gold answers, "
            f"the data set has {', '.join(map(repr, sorted(columns))) or 'no other columns'}\n"
            "hint: trl_reward_with(gold=..) names the column"
        )
    if len(golds) != len(completions):
        raise ArgumentError(f"got {len(completions)} completions and {len(golds)} gold answers")
    asked = [index for index, gold in enumerate(golds) if gold is not None]
    rewards: list[float | None] = [None] * len(completions)
    decided = reward(
        [_text(completions[index]) for index in asked],
        [_gold(golds[index]) for index in asked],
        **options,
    )
    for index, value in zip(asked, decided, strict=True):
        rewards[index] = value
    return rewards


def _text(completion: Any) -> str:
    """The text of a completion: itself, or the last message by the assistant."""
    if isinstance(completion, str):
        return completion
    said = [m for m in completion if m.get("role", "assistant") == "assistant"]
    content = (said[-1].get("content") if said else None) or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _gold(gold: Any) -> str | list[str]:
    """A gold answer as data sets hold it: a string, a whole number, or several of those."""
    if isinstance(gold, str):
        return gold
    if isinstance(gold, int) and not isinstance(gold, bool):
        return str(gold)
    if hasattr(gold, "tolist"):  # numpy
        gold = gold.tolist()
        return _gold(gold) if not isinstance(gold, list) else [str(_gold(one)) for one in gold]
    if isinstance(gold, list | tuple) and gold:
        return [str(_gold(one)) for one in gold]
    raise ArgumentError(f"a gold answer must be a string or a list of strings, got {gold!r}")


# --- verl ----------------------------------------------------------------------------------------


def verl_compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    r"""Score one completion for verl: `custom_reward_function.name=verl_compute_score`.

    Args:
        data_source: not used.
        solution_str: the completion.
        ground_truth: the gold answer, or several of which any is right.
        extra_info: not used.
        **kwargs: `undecided` (a number, default 0.0), `profile`, `tolerance`, `fallback` and
            `gold_profile` as in `reward`, from `reward_kwargs`. What verl itself passes is not
            used.

    Raises:
        ArgumentError: an option has another name, or `undecided` is not a number.

    Returns:
        `score`, `acc` (1.0 if correct), `undecided` (1.0 if so) and `pred` (the answer found).

    Example:
        >>> verl_compute_score("math", r"\boxed{0.5}", "1/2")
        {'score': 1.0, 'acc': 1.0, 'undecided': 0.0, 'pred': '0.5'}
    """
    (score,) = verl_compute_score_batch([data_source], [solution_str], [ground_truth], **kwargs)
    return score


def verl_compute_score_batch(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Any] | None = None,
    **kwargs: Any,
) -> list[dict[str, Any]]:
    r"""Score a batch for verl's reward manager `batch`; see `verl_compute_score`.

    Args:
        data_sources: [N] not used.
        solution_strs: [N] completions.
        ground_truths: [N] gold answers.
        extra_infos: [N] not used.
        **kwargs: see `verl_compute_score`.

    Returns:
        [N] scores, all with the same keys.

    Raises:
        ArgumentError: an option has another name, or `undecided` is not a number: verl knows no
            missing scores.

    Example:
        >>> scores = verl_compute_score_batch(["m"] * 2, [r"\boxed{1}", "?"], ["1", "2"])
        >>> [score["score"] for score in scores]
        [1.0, 0.0]
    """
    unknown = sorted(kwargs.keys() - _VERL_PASSES - set(_VERL_OPTIONS))
    if unknown:
        raise ArgumentError(
            f"unknown options {', '.join(map(repr, unknown))} (reward_kwargs), "
            f"known are {', '.join(map(repr, _VERL_OPTIONS))}"
        )
    value = _undecided(kwargs.get("undecided", 0.0))
    if value is None:
        raise ArgumentError("undecided must be a number for verl, which has no missing scores")
    options = {key: kwargs[key] for key in ("profile", "tolerance", "fallback") if key in kwargs}
    golds = [_gold(gold) for gold in ground_truths]
    if (gold_profile := kwargs.get("gold_profile")) is not None:
        golds = [_answer_of(gold, gold_profile) for gold in golds]
    grades = grade_batch(list(solution_strs), golds, **options)
    _count(grades)
    return [
        {
            "score": _value(graded, value),
            "acc": float(graded.verdict is Verdict.CORRECT),
            "undecided": float(graded.verdict is Verdict.UNDECIDED),
            "pred": graded.extracted or "",
        }
        for graded in grades
    ]


def _undecided(undecided: Undecided) -> float | None:
    if undecided is None or undecided == "drop":
        return None
    if undecided == "zero":
        return 0.0
    if isinstance(undecided, int | float) and undecided - undecided == 0:
        return float(undecided)
    raise ArgumentError(
        f"undecided must be a finite number, None, 'drop' or 'zero', got {undecided!r}"
    )


def _value(graded: Grade, undecided: float | None) -> float | None:
    if graded.verdict is Verdict.UNDECIDED:
        return undecided
    return float(graded.verdict is Verdict.CORRECT)


def _answer_of(gold: str | Sequence[str], profile: Profile) -> str | list[str]:
    """The answer of a worked solution; the text itself if none is found, or which is not clear."""
    if not isinstance(gold, str):
        return [str(_answer_of(one, profile)) for one in gold]
    if gold.count(r"\boxed") + gold.count(r"\fbox") > 1:
        return gold
    return extract_answer(gold, profile=profile) or gold


def _count(grades: Sequence[Grade]) -> None:
    with _lock:
        _counts.update(graded.verdict for graded in grades)
        _golds["seen"] += len(grades)
        _golds["unreadable"] += sum(graded.reason == "gold-unparsed" for graded in grades)
        share = _golds["unreadable"] / max(_golds["seen"], 1)
        if share < _UNREADABLE_SHARE or _golds["said"]:
            return
        _golds["said"] = 1
    warnings.warn(
        f"{share:.0%} of the gold answers cannot be read, so their completions are undecided and "
        "teach nothing: a gold must be a bare answer\n"
        "hint: gold_profile='reward' takes the answer out of a worked solution (a box, ####); "
        "python -m stare.verify shows how a gold is read",
        UserWarning,
        stacklevel=levels_to_caller(),
    )


def _after_fork_in_child() -> None:
    """The lock may be held by a thread that is not here."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
