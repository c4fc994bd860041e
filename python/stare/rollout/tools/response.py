"""The state of one response that calls tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stare.rollout.tools.formats import Call
from stare.types import Completion, FinishReason

__all__ = ["Dialogue"]


@dataclass(slots=True)
class Dialogue:
    """One response on its way."""

    prompt_ids: list[int]
    seed: int
    """What the seeds of its turns derive from."""
    limit: int
    """Most tokens, observations included."""
    token_ids: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    """False on observations."""
    logprobs: list[float] | None = field(default_factory=list)
    entropies: list[float] | None = field(default_factory=list)
    turns: list[str] = field(default_factory=lambda: [""])
    """The policy's own text between observations."""
    samplings: int = 0
    """Calls of the sampler so far."""
    calls: int = 0
    """Calls of the tool so far."""
    pending: Call | None = None
    """A call that waits for its output."""
    finish: FinishReason | None = None
    """None while it goes on."""

    @property
    def room(self) -> int:
        """Tokens that still fit."""
        return self.limit - len(self.token_ids)

    def extend(
        self,
        ids: Sequence[int],
        logprobs: Sequence[float] | None,
        entropies: Sequence[float] | None,
        *,
        own: bool,
    ) -> None:
        """Append tokens, the policy's own or not."""
        self.token_ids += ids
        self.mask += [own] * len(ids)
        self.logprobs = _joined(self.logprobs, logprobs)
        self.entropies = _joined(self.entropies, entropies)

    def observe(self, ids: Sequence[int]) -> None:
        """Append an observation and give the turn to the policy, or end where there is no room."""
        self.pending = None
        if len(ids) >= self.room:
            self.finish = "length"
            return
        zeros = [0.0] * len(ids)
        self.extend(ids, zeros, zeros, own=False)
        self.turns.append("")

    def completion(self) -> Completion:
        """The finished response."""
        assert self.finish is not None
        return Completion(
            prompt_ids=self.prompt_ids,
            token_ids=self.token_ids,
            text="\n".join(self.turns),
            finish_reason=self.finish,
            logprobs=self.logprobs,
            entropies=self.entropies,
            loss_mask=None if all(self.mask) else self.mask,
        )


def _joined(there: list[float] | None, more: Sequence[float] | None) -> list[float] | None:
    """None as soon as a sampler leaves a part out."""
    return None if there is None or more is None else [*there, *more]
