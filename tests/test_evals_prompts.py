"""Templates, system prompts, beginning-of-sequence tokens, windows."""

from __future__ import annotations

from typing import Any

import pytest

from stare.chat import hidden_system_prompt, takes_system
from stare.errors import ConfigError, DataError
from stare.evals.prompts import Prompt, Renderer, check_window
from stare.evals.templates import TEMPLATES, Template, load_template
from stare.types import Problem
from tiny_llm import tiny_tokenizer

PROBLEM = Problem(id="a", problem="what is {1}+1?", answer="2")
CHATML = (
    "{% if messages[0]['role'] != 'system' %}{{ '<s>system\nbe kind</s>' }}{% endif %}"
    "{% for m in messages %}{{ '<s>' + m['role'] + '\n' + m['content'] + '</s>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant\n' }}"
    "{% if enable_thinking is defined and not enable_thinking %}{{ 'no thought ' }}{% endif %}"
    "{% endif %}"
)


def chatml(**options: Any) -> Any:
    tokenizer = tiny_tokenizer(**options)
    tokenizer.chat_template = CHATML
    return tokenizer


def text(name: str, tokenizer: Any = None, **options: Any) -> str:
    return Renderer(TEMPLATES[name], tokenizer=tokenizer, **options).render(PROBLEM).text


def test_templates_keep_braces_of_problem_and_latex():
    suffix = "\nPlease reason step by step, and put your final answer within \\boxed{}."
    assert text("boxed-suffix", chatml()).count(f"what is {{1}}+1?{suffix}</s>") == 1
    assert text("none") == PROBLEM.problem
    assert text("qwen25-math-cot").startswith("<|im_start|>system\nPlease reason step by step")
    assert text("r1-zero").endswith("User: what is {1}+1?\nAssistant: <think>")
    assert text("r1-distill", chatml()).endswith("what is {1}+1?</s><s>assistant\n")


def test_auto_takes_the_chat_template_where_there_is_one():
    assert text("auto", chatml()).startswith("<s>system")
    assert text("auto", tiny_tokenizer()).startswith("what is")
    with pytest.raises(ConfigError, match="no chat template"):
        text("boxed-suffix", tiny_tokenizer())


def test_the_hidden_system_prompt_is_found_and_taken_out():
    tokenizer = chatml()
    assert hidden_system_prompt(tokenizer) == "be kind"
    assert "be kind" in text("auto", tokenizer)
    assert text("auto", tokenizer, system="none").startswith("<s>system\n</s><s>user")
    assert text("auto", tokenizer, system="Be brief.").startswith("<s>system\nBe brief.</s><s>user")


def test_a_template_without_system_messages():
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    assert hidden_system_prompt(tokenizer) is None, "no room for one"
    tokenizer.chat_template = "{{ messages[-1]['content'] }}"
    assert not takes_system(tokenizer)
    assert text("auto", tokenizer, system="none").startswith("what is")
    with pytest.raises(ConfigError, match="renders no system message"):
        text("auto", tokenizer, system="Be brief.")
    with pytest.raises(ConfigError, match="raw template has no system prompt"):
        text("none", tokenizer, system="Be brief.")


def test_thinking_is_a_variable_of_the_template():
    assert text("auto", chatml(), thinking="off").endswith("no thought ")
    assert not text("auto", chatml(), thinking="on").endswith("no thought ")
    assert not text("auto", chatml()).endswith("no thought ")


def test_a_template_that_refuses_is_named():
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = "{{ raise_exception('users first') }}"
    with pytest.raises(ConfigError, match="refuses these messages: users first"):
        text("auto", tokenizer)


def test_one_beginning_of_sequence_token_and_never_two():
    adds = tiny_tokenizer(adds_bos=True)
    prompt = Renderer(TEMPLATES["none"], tokenizer=adds).render(PROBLEM)
    assert prompt.text == f"<s>{PROBLEM.problem}"
    assert prompt.bare == PROBLEM.problem
    assert prompt.ids is not None
    assert list(prompt.ids[:2]).count(1) == 1
    assert tuple(adds(prompt.bare)["input_ids"]) == prompt.ids, "what a server makes of it"
    plain = Renderer(TEMPLATES["none"], tokenizer=tiny_tokenizer()).render(PROBLEM)
    assert plain.text == PROBLEM.problem
    assert plain.bare is None
    twice = Template(text="<s>{problem}", kind="raw")
    with pytest.raises(ConfigError, match="two beginning-of-sequence tokens"):
        Renderer(twice, tokenizer=adds).render(PROBLEM)


def test_without_a_tokenizer_a_conversation_stays_one():
    prompt = Renderer(TEMPLATES["auto"], system="Be brief.").render(PROBLEM)
    assert prompt.messages is not None
    assert [role for role, _ in prompt.messages] == ["system", "user"]
    assert prompt.ids is None
    assert prompt.sha != Renderer(TEMPLATES["auto"]).render(PROBLEM).sha


def test_templates_from_files(tmp_path):
    (tmp_path / "t.txt").write_text("Q: {problem}\nA:\n")
    assert load_template(str(tmp_path / "t.txt")) == Template(text="Q: {problem}\nA:", kind="auto")
    (tmp_path / "t.toml").write_text('text = "{problem}"\nkind = "raw"\nstop = ["Q:"]\n')
    assert load_template(str(tmp_path / "t.toml")).stop == ("Q:",)
    for name, contents, words in (
        ("a.txt", "no place", "must contain"),
        ("b.toml", 'text = "{problem}"\nkinds = "raw"', "did you mean kind"),
        ("c.toml", "text =", "cannot be read"),
    ):
        (tmp_path / name).write_text(contents)
        with pytest.raises(ConfigError, match=words):
            load_template(str(tmp_path / name))
    with pytest.raises(ConfigError, match="did you mean boxed-suffix"):
        load_template("boxed-sufix")


def test_prompts_that_leave_no_room_are_refused_with_the_numbers():
    prompts = [Prompt(text="x", ids=(1,) * length) for length in (10, 30)]
    check_window(["a", "b"], prompts, 34, 64)
    check_window(["a", "b"], prompts, 10**6, None)
    with pytest.raises(
        DataError, match=r"1 prompts do not fit: b has 30 tokens.* 35 that is 65.* window is 64"
    ):
        check_window(["a", "b"], prompts, 35, 64)
