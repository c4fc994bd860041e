"""Which tokens are chosen when a batch is cut up: the released code's selection, and ours.

    python bench/invariance.py                          # the two batches below, one table each
    python bench/invariance.py --figure docs/images/invariance.png
    python bench/invariance.py --batch recorded.npz     # logprobs and mask (B, T), advantages (B,)

Jaccard overlap of the chosen tokens with the top 10 % of each advantage sign over the whole batch.
A batch is dealt to ranks of equal load, and each rank cuts its rows into micro-batches of at most
so many tokens. `per micro-batch` chooses ceil(P n) of each micro-batch alone, as the released code
does with the micro-batches that its loss is handed; `ours` runs the sharded selection over the same
pieces.

- demo: rollouts of the demo's warm-started policy, 64 problems x 8 responses, seed 0.
- synthetic: 512 responses of 32 to 4,096 tokens (log-normal), each with a level of surprisal of its
  own (log-normal, sigma 0.5), 70 % of the tokens nearly certain. Not a recording: it stands for
  long answers of a language model, for which none is at hand.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stare.algo.reweight import token_weights
from stare.algo.sharded import token_weights_sharded
from stare.config import StareConfig

CONFIG = StareConfig(variant="C2")
RANKS = (1, 4, 16)
ONE_SEQUENCE = 0
"""A budget that no two responses share."""


class Recorded(NamedTuple):
    """What selection needs of one batch."""

    logprobs: NDArray[np.float32]
    """(B, T), nats."""
    advantages: NDArray[np.float32]
    """(B,)"""
    mask: NDArray[np.bool_]
    """(B, T)"""

    def rows(self, index: NDArray[np.int64]) -> Recorded:
        """Some of the rows."""
        return Recorded(self.logprobs[index], self.advantages[index], self.mask[index])


class Row(NamedTuple):
    """One line of the table."""

    ranks: int
    budget: int
    pieces: int
    per_piece: float
    ours: float


def demo_batch(problems: int = 64, group: int = 8, seed: int = 0) -> Recorded:
    """Rollouts of the demo's warm start with their rewards."""
    from stare.algo.advantages import group_advantages
    from stare.demo.policy import load_policy
    from stare.demo.reward import reward
    from stare.demo.sampler import TinySampler
    from stare.demo.tasks import modular_problems
    from stare.rollout.sampler import SamplingParams

    chosen = modular_problems()[0][:problems]
    params = SamplingParams(n=group, max_tokens=13, seed=seed)
    groups = TinySampler(*load_policy()).sample([p.problem for p in chosen], params)
    flat = [completion for completions in groups for completion in completions]
    rewards = reward([p for p in chosen for _ in range(group)], flat)
    lengths = np.array([len(completion.token_ids) for completion in flat])
    logprobs = np.zeros((len(flat), lengths.max()), np.float32)
    for i, completion in enumerate(flat):
        logprobs[i, : lengths[i]] = completion.logprobs
    return Recorded(
        logprobs,
        group_advantages(rewards, np.repeat(np.arange(problems), group)).astype(np.float32),
        np.arange(logprobs.shape[1]) < lengths[:, None],
    )


def synthetic_batch(rows: int = 512, longest: int = 4096, seed: int = 0) -> Recorded:
    """Responses that differ in length and in how sure the policy is."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(np.log(longest / 8), 0.8, rows).astype(int), 32, longest)
    scale = np.where(rng.random((rows, longest), np.float32) < 0.7, 0.01, 1.0)
    level = rng.lognormal(0, 0.5, (rows, 1))
    logprobs = -rng.standard_exponential((rows, longest), np.float32) * scale * level
    rewards = rng.integers(0, 2, (rows // 8, 8))
    deviation = np.where(rewards.std(1, ddof=1) > 0, rewards.std(1, ddof=1), 1.0)
    advantages = ((rewards - rewards.mean(1, keepdims=True)) / deviation[:, None]).reshape(-1)
    return Recorded(
        logprobs.astype(np.float32),
        advantages.astype(np.float32),
        np.arange(longest) < lengths[:, None],
    )


def cut(lengths: NDArray[np.int64], ranks: int, budget: int) -> list[NDArray[np.int64]]:
    """Rows of each micro-batch: dealt longest first to the least loaded rank, then filled up."""
    load, dealt = np.zeros(ranks, np.int64), [[] for _ in range(ranks)]
    for row in np.argsort(-lengths, kind="stable"):
        rank = int(load.argmin())
        dealt[rank].append(row)
        load[rank] += lengths[row]
    pieces = []
    for rows in dealt:
        piece: list[int] = []
        for row in rows:
            if piece and lengths[piece].sum() + lengths[row] > budget:
                pieces.append(np.sort(piece))
                piece = []
            piece.append(int(row))
        if piece:
            pieces.append(np.sort(piece))
    return pieces


def chosen_alone(piece: Recorded) -> NDArray[np.bool_]:
    """The top of each sign of one micro-batch; ties go to the lower index."""
    chosen = np.zeros(piece.mask.shape, np.bool_)
    share = CONFIG.top_p_ratio
    for sign in (1, -1):
        flat = np.flatnonzero(piece.mask & (piece.advantages * sign > 0)[:, None])
        k = min(max(1, int(len(flat) * share + 0.999999)), len(flat))
        order = np.argsort(piece.logprobs.reshape(-1)[flat], kind="stable")
        chosen.reshape(-1)[flat[order[:k]]] = True
    return chosen


def jaccard(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    union = int((a | b).sum())
    return int((a & b).sum()) / union if union else 1.0


def compare(batch: Recorded, ranks: tuple[int, ...], budgets: tuple[int, ...]) -> list[Row]:
    """Overlap with the whole batch's selection for every way to cut it."""
    whole, _ = token_weights(*batch, config=CONFIG)
    truth = whole != 1
    lengths = batch.mask.sum(1)
    table = []
    for rank_count in ranks:
        for budget in budgets:
            pieces = cut(lengths, rank_count, budget)
            alone, sharded = np.zeros_like(truth), np.zeros_like(truth)
            weights, _ = token_weights_sharded(
                [
                    (part.logprobs, part.advantages, part.mask)
                    for part in (batch.rows(rows) for rows in pieces)
                ],
                config=CONFIG,
                rows=pieces,
            )
            for rows, part in zip(pieces, weights, strict=True):
                alone[rows] = chosen_alone(batch.rows(rows))
                sharded[rows] = part != 1
            row = Row(
                rank_count, budget, len(pieces), jaccard(alone, truth), jaccard(sharded, truth)
            )
            table.append(row)
    return table


