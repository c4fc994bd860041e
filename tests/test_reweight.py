"""Weights and advantages: the authors' recorded outputs, gates, selectors, forms, bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from stare.algo.reweight import Rule, reweight, rules_for, token_weights
from stare.algo.sharded import token_weights_sharded
from stare.config import StareConfig
from stare.errors import ArgumentError

LOGPROBS = np.array([[-0.1, -2.0, -0.5, -1.0], [-0.3, -1.5, -0.2, -3.0]])
ADVANTAGES = np.array([1.0, -1.0])
MASK = np.ones((2, 4), bool)


def gate(on=True, w=1.1, m=0.9, **more):
    return SimpleNamespace(on=on, w=w, m=m, entropy=0.2, **more)


def test_equals_the_authors_code(shared):
    cases = json.loads((shared / "golden/official_stare.json").read_text())["weights"]
    assert len(cases) == 150
    for case in cases:
        config = StareConfig(variant=case["variant"], top_p_ratio=case["P"])
        weights, _ = token_weights(
            np.array(case["logprobs"], np.float32),
            np.array(case["advantages"], np.float32),
            np.array(case["mask"]),
            config=config,
            gate=gate(case["gate_on"], case["W"], case["M"]),
        )
        np.testing.assert_array_equal(weights, np.array(case["weights"], np.float32))


@pytest.mark.parametrize(
    ("variant", "first", "second"),
    [
        ("O1", [1, 3, 1, 1], [1, 1, 1, 1]),
        ("O2", [1, 1, 1, 1], [1, 1, 1, 0.5]),
        ("O3", [0.5, 1, 1, 1], [1, 1, 1, 1]),
        ("O4", [1, 1, 1, 1], [1, 1, 3, 1]),
        ("C1", [0.5, 3, 1, 1], [1, 1, 1, 1]),
        ("C2", [1, 3, 1, 1], [1, 1, 1, 0.5]),
        ("C3", [0.5, 1, 1, 1], [1, 1, 3, 1]),
        ("C4", [0.5, 3, 1, 1], [1, 1, 3, 0.5]),
    ],
)
def test_variants(variant, first, second):
    config = StareConfig(variant=variant, top_p_ratio=0.25, reweight_w=3, reweight_m=0.5)
    weights, _ = token_weights(LOGPROBS, ADVANTAGES, MASK, config=config)
    assert weights.tolist() == [first, second]


def test_overlapping_rules_multiply():
    rules = (Rule(1, "high", 1.0, 2.0), Rule(1, "low", 0.5, 0.25), Rule(1, "high", 0.25, 3.0))
    weights, stats = token_weights(LOGPROBS, ADVANTAGES, MASK, config=StareConfig(), rules=rules)
    assert weights.tolist() == [[0.5, 6.0, 0.5, 2.0], [1.0] * 4]
    assert stats.mean_weight == pytest.approx(weights.mean())


def test_threshold_selector():
    rules = (Rule(1, "high", 0, 2.0), Rule(-1, "low", 0, 3.0))
    config = StareConfig(selector="threshold", threshold=float(np.exp(-1.25)))
    weights, stats = token_weights(LOGPROBS, ADVANTAGES, MASK, config=config, rules=rules)
    assert weights.tolist() == [[1, 2, 1, 1], [3, 1, 3, 1]]
    assert stats.selected == (1, 2)


def distributions(seed=0, shape=(5, 7), vocabulary=11):
    """Sampled log-probs with the entropy H and concentration C of their distributions."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (*shape, vocabulary))
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    p = np.exp(log_p)
    entropy = -(p * log_p).sum(-1)
    concentration = (p**2 * (-log_p - entropy[..., None])).sum(-1)
    token = rng.integers(0, vocabulary, shape)
    return np.take_along_axis(log_p, token[..., None], -1)[..., 0], entropy, concentration


