from __future__ import annotations

import html
import json
import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stare.errors import ArgumentError, RunError
from stare.train.config import DataConfig, ModelConfig, RunConfig, TrainConfig
from stare.train.metrics import JsonlWriter
from stare.train.report import build_png, build_report
from stare.train.report import data as report_data
from stare.train.report.data import arm_of, curve, load_runs, tail_mean, within_band
from stare.train.report.figure import mean_and_range
from stare.train.report.tables import summary
from stare.train.runfolder import RunFolder


def make_run(
    path: Path, steps: int = 20, *, seed: int = 0, entropy: float = 0.2, status: str = "finished"
) -> Path:
    config = TrainConfig(
        model=ModelConfig(path="m"),
        data=DataConfig(path="d.jsonl"),
        run=RunConfig(seed=seed, steps=steps),
    )
    with RunFolder(path, config) as folder:
        writer = JsonlWriter(folder.metrics_path)
        for step in range(1, steps + 1):
            row: dict[str, float | int | None] = {
                "step": step,
                "entropy/rollouts": entropy + step / 1000 + seed / 100,
                "entropy/batch": entropy,
                "entropy/target": 0.25,
                "stare/w": 1.0 + step / 100,
                "groups/kept": 32,
                "reward/rollouts": 0.3,
                "length/mean": 13.0,
            }
            if step % 10 == 0:
                row |= {"eval/pass@1": 0.4, "eval/pass@1_se": 0.05, "eval/pass@32": 0.9}
            writer.write(row)
        writer.close()
        folder.set_status(status, step=steps)
    return path


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.data = ""
        self._inside: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = "json" if dict(attrs).get("id") == "data" else tag

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "json":
            self.data += data
        elif self._inside is None:
            self.words.append(data)


def page_of(path: Path) -> tuple[Page, dict[str, Any]]:
    page = Page(path.read_text(encoding="utf-8"))
    return page, json.loads(page.data)


def test_the_page_carries_the_curves_and_needs_no_network(tmp_path: Path) -> None:
    run = make_run(tmp_path / "one")
    out = build_report([run], tmp_path / "sub" / "report.html")
    page, data = page_of(out)
    (shown,) = data["runs"]
    grid, ys = shown["data"]["entropy/rollouts"]
    assert shown["grids"][grid] == list(range(1, 21))
    assert ys == pytest.approx([0.2 + s / 1000 for s in range(1, 21)], rel=1e-3)
    grid, ys = shown["data"]["eval/pass@32"]
    assert (shown["grids"][grid], ys) == ([10, 20], [0.9, 0.9])
    titles = [p["title"] for p in data["panels"]]
    assert titles == [
        "Entropy",
        "Reward",
        "Held-out problems solved",
        "Groups with signal",
        "Gate and weights",
        "Response length",
    ]
    text = out.read_text(encoding="utf-8")
    assert not re.search(r"https?:|//cdn|@import|url\(|\bfetch\(|XMLHttp|import\(", text)
    assert not [a for _, a in page.tags if "src" in a or "href" in a]
    assert list(tmp_path.glob("sub/.*")) == []


def test_words_from_files_stay_words(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>-->"
    run = make_run(tmp_path / "<b onclick=x>&amp;'\"-s0", status="failed")
    other = make_run(tmp_path / "plain-s0")
    config = json.loads((run / "config.json").read_text())
    config["config"]["data"]["prompt_template"] = evil
    config["config"][evil] = evil
    (run / "config.json").write_text(json.dumps(config))
    status = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**status, "status": evil + "failed", "error": evil}))
    page, data = page_of(build_report([run, other], tmp_path / "r.html"))
    assert [t for t, _ in page.tags].count("script") == 2
    assert {t for t, _ in page.tags}.isdisjoint({"img", "b onclick", "iframe"})
    assert not [a for _, a in page.tags if any(k.startswith("on") for k in a)]
    assert data["runs"][0]["name"] == run.name
    assert evil in "".join(page.words)


