"""Back ends in one process: mock, replay, transformers, and what vLLM is told."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import types
from collections.abc import Sequence
from typing import Any

import pytest

from evals_runs import content, mock_config
from stare.errors import ConfigError, MissingExtraError
from stare.evals.backends.batching import MicroBatcher
from stare.evals.backends.create import create
from stare.evals.backends.mock import truth
from stare.evals.backends.protocol import Request, Response, Sampling
from stare.evals.config import EvalConfig
from stare.evals.engine import generate
from stare.evals.failures import BackendError, RequestError
from stare.evals.prompts import Prompt
from stare.evals.records import Key
from stare.evals.session import prepare
from stare.evals.store import RunFolder
from tiny_llm import tiny_model, tiny_tokenizer


def request(number: int, text: str = "ab") -> Request:
    ids = tuple(tiny_tokenizer()(text)["input_ids"])
    prompt = Prompt(text=text, ids=ids)
    return Request(key=Key("b", "p", number), seed=1000 + number, prompt=prompt)


def answers(backend: Any, requests: Sequence[Request]) -> list[Response]:
    async def ask() -> list[Response]:
        await backend.open()
        try:
            return list(await asyncio.gather(*map(backend.generate, requests)))
        finally:
            await backend.close()

    return asyncio.run(ask())


def plain(responses: Sequence[Response]) -> list[Response]:
    """Without what is rounded differently in batches of other shapes."""
    return [dataclasses.replace(response, logprob_sum=None) for response in responses]


# --- batching ------------------------------------------------------------------------------------


def test_concurrent_requests_become_batches_in_order():
    sizes = []

    def run(batch: Sequence[Request]) -> list[Response]:
        sizes.append(len(batch))
        return [Response(text=str(one.seed), finish_reason="stop") for one in batch]

    async def ask() -> list[Response]:
        batcher = MicroBatcher(run, 4)
        return list(await asyncio.gather(*(batcher.submit(request(i)) for i in range(10))))

    assert [response.text for response in asyncio.run(ask())] == [str(1000 + i) for i in range(10)]
    assert sizes == [4, 4, 2]


def test_a_failing_batch_fails_its_requests_and_no_others():
    def run(batch: Sequence[Request]) -> list[Response]:
        if batch[0].key.sample == 0:
            raise RequestError("no")
        return [Response(text="fine", finish_reason="stop") for _ in batch]

    async def ask() -> list[Any]:
        batcher = MicroBatcher(run, 2)
        calls = (batcher.submit(request(i)) for i in range(4))
        return list(await asyncio.gather(*calls, return_exceptions=True))

    results = asyncio.run(ask())
    assert [type(result) for result in results] == [RequestError, RequestError, Response, Response]


# --- mock and replay -----------------------------------------------------------------------------


def test_the_mock_is_as_good_as_it_is_told():
    keys = [(Key("b", f"p{i}", 0), 7919 * i) for i in range(4000)]
    for accuracy in (0.0, 0.3, 1.0):
        outcomes = [truth(key, seed, accuracy=accuracy) for key, seed in keys]
        assert outcomes.count("correct") / 4000 == pytest.approx(accuracy, abs=0.03)
    outcomes = [truth(key, seed, truncated=0.2, no_answer=0.1) for key, seed in keys]
    assert outcomes.count("truncated") / 4000 == pytest.approx(0.2, abs=0.03)
    assert outcomes.count("no_answer") / 4000 == pytest.approx(0.1, abs=0.03)


def test_back_end_arguments_are_checked_by_name():
    with pytest.raises(ConfigError, match="unexpected keyword argument 'colour'"):
        create(mock_config(backend_args={"colour": 1}), Sampling())
    with pytest.raises(ConfigError, match="accuracy"):
        create(mock_config(backend_args={"accuracy": 2.0}), Sampling())


def test_a_replayed_run_equals_its_recording(tmp_path):
    generate(prepare(mock_config(workers=1)), RunFolder(tmp_path / "a"), quiet=True)
    for workers in (1, 2):
        folder = tmp_path / f"replay{workers}"
        config = mock_config(model=str(tmp_path / "a"), backend="replay", workers=workers)
        generate(prepare(config), RunFolder(folder), quiet=True)
        recorded, replayed = (list(RunFolder(f).samples("mini")) for f in (tmp_path / "a", folder))
        assert replayed == recorded, "times too"
    file = tmp_path / "a/samples/mini.w0.jsonl"
    config = mock_config(model=str(file), backend="replay")
    assert generate(prepare(config), RunFolder(tmp_path / "file"), quiet=True).complete


def test_a_replay_says_what_is_not_recorded_and_keeps_no_seed_of_another_run(tmp_path):
    generate(prepare(mock_config(limit=3)), RunFolder(tmp_path / "a"), quiet=True)
    config = mock_config(model=str(tmp_path / "a"), backend="replay", limit=4, seed=9)
    made = generate(prepare(config), RunFolder(tmp_path / "b"), quiet=True)
    assert (made.made, made.complete) == (6, False)
    assert {reason.split("/")[0] for _, reason in made.errors} == {"mini"}
    assert "is not in the recording" in made.errors[0][1]
    assert {row.get("seed") for row in content(tmp_path / "b") if row["text"]} == {None}
    with pytest.raises(ConfigError, match="no run folder and no samples file"):
        create(mock_config(model=str(tmp_path / "none"), backend="replay"), Sampling())


# --- transformers --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tiny")
    tiny_model(context=512).save_pretrained(folder)
    tiny_tokenizer(chat=True).save_pretrained(folder)
    return str(folder)


def tiny_config(model: str, **changes: Any) -> EvalConfig:
    values: dict[str, Any] = {
        "model": model,
        "backend": "transformers",
        "dtype": "float32",
        "max_tokens": 12,
        "max_batch": 8,
        "backend_args": {"device": "cpu"},
        **changes,
    }
    return EvalConfig(**values)


def test_a_sample_depends_on_its_seed_not_on_what_is_sampled_beside_it(tiny):
    config, sampling = tiny_config(tiny), Sampling(max_tokens=12, top_p=0.9)
    requests = [request(i, text) for i, text in enumerate(["ab", "what is 1?", "ab", "c", "ab"])]
    together = answers(create(config, sampling), requests)
    assert all(response.logprob_sum is not None for response in together)
    together = plain(together)
    assert len({response.text for response in together}) > 2
    for size, order in ((1, 1), (2, -1), (8, -1)):
        backend = create(tiny_config(tiny, max_batch=size), sampling)
        assert plain(answers(backend, requests[::order])[::order]) == together
    for one, response in zip(requests, together, strict=True):
        assert plain(answers(create(config, sampling), [one])) == [response]
    assert {response.n_prompt_tokens for response in together} == {2, 10, 1}


def test_a_run_with_a_model_is_the_same_in_one_go_and_in_pieces(tiny, tmp_path):
    config = tiny_config(tiny, bench="mini:2", limit=3, max_tokens=16)
    generate(prepare(config), RunFolder(tmp_path / "a"), quiet=True)
    pieces = RunFolder(tmp_path / "b")
    for changes in ({"bench": "mini:1", "limit": 1}, {"bench": "mini:1"}, {"max_batch": 1}):
        varied = tiny_config(tiny, **{"bench": "mini:2", "limit": 3, "max_tokens": 16, **changes})
        generate(prepare(varied), pieces, quiet=True)
    one, two = content(tmp_path / "a"), content(tmp_path / "b")
    for row in (*one, *two):
        row.pop("logprob_sum")  # rounding differs with the shape of a batch
    assert one == two
    assert len(one) == 6
    assert all(row["n_tokens"] <= 16 for row in one)
    manifest = RunFolder(tmp_path / "a").manifest()
    assert manifest.sessions[0]["backend"]["dtype"] == "float32"
    assert set(manifest.model) == {"name", "config", "weights"}


def test_a_stop_string_ends_a_response_and_is_kept(tiny):
    requests = [request(i) for i in range(12)]
    free = answers(create(tiny_config(tiny), Sampling(max_tokens=12)), requests)
    stop = free[0].text[3]
    stopped = answers(create(tiny_config(tiny), Sampling(max_tokens=12, stop=(stop,))), requests)
    for before, after in zip(free, stopped, strict=True):
        if stop in before.text:
            assert after.text == before.text[: before.text.index(stop) + 1]
            assert (after.finish_reason, after.stop_hit) == ("stop", stop)
            # One token a character, but for special ones, which have no text.
            assert len(after.text) <= (after.n_tokens or 0) <= (before.n_tokens or 0)
        else:
            assert after == before


def test_what_transformers_cannot_do_is_refused(tiny, tmp_path):
    with pytest.raises(ConfigError, match="no top_k"):
        create(tiny_config(tiny), Sampling(top_k=5))
    with pytest.raises(ConfigError, match="dtype 'float3'"):
        answers(create(tiny_config(tiny, dtype="float3"), Sampling()), [])
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BackendError, match="does not load"):
        answers(create(tiny_config(str(tmp_path)), Sampling()), [])
    with pytest.raises(BackendError, match=r"has no config\.json"):
        prepare(tiny_config(str(tmp_path.parent), bench="mini"))


# --- vllm ----------------------------------------------------------------------------------------


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The part of vLLM that is used, recording what it is told."""
    seen: dict[str, Any] = {"requests": []}

    class Record(types.SimpleNamespace):
        pass

    class AsyncLLM:
        @classmethod
        def from_engine_args(cls, arguments: Any) -> Any:
            seen["engine"] = vars(arguments)
            if arguments.model == "broken":
                raise RuntimeError("no such model")
            return cls()

        async def generate(self, prompt: Any, params: Any, request_id: str) -> Any:
            seen["requests"].append((prompt, vars(params), request_id))
            await asyncio.sleep(0)
            output = Record(
                text=f"seed {params.seed}</a>",
                token_ids=[1, 2],
                finish_reason="stop" if params.seed != 1002 else "abort",
                stop_reason="</a>",
            )
            yield Record(outputs=[output], prompt_token_ids=[5, 6])

        def shutdown(self) -> None:
            seen["shut"] = True

    modules = {
        "vllm": {"AsyncEngineArgs": Record, "SamplingParams": Record, "__version__": "9.9"},
        "vllm.sampling_params": {"RequestOutputKind": Record(FINAL_ONLY="final")},
        "vllm.v1": {},
        "vllm.v1.engine": {},
        "vllm.v1.engine.async_llm": {"AsyncLLM": AsyncLLM},
    }
    for name, contents in modules.items():
        module = types.ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    return seen


