"""The batched sampler against the plain policy, one token at a time."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import Tensor  # noqa: E402

from stare.demo.policy import TinyPolicy, load_policy  # noqa: E402
from stare.demo.sampler import TinySampler, nucleus  # noqa: E402
from stare.demo.tasks import modular_problems  # noqa: E402
from stare.demo.vocab import EOS, PAD, Tokenizer  # noqa: E402
from stare.errors import ArgumentError, DataError, RunError  # noqa: E402
from stare.rollout.sampler import SamplingParams  # noqa: E402
from stare.types import Completion  # noqa: E402

PROMPTS = [p.problem for p in modular_problems()[1][:6]]


@pytest.fixture(scope="module")
def policy() -> TinyPolicy:
    return load_policy()[0]


@pytest.fixture(scope="module")
def sampler(policy: TinyPolicy) -> TinySampler:
    return TinySampler(policy, Tokenizer(), "cpu")


def flat(groups: list[list[Completion]]) -> list[Completion]:
    return [c for group in groups for c in group]


def naive_nucleus(probs: list[float], top_p: float) -> set[int]:
    """Most likely tokens, ties by index, until their mass reaches top_p."""
    kept: set[int] = set()
    mass = 0.0
    for i in sorted(range(len(probs)), key=lambda i: (-probs[i], i)):
        if mass >= top_p:
            break
        kept.add(i)
        mass += probs[i]
    return kept


def teacher_forced(policy: TinyPolicy, c: Completion, params: SamplingParams) -> Tensor:
    """(T, V) log-probabilities of the distributions that `c` was sampled from."""
    ids = torch.tensor([[*c.prompt_ids, *c.token_ids]])
    with torch.no_grad():
        logits = policy(ids).logits[0, len(c.prompt_ids) - 1 : -1].double()
    logits = logits / (params.temperature or 1.0)
    for row in logits:
        if params.top_p < 1:
            outside = set(range(len(row))) - naive_nucleus(row.softmax(0).tolist(), params.top_p)
            row[list(outside)] = -torch.inf
    return logits.log_softmax(-1)


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(n=5, max_tokens=13, seed=1),
        SamplingParams(n=3, max_tokens=13, seed=2, temperature=0.7),
        SamplingParams(n=3, max_tokens=13, seed=3, temperature=1.3, top_p=0.8),
        SamplingParams(n=2, max_tokens=4, seed=4),
        SamplingParams(n=2, max_tokens=13, temperature=0.0),
    ],
)
def test_statistics_are_those_of_the_policy(
    policy: TinyPolicy, sampler: TinySampler, params: SamplingParams
) -> None:
    groups = sampler.sample(PROMPTS, params)
    assert [len(g) for g in groups] == [params.n] * len(PROMPTS)
    for prompt, group in zip(PROMPTS, groups, strict=True):
        for c in group:
            assert c.prompt_ids == Tokenizer().encode(prompt)
            reference = teacher_forced(policy, c, params)
            chosen = reference.gather(1, torch.tensor(c.token_ids)[:, None])[:, 0]
            entropy = -(reference.exp() * reference.clamp_min(-1e9)).sum(-1)
            torch.testing.assert_close(
                torch.tensor(c.logprobs, dtype=torch.double), chosen, atol=2e-5, rtol=1e-5
            )
            torch.testing.assert_close(
                torch.tensor(c.entropies, dtype=torch.double), entropy, atol=2e-5, rtol=1e-5
            )


def test_greedy_takes_the_most_likely_token(policy: TinyPolicy, sampler: TinySampler) -> None:
    params = SamplingParams(n=1, max_tokens=13, temperature=0.0)
    for c in flat(sampler.sample(PROMPTS, params)):
        assert c.token_ids == teacher_forced(policy, c, params).argmax(-1).tolist()


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.8, 0.9)])
def test_frequencies_follow_the_distribution(
    policy: TinyPolicy, sampler: TinySampler, temperature: float, top_p: float
) -> None:
    """Chi-square of 20,000 first tokens; the seed is fixed, so this does not flicker."""
    n = 20_000
    params = SamplingParams(n=n, max_tokens=1, seed=0, temperature=temperature, top_p=top_p)
    drawn = flat(sampler.sample(PROMPTS[:1], params))
    expected = n * teacher_forced(policy, drawn[0], params)[0].exp()
    counts = torch.bincount(
        torch.tensor([c.token_ids[0] for c in drawn]), minlength=len(expected)
    ).double()
    assert counts[expected == 0].sum() == 0
    common = expected >= 5
    chi2 = ((counts - expected)[common] ** 2 / expected[common]).sum()
    freedom = int(common.sum()) - 1
    assert freedom >= 1
    assert chi2 < freedom + 5 * (2 * freedom) ** 0.5


def test_the_seed_decides_and_nothing_else(sampler: TinySampler) -> None:
    params = SamplingParams(n=8, max_tokens=13, seed=7)
    first = sampler.sample(PROMPTS, params)
    sampler.sample(PROMPTS[:2], SamplingParams(n=3, max_tokens=5, seed=1))  # other shapes between
    torch.manual_seed(123)
    state = torch.get_rng_state()
    assert sampler.sample(PROMPTS, params) == first
    assert torch.equal(torch.get_rng_state(), state)
    other = sampler.sample(PROMPTS, SamplingParams(n=8, max_tokens=13, seed=8))
    assert [c.token_ids for c in flat(other)] != [c.token_ids for c in flat(first)]


def test_samples_of_one_prompt_differ(sampler: TinySampler) -> None:
    group = sampler.sample(PROMPTS[:1], SamplingParams(n=32, max_tokens=13))[0]
    assert len({tuple(c.token_ids) for c in group}) > 16


def test_a_response_ends_with_the_end_token_or_at_the_limit(policy: TinyPolicy) -> None:
    """A flat head makes the end token come anywhere."""
    eager = TinyPolicy()
    with torch.no_grad():
        eager.head.weight.zero_()
    sampler = TinySampler(eager, Tokenizer())
    eos = Tokenizer.eos_token_id
    params = SamplingParams(n=300, max_tokens=13, seed=0)
    lengths = set()
    for c in flat(sampler.sample(PROMPTS[:4], params)):
        assert len(c.token_ids) == len(c.logprobs or []) == len(c.entropies or [])
        assert eos not in c.token_ids[:-1]
        assert c.text == Tokenizer().decode(c.token_ids, skip_special_tokens=True)
        assert not {EOS, PAD} & set(c.text.split())
        assert min(c.entropies or []) >= 0
        assert (c.finish_reason == "stop") == (c.token_ids[-1] == eos)
        assert c.is_truncated == (c.token_ids[-1] != eos)
        assert len(c.token_ids) == 13 or not c.is_truncated
        lengths.add(len(c.token_ids))
    assert lengths == set(range(1, 14))


def test_text_is_the_decoded_response(sampler: TinySampler) -> None:
    for c in flat(sampler.sample(PROMPTS, SamplingParams(n=2, max_tokens=13))):
        assert c.text == Tokenizer().decode(c.token_ids, skip_special_tokens=True)
        assert c.text.endswith("!")


def test_the_limit_is_cut_to_the_context(sampler: TinySampler) -> None:
    a = sampler.sample(PROMPTS, SamplingParams(n=2, max_tokens=13))
    assert sampler.sample(PROMPTS, SamplingParams(n=2, max_tokens=1000)) == a


def test_bad_prompts(sampler: TinySampler) -> None:
    assert sampler.sample([], SamplingParams()) == []
    with pytest.raises(ArgumentError, match=r"same number of tokens, got \[2, 7\]"):
        sampler.sample([PROMPTS[0], "B 1"], SamplingParams())
    with pytest.raises(ArgumentError, match="must fit 20 tokens, got a prompt of 21"):
        sampler.sample(["1 " * 21], SamplingParams())
    with pytest.raises(ArgumentError, match="max_tokens=0"):
        sampler.sample(PROMPTS, SamplingParams(max_tokens=0))
    with pytest.raises(ArgumentError, match="n must be >= 1, got 0"):
        sampler.sample(PROMPTS, SamplingParams(n=0))
    with pytest.raises(ArgumentError, match="temperature must be >= 0, got -1"):
        sampler.sample(PROMPTS, SamplingParams(temperature=-1.0))
    with pytest.raises(ArgumentError, match=r"top_p must lie in \(0, 1\], got 0"):
        sampler.sample(PROMPTS, SamplingParams(top_p=0.0))
    with pytest.raises(DataError, match="unknown token 'hello'"):
        sampler.sample(["hello"], SamplingParams())


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_finite_are_an_error_and_leave_no_trace(temperature: float) -> None:
    policy = load_policy()[0]
    sampler = TinySampler(policy, Tokenizer())
    params = SamplingParams(n=2, max_tokens=13, temperature=temperature)
    before = sampler.sample(PROMPTS, params)
    broken = policy.state_dict()["blocks.0.qkv.bias"].clone()
    with torch.no_grad():
        policy.blocks[0].qkv.bias.fill_(torch.nan)
    with pytest.raises(RunError, match="NaN or infinite logits"):
        sampler.sample(PROMPTS, params)
    with torch.no_grad():
        policy.blocks[0].qkv.bias.copy_(broken)
    assert sampler.sample(PROMPTS, params) == before


@settings(max_examples=100)
@given(
    st.lists(st.integers(-32, 32).map(lambda i: i / 4), min_size=2, max_size=12, unique=True),
    st.floats(0.01, 0.999),
)
def test_nucleus_equals_its_slow_twin(logits: list[float], top_p: float) -> None:
    row = torch.tensor([logits], dtype=torch.double)
    ordered = row[0].softmax(0).sort(descending=True).values.cumsum(0)
    if any(abs(float(m) - top_p) < 1e-9 for m in ordered):
        return  # a tie with the threshold is decided by rounding
    kept = nucleus(row, top_p)[0]
    assert {i for i in range(len(logits)) if kept[i] == row[0, i]} == naive_nucleus(
        row[0].softmax(0).tolist(), top_p
    )


def test_nucleus_grows_with_its_mass() -> None:
    logits = torch.randn(50, 112, generator=torch.Generator().manual_seed(0))
    sizes = [(nucleus(logits, p) == logits).sum(-1) for p in (0.05, 0.3, 0.7, 0.95)]
    assert all((a <= b).all() for a, b in pairwise(sizes))
    assert (sizes[0] >= 1).all()


def test_the_factory_signature_of_the_configuration() -> None:
    model, tokenizer = load_policy(SimpleNamespace(init="exact"), torch.device("cpu"))
    made = TinySampler(model, tokenizer, torch.device("cpu"))
    assert len(made.sample(PROMPTS[:1], SamplingParams(n=2, max_tokens=13))[0]) == 2
