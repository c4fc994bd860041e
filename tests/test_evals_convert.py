import json

import pytest

from stare.errors import ArgumentError, DataError, RunError
from stare.evals.cli import main
from stare.evals.convert import convert
from stare.evals.results import up_to_date
from stare.evals.run_facts import answered
from stare.evals.store import RunFolder

ANSWERS = [("7", ["7", "8", "07"]), ("1/2", [r"\frac{1}{2}", "0.5", "2"])]
"""Gold, and what was answered: five of six are right."""


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def text(answer):
    return f"Thus \\boxed{{{answer}}}."


def lm_eval_rows(**more):
    """One row a problem and filter; its grader compares strings."""
    return [
        {
            "doc_id": at,
            "doc": {"problem": f"Q{at}"},
            "target": gold,
            "arguments": {"gen_args_0": {"arg_0": f"Question: Q{at}\nAnswer:", "arg_1": {}}},
            "resps": [[text(one) for one in answers]],
            "filtered_resps": [answers[0]],
            "filter": name,
            "metrics": ["exact_match"],
            "exact_match": float(answers[0] == gold) if name == "none" else 0.0,
        }
        | more
        for name in ("none", "flexible")
        for at, (gold, answers) in enumerate(ANSWERS)
    ]


def lighteval_rows():
    return [
        {
            "doc": {"query": f"Q{at}", "choices": ["no", gold], "gold_index": 1, "id": f"d{at}"},
            "metric": {"pass@k:k=1&n=3": 1 / 3 if at else 2 / 3},
            "model_response": {
                "text": [text(one) for one in answers],
                "output_tokens": [[1] * (at + 2)] * 3,
            },
        }
        for at, (gold, answers) in enumerate(ANSWERS)
    ]


def old_lighteval_rows():
    """Before 0.10: lists and tables are text."""
    return [
        {
            "full_prompt": f"Q{at}",
            "predictions": repr([text(one) for one in answers]),
            "gold": repr([gold]),
            "metrics": repr({"extractive_match": 0.5}),
        }
        for at, (gold, answers) in enumerate(ANSWERS)
    ]


def verl_rows():
    return [
        {
            "input": f"user Q{at}",
            "output": text(one),
            "gts": gold,
            "score": 1.0 if one == gold else -1.0,
            "acc": one == gold,
            "step": 200,
        }
        for at, (gold, answers) in enumerate(ANSWERS)
        for one in answers
    ]


def plain_rows():
    return [
        {
            "id": f"p{at}",
            "question": f"Q{at}",
            "response": text(one),
            "answer": [gold],
            "finish_reason": "stop",
            "num_tokens": 5,
            "is_correct": one == gold,
        }
        for at, (gold, answers) in enumerate(ANSWERS)
        for one in answers
    ]


CASES = {
    "lm-eval": (lm_eval_rows, "exact_match", 0.5),
    "lighteval": (lighteval_rows, "pass@k:k=1&n=3", 0.5),
    "verl": (verl_rows, "acc", 1 / 6),
    "plain": (plain_rows, "is_correct", 1 / 6),
}


@pytest.mark.parametrize("form", CASES)
def test_their_number_then_ours(tmp_path, form):
    rows, metric, theirs = CASES[form]
    source = write(tmp_path / "in" / "samples.jsonl", rows())
    found = convert(source, tmp_path / "run", form=form, bench="recorded", published=theirs)
    assert (found.problems, found.samples, found.metric) == (2, 6, metric)
    assert found.theirs == pytest.approx(theirs)
    assert found.reproduced
    folder = RunFolder(tmp_path / "run")
    one = (results := up_to_date(folder))["benchmarks"]["recorded"]
    assert one["avg@n"]["value"] == pytest.approx(4 / 6)
    assert one["coverage"] == 1.0
    codes = {warning["code"] for warning in results["warnings"]}
    assert {"unseeded", "data"} <= codes
    assert ("finish" in codes) == (form != "plain")
    known = [sample.n_tokens for sample in answered(folder, "recorded")]
    assert (None in known) == (form in ("lm-eval", "verl"))


