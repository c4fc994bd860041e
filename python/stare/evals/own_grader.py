r"""Graders of your own, by import path: `--grader package.module:function`.

The function judges one response, and is called as `function(text, golds, problem)`: the response,
with the thinking's opening tag where the prompt ends in it; the golds; the text of the problem. It
returns True, False, or None where it cannot tell; or a pair of that and the answer it found, as
text, which majority votes are counted with. A pair of False and None: no answer was declared, so a
response that was cut off is `truncated` and another `no_answer`. What it raises is counted as
`grader_error`.

An import path runs code, so it is never taken from a run folder, only from the command line or a
configuration. Grades are made anew when the source of the function's module changes.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from stare.errors import ArgumentError

if TYPE_CHECKING:
    from stare.evals.graders import Graded, Grader, Question

__all__ = ["OwnGrader", "file_stem", "own_grader"]

OwnGrader = Callable[[str, tuple[str, ...], str], Any]


def own_grader(path: str) -> Grader:
    """The grader at an import path.

    Raises:
        ArgumentError: nothing that can be called is there.
    """
    from stare.evals.graders import Grader

    function = _load(path)
    lines = (inspect.getdoc(function) or "").splitlines()
    return Grader(
        name=path,
        version=_version(function),
        engine="own",
        profile="eval",
        about=lines[0] if lines else "a grader of your own",
        function=function,
    )


def file_stem(grader: str) -> str:
    """The name of a grader's files: every file system takes it.

    Example:
        >>> file_stem("stare+math-verify"), file_stem("my.rules:grade")
        ('stare+math-verify', 'my.rules=grade')
    """
    return grader.replace(":", "=")


def judge(function: OwnGrader, asked: Sequence[Question], name: str) -> list[Graded]:
    """[N] what a function makes of responses, one after the other."""
    return [_judge(function, one, name) for one in asked]


def _judge(function: OwnGrader, one: Question, name: str) -> Graded:
    from stare.evals.graders import Graded

    try:
        said = function(one.text, one.golds, one.problem)
    except Exception as error:
        return Graded("grader_error", None, None, f"{type(error).__name__}: {error}"[:200], name)
    verdict, answer = said if isinstance(said, tuple) and len(said) == 2 else (said, "")
    if not (verdict is None or isinstance(verdict, bool)) or not isinstance(answer, str | None):
        reason = f"returned {said!r}: not a bool, None, or a pair with the answer"
        return Graded("grader_error", None, None, reason[:200], name)
    found = answer or None
    if verdict is None:
        return Graded("undecided", found, found, "own", name)
    if not verdict and answer is None:
        return Graded("no_answer", None, None, "own", name)
    return Graded("correct" if verdict else "incorrect", found, found, "own", name)


def _load(path: str) -> OwnGrader:
    module_name, _, attribute = path.partition(":")
    try:
        found: Any = import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ArgumentError(
            f"grader {path!r} cannot be imported: {error}\n"
            "hint: package.module:function, importable from here (see PYTHONPATH)"
        ) from None
    if not callable(found):
        raise ArgumentError(f"grader {path!r} is a {type(found).__name__}, not a function")
    function: OwnGrader = found
    return function


def _version(function: OwnGrader) -> str:
    """Hash of the source of the function's module; of its name where there is no source."""
    try:
        module = inspect.getmodule(function)
        source = inspect.getsource(module) if module is not None else inspect.getsource(function)
    except (OSError, TypeError):
        source = repr(getattr(function, "__qualname__", type(function)))
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]
