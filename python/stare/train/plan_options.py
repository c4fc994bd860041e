"""Arguments of `stare-train plan`; imports nothing heavy, since the parser needs it."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_plan_options"]


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Add them to the subcommand."""
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="GPUs of the run")
    parser.add_argument(
        "--gpu-memory", type=float, default=80.0, metavar="GIB", help="memory of one GPU"
    )
    parser.add_argument(
        "--model-config", type=Path, metavar="FILE", help="a config.json, instead of model.path's"
    )
    parser.add_argument(
        "--engine",
        choices=("vllm", "transformers"),
        help="what generates; default: transformers where rollout.sampler is, else vllm",
    )
    parser.add_argument(
        "--tensor-parallel", type=int, metavar="N", help="GPUs of one engine (default: the run's)"
    )
    parser.add_argument(
        "--utilization", type=float, default=0.9, metavar="SHARE", help="usable share of a GPU"
    )
    parser.add_argument(
        "--offload-optimizer", action="store_true", help="Adam moments in host memory"
    )
    parser.add_argument(
        "--logits-chunk", type=int, metavar="TOKENS", help="positions whose logits exist at once"
    )
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")
