"""`stare-train data`: what would become of the sources, without a model."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from stare.errors import ConfigError, RunError
from stare.train.config import TrainConfig
from stare.train.data import load_problems, render_prompts
from stare.train.mixing.files import write_text
from stare.train.mixing.prepare import Prepared, prepare
from stare.train.mixing.prompts import character_lengths, keep_short_prompts, prompt_lengths
from stare.train.mixing.report import DataReport
from stare.train.plain_tables import print_table

__all__ = ["data_command"]


def data_command(config: TrainConfig, *, out: Path | None, as_json: bool) -> None:
    """Prepare `data.sources`, print the report, and write it (and the sets) to `out`.

    Prompt lengths are in tokens where `model.path` is a local folder, else in characters.

    Raises:
        ConfigError: there are no sources.
        DataError: a source or benchmark is not usable.
        RunError: `out` is there already.
    """
    data = config.data
    if not data.sources:
        raise ConfigError(
            "stare-train data reads data.sources, and there are none\n"
            "hint: [[data.sources]] with entry = ..., path = ... or hub = ..."
        )
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out} is there already and not empty\nhint: choose another folder")
    held_out = load_problems(data.eval_path) if data.eval_path is not None else None
    mixed = prepare(data, seed=config.run.seed, held_out=held_out)
    tokenizer = _tokenizer(config)
    if tokenizer is None:
        mixed.report.lengths = character_lengths(mixed)
    else:
        render = partial(
            render_prompts,
            tokenizer=tokenizer,
            template=data.prompt_template,
            chat_template=data.chat_template,
        )
        if data.long_prompts == "drop":
            longest = config.rollout.max_prompt_tokens
            mixed = keep_short_prompts(mixed, render, tokenizer, longest)
        mixed.report.lengths = prompt_lengths(mixed, render, tokenizer)
    if as_json:
        print(json.dumps(mixed.report.summary(), indent=2))
    else:
        _print(mixed)
    if out is not None:
        mixed.report.write(out)
        _write_sets(mixed, out / "sets")
        print(f"written to {out}", file=sys.stderr)


def _tokenizer(config: TrainConfig) -> Any | None:
    path = config.model.path
    if path is None or not Path(path).is_dir():
        print(
            f"note: lengths are in characters: model.path={path!r} is no local folder",
            file=sys.stderr,
        )
        return None
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.path={path!r} has no usable tokenizer: {error}") from error


def _write_sets(mixed: Prepared, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sets = dict(mixed.sets) | ({"held-out": mixed.held_out} if mixed.held_out else {})
    for name, problems in sets.items():
        rows = ({"id": p.id, "problem": p.problem, "answer": p.answer} for p in problems)
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        write_text(folder / f"{name}.jsonl", text)


def _print(mixed: Prepared) -> None:
    report = mixed.report
    total = sum(len(p) for p in mixed.sets.values())
    weights = mixed.weights or {name: float(len(p)) for name, p in mixed.sets.items()}
    share = {name: w / sum(weights.values()) for name, w in weights.items()}
    print_table(
        f"Sources: {total} problems to train on",
        ["source", "rows", "kept", "share of draws"],
        [[n, str(c.rows), str(c.kept), f"{share[n]:.1%}"] for n, c in report.sources.items()],
    )
    _counts(report, "dropped", "Dropped, each row under its first reason")
    _counts(report, "noted", "Kept and worth a look")
    _contamination(report)
    lengths = report.lengths
    bins = [f"{a}+" for a in lengths["edges"]]
    print_table(
        f"Length of the {'prompts' if lengths['unit'] == 'tokens' else 'problems'} in "
        f"{lengths['unit']}",
        ["source", *bins, "longest"],
        [[n, *map(str, c), str(lengths["longest"][n])] for n, c in lengths["counts"].items()],
    )


def _counts(report: DataReport, which: str, title: str) -> None:
    rows = [
        [name, reason, str(count), ", ".join(counts.examples.get(reason, ()))]
        for name, counts in report.sources.items()
        for reason, count in getattr(counts, which).items()
    ]
    if rows:
        print_table(title, ["source", "reason", "rows", "first ids"], rows, left=2)


def _contamination(report: DataReport) -> None:
    if not report.benchmarks:
        print("Contamination was not looked for (data.contamination is off).\n")
        return
    hits = report.summary()["benchmarks"]
    print_table(
        f"Contamination: {len(report.contamination)} training problems "
        f"{'removed' if report.settings['contamination'] == 'remove' else 'found and kept'}",
        ["benchmark", "problems", "training rows that match"],
        [[n, str(b["problems"]), str(b["training_rows"])] for n, b in hits.items()],
    )
