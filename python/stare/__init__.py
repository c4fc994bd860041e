"""STARE: surprisal-guided token-level advantage reweighting for RL post-training.

Importing the package imports neither torch nor math-verify; names are resolved on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stare.algo.advantages import broadcast_advantages as broadcast_advantages
    from stare.algo.advantages import group_advantages as group_advantages
    from stare.algo.gate import GateState as GateState
    from stare.algo.gate import TargetEntropyController as TargetEntropyController
    from stare.algo.reweight import reweight as reweight
    from stare.algo.reweight import token_weights as token_weights
    from stare.config import LossConfig as LossConfig
    from stare.config import StareConfig as StareConfig
    from stare.errors import StareError as StareError
    from stare.passk import pass_at_k as pass_at_k
    from stare.types import Verdict as Verdict
    from stare.verify import Grade as Grade
    from stare.verify import equivalent as equivalent
    from stare.verify import extract_answer as extract_answer
    from stare.verify import grade as grade
    from stare.verify import grade_batch as grade_batch

_HOME = {
    "GateState": "stare.algo.gate",
    "Grade": "stare.verify",
    "LossConfig": "stare.config",
    "StareConfig": "stare.config",
    "StareError": "stare.errors",
    "TargetEntropyController": "stare.algo.gate",
    "Verdict": "stare.types",
    "broadcast_advantages": "stare.algo.advantages",
    "equivalent": "stare.verify",
    "extract_answer": "stare.verify",
    "grade": "stare.verify",
    "grade_batch": "stare.verify",
    "group_advantages": "stare.algo.advantages",
    "pass_at_k": "stare.passk",
    "reweight": "stare.algo.reweight",
    "token_weights": "stare.algo.reweight",
}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from stare._core import __version__

        return __version__
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'stare' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__
