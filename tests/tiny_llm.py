"""A random Llama of a few thousand parameters and a character tokenizer, built in memory."""

from __future__ import annotations

import string
from typing import Any

import torch

ALPHABET = string.ascii_lowercase + string.digits + " .?+-="
PAD, BOS, EOS, EOS2 = 0, 1, 2, 3
VOCABULARY = 4 + len(ALPHABET)
CHAT = (
    "{% for message in messages %}{{ '<s>' + message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '=' }}{% endif %}"
)


def tiny_tokenizer(
    *, pad: bool = True, chat: bool = False, adds_bos: bool = False, **options: Any
) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"<pad>": PAD, "<s>": BOS, "</s>": EOS, "<end>": EOS2}
    vocabulary |= {c: 4 + i for i, c in enumerate(ALPHABET)}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    backend.decoder = decoders.Fuse()
    if adds_bos:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", BOS)]
        )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=["<end>"],
        **({"pad_token": "<pad>"} if pad else {}),
        **options,
    )
    if chat:
        tokenizer.chat_template = CHAT
    return tokenizer


def tiny_model(*, sliding_window: int | None = None, context: int = 64, seed: int = 0) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": context,
        "initializer_range": 0.4,  # far from uniform, so that errors show
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if sliding_window is None:
            model = LlamaForCausalLM(LlamaConfig(**shape))
        else:
            model = MistralForCausalLM(MistralConfig(**shape, sliding_window=sliding_window))
    return model.eval()
