"""GRPO in plain PyTorch, with STARE in one line (marked below). Seconds on one CPU core.

    python examples/plain_torch.py                       # STARE
    python examples/plain_torch.py --variant off         # plain GRPO, to compare

The policy, the sampler and the task are those of the demo; put your own in their place. What STARE
needs of a trainer: advantages, log-probs of the sampled tokens, the loss mask, the mean entropy.
"""

import argparse

import torch

import stare
from stare.demo.policy import load_policy
from stare.demo.reward import reward
from stare.demo.sampler import TinySampler
from stare.demo.tasks import modular_problems
from stare.rollout.sampler import SamplingParams


def padded(rows):
    """Lists of different lengths as one (B, T) tensor, zeros on the right."""
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def train(steps=10, prompts=16, group=8, variant="C2", target=0.315, lr=1e-3):
    """One line of metrics a step, as a list of dictionaries."""
    policy, tokenizer = load_policy()  # a GPT of 116 k parameters, warm-started
    sampler, problems = TinySampler(policy, tokenizer), modular_problems()[0]
    optimiser = torch.optim.AdamW(policy.parameters(), lr=lr)
    off = variant == "off"
    config = stare.StareConfig(
        variant="O1" if off else variant, reweight_w=2.0, reweight_m=0.5, target_entropy=target
    )
    controller = stare.TargetEntropyController(config)
    history = []
    for step in range(steps):
        batch = [problems[(step * prompts + i) % len(problems)] for i in range(prompts)]
        params = SamplingParams(n=group, max_tokens=13, seed=step)
        groups = sampler.sample([problem.problem for problem in batch], params)
        flat = [completion for completions in groups for completion in completions]
        rewards = torch.tensor(reward([p for p in batch for _ in range(group)], flat))

        ids = padded([c.token_ids for c in flat])
        mask = padded([[1] * len(c.token_ids) for c in flat])
        old_logprobs = padded([c.logprobs for c in flat])  # (B, T), of the sampled tokens, in nats
        entropy = (padded([c.entropies for c in flat]) * mask).sum() / mask.sum()
        advantages = stare.group_advantages(rewards, [i // group for i in range(len(flat))])

        gate = False if off else controller.update(float(entropy))
        # STARE, the whole batch before it is cut into micro-batches: (B,) -> (B, T)
        advantages, stats = stare.reweight(advantages, old_logprobs, mask, config=config, gate=gate)

        for rows in torch.arange(len(flat)).chunk(2):  # micro-batches: any number, the same update
            context = torch.tensor([flat[i].prompt_ids for i in rows])
            width = ids.shape[1]
            logits = policy(torch.cat([context, ids[rows]], 1), logits_to_keep=width + 1).logits
            logprobs = logits[:, :-1].log_softmax(-1).gather(-1, ids[rows][..., None])[..., 0]
            ratio = (logprobs - old_logprobs[rows]).exp()
            A = advantages[rows]
            loss = -torch.minimum(ratio * A, ratio.clamp(0.8, 1.28) * A) * mask[rows]
            (loss.sum() / mask.sum()).backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        row = {"step": step, "reward": float(rewards.mean()), "entropy": float(entropy)}
        history.append(row | stats.as_dict())
    return history


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--variant", default="C2", help="O1, C2, ... or off for plain GRPO")
    args = parser.parse_args()
    for row in train(args.steps, variant=args.variant):
        keys = ("step", "reward", "entropy", "stare/gate", "stare/selected_frac")
        print("  ".join(f"{key} {row[key]:.3g}" for key in keys))