def test_long_runs_are_averaged_and_the_page_says_so(tmp_path: Path) -> None:
    run = make_run(tmp_path / "long", steps=1201)
    page, data = page_of(build_report([run], tmp_path / "r.html"))
    assert "Each point is the mean of 3 steps." in "".join(page.words)
    shown = data["runs"][0]
    grid, ys = shown["data"]["stare/w"]
    assert len(ys) <= report_data.MAX_POINTS
    values = np.array([1 + s / 100 for s in range(1, 1202)])
    slow = [values[i : i + 3].mean() for i in range(0, 1201, 3)]
    assert ys == pytest.approx(slow, rel=1e-3)
    assert shown["grids"][grid][:2] == [2, 5]
    short, _ = page_of(build_report([make_run(tmp_path / "short")], tmp_path / "s.html"))
    assert "Every step is drawn." in "".join(short.words)


def test_warnings_say_what_is_wrong_with_a_run(tmp_path: Path) -> None:
    run = make_run(tmp_path / "bad", status="running")
    with (run / "metrics.jsonl").open("a") as file:
        file.write(
            '{"step":3,"loss/total":null,"nonfinite":{"loss/total":"nan"}}\n{"step": 25}\n{"st'
        )
    (run / "config.json").write_text("{")
    words = "".join(page_of(build_report([run], tmp_path / "r.html"))[0].words)
    for part in (
        "not finished: running or killed, last step 25 of 20",
        "1 torn or foreign lines",
        "1 steps were run again",
        "loss/total was not finite in 1 steps",
        "4 steps between the first and the last are missing",
        "configuration unknown",
    ):
        assert part in words
    clean = page_of(build_report([make_run(tmp_path / "ok")], tmp_path / "ok.html"))[0]
    assert "Before you read on" not in "".join(clean.words)


def test_runs_are_named_apart_and_grouped_into_arms(tmp_path: Path) -> None:
    a, b = make_run(tmp_path / "x" / "pi-s0"), make_run(tmp_path / "y" / "pi-s0", seed=1)
    assert [r.name for r in load_runs([a, b])] == ["x/pi-s0", "y/pi-s0"]
    assert [arm_of(n) for n in ("a-s0", "a_seed12", "a.s1", "as0", "-s0", "a-s")] == [
        "a",
        "a",
        "a",
        "as0",
        "-s0",
        "a-s",
    ]
    assert [r.name for r in load_runs([a / "metrics.jsonl"])] == ["pi-s0"]


def test_what_is_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="at least one run folder"):
        build_report([], tmp_path / "r.html")
    run = make_run(tmp_path / "a")
    with pytest.raises(ArgumentError, match="given more than once"):
        build_report([run, tmp_path / "." / "a"], tmp_path / "r.html")
    with pytest.raises(RunError, match="cannot be read"):
        build_report([tmp_path / "none"], tmp_path / "r.html")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "metrics.jsonl").write_text("\n")
    with pytest.raises(RunError, match="holds no row"):
        build_png([tmp_path / "empty"], tmp_path / "r.png")
    (tmp_path / "dir.html").mkdir()
    with pytest.raises(RunError, match="cannot be written"):
        build_report([run], tmp_path / "dir.html")
    assert not list(tmp_path.glob(".dir*"))


def test_the_summary_counts_what_it_says(tmp_path: Path) -> None:
    (run,) = load_runs([make_run(tmp_path / "a", steps=200, entropy=0.1)])
    # entropy = .1 + step/1000 is within 10 % of .25 from step 125 to 175; steps after 60 count.
    assert within_band(run, "entropy/rollouts") == pytest.approx(51 / 140)
    assert within_band(run) == 0.0, "by default the batch's entropy counts: constant .1"
    assert tail_mean(run, "entropy/rollouts") == pytest.approx(0.1 + 190.5 / 1000)
    assert tail_mean(run, "kl/old") is None
    values = summary(run)
    assert values["pass@1"] == (0.4, pytest.approx(1.96 * 0.05))
    assert values["pass@32"] == (0.9, None)
    assert "greedy" not in values


