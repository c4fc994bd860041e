from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stare.train.mixing.duplicates import SHORT_CONTAINED, find_contained, find_near
from stare.train.mixing.normal import exact_key, near_tokens, numbers, tokens
from stare.train.mixing.shingles import overlap, shingle

SAME = [
    ("Find  $x$\r\n if $x = 1$. ", "find x if x=1"),
    (r"$\dfrac{1}{2}$ of it", r"\( \frac12 \) of it"),
    (r"$$\left( a+b \right) \cdot 2 \leq 3$$", r"\[(a+b)\times 2\le3\]"),
    ("an area of 1,250,000 m²", "an area of $1{,}250{,}000$ $m^2$"),
    (r"$\text{the } n\text{th}$ one", "the n th one"),
    ("it is 90° wide", r"it is $90^\circ$ wide"),
    ("Triangle ABC", "triangle $ABC$"),
    (r"$\frac{a+b}{2}$", "(a+b)/2"),
    (r"$x_{1}^{2+y}$", "$x_1^(2+y)$"),
    (r"$f^{\prime}(x)$", "f^'(x)"),
    ("\u6c42 $x$\u3002", "\u6c42x"),
    (r"\begin{align*} x+y \end{align*}", "$x+y$"),
    ("“Why?” \u2212 he said", "Why - he said"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_spellings_of_one_statement_have_one_key(a: str, b: str) -> None:
    assert tokens(a) == tokens(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Find $x$ if $x=1$", "Find $x$ if $x=2$"),
        ("What is 1.5?", "What is 15?"),
        ("What is $2^3$?", "What is $23$?"),
        ("Compute $3-4$", "Compute $3+4$"),
        ("How many $a<b$?", "How many $a>b$?"),
        ("1, 234", "1234"),
        (r"$\sin x$", r"$\cos x$"),
        ("Compute $(2+3)*4$", "Compute $2+3*4$"),
        ("Compute $2^{3+4}$", "Compute $2^3+4$"),
        (r"$\frac{1+2}{3}$", r"$1+\frac{2}{3}$"),
        ("Find $f'(2)$", "Find $f(2)$"),
        ("on $[0,1)$", "on $(0,1]$"),
    ],
)
def test_other_statements_have_other_keys(a: str, b: str) -> None:
    assert exact_key(tokens(a)) != exact_key(tokens(b))


def test_renamed_variables_meet_in_the_near_form_only() -> None:
    a, b = tokens("Solve $x^2+xy=3$ for $x$"), tokens("Solve $a^2+ab=3$ for $a$")
    assert a != b
    assert near_tokens(a) == near_tokens(b)


@given(st.text(max_size=200))
def test_any_text_has_tokens(text: str) -> None:
    words = tokens(text)
    assert all(w and not w.isspace() for w in words)
    assert len(exact_key(words)) == 16
    assert numbers(words) == tuple(sorted(numbers(words)))


def test_a_statement_of_a_megabyte_is_cut_not_ground_through() -> None:
    for text in (
        "\\frac{1}{" * 120_000,
        "\\text{" * 99_999,
        "{" * 10**6,
        "\\frac " * 10**5,
        "\\(" * 10**5,
    ):
        assert len(tokens(text)) <= 20_000
    assert len(tokens("1," * 500_000 + "$" * 500_000)) <= 20_000


def collection(seed: int, count: int) -> list[list[str]]:
    """Token lists with many near and contained copies, few words, repeated and empty ones."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(12)] + ["3", "4"]
    made: list[list[str]] = []
    for _ in range(count):
        if made and rng.random() < 0.6:
            copy = list(rng.choice(made))
            for _ in range(rng.randrange(3)):
                at = rng.randrange(len(copy) + 1)
                copy[at : at + rng.randrange(2)] = rng.choices(words, k=rng.randrange(2))
            made.append(copy)
        else:
            made.append(rng.choices(words, k=rng.randrange(0, 30)))
    return made


def slow_set(document: list[str], size: int) -> set[tuple[str, ...]]:
    if len(document) < size:
        return {tuple(document)}
    return {tuple(document[i : i + size]) for i in range(len(document) - size + 1)}


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_shingle_sets_are_those_of_the_slow_way(seed: int, size: int) -> None:
    documents = collection(seed, 60)
    fast = shingle(documents, size)
    slow = [slow_set(d, size) for d in documents]
    assert [len(s) for s in fast.sets] == [len(s) for s in slow]
    for i, j in combinations(range(len(documents)), 2):
        assert overlap(fast.sets[i], fast.sets[j]) == len(slow[i] & slow[j])


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_near_duplicates_are_those_of_comparing_every_pair(seed: int, threshold: float) -> None:
    documents = collection(seed, 120)
    slow, kept = [], []
    for i, document in enumerate(documents):
        own = slow_set(near_tokens(document), 3)
        for j in kept:
            other = slow_set(near_tokens(documents[j]), 3)
            similarity = len(own & other) / len(own | other)
            if similarity >= threshold and numbers(document) == numbers(documents[j]):
                slow.append((i, j, similarity))
                break
        else:
            kept.append(i)
    fast = find_near(documents, threshold=threshold, size=3)
    assert [(m.index, m.other, m.similarity) for m in fast] == slow
    assert len(slow) > 5


FRAME = [f"frame{i}" for i in range(12)]


@pytest.mark.parametrize("containment", [0.6, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_contamination_is_that_of_comparing_every_pair(seed: int, containment: float) -> None:
    pool = collection(seed, 140)
    benchmarks, documents = pool[:40], pool[40:]
    documents += [[*FRAME, *b, *FRAME] for b in benchmarks[:20]]
    found = {
        m.index: m
        for m in find_contained(
            documents, benchmarks, threshold=0.7, containment=containment, size=3
        )
    }
    kinds = set()
    for i, document in enumerate(documents):
        own = slow_set(near_tokens(document), 3)
        hits = {}
        for j, benchmark in enumerate(benchmarks):
            other = slow_set(near_tokens(benchmark), 3)
            common = len(own & other)
            mine, theirs = list(numbers(document)), numbers(benchmark)
            inside = all(mine.count(n) >= theirs.count(n) for n in theirs)
            if document == benchmark:
                hits[j] = ("exact", 1.0)
            elif common / len(own | other) >= 0.7 and tuple(mine) == theirs:
                hits[j] = ("near", common / len(own | other))
            elif common / len(other) >= containment and len(other) >= SHORT_CONTAINED and inside:
                hits[j] = ("contains", common / len(other))
        assert (i in found) == bool(hits)
        if hits:
            match = found[i]
            order = ["contains", "near", "exact"]
            best = max((order.index(kind), value) for kind, value in hits.values())
            assert (order.index(match.kind), match.similarity) == best
            assert match.other in hits
            kinds.add(match.kind)
    assert kinds == {"exact", "near", "contains"}


def test_a_pair_that_is_told_apart_is_kept_and_a_later_copy_finds_the_first() -> None:
    a = tokens("Given that $x+y=10$ and $x-y=4$ hold for two real numbers, find the value of $x$.")
    b = tokens("Given that $x+y=10$ and $x-y=4$ hold for two real numbers, find the value of $y$.")
    assert [m.index for m in find_near([a, b], threshold=0.8, size=3)] == [1]
    apart = find_near([a, b, a], threshold=0.8, size=3, different=lambda i, j: i + j == 1)
    assert [(m.index, m.other) for m in apart] == [(2, 0)]


def test_nothing_is_found_in_nothing() -> None:
    assert find_near([], threshold=0.8, size=3) == []
    assert find_contained([], [], threshold=0.8, containment=0.9, size=3) == []
    assert find_contained([["a"]], [], threshold=0.8, containment=0.9, size=3) == []
