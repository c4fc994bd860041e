"""`data.sources` in a run and on the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stare.errors import ConfigError, DataError, RunError
from stare.train.checkpoint import CheckpointStore
from stare.train.cli import main
from stare.train.metrics import read_metrics
from stare.train.overrides import load_config
from stare.train.run import train
from stare.types import Completion, Problem
from tiny_llm import tiny_model, tiny_tokenizer


def even_length(problems: Sequence[Problem], completions: Sequence[Completion]) -> list[float]:
    return [float(len(c.token_ids) % 2 == 0) for c in completions]


CONFIG = """
[model]
path = "{folder}/policy"
[data]
prompt_template = "{{problem}}"
chat_template = false
contamination = "remove"
against = ["{folder}/exam.jsonl"]
held_out = 2
long_prompts = "drop"
[[data.sources]]
path = "{folder}/sums.jsonl"
weight = 3
[[data.sources]]
path = "{folder}/products.jsonl"
weight = 1
[rollout]
prompts_per_step = 4
group_size = 4
max_prompt_tokens = 30
max_response_tokens = 6
max_refills = 1
[reward]
function = "test_train_mixing:even_length"
[eval]
every = 0
[run]
device = "cpu"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_model().save_pretrained(tmp_path / "policy")
    tiny_tokenizer().save_pretrained(tmp_path / "policy")
    sums = [{"problem": f"what is {i}+{i}?", "answer": 2 * i} for i in range(12)]
    sums += [sums[0], {"problem": "what is 1+1? " * 4, "answer": 2}]
    products = [{"problem": f"how much is {i}*7?", "answer": 7 * i} for i in range(8)]
    exam = [{"id": "e1", "problem": "What is $5 + 5$", "answer": "10"}]
    for name, rows in (("sums", sums), ("products", products), ("exam", exam)):
        text = "".join(json.dumps(r) + "\n" for r in rows)
        (tmp_path / f"{name}.jsonl").write_text(text)
    (tmp_path / "mix.toml").write_text(CONFIG.format(folder=tmp_path))
    return tmp_path


def run(folder: Path, out: str, steps: int, *extra: str, resume: bool = False) -> None:
    config = load_config(folder / "mix.toml", [f"run.steps={steps}", *extra])
    train(config, folder / out, resume=resume)


def losses(folder: Path, out: str) -> list[Any]:
    rows = read_metrics(folder / out / "metrics.jsonl").rows
    return [(r["step"], r["loss/total"], r["entropy/batch"], r["length/mean"]) for r in rows]


def test_a_run_on_a_mix_reports_and_resumes_bit_for_bit(folder: Path) -> None:
    run(folder, "whole", 4)
    run(folder, "cut", 2)
    cursor = CheckpointStore(folder / "cut" / "checkpoints").latest()
    assert cursor is not None
    stream = cursor.state["stream"]
    assert json.loads(json.dumps(stream)) == stream
    drawn = {n: c["epoch"] * c["size"] + c["index"] for n, c in stream["sets"].items()}
    assert abs(drawn["sums"] - 3 * drawn["products"]) <= 3
    run(folder, "cut", 4, resume=True)
    assert losses(folder, "whole") == losses(folder, "cut")

    report = json.loads((folder / "whole/data/report.json").read_text())
    sums = report["sources"]["sums"]
    assert sums["rows"] == sums["kept"] + sum(sums["dropped"].values()) == 14
    assert {k: v for k, v in sums["dropped"].items() if k != "held-out"} == {
        "duplicate": 1,
        "contaminated": 1,
        "long-prompt": 1,
    }
    assert report["prompt_lengths"]["unit"] == "tokens"
    assert max(report["prompt_lengths"]["longest"].values()) <= 30
    (found,) = (folder / "whole/data/contamination.jsonl").read_text().splitlines()
    assert json.loads(found) == {
        "id": "sums/6",
        "benchmark": "exam",
        "benchmark_id": "e1",
        "kind": "exact",
        "similarity": 1.0,
        "removed": True,
    }


def test_a_file_that_changed_under_a_run_is_refused(folder: Path) -> None:
    run(folder, "out", 1)
    path = folder / "products.jsonl"
    path.write_text(path.read_text().replace("how much is 3*7?", "how much is 7*3?"))
    with pytest.raises(RunError, match="a file changed under the run"):
        run(folder, "out", 2, resume=True)


def test_a_long_prompt_is_an_error_unless_it_may_be_dropped(folder: Path) -> None:
    with pytest.raises(DataError, match="'sums/14'"):
        run(folder, "out", 1, "data.long_prompts=error")
    with pytest.raises(DataError, match="every prompt of 'sums' is longer than 3 tokens"):
        run(folder, "out2", 1, "rollout.max_prompt_tokens=3")


def test_evaluation_needs_held_out_problems(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"or eval\.every=0, or data\.held_out"):
        run(folder, "out", 1, "data.held_out=0", "eval.every=1")


def test_stare_train_data_prints_and_writes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "checked"
    config = str(folder / "mix.toml")
    assert main(["data", config, "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    for words in ("Sources: 17 problems", "75.0%", "contaminated", "sums/6", "long-prompt", "exam"):
        assert words in printed
    names = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    lists = {f"{n}.jsonl" for n in ("contamination", "duplicates", "dropped")}
    sets = {f"sets/{n}.jsonl" for n in ("sums", "products", "held-out")}
    assert names == {"report.json"} | lists | sets
    report = (out / "report.json").read_bytes()

    assert main(["data", config, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(report)
    assert main(["data", config, "-o", str(out)]) == 2
    assert "is there already and not empty" in capsys.readouterr().err
    # What was written trains as it is.
    again = [
        "data.held_out=0",
        "data.contamination=off",
        "data.dedup=off",
        f'data.sources=[{{path="{out}/sets/sums.jsonl"}}]',
    ]
    assert main(["data", config, *again, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["sources"]["sums"]
    assert counts["dropped"] == {}


def test_stare_train_data_without_a_local_model_counts_characters(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(folder / "mix.toml")
    assert main(["data", config, "model.path=org/name", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["prompt_lengths"]["unit"] == "characters"
    assert "lengths are in characters" in captured.err


def test_stare_train_data_without_sources_says_what_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["data", "short-cot", "model.path=m", "data.path=d.jsonl"]) == 2
    assert "reads data.sources, and there are none\nhint: [[data.sources]]" in (
        capsys.readouterr().err
    )
