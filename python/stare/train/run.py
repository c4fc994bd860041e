"""The training loop: rollout -> verify -> advantages -> gate -> weights -> loss -> step."""

from __future__ import annotations

import contextlib
import gc
import json
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch
from rich.console import Console

from stare.errors import RunError
from stare.rollout.sampler import EngineSampler, StatisticsSource, WeightReceiver
from stare.seeds import derive_seed
from stare.train.batch import make_batch
from stare.train.collect import Collected, collect
from stare.train.config import TrainConfig, to_dict
from stare.train.evaluate import Evaluation, evaluate
from stare.train.learner import Learner
from stare.train.metrics import open_writers
from stare.train.nan_guard import BadSteps
from stare.train.overrides import environment
from stare.train.parallel import Ranks, start_ranks
from stare.train.progress import TrainProgress
from stare.train.rollout_stats import by_length, by_position
from stare.train.runfolder import write_json
from stare.train.saving import open_folder, open_saver
from stare.train.session import Session, build_session, pick_device
from stare.train.signals import Interrupted, StopSignals
from stare.train.watchdog import Watchdog

__all__ = ["train"]

Metrics = dict[str, float | int | None]


def train(config: TrainConfig, out: Path, *, resume: bool = False) -> None:
    """Run (or continue) a training run in the folder `out`.

    After every step the metrics line is appended and, by default, a checkpoint is written, so a
    process killed at any moment loses at most the step it was in; continued on a CPU, the run
    equals an uninterrupted one bit for bit.

    Raises:
        StareError: the configuration, the data or the run folder is not usable; nothing is lost.
        Interrupted: SIGTERM or SIGINT came while it trained; the step was finished and saved.
    """
    with start_ranks(config, pick_device(config.run.device).type) as ranks:
        ranks.agree("the configuration", json.dumps(to_dict(config), sort_keys=True))
        _train(config, out, ranks, resume=resume)


def _train(config: TrainConfig, out: Path, ranks: Ranks, *, resume: bool) -> None:
    device = ranks.together(lambda: pick_device(config.run.device, ranks))
    if ranks.sharded and device.type == "cuda":
        torch.cuda.set_device(device)
    if config.run.deterministic:
        # On a CPU every operation used here has a deterministic version; on CUDA a few only warn.
        # (`use_deterministic_algorithms` does the same and imports the compiler: 3 s.)
        torch.set_deterministic_debug_mode("warn" if device.type == "cuda" else "error")
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    with open_folder(out, config, ranks, resume=resume, environment=environment()) as folder:
        step = 0
        try:
            session = ranks.together(lambda: build_session(config, device, ranks))
            if session.data_report is not None and ranks.is_first:
                session.data_report.write(folder.path / "data")
            learner = Learner(session.model, config, device, ranks)
            saver = open_saver(folder.checkpoints_path, config.run, ranks)
            step = saver.restore(session, learner) if folder.resumed else 0
            with contextlib.ExitStack() as stack:
                writers = (
                    open_writers(
                        folder.path,
                        tensorboard=config.run.tensorboard,
                        prometheus=config.run.prometheus,
                        wandb=config.run.wandb,
                        wandb_project=config.run.wandb_project,
                        config=to_dict(config),
                    )
                    if ranks.is_first
                    else []
                )
                for writer in writers:
                    stack.callback(writer.close)
                if isinstance(session.sampler, EngineSampler):
                    stack.callback(session.sampler.close)
                progress = stack.enter_context(
                    TrainProgress(
                        steps=config.run.steps,
                        start=step,
                        log_every=config.run.log_every,
                        console=None if ranks.is_first else Console(quiet=True),
                    )
                )

                def log(row: Metrics) -> None:
                    for writer in writers:
                        writer.write(row)
                    progress.update(row)

                stack.enter_context(_frozen_setup())
                folder.set_status("running", step=step)
                bad = BadSteps(config.guard.max_bad_steps)
                watchdog = stack.enter_context(
                    Watchdog(
                        folder.path,
                        config.guard.step_timeout_s,
                        lambda why: folder.set_status("stalled", step=step, error=why),
                        name=f"-rank{ranks.rank}" if ranks.size > 1 else "",
                    )
                )
                if isinstance(session.sampler, WeightReceiver):
                    _hand_over(session.sampler, session, learner)
                if step == 0 and config.eval.every:
                    log({"step": 0, **_evaluate(config, session, folder.path, ranks, step=0)})
                saving = 0.0
                signals = stack.enter_context(
                    StopSignals(lambda why: folder.set_status("interrupted", step=step, error=why))
                )
                while step < config.run.steps:
                    step += 1
                    last = step == config.run.steps
                    row = {"step": step, **_train_step(config, session, learner, step, watchdog)}
                    row["optim/bad_in_a_row"] = bad.add(step, row)
                    watchdog.phase("evaluation")
                    if config.eval.every and (last or step % config.eval.every == 0):
                        row |= _evaluate(config, session, folder.path, ranks, step=step)
                    watchdog.phase("writing")
                    log(row | {"time/checkpoint": saving})
                    began = time.perf_counter()
                    every = config.run.checkpoint_every
                    # All ranks leave after the same step, whichever of them was told to.
                    number = int(ranks.largest(signals.number))
                    if last or number or (every and step % every == 0):
                        saver.save(session, learner, step)
                    saving = time.perf_counter() - began
                    ranks.together(bad.check)
                    if number and not last:
                        raise Interrupted(number)
            folder.set_status("finished", step=step)
        except BaseException as error:
            status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
            # A full disk may be the reason, and must stay the one that is told.
            with contextlib.suppress(RunError):
                folder.set_status(status, step=step, error=f"{type(error).__name__}: {error}")
            raise


