"""A sampler whose policy may call a Python tool in the middle of a response.

Token ids are never decoded and encoded again: the context of a turn is the prompt's ids, the ids
sampled so far and the ids of the observations. Observations are False in the loss mask, with
log-probability and entropy 0, so they take no part in loss, entropy or selection.

`Completion.text` is what the policy itself wrote, turns joined by a line break. Observations are
left out, so no reward reads an answer that only a program's output holds.

A response is a function of (weights, prompt, parameters, its seed), and of what its programs print:
each turn has a seed derived from the response's own.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stare.errors import ConfigError, RunError
from stare.rollout.repeats import repeats
from stare.rollout.sampler import EngineSampler, SamplingParams, TokenSampler, WeightReceiver
from stare.rollout.tools.executor import Execution, Executor
from stare.rollout.tools.formats import ToolFormat
from stare.rollout.tools.observation import Observations
from stare.rollout.tools.response import Dialogue
from stare.seeds import derive_seed
from stare.types import Completion

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DialogueSampler", "EngineDialogueSampler", "dialogue_sampler"]

_COUNTS = (
    *("responses", "turns", "calling", "observed", "refused"),
    *("calls", "errors", "timeouts", "malformed"),
)


class DialogueSampler:
    """A `Sampler` around any `TokenSampler` and an `Executor`.

    The policy writes until it completes a call; the programs of all responses of the batch run at
    once; each output is appended to its response. So it goes until the policy ends by itself, calls
    once more than `max_turns`, or reaches the token limit, which observations count towards.

    Args:
        sampler: Samples the turns.
        executor: Runs the programs; closed with this sampler.
        tokenizer: Encodes prompts and observations.
        markup: How calls and observations are written.
        max_turns: Most calls a response may make; a further one ends it and is not run.
        max_observation_tokens: Longer outputs lose their middle.
        context: Most tokens of prompt and response; None leaves it to `SamplingParams.max_tokens`.

    Raises:
        ConfigError: `sampler` cannot continue token ids.
    """

    def __init__(
        self,
        sampler: Any,
        executor: Executor,
        tokenizer: Any,
        *,
        markup: ToolFormat,
        max_turns: int,
        max_observation_tokens: int,
        context: int | None = None,
    ) -> None:
        if not isinstance(sampler, TokenSampler):
            raise ConfigError(
                f"tools need a sampler that continues token ids, {type(sampler).__name__} does not"
                "\nhint: rollout.sampler='transformers', or one with a method sample_tokens"
            )
        self.sampler, self.executor = sampler, executor
        self._tokenizer, self._markup, self._max_turns = tokenizer, markup, max_turns
        self._observations = Observations(tokenizer, markup.observation, max_observation_tokens)
        self._context = context
        self._counts: Counter[str] = Counter()
        self._seconds = 0.0

    @property
    def restarts(self) -> int:
        """Engines of the sampler within that died or hung so far."""
        return self.sampler.restarts if isinstance(self.sampler, EngineSampler) else 0

    def release(self) -> None:
        """Have the sampler within give memory back."""
        if isinstance(self.sampler, EngineSampler):
            self.sampler.release()

    def close(self) -> None:
        """Stop the executor, and the engine of the sampler within."""
        self.executor.close()
        if isinstance(self.sampler, EngineSampler):
            self.sampler.close()

    def sample(self, prompts: Sequence[str], params: SamplingParams) -> list[list[Completion]]:
        """Sample `params.n` dialogues for each fully rendered prompt, in the order given.

        Raises:
            RunError: none of the programs of a turn could be run.
        """
        if not prompts:
            return []
        encoded = self._tokenizer(list(prompts), add_special_tokens=False)["input_ids"]
        groups = []
        for ids, repeat in zip(encoded, repeats([tuple(e) for e in encoded]), strict=True):
            prompt_ids = list(ids)
            limit = params.max_tokens
            if self._context is not None:
                limit = min(limit, self._context - len(prompt_ids))
            groups.append(
                [
                    Dialogue(prompt_ids, derive_seed(params.seed, repeat, i), limit)
                    for i in range(params.n)
                ]
            )
        dialogues = [d for group in groups for d in group]
        while active := [d for d in dialogues if d.finish is None]:
            self._sample_turns(active, params)
            self._run_pending([d for d in active if d.pending is not None])
        self._count(dialogues)
        return [[d.completion() for d in group] for group in groups]

    def _sample_turns(self, active: list[Dialogue], params: SamplingParams) -> None:
        contexts: dict[tuple[int, ...], list[Dialogue]] = {}
        for d in active:
            contexts.setdefault((*d.prompt_ids, *d.token_ids), []).append(d)
        params = replace(
            params,
            max_tokens=max(d.room for d in active),
            stop=(*params.stop, self._markup.close),
        )
        sampled = self.sampler.sample_tokens(
            list(contexts),
            params,
            [[derive_seed(d.seed, d.samplings) for d in group] for group in contexts.values()],
        )
        for group, completions in zip(contexts.values(), sampled, strict=True):
            for d, completion in zip(group, completions, strict=True):
                self._take(d, self._shortened(completion, d.room))

    def _shortened(self, c: Completion, room: int) -> Completion:
        """The response as it would be with a limit of its own."""
        if len(c.token_ids) <= room:
            return c
        ids = c.token_ids[:room]
        return Completion(
            prompt_ids=c.prompt_ids,
            token_ids=ids,
            text=self._tokenizer.batch_decode([ids], skip_special_tokens=True)[0],
            finish_reason="length",
            logprobs=None if c.logprobs is None else c.logprobs[:room],
            entropies=None if c.entropies is None else c.entropies[:room],
        )

    def _take(self, d: Dialogue, c: Completion) -> None:
        """Append what the policy wrote and decide how it goes on."""
        d.extend(c.token_ids, c.logprobs, c.entropies, own=True)
        d.turns[-1] += c.text
        d.samplings += 1
        if c.is_truncated:
            d.finish = "length"
        elif self._markup.close not in c.text:  # an end token, or a stop text of the caller's
            d.finish = "stop"
        else:
            call = self._markup.first_call(d.turns[-1])
            if call is not None and d.calls >= self._max_turns:
                d.finish = "stop"
                self._counts["refused"] += 1
            elif call is not None:
                d.calls += 1
                d.pending = call
            elif d.room == 0:
                d.finish = "length"
            # Else it closed something that is no call, and goes on.

    def _run_pending(self, pending: list[Dialogue]) -> None:
        programs = [d.pending.program for d in pending if d.pending and d.pending.program]
        began = time.perf_counter()
        executions = self.executor.run_many(programs) if programs else []
        self._seconds += time.perf_counter() - began
        if executions and all(e.status == "unavailable" for e in executions):
            raise RunError(
                f"none of the {len(executions)} programs of a turn could be run: "
                f"{executions[0].stderr.strip()[:500]}\nhint: [tools] executor, url, limits"
            )
        results = iter(executions)
        for d in pending:
            assert d.pending is not None
            if d.pending.program:
                execution = next(results)
            else:
                self._counts["malformed"] += 1
                problem = d.pending.problem or "the program is empty"
                execution = Execution(status="error", stdout="", stderr=problem, seconds=0.0)
            self._counts["calls"] += 1
            self._counts["errors"] += execution.status != "ok"
            self._counts["timeouts"] += execution.status == "timeout"
            d.observe(self._observations.encode(execution))

    def _count(self, dialogues: list[Dialogue]) -> None:
        self._counts["responses"] += len(dialogues)
        self._counts["turns"] += sum(len(d.turns) for d in dialogues)
        self._counts["calling"] += sum(d.calls > 0 for d in dialogues)
        self._counts["observed"] += sum(d.mask.count(False) for d in dialogues)

    def take_statistics(
        self, total: Callable[[list[float]], list[float]] = list
    ) -> dict[str, float]:
        """What happened since the last call, by metric key; see `StatisticsSource`."""
        counted = [float(self._counts[name]) for name in _COUNTS]
        *counted, seconds = total([*counted, self._seconds])
        self._counts, self._seconds = Counter(), 0.0
        counts = dict(zip(_COUNTS, counted, strict=True))
        responses, calls = max(1.0, counts["responses"]), max(1.0, counts["calls"])
        return {
            "tools/calls": int(counts["calls"]),
            "tools/calling_frac": counts["calling"] / responses,
            "tools/turns": counts["turns"] / responses,
            "tools/error_frac": counts["errors"] / calls,
            "tools/timeout_frac": counts["timeouts"] / calls,
            "tools/malformed_frac": counts["malformed"] / calls,
            "tools/turn_limit_frac": counts["refused"] / responses,
            "tools/observation_tokens": counts["observed"] / responses,
            "time/tools": seconds,
        }


class EngineDialogueSampler(DialogueSampler):
    """The same around a sampler with weights of its own."""

    sampler: Any

    def load_weights(self, weights: Iterable[tuple[str, Tensor]], *, version: int) -> None:
        """Hand the policy's weights to the sampler within."""
        self.sampler.load_weights(weights, version=version)


def dialogue_sampler(sampler: Any, executor: Executor, tokenizer: Any, **options: Any) -> Any:
    """A `DialogueSampler` that receives weights exactly if the sampler within does."""
    own = isinstance(sampler, WeightReceiver)
    kind = EngineDialogueSampler if own else DialogueSampler
    return kind(sampler, executor, tokenizer, **options)
