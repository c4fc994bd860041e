"""Peak memory of real updates on a CPU against what `stare-train plan` says.

    python bench/plan_check.py MODEL_FOLDER     (one process an arm; only config.json is read)

The peak is that of the process (resident set) over what it held before the model was made. A CPU
has no CUDA context and no allocator cache, so the plan's row `runtime` is left out. Weights are
random.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
from pathlib import Path

GIB = 2**30


def status(key: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(re.search(rf"{key}:\s+(\d+) kB", text)[1]) * 1024  # type: ignore[index]


def arm(folder: str, dtype: str, checkpointing: bool, rows: int, micro: int, length: int) -> None:
    """One arm, in a process of its own."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from stare.train.batch import make_batch
    from stare.train.collect import Group
    from stare.train.learner import Learner
    from stare.train.memory_plan import Layout, plan_memory
    from stare.train.model_shape import load_shape
    from stare.train.overrides import load_config
    from stare.types import Completion, Problem

    torch.set_num_threads(1)
    prompt, response = length // 4, length - length // 4
    config = load_config(
        "short-cot",
        [
            "model.path=m",
            "data.path=d.jsonl",
            f"model.dtype={dtype}",
            f"model.gradient_checkpointing={str(checkpointing).lower()}",
            f"rollout.prompts_per_step={rows // 4}",
            "rollout.group_size=4",
            f"rollout.max_prompt_tokens={prompt}",
            f"rollout.max_response_tokens={response}",
            f"optim.micro_batch_tokens={micro * length}",
        ],
    )
    shape = load_shape(folder, None)
    plan = plan_memory(config, shape, Layout(engine="transformers"))
    before = status("VmRSS")
    model = AutoModelForCausalLM.from_config(
        AutoConfig.from_pretrained(folder), dtype=torch.float32
    )
    if checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": False})
    learner = Learner(model, config, torch.device("cpu"))
    rng = random.Random(0)

    def ids(count: int) -> list[int]:
        return [rng.randrange(100, 1000) for _ in range(count)]

    groups = []
    for g in range(rows // 4):
        prompt_ids = ids(prompt)
        completions = [
            Completion(
                prompt_ids=prompt_ids, token_ids=ids(response), text="", finish_reason="stop"
            )
            for _ in range(4)
        ]
        problem = Problem(id=str(g), problem="", answer="")
        groups.append(Group(problem=problem, completions=completions, rewards=[0.0, 1.0, 0.0, 1.0]))
    batch = make_batch(groups, config.rollout, pad_id=0)
    for _ in range(2):  # the second step has the moments from its beginning
        learner.step(batch)
    peak = status("VmHWM") - before
    estimate = plan.update_total - plan.update["runtime"]
    parts = ", ".join(f"{k} {v / GIB:.2f}" for k, v in plan.update.items() if k != "runtime")
    name = f"{dtype}{', checkpoints' if checkpointing else ''}, {micro} x {length}"
    print(f"| {name} | {peak / GIB:.2f} | {estimate / GIB:.2f} | {peak / estimate:.2f} | {parts} |")


def main() -> None:
    """Run the arms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--arm", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.arm:
        dtype, checkpointing, rows, micro, length = args.arm
        arm(args.folder, dtype, checkpointing == "yes", int(rows), int(micro), int(length))
        return
    print("| update | peak, GiB | plan, GiB | peak / plan | the plan's parts, GiB |")
    print("|---|---|---|---|---|", flush=True)
    for words in (
        ("float32", "no", "4", "1", "256"),
        ("float32", "no", "4", "4", "256"),
        ("float32", "yes", "4", "4", "256"),
        ("bfloat16", "no", "4", "4", "256"),
        ("bfloat16", "yes", "4", "4", "256"),
    ):
        command = [sys.executable, "-W", "ignore", __file__, args.folder, "--arm", *words]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
