"""One update of a policy: tokens a second, peak memory, and where the time goes, against TRL.

    python bench/learner.py                     # needs TRL beside STARE (requirements/trl.txt)
    python bench/learner.py --device cuda --dtype bfloat16 --hidden 1024 --layers 16

A random Llama with a vocabulary of 32,768 and one recorded batch: responses of many lengths, random
advantages. Each row runs in a process of its own, rows take turns for a few rounds, and ratios are
those of medians. An update is forward, loss, backward, clipping and AdamW, in micro-batches of the
same number of rows; TRL's is its own `compute_loss`, on the batch as its generation step hands it
over (padded to the longest response). On-policy TRL makes one forward. So does `reuse_rollout`;
the other rows of ours score the whole batch first, because tokens are chosen over all of it.

Peak memory is what weights, gradients, moments and activations take: on a CPU the growth of the
process since before the model was made, on CUDA what torch allocated.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

VOCABULARY = 32_768
CASES = {
    "TRL": None,
    "ours, whole logits": [],
    "ours, chunks": ["compute.logit_chunk_tokens=256"],
    "ours, chunks, packed": ["compute.logit_chunk_tokens=256", "compute.packing=true"],
    "ours, chunks, reuse_rollout": [
        "compute.logit_chunk_tokens=256",
        "compute.reuse_rollout=true",
    ],
    "ours, chunks, reuse_rollout, packed": [
        "compute.logit_chunk_tokens=256",
        "compute.reuse_rollout=true",
        "compute.packing=true",
    ],
}


def make_model(args: argparse.Namespace) -> Any:
    """The random Llama."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=args.hidden,
        intermediate_size=3 * args.hidden,
        num_hidden_layers=args.layers,
        num_attention_heads=args.hidden // 64,
        num_key_value_heads=args.hidden // 64,
        max_position_embeddings=args.prompt + args.response,
        tie_word_embeddings=True,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config).to(args.device)


def make_data(args: argparse.Namespace) -> dict[str, Any]:
    """The recorded batch: ids, lengths, advantages. Lengths are log-normal, cut at the longest."""
    import torch

    generator = torch.Generator().manual_seed(1)
    spread = torch.randn(args.rows, generator=generator).mul(0.6).exp() * 0.4 * args.response
    lengths = spread.clamp(8, args.response).long()
    lengths[0] = args.response
    if args.equal_lengths:
        lengths[:] = args.response
    shape = (args.rows, args.prompt + args.response)
    return {
        "ids": torch.randint(1, VOCABULARY, shape, generator=generator),
        "lengths": lengths,
        "rewards": (torch.arange(args.rows) % 2).float(),
        "groups": torch.arange(args.rows) // 4,
    }


class Clock:
    """Seconds of each phase; on CUDA the device is waited for at both ends."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.seconds: dict[str, float] = {}

    def now(self) -> float:
        """The time, once the device is idle."""
        if self.device.startswith("cuda"):
            import torch

            torch.cuda.synchronize()
        return time.perf_counter()

    def follow(self, owner: Any, method: str, phase: str) -> None:
        """Add the time of a method to a phase."""
        original = getattr(owner, method)

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = self.now()
            result = original(*args, **kwargs)
            self.seconds[phase] = self.seconds.get(phase, 0.0) + self.now() - began
            return result

        setattr(owner, method, timed)


def ours(args: argparse.Namespace, overrides: list[str], clock: Clock) -> Any:
    """A function that makes one update by the learner."""
    import torch

    from stare.train.batch import Batch
    from stare.train.learner import Learner
    from stare.train.overrides import load_config

    data = make_data(args)
    column = torch.arange(args.response)
    mask = column < data["lengths"][:, None]
    real = torch.cat([torch.ones(args.rows, args.prompt, dtype=torch.long), mask.long()], 1)
    micro = args.micro_rows * (args.prompt + args.response)
    config = load_config(
        "short-cot",
        [
            "model.path=m",
            "data.path=d",
            f"model.dtype={args.dtype}",
            f"rollout.max_prompt_tokens={args.prompt}",
            f"rollout.max_response_tokens={args.response}",
            f"optim.micro_batch_tokens={micro}",
            *overrides,
        ],
    )
    model = make_model(args)
    learner = Learner(model, config, torch.device(args.device))
    batch = Batch(
        input_ids_BL=data["ids"] * real,
        attention_mask_BL=real,
        response_ids_BT=(data["ids"] * real)[:, args.prompt :],
        mask_BT=mask,
        rewards_B=data["rewards"],
        group_ids_B=data["groups"],
        sampled_logprobs_BT=-torch.rand(mask.shape, generator=torch.Generator().manual_seed(2)),
        sampled_entropy_BT=torch.rand(mask.shape, generator=torch.Generator().manual_seed(3)),
    )
    clock.follow(learner, "_score", "score")
    clock.follow(learner, "_advantages", "select")
    clock.follow(learner, "_optimizer_step", "optimiser")
    clock.follow(torch.Tensor, "backward", "backward")
    return lambda: learner.step(batch)


def trls(args: argparse.Namespace, clock: Clock) -> Any:
    """A function that makes one update by TRL's loss."""
    import torch
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from trl import GRPOConfig, GRPOTrainer

    data = make_data(args)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"<pad>": 0, "a": 1}, unk_token="a")),
        pad_token="<pad>",
        eos_token="<pad>",
    )
    model = make_model(args)
    steps = args.rows // args.micro_rows
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        processing_class=tokenizer,
        train_dataset=Dataset.from_dict({"prompt": ["a"]}),
        args=GRPOConfig(
            output_dir="unused",
            per_device_train_batch_size=args.micro_rows,
            gradient_accumulation_steps=steps,
            num_generations=4,
            max_completion_length=args.response,
            epsilon_high=0.28,
            report_to="none",
            use_cpu=args.device == "cpu",
            bf16=args.dtype == "bfloat16",
            gradient_checkpointing=False,
            save_strategy="no",
        ),
    )
    trainer.current_gradient_accumulation_steps = steps
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, weight_decay=0.0, fused=True)
    mask = (torch.arange(args.response) < data["lengths"][:, None]).long()
    sign = data["rewards"] * 2 - 1
    whole = {
        "prompt_ids": data["ids"][:, : args.prompt],
        "prompt_mask": torch.ones(args.rows, args.prompt, dtype=torch.long),
        "completion_ids": data["ids"][:, args.prompt :] * mask,
        "completion_mask": mask,
        "advantages": sign,
    }
    whole = {key: value.to(args.device) for key, value in whole.items()}
    total = mask.sum().to(args.device)
    clock.follow(torch.Tensor, "backward", "backward")

    def clip_and_step() -> None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    holder = argparse.Namespace(step=clip_and_step)
    clock.follow(holder, "step", "optimiser")

    def update() -> None:
        model.train()
        for start in range(0, args.rows, args.micro_rows):
            part = {k: v[start : start + args.micro_rows] for k, v in whole.items()}
            with trainer.compute_loss_context_manager():
                loss = trainer.compute_loss(model, part | {"num_items_in_batch": total})
            loss.backward()
        holder.step()

    return update


