"""`[[data.sources]]` and how several sets become one; a part of the section `[data]`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from stare.coerce import check_fields, interval
from stare.errors import ConfigError

__all__ = ["MixingFields", "SourceConfig", "check_mixing"]

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceConfig:
    """One data set: `entry` (a ready one), `path` (files) or `hub` (Hugging Face).

    Fields are dotted paths into a row: `prompt.0.content`. Keys of a ready entry hold unless they
    are given here.

    Example:
        >>> SourceConfig(path="data/train.jsonl").label
        'train'
    """

    entry: str | None = None
    """Name of a ready entry: deepscaler, skywork-or1, polaris, dapo-math-17k. With `path`, the
    entry's fields are read from local files instead of the Hub."""
    path: str | None = None
    """A .jsonl, .json or .parquet file, or a folder or glob pattern of them."""
    hub: str | None = None
    """Hub id `owner/name`; read as a stream, never copied whole."""
    subset: str | None = None
    """Configuration of a Hub data set."""
    revision: str | None = None
    """Commit, branch or tag of a Hub data set; a commit pins it."""
    split: str = "train"
    """Split of a Hub data set."""
    name: str | None = None
    """Name in reports, cursors and ids; None: the entry, the Hub name or the file's stem."""
    weight: float | None = None
    """Share of the draws, relative to the others; None for all: as many as problems are left."""
    problem: str = "problem"
    """Field of the question."""
    answer: str = "answer"
    """Field of the gold answer."""
    answer_format: Literal["plain", "list", "solution"] = "plain"
    """The gold itself; a list (also written as text) of exactly one gold; or a worked solution."""
    id: str | None = None
    """Field of the row's id; None: `id` where there is one, else the row's number."""
    strip_prefix: str = ""
    """Prompt text in front of every problem, taken off."""
    strip_suffix: str = ""
    """Prompt text behind every problem, taken off."""
    where: dict[str, Any] = field(default_factory=dict)
    """Filters, field -> a value, a list of values, or a bound such as ">= 0.2"."""
    limit: int | None = None
    """Stop reading after so many problems that pass `where` and repeat no earlier one."""

    def __post_init__(self) -> None:
        check_fields(self)
        places = [n for n in ("path", "hub") if getattr(self, n) is not None]
        if len(places) > 1 or (not places and self.entry is None):
            raise ConfigError(
                "a source needs one of entry, path and hub, got "
                f"entry={self.entry!r}, path={self.path!r}, hub={self.hub!r}"
            )
        if self.entry is not None and self.hub is not None:
            raise ConfigError(
                f"entry={self.entry!r} has its own place on the Hub, got hub={self.hub!r} too\n"
                "hint: leave out hub, or entry"
            )
        if self.path is not None and (self.subset or self.revision):
            raise ConfigError(
                "subset and revision belong to a Hub data set, "
                f"got path={self.path!r} with subset={self.subset!r}, revision={self.revision!r}"
            )
        interval("weight", self.weight, 0, open_low=True)
        interval("limit", self.limit, 1)
        if self.name is not None and not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"name must be letters, digits, '.', '_' and '-', at most 64, got {self.name!r}"
            )
        for name in ("problem", "answer"):
            if not getattr(self, name):
                raise ConfigError(f"{name} must be the name of a field, got ''")

    @property
    def label(self) -> str:
        """Name in reports, cursors and ids."""
        if self.name or self.entry:
            return str(self.name or self.entry)
        place = str(self.hub or self.path).rstrip("/").rpartition("/")[2]
        stem = place if self.hub else place.rpartition(".")[0] or place
        return re.sub(r"[^A-Za-z0-9._-]+", "-", stem)[:64].strip("-") or "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class MixingFields:
    """The keys of `[data]` that say how several sets become one; all but `sources` need them."""

    sources: tuple[SourceConfig, ...] = ()
    """Data sets to mix, `[[data.sources]]`; an earlier one keeps a problem that a later repeats."""
    dedup: Literal["near", "exact", "off"] = "near"
    """Repeated problems: also those nearly the same, those with the same normal form, or kept."""
    near_threshold: float = 0.7
    """Jaccard similarity of the shingle sets from which two problems with equal numbers repeat."""
    shingle: int = 3
    """Tokens of a shingle."""
    contamination: Literal["remove", "report", "off"] = "remove"
    """Training problems that are benchmark problems: removed, only reported, or not looked for."""
    against: tuple[str, ...] = ("store",)
    """Benchmarks to compare with: `store` (that of `stare-eval data`), JSONL files, folders, globs;
    the problems of `eval_path` always belong to them."""
    contained: float = 0.9
    """Share of a benchmark problem's shingles from which a longer training problem contains it."""
    answers: Literal["checkable", "any"] = "checkable"
    """`checkable` drops golds that the verifier cannot read, proofs among them."""
    long_prompts: Literal["error", "drop"] = "error"
    """A rendered prompt above `rollout.max_prompt_tokens`: an error, or dropped and counted."""
    held_out: int = 0
    """Problems taken out of the mixed sets for evaluation (by `run.seed`), instead of eval_path."""


def check_mixing(data: Any) -> None:
    """Refuse a `[data]` whose mixing keys contradict each other or its other keys.

    Raises:
        ConfigError: named keys exclude each other.
    """
    interval("near_threshold", data.near_threshold, 0.5, 1)
    interval("shingle", data.shingle, 1, 16)
    interval("contained", data.contained, 0.5, 1)
    interval("held_out", data.held_out, 0)
    if not data.sources:
        defaults = MixingFields()
        for name in MixingFields.__slots__:
            if getattr(data, name) != getattr(defaults, name):
                raise ConfigError(
                    f"{name}={getattr(data, name)!r} needs sources, and there are none\n"
                    "hint: a single file: [[data.sources]] with path = ..."
                )
        return
    if data.path is not None or data.factory is not None:
        raise ConfigError(
            f"sources excludes path and factory, got path={data.path!r}, factory={data.factory!r}\n"
            "hint: make the file one more [[data.sources]]"
        )
    labels = [s.label for s in data.sources]
    if repeated := sorted({n for n in labels if labels.count(n) > 1}):
        raise ConfigError(
            f"two sources are called {', '.join(map(repr, repeated))}\nhint: give them a name"
        )
    weighted = [s.weight is not None for s in data.sources]
    if any(weighted) and not all(weighted):
        without = [s.label for s in data.sources if s.weight is None]
        raise ConfigError(
            f"weights are given for some sources and not for {', '.join(map(repr, without))}\n"
            "hint: give all or none; without weights a set counts by its number of problems"
        )
    if data.contamination != "off" and not data.against:
        raise ConfigError(
            f"contamination={data.contamination!r} needs benchmarks in against\n"
            'hint: against = ["store"], files, or contamination="off"'
        )
    if data.held_out and data.eval_path is not None:
        raise ConfigError(
            f"held_out={data.held_out} and eval_path={data.eval_path!r} exclude each other"
        )