def test_critical_selector_is_surprisal_beyond_the_root():
    scipy_special = pytest.importorskip("scipy.special")
    logprobs, entropy, concentration = distributions()
    critical = entropy - scipy_special.lambertw(-concentration * np.exp(entropy)).real
    advantages = np.where(np.arange(5) % 2, 1.0, -1.0)
    config = StareConfig(variant="C4", selector="critical", reweight_w=2, reweight_m=0.5)
    statistics = {"entropy": entropy, "concentration": concentration}
    weights, _ = token_weights(logprobs, advantages, None, config=config, **statistics)
    high = -logprobs > critical
    positive = advantages[:, None] > 0
    assert 0 < high.sum() < high.size
    # Amplified where the update raises entropy, attenuated where it lowers it.
    np.testing.assert_array_equal(weights, np.where(positive == high, 2.0, 0.5))
    sharded, _ = token_weights_sharded(
        [(logprobs[:2], advantages[:2], None), (logprobs[2:], advantages[2:], None)],
        config=config,
        entropy=[entropy[:2], entropy[2:]],
        concentration=[concentration[:2], concentration[2:]],
    )
    np.testing.assert_array_equal(np.concatenate(sharded), weights)


def test_gate_off_is_exactly_one_and_open_loop_ignores_it():
    weights, stats = token_weights(
        LOGPROBS, ADVANTAGES, MASK, config=StareConfig(variant="C4"), gate=gate(on=False)
    )
    assert (weights == 1).all()
    assert stats.mean_weight == 1
    assert stats.selected == (1, 1, 1, 1)
    assert not stats.gate_on
    open_loop = StareConfig(gate="off")
    assert token_weights(LOGPROBS, ADVANTAGES, MASK, config=open_loop, gate=gate(on=False))[
        1
    ].gate_on
    assert not token_weights(LOGPROBS, ADVANTAGES, MASK, config=open_loop, gate=False)[1].gate_on


@pytest.mark.parametrize("as_rows", [True, False])
def test_sample_gate(as_rows):
    entropy = np.array([[0.1, 0.1, 9.0, 0.1], [0.5, 0.5, 9.0, 0.5]])
    mask = MASK.copy()
    mask[:, 2] = False
    given = np.array([0.1, 0.5]) if as_rows else entropy
    config = StareConfig(variant="C2", gate="sample", reweight_w=2, reweight_m=0.5)
    call = (LOGPROBS, ADVANTAGES, mask)
    weights, stats = token_weights(*call, config=config, entropy=given)
    assert weights.tolist() == [[1, 2, 1, 1], [1, 1, 1, 1]]
    assert stats.selected == (1, 1)
    assert stats.mean_weight == pytest.approx(weights[mask].mean())
    # A target that the controller moved, whatever its batch gate says.
    moved = gate(on=False, w=2, m=0.5, target=0.6)
    weights, _ = token_weights(*call, config=config, entropy=given, gate=moved)
    assert weights.tolist() == [[1, 2, 1, 1], [1, 1, 1, 0.5]]
    assert (token_weights(*call, config=config, entropy=given, gate=False)[0] == 1).all()


def test_token_gate():
    entropy = np.full((2, 4), 1.0)
    entropy[0, 1] = 0.1
    config = StareConfig(variant="C2", gate="token", top_p_ratio=0.5, reweight_w=2)
    weights, stats = token_weights(LOGPROBS, ADVANTAGES, MASK, config=config, entropy=entropy)
    assert weights.tolist() == [[1, 2, 1, 1], [1, 1, 1, 1]]
    assert stats.selected == (2, 2)
    assert stats.mean_weight == pytest.approx(9 / 8)
    entropy[0, 1] = np.nan
    assert (token_weights(LOGPROBS, ADVANTAGES, MASK, config=config, entropy=entropy)[0] == 1).all()


