"""One update of the policy: score, gate, reweight, clipped surrogate, step. Reads top to bottom.

Shape suffixes: B responses, T response positions, L prompt + response positions.
"""

from __future__ import annotations

import copy
import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import astuple
from typing import Any

import torch
from torch import Tensor

from stare.algo.advantages import broadcast_advantages, group_advantages
from stare.algo.gate import GateState, TargetEntropyController
from stare.algo.loss import add_stats, finish_stats, loss_normalizer, policy_loss
from stare.algo.pressure import EntropyPressure
from stare.algo.surprisal import TokenStatistics
from stare.algo.theory import PressurePool, entropy_pressure
from stare.train.batch import Batch
from stare.train.config import TrainConfig
from stare.train.forward import PolicyForward, compile_blocks
from stare.train.mismatch import mismatch
from stare.train.optimizer import make_optimizer
from stare.train.packing import pack
from stare.train.parallel import Ranks, alone
from stare.train.parallel_batch import OwnRows, Part, own_rows, parts_of
from stare.train.selection import (
    Scores,
    mean_over_ranks,
    minority,
    select_weights,
    stats_over_ranks,
)

__all__ = ["Learner", "Metrics"]

Metrics = dict[str, float | None]


class Learner:
    """Owns the model's training state: optimiser, schedule, entropy controller.

    Args:
        model: called as a Hugging Face causal language model; its weights stay float32 and the
            forward pass runs under autocast where `config.model.dtype` is bfloat16.
        config: the resolved run configuration.
        device: where the model lives.
        ranks: the ranks that share a batch; where they shard the policy, the model is sharded here.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        config: TrainConfig,
        device: torch.device,
        ranks: Ranks = alone,
    ) -> None:
        self.model = model
        self.config = config
        self.device = device
        self.ranks = ranks
        self.policy = self._forward_of(model)
        self.reference = (
            self._forward_of(copy.deepcopy(model).eval().requires_grad_(False))
            if config.loss.kl_coef > 0
            else None
        )
        if config.compute.compile:
            compile_blocks(model)
        if ranks.sharded:
            from stare.train.parallel_model import layers_of, shard_policy

            for part in (self.policy, self.reference):
                if part is not None:
                    shard_policy(part, layers_of(part.model), config.parallel, device)
        self.optimizer = make_optimizer(model, config)
        self.optimizer_steps = 0
        self.controller = TargetEntropyController(config.stare)
        self.pressure = PressurePool()

    def state_dict(self) -> dict[str, Any]:
        """Everything an update changes besides the weights."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "optimizer_steps": self.optimizer_steps,
            "controller": self.controller.state_dict(),
            "pressure": self.pressure.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        if "optimizer" in state:  # a sharded one is loaded where it lies
            self.optimizer.load_state_dict(state["optimizer"])
        self.optimizer_steps = state["optimizer_steps"]
        self.controller.load_state_dict(state["controller"])
        self.pressure.load_state_dict(state["pressure"])

    def step(self, batch: Batch) -> Metrics:
        """Update the policy once on a batch (or `mini_batches` x `epochs` times) and report.

        The batch is scored, gated and reweighted as a whole; micro-batches and ranks only bound
        memory and time: losses are normalised by the batch, so cutting it differently changes
        nothing.

        Args:
            batch: the whole batch, the same on every rank.
        """
        optim = self.config.optim
        whole = batch.to(self.device)
        own = own_rows(whole, self.ranks)
        batch = own.batch
        cut = self._parts(batch, torch.arange(batch.size, device=self.device))
        on_policy = optim.mini_batches * optim.epochs == 1
        one_pass = on_policy and len(cut) == 1
        # When one forward pass covers the batch, its own graph serves the update as well.
        self.model.train(one_pass)
        live = self._forward(batch) if one_pass else None
        if live is not None:
            old = Scores.of(live)
        elif self.config.compute.reuse_rollout:
            old = Scores.reported(batch, self.config.stare.gate in ("sample", "token"))
        else:
            old = self._score(batch, cut)
        if not self._all_finite(old.logprobs_BT, batch.mask_BT):
            return self._skipped_update(live)
        moved = not (on_policy and old.is_reported)
        reference_BT = self._reference_logprobs(batch, cut)

        entropy = mean_over_ranks(old.entropy_BT, batch.mask_BT, self.ranks)
        gate = self.controller.update(entropy)
        advantages_B: Tensor = group_advantages(
            whole.rewards_B,
            whole.group_ids_B,
            scale=self.config.advantage.scale,
            eps=self.config.advantage.eps,
        )
        advantages_BT, metrics = self._advantages(own, old, gate, advantages_B)
        if batch.sampled_logprobs_BT is not None and not old.is_reported:
            sampled_BT = batch.sampled_logprobs_BT
            metrics |= mismatch(old.logprobs_BT, sampled_BT, batch.mask_BT, self.ranks)
        teaches_B = (broadcast_advantages(advantages_B, whole.mask_BT) != 0).any(dim=1)

        parts: list[dict[str, Tensor]] = []
        grad_norms: list[float] = []
        skipped = idle = 0
        self.model.train()
        loss_sum = torch.zeros((), device=self.device)
        for epoch in range(optim.epochs):
            for mini in self._mini_batches(torch.arange(whole.size, device=self.device), epoch):
                normalizer = loss_normalizer(whole.mask_BT[mini], self.config.loss)
                if one_pass:
                    # Micro-batches come sorted by length; the one pass is in the batch's own order.
                    mine = torch.arange(batch.size, device=self.device)
                    passes = [Part(batch, mine, True)]
                else:
                    local = own.where_B[mini]
                    passes = self._parts(batch, local[local >= 0])
                for part, rows, _ in passes:
                    width = part.mask_BT.shape[1]
                    now = live if live is not None else self._forward(part)
                    loss, stats = policy_loss(
                        now.logprobs_BT,
                        old.logprobs_BT[rows, :width] if moved else now.logprobs_BT.detach(),
                        advantages_BT[rows, :width],
                        part.mask_BT,
                        config=self.config.loss,
                        normalizer=normalizer,
                        ref_logprobs_BT=None
                        if reference_BT is None
                        else reference_BT[rows, :width],
                        entropy_BT=now.entropy_BT,
                        rollout_logprobs_BT=part.sampled_logprobs_BT,
                    )
                    # Sharded gradients are averaged over the ranks; the loss is a part of a sum.
                    (loss * self.ranks.size).backward()  # type: ignore[no-untyped-call]
                    parts.append(stats)
                    loss_sum += loss.detach()
                # Without a token to learn from, old momentum would still move the weights.
                if bool(teaches_B[mini].any()):
                    norm, stepped = self._optimizer_step(loss_sum)
                    grad_norms.append(norm)
                    skipped += not stepped
                else:
                    # An entropy or KL term has a gradient all the same: not for the next step.
                    self.optimizer.zero_grad(set_to_none=True)
                    idle += 1
                loss_sum.zero_()
        totals = finish_stats(stats_over_ranks(add_stats(parts), self.ranks))
        # Each optimiser step's losses add up to its loss; report their mean.
        metrics |= totals | {"loss/total": totals["loss/total"] / (len(grad_norms) + idle)}
        metrics |= {
            "entropy/batch": entropy,
            "entropy/target": gate.target,
            "optim/grad_norm": sum(grad_norms) / len(grad_norms) if grad_norms else 0.0,
            "optim/skipped": idle + skipped,
            "optim/lr": self.optimizer.param_groups[0]["lr"],
        }
        return metrics

    def _all_finite(self, logprobs_BT: Tensor, mask_BT: Tensor) -> bool:
        unusable = ~torch.isfinite(logprobs_BT) & (mask_BT != 0)
        return self.ranks.largest(float(unusable.any())) == 0

    def _skipped_update(self, live: TokenStatistics | None) -> Metrics:
        """Nothing can be learnt from a policy that gives its tokens no probability."""
        if self.ranks.sharded and live is not None:
            # A sharded forward is over, and its weights are shards again, after its backward.
            live.logprobs_BT.sum().backward()  # type: ignore[no-untyped-call]
        self.optimizer.zero_grad(set_to_none=True)
        return {
            "loss/total": math.nan,
            "optim/grad_norm": math.nan,
            "optim/skipped": self.config.optim.epochs * self.config.optim.mini_batches,
            "optim/lr": self.optimizer.param_groups[0]["lr"],
        }

    def _advantages(
        self, own: OwnRows, old: Scores, gate: GateState, advantages_B: Tensor
    ) -> tuple[Tensor, Metrics]:
        """Advantages of the rank's rows, reweighted by STARE where it is enabled."""
        batch, advantages_B = own.batch, advantages_B[own.source_R]
        metrics = self._pressure(own, old, advantages_B)
        metrics["stare/ignored_nonfinite"] = self.controller.ignored_nonfinite
        metrics["stare/alarms"] = self.controller.alarms
        advantages_BT: Tensor = broadcast_advantages(advantages_B, batch.mask_BT)
        if not self.config.stare.enabled:
            return advantages_BT, metrics
        weights_BT, stats = select_weights(
            own, old, advantages_B, self.config.stare, self.ranks, gate=gate
        )
        return advantages_BT * weights_BT, metrics | stats.as_dict(prefix="stare/")

    def _pressure(self, own: OwnRows, old: Scores, advantages_R: Tensor) -> Metrics:
        """What the update does to the entropy, where C is known."""
        if old.concentration_BT is None:
            return {}
        pressure = entropy_pressure(
            old.logprobs_BT,
            old.entropy_BT,
            old.concentration_BT,
            advantages_R,
            own.batch.mask_BT,
            selected=minority(own, old, advantages_R, self.config.stare, self.ranks),
        )
        pressure = EntropyPressure(*self.ranks.total(astuple(pressure)))
        if all(math.isfinite(value) for value in astuple(pressure)):  # it stays for 50 batches
            self.pressure.add(pressure)
        pooled = self.pressure.pooled
        figures = pressure.as_dict() | {
            "stare/w_star": pooled.w_star,
            "stare/w_star_exact": pooled.w_star_exact,
        }
        # NaN means "not defined" here (no weight balances the batch, nothing selected): no value.
        return {k: None if math.isnan(v) else v for k, v in figures.items()}

    def _parts(self, batch: Batch, rows: Tensor) -> list[Part]:
        budget = self.config.optim.micro_batch_tokens
        return parts_of(batch, rows, budget, self.ranks, packed=self.config.compute.packing)

    def _autocast(self) -> AbstractContextManager[object]:
        if self.config.model.dtype == "bfloat16":
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return nullcontext()

    def _forward_of(self, model: torch.nn.Module) -> PolicyForward:
        return PolicyForward(
            model,
            temperature=self.config.rollout.temperature,
            chunk_tokens=self.config.compute.logit_chunk_tokens,
        )

    def _forward(self, batch: Batch, policy: PolicyForward | None = None) -> TokenStatistics:
        """Log-probability, entropy and concentration of every response token, [B, T]."""
        policy = policy or self.policy
        if self.config.compute.packing:
            packed = pack(batch)
            with self._autocast():
                stats = policy(
                    packed.input_ids_1N,
                    None,
                    packed.position_ids_1N,
                    packed.keep_K,
                    packed.targets_1K,
                )
            shape = batch.mask_BT.shape
            return TokenStatistics(*(packed.unpack(value, shape) for value in stats))
        # The last token predicts nothing that counts: it is left out, so T logits are kept.
        attention_mask = batch.attention_mask_BL[:, :-1]
        with self._autocast():
            result: TokenStatistics = policy(
                batch.input_ids_BL[:, :-1],
                attention_mask,
                (attention_mask.cumsum(dim=1) - 1).clamp_min(0),
                batch.mask_BT.shape[1],
                batch.response_ids_BT,
            )
        return result

    @torch.no_grad()
    def _score(
        self, batch: Batch, parts: list[Part], policy: PolicyForward | None = None
    ) -> Scores:
        """The rank's rows without a graph, micro-batch by micro-batch."""
        logprobs_BT, entropy_BT, concentration_BT = torch.zeros(
            (3, *batch.mask_BT.shape), device=self.device
        )
        for part, part_rows, counts in parts:
            stats = self._forward(part, policy)
            assert stats.concentration_BT is not None, "the forward always computes it"
            if not counts:
                continue
            width = part.mask_BT.shape[1]
            logprobs_BT[part_rows, :width] = stats.logprobs_BT
            entropy_BT[part_rows, :width] = stats.entropy_BT
            concentration_BT[part_rows, :width] = stats.concentration_BT
        return Scores(logprobs_BT, entropy_BT, concentration_BT)

    def _reference_logprobs(self, batch: Batch, parts: list[Part]) -> Tensor | None:
        if self.reference is None:
            return None
        return self._score(batch, parts, self.reference).logprobs_BT

    def _mini_batches(self, rows: Tensor, epoch: int) -> list[Tensor]:
        """Rows of each mini-batch; shuffled by step and epoch where there are several."""
        optim = self.config.optim
        if optim.mini_batches == 1:
            return [rows]
        generator = torch.Generator().manual_seed(self.optimizer_steps * 1_000 + epoch)
        order = torch.randperm(len(rows), generator=generator).to(rows.device)
        return [part for part in torch.tensor_split(rows[order], optim.mini_batches) if len(part)]

    def _optimizer_step(self, loss: Tensor) -> tuple[float, bool]:
        """Clip, warm up linearly, and step if loss and gradient are finite.

        Args:
            loss: this rank's part of the loss that the gradients are of.

        Returns:
            The gradient norm before clipping, and whether the weights moved.
        """
        optim = self.config.optim
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        bound = math.inf if optim.grad_clip is None else optim.grad_clip
        norm = torch.nn.utils.clip_grad_norm_(parameters, bound)
        if self.ranks.sharded:
            from stare.train.parallel_model import full_tensor

            norm = full_tensor(norm)
        for group in self.optimizer.param_groups:
            group["lr"] = optim.lr * min(
                1.0, (self.optimizer_steps + 1) / max(1, optim.warmup_steps)
            )
        # One bad gradient must not destroy the weights.
        finite_loss = self.ranks.largest(float(not torch.isfinite(loss))) == 0
        usable = finite_loss and bool(torch.isfinite(norm))
        if usable:
            self.optimizer.step()
            self.optimizer_steps += 1
        self.optimizer.zero_grad(set_to_none=True)
        return float(norm), usable