def vllm_config(**changes: Any) -> EvalConfig:
    return EvalConfig(**{"model": "m", "backend": "vllm", "tp": 2, **changes})


def test_vllm_gets_one_request_a_sample_and_every_field(stub):
    sampling = Sampling(temperature=0.6, top_p=0.95, max_tokens=7, stop=("</a>",))
    config = vllm_config(backend_args={"gpu_memory_utilization": 0.5})
    first, second = answers(create(config, sampling), [request(0), request(1)])
    assert (first.text, first.stop_hit, first.n_tokens) == ("seed 1000</a>", "</a>", 2)
    assert stub["shut"]
    assert stub["engine"]["generation_config"] == "vllm", "the model's own does not count"
    assert stub["engine"]["tensor_parallel_size"] == 2
    assert stub["engine"]["gpu_memory_utilization"] == 0.5
    prompt, params, name = stub["requests"][1]
    assert prompt == {"prompt_token_ids": list(request(1).prompt.ids or ())}
    assert name == "b/p/1"
    expected = {"n": 1, "seed": 1001, "temperature": 0.6, "top_p": 0.95, "top_k": -1, "min_p": 0.0}
    assert params.items() >= expected.items()
    assert params["max_tokens"] == 7
    assert params["include_stop_str_in_output"]
    assert second.text == "seed 1001</a>"


def test_vllm_that_drops_a_request_or_does_not_start_is_a_broken_back_end(stub):
    with pytest.raises(BackendError, match="vllm dropped b/p/2"):
        answers(create(vllm_config(), Sampling()), [request(2)])
    with pytest.raises(BackendError, match="does not start with broken: no such model"):
        answers(create(vllm_config(model="broken"), Sampling()), [])


def test_vllm_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingExtraError, match="stare-rl\\[vllm\\]"):
        answers(create(vllm_config(), Sampling()), [])