def test_expanded_and_strided_inputs_are_read_and_never_written():
    big = np.zeros((4, 8))
    big[::2, ::2] = LOGPROBS
    big[1::2] = big[:, 1::2] = np.nan
    strided = big[::2, ::2]
    expanded = np.broadcast_to(ADVANTAGES[:, None], (2, 4))
    config = StareConfig(variant="C2")
    expected, _ = token_weights(LOGPROBS, expanded.copy(), MASK, config=config)
    before = big.copy()
    turned = np.asfortranarray(MASK)
    np.testing.assert_array_equal(
        token_weights(strided, expanded, turned, config=config)[0], expected
    )
    product, _ = reweight(expanded, strided, turned, config=config)
    np.testing.assert_array_equal(product, expected * expanded)
    np.testing.assert_array_equal(big, before)
    tensor = torch.from_numpy(ADVANTAGES)[:, None].expand(2, 4)
    product, _ = reweight(tensor, torch.from_numpy(strided), torch.from_numpy(MASK), config=config)
    np.testing.assert_array_equal(product.numpy(), expected * expanded)
    assert tensor.stride() == (1, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("advantage_dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_tensors_in_tensors_out(dtype, advantage_dtype):
    logprobs = torch.from_numpy(LOGPROBS).to(dtype).requires_grad_()
    advantages = torch.from_numpy(ADVANTAGES).to(advantage_dtype)
    config = StareConfig(variant="C2")
    weights, _ = token_weights(logprobs, advantages, torch.from_numpy(MASK), config=config)
    product, _ = reweight(advantages, logprobs, torch.from_numpy(MASK), config=config)
    assert weights.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert product.dtype == advantage_dtype
    assert not weights.requires_grad
    assert not product.requires_grad
    expected = torch.tensor([[1, 1.1, 1, 1], [-1, -1, -1, -0.9]], dtype=torch.float64)
    torch.testing.assert_close(product, expected.to(advantage_dtype), rtol=0, atol=0)
    torch.testing.assert_close(
        weights, (expected * expected.sign()).to(weights.dtype), rtol=1e-7, atol=0
    )


def test_reweight_of_row_advantages_is_zero_outside_the_mask():
    mask = MASK.copy()
    mask[0, 3] = False
    product, _ = reweight(ADVANTAGES, LOGPROBS, mask, config=StareConfig())
    assert product.tolist() == [[1, 1.1, 1, 0], [-1, -1, -1, -1]]
    # Token advantages stay what they are outside the mask, even where they are nan.
    tokens = np.repeat(ADVANTAGES[:, None], 4, 1)
    tokens[0, 3] = np.nan
    product, _ = reweight(tokens, LOGPROBS, mask, config=StareConfig())
    assert np.isnan(product[0, 3])
    assert product[0, :3].tolist() == [1, 1.1, 1]


def test_packed_with_one_advantage_a_sequence():
    offsets = [0, 4, 4, 8]
    sequence = np.array([1.0, 5.0, -1.0])
    config = StareConfig(variant="C2")
    product, _ = reweight(sequence, LOGPROBS.ravel(), None, config=config, offsets=offsets)
    assert product.tolist() == [1, 1.1, 1, 1, -1, -1, -1, -0.9]
    tensor, _ = reweight(
        torch.from_numpy(sequence),
        torch.from_numpy(LOGPROBS.ravel()),
        None,
        config=config,
        offsets=torch.tensor(offsets),
    )
    assert tensor.tolist() == product.tolist()


def test_ragged_rows_give_ragged_rows():
    rows = [LOGPROBS[0], LOGPROBS[1, :0], LOGPROBS[1, :2]]
    config = StareConfig(variant="C2")
    weights, _ = token_weights(rows, [1.0, 1.0, -1.0], None, config=config)
    assert [w.tolist() for w in weights] == [[1, 1.1, 1, 1], [], [1, 0.9]]
    product, _ = reweight(
        [torch.tensor(1.0).expand(len(row)) for row in rows],
        [torch.from_numpy(row) for row in rows],
        None,
        config=StareConfig(),
    )
    assert [len(p) for p in product] == [4, 0, 2]


def test_empty_and_signless_batches():
    for shape in [(0, 0), (0, 5), (5, 0)]:
        weights, stats = token_weights(
            np.zeros(shape), np.zeros(shape[0]), None, config=StareConfig()
        )
        assert weights.shape == shape
        assert stats.n_tokens == stats.selected[0] == 0
        assert stats.mean_weight == 1
    weights, stats = token_weights(LOGPROBS, np.zeros(2), MASK, config=StareConfig())
    assert (weights == 1).all()
    assert stats.n_tokens == 8
    weights, stats = token_weights(LOGPROBS, ADVANTAGES, ~MASK, config=StareConfig())
    assert (weights == 1).all()
    assert stats.n_tokens == 0


def bad(**changes):
    arguments = {"logprobs": LOGPROBS, "advantages": ADVANTAGES, "mask": MASK} | changes
    config = arguments.pop("config", StareConfig())
    return token_weights(config=config, **arguments)


def poisoned(value):
    logprobs = LOGPROBS.copy()
    logprobs[0, 2] = value
    return logprobs


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"logprobs": poisoned(np.nan)}, r"row 0, column 2 must be finite, got NaN\nhint: "),
        ({"logprobs": poisoned(-np.inf)}, r"row 0, column 2 must be finite, got -inf"),
        ({"logprobs": poisoned(0.5)}, r"row 0, column 2 must be at most 0 .* got 0.5"),
        ({"advantages": np.array([np.nan, 1])}, r"advantage at row 0, column 0 is nan"),
        ({"mask": MASK[:, :3]}, r"mask must have the shape \(2, 4\) of logprobs, got \(2, 3\)"),
        ({"advantages": np.ones(3)}, r"advantages must .* one value a row \(2,\), got \(3,\)"),
        ({"logprobs": LOGPROBS[None]}, r"logprobs must be \(B, T\), packed"),
        ({"logprobs": np.ones((2, 4), int)}, r"logprobs must be float32, .* got int64"),
        ({"advantages": torch.ones(2)}, r"advantages is a tensor but logprobs is an array"),
        ({"offsets": [0, 8]}, r"offsets goes with packed"),
        ({"entropy": np.ones((2, 3))}, r"entropy must have the shape"),
        ({"config": StareConfig(gate="token")}, r"gate='token' needs entropy"),
        ({"config": StareConfig(gate="sample")}, r"gate='sample' needs entropy"),
        ({"config": StareConfig(selector="critical")}, r"selector='critical' needs entropy and"),
        ({"gate": 3}, r"gate must be a GateState, a bool or None, got int"),
        ({"gate": gate(w=0.0)}, r"factor of a rule must be positive and finite, got 0.0"),
        ({"threads": 0}, r"threads must be a positive integer, got 0"),
        ({"rules": [Rule(1, "high", 0.1, 2)] * 9}, r"at most 8 rules are allowed, got 9"),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(ArgumentError, match=message):
        bad(**changes)