def _hand_over(sampler: WeightReceiver, session: Session, learner: Learner) -> None:
    """Give the policy's weights to a sampler that has its own; all ranks together."""
    from stare.train.parallel_model import full_parameters

    sampler.load_weights(full_parameters(session.model), version=learner.optimizer_steps)


@contextlib.contextmanager
def _frozen_setup() -> Iterator[None]:
    """Keep the collector from scanning what setting up left behind.

    It lives to the end anyway, and scanning it again and again takes a tenth of the step of a tiny
    policy.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _train_step(
    config: TrainConfig, session: Session, learner: Learner, step: int, watchdog: Watchdog
) -> Metrics:
    began = time.perf_counter()
    watchdog.phase("rollout")
    session.model.eval()
    if isinstance(session.sampler, StatisticsSource):
        session.sampler.take_statistics(list)  # those of an evaluation are not the step's
    with session.generating():
        collected = collect(
            session.stream,
            session.render,
            session.sampler,
            session.reward_fn,
            config.rollout,
            config.reward,
            seed=derive_seed(config.run.seed, "rollout", step),
            share=session.share,
        )
    rolled_out = time.perf_counter()
    metrics = _rollout_metrics(collected, config)
    sampler = session.sampler
    if isinstance(sampler, StatisticsSource):
        metrics |= sampler.take_statistics(learner.ranks.total)
    if isinstance(sampler, EngineSampler):
        sampler.release()
        metrics["rollout/engine_restarts"] = learner.ranks.total([sampler.restarts])[0]
    watchdog.phase("update")
    if collected.kept:
        batch = make_batch(collected.kept, config.rollout, pad_id=session.pad_id)
        metrics |= learner.step(batch)
    updated = time.perf_counter()
    if isinstance(sampler, WeightReceiver):
        watchdog.phase("handing over weights")
        _hand_over(sampler, session, learner)
        metrics["time/sync"] = time.perf_counter() - updated
    ended = time.perf_counter()
    tokens = sum(len(c.token_ids) for g in collected.generated for c in g.completions)
    metrics |= {
        "time/rollout": rolled_out - began,
        "time/update": updated - rolled_out,
        "time/step": ended - began,
        "speed/tokens_per_s": tokens / (ended - began),
        "memory/peak_mb": learner.ranks.largest(_peak_memory_mb(learner.device)),
    }
    return metrics


def _rollout_metrics(collected: Collected, config: TrainConfig) -> Metrics:
    groups = collected.generated
    completions = [c for g in groups for c in g.completions]
    rewards = [r for g in groups for r in g.rewards]
    kept = [r for g in collected.kept for r in g.rewards]
    lengths = [len(c.token_ids) for c in completions]
    undecided = sum(g.undecided for g in groups)
    count, total = max(1, len(groups)), max(1, len(completions))
    return {
        "entropy/rollouts": _rollout_entropy(collected),
        "groups/kept": len(collected.kept),
        "groups/generated": len(groups),
        "groups/mixed_frac": sum(g.is_mixed for g in groups) / count,
        "groups/all_solved_frac": collected.counts["all_solved"] / count,
        "groups/none_solved_frac": collected.counts["none_solved"] / count,
        "groups/other_equal_frac": collected.counts["other_equal"] / count,
        "groups/surplus": collected.counts["surplus"],
        "groups/refills": collected.refills,
        "groups/short": config.rollout.prompts_per_step - len(collected.kept),
        "reward/rollouts": sum(rewards) / total,
        "reward/batch": sum(kept) / len(kept) if kept else None,
        "length/mean": sum(lengths) / total,
        "length/max": max(lengths, default=0),
        "truncated_frac": sum(c.is_truncated for c in completions) / total,
        "verify/undecided_frac": undecided / max(1, config.rollout.group_size * len(groups)),
        **by_length(groups),
        **by_position(groups),
    }


def _rollout_entropy(collected: Collected) -> float | None:
    """Mean token entropy of everything generated; mean sampled surprisal where it is unknown."""
    total, count = 0.0, 0
    for group in collected.generated:
        for c in group.completions:
            values = c.entropies or [-x for x in c.logprobs or []]
            mask = c.loss_mask or [True] * len(c.token_ids)
            if len(values) != len(mask):
                return None
            total += sum(v for v, m in zip(values, mask, strict=True) if m)
            count += sum(mask)
    return total / count if count else None


def _evaluate(
    config: TrainConfig, session: Session, folder: Path, ranks: Ranks, *, step: int
) -> Metrics:
    began = time.perf_counter()
    session.model.eval()
    with session.generating():
        result: Evaluation = evaluate(
            session.held_out,
            session.render,
            session.sampler,
            session.reward_fn,
            config.eval,
            max_tokens=config.rollout.max_response_tokens,
            seed=config.run.seed,
            share=session.share,
        )
    if ranks.is_first:
        # The counts behind the latest scores, for intervals and for pooling over seeds.
        try:
            write_json(folder / "eval.json", {"step": step, **asdict(result)})
        except OSError as error:
            raise RunError(f"{folder / 'eval.json'} cannot be written: {error}") from error
    return result.scores(config.eval.ks) | {"time/eval": time.perf_counter() - began}


def _peak_memory_mb(device: torch.device) -> float:
    """Peak of the device where there is one, of the process elsewhere (MB)."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
