"""Where settings come from, presets, and the command line of a run."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evals_runs import content
from flaky_server import FlakyServer
from stare.errors import ConfigError
from stare.evals.cli import VERBS, main
from stare.evals.config import EvalConfig, load_config, parse_shard, preset_names, to_dict
from stare.evals.doctor import examine
from stare.evals.session import prepare, with_n
from stare.evals.suite import parse
from stare.evals.templates import load_template
from tiny_llm import tiny_model, tiny_tokenizer

MOCK = ["--backend", "mock", "--bench", "mini:2", "--quiet"]


def test_later_sources_win(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('preset = "stare-short-cot"\ntemperature = 0.5\n[backend_args]\na = 1\nb = 2\n')
    flags = {"model": "m", "seed": 7, "backend_args": {"b": 3}, "backend": "mock"}
    config = load_config(file=file, flags=flags)
    assert (config.top_p, config.temperature, config.seed) == (0.7, 0.5, 7)
    assert config.backend_args == {"a": 1, "b": 3}
    assert load_config(preset="qwen-math", file=file, flags=flags).top_p == 1.0
    again = tmp_path / "again.toml"
    saved = {k: v for k, v in to_dict(config).items() if v is not None and k != "backend_args"}
    again.write_text("\n".join(f"{k} = {json.dumps(v)}" for k, v in saved.items()))
    loaded = load_config(file=again)
    assert dataclasses.replace(config, backend_args={}) == loaded, "what is saved can be given back"


@pytest.mark.parametrize("name", preset_names())
def test_presets_name_known_benchmarks_and_templates(name):
    config = load_config(preset=name, flags={"model": "m", "backend": "mock"})
    assert parse(config.bench)
    load_template(config.template)


def test_the_preset_of_the_paper():
    config = load_config(preset="stare-short-cot", flags={"model": "m", "backend": "mock"})
    assert [request.n for request in parse(config.bench)] == [32, 32, 32, 4, 4, 4]
    assert (config.temperature, config.top_p, config.max_tokens) == (1.0, 0.7, 3072)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"temprature": 1.0}, "unknown key temprature\nhint: did you mean temperature"),
        ({"temperature": "hot"}, "temperature must be"),
        ({"top_p": 0.0}, "top_p must lie in"),
        ({"top_k": 0}, "top_k"),
        ({"backend": "openai"}, "needs base_url"),
        ({"backend": "mock", "base_url": ["http://h/v1"]}, "base_url is for back end openai"),
        ({"base_url": ["h:8000"]}, "must look like"),
        ({"base_url": ["http://me:secret@h/v1"]}, r"got 'http://\.\.\.@h/v1'"),
        ({"shard": "3/2"}, "shard must be i/N"),
        ({"workers": 0}, "workers must lie"),
    ],
)
def test_bad_settings_are_named(flags, words):
    with pytest.raises(ConfigError, match=words):
        load_config(flags={"model": "m", **flags})


def test_unknown_presets_and_files(tmp_path):
    with pytest.raises(ConfigError, match="did you mean stare-short-cot"):
        load_config(preset="stare-short")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(file=tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("seed =")
    with pytest.raises(ConfigError, match="no valid TOML"):
        load_config(file=tmp_path / "bad.toml")
    with pytest.raises(ConfigError):
        parse_shard("0/3")


def test_the_back_end_is_found_where_none_is_named():
    assert load_config(flags={"base_url": ["http://h:1/v1"]}).backend == "openai"
    assert load_config(flags={"model": "m"}).backend in ("vllm", "transformers")


def test_n_is_for_benchmarks_without_one():
    assert with_n("aime24, math500:4", 8) == "aime24:8,math500:4"
    session = prepare(EvalConfig(model="m", backend="mock", bench="mini", n=3))
    assert session.plans[0].n == 3


# --- the command line ----------------------------------------------------------------------------


def test_every_setting_is_a_flag(capsys):
    with pytest.raises(SystemExit):
        main(["generate", "--help"])
    out = capsys.readouterr().out
    for field in dataclasses.fields(EvalConfig):
        flag = {"backend_args": "--backend-arg", "model": "MODEL"}.get(
            field.name, f"--{field.name.replace('_', '-')}"
        )
        assert flag in out or field.name in ("price_in", "price_out"), field.name
        assert field.metadata["help"]


def test_help_of_all_verbs_is_quick():
    command = [sys.executable, "-X", "importtime", "-m", "stare.evals.cli", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert all(verb in done.stdout for verb in VERBS)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not loaded & {"numpy", "torch", "rich", "stare._core", "stare.evals.config"}
    best = min(_seconds([sys.executable, "-m", "stare.evals.cli", "--help"]) for _ in range(5))
    assert best < 0.4


def _seconds(command: list[str]) -> float:
    start = time.monotonic()
    subprocess.run(command, capture_output=True, check=True)
    return time.monotonic() - start


def test_generate_speaks_json_and_resumes(tmp_path, capsys):
    command = ["generate", "any", *MOCK, "-o", str(tmp_path / "a"), "--json"]
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["made"], first["before"], first["exit_code"]) == (60, 0, 0)
    assert main(command) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["made"], again["before"]) == (0, 60)
    assert again["fingerprint"] == first["fingerprint"]


def test_words_go_to_stderr(tmp_path, capsys):
    assert main(["generate", "any", *MOCK[:-1], "-o", str(tmp_path / "a")]) == 0
    streams = capsys.readouterr()
    assert streams.out == ""
    assert f"run folder {tmp_path / 'a'}" in streams.err
    assert "60 samples made" in streams.err


def test_a_dry_run_makes_nothing(tmp_path, capsys):
    command = ["generate", "any", *MOCK, "-o", str(tmp_path / "a"), "--dry-run", "--shard", "1/4"]
    assert main(command) == 0
    assert "15 samples, 15 to make" in capsys.readouterr().out
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "no MODEL"),
        (["m", "--backend", "mock", "--bench", "aime2024"], 2, "did you mean aime24"),
        (["m", "--backend", "mock", "--bench", "mini", "--preset", "x"], 2, "no preset is named"),
        (["m", "--backend", "mock", "--bench", "aime24", "--data-dir", "/none"], 3, "not imported"),
        (["/none", "--backend", "transformers", "--bench", "mini"], 4, "no model folder"),
        (["m", "--backend", "mock", "--bench", "mini", "--temperature", "-1"], 2, "temperature"),
    ],
)
def test_exit_codes(tmp_path, capsys, words, code, said):
    assert main(["generate", *words, "-o", str(tmp_path / "a")]) == code
    assert said in capsys.readouterr().err


def test_missing_samples_are_exit_code_5_and_a_dead_server_4(tmp_path, capsys):
    with FlakyServer(lambda number: (400, {}) if number == 3 else None) as server:
        command = ["generate", "m", "--base-url", server.url, "--bench", "mini:1", "--limit", "5"]
        command += ["-o", str(tmp_path / "a"), "--retries", "2", "--backend-arg", "backoff=0.01"]
        assert main(command) == 5
        assert "1 missing" in capsys.readouterr().err
        assert main(command) == 0
    assert main([*command[:4], "--bench", "mini:2", *command[6:]]) == 4
    assert "goes on" in capsys.readouterr().err
    assert len(content(tmp_path / "a")) == 5


def test_the_gate_on_cut_off_responses(tmp_path, capsys):
    command = ["run", "any", *MOCK, "--backend-arg", "truncated=0.5", "-o", str(tmp_path / "a")]
    assert main([*command, "--max-truncated", "0.9", "--json"]) == 0
    assert main([*command, "--max-truncated", "0.2", "--json"]) == 1
    assert "are cut off, more than 20.0%" in capsys.readouterr().err


def test_merge_on_the_command_line(tmp_path, capsys):
    parts = [str(tmp_path / f"part{i}") for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        assert main(["generate", "any", *MOCK, "--shard", f"{i}/2", "-o", part]) == 0
    assert main(["merge", *parts, "-o", str(tmp_path / "all"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 60
    assert main(["merge", parts[0], str(tmp_path / "all"), "-o", str(tmp_path / "x")]) == 0
    half = tmp_path / "half"
    assert main(["generate", "any", *MOCK, "--shard", "1/3", "-o", str(half)]) == 0
    assert main(["merge", str(half), parts[0], "-o", str(tmp_path / "y")]) == 5


def test_the_selftest_passes_in_time(capsys):
    start = time.monotonic()
    assert main(["selftest", "--json"]) == 0
    assert time.monotonic() - start < 10
    report = json.loads(capsys.readouterr().out)
    assert report["passed"]
    assert {check["name"] for check in report["checks"]} >= {"resume", "replay", "shards", "avg@4"}


# --- doctor --------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model folder without weights: the doctor must not want them."""
    tiny_model(context=512).config.save_pretrained(tmp_path / "m")
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = (
        "{% if messages[0]['role'] != 'system' %}{{ '<s>systemyou are kind' }}{% endif %}"
        "{% for m in messages %}{{ '<s>' + m['role'] + m['content'] }}"
        "{% endfor %}"
    )
    tokenizer.save_pretrained(tmp_path / "m")
    return tmp_path / "m"