def test_curves_skip_what_is_not_finite(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", steps=4)
    writer = JsonlWriter(run / "metrics.jsonl")
    writer.write({"step": 2, "stare/w": math.inf})
    writer.write({"step": 3, "stare/w": 5.0})
    writer.close()
    (loaded,) = load_runs([run])
    assert curve(loaded, "stare/w") == ([1, 3, 4], [1.01, 5.0, 1.04])
    assert curve(loaded, "stare/w", 2) == ([1, 3.5], [1.01, (5.0 + 1.04) / 2])


def test_arms_are_compared_where_all_their_seeds_have_values() -> None:
    xs, mean, low, high = mean_and_range(
        [([1, 2, 3], [0.0, 1.0, 2.0]), ([2, 3, 4], [3.0, 2.0, 9.0])]
    )
    assert (xs, mean, low, high) == ([2, 3], [2.0, 2.0], [1.0, 2.0], [3.0, 2.0])


def test_arms_and_configuration_differences_are_in_the_tables(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / f"pi-s{s}", seed=s) for s in (0, 1)]
    text = html.unescape(build_report(runs, tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "<td>pi</td><td>2</td><td>0.225 <small>[0.220, 0.230]</small></td>" in text
    assert "<tr><td>run.seed</td><td>0</td><td>1</td></tr>" in text
    assert "<td>run.steps</td>" not in text


def test_the_png_is_a_drawing(tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image")
    runs = [make_run(tmp_path / f"grpo-s{s}", seed=s, entropy=0.05) for s in (0, 1)]
    runs += [make_run(tmp_path / f"pi-s{s}", seed=s) for s in (0, 1)]
    out = build_png(runs, tmp_path / "r.png")
    pixels = image.imread(out)[..., :3]
    height, width, _ = pixels.shape
    assert width == 1800
    assert 900 < height < 1100
    for color in ((0x0B, 0x6B, 0xB8), (0xD1, 0x49, 0x0C)):  # both arms are there
        assert (np.abs(pixels * 255 - color).max(axis=2) < 2).sum() > 200
    assert list(tmp_path.glob(".r*")) == []


def test_a_run_with_one_metric_still_has_a_report(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "entropy/rollouts": 0.3}\n')
    _, data = page_of(build_report([tmp_path], tmp_path / "r.html"))
    assert [p["title"] for p in data["panels"]] == ["Entropy"]
    assert build_png([tmp_path], tmp_path / "r.png").stat().st_size > 5000
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n')
    _, data = page_of(build_report([tmp_path], tmp_path / "r.html"))
    assert data["panels"] == []
    with pytest.raises(RunError, match="no curve"):
        build_png([tmp_path], tmp_path / "r.png")


@pytest.mark.slow
def test_the_script_runs_in_a_browser(tmp_path: Path) -> None:
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next((b for n in names if (b := shutil.which(n))), None)
    if browser is None:
        pytest.skip("no chromium on this machine")
    runs = [make_run(tmp_path / f"{a}-s{s}", seed=s) for a in ("grpo", "pi") for s in (0, 1)]
    out = build_report(runs, tmp_path / "r.html")
    poke = """<script>
    let failed = ""; addEventListener("error", (e) => { failed = e.message; });
    modes.children[1].click(); document.querySelector("#legend button").click();
    slider.value = 50; slider.oninput();
    const c = document.querySelector("canvas"), b = c.getBoundingClientRect();
    c.dispatchEvent(new PointerEvent("pointermove", {clientX: b.left + 150, clientY: b.top + 50}));
    const ink = c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v);
    document.title = JSON.stringify({failed, ink, tip: tip.textContent, smooth: state.smooth});
    </script></body>"""
    out.write_text(out.read_text(encoding="utf-8").replace("</body>", poke), encoding="utf-8")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    done = subprocess.run(
        [browser, *flags, "--dump-dom", out.as_uri()], capture_output=True, text=True, check=True
    )
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title is not None
    result = json.loads(html.unescape(title.group(1)))
    assert result["failed"] == ""
    assert result["ink"]
    assert result["smooth"] == 0.5
    assert "grpo-s1" in result["tip"]
    assert "grpo-s0" not in result["tip"]  # hidden by the click on its legend entry
    assert len(re.findall(r'<button[^>]*aria-pressed="false"', done.stdout)) == 2
