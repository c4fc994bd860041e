"""The HTTP back end against a server on loopback that drops, refuses, dies and comes back."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_runs import content
from flaky_server import FlakyServer
from stare.errors import ConfigError
from stare.evals.backends.http import MAX_RETRY_AFTER_S, Endpoint, Pool, retry_after
from stare.evals.backends.openai import read_choice, request_body
from stare.evals.backends.protocol import Request, Sampling
from stare.evals.backends.quirks import KINDS, PLAIN
from stare.evals.config import EvalConfig
from stare.evals.engine import generate
from stare.evals.failures import BackendError
from stare.evals.prompts import Prompt
from stare.evals.records import Key, sample_seed
from stare.evals.session import prepare
from stare.evals.store import RunFolder
from tiny_llm import tiny_tokenizer


def config(*servers: FlakyServer, **changes: Any) -> EvalConfig:
    values: dict[str, Any] = {
        "model": "m",
        "backend": "openai",
        "base_url": tuple(server.url for server in servers),
        "bench": "mini:2",
        "backend_args": {"backoff": 0.01},
        "concurrency": 16,
        **changes,
    }
    return EvalConfig(**values)


def run(folder: Path, *servers: FlakyServer, **changes: Any) -> Any:
    return generate(prepare(config(*servers, **changes)), RunFolder(folder), quiet=True)


def seeds(n: int = 2) -> set[int]:
    """Seeds of the samples of `mini:n`."""
    session = prepare(EvalConfig(model="m", backend="mock", bench=f"mini:{n}"))
    return {
        sample_seed(0, Key("mini", problem, k)) for _, problem in session.prompts for k in range(n)
    }


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("reference") / "run"
    with FlakyServer() as server:
        run(folder, server)
    assert sorted(server.answered) == sorted(seeds())
    assert set(server.answered.values()) == {1}
    return content(folder)


FAULTS = {
    "drop": lambda number: "drop" if number % 3 == 0 else None,
    "half": lambda number: "half" if number % 3 == 1 else None,
    "429": lambda number: (429, {"Retry-After": "0.02"}) if number % 4 == 0 else None,
    "500": lambda number: (500, {}) if number % 3 == 2 else None,
    "503 first": lambda number: (503, {}) if number < 12 else None,
    "abort": lambda number: "abort" if number % 5 == 0 else None,
    "all": lambda number: ["drop", None, "half", None, (500, {}), None, (429, {})][number % 7],
}


@pytest.mark.parametrize("name", FAULTS)
def test_no_request_is_lost_or_doubled(tmp_path, reference, name):
    with FlakyServer(FAULTS[name]) as server:
        made = run(tmp_path / "a", server, retries=50)
    assert made.complete
    assert made.made == 60
    assert content(tmp_path / "a") == reference
    lines = (tmp_path / "a/samples/mini.w0.jsonl").read_bytes().count(b"\n")
    assert lines == 60
    if name != "abort":
        assert set(server.answered.values()) == {1}, "nothing was answered twice"
    assert len(server.bodies) > 60
    assert {body["n"] for body in server.bodies} == {1}


def test_a_server_that_dies_and_comes_back(tmp_path, reference):
    with FlakyServer() as server:
        server.delay = 0.03

        def outage() -> None:
            while len(server.bodies) < 20:
                time.sleep(0.005)
            server.stop()
            time.sleep(0.4)
            server.start()

        thread = threading.Thread(target=outage)
        thread.start()
        made = run(tmp_path / "a", server, retries=40, concurrency=4)
        thread.join()
    assert made.made == 60
    assert content(tmp_path / "a") == reference


def test_a_server_that_stays_away_ends_the_run_and_the_next_call_goes_on(tmp_path, reference):
    with FlakyServer() as server:
        server.fault = lambda number: "drop" if number >= 25 else None
        with pytest.raises(BackendError, match=r"no answer in 5 tries, .*\n.*goes on") as caught:
            run(tmp_path / "a", server, retries=5, concurrency=4)
        assert caught.value.exit_code == 4
        kept = content(tmp_path / "a")
        assert 20 <= len(kept) <= 25
        assert all(row["finish_reason"] != "error" for row in kept), "lost is not refused"
        server.fault = lambda number: None
        made = run(tmp_path / "a", server, concurrency=4)
    assert made.before == len(kept)
    assert content(tmp_path / "a") == reference


def test_with_two_servers_one_may_be_dead(tmp_path, reference):
    with FlakyServer() as one, FlakyServer() as two:
        one.delay = two.delay = 0.01
        made = run(tmp_path / "a", one, two)
        assert made.made == 60
        assert min(len(one.bodies), len(two.bodies)) > 15, "the work is shared"
        one.fault = lambda number: "drop"
        begin = time.monotonic()
        run(tmp_path / "b", one, two)
        assert time.monotonic() - begin < 5
    assert content(tmp_path / "a") == content(tmp_path / "b") == reference


def test_tries_are_bounded_and_pauses_grow():
    with FlakyServer(lambda number: (500, {})) as server:
        pool = Pool([server.url], retries=4, backoff=0.05)
        with pytest.raises(BackendError, match=r"no answer in 4 tries, the last: .*HTTP 500"):
            asyncio.run(pool.post("/completions", {"seed": 1}, lambda body: None))
        pool.close()
    gaps = [b - a for a, b in zip(server.times, server.times[1:], strict=False)]
    assert len(server.times) == 4
    for gap, low in zip(gaps, (0.0375, 0.075, 0.15), strict=True):
        assert gap >= low


def test_retry_after_is_honoured():
    first = lambda number: (429, {"Retry-After": "0.3"}) if number == 0 else None  # noqa: E731
    with FlakyServer(first) as server:
        pool = Pool([server.url], backoff=0.001)
        answer = asyncio.run(pool.post("/completions", {"seed": 1}, lambda body: None))
        pool.close()
    assert answer.attempts == 2
    assert server.times[1] - server.times[0] >= 0.3


def test_requests_that_fail_together_lengthen_the_pause_once():
    endpoint = Endpoint("http://127.0.0.1:1/v1", stall_limit=None, backoff=1.0)
    for _ in range(100):
        endpoint.ill(now=10.0)
    assert 10.75 <= endpoint.down_until <= 11.25
    endpoint.ill(now=20.0)
    assert 21.5 <= endpoint.down_until <= 22.5
    endpoint.ill(now=20.1, at_least=9.0)
    assert endpoint.down_until == pytest.approx(29.1)
    endpoint.well()
    assert endpoint.down_until == 0.0


@given(st.text(max_size=20))
def test_retry_after_never_fails(text: str):
    seconds = retry_after(text, 0.0)
    assert seconds is None or 0.0 <= seconds <= MAX_RETRY_AFTER_S


def test_a_refused_request_is_recorded_and_tried_by_the_next_call(tmp_path, reference):
    bad = min(seeds())
    with FlakyServer() as server:
        real = server.fault
        server.fault = lambda number: (400, {}) if server.bodies[number]["seed"] == bad else None
        made = run(tmp_path / "a", server, concurrency=1)
        assert not made.complete
        assert [reason for _, reason in made.errors] == [
            f"{server.url}/chat/completions: HTTP 400: told to say 400"
        ]
        assert len(server.bodies) == 60, "a refusal is not tried again at once"
        server.fault = real
        again = run(tmp_path / "a", server)
    assert (again.before, again.made) == (59, 1)
    assert content(tmp_path / "a") == reference


@pytest.mark.parametrize(("status", "words"), [(401, "the key is refused"), (404, "no such model")])
def test_a_refused_key_or_model_ends_the_run(tmp_path, status, words):
    with (
        FlakyServer(lambda number: (status, {})) as server,
        pytest.raises(BackendError, match=words),
    ):
        run(tmp_path / "a", server)


def test_a_server_of_another_model_is_refused_by_name(tmp_path):
    with FlakyServer() as server, pytest.raises(BackendError, match=r"'x'\nhint: it serves m"):
        run(tmp_path / "a", server, model="x")
    assert server.bodies == []


def test_the_stall_limit_is_for_bytes_and_off_by_default(tmp_path):
    with FlakyServer(lambda number: "hang" if number == 0 else None) as server:
        begin = time.monotonic()
        made = run(tmp_path / "a", server, stall_limit=0.3, limit=2)
        assert made.complete
        assert 0.3 <= time.monotonic() - begin < 4
    with FlakyServer() as server:
        server.delay = 0.4
        assert run(tmp_path / "b", server, limit=1).complete


def test_concurrency_is_bounded_and_connections_are_kept(tmp_path):
    with FlakyServer() as server:
        server.delay = 0.01
        run(tmp_path / "a", server, concurrency=5)
    assert 3 <= server.most_at_once <= 5
    assert server.connections <= 8


def test_the_key_comes_from_the_environment_and_is_written_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    with FlakyServer() as server:
        run(tmp_path / "a", server, limit=1, api_key_env="MY_KEY")
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer sk-very-secret"}
    for path in (tmp_path / "a").rglob("*"):
        assert path.is_dir() or b"very-secret" not in path.read_bytes()


def test_workers_share_a_server(tmp_path, reference):
    with FlakyServer(FAULTS["all"]) as server:
        made = run(tmp_path / "a", server, workers=3, retries=50)
    assert made.made == 60
    assert content(tmp_path / "a") == reference


# --- what is sent, what is read ------------------------------------------------------------------

CHAT = Prompt(text="[]", messages=(("user", "1+1?"),))
RAW = Prompt(text="<s>1+1?", ids=(1, 5, 6), bare="1+1?")


def body_of(prompt: Prompt, kind: str | None, sampling: Sampling, **changes: Any) -> dict[str, Any]:
    server = EvalConfig(model="m", backend="openai", base_url=("http://h/v1",), **changes)
    request = Request(key=Key("b", "p", 0), seed=2**62 + 5, prompt=prompt)
    return request_body(server, sampling, KINDS[kind] if kind else PLAIN, request)


def test_every_sampling_field_is_sent_so_that_no_default_of_the_server_counts():
    plain = body_of(CHAT, None, Sampling(temperature=0.6, top_p=0.95))
    assert plain["messages"] == [{"role": "user", "content": "1+1?"}]
    assert (plain["temperature"], plain["top_p"], plain["n"]) == (0.6, 0.95, 1)
    assert not {"top_k", "min_p", "stop"} & plain.keys(), "fields OpenAI itself refuses"
    vllm = body_of(CHAT, "vllm", Sampling(stop=("</answer>",)))
    assert (vllm["top_k"], vllm["min_p"], vllm["repetition_penalty"]) == (-1, 0.0, 1.0)
    assert vllm["include_stop_str_in_output"]
    assert vllm["stop"] == ["</answer>"]
    assert vllm["seed"] == 2**62 + 5
    llama = body_of(CHAT, "llamacpp", Sampling())
    assert (llama["top_k"], llama["min_p"], llama["repeat_penalty"]) == (0, 0.0, 1.0)
    assert llama["seed"] == 5
    assert body_of(CHAT, "llamacpp", Sampling(top_k=20))["top_k"] == 20
    thinking = body_of(CHAT, "vllm", Sampling(), thinking="off")
    assert thinking["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_rendered_prompt_never_gets_a_second_bos():
    vllm = body_of(RAW, "vllm", Sampling())
    assert (vllm["prompt"], vllm["add_special_tokens"]) == ("<s>1+1?", False)
    other = body_of(RAW, None, Sampling())
    assert other["prompt"] == "1+1?"
    assert "add_special_tokens" not in other
    with pytest.raises(ConfigError, match="--tokenizer"):
        body_of(CHAT, None, Sampling(), api="completions")
    with pytest.raises(ConfigError, match="raw template needs"):
        body_of(RAW, None, Sampling(), api="chat")


def test_thinking_and_stop_strings_are_put_back():
    message = {"content": "so 4</answer>", "reasoning_content": "2+2"}
    choice = {"message": message, "finish_reason": "stop", "stop_reason": "</answer>"}
    sampling = Sampling(stop=("</answer>",))
    response = read_choice({"choices": [choice]}, sampling)
    assert response.text == "<think>\n2+2\n</think>\n\nso 4</answer>"
    assert response.stop_hit == "</answer>"
    cut = {"text": "so 4", "finish_reason": "stop", "stop_reason": "</answer>"}
    assert read_choice({"choices": [cut]}, sampling).text == "so 4</answer>"
    null = {"message": {"content": None}, "finish_reason": "length"}
    empty = read_choice({"choices": [null]}, sampling)
    assert (empty.text, empty.finish_reason, empty.n_tokens) == ("", "length", None)


def test_a_raw_template_goes_to_completions(tmp_path):
    with FlakyServer() as server:
        run(tmp_path / "a", server, template="r1-zero", limit=1)
    assert {"prompt" in body for body in server.bodies} == {True}
    assert server.bodies[0]["prompt"].endswith("Assistant: <think>")
    assert server.bodies[0]["stop"] == ["</answer>"]


def test_a_tokenizer_renders_here(tmp_path):
    tokenizer = tiny_tokenizer(chat=True, adds_bos=True)
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    with FlakyServer(kind="unknown") as server:
        run(tmp_path / "a", server, tokenizer=str(tmp_path / "tokenizer"), limit=1)
    prompt = server.bodies[0]["prompt"]
    assert prompt.endswith("=")
    assert not prompt.startswith("<s>"), "this server adds it by itself"
    row = next(iter(RunFolder(tmp_path / "a").prompts().values()))
    assert row.text == f"<s>{prompt}"
    assert json.loads((tmp_path / "a/manifest.json").read_text())["tokenizer"]["chat_template"]
