#!/usr/bin/env bash
# Long CoT, 8B. TRAIN=... VAL=... bash recipes/verl/long-cot-8b.sh [more verl options]
NAME=long-cot-8b
# published: model, W, M
DEFAULT_MODEL=Qwen/Qwen3-8B-Base
W=1.1
M=0.9
# ours: lengths (published only as longer than short CoT) and steps
PROMPT_LENGTH=1024
RESPONSE_LENGTH=15360
STEPS=${STEPS:-2000}
PACK=2
TENSOR_PARALLEL=1
SEQUENCE_PARALLEL=2
OFFLOAD=true
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
launch "$@"
