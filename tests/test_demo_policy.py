"""The tiny policy: every shortcut equals the plain computation; weights survive a round trip."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
from torch import Tensor  # noqa: E402
from torch.nn.functional import linear  # noqa: E402

from stare.demo.policy import TinyPolicy, load_policy, load_weights, save_weights  # noqa: E402
from stare.demo.vocab import VOCAB_SIZE, Tokenizer  # noqa: E402
from stare.errors import ArgumentError, DataError  # noqa: E402

PAD = Tokenizer.pad_token_id


@pytest.fixture(scope="module")
def policy() -> TinyPolicy:
    """Large head weights, so that a wrong position shows in the logits."""
    policy = TinyPolicy(seed=1).double()
    torch.nn.init.normal_(policy.head.weight, std=0.5, generator=torch.Generator().manual_seed(0))
    return policy


def group_batch(groups: int = 4, n: int = 8, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    prompts = torch.randint(0, 100, (groups, 7), generator=generator).repeat_interleave(n, 0)
    responses = torch.randint(0, 100, (groups * n, 13), generator=generator)
    return torch.cat([prompts, responses], dim=1)


def naive_logits(policy: TinyPolicy, ids: list[int]) -> Tensor:
    """(L, V) logits of one sequence: one head and one query at a time."""
    x = policy.token.weight[ids] + policy.position.weight[: len(ids)]
    for block in policy.blocks:
        q, k, v = linear(block.norm1(x), block.qkv.weight, block.qkv.bias).chunk(3, dim=-1)
        E = q.shape[-1] // policy.heads
        mixed = torch.zeros_like(x)
        for h in range(policy.heads):
            part = slice(h * E, (h + 1) * E)
            for t in range(len(ids)):
                scores = k[: t + 1, part] @ q[t, part] / E**0.5
                mixed[t, part] = scores.softmax(0) @ v[: t + 1, part]
        x = x + linear(mixed, block.out.weight, block.out.bias)
        x = x + block.down(block.up(block.norm2(x)).relu())
    logits: Tensor = linear(policy.norm(x), policy.head.weight)
    return logits


def test_size() -> None:
    assert sum(p.numel() for p in TinyPolicy().parameters()) == 115_712


def test_the_seed_alone_decides_the_weights() -> None:
    torch.manual_seed(5)
    a = TinyPolicy(seed=3).state_dict()
    torch.manual_seed(6)
    b = TinyPolicy(seed=3).state_dict()
    c = TinyPolicy(seed=4).state_dict()
    assert all(torch.equal(a[k], b[k]) for k in a)
    assert not torch.equal(a["head.weight"], c["head.weight"])


def test_logits_equal_the_naive_computation(policy: TinyPolicy) -> None:
    ids = group_batch()
    logits = policy(ids).logits
    for row in (0, 9, 31):
        torch.testing.assert_close(logits[row], naive_logits(policy, ids[row].tolist()))


@pytest.mark.parametrize("keep", [1, 13, 14, 20])
def test_shared_prompts_change_neither_logits_nor_gradients(policy: TinyPolicy, keep: int) -> None:
    ids = group_batch()
    mask = torch.ones_like(ids)
    mask[3, 12:] = 0  # a response that ended early
    mask[17, 8:] = 0
    positions = mask.cumsum(1) - 1
    valid = mask[:, -keep:].bool()
    results = []
    for logits in (
        policy(ids, attention_mask=mask, position_ids=positions, logits_to_keep=keep).logits,
        policy.head(policy.norm(policy._padded(ids, mask, None)))[:, -keep:],
    ):
        policy.zero_grad()
        (logits[valid].square().mean() + logits[valid][:, 3].sin().sum()).backward()
        gradients = [p.grad.clone() for p in policy.parameters() if p.grad is not None]
        results.append((logits[valid].detach(), gradients))
    torch.testing.assert_close(results[0][0], results[1][0])
    for fast, plain in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(fast, plain)


@pytest.mark.parametrize("padding", [1, 3])
def test_left_padding_changes_nothing(policy: TinyPolicy, padding: int) -> None:
    ids = group_batch()
    padded = torch.cat([ids.new_full((len(ids), padding), PAD), ids], dim=1)
    mask = (torch.arange(padded.shape[1]) >= padding).long().expand_as(padded)
    positions = (mask.cumsum(1) - 1).clamp_min(0)
    expected = policy(ids, logits_to_keep=13).logits
    for given in (positions, None):
        out = policy(padded, attention_mask=mask, position_ids=given, logits_to_keep=13).logits
        torch.testing.assert_close(out, expected)


def test_rows_of_different_padding_in_one_batch(policy: TinyPolicy) -> None:
    ids = group_batch(groups=1, n=3)
    rows = torch.full((3, 20), PAD)
    mask = torch.zeros(3, 20, dtype=torch.long)
    for i, (left, right) in enumerate([(0, 0), (4, 2), (2, 5)]):
        rows[i, left : 20 - right] = ids[i, : 20 - left - right]
        mask[i, left : 20 - right] = 1
    logits = policy(rows, attention_mask=mask).logits
    assert torch.isfinite(logits).all()
    for i in range(3):
        real = mask[i].bool()
        torch.testing.assert_close(logits[i][real], naive_logits(policy, rows[i][real].tolist()))


def test_positions_are_honoured(policy: TinyPolicy) -> None:
    ids = group_batch(groups=1, n=2)[:, :5]
    shifted = torch.arange(5).expand(2, 5) + 3
    moved = policy(ids, position_ids=shifted).logits
    assert not torch.allclose(moved, policy(ids).logits)
    counted = policy(ids, position_ids=shifted - 3).logits
    torch.testing.assert_close(counted, policy(ids).logits)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"use_cache": True}, "use_cache must be False"),
        ({"logits_to_keep": 21}, r"logits_to_keep must lie in \[0, 20\], got 21"),
        ({"attention_mask": torch.ones(2, 3)}, r"attention_mask must be \(32, 20\), got \(2, 3\)"),
        ({"position_ids": torch.arange(1, 21).expand(32, 20)}, r"must lie in \[0, 20\), got 20"),
    ],
)
def test_bad_arguments(policy: TinyPolicy, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        policy(group_batch(), **arguments)


def test_a_sequence_longer_than_the_context_is_an_error(policy: TinyPolicy) -> None:
    with pytest.raises(ArgumentError, match="the context is 20 tokens, got 21"):
        policy(torch.zeros(1, 21, dtype=torch.long))


# --- weights ---


def test_weights_survive_a_round_trip(tmp_path: Path) -> None:
    policy = TinyPolicy(seed=2)
    policy.save_pretrained(tmp_path / "step")
    for path in (tmp_path / "step", tmp_path / "step" / "model.safetensors"):
        loaded, tokenizer = load_policy(SimpleNamespace(init=str(path)), torch.device("cpu"))
        assert all(
            torch.equal(a, b) for a, b in zip(policy.parameters(), loaded.parameters(), strict=True)
        )
        assert tokenizer.vocab_size == VOCAB_SIZE
    assert not list(tmp_path.rglob("*.tmp"))


def test_weights_of_another_model_or_none_are_an_error(tmp_path: Path) -> None:
    save_weights(TinyPolicy(width=32), tmp_path / "narrow.safetensors")
    with pytest.raises(DataError, match="holds the weights of another model"):
        load_weights(TinyPolicy(), tmp_path / "narrow.safetensors")
    with pytest.raises(DataError, match="no weights at"):
        load_policy(SimpleNamespace(init=str(tmp_path / "missing")), "cpu")


@pytest.mark.parametrize("name", ["exact", "mod5", "tol3", "random"])
def test_shipped_weights_load_as_finite_float32(name: str) -> None:
    policy, _ = load_policy(SimpleNamespace(init=name), "cpu")
    assert all(p.dtype == torch.float32 and p.isfinite().all() for p in policy.parameters())
    assert (name == "random") == torch.equal(policy.head.weight, TinyPolicy().head.weight)


def test_the_default_is_the_modular_warm_start() -> None:
    default, named = load_policy()[0], load_policy(SimpleNamespace(init="mod5"), "cpu")[0]
    assert torch.equal(default.head.weight, named.head.weight)
