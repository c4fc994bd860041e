"""Supervised training on conversations: what teaches, and what a resumed run is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from stare.errors import DataError
from stare.train.cli import main
from stare.train.sections_sft import load_sft_config
from stare.train.sft import sft
from stare.train.sft_data import encode_conversation
from tiny_llm import EOS, tiny_model, tiny_tokenizer

TEMPLATE = (
    "{% for m in messages %}{{ '<s>' + m['role'] + '=' + m['content'] + '</s> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant=' }}{% endif %}"
)
TALK = [
    {"role": "user", "content": "2+2"},
    {"role": "assistant", "content": "a?b?c"},
    {"role": "tool", "content": "4"},
    {"role": "assistant", "content": "four"},
]


def tokenizer(template: str = TEMPLATE) -> Any:
    made = tiny_tokenizer()
    made.chat_template = template
    return made


def test_only_what_the_assistant_wrote_teaches() -> None:
    t = tokenizer()
    row = encode_conversation(t, TALK)
    whole = t.apply_chat_template(TALK, tokenize=False)
    assert t.decode(row.ids) == whole
    own = [i for i, m in zip(row.ids, row.mask, strict=True) if m]
    assert t.decode(own) == "a?b?c</s>four</s>"
    masked = encode_conversation(t, TALK, r"\?.*\?")
    own = [i for i, m in zip(masked.ids, masked.mask, strict=True) if m]
    assert t.decode(own) == "ac</s>four</s>"
    assert masked.ids == row.ids


@pytest.mark.parametrize(
    ("template", "message"),
    [
        # Earlier answers are dropped, as some templates drop earlier reasoning.
        (
            "{% for m in messages %}{% if m['role'] != 'assistant' or loop.last %}"
            "{{ m['content'] + '</s>' }}{% endif %}{% endfor %}",
            "changes what came before message 1",
        ),
        ("{% for m in messages %}{{ m['content'] }}{% endfor %}", "without an end token"),
        ("{{ raise_exception('no tools') }}", "refuses these messages: no tools"),
    ],
)
def test_templates_that_cannot_be_masked_are_refused(template: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        encode_conversation(tokenizer(template), TALK)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    tiny_model(seed=1).save_pretrained(tmp_path / "start")
    tokenizer().save_pretrained(tmp_path / "start")
    rows = [
        {"messages": [{"role": "user", "content": f"{i} + 1"}, TALK[1], TALK[2], TALK[3]]}
        for i in range(6)
    ]
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (tmp_path / "sft.toml").write_text(
        f'data = "{tmp_path / "talk.jsonl"}"\nlr = 3e-3\nbatch_size = 3\nepochs = 10\n'
        f'checkpoint_every = 1\nmicro_batch_tokens = 120\n[model]\npath = "{tmp_path / "start"}"\n'
    )
    return tmp_path


def weights(folder: Path) -> dict[str, torch.Tensor]:
    from transformers import AutoModelForCausalLM

    return dict(AutoModelForCausalLM.from_pretrained(folder / "model").state_dict())


def test_it_learns_resumes_and_writes_a_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = str(folder / "sft.toml")
    assert main(["sft", toml, f"out={folder / 'whole'}"]) == 0
    rows = [json.loads(r) for r in (folder / "whole/metrics.jsonl").read_text().splitlines()]
    assert len(rows) == 20
    assert rows[-1]["loss"] < 0.5 * rows[0]["loss"]
    after = weights(folder / "whole")
    assert EOS in tokenizer().all_special_ids

    from stare.train import sft as module

    step, done = module._step, []

    def killed(*args: Any) -> Any:
        if len(done) == 7:
            raise KeyboardInterrupt
        done.append(1)
        return step(*args)

    monkeypatch.setattr(module, "_step", killed)
    assert main(["sft", toml, f"out={folder / 'parts'}"]) == 130
    monkeypatch.setattr(module, "_step", step)
    assert main(["sft", toml, f"out={folder / 'parts'}"]) == 2, "--resume was not said"
    assert main(["sft", toml, f"out={folder / 'parts'}", "lr=1.0", "--resume"]) == 2
    assert main(["sft", toml, f"out={folder / 'parts'}", "--resume"]) == 0
    again = weights(folder / "parts")
    assert all(torch.equal(value, again[name]) for name, value in after.items())


def test_micro_batches_change_nothing_but_rounding(folder: Path) -> None:
    toml = folder / "sft.toml"
    one = sft(load_sft_config(toml, [f"out={folder / 'a'}", "micro_batch_tokens=1", "epochs=2"]))
    all_of_it = sft(
        load_sft_config(toml, [f"out={folder / 'b'}", "micro_batch_tokens=9999", "epochs=2"])
    )
    assert one == pytest.approx(all_of_it, rel=1e-5)


@pytest.mark.parametrize(
    ("line", "options", "message"),
    [
        ("{}", [], "talk.jsonl:1 must be an object with messages"),
        ('{"messages": [{"role": "user", "content": "x"}]}', [], "an assistant's among them"),
        ("", [], "holds no conversation"),
        (None, ["max_tokens=10"], "conversation 1 has 57 tokens, max_tokens is 10"),
        (None, ["max_tokens=10", "too_long=drop"], "every conversation is longer"),
        (None, ["epochs=0"], "epochs"),
        (None, ["epoch=1"], "epoch"),
        (None, ["model.path=none"], "model.path is not set"),
    ],
)
def test_bad_input_is_refused(
    folder: Path,
    line: str | None,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if line is not None:
        (folder / "talk.jsonl").write_text(line)
    assert main(["sft", str(folder / "sft.toml"), f"out={folder / 'x'}", *options]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "x").exists()
