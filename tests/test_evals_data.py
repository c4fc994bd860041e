"""Benchmarks: identity, refusal, import, the local store, fetching with a fake Hub."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stare.errors import ArgumentError, DataError, MissingExtraError
from stare.evals import data
from stare.evals.data import fetching, importing, local, readers, registry, status
from stare.evals.data.adapt import INSTRUCTIONS, Fields, adapt, clean_golds
from stare.evals.data.identify import DataMismatchError, compare
from stare.evals.data.importing import import_files
from stare.evals.data.make_manifest import dumps, identity_of
from stare.evals.data.make_manifest import main as make_manifest
from stare.evals.data.normalise import canonical_gold, normal_problem
from stare.evals.data.registry import Manifest, load_manifest, manifest_of, names, nearest

SIX = {
    "aime24": 30,
    "aime25": 30,
    "amc23": 40,
    "math500": 500,
    "minerva_math": 272,
    "olympiadbench": 675,
    "gsm8k": 1319,
}

Row = dict[str, Any]


def toy_rows() -> list[Row]:
    """Twelve rows; golds 0, 1, 4, 9, ..."""
    return [
        {"id": f"toy-{i}", "problem": f"What is ${i} \\times {i}$?", "answer": str(i * i)}
        for i in range(12)
    ]


def toy_manifest() -> Manifest:
    identity = identity_of(toy_rows(), steps=["integer"], integer=True, computed_from="a test")
    return manifest_of(
        {
            "name": "toy",
            "title": "squares",
            "rows": 12,
            "n": 2,
            "gold": {"kind": "integer", "steps": ["integer"]},
            "license": "ours",
            "sources": [
                {"hub": "a/toy", "split": "test", "revision": None, "problem": "q", "gold": "a"},
                {
                    "hub": "b/toy",
                    "configs": ["I", "II"],
                    "split": "test",
                    "revision": "c0ffee",
                    "problem": "problem",
                    "gold": "answer",
                },
            ],
            "parts": {"I": [0, 6], "II": [6, 12]},
            "mistakes": {"20": "twenty squares"},
            "errata": [{"rows": ["toy-3"], "note": "some copies say 8", "source": "x#1"}],
            "identity": identity,
        }
    )


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Manifest:
    """A registry that also knows `toy`."""
    manifest = toy_manifest()
    real = load_manifest

    def load(name: str) -> Manifest:
        return manifest if name == "toy" else real(name)

    for module in (importing, local, fetching, status):
        monkeypatch.setattr(module, "load_manifest", load)
        if hasattr(module, "names"):
            monkeypatch.setattr(module, "names", lambda: (*names(), "toy"))
    return manifest


@pytest.fixture
def benchmarks(shared: Path) -> Path:
    folder = shared / "benchmarks"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}")
    return folder


def write_jsonl(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def read_jsonl(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def bring(tmp_path: Path, rows: list[Row], **options: Any) -> importing.Imported:
    return import_files([write_jsonl(tmp_path / "in.jsonl", rows)], tmp_path / "store", **options)


# --- normal forms ------------------------------------------------------------


@given(st.text(), st.sampled_from([" ", "\n", "\u00a0", "\t\r\n"]))
def test_white_space_is_not_part_of_a_problem(text: str, space: str) -> None:
    assert normal_problem(space.join(["", *text.split(), ""])) == normal_problem(text)
    assert normal_problem(normal_problem(text)) == normal_problem(text)


@given(
    st.integers(-(10**9), 10**9), st.sampled_from(["{:+d}", "{:d}.0", "${:d}$", "{:,d}", " {:d}\n"])
)
def test_spellings_of_an_integer_are_one_gold(value: int, form: str) -> None:
    assert canonical_gold(form.format(value), integer=True) == str(value)
    assert clean_golds(form.format(value), ["integer"]) == (str(value),)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (r"$\dfrac{1}{2}$", r"\frac{1}{2}"),
        (r"\left( 3, \frac{\pi}{2} \right)", r"(3,\frac{\pi}{2})"),
        ("44^{\\circ}", "44"),
        ("3.83e35", r"3.83 \times 10^{35}"),
    ],
)
def test_spellings_of_an_expression_are_one_gold(left: str, right: str) -> None:
    assert canonical_gold(left, integer=False) == canonical_gold(right, integer=False)


@pytest.mark.parametrize(
    ("left", "right"),
    [("12", "1, 2"), ("0.1", "0.10"), ("x", "X"), ("2", "-2"), (r"\leftarrow", "arrow")],
)
def test_different_golds_stay_different(left: str, right: str) -> None:
    assert canonical_gold(left, integer=False) != canonical_gold(right, integer=False)


# --- adapting ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "steps", "golds"),
    [
        (27.0, ["integer"], ("27",)),
        ("\\boxed{204}", ["unbox", "integer"], ("204",)),
        ("a \\boxed{1} then \\boxed{\\frac{a}{b_{1}}}.", ["unbox"], ("\\frac{a}{b_{1}}",)),
        ("\\boxed{unclosed", ["unbox"], ("\\boxed{unclosed",)),
        (["$(1,8,19), (2,7,13)$"], ["list", "dollars"], ("(1,8,19), (2,7,13)",)),
        ("['$2^{3}$']", ["list", "dollars"], ("2^{3}",)),
        ("[0, 1]", ["list", "dollars"], ("[0, 1]",)),
        (["$69$", "$84$"], ["list", "dollars"], ("69,84",)),
        (["$x$, where $x$ is odd"], ["list", "dollars"], ("$x$, where $x$ is odd",)),
        (["221,$8$"[1:] + "$"], ["list", "dollars"], ("21,8",)),
        (["1\n", "1", "2"], ["alternatives"], ("1", "2")),
        ("", [], ()),
    ],
)
def test_gold_treatment(value: Any, steps: list[str], golds: tuple[str, ...]) -> None:
    assert clean_golds(value, steps) == golds


@pytest.mark.parametrize(
    "row",
    [
        {"Problem": "p", "Answer": 7},
        {"question": "p", "answer": "7.0"},
        {"problem": "p", "expected_answer": "007"},
        {"problem": "p", "solution": "hence \\boxed{7}"},
        {"prompt": [{"role": "user", "content": "p"}], "reward_model": {"ground_truth": "7"}},
    ],
)
def test_fields_of_known_mirrors_are_found(row: Row) -> None:
    (adapted,), _ = adapt([row], ["integer"])
    assert (adapted.problem, adapted.golds) == ("p", ("7",))


def test_solutions_are_not_carried_over() -> None:
    row = {"problem": "p", "answer": "7", "solution": "so 7", "level": 3, "url": "u"}
    (adapted,), _ = adapt([row], [])
    assert adapted.extra == {"level": 3}


def test_missing_field_names_the_row_and_its_fields() -> None:
    with pytest.raises(DataError, match=r"row 2: no field with the gold answer.*found: problem"):
        adapt([{"problem": "p", "answer": "1"}, {"problem": "p"}], [])
    with pytest.raises(DataError, match=r"row 1: no field with the problem \('text'\)"):
        adapt([{"problem": "p", "answer": "1"}], [], Fields(problem="text"))


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_an_instruction_in_every_problem_is_removed_and_told(instruction: str) -> None:
    rows = [{**row, "problem": f"{row['problem']}\n{instruction}\n"} for row in toy_rows()]
    adapted, notes = adapt(rows, [])
    assert [row.problem for row in adapted] == [row["problem"] for row in toy_rows()]
    assert len(notes) == 1
    assert instruction in notes[0] or repr(instruction) in notes[0]
    rows[0]["problem"] = "one without"
    assert adapt(rows, [])[1] == []


# --- identity ----------------------------------------------------------------


def match(rows: list[Row]) -> Any:
    manifest = toy_manifest()
    return compare(adapt(rows, manifest.steps)[0], manifest)


@given(st.randoms(use_true_random=False), st.sampled_from(["", " ", "\n\n"]))
def test_order_and_spaces_do_not_matter(rng: random.Random, space: str) -> None:
    rows = toy_rows()
    rng.shuffle(rows)
    for row in rows:
        row["problem"] = row["problem"].replace(" ", space) + space
        row["answer"] = rng.choice([row["answer"], float(row["answer"]), row["answer"].zfill(3)])
    found = match(rows)
    assert found.identity == "exact"
    assert sorted(found.places) == list(range(12))


@given(st.integers(0, 11), st.integers(1, 10**6))
def test_any_changed_gold_is_named(at: int, by: int) -> None:
    rows = toy_rows()
    rows[at]["answer"] = str(int(rows[at]["answer"]) + by)
    found = match(rows)
    assert found.identity is None
    assert f"toy-{at}" in found.reason
    assert ("x#1" in found.reason) == (at == 3)


@given(st.permutations(range(12)))
def test_permuted_golds_are_refused(order: list[int]) -> None:
    rows = toy_rows()
    golds = [rows[at]["answer"] for at in order]
    found = match([{**row, "answer": gold} for row, gold in zip(rows, golds, strict=True)])
    if list(order) == list(range(12)):
        assert found.identity == "exact"
    else:
        assert found.identity is None
        assert "permuted" in found.reason


def test_other_wording_is_the_weaker_identity() -> None:
    rows = [{**row, "problem": f"Compute {row['id']} squared."} for row in toy_rows()]
    found = match(rows)
    assert found.identity == "golds"
    assert "12 of 12 problems are worded differently" in found.notes[0]
    assert match(rows[::-1]).identity is None, "other wording in another order proves nothing"
    rows[0]["answer"], rows[5]["answer"] = rows[5]["answer"], rows[0]["answer"]
    assert match(rows).identity is None


def test_rows_that_can_be_tied_by_gold_may_be_in_another_order() -> None:
    rows = toy_rows()
    rows[3]["problem"], rows[8]["problem"] = "Three by three?", "Eight by eight?"
    found = match(rows[::-1])
    assert found.identity == "golds"
    assert found.places == tuple(range(11, -1, -1))


@pytest.mark.parametrize(("first", "last", "part"), [(0, 6, "I"), (6, 12, "II")])
@pytest.mark.parametrize("reworded", [False, True])
def test_a_part_is_named(first: int, last: int, part: str, reworded: bool) -> None:
    rows = toy_rows()[first:last]
    if reworded:
        rows = [{**row, "problem": f"other words {i}"} for i, row in enumerate(rows)]
    found = match(rows)
    assert found.identity is None
    assert f"only part {part}: rows {first + 1} to {last} of 12" in found.reason


def test_missing_doubled_and_foreign_rows_are_named() -> None:
    rows = toy_rows()
    assert "11 of the 12 of toy; missing: toy-4" in match(rows[:4] + rows[5:]).reason
    doubled = match([*rows[:11], rows[0]])
    assert doubled.identity is None
    assert "missing: toy-11" in doubled.reason
    more = match(rows + [{"problem": f"other {i}", "answer": str(i)} for i in range(8)])
    assert "all 12 of toy and 8 others" in more.reason
    assert "known: 20 rows is twenty squares" in more.reason
    none = match([{"problem": "something else", "answer": "1"}])
    assert "none of which is a problem of toy" in none.reason


# --- import and store --------------------------------------------------------


def test_import_load_export_import(toy: Manifest, tmp_path: Path) -> None:
    rows = toy_rows()
    done = bring(tmp_path, [{**r, "answer": float(r["answer"])} for r in rows[::-1]])
    assert (done.header.bench, done.header.identity) == ("toy", "exact")
    assert any("another order" in note for note in done.notes)
    loaded = data.load("toy", tmp_path / "store")
    assert [p.id for p in loaded.problems] == [r["id"] for r in rows]
    assert loaded.golds == {r["id"]: (r["answer"],) for r in rows}
    assert loaded.manifest is toy
    assert loaded.fingerprint()["sha256"] == toy.identity.sha256  # type: ignore[union-attr]
    plain = tmp_path / "plain.jsonl"
    plain.write_text("".join(local.plain_lines(loaded)), "utf-8")
    assert read_jsonl(plain) == rows
    before = done.path.read_bytes()
    again = import_files([plain], tmp_path / "store")
    assert again.header.bench == "toy"
    assert again.notes == ()
    assert again.path.read_bytes() == before.replace(b"in.jsonl", b"plain.jsonl")
    # a file of the store is a file like any other
    assert import_files([again.path], tmp_path / "other").header.sha256 == again.header.sha256


def test_mirrors_become_the_same_problems(toy: Manifest, tmp_path: Path) -> None:
    rows = [{"Problem": r["problem"], "Answer": int(r["answer"])} for r in toy_rows()]
    bring(tmp_path, rows)
    first = data.load("toy", tmp_path / "store")
    bring(tmp_path, toy_rows()[::-1])
    assert data.load("toy", tmp_path / "store").problems == first.problems


def test_two_parts_in_one_command(toy: Manifest, tmp_path: Path) -> None:
    one = write_jsonl(tmp_path / "I.jsonl", toy_rows()[:6])
    two = write_jsonl(tmp_path / "II.jsonl", toy_rows()[6:])
    with pytest.raises(DataMismatchError, match=r"only part I.*\n.*all parts in one command"):
        import_files([one], tmp_path / "store")
    assert import_files([one, two], tmp_path / "store").header.identity == "exact"


def test_pick_keeps_the_pinned_rows(toy: Manifest, tmp_path: Path) -> None:
    rows = [{"problem": f"other {i}", "answer": str(i)} for i in range(8)] + toy_rows()
    with pytest.raises(DataMismatchError, match=r"closest to toy.*8 others(.|\n)*--pick"):
        bring(tmp_path, rows)
    done = bring(tmp_path, rows, pick=True)
    assert done.header.identity == "exact"
    assert "8 rows of other benchmarks left out" in done.notes


def test_refusal_leaves_the_store_alone(toy: Manifest, tmp_path: Path) -> None:
    done = bring(tmp_path, toy_rows())
    before = done.path.read_bytes()
    rows = toy_rows()
    rows[3]["answer"] = "8"
    with pytest.raises(DataMismatchError, match=r"not toy: 1 of 12 golds.*toy-3(.|\n)*x#1"):
        bring(tmp_path, rows, bench="toy")
    assert done.path.read_bytes() == before
    assert [p.name for p in (tmp_path / "store").iterdir()] == ["toy.jsonl"]


def test_unknown_rows_are_never_guessed(tmp_path: Path) -> None:
    with pytest.raises(DataMismatchError, match=r"none of aime24(.|\n)*--allow-mismatch NAME"):
        bring(tmp_path, [{"problem": "p", "answer": "1"}])
    assert not (tmp_path / "store").exists()


def test_own_benchmarks(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"problem": "a root of $x^2 = 4$?", "answer": ["2", "-2"], "topic": "roots"},
        {"problem": "1 + 1?", "answer": 2},
    ]
    done = bring(tmp_path, rows, own_name="mine")
    assert done.header.identity == "custom"
    mine = data.load("mine", tmp_path / "store")
    assert mine.golds == {"mine-1": ("2", "-2"), "mine-2": ("2",)}
    assert mine.problems[0].extra == {"topic": "roots"}
    assert not mine.manifest.known
    for name, message in (("aime24", "pinned"), ("../x", "must be"), ("A", "must be")):
        with pytest.raises(ArgumentError, match=message):
            bring(tmp_path, rows, own_name=name)
    with pytest.raises(DataError, match="row 2: duplicate id 'x', first used by row 1"):
        bring(tmp_path, [{"id": "x", **row} for row in rows], own_name="mine")


def test_names_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="'aime2024'\nhint: did you mean aime24"):
        bring(tmp_path, toy_rows(), bench="aime2024")
    with pytest.raises(ArgumentError, match="bundled"):
        bring(tmp_path, toy_rows(), bench="mini")
    with pytest.raises(ArgumentError, match="did you mean math500"):
        data.load("math50", tmp_path)
    with pytest.raises(DataError, match=r"not imported(.|\n)*data fetch math500"):
        data.load("math500", tmp_path)
    assert nearest("minerva", names())[0] == "minerva_math"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: raw[:-30], "Unterminated|Expecting"),
        (lambda raw: raw[: raw[:-1].rindex(b"\n") + 1], "11 rows, the header says 12"),
        (lambda raw: raw.replace(b'"121"', b'"122"'), "changed: toy-11"),
        (lambda raw: raw.replace(b"toy-7", b"toy-x"), "not the toy that this version pins"),
        (lambda raw: raw.replace(b"toy-7", b"toy-6"), "duplicate id 'toy-6'"),
        (lambda raw: raw.split(b"\n", 1)[1], "not the header"),
        (lambda raw: raw.replace(b"What", b"Wh\xfft", 1), "not UTF-8"),
        (lambda raw: b"", "not the header"),
    ],
)
def test_damage_is_found_at_load(toy: Manifest, tmp_path: Path, damage: Any, message: str) -> None:
    path = bring(tmp_path, toy_rows()).path
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=message):
        data.load("toy", tmp_path / "store")
    state = status.verify("toy", tmp_path / "store")
    assert state["state"] == "damaged"


KILLED = """
import os, signal, sys
from pathlib import Path
from stare.evals.data.importing import import_files
os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)
import_files([Path(sys.argv[1])], Path(sys.argv[2]), own_name="mine")
"""


def test_a_killed_import_leaves_the_old_set(tmp_path: Path) -> None:
    path = bring(tmp_path, toy_rows()[:5], own_name="mine").path
    before = path.read_bytes()
    new = write_jsonl(tmp_path / "new.jsonl", toy_rows())
    child = subprocess.run(
        [sys.executable, "-c", KILLED, str(new), str(path.parent)],
        env={**os.environ, "PYTHONPATH": str(Path(data.__file__).parents[3])},
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert len(data.load("mine", path.parent).problems) == 5
    (left,) = (p for p in path.parent.iterdir() if p.suffix == ".tmp")
    assert local.imported(path.parent) == ["mine"], "a torn file is no benchmark"
    os.utime(left, (0, 0))
    import_files([new], path.parent, own_name="mine")
    assert [p.name for p in path.parent.iterdir()] == ["mine.jsonl"]


def test_a_full_disk_leaves_the_old_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bring(tmp_path, toy_rows()[:5], own_name="mine").path
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        bring(tmp_path, toy_rows(), own_name="mine")
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["mine.jsonl"]


def test_the_store_is_where_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STARE_DATA", str(tmp_path / "a"))
    assert local.data_folder() == tmp_path / "a"
    assert local.data_folder(tmp_path) == tmp_path
    monkeypatch.delenv("STARE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert local.data_folder() == tmp_path / "stare" / "benchmarks"


# --- reading -----------------------------------------------------------------


def test_formats_read_alike(tmp_path: Path) -> None:
    rows = [
        {"problem": 'a "quoted",\nline \u2028 ä', "answer": "1"},
        {"problem": "b", "answer": "2"},
    ]
    lines = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    files = {
        "a.jsonl": lines,
        "bom.jsonl": "\ufeff" + lines,
        "blank.ndjson": "\n" + lines.replace("\n", "\r\n") + "\n",
        "a.json": json.dumps(rows),
        "lines.json": lines,
        "object.json": json.dumps({"data": rows}),
        "a.csv": 'problem,answer\n"a ""quoted"",\nline \u2028 ä",1\nb,2\n',
    }
    for name, text in files.items():
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8"))
        assert readers.read_rows(path) == rows, name
    assert len(readers.read_rows(tmp_path)) == 2 * len(files)


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("a.jsonl", b'{"problem": "p"}\n{"prob', r"a.jsonl:2: not valid JSON(.|\n)*cut short"),
        ("a.jsonl", b'{"problem": "p"}\n[1]\n', r"a.jsonl:2: expected a JSON object"),
        ("a.jsonl", b'{"a": "x"}\n{"a": "\xff"}\n', r"a.jsonl:2: not UTF-8"),
        ("a.jsonl", b'{"a": NaN}\n', r"a.jsonl:1: not valid JSON: NaN"),
        ("a.jsonl", b"\n", "no rows"),
        ("a.json", b'[{"a": 1}', r"not valid JSON(.|\n)*cut short"),
        ("a.json", b"[1, 2]", "expected a list of JSON objects"),
        ("a.csv", b"a,b\n1\n", "another number of fields"),
        ("a.csv", b'a,b\n"1,2\n', r"a.csv:\d: not valid CSV"),
        ("a.txt", b"", r"cannot read files that end in '.txt'\nhint: readable endings: .jsonl"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, raw: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(raw)
    with pytest.raises(DataError, match=message):
        readers.read_rows(path)


def test_missing_file_and_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*none.jsonl: No such file"):
        readers.read_rows(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="no data files in the folder"):
        readers.read_rows(tmp_path)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"pyarrow(.|\n)*stare-rl\[eval\]"):
        readers.read_rows(tmp_path / "a.parquet")


def test_parquet(toy: Manifest, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "toy.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(toy_rows()), path)
    assert import_files([path], tmp_path / "store").header.identity == "exact"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="not a Parquet file"):
        readers.read_rows(path)


# --- fetching ----------------------------------------------------------------


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> dict[Any, Any]:
    """A fake `datasets`: (hub, config) -> rows or an exception; records its calls."""
    content: dict[Any, Any] = {"calls": []}

    def load_dataset(name: str, config: str | None, *, split: str, revision: str | None) -> Any:
        content["calls"].append((name, config, split, revision))
        found = content.get((name, config), ConnectionError("cannot reach the Hub"))
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    return content


def test_fetch_falls_back_over_mirrors(toy: Manifest, tmp_path: Path, hub: dict[Any, Any]) -> None:
    hub["b/toy", "I"] = toy_rows()[:6]
    hub["b/toy", "II"] = toy_rows()[6:]
    done = fetching.fetch("toy", tmp_path)
    assert done.header.identity == "exact"
    assert done.header.source == "hub: b/toy (I, II)@c0ffee, split test"
    assert hub["calls"] == [
        ("a/toy", None, "test", None),
        ("b/toy", "I", "test", "c0ffee"),
        ("b/toy", "II", "test", "c0ffee"),
    ]


def test_fetch_prefers_the_pinned_wording(
    toy: Manifest, tmp_path: Path, hub: dict[Any, Any]
) -> None:
    reworded = [{"q": f"{r['id']} squared?", "a": r["answer"]} for r in toy_rows()]
    hub["a/toy", None] = reworded
    assert fetching.fetch("toy", tmp_path).header.identity == "golds"
    hub["b/toy", "I"], hub["b/toy", "II"] = toy_rows()[:6], toy_rows()[6:]
    assert fetching.fetch("toy", tmp_path).header.identity == "exact"


def test_fetch_refuses_a_wrong_set(toy: Manifest, tmp_path: Path, hub: dict[Any, Any]) -> None:
    hub["a/toy", None] = [{"q": r["problem"], "a": r["answer"]} for r in toy_rows()[:6]]
    with pytest.raises(DataMismatchError, match=r"pinned rows of toy(.|\n)*only part I") as caught:
        fetching.fetch("toy", tmp_path)
    assert "b/toy (I, II)@c0ffee, split test: ConnectionError" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_fetch_offline_names_the_import(toy: Manifest, tmp_path: Path, hub: dict[Any, Any]) -> None:
    with pytest.raises(
        fetching.UnreachableError, match=r"no source could be reached(.|\n)*data import PATH"
    ):
        fetching.fetch("toy", tmp_path)
    hub["b/toy", "I"] = FileNotFoundError("no such data set")
    with pytest.raises(DataError, match="no such data set") as caught:
        fetching.fetch("toy", tmp_path)
    assert not isinstance(caught.value, fetching.UnreachableError)
    with pytest.raises(DataError, match=r"no source on the Hub(.|\n)*Qwen2.5-Math"):
        fetching.fetch("olympiadbench", tmp_path)


def test_fetch_without_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"'datasets'(.|\n)*stare-rl\[eval\]"):
        fetching.fetch("aime24", tmp_path)


# --- the registry and its manifests ------------------------------------------


def test_registry() -> None:
    assert names()[:6] == (
        "aime24",
        "aime25",
        "amc23",
        "math500",
        "minerva_math",
        "olympiadbench",
    )
    assert {"olympiadbench674", "gsm8k", "mini"} < set(names())
    for alias, name in registry.ALIASES.items():
        assert name in names()
        assert alias not in names()


@pytest.mark.parametrize("name", names())
def test_manifest_is_sound(name: str) -> None:
    manifest = load_manifest(name)
    identity = manifest.identity
    assert identity is not None
    assert manifest.rows == len(identity.rows) == len({row.id for row in identity.rows})
    assert len({row.problem for row in identity.rows}) == manifest.rows
    assert manifest.rows == {**SIX, "olympiadbench674": 674, "mini": 30}[name]
    ids = {row.id for row in identity.rows}
    for erratum in manifest.errata:
        assert set(erratum.rows) <= ids, erratum
    for source in manifest.sources:
        assert source.revision is None or len(source.revision) == 40
        assert (source.revision is None) == ("revision not known" in source.note)
    spans = sorted(manifest.parts.values())
    assert not spans or [at for span in spans for at in span] == [0, 15, 15, 30]
    assert manifest.rows not in manifest.mistakes


@pytest.mark.parametrize("name", SIX)
def test_committed_hashes_are_those_of_the_files(benchmarks: Path, name: str) -> None:
    path = Path(data.__file__).parent / "manifests" / f"{name}.json"
    committed = json.loads(path.read_text("utf-8"))
    identity = identity_of(
        readers.read_rows(benchmarks / f"{name}.jsonl"),
        steps=committed["gold"]["steps"],
        integer=committed["gold"]["kind"] == "integer",
        computed_from=committed["identity"]["computed_from"],
    )
    assert identity == committed["identity"]
    assert dumps(committed) == path.read_text("utf-8")


def test_make_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hand = {"name": "toy", "title": "t", "gold": {"kind": "integer", "steps": []}, "n": 1}
    (tmp_path / "toy.json").write_text(json.dumps(hand), "utf-8")
    rows = write_jsonl(tmp_path / "rows.jsonl", toy_rows())
    options = ["--name", "toy", "--manifests", str(tmp_path), "--computed-from", "here"]
    assert make_manifest([str(rows), *options]) == 0
    made = json.loads((tmp_path / "toy.json").read_text("utf-8"))
    assert made["rows"] == 12
    assert made["identity"]["computed_from"] == "here"
    assert toy_manifest().identity.sha256 == made["identity"]["sha256"]  # type: ignore[union-attr]
    write_jsonl(rows, [*toy_rows(), toy_rows()[0]])
    assert make_manifest([str(rows), *options]) == 1
    assert "id 'toy-0' occurs 2 times" in capsys.readouterr().err
    assert json.loads((tmp_path / "toy.json").read_text("utf-8")) == made


# --- the real ones -----------------------------------------------------------


@pytest.mark.parametrize("name", SIX)
def test_real_files_import_as_they_are(benchmarks: Path, tmp_path: Path, name: str) -> None:
    source = benchmarks / f"{name}.jsonl"
    done = import_files([source], tmp_path / "store")
    assert (done.header.bench, done.header.identity) == (name, "exact")
    assert done.notes == ()
    loaded = data.load(name, tmp_path / "store")
    rows = read_jsonl(source)
    assert [p.id for p in loaded.problems] == [r["id"] for r in rows]
    assert [p.problem for p in loaded.problems] == [r["problem"] for r in rows]
    assert all(len(golds) == 1 for golds in loaded.golds.values())
    plain = tmp_path / f"{name}.jsonl"
    plain.write_text("".join(local.plain_lines(loaded)), "utf-8")
    assert import_files([plain], tmp_path / "again").header.sha256 == done.header.sha256


def test_real_golds_are_treated(benchmarks: Path, tmp_path: Path) -> None:
    for name in ("aime24", "olympiadbench"):
        import_files([benchmarks / f"{name}.jsonl"], tmp_path)
    aime = data.load("aime24", tmp_path).golds
    assert not any(gold.startswith("0") for (gold,) in aime.values())
    olympiad = data.load("olympiadbench", tmp_path).golds
    with_dollars = [name for name, (gold,) in olympiad.items() if "$" in gold]
    assert with_dollars == ["olympiad-1965"], "its gold is a sentence"


@pytest.mark.parametrize(("first", "last", "part"), [(0, 15, "I"), (15, 30, "II")])
def test_half_of_aime25_is_refused(
    benchmarks: Path, tmp_path: Path, first: int, last: int, part: str
) -> None:
    rows = read_jsonl(benchmarks / "aime25.jsonl")[first:last]
    for options in ({}, {"bench": "aime25"}):
        with pytest.raises(DataMismatchError, match=f"only part {part}: rows {first + 1} to"):
            bring(tmp_path, rows, **options)


def test_amc_of_83_rows_is_refused(benchmarks: Path, tmp_path: Path) -> None:
    rows = read_jsonl(benchmarks / "amc23.jsonl")
    rows += [{"problem": f"filler {i}", "answer": float(i)} for i in range(43)]
    random.Random(0).shuffle(rows)
    rows = [{"problem": row["problem"], "answer": float(row["answer"])} for row in rows]
    with pytest.raises(DataMismatchError, match="2022 and 2023, which contains all 40"):
        bring(tmp_path, rows)
    assert bring(tmp_path, rows, pick=True).header.identity == "exact"


def test_real_wrong_sets_are_refused(benchmarks: Path, tmp_path: Path) -> None:
    aime = read_jsonl(benchmarks / "aime24.jsonl")
    with pytest.raises(DataMismatchError, match=r"not aime25.*30 rows, none of which"):
        bring(tmp_path, aime, bench="aime25")
    permuted = [
        {**r, "answer": s["answer"]} for r, s in zip(aime, aime[1:] + aime[:1], strict=True)
    ]
    with pytest.raises(DataMismatchError, match="permuted"):
        bring(tmp_path, permuted)
    wrong = [{**r, "answer": "384" if r["id"] == "aime24-63" else r["answer"]} for r in aime]
    with pytest.raises(DataMismatchError, match=r"aime24-63(.|\n)*NeMo-Skills#118"):
        bring(tmp_path, wrong)
    train = [{"question": f"q{i}", "answer": f"#### {i}"} for i in range(7473)]
    with pytest.raises(DataMismatchError, match="7473 rows is the training split"):
        bring(tmp_path, train, bench="gsm8k")
    olympiad = read_jsonl(benchmarks / "olympiadbench.jsonl")
    with pytest.raises(DataMismatchError, match=r"675 rows is the row set of Qwen2.5-Math"):
        bring(tmp_path, olympiad, bench="olympiadbench674")


def test_no_benchmark_text_is_committed(benchmarks: Path) -> None:
    folder = Path(data.__file__).parent
    committed = normal_problem(
        "".join(p.read_text("utf-8") for p in folder.rglob("*.json*") if p.is_file())
    )
    for name in SIX:
        for row in read_jsonl(benchmarks / f"{name}.jsonl"):
            assert normal_problem(row["problem"])[:60] not in committed, row["id"]