def budgets_of(batch: Recorded) -> tuple[int, ...]:
    """The whole batch, and powers of two below it, down to one sequence at a time."""
    tokens, longest = int(batch.mask.sum()), int(batch.mask.sum(1).max())
    steps = (tokens // 4, tokens // 16, tokens // 64)
    powers = (1 << (n.bit_length() - 1) for n in steps if n > 2 * longest)
    return (tokens, *powers, ONE_SEQUENCE)


def name_of(budget: int, tokens: int) -> str:
    if budget == ONE_SEQUENCE:
        return "one response"
    return "no limit" if budget >= tokens else f"{budget:,} tokens"


def draw(tables: dict[str, tuple[int, list[Row]]], out: Path) -> None:
    """One panel a batch: overlap over the budget, a line for each number of ranks."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(tables), figsize=(4.6 * len(tables), 3.4), sharey=True)
    for ax, (title, (tokens, table)) in zip(np.atleast_1d(axes), tables.items(), strict=True):
        budgets = list(dict.fromkeys(row.budget for row in table))
        labels = [name_of(budget, tokens).replace(" ", "\n") for budget in budgets]
        for ranks, color in zip(RANKS, ("#f0a070", "#d1490c", "#7a2a06"), strict=True):
            lines = [row.per_piece for row in table if row.ranks == ranks]
            ax.plot(
                labels,
                lines,
                "o-",
                color=color,
                label=f"per micro-batch, {ranks} rank{'s' * (ranks > 1)}",
            )
        ax.plot(
            labels,
            [min(row.ours for row in table if row.budget == budget) for budget in budgets],
            "s-",
            color="#0b6bb8",
            label="ours, any number of ranks",
        )
        ax.set(title=f"{title} ({tokens:,} tokens)", xlabel="micro-batch", ylim=(0, 1.05))
        ax.grid(alpha=0.3)
    first = np.atleast_1d(axes)[0]
    first.set_ylabel("Jaccard overlap with\nthe batch's top 10 %")
    first.legend(frameon=False, fontsize=8, loc="lower left")
    figure.tight_layout()
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batch", type=Path, help=".npz with logprobs, advantages and mask")
    parser.add_argument("--figure", type=Path, help="also draw a PNG")
    args = parser.parse_args()
    if args.batch:
        with np.load(args.batch) as file:
            batches = {args.batch.stem: Recorded(*(file[name] for name in Recorded._fields))}
    else:
        batches = {"demo": demo_batch(), "synthetic": synthetic_batch()}
    tables = {}
    for name, batch in batches.items():
        tokens = int(batch.mask.sum())
        tables[name] = tokens, compare(batch, RANKS, budgets_of(batch))
        print(f"\n{name}: {len(batch.advantages)} responses, {tokens:,} tokens\n")
        print("| ranks | micro-batch | pieces | per micro-batch | ours |")
        print("|---|---|---|---|---|")
        for row in tables[name][1]:
            budget = name_of(row.budget, tokens)
            print(
                f"| {row.ranks} | {budget} | {row.pieces} | {row.per_piece:.3f} | {row.ours:.3f} |"
            )
    if args.figure:
        draw(tables, args.figure)


if __name__ == "__main__":
    main()