def _kib(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}")


def measure(args: argparse.Namespace) -> None:
    """One case in this process; prints JSON."""
    import torch
    import transformers

    warnings.simplefilter("ignore")
    torch.set_num_threads(args.threads)
    _ = transformers.LlamaForCausalLM
    if args.case == "TRL":
        import trl

        _ = trl.GRPOTrainer
    before = _kib("VmRSS")
    clock = Clock(args.device)
    overrides = CASES[args.case]
    update = trls(args, clock) if overrides is None else ours(args, overrides, clock)
    update()  # the first one allocates
    if args.device == "cpu":
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    clock.seconds.clear()
    times = []
    for _ in range(args.steps):
        began = clock.now()
        update()
        times.append(clock.now() - began)
    if args.device == "cpu":
        peak = (_kib("VmHWM") - before) / 1024
    else:
        peak = torch.cuda.max_memory_allocated() / 2**20
    phases = {k: v / sum(times) for k, v in clock.seconds.items()}
    print(json.dumps({"seconds": times, "peak_mib": peak, "phases": phases}))


def report(args: argparse.Namespace) -> None:
    """All cases in turn, and the table."""
    found: dict[str, list[dict[str, Any]]] = {
        case: [] for case, overrides in CASES.items() if overrides is not None or not args.no_trl
    }
    command = [sys.executable, __file__, *sys.argv[1:]]
    for _ in range(args.rounds):
        for case in found:
            done = subprocess.run(
                [*command, "--case", case], capture_output=True, text=True, env=os.environ
            )
            if done.returncode != 0:
                raise SystemExit(f"{case}:\n{done.stderr}")
            found[case].append(json.loads(done.stdout.splitlines()[-1]))
    lengths = make_data(args)["lengths"]
    tokens = int(lengths.sum()) + args.rows * args.prompt
    print(
        f"{args.rows} responses of up to {args.response} tokens "
        f"(mean {float(lengths.float().mean()):.0f}) after prompts of {args.prompt}, micro-batches "
        f"of {args.micro_rows} rows; {args.device}, {args.dtype}, hidden {args.hidden}, "
        f"{args.layers} layers, vocabulary {VOCABULARY}\n"
    )
    first = next(iter(found))
    columns = f"update | s | time / {first} | tokens/s | peak MiB | memory / {first}"
    print(f"| {columns} | score | select | backward | optimiser |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    base: tuple[float, float] | None = None
    for case, runs in found.items():
        seconds = statistics.median(t for run in runs for t in run["seconds"])
        peak = statistics.median(run["peak_mib"] for run in runs)
        base = base or (seconds, peak)
        shares = [
            statistics.median(run["phases"].get(name, 0.0) for run in runs)
            for name in ("score", "select", "backward", "optimiser")
        ]
        cells = " | ".join(f"{share:.1%}" for share in shares)
        print(
            f"| {case} | {seconds:.2f} | {seconds / base[0]:.2f} | {tokens / seconds:,.0f} | "
            f"{peak:,.0f} | {peak / base[1]:.2f} | {cells} |"
        )


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--micro-rows", type=int, default=8)
    parser.add_argument("--prompt", type=int, default=32)
    parser.add_argument("--response", type=int, default=256)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--equal-lengths",
        action="store_true",
        help="every response is the longest: no padding, so sorting by length gains nothing",
    )
    parser.add_argument(
        "--no-trl", action="store_true", help="leave TRL out; ratios are to the first row"
    )
    parser.add_argument("--case", choices=list(CASES), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        measure(args)
    else:
        report(args)


if __name__ == "__main__":
    main()
