"""docs/verify.md says what the code does: reasons, profiles, rules, table of math-verify."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import get_args

import pytest

from stare import _core
from stare.verify import Profile, distrust


@pytest.fixture
def text(root: Path) -> str:
    return (root / "docs/verify.md").read_text()


def test_every_reason_is_documented_with_its_verdict(text: str):
    documented = dict(
        re.findall(r"^\| `([a-z-]+)` \| (correct|incorrect|undecided) \|", text, re.M)
    )
    extra = {"fallback-equal": "correct", "fallback-different": "incorrect"}
    assert documented == _core.ANSWER_REASONS | extra


def test_every_profile_is_documented(text: str):
    assert tuple(_core.ANSWER_PROFILES) == get_args(Profile)
    for profile in get_args(Profile):
        assert f"\n| `{profile}` |" in text


def test_every_rule_of_distrust_is_documented(text: str):
    source = Path(distrust.__file__).read_text()
    names = {name for name, _ in distrust._STRING_RULES}
    names |= set(re.findall(r'return "([a-z]+)"', source)) - {"unparsed"}
    section = text.partition("## The fallback")[2].partition("## Rewards")[0]
    assert {name for name in names if f"`{name}`" not in section} == set()


@pytest.mark.skipif(
    importlib.util.find_spec("math_verify") is None, reason="math-verify is not installed"
)
@pytest.mark.slow
def test_the_table_of_math_verify_is_what_the_script_prints(text: str, root: Path, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "bench"))
    import verify_disagreements as script

    monkeypatch.setattr(script.logging, "disable", lambda _: None)
    between = text.partition(script.START)[2].partition(script.END)[0].strip()
    printed = script.table()
    assert between == printed, "python bench/verify_disagreements.py --write docs/verify.md"
    wrong = [row for row in script.rows() if row[5] not in (row[4], "undecided")]
    assert wrong == []
    sys.modules.pop("verify_disagreements")
