"""A shard's own tokens: what it counts and writes, and the search that the counts drive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stare.algo.arrays import Inputs
from stare.algo.plan import Plan
from stare.algo.reweight import core_batch, gate_arguments
from stare.algo.rules import Rule

__all__ = ["DIGITS", "HostKernel", "Kernel", "Search", "kernel_for"]

DIGITS = 256
"""Bins of a digit's histogram."""
_TIE_DIGITS = 8


class Kernel(Protocol):
    """What a shard does with its own tokens; on the host in Rust, on a device in torch."""

    def survey(self) -> tuple[int, int, int, int]:
        """(tokens, positive, negative, dropped)."""

    def digits(self, rule: Rule, prefix: tuple[int, int, int]) -> NDArray[np.int64]:
        """256 counts of the next digit among the tokens that agree with (key, tie, level)."""

    def apply(
        self, cutoffs: Sequence[tuple[int, int] | None]
    ) -> tuple[Any, Sequence[int], Sequence[int]]:
        """(flat weights, selected by rule, tokens by pattern)."""


class HostKernel:
    """A shard in host memory."""

    def __init__(
        self,
        inputs: Inputs,
        plan: Plan,
        rows: NDArray[np.int64],
        *,
        drop_nonfinite: bool,
        wide: bool,
        threads: int | None,
    ) -> None:
        self._batch = core_batch(inputs, plan, drop_nonfinite, threads)
        self._inputs, self._plan, self._rows = inputs, plan, rows
        self._dtype = np.float64 if wide else np.float32

    def survey(self) -> tuple[int, int, int, int]:
        """As in `Kernel`."""
        return self._batch.survey(rows=self._rows)

    def digits(self, rule: Rule, prefix: tuple[int, int, int]) -> NDArray[np.int64]:
        """As in `Kernel`."""
        return self._batch.digit_histogram(rule.as_tuple(), prefix, rows=self._rows)

    def apply(
        self, cutoffs: Sequence[tuple[int, int] | None]
    ) -> tuple[Any, Sequence[int], Sequence[int]]:
        """As in `Kernel`."""
        weights = np.empty(self._inputs.tokens, self._dtype)
        selected, patterns = self._batch.apply_cutoffs(
            [rule.as_tuple() for rule in self._plan.rules],
            list(cutoffs),
            weights,
            rows=self._rows,
            **gate_arguments(self._batch, self._inputs, self._plan),
        )
        return weights, selected, patterns


def kernel_for(
    inputs: Inputs,
    plan: Plan,
    rows: NDArray[np.int64],
    *,
    drop_nonfinite: bool,
    wide: bool,
    threads: int | None,
) -> Kernel:
    """The kernel that reads the arrays where they are."""
    if inputs.on_device:
        from stare.algo.device import DeviceKernel

        return DeviceKernel(inputs, plan, rows, drop_nonfinite=drop_nonfinite, wide=wide)
    return HostKernel(inputs, plan, rows, drop_nonfinite=drop_nonfinite, wide=wide, threads=threads)


@dataclass(slots=True)
class Search:
    """The known leading digits of one rule's last selected token."""

    need: int = 0
    key: int = 0
    tie: int = 0
    level: int = 0
    cutoff: tuple[int, int] | None = None
    done: bool = False

    def narrow(self, histogram: NDArray[np.int64], key_digits: int) -> None:
        """Fix one more digit: the largest whose tokens and those above reach the quota."""
        above = np.cumsum(histogram[::-1])
        place = int(np.searchsorted(above, self.need))
        digit, count = DIGITS - 1 - place, int(histogram[DIGITS - 1 - place])
        self.need -= int(above[place]) - count
        self.level += 1
        if self.level <= key_digits:
            self.key = self.key << 8 | digit
        else:
            self.tie = self.tie << 8 | digit
        ties = self.level - key_digits
        if ties >= 0 and (self.need == count or ties == _TIE_DIGITS):
            # The bucket is taken whole: no later digit can divide it.
            self.cutoff = (self.key, self.tie << 8 * (_TIE_DIGITS - ties))
            self.done = True