@pytest.mark.parametrize("offsets", [[1, 8], [0, 7], [0, 9], [0, 5, 4, 8], [], [0.0, 8.0]])
def test_bad_offsets(offsets):
    with pytest.raises(ArgumentError, match="offsets must"):
        token_weights(
            LOGPROBS.ravel(), np.ones(8), None, config=StareConfig(), offsets=np.array(offsets)
        )


def test_bad_values_can_be_dropped_and_are_counted():
    logprobs = LOGPROBS.copy()
    logprobs[0, 1], logprobs[1, 3] = np.nan, 2.0
    weights, stats = bad(logprobs=logprobs, drop_nonfinite=True, config=StareConfig(variant="C2"))
    assert weights.tolist() == [[1, 1, 1, 1.1], [1, 0.9, 1, 1]]
    assert stats.dropped_nonfinite == 2
    assert (stats.n_tokens, stats.n_positive, stats.n_negative) == (8, 3, 3)
    # Bad values outside the mask or without a sign are not candidates.
    assert bad(logprobs=logprobs, mask=logprobs < 0)[1].dropped_nonfinite == 0
    assert bad(logprobs=logprobs, advantages=np.zeros(2))[1].dropped_nonfinite == 0


def test_thread_environment(monkeypatch):
    monkeypatch.setenv("STARE_NUM_THREADS", "many")
    with pytest.raises(ArgumentError, match="STARE_NUM_THREADS must be a positive integer"):
        bad()
    monkeypatch.setenv("STARE_NUM_THREADS", "2")
    bad()


def test_stats_as_metrics():
    _, stats = bad(config=StareConfig(variant="C2", top_p_ratio=0.25), gate=gate(w=1.2, m=0.8))
    metrics = stats.as_dict()
    assert metrics["stare/gate"] == 1
    assert (metrics["stare/w"], metrics["stare/m"]) == (1.2, 0.8)
    assert metrics["stare/selected_frac"] == 0.25
    assert metrics["stare/threshold_positive_high"] == 2.0
    assert json.loads(json.dumps(metrics)) == metrics
    assert [rule.name for rule in rules_for(StareConfig(variant="C4"), 1.1, 0.9)] == [
        "positive_high",
        "negative_high",
        "positive_low",
        "negative_low",
    ]


def test_numpy_callers_need_no_torch():
    code = (
        "import sys, numpy as np; from stare import token_weights, StareConfig;"
        "token_weights(-np.ones((1, 4)), np.ones(1), None, config=StareConfig());"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ))
