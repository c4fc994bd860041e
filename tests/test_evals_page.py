"""The HTML report in headless Chromium; skipped where there is none."""

import time

import pytest

from chromium import CHROMIUM, Page
from graded_runs import GOLDS, drawn_samples, make_run, sample
from stare.evals.report.write import write_reports
from stare.evals.results import up_to_date
from test_evals_report import HOSTILE

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(browser):
    browser.requests.clear()
    browser.complaints.clear()
    return browser


def written(folder, **options):
    (path,) = write_reports(folder, up_to_date(folder), ["html"], **options)
    return path.as_uri()


def test_it_loads_without_network_and_complaints(page, tmp_path):
    url = written(make_run(tmp_path / "run", GOLDS, drawn_samples(GOLDS, 8), n=8))
    page.open(url)
    assert page.run("document.querySelectorAll('.scores tbody tr').length") == 3
    assert page.run("document.querySelectorAll('#heat-0 rect').length") == 12 * 8
    assert page.run("document.querySelectorAll('.card svg').length") == 6
    assert (
        page.run(
            "document.querySelector('.warnings').compareDocumentPosition("
            "document.querySelector('.scores')) & 4"
        )
        == 4
    )
    assert page.run(
        "[...document.querySelectorAll('svg[role=img]')]"
        ".every((one) => one.getAttribute('aria-label'))"
    )
    assert [one for one in page.requests if not one.startswith("data:")] == [url]
    assert page.complaints == []


def test_drill_down_by_mouse_keys_and_address(page, tmp_path):
    url = written(make_run(tmp_path / "run", GOLDS, drawn_samples(GOLDS, 8), n=8))
    page.open(url)
    page.run("document.querySelector('#heat-0 .row a').click()")
    page.wait("document.getElementById('detail').dataset.shown === 'sums/sums-1/0'")
    assert page.run("document.getElementById('overview').hidden")
    page.press("ArrowRight")
    page.wait("document.getElementById('detail').dataset.shown === 'sums/sums-1/1'")
    page.press("n")
    page.wait("document.getElementById('detail').dataset.shown === 'sums/sums-2/0'")
    page.press("Escape")
    page.wait("!document.getElementById('overview').hidden")
    page.open(url + "#/halves/h-3/5")
    page.wait("document.getElementById('detail').dataset.shown === 'halves/h-3/5'")
    assert "h-3 5: " in page.run("document.querySelectorAll('#detail .text')[1].textContent")
    assert page.complaints == []


def test_hostile_texts_stay_texts(page, tmp_path):
    rows = [sample("b", "p", at, text) for at, text in enumerate(HOSTILE)]
    folder = make_run(tmp_path / "run", {"b": {"p": "7"}}, rows, n=len(rows))
    url = written(folder)
    for at, text in enumerate(HOSTILE):
        page.open(url + f"#/b/p/{at}")
        page.wait(f"document.getElementById('detail').dataset.shown === 'b/p/{at}'")
        page.run(
            "[...document.querySelectorAll('button')].find((one) => "
            "one.textContent === 'show source').click()"
        )
        page.wait("document.querySelectorAll('#detail .text.source').length === 2")
        shown = page.run("document.querySelectorAll('#detail .text')[1].textContent")
        assert shown == text
        page.run(
            "[...document.querySelectorAll('button')].find((one) => "
            "one.textContent === 'show maths').click()"
        )
        assert (
            page.run("document.querySelectorAll('#detail img, #detail script, #detail b').length")
            == 0
        )
        assert page.run("document.title") == "tiny - stare-eval"
    assert [one for one in page.requests if not one.startswith(("data:", "file:"))] == []
    assert page.complaints == []


