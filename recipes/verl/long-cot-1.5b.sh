#!/usr/bin/env bash
# Long CoT, 1.5B. TRAIN=... VAL=... bash recipes/verl/long-cot-1.5b.sh [more verl options]
NAME=long-cot-1.5b
# published: model, W, M; entropy is back in the band around step 3,500
DEFAULT_MODEL=deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B
W=1.1
M=0.9
# ours: lengths (published only as longer than short CoT) and steps
PROMPT_LENGTH=1024
RESPONSE_LENGTH=15360
STEPS=${STEPS:-4000}
PACK=2
TENSOR_PARALLEL=1
SEQUENCE_PARALLEL=1
OFFLOAD=false
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
launch "$@"
