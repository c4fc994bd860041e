#!/usr/bin/env bash
# Short CoT, 14B. TRAIN=... VAL=... bash recipes/verl/short-cot-14b.sh [more verl options]
NAME=short-cot-14b
# published: model, W, M, > 1,500 steps, responses longer than the 7B's 3072
DEFAULT_MODEL=Qwen/Qwen2.5-14B-Instruct
PROMPT_LENGTH=1024
W=1.05
M=0.95
STEPS=${STEPS:-1500}
# ours: how much longer
RESPONSE_LENGTH=7168
PACK=3
TENSOR_PARALLEL=2
SEQUENCE_PARALLEL=1
OFFLOAD=true
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
launch "$@"
