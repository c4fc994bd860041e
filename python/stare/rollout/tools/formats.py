"""How a policy writes a call of the Python tool, and how it is shown the output. Data, no code."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from stare.errors import ConfigError

__all__ = ["FORMATS", "Call", "ToolFormat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that a policy wrote."""

    program: str | None
    """What to run; None if the call is malformed."""
    problem: str = ""
    """What is wrong with it, for the policy to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFormat:
    r"""The markup of calls and observations.

    Raises:
        ConfigError: a pattern without one group, or an observation without one `{output}`.

    Example:
        >>> FORMATS["fence"].first_call("So:\n```python\nprint(6 * 7)\n```\n").program
        'print(6 * 7)'
        >>> text = '<tool_call>{"name": "python", "arguments": {"code": "print(1)"}}</tool_call>'
        >>> FORMATS["tool_call"].first_call(text).program
        'print(1)'
        >>> FORMATS["tool_call"].first_call("<tool_call>print(1)</tool_call>").problem
        'the call is no JSON object'
    """

    close: str
    """The text that ends a call; sampling stops there."""
    pattern: str
    """Regular expression (dot matches all) of a whole call; its one group is the payload."""
    payload: str
    """`code`: the program itself; `json`: {"name": "python", "arguments": {"code": ...}}."""
    observation: str
    """What follows a call, with `{output}` once."""

    def __post_init__(self) -> None:
        if not self.close or re.compile(self.pattern).groups != 1:
            raise ConfigError("a tool format needs a close text and a pattern with one group")
        if self.payload not in ("code", "json") or self.observation.count("{output}") != 1:
            raise ConfigError(
                "a tool format needs payload='code' or 'json' and an observation with one {output}"
            )

    def first_call(self, text: str) -> Call | None:
        """The first complete call in a text, or None."""
        match = re.search(self.pattern, text, re.DOTALL)
        if match is None:
            return None
        return (
            Call(program=match[1].rstrip("\n")) if self.payload == "code" else _from_json(match[1])
        )


def _from_json(text: str) -> Call:
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        call = None
    if not isinstance(call, dict):
        return Call(program=None, problem="the call is no JSON object")
    if call.get("name") != "python":
        return Call(program=None, problem="there is one tool, its name is python")
    arguments = call.get("arguments")
    code = arguments.get("code") if isinstance(arguments, dict) else None
    if not isinstance(code, str):
        return Call(program=None, problem="arguments must be an object with code, a string")
    return Call(program=code)


FORMATS = {
    "fence": ToolFormat(
        # The line break after it tells the closing fence from an opening one.
        close="\n```\n",
        pattern=r"(?:^|\n)```(?:python|py)[ \t]*\n(.*?)(?<=\n)```\n",
        payload="code",
        observation="```output\n{output}\n```\n",
    ),
    "tool_call": ToolFormat(
        close="</tool_call>",
        pattern=r"<tool_call>(.*?)</tool_call>",
        payload="json",
        observation=(
            "<|im_end|>\n<|im_start|>user\n<tool_response>\n{output}\n</tool_response><|im_end|>\n"
            "<|im_start|>assistant\n"
        ),
    ),
}
"""By name: a fenced block of Markdown, and the calls of Qwen's chat template."""