def findings(model: Path, ks: tuple[int, ...] = (), **changes: Any) -> dict[str, tuple[str, str]]:
    values = {"backend": "transformers", "bench": "mini:4", "max_tokens": 64, **changes}
    checkup = examine(EvalConfig(model=str(model), **values), ks)
    order = ["ok", "note", "warning", "problem"]
    ranked = sorted(checkup.findings, key=lambda one: order.index(one.level))
    return {one.topic: (one.level, one.text) for one in ranked}


def test_the_doctor_finds_nothing_wrong_where_nothing_is(model):
    found = findings(model, system="none")
    assert {level for level, _ in found.values()} == {"ok"}
    assert "<= 512" in found["window"][1]


def test_the_doctor_finds_what_is_wrong(model):
    found = findings(model)
    assert found["system"] == (
        "warning",
        "the chat template puts in a system prompt of its own: 'you are kind'; "
        "--system none takes it out",
    )
    level, text = findings(model, max_tokens=500)["window"]
    assert level == "problem"
    assert "the model's window is 512" in text
    level, text = findings(model, ks=(4, 8))["n"]
    assert level == "problem"
    assert "k > n (k = 8)" in text
    assert findings(model, bench="mini:1")["n"][0] == "warning"
    assert findings(model, top_k=4)["backend"][0] == "problem"
    assert findings(model, temperature=0.0)["n"][0] == "warning"
    assert findings(model, stop=("\n",))["stop"][0] == "warning"
    (model / "generation_config.json").write_text(
        json.dumps({"temperature": 0.7, "top_k": 20, "repetition_penalty": 1.05, "top_p": 1.0})
    )
    level, text = findings(model)["generation_config"]
    assert level == "warning"
    for words in ("temperature 0.7 (here 1.0)", "top_k 20 (here -1)", "repetition_penalty 1.05"):
        assert words in text
    assert "top_p" not in text


