from __future__ import annotations

from typing import Any

import pytest
import torch

from stare.errors import ArgumentError, DataError, RunError
from stare.rollout import hf_batch
from stare.rollout.hf import TransformersSampler
from stare.rollout.sampler import SamplingParams, TokenSampler
from stare.rollout.stop import StopTexts
from stare.types import Completion
from tiny_llm import EOS, EOS2, tiny_model, tiny_tokenizer

PROMPTS = ["ab", "what is 1+1?", "c", "seven minus two is"]


def sampler(model: Any = None, **options: Any) -> TransformersSampler:
    return TransformersSampler(
        tiny_model() if model is None else model, tiny_tokenizer(), "cpu", **options
    )


def ids(groups: list[list[Completion]]) -> list[list[list[int]]]:
    return [[c.token_ids for c in group] for group in groups]


def flat(groups: list[list[Completion]]) -> list[Completion]:
    return [c for group in groups for c in group]


def teacher_forced(
    model: Any, c: Completion, temperature: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """One row, no padding, no cache: the slow twin."""
    row = torch.tensor([[*c.prompt_ids, *c.token_ids]])
    with torch.no_grad():
        logits = model(input_ids=row, use_cache=False).logits[0, len(c.prompt_ids) - 1 : -1]
    logp = (logits.double() / temperature).log_softmax(-1)
    picked = logp.gather(-1, torch.tensor(c.token_ids)[:, None])[:, 0]
    return picked, -(logp.exp() * logp).sum(-1)


@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize(
    "options", [{}, {"max_batch": 1}, {"max_batch": 5}, {"max_batch_tokens": 70}]
)
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_and_entropies_equal_a_teacher_forced_forward(
    window: int | None, options: dict[str, int], temperature: float
) -> None:
    model = tiny_model(sliding_window=window)
    params = SamplingParams(n=3, max_tokens=24, temperature=temperature, seed=3)
    ends = [EOS, EOS2, 7, 11, 20]
    groups = sampler(model, eos_token_ids=ends, **options).sample(PROMPTS, params)
    assert [len(group) for group in groups] == [3] * len(PROMPTS)
    assert len({len(c.token_ids) for c in flat(groups)}) > 1, "rows of unequal length"
    for c in flat(groups):
        logprobs, entropies = teacher_forced(model, c, temperature)
        torch.testing.assert_close(torch.tensor(c.logprobs).double(), logprobs, atol=1e-4, rtol=0)
        torch.testing.assert_close(torch.tensor(c.entropies).double(), entropies, atol=1e-4, rtol=0)


@pytest.mark.parametrize("top_p", [1.0, 0.8])
def test_batching_and_order_do_not_change_responses(top_p: float) -> None:
    model = tiny_model()
    params = SamplingParams(n=4, max_tokens=16, seed=11, top_p=top_p)
    whole = ids(sampler(model).sample(PROMPTS, params))
    for options in ({"max_batch": 1}, {"max_batch": 3}, {"max_batch_tokens": 100}):
        assert ids(sampler(model, **options).sample(PROMPTS, params)) == whole
    assert ids(sampler(model).sample(PROMPTS[::-1], params)) == whole[::-1]
    alone = [sampler(model).sample([prompt], params)[0] for prompt in PROMPTS]
    assert ids(alone) == whole


def test_a_seed_of_its_own_decides_a_response_whatever_is_sampled_beside_it() -> None:
    model, params = tiny_model(), SamplingParams(max_tokens=16, top_p=0.9)
    seeds = [[5, 6], [7], [5], [8, 9, 10]]
    whole = ids(sampler(model).sample(PROMPTS, params, seeds))
    assert [len(group) for group in whole] == [2, 1, 1, 3]
    for prompt, group, some in zip(PROMPTS, whole, seeds, strict=True):
        for response, seed in zip(group, some, strict=True):
            for options in ({"max_batch": 1}, {"max_batch": 3}):
                alone = sampler(model, **options).sample([prompt], params, [[seed]])
                assert ids(alone) == [[response]]
    again = ids(sampler(model, max_batch=2).sample(PROMPTS * 2, params, seeds * 2))
    assert again == whole * 2, "a repeated prompt with the same seed repeats its response"
    with pytest.raises(ArgumentError, match="4 prompts and seeds for 1"):
        sampler(model).sample(PROMPTS, params, [[1]])


def test_more_samples_or_tokens_extend_what_is_there() -> None:
    s = sampler()
    few = ids(s.sample(PROMPTS, SamplingParams(n=2, max_tokens=8, seed=1)))
    many = ids(s.sample(PROMPTS, SamplingParams(n=4, max_tokens=12, seed=1)))
    assert [[r[:8] for r in group[:2]] for group in many] == few


def test_the_seed_alone_decides_and_the_global_state_is_untouched() -> None:
    s, params = sampler(), SamplingParams(n=2, max_tokens=12, seed=5)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = ids(s.sample(PROMPTS, params))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert ids(s.sample(PROMPTS, params)) == first
    assert ids(s.sample(PROMPTS, SamplingParams(n=2, max_tokens=12, seed=6))) != first


def test_equal_prompts_and_members_of_a_group_differ() -> None:
    groups = ids(sampler().sample(["ab", "ab"], SamplingParams(n=3, max_tokens=12)))
    responses = [tuple(r) for group in groups for r in group]
    assert len(set(responses)) == len(responses)


def test_greedy_equals_generate() -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    groups = sampler(model).sample(PROMPTS, SamplingParams(max_tokens=12, temperature=0))
    for prompt, (c,) in zip(PROMPTS, groups, strict=True):
        row = torch.tensor([tokenizer(prompt)["input_ids"]])
        out = model.generate(
            row, attention_mask=torch.ones_like(row), do_sample=False, max_new_tokens=12
        )
        assert c.token_ids == out[0, row.shape[1] :].tolist()
        logprobs, _ = teacher_forced(model, c)
        torch.testing.assert_close(torch.tensor(c.logprobs).double(), logprobs, atol=1e-4, rtol=0)


def test_stops_at_every_end_token_and_keeps_it() -> None:
    model = tiny_model()
    model.generation_config.eos_token_id = [EOS, EOS2]
    completions = flat(sampler(model).sample(PROMPTS, SamplingParams(n=16, max_tokens=30)))
    last = {c.token_ids[-1] for c in completions if c.finish_reason == "stop"}
    assert last == {EOS, EOS2}
    for c in completions:
        assert not {EOS, EOS2} & set(c.token_ids[:-1])
        if c.finish_reason == "length":
            assert len(c.token_ids) == 30
            assert c.token_ids[-1] not in (EOS, EOS2)
        assert len(c.token_ids) == len(c.logprobs or []) == len(c.entropies or [])
        assert "</s>" not in c.text
        assert "<end>" not in c.text


def spy(model: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    shapes: list[tuple[int, int]] = []
    forward = TransformersSampler.forward

    def counted(self: Any, ids_BL: torch.Tensor, *rest: Any) -> torch.Tensor:
        shapes.append(tuple(ids_BL.shape))
        return forward(self, ids_BL, *rest)

    monkeypatch.setattr(TransformersSampler, "forward", counted)
    return shapes


def test_a_prompt_runs_once_and_finished_rows_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    model, params = tiny_model(), SamplingParams(n=8, max_tokens=30, seed=2)
    shapes = spy(model, monkeypatch)
    groups = sampler(model).sample(PROMPTS, params)
    lengths = sorted(len(c.token_ids) for c in flat(groups))
    assert shapes[0] == (len(PROMPTS), max(map(len, PROMPTS)))
    assert len(shapes) == lengths[-1], "one step a token, and none after the last row has ended"
    for step, (rows, width) in enumerate(shapes[1:], start=1):
        running = sum(length > step for length in lengths)
        assert width == 1
        assert running <= rows
        assert rows - running < hf_batch.COMPACT_SHARE * rows
    monkeypatch.setattr(hf_batch, "COMPACT_SHARE", 2.0)  # never
    assert ids(sampler(model).sample(PROMPTS, params)) == ids(groups)


def test_batches_respect_both_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    model, params = tiny_model(), SamplingParams(n=5, max_tokens=10)
    shapes = spy(model, monkeypatch)
    sampler(model, max_batch=4, max_batch_tokens=60).sample(PROMPTS, params)
    width = 0
    for rows, columns in shapes:
        width = columns if columns > 1 or rows == 1 else width
        assert rows <= 4
        assert rows * (width + 10) <= 60


def test_the_context_bounds_a_response() -> None:
    s = sampler(tiny_model(context=16), eos_token_ids=[])
    short, long = flat(s.sample(["ab", "abcdefghijklmno"], SamplingParams(max_tokens=40)))
    assert (len(short.token_ids), short.finish_reason) == (14, "length")
    assert (len(long.token_ids), long.finish_reason) == (1, "length")


@pytest.mark.parametrize(
    ("prompts", "options", "message"),
    [
        (["ab", "a" * 64], {}, r"prompt 1 \('aaaa.* has 64 tokens.*63 of the model's context"),
        (["abcd"], {"max_prompt_tokens": 3}, "prompt 0 .* has 4 tokens.*3 of max_prompt_tokens"),
        (["ab", ""], {}, "prompt 1 .* has no tokens"),
    ],
)
def test_unusable_prompts_are_named(
    prompts: list[str], options: dict[str, int], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        sampler(**options).sample(prompts, SamplingParams(max_tokens=4))


@pytest.mark.parametrize(
    "bad",
    [{"n": 0}, {"max_tokens": 0}, {"temperature": -1.0}, {"temperature": float("nan")},
     {"top_p": 0.0}, {"top_p": 1.5}],
)  # fmt: skip
def test_impossible_parameters_are_named(bad: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(bad))):
        sampler().sample(["ab"], SamplingParams(**bad))


def test_a_diverged_model_is_an_error() -> None:
    model = tiny_model()
    with torch.no_grad():
        model.model.norm.weight[0] = float("nan")
    with pytest.raises(RunError, match="NaN or infinite"):
        sampler(model).sample(PROMPTS, SamplingParams(max_tokens=4))


def test_padding_needs_no_pad_token() -> None:
    params = SamplingParams(n=2, max_tokens=10, seed=4)
    without = TransformersSampler(tiny_model(), tiny_tokenizer(pad=False)).sample(PROMPTS, params)
    assert ids(without) == ids(sampler().sample(PROMPTS, params))


def test_no_prompts_and_the_training_flag() -> None:
    model = tiny_model().train()
    s = sampler(model)
    assert s.sample([], SamplingParams()) == []
    s.sample(["ab"], SamplingParams(max_tokens=2))
    assert model.training
    with pytest.raises(DataError):
        s.sample([""], SamplingParams(max_tokens=2))
    assert model.training


def test_autocast_draws_in_float32_and_leaves_gradients_usable() -> None:
    model = tiny_model()
    s = sampler(model, autocast_dtype=torch.bfloat16)
    completions = flat(s.sample(PROMPTS, SamplingParams(n=2, max_tokens=10)))
    for c in completions:
        row = torch.tensor([[*c.prompt_ids, *c.token_ids]])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(input_ids=row).logits[0, len(c.prompt_ids) - 1 : -1]
        logp = logits.float().log_softmax(-1).gather(-1, torch.tensor(c.token_ids)[:, None])[:, 0]
        # bfloat16 has 8 bits; other shapes round differently.
        torch.testing.assert_close(torch.tensor(c.logprobs), logp.detach(), atol=0.2, rtol=0.05)
    logp.sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def stop_tokenizer() -> Any:
    """Byte-level, every byte and some pairs a token: a character or a text may be cut anywhere."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = [("`", "`"), ("``", "`"), ("e", "n"), ("en", "d"), ("d", "Ċ")]
    vocabulary = {"</s>": 0} | {c: 1 + i for i, c in enumerate(alphabet)}
    for left, right in pairs:
        vocabulary[left + right] = len(vocabulary)
    backend = Tokenizer(models.BPE(vocabulary, pairs))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("code ```end\n tail", "```end\n"),
        ("a ``` b", "```"),
        ("x ü§ y", "ü§"),
        ("spaces  here now", "  "),
    ],
)
def test_a_stop_text_is_found_at_the_token_that_completes_it(text: str, stop: str) -> None:
    tokenizer = stop_tokenizer()
    pieces = [tokenizer(text)["input_ids"], [tokenizer(c)["input_ids"] for c in text]]
    pieces[1] = [i for piece in pieces[1] for i in piece]
    assert pieces[0] != pieces[1] or "`" not in text, "merged tokens and single bytes"
    for ids_T in pieces:
        for filler in ([], [0, 0, 0]):  # special tokens between have no text
            stops = StopTexts(tokenizer, ("never", stop), rows=2)
            row = [t for token in ids_T for t in (*filler, token)]
            found = [i for i, t in enumerate(row) if stops.completed([1], [t])[0]]
            naive = [
                i
                for i in range(len(row))
                if stop in tokenizer.decode(row[: i + 1], skip_special_tokens=True)
            ]
            assert found[0] == naive[0]


def test_a_stop_text_ends_a_response_and_is_kept() -> None:
    s = sampler(eos_token_ids=[])
    free = flat(s.sample(PROMPTS, SamplingParams(n=4, max_tokens=24, seed=2)))
    stop = next(c.text[9:11] for c in free if len(c.text) > 12)
    cut = flat(s.sample(PROMPTS, SamplingParams(n=4, max_tokens=24, seed=2, stop=(stop,))))
    assert any(stop in c.text for c in cut)
    for before, after in zip(free, cut, strict=True):
        assert before.token_ids[: len(after.token_ids)] == after.token_ids
        assert (stop in after.text) == (after.finish_reason == "stop") == (stop in before.text)
        if stop in after.text:
            assert after.text.endswith(stop)
            assert after.text.count(stop) == 1
    with pytest.raises(ArgumentError, match="stop texts must not be empty"):
        s.sample(PROMPTS, SamplingParams(stop=("",)))


def test_token_prompts_equal_text_prompts_and_may_exceed_the_prompt_limit() -> None:
    s, params = sampler(max_prompt_tokens=40), SamplingParams(max_tokens=12)
    seeds = [[5, 6], [7], [5], [8]]
    encoded = tiny_tokenizer()(PROMPTS, add_special_tokens=False)["input_ids"]
    assert isinstance(s, TokenSampler)
    assert s.sample_tokens(encoded, params, seeds) == s.sample(PROMPTS, params, seeds)
    (long,) = s.sample_tokens([[5] * 60], params, [[1]])
    assert len(long[0].token_ids) <= 4, "the context has 64 tokens"
    assert s.sample_tokens([], params, []) == []
    for ids in ([], [5] * 64):
        with pytest.raises(DataError, match="shorter than the context"):
            s.sample_tokens([ids], params, [[1]])
