import base64
import csv
import gzip
import html
import io
import json
import re
from pathlib import Path

import pytest

from graded_runs import GOLDS, drawn_samples, make_run, sample
from stare.errors import ArgumentError
from stare.evals.cli import main
from stare.evals.report.csv_table import csv_report
from stare.evals.report.markdown import markdown_report
from stare.evals.report.page import script_json
from stare.evals.report.table import fit, score_table, warning_lines
from stare.evals.report.terminal import print_report
from stare.evals.report.write import write_reports
from stare.evals.results import build, up_to_date
from stare.evals.run_facts import answered
from stare.evals.store import RunFolder

HOSTILE = [
    "</script><script>document.title='owned'</script> \\boxed{7}",
    "<img src=x onerror=\"document.title='owned'\"> $<b onclick=alert(1)>x</b>$ \\boxed{7}",
    "line\u2028separators\u2029 and <!-- <script> --> ]]> \\boxed{8}",
    "$\\text{</mtext></math><img src=x onerror=alert(1)>}$ \\href{javascript:alert(1)}{x}",
    "\ud800 lone, \x00 nul, \x1b[31m escape, \u202e turned \\boxed{7}",
    "&lt;b&gt; &amp; \" ' ` ${alert(1)} {{7*7}}",
]


@pytest.fixture
def graded(tmp_path):
    folder = make_run(tmp_path / "run", GOLDS, drawn_samples(GOLDS, 8), n=8)
    return folder, up_to_date(folder, ["stare", "integer"])


@pytest.fixture
def hostile(tmp_path):
    rows = [sample("b", '"><i>p</i>', at, text) for at, text in enumerate(HOSTILE)]
    golds = {"b": {'"><i>p</i>': "7"}}
    folder = make_run(tmp_path / "<u>", golds, rows, n=len(rows))
    return folder, up_to_date(folder)


def page_of(folder: RunFolder, results, **options) -> str:
    (path,) = write_reports(folder, results, ["html"], **options)
    return path.read_text("utf-8")


def unpacked(page: str, bench: int = 0, problem: int = 0):
    found = re.search(rf'id="chunk-{bench}-{problem}">([^<]*)<', page)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


@pytest.mark.parametrize("width", [70, 80, 160])
def test_the_terminal_report_fits(graded, width):
    from rich.console import Console

    out = io.StringIO()
    print_report(graded[1], Console(file=out, width=width, highlight=False))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert "\x1b" not in out.getvalue()
    assert "…" not in out.getvalue()
    rows = "\n".join(lines)
    for bench, one in graded[1]["benchmarks"].items():
        assert re.search(rf"{bench} .*{100 * one['avg@n']['value']:.1f}", rows)
    assert "average of 2" in rows
    assert "re-run" in rows


def test_warnings_come_first(graded):
    from rich.console import Console

    out = io.StringIO()
    print_report(graded[1], Console(file=out, width=200))
    assert 0 <= out.getvalue().index("warning:") < out.getvalue().index("avg@n")
    text = markdown_report(graded[1])
    assert text.index("**warning**") < text.index("## Scores")


def test_warnings_of_many_benchmarks_are_one_line(tmp_path):
    golds = {name: {"p": "7"} for name in ("a", "b", "c")}
    rows = [
        sample(name, "p", at, "hm" if at else "\\boxed{7}", "length")
        for name in golds
        for at in (0, 1)
    ]
    results = up_to_date(make_run(tmp_path / "run", golds, rows, n=2))
    lines = [words for _, words in warning_lines(results) if "cut off" in words]
    assert lines == [
        "a 50.0 %, b 50.0 %, c 50.0 %: cut off by the token limit before an answer was declared, "
        "counted as wrong"
    ]
    assert sum(one["code"] == "truncated" for one in results["warnings"]) == 3


def test_more_columns_where_there_is_room(graded):
    table = score_table(graded[1]).without_empty()
    counts = [len(fit(table, width).header) for width in (10, 60, 80, 120, 200)]
    assert counts == sorted(counts)
    assert counts[0] >= 3
    assert counts[-1] == len(table.header)


def test_markdown_shows_names_as_they_are(hostile):
    text = markdown_report(hostile[1])
    assert "<u>" not in text
    assert "\\<" not in text  # the folder's name is not in it at all
    tables = [line for line in text.split("\n") if line.startswith("| b")]
    assert tables[0].count("|") == tables[1].count("|")


def test_csv_reads_back(graded):
    rows = list(csv.DictReader(io.StringIO(csv_report(graded[1]))))
    scores = {row["benchmark"]: float(row["value"]) for row in rows if row["metric"] == "avg@n"}
    for bench, one in graded[1]["benchmarks"].items():
        assert scores[bench] == one["avg@n"]["value"]
    assert scores["average"] == graded[1]["macro"]["avg@n"]["value"]
    assert {row["k"] for row in rows if row["metric"] == "pass@k"} == {"1", "2", "4", "8"}


def test_script_json_cannot_end_its_element():
    for text in HOSTILE:
        packed = script_json({"x": text})
        assert not re.search(r"[<>&\u2028\u2029]", packed)
        assert json.loads(packed) == {"x": text}


def test_the_page_holds_no_markup_of_a_model(hostile):
    page = page_of(*hostile)
    assert page.count("<script") == page.count("</script>") == 3
    for words in ("owned", "onerror", "onclick", "javascript:", "<i>", "<u>"):
        assert words not in page
    assert html.escape("<i>") not in page  # the problem's id is in the script's data only
    texts = [one["text"] for one in unpacked(page)["samples"]]
    assert texts == [one.text for one in answered(hostile[0], "b")]


