"""From a configuration to everything a run needs, checked before anything is sampled."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stare.evals import data, suite
from stare.evals.backends.create import sampling_of
from stare.evals.backends.protocol import Sampling
from stare.evals.config import EvalConfig, Shard, parse_shard, split_list, to_dict
from stare.evals.files import timestamp
from stare.evals.identity import ModelFacts, load_tokenizer, model_facts, tokenizer_identity
from stare.evals.manifest import BenchEntry, Manifest
from stare.evals.plan import BenchPlan, select_problems
from stare.evals.prompts import Prompt, Renderer, check_window
from stare.evals.templates import load_template

__all__ = ["Session", "default_folder", "prepare"]

FREE_BACKEND_ARGS = ("delay", "backoff", "device", "gpu_memory_utilization", "max_num_seqs")
"""Back-end arguments that decide how fast samples come, not which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One call of `run` or `generate`, ready to start."""

    config: EvalConfig
    sampling: Sampling
    facts: ModelFacts
    tokenizer: Any
    renderer: Renderer
    benchmarks: dict[str, data.Benchmark]
    plans: tuple[BenchPlan, ...]
    prompts: dict[tuple[str, str], Prompt]
    """By (benchmark, problem id); selected problems alone."""
    shard: Shard | None
    manifest: Manifest

    @property
    def golds(self) -> dict[tuple[str, str], str]:
        """(benchmark, problem id) -> first gold."""
        return {
            (name, problem.id): problem.answer
            for name, bench in self.benchmarks.items()
            for problem in bench.problems
        }


def prepare(config: EvalConfig, *, check: bool = True) -> Session:
    """Load benchmarks and tokenizer, render and check every prompt, describe the run.

    Args:
        config: the effective configuration.
        check: refuse prompts that do not fit the window; `doctor` reports them instead.

    Raises:
        ArgumentError: an unknown benchmark or problem.
        ConfigError: settings that contradict each other or the model.
        DataError: a benchmark is missing or damaged, or prompts do not fit the window.
        BackendError: the model or its tokenizer cannot be read.
    """
    if config.offline:
        os.environ["HF_HUB_OFFLINE"] = "1"
    store = None if config.data_dir is None else Path(config.data_dir)
    requests = suite.parse(with_n(config.bench, config.n), store)
    benchmarks = {request.name: data.load(request.name, store) for request in requests}
    plans = []
    for request in requests:
        problems = benchmarks[request.name].problems
        selected = select_problems(problems, which=config.problems, limit=config.limit)
        plans.append(
            BenchPlan(
                bench=request.name,
                n=request.n,
                problem_ids=tuple(problem.id for problem in problems),
                selected=None if selected is None else frozenset(selected),
            )
        )
    template = load_template(config.template)
    facts = model_facts(config)
    tokenizer = load_tokenizer(config)
    renderer = Renderer(template, config.system, config.thinking, tokenizer)
    prompts: dict[tuple[str, str], Prompt] = {}
    for plan in plans:
        chosen = [
            problem
            for problem in benchmarks[plan.bench].problems
            if plan.selected is None or problem.id in plan.selected
        ]
        rendered = renderer.render_all(chosen)
        prompts |= {(plan.bench, p.id): text for p, text in zip(chosen, rendered, strict=True)}
    if check:
        names = ["/".join(name) for name in prompts]
        check_window(names, list(prompts.values()), config.max_tokens, facts.window)
    sampling = sampling_of(config, template.stop)
    shard = None if config.shard is None else parse_shard(config.shard)
    determines: dict[str, Any] = {
        "model": facts.identity,
        "tokenizer": tokenizer_identity(tokenizer),
        "template": {"text": template.text, "chat": renderer.is_chat},
        "system": config.system,
        "thinking": config.thinking,
        "sampling": {k: _plain(getattr(sampling, k)) for k in Sampling.__slots__},
        "seed": config.seed,
        "backend": config.backend,
        "backend_args": {
            k: v for k, v in config.backend_args.items() if k not in FREE_BACKEND_ARGS
        },
        "api": config.api,
        "dtype": config.dtype,
        "tp": config.tp,
    }
    manifest = Manifest(
        kind="run",
        backend=config.backend,
        model={"name": config.model, **facts.identity},
        tokenizer=determines["tokenizer"],
        determines=determines,
        run_seed=config.seed,
        benchmarks={plan.bench: _entry(plan, benchmarks[plan.bench]) for plan in plans},
        config=to_dict(config),
        shard=config.shard,
        stare=_version(),
        created=timestamp(),
        grader=config.grader,
    )
    return Session(
        config=config,
        sampling=sampling,
        facts=facts,
        tokenizer=tokenizer,
        renderer=renderer,
        benchmarks=benchmarks,
        plans=tuple(plans),
        prompts=prompts,
        shard=shard,
        manifest=manifest,
    )


def _entry(plan: BenchPlan, benchmark: data.Benchmark) -> BenchEntry:
    return BenchEntry(
        n=plan.n,
        problems=len(plan.problem_ids),
        selected=None
        if plan.selected is None
        else [problem for problem in plan.problem_ids if problem in plan.selected],
        data=benchmark.fingerprint(),
    )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _version() -> str | None:
    import stare

    try:
        return str(stare.__version__)
    except ImportError:  # a tree whose extension was not built
        return None


def with_n(bench: str, n: int | None) -> str:
    """Give every item that has no number of samples of its own this one.

    Example:
        >>> with_n("aime24:32,math500", 4), with_n("stare6", None)
        ('aime24:32,math500:4', 'stare6')
    """
    if n is None:
        return bench
    return ",".join(item if ":" in item else f"{item}:{n}" for item in split_list(bench))


def default_folder(session: Session) -> Path:
    """Where a run goes that is not told: the same settings find the same folder again."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(session.config.model).name).strip("-.") or "run"
    shard = session.shard
    part = "" if shard is None else f"-{shard.number}of{shard.of}"
    return Path("runs") / f"{name}-{session.manifest.fingerprint[:8]}{part}"


def with_session(manifest: Manifest, entry: dict[str, Any]) -> Manifest:
    """The manifest with one call more."""
    return replace(manifest, sessions=[*manifest.sessions, entry])
