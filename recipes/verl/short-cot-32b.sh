#!/usr/bin/env bash
# Short CoT, 32B. TRAIN=... VAL=... bash recipes/verl/short-cot-32b.sh [more verl options]
NAME=short-cot-32b
# published: model, W, M, > 1,500 steps, responses longer than the 7B's 3072
DEFAULT_MODEL=Qwen/Qwen2.5-32B
PROMPT_LENGTH=1024
W=1.05
M=0.95
STEPS=${STEPS:-1500}
# ours: how much longer
RESPONSE_LENGTH=7168
PACK=2
TENSOR_PARALLEL=4
SEQUENCE_PARALLEL=2
OFFLOAD=true
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
launch "$@"
