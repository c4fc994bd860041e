"""Selection where the tensors are: torch operations only, no (B, T) copy to the host.

The same digit search as between shards, with one shard, so the set is that of the Rust path. It
runs on any device torch has, the CPU included, where it serves as the slow twin in tests. Per
candidate it needs about 40 bytes of device memory while it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from stare.algo.arrays import Inputs
from stare.algo.plan import Plan
from stare.algo.rules import MAX_RULES, Rule
from stare.algo.stats import ReweightStats
from stare.errors import ArgumentError

__all__ = ["DeviceKernel", "select_on_device"]

_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
_INTEGER = {16: torch.int16, 32: torch.int32, 64: torch.int64}
_SIGN = -(1 << 63)
_LIMIT = {"f16": 0x1418, "bf16": 0x3A83}
"""Bits of the largest half-precision numbers that are not above 1e-3, as in the Rust core."""


def _signed(x: int) -> int:
    """An unsigned 64-bit number as the int64 of the same bits."""
    return x - (1 << 64) if x >= 1 << 63 else x


def ordered_keys(logprobs: torch.Tensor, kind: str) -> torch.Tensor:
    """int64 keys whose unsigned order is that of surprisal; the same numbers as in the core."""
    bits = _BITS[kind]
    surprisal = 0.0 - logprobs  # also makes the two zeros equal
    raw = surprisal.contiguous().view(_INTEGER[bits]).to(torch.int64)
    if bits == 64:
        return torch.where(raw < 0, ~raw, raw ^ _SIGN)
    low = (1 << bits) - 1
    return torch.where(raw < 0, ~raw & low, (raw & low) | 1 << (bits - 1))


def _valid(logprobs: torch.Tensor, kind: str) -> torch.Tensor:
    if kind in _LIMIT:
        limit = torch.tensor(_LIMIT[kind], dtype=torch.int16).view(logprobs.dtype).item()
    else:
        limit = torch.tensor(1e-3, dtype=logprobs.dtype).item()
    return torch.isfinite(logprobs) & (logprobs.double() <= limit)


class DeviceKernel:
    """One shard in the memory of a device."""

    def __init__(
        self,
        inputs: Inputs,
        plan: Plan,
        rows: NDArray[np.int64],
        *,
        drop_nonfinite: bool,
        wide: bool,
    ) -> None:
        self._inputs, self._plan = inputs, plan
        self._dtype = torch.float64 if wide else torch.float32
        self._kind = inputs.format
        self._device = inputs.logprobs.device
        self._logprobs = inputs.logprobs.reshape(-1)
        self._mask = (inputs.mask != 0).reshape(-1)
        self._n = self._logprobs.numel()
        self._rows = torch.from_numpy(rows).to(self._device)
        signs = self._classify(inputs.advantages)
        self._dropped = 0
        self._candidates: dict[int, torch.Tensor] = {}
        bad = (signs != 0) & ~_valid(self._logprobs, self._kind)
        if bool(bad.any()):
            if not drop_nonfinite:
                self._complain(bad)
            self._dropped = int(bad.sum())
            signs = signs.masked_fill(bad, 0)
        for sign in (1, -1):
            self._candidates[sign] = torch.nonzero(signs == sign).squeeze(1)

    def _bounds(self) -> torch.Tensor:
        """(rows + 1,) flat index where each row begins."""
        if self._inputs.offsets is not None:
            return torch.from_numpy(self._inputs.offsets).to(self._device)
        rows, columns = self._inputs.logprobs.shape
        starts: torch.Tensor = torch.arange(rows + 1, device=self._device) * columns
        return starts

    def _per_token(self, row_values: torch.Tensor) -> torch.Tensor:
        """One value a row, as one a token."""
        if self._inputs.offsets is None:
            return row_values.reshape(-1, 1).expand(tuple(self._inputs.logprobs.shape))
        lengths = self._bounds().diff()
        return row_values.reshape(-1).repeat_interleave(lengths)

    def _place(self, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(local row, column) of flat indices."""
        bounds = self._bounds()
        row = torch.searchsorted(bounds, index, right=True) - 1
        return row, index - bounds[row]

    def _classify(self, advantages: torch.Tensor) -> torch.Tensor:
        """(tokens,) int8: 1, -1, or 0 for no candidate. One value a row is spread as a byte."""

        def spread(values: torch.Tensor) -> torch.Tensor:
            return (self._per_token(values) if self._inputs.per_row else values).reshape(-1)

        nan = spread(torch.isnan(advantages)) & self._mask
        if bool(nan.any()):
            row, column = self._position(nan)
            raise ArgumentError(
                f"advantage at row {row}, column {column} is nan\n"
                "hint: mask the token out, or settle the reward first"
            )
        signs = spread((advantages > 0).to(torch.int8) - (advantages < 0).to(torch.int8))
        return signs.masked_fill(~self._mask, 0)

    def _position(self, where: torch.Tensor) -> tuple[int, int]:
        first = torch.nonzero(where)[:1, 0]
        row, column = self._place(first)
        return int(row), int(column)

    def _complain(self, bad: torch.Tensor) -> None:
        row, column = self._position(bad)
        value = float(self._logprobs[torch.nonzero(bad)[0, 0]])
        limit = "finite" if not np.isfinite(value) else "at most 0 (1e-3 with rounding)"
        raise ArgumentError(
            f"log-probability at row {row}, column {column} must be {limit}, got {value:g}\n"
            "hint: mask the token out, or pass drop_nonfinite=True to drop and count such tokens"
        )

    def survey(self) -> tuple[int, int, int, int]:
        """(tokens, positive, negative, dropped)."""
        positive, negative = (len(self._candidates[sign]) for sign in (1, -1))
        return int(self._mask.sum()), positive, negative, self._dropped

    def _composite(self, rule: Rule) -> torch.Tensor:
        """Keys of the rule's candidates, the first selected the largest."""
        keys = ordered_keys(self._logprobs[self._candidates[rule.sign]], self._kind)
        if rule.tail == "high":
            return keys
        bits = _BITS[self._kind]
        return ~keys if bits == 64 else keys ^ ((1 << bits) - 1)

    def _ties(self, index: torch.Tensor) -> torch.Tensor:
        """Global index (row, column) of flat indices as one number."""
        row, column = self._place(index)
        return self._rows[row] << 32 | column

    def digits(self, rule: Rule, prefix: tuple[int, int, int]) -> NDArray[np.int64]:
        """256 counts of the next digit among the tokens that agree with the prefix."""
        key, tie, level = prefix
        bits = _BITS[self._kind]
        numbers, known = self._composite(rule), key
        if level >= bits // 8:
            equal = numbers == _signed(key)
            numbers = ~self._ties(self._candidates[rule.sign][equal])
            bits, known, level = 64, tie, level - bits // 8
        if level:
            leading = (numbers >> (bits - 8 * level)) & ((1 << 8 * level) - 1)
            numbers = numbers[leading == known]
        digit = (numbers >> (bits - 8 * (level + 1))) & 255
        counts: NDArray[np.int64] = torch.bincount(digit, minlength=256).cpu().numpy()
        return counts

    def _chosen(self, rule: Rule, cutoff: tuple[int, int] | None) -> torch.Tensor:
        """Flat indices of the rule's set."""
        index = self._candidates[rule.sign]
        if self._plan.selector == "quantile":
            if cutoff is None:
                return index[:0]
            numbers, key = self._composite(rule), _signed(cutoff[0])
            # Flipping the sign bit turns the signed comparison into an unsigned one.
            beyond = (numbers ^ _SIGN) > (key ^ _SIGN)
            equal = numbers == key
            last = ((1 << 64) - 1) ^ cutoff[1]
            if last < 1 << 63:
                equal = equal & (self._ties(index) <= last)
            return index[beyond | equal]
        log_p = self._logprobs[index].double()
        if self._plan.selector == "threshold":
            score = float(np.log(self._plan.threshold)) - log_p
        else:
            h, c = (self._statistic(name, index) for name in ("entropy", "concentration"))
            score = -(log_p.exp() * (log_p + h) + c)
        return index[score > 0 if rule.tail == "high" else score < 0]

    def _statistic(self, name: str, index: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = getattr(self._inputs, name).reshape(-1)[index].double()
        bad = ~torch.isfinite(values)
        if bool(bad.any()):
            where = torch.zeros(self._n, dtype=torch.bool, device=self._device)
            where[index[bad]] = True
            row, column = self._position(where)
            value = float(values[torch.nonzero(bad)[0, 0]])
            raise ArgumentError(
                f"{name} at row {row}, column {column} must be finite, got {value:g}\n"
                "hint: mask the token out"
            )
        return values

    def _open(self) -> torch.Tensor | bool:
        """Where the gate lets factors apply."""
        plan, inputs = self._plan, self._inputs
        if plan.granularity == "token":
            below: torch.Tensor = inputs.entropy.reshape(-1).double() < plan.target
            return below
        if plan.granularity == "sample":
            if inputs.row_entropy is not None:
                means = inputs.row_entropy.double()
            else:
                values = inputs.entropy.reshape(-1).double().masked_fill(~self._mask, 0)
                row, _ = self._place(torch.arange(self._n, device=self._device))
                sums = torch.zeros(inputs.rows, dtype=torch.float64, device=self._device)
                counts = torch.zeros_like(sums)
                sums.index_add_(0, row, values)
                counts.index_add_(0, row, self._mask.double())
                means = sums / counts
            return self._per_token(means < plan.target).reshape(-1)
        return plan.on

    def apply(
        self, cutoffs: Sequence[tuple[int, int] | None]
    ) -> tuple[Any, Sequence[int], Sequence[int]]:
        """(flat weights, selected by rule, tokens by pattern)."""
        rules = self._plan.rules
        pattern = torch.zeros(self._n, dtype=torch.uint8, device=self._device)
        selected = []
        for r, (rule, cutoff) in enumerate(zip(rules, cutoffs, strict=True)):
            index = self._chosen(rule, cutoff)
            selected.append(len(index))
            pattern[index] |= 1 << r
        gate = self._open()
        if gate is False:
            pattern.zero_()
        elif gate is not True:
            pattern.masked_fill_(~gate, 0)
        table = np.ones(1 << MAX_RULES)
        for r, rule in enumerate(rules):
            table[(np.arange(len(table)) >> r & 1).astype(bool)] *= rule.factor
        weights = torch.from_numpy(table).to(self._device, self._dtype)[pattern.int()]
        counts = torch.bincount(pattern.int(), minlength=1 << MAX_RULES).cpu()
        counts[0] = 0
        return weights, selected, counts.tolist()


def select_on_device(
    inputs: Inputs, plan: Plan, *, drop_nonfinite: bool, wide: bool
) -> tuple[torch.Tensor, ReweightStats]:
    """Flat weights on the tensors' device, and the counts."""
    from stare.algo.sharded import ShardedSelection, run

    shard = ShardedSelection.of_kernel(
        inputs,
        plan,
        DeviceKernel(
            inputs,
            plan,
            np.arange(inputs.rows, dtype=np.int64),
            drop_nonfinite=drop_nonfinite,
            wide=wide,
        ),
    )
    run([shard])
    return shard.finish_flat()
