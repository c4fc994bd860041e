# What the six settings share; sourced by them, not run. Every line after a comment that names a
# section of the paper (arXiv 2606.19236) is published; under "ours" is what it leaves open, chosen
# for 2 machines of 8 GPUs with 80 GB and NOT run on such machines.
set -euo pipefail

: "${TRAIN:?TRAIN=train.parquet[,more.parquet] (make it with recipes/verl/prepare.py)}"
: "${VAL:?VAL=val.parquet[,more.parquet]}"
: "${OUT:=checkpoints/${NAME}}"
NODES=${NODES:-2}
GPUS=${GPUS:-8}
MODEL=${MODEL:-${DEFAULT_MODEL}}
LENGTH=$((PROMPT_LENGTH + RESPONSE_LENGTH))
# Tokens of one micro-batch on one GPU: a memory knob. It does not change what STARE selects.
TOKENS=${TOKENS:-$((LENGTH * PACK))}

list() { echo "[${1}]"; }

ARGS=(
  # GRPO-ds (section 5): group-normalised rewards, no KL term, no entropy bonus
  algorithm.adv_estimator=grpo
  algorithm.norm_adv_by_std_in_grpo=true
  algorithm.use_kl_in_reward=false
  actor_rollout_ref.actor.use_kl_loss=false
  actor_rollout_ref.actor.entropy_coeff=0
  # clip-higher, dual clip, token-mean loss
  actor_rollout_ref.actor.policy_loss.loss_mode=vanilla
  actor_rollout_ref.actor.clip_ratio_low=0.2
  actor_rollout_ref.actor.clip_ratio_high=0.28
  actor_rollout_ref.actor.clip_ratio_c=10.0
  actor_rollout_ref.actor.loss_agg_mode=token-mean
  # 64 prompts x 8 responses, one gradient step a batch (on-policy)
  data.train_batch_size=64
  actor_rollout_ref.rollout.n=8
  actor_rollout_ref.actor.ppo_mini_batch_size=64
  actor_rollout_ref.actor.ppo_epochs=1
  # dynamic sampling, prompts over-sampled x3; verl's current trainer refills until the batch is
  # full, so the paper's bound of 10 refills has no counterpart
  algorithm.filter_groups.enable=true
  algorithm.filter_groups.metric=reward
  algorithm.filter_groups.max_inflight_gen_batches=3
  # optimiser
  actor_rollout_ref.actor.optim.lr=1e-6
  actor_rollout_ref.actor.grad_clip=1.0
  # sampling in training, then in validation
  actor_rollout_ref.rollout.temperature=1.0
  actor_rollout_ref.rollout.top_p=1.0
  actor_rollout_ref.rollout.top_k=-1
  actor_rollout_ref.rollout.val_kwargs.do_sample=true
  actor_rollout_ref.rollout.val_kwargs.temperature=1.0
  actor_rollout_ref.rollout.val_kwargs.top_p=0.7
  actor_rollout_ref.rollout.val_kwargs.n=32
  # STARE (sections 4 and 5)
  +stare.enabled=true
  +stare.variant="${VARIANT:-O1}"
  +stare.top_p_ratio=0.1
  +stare.reweight_w="${W}"
  +stare.reweight_m="${M}"
  +stare.target_entropy=0.3
  +stare.gate=batch

  # ours: weight decay and warm-up
  actor_rollout_ref.actor.optim.weight_decay=0.0
  actor_rollout_ref.actor.optim.lr_warmup_steps=0
  # ours: reward. An undecided answer counts 0; see docs/verify.md
  reward.custom_reward_function.path=pkg://stare.verify
  reward.custom_reward_function.name=verl_compute_score
  # ours: lengths, memory, parallelism, bookkeeping
  "data.train_files=$(list "${TRAIN}")"
  "data.val_files=$(list "${VAL}")"
  data.max_prompt_length="${PROMPT_LENGTH}"
  data.max_response_length="${RESPONSE_LENGTH}"
  data.filter_overlong_prompts=true
  data.truncation=error
  actor_rollout_ref.model.path="${MODEL}"
  actor_rollout_ref.model.use_remove_padding=true
  actor_rollout_ref.model.enable_gradient_checkpointing=true
  actor_rollout_ref.actor.strategy=fsdp2
  actor_rollout_ref.actor.use_dynamic_bsz=true
  actor_rollout_ref.actor.ppo_max_token_len_per_gpu="${TOKENS}"
  actor_rollout_ref.actor.ulysses_sequence_parallel_size="${SEQUENCE_PARALLEL}"
  actor_rollout_ref.actor.fsdp_config.param_offload="${OFFLOAD}"
  actor_rollout_ref.actor.fsdp_config.optimizer_offload="${OFFLOAD}"
  actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=true
  actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu="${TOKENS}"
  actor_rollout_ref.rollout.name=vllm
  actor_rollout_ref.rollout.tensor_model_parallel_size="${TENSOR_PARALLEL}"
  actor_rollout_ref.rollout.gpu_memory_utilization=0.7
  actor_rollout_ref.rollout.max_model_len="${LENGTH}"
  trainer.v1.trainer_mode=sync
  trainer.nnodes="${NODES}"
  trainer.n_gpus_per_node="${GPUS}"
  trainer.total_training_steps="${STEPS}"
  trainer.total_epochs=1000 # the steps end the run
  trainer.test_freq=20
  trainer.save_freq=20
  trainer.project_name=stare
  trainer.experiment_name="${NAME}"
  trainer.default_local_dir="${OUT}"
  'trainer.logger=["console"]'
)

launch() {
  exec "${PYTHON:-python3}" -m verl.trainer.main_ppo "${ARGS[@]}" "$@"
}
