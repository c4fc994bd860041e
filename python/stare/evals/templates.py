r"""Prompt templates as data.

Names and texts as other harnesses and papers use them, so that scores can be compared. Sources:
boxed-suffix is the suffix of DeepSeek, DAPO and STARE; qwen25-math-cot is Qwen2.5-Math's own;
r1-zero is the template of DeepSeek-R1-Zero (arXiv 2501.12948, table 1) as Dr.GRPO uses it; none is
the bare question, with which base models are often better (Dr.GRPO, arXiv 2503.20783).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stare.coerce import build, check_fields, nearest
from stare.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["PLACEHOLDER", "TEMPLATES", "Template", "load_template"]

PLACEHOLDER = "{problem}"

BOXED = PLACEHOLDER + "\nPlease reason step by step, and put your final answer within \\boxed{}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """How a problem becomes what the model continues."""

    text: str
    """Holds `{problem}`; other braces are left alone."""
    kind: Literal["chat", "raw", "auto"] = "chat"
    """`chat`: one user turn of the chat template. `raw`: the text itself. `auto`: chat where the
    model has a chat template, else raw."""
    stop: tuple[str, ...] = ()
    """Strings that end a response; kept in it."""

    def __post_init__(self) -> None:
        check_fields(self)
        if PLACEHOLDER not in self.text:
            raise ConfigError(f"a template must contain {PLACEHOLDER}, got {self.text!r}")


TEMPLATES: dict[str, Template] = {
    "auto": Template(text=BOXED, kind="auto"),
    "boxed-suffix": Template(text=BOXED),
    "qwen25-math-cot": Template(
        text="<|im_start|>system\nPlease reason step by step, and put your final answer within "
        "\\boxed{}.<|im_end|>\n<|im_start|>user\n{problem}<|im_end|>\n<|im_start|>assistant\n",
        kind="raw",
    ),
    "r1-zero": Template(
        text="A conversation between User and Assistant. The User asks a question, and the "
        "Assistant solves it. The Assistant first thinks about the reasoning process in the mind "
        "and then provides the User with the answer. The reasoning process is enclosed within "
        "<think> </think> and answer is enclosed within <answer> </answer> tags, respectively, "
        "i.e., <think> reasoning process here </think> <answer> answer here </answer>.\n"
        "User: {problem}\nAssistant: <think>",
        kind="raw",
        stop=("</answer>",),
    ),
    "r1-distill": Template(text=PLACEHOLDER),
    "none": Template(text=PLACEHOLDER, kind="raw"),
}


def load_template(name: str) -> Template:
    """A template by its name, or from a file.

    A `.toml` file has the fields of `Template`; any other file holds the text alone, which is
    rendered as `auto` does.

    Raises:
        ConfigError: no template has that name (the nearest is offered), no such file, a bad one.

    Example:
        >>> load_template("r1-zero").stop
        ('</answer>',)
    """
    if name in TEMPLATES:
        return TEMPLATES[name]
    path = Path(name)
    if not path.is_file():
        raise ConfigError(
            f"no template and no file is named {name!r}\nhint: {nearest(name, TEMPLATES)}"
        )
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            return build(Template, tomllib.loads(text))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"template {path} cannot be read: {error}") from None
    except ConfigError as error:
        raise ConfigError(f"template {path}: {error}") from None
    return Template(text=text.removesuffix("\n"), kind="auto")
