r"""Normal forms of problem statements, for finding the same problem written twice.

Copies of a problem differ in white space, letter case, LaTeX spelling (`\dfrac`, `\left(`, `$` or
`\(`, `\le`), Unicode (`×`, `²`), the grouping of digits (`1,000`) and punctuation. None of that is
kept. Two forms are made from one list of tokens:

- the exact key: all tokens in order, brackets included (`{2}` is `2`, other braces are brackets);
  equal keys are equal problems;
- the near form: no brackets, and every single letter becomes one and the same token, so that
  renamed variables disappear. It says nothing about which letter is asked for, so it only ever
  finds candidates.

Normal forms are for identity only. Nothing here decides whether an answer is right.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence

__all__ = ["VARIABLE", "exact_key", "near_tokens", "numbers", "tokens"]

VARIABLE = "v"
"""What every single letter becomes in the near form."""

_SUPERSCRIPTS = str.maketrans(
    {c: f"^{d}" for c, d in zip("⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ", "0123456789n", strict=True)}
)
_SYMBOLS = str.maketrans(
    {
        "\u2212": "-", "\u2013": "-", "\u2014": "-", "\u00d7": "*", "·": "*", "⋅": "*", "÷": "/",
        "≤": " \\le ", "≥": " \\ge ", "≠": " \\ne ", "π": " \\pi ", "√": " \\sqrt ",
        "∞": " \\infty ", "°": " \\degree ", "∠": " \\angle ", "△": " \\triangle ", "∈": " \\in ",
        "\u2019": "'", "\u2018": "'",
    }
)  # fmt: skip
_SAME = {
    "\\dfrac": "\\frac", "\\tfrac": "\\frac", "\\cfrac": "\\frac", "\\leq": "\\le",
    "\\leqslant": "\\le", "\\geq": "\\ge", "\\geqslant": "\\ge", "\\neq": "\\ne",
    "\\cdot": "*", "\\times": "*", "\\ast": "*", "\\div": "/", "\\degree": "degrees",
    "\\circ": "degrees", "\\ldots": "...", "\\dots": "...", "\\cdots": "...", "\\lvert": "|",
    "\\rvert": "|", "\\vert": "|", "\\mid": "|", "\\lt": "<", "\\gt": ">", "\\prime": "'",
    "\\varphi": "\\phi", "\\varepsilon": "\\epsilon", "\\percent": "%", "\\to": "\\rightarrow",
}  # fmt: skip
_NOTHING = frozenset(
    f"\\{name}"
    for name in (
        *("left", "right", "middle", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr"),
        *("displaystyle", "textstyle", "quad", "qquad", "limits", "nonumber", "hspace", "vspace"),
        *("centering", "noindent"),
    )
)
_WRAPPER = re.compile(
    r"\\(?:text|textbf|textit|emph|mathrm|mathbf|mathit|mathsf|operatorname|mbox|hbox|textrm)\*?"
    r"\s*\{([^{}]*)\}"
)
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}(?:\[[^\]]*\])?")
_FRACTION = re.compile(r"\\[dtc]?frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))")
_GROUPED = re.compile(r"(?<![\d.])(\d{1,3})((?:(?:\{,\}|\\,|,)\d{3})+)(?![\d])")
# Bounded, so that a text full of openings costs no square of its length.
_MATH = re.compile(
    r"\$\$(.{1,2000}?)\$\$|\$(.{1,2000}?)\$|\\\((.{1,2000}?)\\\)|\\\[(.{1,2000}?)\\\]", re.DOTALL
)
_DEGREES = re.compile(r"\^\s*\{?\s*\\circ\s*\}?")
_WORD = "\x01"  # marks the words of a \text inside a formula, which are no products of variables
_RUN = re.compile(rf"\\[a-zA-Z]+|{_WORD}[a-zA-Z]+|[a-zA-Z]{{2,}}")
_UPPER = re.compile(r"(?<![a-zA-Z\\])[A-Z]{2,5}(?![a-zA-Z])")
# Chinese and Japanese have no spaces: a character is a token.
_TOKEN = re.compile(
    r"\\[a-zA-Z]+|\d+(?:\.\d+)?|[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]+"
    r"|\.\.\.|'(?![a-zA-Z])|[*/+\-=<>|^%!(){}\[\]]"
)
_BRACKETS = frozenset("()[]")
_MAX_CHARS = 20_000
_NESTING = 4


def tokens(text: str) -> list[str]:
    r"""Tokens of a statement: numbers, words, commands, operators; lower case.

    Only the first 20,000 characters count.

    Example:
        >>> tokens(r"Find $\dfrac{1}{2} \times x^{2}$.") == tokens(r"find \(\frac12 · x²\)")
        True
        >>> tokens("There are 1,000 cats.")
        ['there', 'are', '1000', 'cats']
    """
    text = text[:_MAX_CHARS].replace(_WORD, " ").translate(_SUPERSCRIPTS).translate(_SYMBOLS)
    text = unicodedata.normalize("NFKC", text)
    if "\\" in text:
        text = _WRAPPER.sub(_marked, text)
        text = _DEGREES.sub(r" \\degree ", text)
        text = _ENVIRONMENT.sub(" ", text)
        for _ in range(_NESTING):
            text, changed = _FRACTION.subn(_over, text)
            if not changed:
                break
    text = _GROUPED.sub(_ungrouped, text)
    text = _MATH.sub(_letters_apart, text).replace(_WORD, "")
    text = _UPPER.sub(lambda m: " ".join(m[0]), text)
    found = (_SAME.get(t, t) for t in _TOKEN.findall(text))
    return _grouped([t.lower() for t in found if t not in _NOTHING])


def _grouped(words: list[str]) -> list[str]:
    """Braces around one token vanish, others are brackets: `x^{2}` is `x^2`, not `2^{3+4}`."""
    out: list[str] = []
    for word in words:
        if word == "}" and len(out) > 1 and out[-2] == "{" and out[-1] not in "{}":
            out[-2:] = out[-1:]
        elif word == "}" and out and out[-1] == "{":
            out.pop()
        else:
            out.append(word)
    return ["(" if w == "{" else ")" if w == "}" else w for w in out]


def _marked(match: re.Match[str]) -> str:
    return f" {re.sub('[a-zA-Z]+', lambda word: _WORD + word[0], match[1])} "


def _over(match: re.Match[str]) -> str:
    above, below = match[1] or match[2] or "", match[3] or match[4] or ""
    return f" {{{above}}}/{{{below}}} "


def _ungrouped(match: re.Match[str]) -> str:
    return match[1] + re.sub(r"\D", "", match[2])


def _letters_apart(match: re.Match[str]) -> str:
    """Letters of a formula are variables: `xy` is a product of two."""
    inside = match[1] or match[2] or match[3] or match[4]
    return f" {_RUN.sub(_spaced, inside)} "


def _spaced(match: re.Match[str]) -> str:
    run = match[0]
    return f"{run} " if run[0] in ("\\", _WORD) else " ".join(run)


def exact_key(words: Sequence[str]) -> bytes:
    """Hash (128 bits) of the tokens in order."""
    return hashlib.blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=16).digest()


def near_tokens(words: Sequence[str]) -> list[str]:
    """The tokens without brackets, and with every single Latin letter made the same.

    Example:
        >>> near_tokens(tokens("Solve $x+y=3$")) == near_tokens(tokens("Solve $a+b=3$"))
        True
    """
    return [
        VARIABLE if len(w) == 1 and w.isascii() and w.isalpha() else w
        for w in words
        if w not in _BRACKETS
    ]


def numbers(words: Sequence[str]) -> tuple[str, ...]:
    """The numbers of a statement, sorted: a problem with other numbers is another problem.

    Example:
        >>> numbers(tokens("3 cats and 12 dogs"))
        ('12', '3')
    """
    return tuple(sorted(w for w in words if w[0].isdigit()))