def test_lm_eval_finds_what_was_published(tmp_path):
    source = write(tmp_path / "in" / "samples_aime24_2026-01-01T00.jsonl", lm_eval_rows())
    results = {"results": {"aime24": {"exact_match,none": 0.5, "exact_match_stderr,none": 0.1}}}
    (tmp_path / "in" / "results_2026-01-01T00.json").write_text(json.dumps(results))
    for place in (source, source.parent):
        found = convert(place, tmp_path / place.name, form="lm-eval", bench="aime24")
        assert (found.published, found.reproduced) == (0.5, True)


def test_old_lighteval(tmp_path):
    source = write(tmp_path / "details.jsonl", old_lighteval_rows())
    found = convert(source, tmp_path / "run", form="lighteval", bench="recorded")
    assert (found.samples, found.metric, found.theirs) == (6, "extractive_match", 0.5)


def test_parquet_details(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    path = tmp_path / "details_aime24.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(lighteval_rows()), path)
    assert convert(path, tmp_path / "run", form="lighteval", bench="recorded").samples == 6


def test_verl_scores_without_acc(tmp_path):
    rows = [{k: v for k, v in row.items() if k != "acc"} for row in verl_rows()]
    found = convert(write(tmp_path / "200.jsonl", rows), tmp_path / "run", form="verl", bench="b")
    assert (found.metric, found.theirs) == ("score", pytest.approx(1 / 6))


def test_lengths_are_read(tmp_path):
    rows = [
        {"problem_id": "p", "completion": "so 7 and", "gold": "7", "finish_reason": "max_tokens"}
    ]
    convert(write(tmp_path / "a.jsonl", rows), tmp_path / "run", form="plain", bench="b")
    one = up_to_date(RunFolder(tmp_path / "run"))["benchmarks"]["b"]
    assert one["outcomes"]["truncated"] == 1


@pytest.mark.parametrize("form", CASES)
def test_other_rows_are_refused_with_their_fields(tmp_path, form):
    source = write(tmp_path / "a.jsonl", [{"alpha": 1, "beta": 2}])
    with pytest.raises(
        DataError, match=rf"not samples of {form}: no .*; the first row has alpha, b"
    ):
        convert(source, tmp_path / "run", form=form, bench="b")
    assert not (tmp_path / "run").exists()


def test_bad_use_is_named(tmp_path):
    source = write(tmp_path / "a.jsonl", plain_rows())
    with pytest.raises(ArgumentError, match=r"no format is named 'nemo'\nhint: one of lm-eval"):
        convert(source, tmp_path / "run", form="nemo", bench="b")
    with pytest.raises(ArgumentError, match="no column 'acc' of verdicts\nhint: there are id, qu"):
        convert(source, tmp_path / "run", form="plain", bench="b", metric="acc")
    with pytest.raises(ArgumentError, match="name must be lower-case"):
        convert(source, tmp_path / "run", form="plain", bench="../x")
    strange = write(tmp_path / "b.jsonl", [plain_rows()[0] | {"finish_reason": "tired"}])
    with pytest.raises(DataError, match="finish reason 'tired' is none of stop"):
        convert(strange, tmp_path / "run", form="plain", bench="b")
    convert(source, tmp_path / "run", form="plain", bench="b")  # what was begun is no run
    with pytest.raises(RunError, match="holds a run already"):
        convert(source, tmp_path / "run", form="plain", bench="b")


def test_the_verb(tmp_path, capsys):
    source = str(write(tmp_path / "a.jsonl", plain_rows()))
    out = str(tmp_path / "run")
    assert main(["convert", "--from", "plain", source, "-o", out, "--published", "0.1667"]) == 0
    shown = capsys.readouterr().out
    assert "theirs: is_correct 16.67 %; as published: 16.67 %" in shown
    assert "66.7" in shown
    again = str(tmp_path / "again")
    code = main(["convert", "--from", "plain", source, "-o", again, "--published", "0.5", "--json"])
    captured = capsys.readouterr()
    assert code == 1
    assert json.loads(captured.out)["ours"]["value"] == pytest.approx(4 / 6)
    assert "is_correct gives 0.1667, published is 0.5000" in captured.err