def test_the_doctor_finds_a_missing_template_and_a_double_bos(model, tmp_path):
    tiny_model(context=512).config.save_pretrained(tmp_path / "base")
    tiny_tokenizer(adds_bos=True).save_pretrained(tmp_path / "base")
    assert findings(tmp_path / "base")["template"][0] == "warning"
    level, text = findings(tmp_path / "base", template="boxed-suffix")["setup"]
    assert level == "problem"
    assert "no chat template" in text
    (tmp_path / "t.toml").write_text('text = "<s>{problem}"\nkind = "raw"\n')
    level, text = findings(tmp_path / "base", template=str(tmp_path / "t.toml"))["setup"]
    assert level == "problem"
    assert "two beginning-of-sequence tokens" in text


def test_the_doctor_asks_the_server(tmp_path):
    with FlakyServer() as server:
        found = findings(Path("m"), backend="openai", base_url=(server.url,))
        assert found["server"] == ("ok", "serves m; kind: vllm")
        other = findings(Path("x"), backend="openai", base_url=(server.url,))
        assert other["backend"][0] == "problem"
    gone = findings(Path("m"), backend="openai", base_url=(server.url,))
    assert gone["backend"][0] == "problem"
    assert server.bodies == []


def test_the_doctor_on_the_command_line(model, capsys):
    command = ["doctor", str(model), "--backend", "transformers", "--bench", "mini:4"]
    command += ["--max-tokens", "64", "--price-out", "2.5"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "WARNING system" in out
    assert "first prompt (mini/mini-arith):" in out
    assert "at most 7,680 response tokens" in out
    assert "costs   between 0.00 and 0.02" in out
    assert main([*command, "--k", "9", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["first_tokens"][0] == [1, "<s>"]
    assert report["estimate"]["samples"] == 120