FORMULAS = {
    r"\frac{1}{2}": ("mfrac", "12"),
    r"\sqrt[3]{x+1}": ("mroot", "x+13"),
    r"x_i^{2n}": ("msubsup", "xi2n"),
    r"\sum_{k=1}^{n} k": ("munderover", "∑k=1nk"),
    r"\left( \frac{a}{b} \right]": ("mfrac", "(ab]"),
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}": ("mtable", "(1234)"),
    r"\begin{cases} x & y \\ z \end{cases}": ("mtable", "{xyz"),
    r"\text{if } x \in \mathbb{R}": ("mtext", "if x\u2208\u211d"),
    r"\boxed{\alpha \le 3{,}000}": (".boxed", "\u03b1\u22643,000"),
    r"\overline{AB} \cdot \binom{n}{k}": (".overline", "AB⋅(nk)"),
    r"f'(x)": ("msup", "f\u2032(x)"),
    r"\unknowncommand{x}": (".unknown", "\\unknowncommandx"),
    r"\frac": ("mfrac", ""),
    r"{{{": ("mrow", ""),
    r"}}&\\": ("math", ""),
}


@pytest.mark.parametrize("source", FORMULAS)
def test_maths(page, tmp_path_factory, source):
    if not page.run("typeof TeX === 'object'"):
        folder = make_run(
            tmp_path_factory.mktemp("run"), {"b": {"p": "7"}}, [sample("b", "p", 0, "7")], n=1
        )
        page.open(written(folder))
    inside, text = FORMULAS[source]
    import json

    page.run(
        f"window.made = document.createElement('div'); made.append(TeX.math({json.dumps(source)}"
        ", false))"
    )
    assert page.run(f"made.querySelector({json.dumps(inside)}) !== null")
    assert page.run("made.textContent").replace(" ", "") == text.replace(" ", "")
    assert page.run("made.querySelector('math').namespaceURI").endswith("MathML")


def test_any_formula_is_bounded(page, tmp_path):
    folder = make_run(tmp_path / "run", {"b": {"p": "7"}}, [sample("b", "p", 0, "7")], n=1)
    page.open(written(folder))
    for script in (
        "'{'.repeat(3000)",
        "'\\\\frac'.repeat(700)",
        "'\\\\left('.repeat(500)",
        "'x^'.repeat(1900)",
        "'\\\\begin{matrix}'.repeat(200)",
        "'\\\\sqrt['.repeat(500)",
    ):
        start = time.perf_counter()
        assert page.run(f"TeX.math({script}, true).textContent.length >= 0")
        assert time.perf_counter() - start < 2.0
    start = time.perf_counter()
    for script in (
        "'$$'.repeat(50000)",
        "'\\\\['.repeat(50000)",
        "'$x '.repeat(50000)",
        "'\\\\boxed{'.repeat(20000)",
        "'\\\\begin{align}'.repeat(10000)",
    ):
        assert page.run(f"TeX.nodes({script}).length > 0")
    assert time.perf_counter() - start < 20.0


def test_thirty_problems_of_thirty_two_long_samples_stay_quick(page, tmp_path):
    import random

    rng = random.Random(0)
    words = [f"{rng.choice('abcdefgh')}{rng.randint(2, 999)}" for _ in range(3000)]
    golds = {"aime": {f"aime-{at}": str(at) for at in range(30)}}
    rows = [
        sample("aime", name, at, " ".join(rng.choices(words, k=7000)) + f" $x^2$ \\boxed{{{gold}}}")
        for name, gold in golds["aime"].items()
        for at in range(32)
    ]
    assert sum(len(one.text) for one in rows) > 960 * 8000 * 3.5
    url = written(make_run(tmp_path / "run", golds, rows, n=32))
    start = time.perf_counter()
    page.open(url)
    page.wait("document.querySelectorAll('#heat-0 rect').length === 960")
    loaded = time.perf_counter() - start
    start = time.perf_counter()
    page.run("location.hash = '#/aime/aime-17/31'")
    page.wait("document.getElementById('detail').dataset.shown === 'aime/aime-17/31'")
    shown = time.perf_counter() - start
    assert page.complaints == []
    assert loaded < 8.0, loaded
    assert shown < 3.0, shown
    print(f"30 x 32 samples of 8k tokens: loaded in {loaded:.2f} s, a text in {shown:.2f} s")
