"""TRL's GRPOTrainer with STARE, end to end on a CPU in about a minute: no download, no GPU.

    python examples/trl_grpo.py                          # pip install 'stare-rl[trl]' first
    python examples/trl_grpo.py --model <folder or name> # a model of your own and its tokenizer
    python examples/trl_grpo.py --plain                  # without STARE, to compare

The tiny policy is a random Llama over characters; it learns to answer with even digits. STARE is
one line, `attach(trainer, config)`; the rest is TRL's.
"""

import argparse
import string

import torch
from datasets import Dataset
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from stare import StareConfig
from stare.integrations.trl import attach


def tiny_policy(seed=0):
    """A Llama of 30 k parameters and its tokenizer, one character a token."""
    special = ["<pad>", "<s>", "</s>"]
    vocabulary = {c: i for i, c in enumerate([*special, *string.digits, *"+-= "])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=" "))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    backend.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        padding_side="left",
    )  # fmt: skip
    torch.manual_seed(seed)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = LlamaConfig(
        vocab_size=len(vocabulary), tie_word_embeddings=True, **shape, **heads, **ids
    )
    return LlamaForCausalLM(config), tokenizer


def even_digits(completions, **_):
    """Share of even digits among the characters of each completion."""
    return [sum(c in "02468" for c in text) / (1 + len(text)) for text in completions]


def main(argv=None):
    """Train, and return the logged rows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", help="default: the tiny policy")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--target", type=float, default=0.9, help="times the first batch's entropy")
    parser.add_argument("--plain", action="store_true", help="GRPO without STARE")
    parser.add_argument("--out", default="runs/trl")
    args = parser.parse_args(argv)
    model, tokenizer = tiny_policy() if args.model is None else (args.model, None)
    tokenizer = tokenizer or AutoTokenizer.from_pretrained(args.model, padding_side="left")
    prompts = [f"{a}+{b}=" for a in range(8) for b in range(8)]
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=even_digits,
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        args=GRPOConfig(
            output_dir=args.out, max_steps=args.steps, learning_rate=3e-3, report_to="none",
            per_device_train_batch_size=16, gradient_accumulation_steps=4, num_generations=8,
            max_completion_length=16, epsilon_high=0.28, logging_steps=1, save_strategy="no",
            use_cpu=True, bf16=False, gradient_checkpointing=False, disable_tqdm=True,
        ),
    )  # fmt: skip
    if not args.plain:
        config = StareConfig(
            variant="C2",
            controller="pi",
            w_max=4.0,  # short responses need more than the 1.5 of long ones
            m_min=0.25,
            target_entropy=args.target,
            target_relative=True,
        )
        attach(trainer, config)
    trainer.train()
    return [row for row in trainer.state.log_history if "reward" in row]


if __name__ == "__main__":
    rows = main()
    for row in rows[:: max(1, len(rows) // 8)]:
        keys = ("step", "reward", "entropy", "stare/w", "stare/selected_frac")
        print("  ".join(f"{key} {row[key]:.3g}" for key in keys if key in row))
