"""Selection over tokens that lie in several places: micro-batches, ranks or hosts.

Every shard sends the same small int64 message each round; the messages are added up, by whatever
means the caller has, and every shard reads the sum. Rounds fix the last selected token of each
rule digit by digit (8 bits of its ordered key, then of its global index (row, position)), so the
set is exactly that of a single call, ties included, and a message is the same few KiB whatever the
number of tokens. A shard with bad input says so in its message, and all shards raise together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stare._core import mean_weight, quota, surprisal
from stare.algo.arrays import Inputs, prepare
from stare.algo.kernel import DIGITS, Kernel, Search, kernel_for
from stare.algo.plan import GateLike, Plan, plan_for
from stare.algo.reweight import check_statistics
from stare.algo.rules import MAX_RULES, Rule
from stare.algo.stats import ReweightStats
from stare.config import StareConfig
from stare.errors import ArgumentError

__all__ = ["ShardedSelection"]

HEADER = 24
_SHARDS, _ROUND, _SIGNATURE, _SIGNATURE2, _FAILED = range(5)
_FORMATS = 5
_COUNTS = 9
_SELECTED = 16
_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
MAX_ROWS = 2**31
"""Rows of the whole batch, so that an index (row, position) fits a signed 64-bit number."""


class ShardedSelection:
    """One shard's side of a selection over the whole batch.

    Call `message`, add the messages of all shards, give every shard the sum through `advance`, and
    repeat until it returns True; then `finish` gives this shard's weights and the counts of the
    whole batch. All shards take the same number of rounds. Arguments are those of
    `token_weights`, and `rows`, the global index of each local row ((rows,) integers, by which
    ties are broken; no two shards may share one), or `row_offset`, that of the first of
    consecutive rows.

    Bad arrays raise from `advance`, on every shard, so that none waits for another in vain.

    Example:
        >>> import numpy as np
        >>> config = StareConfig(top_p_ratio=0.5)
        >>> logprobs = np.array([[-0.1, -2.0], [-0.3, -1.0]])
        >>> shards = [
        ...     ShardedSelection(logprobs[i:i + 1], np.ones(1), None, config=config, row_offset=i)
        ...     for i in range(2)
        ... ]
        >>> while not all([s.advance(total) for total in [ShardedSelection.merge(
        ...         [s.message() for s in shards])] for s in shards]):
        ...     pass
        >>> [s.finish()[0].tolist() for s in shards]
        [[[1.0, 1.1]], [[1.0, 1.1]]]
    """

    _failure: Exception | None
    _inputs: Inputs | None
    _kernel: Kernel

    def __init__(
        self,
        logprobs: Any,
        advantages: Any,
        mask: Any,
        *,
        config: StareConfig,
        gate: GateLike | bool | None = None,
        rows: Any = None,
        row_offset: int = 0,
        entropy: Any = None,
        concentration: Any = None,
        offsets: Any = None,
        rules: Sequence[Rule] | None = None,
        drop_nonfinite: bool = False,
        threads: int | None = None,
        wide: bool | None = None,
    ) -> None:
        self._start(plan_for(config, gate, rules))
        try:
            inputs = prepare(
                logprobs,
                advantages,
                mask,
                entropy=entropy,
                concentration=concentration,
                offsets=offsets,
            )
            check_statistics(inputs, self._plan)
            wide = inputs.format == "f64" if wide is None else wide
            ids = _row_ids(rows, row_offset, inputs.rows)
            kernel = kernel_for(
                inputs, self._plan, ids, drop_nonfinite=drop_nonfinite, wide=wide, threads=threads
            )
            self._attach(inputs, kernel)
        except Exception as error:
            self._failure = error  # raised by `advance`, here and on every other shard

    @classmethod
    def of_kernel(cls, inputs: Inputs, plan: Plan, kernel: Kernel) -> ShardedSelection:
        """A shard whose arrays are prepared already."""
        shard = cls.__new__(cls)
        shard._start(plan)
        shard._attach(inputs, kernel)
        return shard

    def _start(self, plan: Plan) -> None:
        self._plan = plan
        self._searches = [Search() for _ in plan.rules]
        self._round = 0
        self._totals: NDArray[np.int64] | None = None
        self._key_format = "f32"
        self._weights: Any = None
        self._result: tuple[Any, ReweightStats] | None = None
        self._failure = None
        self._inputs = None
        self._survey = (0, 0, 0, 0)

    def _attach(self, inputs: Inputs, kernel: Kernel) -> None:
        self._inputs, self._kernel = inputs, kernel
        self._survey = kernel.survey()

    @property
    def inputs(self) -> Inputs:
        """The arrays of this shard."""
        assert self._inputs is not None
        return self._inputs

    @property
    def failure(self) -> Exception | None:
        """What is wrong with this shard's input, if anything."""
        return self._failure

    @property
    def _tallying(self) -> bool:
        return self._totals is not None and all(search.done for search in self._searches)

    def message(self) -> NDArray[np.int64]:
        """This shard's part of the round: (24 + 256 max(1, rules),) int64, to be added up."""
        message = np.zeros(HEADER + DIGITS * max(1, len(self._searches)), np.int64)
        body = message[HEADER:].reshape(-1, DIGITS)
        signature = self._plan.signature
        message[: _FAILED + 1] = (1, self._round, signature, signature**2, 0)
        if self._failure is None:
            try:
                self._fill(message, body)
            except Exception as error:  # as in __init__
                self._failure = error
        if self._failure is not None:
            message[_FAILED] = 1
        return message

    def _fill(self, message: NDArray[np.int64], body: NDArray[np.int64]) -> None:
        if self._survey[0]:
            message[_FORMATS + list(_BITS).index(self.inputs.format)] = 1
        message[_COUNTS : _COUNTS + 4] = self._survey
        if self._tallying:
            cutoffs = [search.cutoff for search in self._searches]
            self._weights, selected, patterns = self._kernel.apply(cutoffs)
            message[_SELECTED : _SELECTED + len(selected)] = selected
            body[0] = patterns
            return
        for row, rule, search in zip(body, self._plan.rules, self._searches, strict=False):
            if not search.done and self._plan.selector == "quantile":
                row[:] = self._kernel.digits(rule, (search.key, search.tie, search.level))

    @staticmethod
    def merge(messages: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The sum of the messages of all shards, which is what an all-reduce computes."""
        total: NDArray[np.int64] = np.sum(list(messages), axis=0, dtype=np.int64)
        return total

    def advance(self, merged: NDArray[np.int64]) -> bool:
        """Take in the sum of the round; True when `finish` may be called.

        Raises:
            ArgumentError: this or another shard has bad input, or the shards differ in their
                settings, log-prob dtypes or rounds. Raised on all shards in the same round.
        """
        if self._result is not None:
            return True
        merged = np.asarray(merged)
        expected = (HEADER + DIGITS * max(1, len(self._searches)),)
        if merged.shape != expected:
            raise ArgumentError(f"merged must have shape {expected}, got {merged.shape}")
        self._check(merged)
        tallied = self._tallying
        if self._totals is None:
            self._begin(merged)
        body = merged[HEADER:].reshape(-1, DIGITS)
        if tallied:
            self._conclude(merged, body)
            return True
        for row, search in zip(body, self._searches, strict=False):
            if not search.done:
                search.narrow(row, _BITS[self._key_format] // 8)
        self._round += 1
        return False

    def _check(self, merged: NDArray[np.int64]) -> None:
        shards = int(merged[_SHARDS])
        if merged[_FAILED]:
            if self._failure is not None:
                raise self._failure
            raise ArgumentError(
                f"{int(merged[_FAILED])} of {shards} shards reported bad input; this one is good\n"
                "hint: see the error of that shard or rank"
            )
        # Cauchy-Schwarz: n sum(x^2) equals sum(x)^2 only if all x are equal.
        signature = int(merged[_SIGNATURE])
        if shards * int(merged[_SIGNATURE2]) != signature**2:
            raise ArgumentError("shards differ in their config, gate or rules")
        if int(merged[_ROUND]) != shards * self._round:
            raise ArgumentError(f"shards are out of step: this one is in round {self._round}")
        formats = [f for f, n in zip(_BITS, merged[_FORMATS:_COUNTS], strict=True) if n]
        if len(formats) > 1:
            raise ArgumentError(f"shards differ in the format of logprobs: {', '.join(formats)}")

    def _begin(self, merged: NDArray[np.int64]) -> None:
        """Quotas from the counts of the first round."""
        self._totals = merged[_COUNTS : _COUNTS + 4].copy()
        formats = [f for f, n in zip(_BITS, merged[_FORMATS:_COUNTS], strict=True) if n]
        self._key_format = formats[0] if formats else "f32"
        _, positive, negative, _ = (int(n) for n in self._totals)
        for rule, search in zip(self._plan.rules, self._searches, strict=True):
            search.need = quota(positive if rule.sign > 0 else negative, float(rule.ratio))
            search.done = search.need == 0 or self._plan.selector != "quantile"

    def _conclude(self, merged: NDArray[np.int64], body: NDArray[np.int64]) -> None:
        assert self._totals is not None
        plan = self._plan
        tokens, positive, negative, dropped = (int(n) for n in self._totals)
        rules = [rule.as_tuple() for rule in plan.rules]
        stats = ReweightStats(
            n_tokens=tokens,
            n_positive=positive,
            n_negative=negative,
            rules=plan.rules,
            selected=tuple(int(n) for n in merged[_SELECTED : _SELECTED + len(rules)]),
            thresholds=tuple(map(self._threshold, plan.rules, self._searches)),
            dropped_nonfinite=dropped,
            mean_weight=mean_weight(rules, body[0].tolist(), tokens),
            gate_on=plan.on,
            w=plan.w,
            m=plan.m,
        )
        self._result = self._weights, stats

    def _threshold(self, rule: Rule, search: Search) -> float:
        if search.cutoff is None:
            return float("nan")
        key = search.cutoff[0]
        if rule.tail == "low":
            key ^= (1 << _BITS[self._key_format]) - 1
        return surprisal(key, self._key_format)

    def finish(self) -> tuple[Any, ReweightStats]:
        """(this shard's weights in the form of its input, counts of the whole batch).

        Raises:
            ArgumentError: before `advance` has returned True.
        """
        if self._result is None:
            raise ArgumentError("finish called before advance returned True")
        flat, stats = self._result
        return self.inputs.give(flat), stats

    def finish_flat(self) -> tuple[Any, ReweightStats]:
        """As `finish`, with the weights flat."""
        if self._result is None:
            raise ArgumentError("finish called before advance returned True")
        return self._result


def _row_ids(rows: Any, row_offset: int, count: int) -> NDArray[np.int64]:
    if rows is None:
        ids = np.arange(row_offset, row_offset + count, dtype=np.int64)
    else:
        ids = np.array(rows, dtype=np.int64)
    if ids.shape != (count,):
        raise ArgumentError(f"rows must have shape {(count,)}, one a local row, got {ids.shape}")
    if count and not (ids.min() >= 0 and ids.max() < MAX_ROWS):
        raise ArgumentError(f"row numbers must lie in [0, 2**31), got {ids.min()} to {ids.max()}")
    return ids


assert HEADER >= _SELECTED + MAX_RULES