def test_the_page_asks_for_nothing(graded):
    page = page_of(*graded)
    assert not re.search(r"""(src|href)=["'](?!data:,|#)""", page)
    assert not re.search(r"https?://(?!www\.w3\.org/)", page)
    assert "default-src 'none'" in page


def test_equal_runs_give_equal_pages(graded, tmp_path):
    folder, results = graded
    again = make_run(tmp_path / "again" / "run", GOLDS, drawn_samples(GOLDS, 8), n=8, workers=3)
    assert page_of(folder, results) == page_of(again, up_to_date(again, ["stare", "integer"]))


def test_which_texts_are_in_the_page(graded):
    folder, results = graded
    every = unpacked(page_of(folder, results), 0, 2)["samples"]
    assert all(one["text"] is not None for one in every)
    wrong = unpacked(page_of(folder, results, texts="wrong"), 0, 2)["samples"]
    for one in wrong:
        assert (one["text"] is None) == (one["grades"][0]["outcome"] == "correct")
    page = page_of(folder, results, texts="none")
    assert all(one["text"] is None for one in unpacked(page)["samples"])
    assert "0 of 120 responses are in this page" in page
    assert "--problem sums-1 --sample 0" in unpacked(page)["samples"][0]["hint"]
    with pytest.raises(ArgumentError, match="texts must be all, wrong or none"):
        page_of(folder, results, texts="some")


def test_the_size_is_bounded_and_wrong_texts_stay(tmp_path):
    rows = [
        sample("b", "p", at, f"{at} " + "word " * 2000 + f"\\boxed{{{7 + at % 2}}}")
        for at in range(8)
    ]
    folder = make_run(tmp_path / "run", {"b": {"p": "7"}}, rows, n=8)
    page = page_of(folder, up_to_date(folder), texts_mb=0.02)
    kept = {one["sample"] for one in unpacked(page)["samples"] if one["text"] is not None}
    assert kept
    assert kept <= {1, 3, 5, 7}
    assert f"{len(kept)} of 8 responses are in this page" in page


def test_natural_order_and_the_order_of_the_store_differ(tmp_path):
    golds = {"b": {f"p-{at}": str(at) for at in (1, 2, 10, 11, 100)}}
    rows = [sample("b", name, 0, f"\\boxed{{{gold}}}") for name, gold in golds["b"].items()]
    folder = make_run(tmp_path / "run", golds, rows, n=1)
    page = page_of(folder, up_to_date(folder))
    problems = [unpacked(page, 0, at)["problem"] for at in range(5)]
    assert problems == [f"What is p-{at}?" for at in (1, 2, 10, 11, 100)]


def test_the_verbs(graded, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    path = str(graded[0].path)
    assert main(["grade", path, "--grader", "stare,integer"]) == 0
    out = capsys.readouterr().out
    assert "stare and integer disagree on" in out
    assert main(["grade", path, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["graders"]["stare"]
    assert sum(counts["sums"].values()) == 96
    assert main(["report", path, "--format", "md,csv,html", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == json.loads((graded[0].path / "results.json").read_text())
    assert "report.html" in captured.err
    assert main(["report", path, "--max-truncated", "0.01"]) == 1
    assert "gate failed" in capsys.readouterr().err
    assert main(["report", path, "--min-coverage", "1"]) == 0
    capsys.readouterr()
    assert main(["report", path, "--format", "pdf"]) == 2
    assert "no format is named 'pdf'\nhint: one of json" in capsys.readouterr().err
    assert main(["grade", path, "--grader", "x"]) == 2


def test_show(graded, capsys):
    path = str(graded[0].path)
    results = graded[1]
    assert main(["show", path]) == 0
    listed = capsys.readouterr().out
    row = results["benchmarks"]["sums"]["per_problem"][0]
    assert re.search(rf"1 sums-1 +{row['c']}/8", listed)
    assert main(["show", path, "--bench", "sums", "--problem", "2", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["sample"] for one in rows] == list(range(8))
    assert {one["problem_id"] for one in rows} == {"sums-2"}
    assert main(["show", path, "--bench", "sums", "--wrong", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    right = results["benchmarks"]["sums"]["outcomes"]["correct"]
    assert len(rows) == 96 - right
    assert main(["show", path, "--truncated", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {one["grades"]["stare"]["outcome"] for one in rows} == {"truncated"}
    assert main(["show", path, "--disagree"]) == 0
    capsys.readouterr()
    assert main(["show", path, "--bench", "sums", "--problem", "sums-77"]) == 2
    assert "has no problem 'sums-77'\nhint: did you mean sums-7" in capsys.readouterr().err
    assert main(["show", path, "--problem", "1"]) == 2
    assert main(["show", path, "--bench", "none"]) == 2


def test_show_cannot_drive_the_terminal(hostile, capsys):
    assert main(["show", str(hostile[0].path), "--problem", "1", "--full"]) == 0
    out = capsys.readouterr().out
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", out)
    assert "\\x1b[31m escape" in out


def test_a_report_needs_no_data_once_graded(graded):
    folder, results = graded
    Path(folder.path / "problems.jsonl").unlink()
    assert build(folder, ["stare", "integer"]) == results
    assert unpacked(page_of(folder, results))["problem"] is None
