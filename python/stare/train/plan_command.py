"""`stare-train plan`: memory of each phase on one GPU, before anything is loaded."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from stare.train.config import TrainConfig
from stare.train.memory_plan import GIB, Layout, MemoryPlan, plan_memory
from stare.train.model_shape import load_shape
from stare.train.plain_tables import print_table

__all__ = ["DOES_NOT_FIT", "plan_command"]

DOES_NOT_FIT = 3
"""Exit code of a plan that was made and does not fit."""


def plan_command(config: TrainConfig, args: argparse.Namespace) -> int:
    """Print the plan; returns the exit code.

    Raises:
        ConfigError: the model is unknown, the context too small or the layout impossible.
    """
    engine = args.engine
    if engine is None:
        engine = "transformers" if config.rollout.sampler == "transformers" else "vllm"
    layout = Layout(
        gpus=args.gpus,
        gpu_memory_gib=args.gpu_memory,
        engine=engine,
        tensor_parallel=args.tensor_parallel or config.vllm.tensor_parallel_size,
        utilization=args.utilization,
        offload_optimizer=args.offload_optimizer
        or config.parallel.cpu_offload
        or config.compute.offload_optimizer,
        logits_chunk=args.logits_chunk or config.compute.logit_chunk_tokens,
    )
    plan = plan_memory(config, load_shape(config.model.path, args.model_config), layout)
    if args.json:
        print(json.dumps(_as_json(plan), indent=2))
    else:
        _print(plan, config)
    if plan.fits:
        return 0
    print(f"error: it does not fit\nhint: {_advice(plan, config)}", file=sys.stderr)
    return DOES_NOT_FIT


def _gib(size: int) -> str:
    return f"{size / GIB:.2f}"


def _print(plan: MemoryPlan, config: TrainConfig) -> None:
    shape, layout = plan.shape, plan.layout
    names = list(dict.fromkeys([*plan.update, *plan.rollout]))
    names.sort(key=lambda name: name == "runtime")
    phases = (plan.rollout, plan.update)
    rows = [[name, *(_gib(p[name]) if name in p else "-" for p in phases)] for name in names]
    fitting = plan.concurrent_sequences
    cache = plan.kv_per_sequence * fitting
    rows += [
        ["key-value cache, all that is left", _gib(cache), "-"],
        ["total", _gib(plan.rollout_total + cache), _gib(plan.update_total)],
        ["usable", _gib(plan.budget), _gib(plan.budget)],
    ]
    print_table(
        f"{shape.name}: {shape.parameters:,} parameters; estimates for one of {layout.gpus} GPUs "
        f"with {layout.gpu_memory_gib:g} GiB",
        ["GiB on one GPU", "rollout", "update"],
        rows,
    )
    rollout = config.rollout
    asked = rollout.prompts_in_round(rollout.prompts_per_step) * rollout.group_size
    engines = layout.gpus // layout.tensor_parallel
    facts = [
        ["tokens of a sequence", f"{plan.sequence:,} (context {shape.context:,})"],
        ["tokens of a micro-batch on one GPU", f"{plan.micro_batch:,}"],
        ["key-value cache of a sequence, on one GPU", f"{_gib(plan.kv_per_sequence)} GiB"],
        ["sequences at once in an engine", f"{fitting:,}"],
        ["engines", f"{engines} of {layout.tensor_parallel} GPUs ({layout.engine})"],
        ["waves of a first round", _waves(asked, fitting * engines)],
        ["host memory for what is offloaded", f"{_gib(plan.host)} GiB"],
        ["host memory while loading", f"{_gib(plan.loading)} GiB"],
        ["checkpoint on disk", f"{_gib(12 * shape.parameters)} GiB"],
    ]
    print_table("Rollout and files", ["", "value"], facts)
    for phase, total in (("rollout", plan.rollout_total), ("update", plan.update_total)):
        free = plan.budget - total
        if phase == "rollout" and fitting < 1:
            print(f"{phase}: DOES NOT FIT: no room for the cache of one sequence of full length")
        elif free < 0:
            print(f"{phase}: DOES NOT FIT: {_gib(-free)} GiB too many")
        else:
            print(f"{phase}: fits")


def _waves(asked: int, at_once: int) -> str:
    if at_once < 1:
        return "-"
    return f"{-(-asked // at_once)} ({asked:,} responses of full length, {at_once:,} at once)"


def _advice(plan: MemoryPlan, config: TrainConfig) -> str:
    tips = []
    if plan.update_total > plan.budget:
        if not config.model.gradient_checkpointing:
            tips.append("model.gradient_checkpointing=true")
        if plan.micro_batch > plan.sequence:
            tips.append(f"optim.micro_batch_tokens={plan.sequence}")
        if plan.update["logits"] > GIB and plan.layout.logits_chunk is None:
            tips.append("a chunked head (--logits-chunk 1024)")
        if config.model.dtype == "float32":
            tips.append("model.dtype=bfloat16")
    elif plan.layout.engine == "vllm":
        tips.append("--tensor-parallel")
    if not plan.layout.offload_optimizer:
        tips.append("--offload-optimizer")
    return ", ".join([*tips, f"more than {plan.layout.gpus} GPUs"])


def _as_json(plan: MemoryPlan) -> dict[str, Any]:
    return {
        "model": plan.shape.name,
        "parameters": plan.shape.parameters,
        "gpus": plan.layout.gpus,
        "usable_bytes": plan.budget,
        "sequence_tokens": plan.sequence,
        "micro_batch_tokens": plan.micro_batch,
        "rollout_bytes": plan.rollout,
        "update_bytes": plan.update,
        "kv_bytes_per_sequence": plan.kv_per_sequence,
        "concurrent_sequences": plan.concurrent_sequences,
        "host_bytes": plan.host,
        "host_loading_bytes": plan.loading,
        "fits": plan.fits,
    }
