#!/usr/bin/env bash
# Short CoT, 7B. TRAIN=... VAL=... bash recipes/verl/short-cot-7b.sh [more verl options]
NAME=short-cot-7b
# published: model, lengths 1024 + 3072, W, M, > 5,000 steps
DEFAULT_MODEL=Qwen/Qwen2.5-Math-7B
PROMPT_LENGTH=1024
RESPONSE_LENGTH=3072
W=1.1
M=0.9
STEPS=${STEPS:-5000}
# ours
PACK=6
TENSOR_PARALLEL=1
SEQUENCE_PARALLEL=1
OFFLOAD=false
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
launch "$@"
