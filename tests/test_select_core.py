"""The extension itself: whatever it is handed, it raises and never panics."""

from __future__ import annotations

import numpy as np
import pytest

from stare import _core
from stare.errors import ArgumentError

LOGPROBS = np.full((2, 3), -1.0, np.float32)
ADVANTAGES = np.ones((2, 1), np.float32)
MASK = np.ones((2, 3), np.uint8)
RULES = [(1, True, 0.5, 2.0)]


def batch(logprobs=LOGPROBS, advantages=ADVANTAGES, mask=MASK, kind="f32", **options):
    options = {"per_row": True} | options
    return _core.Batch((logprobs, kind), (advantages, "f32"), mask, **options)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"mask": MASK.T.copy()}, ArgumentError, r"mask must have shape \(2, 3\), got \(3, 2\)"),
        ({"advantages": LOGPROBS}, ArgumentError, r"advantages must have shape \(2, 1\)"),
        ({"offsets": [0, 3, 6]}, ArgumentError, r"packed arrays must have one row, got 2"),
        ({"kind": "f64"}, TypeError, r"logprobs must be a two-dimensional array of its format"),
        ({"kind": "f8"}, ValueError, r"format of logprobs must be f32, f64, f16 or bf16"),
        ({"mask": MASK[0]}, TypeError, r"mask must be a two-dimensional array"),
        (
            {"entropy": (LOGPROBS[:1], "f32")},
            ArgumentError,
            r"entropy must have shape \(2, 3\), got \(1, 3\)",
        ),
    ],
)
def test_arrays_that_do_not_fit(changes, error, message):
    with pytest.raises(error, match=message):
        batch(**changes)


@pytest.mark.parametrize("offsets", [[], [1, 6], [0, 5], [0, 4, 2, 6], [0, 7], [0, 2**60]])
def test_bad_offsets(offsets):
    rows = max(len(offsets) - 1, 0)
    packed = batch(
        LOGPROBS.reshape(1, 6), np.ones((rows, 1), np.float32), MASK.reshape(1, 6), offsets=offsets
    )
    with pytest.raises(ArgumentError):
        packed.token_weights(RULES, np.empty(6, np.float32))
    with pytest.raises(ArgumentError):
        packed.survey()


def test_bad_calls():
    good = batch()
    with pytest.raises(ArgumentError, match="weights must have 6 elements, got 5"):
        good.token_weights(RULES, np.empty(5, np.float32))
    with pytest.raises(ArgumentError, match="gate must have 2 elements, got 1"):
        good.token_weights(RULES, np.empty(6), rows_on=np.ones(1, np.uint8))
    with pytest.raises(ArgumentError, match="the token gate needs entropy"):
        good.token_weights(RULES, np.empty(6), target=0.3)
    with pytest.raises(ArgumentError, match=r"selector .critical. is unknown or lacks entropy"):
        good.token_weights(RULES, np.empty(6), selector="critical")
    with pytest.raises(ArgumentError, match=r"threshold must lie in \(0, 1\], got NaN"):
        good.token_weights(RULES, np.empty(6), selector="threshold")
    with pytest.raises(ArgumentError, match=r"ratio must lie in \[0, 1\], got 1.5"):
        good.token_weights([(1, True, 1.5, 2.0)], np.empty(6))
    with pytest.raises(ArgumentError, match="factor must be a positive finite number, got 0"):
        good.token_weights([(1, True, 0.5, 0.0)], np.empty(6))
    with pytest.raises(ArgumentError, match="at most 8 rules are allowed, got 9"):
        good.token_weights(RULES * 9, np.empty(6))
    with pytest.raises(ArgumentError, match=r"below 2\*\*32"):
        good.survey(first_row=2**32 - 1)
    with pytest.raises(ArgumentError, match="rows must have 2 elements, got 1"):
        good.survey(rows=np.zeros(1, np.int64))
    # A level beyond the last digit counts the last one again; it must not overflow.
    assert good.digit_histogram(RULES[0], (0, 0, 10**6)).sum() == 0
    with pytest.raises(ArgumentError, match="format must be"):
        _core.surprisal(0, "f8")
    with pytest.raises(ArgumentError, match="group of response 1 must be below 1, got 3"):
        _core.group_advantages(np.ones(2), [0, 3], 1)


@pytest.mark.parametrize(
    ("n", "ratio", "k"), [(100, 0.07, 7), (2**64 - 1, 1.0, 2**64 - 1), (9, 5e-324, 1), (9, 0.0, 0)]
)
def test_quota(n, ratio, k):
    assert _core.quota(n, ratio) == k


def test_output_that_is_read_only_or_overlaps_is_refused():
    out = np.empty(6, np.float32)
    out.flags.writeable = False
    with pytest.raises(Exception, match="writeable"):
        batch().token_weights(RULES, out)
    logprobs = LOGPROBS.copy()
    with pytest.raises(Exception, match="borrow"):
        batch(logprobs).token_weights(RULES, logprobs.reshape(-1))
