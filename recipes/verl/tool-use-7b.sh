#!/usr/bin/env bash
# Tool use, 7B. MODEL=<checkpoint after the cold start> TOOLS=<file of @function_tool functions>
#   TRAIN=... VAL=... bash recipes/verl/tool-use-7b.sh [more verl options]
# The paper starts from Qwen2.5-7B after an SFT on 2K tool-use examples; neither those examples nor
# its tool are published, so both are yours. verl masks tool output, so STARE never selects it.
NAME=tool-use-7b
: "${MODEL:?MODEL=<Qwen2.5-7B after the cold-start SFT>}"
: "${TOOLS:?TOOLS=<python file with functions decorated by verl\'s @function_tool>}"
DEFAULT_MODEL=${MODEL}
# published: W, M
W=1.1
M=0.9
# ours: lengths (published only as longer than short CoT), steps, turns
PROMPT_LENGTH=2048
RESPONSE_LENGTH=14336
STEPS=${STEPS:-1000}
PACK=2
TENSOR_PARALLEL=1
SEQUENCE_PARALLEL=1
OFFLOAD=false
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
ARGS+=(
  actor_rollout_ref.rollout.agent.default_agent_loop=tool_agent
  actor_rollout_ref.rollout.multi_turn.enable=true
  actor_rollout_ref.rollout.multi_turn.format=hermes
  actor_rollout_ref.rollout.multi_turn.function_tool_path="${TOOLS}"
  actor_rollout_ref.rollout.multi_turn.max_assistant_turns=8
  actor_rollout_ref.rollout.multi_turn.max_tool_response_length=1024
)
launch "$@"
