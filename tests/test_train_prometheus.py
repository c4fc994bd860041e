"""Metrics in Prometheus's text format: a parser written from its description reads them back."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from stare.errors import RunError
from stare.train.cli import main
from stare.train.metric_keys import METRICS
from stare.train.metrics import open_writers, read_metrics
from stare.train.prometheus import PrometheusWriter, exposition, metric_name
from test_train_run import SMALL

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{run="((?:[^"\\\n]|\\["\\n])*)"\} (\S+)')


def parse(text: str) -> dict[str, tuple[str, float]]:
    """Name -> (label, value); every sample must follow its own HELP and TYPE."""
    assert text.endswith("\n")
    samples: dict[str, tuple[str, float]] = {}
    described: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            _, kind, name, words = line.split(" ", 3)
            assert kind in ("HELP", "TYPE")
            assert NAME.fullmatch(name)
            if kind == "TYPE":
                assert name not in described, "one family a name"
                described[name] = words
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        name, label, value = match.groups()
        assert described[name] == "gauge"
        assert name not in samples
        label = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), label)
        samples[name] = (label, float(value))
    return samples


def test_every_metric_has_a_name_of_its_own() -> None:
    names = [metric_name(m.key) for m in METRICS]
    assert len(set(names)) == len(names)
    text = exposition({m.key: 1.5 for m in METRICS}, run="r")
    assert set(parse(text)) == set(names)


def test_values_and_labels_come_back() -> None:
    nan, inf = float("nan"), float("inf")
    values = {"step": 7, "eval/pass@8": 1 / 3, "loss/total": nan, "kl/old": -inf, "kl/ref": None}
    samples = parse(exposition(values, run='a "b"\\\n'))
    assert samples["stare_step"] == ('a "b"\\\n', 7.0)
    assert samples["stare_eval_pass_at_8"][1] == 1 / 3
    assert samples["stare_loss_total"][1] != samples["stare_loss_total"][1]
    assert samples["stare_kl_old"][1] == -inf
    assert "stare_kl_ref" not in samples


def test_a_run_leaves_its_last_values_in_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "first"
    run = ["run", "demo-mod5", *SMALL, "run.steps=3", f"run.out={folder}", "run.prometheus=file"]
    run += ["eval.every=2", "eval.problems=3", "eval.n=4", "eval.ks=[1,4]"]
    assert main(run) == 0
    samples = parse((folder / "metrics.prom").read_text())
    last = read_metrics(folder / "metrics.jsonl")
    for key in ("step", "entropy/batch", "eval/pass@4", "reward/rollouts", "time/step"):
        assert samples[metric_name(key)] == ("first", last.last(key)), key
    assert not list(folder.glob(".metrics.prom*"))


def test_an_address_serves_the_newest_row_and_is_given_back(tmp_path: Path) -> None:
    writer = PrometheusWriter(tmp_path, "127.0.0.1:0")
    url = f"http://127.0.0.1:{writer.port}"
    for step in (1, 2):
        writer.write({"step": step, "eval/greedy": 0.25 if step == 1 else None})
        with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            samples = parse(answer.read().decode())
        assert samples["stare_step"] == (tmp_path.name, step)
        assert samples["stare_eval_greedy"][1] == 0.25, "the value of the last evaluation stays"
    with pytest.raises(urllib.error.HTTPError, match="404") as caught:
        urllib.request.urlopen(f"{url}/", timeout=10)
    caught.value.close()
    with pytest.raises(RunError, match="cannot be served"):
        PrometheusWriter(tmp_path, f"127.0.0.1:{writer.port}")
    writer.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{url}/metrics", timeout=10)


def test_without_a_host_only_this_machine_is_served(tmp_path: Path) -> None:
    writers = open_writers(tmp_path, prometheus=":0")
    writer = writers[-1]
    assert isinstance(writer, PrometheusWriter)
    assert writer._server is not None
    assert writer._server.server_address[0] == "127.0.0.1"
    for one in writers:
        one.close()
