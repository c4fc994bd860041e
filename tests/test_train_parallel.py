"""The parts of a run on several ranks that one process can test."""

from __future__ import annotations

import json
import os
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stare.errors import ArgumentError, ConfigError, RunError
from stare.train.batch import Batch
from stare.train.checkpoint import Checkpoint, CheckpointStore
from stare.train.checkpoint_files import read_meta
from stare.train.checkpoint_sharded import (
    ShardedCheckpoints,
    model_tensors,
    optimizer_tensors,
    read_model,
)
from stare.train.cli import main
from stare.train.overrides import load_config
from stare.train.parallel import Ranks, check_layout, rank_from_environment, start_ranks
from stare.train.parallel_batch import divide, own_rows, parts_of
from stare.train.parallel_model import GenerationCopy, full_parameters, layers_of, shard_policy
from stare.train.sections_parallel import ParallelConfig
from tiny_llm import tiny_model

SMALL = ["model.factory=none", "model.path=m", "data.path=d.jsonl"]
SHARDED = "parallel.strategy=fsdp2"


def config(*overrides: str) -> Any:
    return load_config("smollm2", [*SMALL, *overrides])


@given(st.lists(st.integers(1, 4000), max_size=60), st.integers(1, 8))
def test_rows_are_divided_once_and_evenly(tokens: list[int], ranks: int) -> None:
    parts = divide(tokens, ranks)
    assert len(parts) == ranks
    assert sorted(row for part in parts for row in part) == list(range(len(tokens)))
    heaviest = max(sum(tokens[row] for row in part) for part in parts)
    # Graham's bound, against a lower bound of the best possible.
    best = max(sum(tokens) / ranks, max(tokens, default=0))
    pairs = sorted(tokens, reverse=True)[ranks - 1 : ranks + 1]
    best = max(best, sum(pairs) if len(pairs) == 2 else 0)
    assert heaviest <= 4 / 3 * best + 1e-9


class Together(Ranks):
    """One of several ranks whose exchanges are answered from a table: no processes."""

    def exchange(self, work: Any) -> list[Any]:
        return [work() if rank == self.rank else TABLE[rank] for rank in range(self.size)]


TABLE: dict[int, list[Any]] = {}


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(2, 5))
def test_a_shared_list_is_what_one_process_makes(keys: list[int], size: int) -> None:
    """As a sampler does: a result depends on the key and on how often it has been seen."""

    def work(indices: list[int]) -> list[tuple[int, int]]:
        seen: Counter[int] = Counter()
        out = []
        for index in indices:
            out.append((keys[index], seen[keys[index]]))
            seen[keys[index]] += 1
        return out

    alone = Ranks().share(keys, work)
    TABLE.clear()
    for rank in range(size):
        # The first pass only asks each rank what it is given.
        class Asking(Together):
            def exchange(self, work: Any) -> list[Any]:
                TABLE[self.rank] = work()
                raise InterruptedError

        with pytest.raises(InterruptedError):
            Asking(rank=rank, size=size).share(keys, work)
    for rank in range(size):
        assert Together(rank=rank, size=size).share(keys, work) == alone


def batch(lengths: list[int]) -> Batch:
    width = max(lengths)
    mask = torch.tensor([[1] * n + [0] * (width - n) for n in lengths])
    ids = torch.arange(len(lengths) * (width + 1)).reshape(len(lengths), width + 1)
    return Batch(
        input_ids_BL=ids,
        attention_mask_BL=torch.cat([torch.ones(len(lengths), 1, dtype=torch.int64), mask], 1),
        response_ids_BT=ids[:, 1:],
        mask_BT=mask.bool(),
        rewards_B=torch.zeros(len(lengths)),
        group_ids_B=torch.zeros(len(lengths), dtype=torch.int64),
        sampled_logprobs_BT=None,
    )


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_every_token_is_trained_on_by_one_rank(size: int) -> None:
    whole = batch([3, 7, 1])  # fewer rows than the five ranks
    seen = torch.zeros(3, 7, dtype=torch.int64)
    numbers = []
    for rank in range(size):
        own = own_rows(whole, Ranks(rank=rank, size=size))
        numbers += own.rows_R.tolist()
        width = own.batch.mask_BT.shape[1]
        for local, row in enumerate(own.rows_R.tolist()):
            if row < 3:
                assert own.where_B[row] == local
                seen[row, :width] += own.batch.mask_BT[local].int()
            else:
                assert not own.batch.mask_BT.any()
    assert torch.equal(seen, whole.mask_BT.long())
    assert len(set(numbers)) == len(numbers), "no two rows share a number"


def test_ranks_make_equally_many_passes() -> None:
    class Busiest(Ranks):
        def largest(self, value: float) -> float:
            return 4.0

    whole = batch([3, 7, 1, 2])
    parts = parts_of(whole, torch.arange(4), 8, Busiest(rank=0, size=2))
    assert len(parts) == 4
    assert [part.counts for part in parts].count(False) == 4 - len(
        parts_of(whole, torch.arange(4), 8, Ranks())
    )
    assert not any(part.batch.mask_BT.any() for part in parts if not part.counts)
    nothing = parts_of(whole, torch.arange(0), 8, Busiest(rank=0, size=2))
    assert [part.counts for part in nothing] == [False] * 4


@pytest.mark.parametrize(
    ("size", "overrides", "words"),
    [
        (2, (), r"strategy='single' is one process, but WORLD_SIZE=2"),
        (8, (SHARDED,), r"prompts_per_step=4 is less than the 8 ranks"),
        (4, (SHARDED, "optim.mini_batches=16"), r"leaves 2 sequences .* less than the 4 ranks"),
    ],
)
def test_an_impossible_layout_is_refused(size: int, overrides: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        check_layout(config(*overrides), size)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("parallel.cpu_offload=true",), "no effect with strategy='single'"),
        (("parallel.param_dtype=bfloat16",), "no effect with strategy='single'"),
        ((SHARDED, "parallel.timeout_s=0"), "timeout_s"),
        ((SHARDED, "rollout.sampler=stare.demo.sampler:create"), "needs rollout.sampler="),
        (("parallel.strategy=zero3",), "one of single, fsdp2"),
    ],
)
def test_a_contradiction_is_refused(overrides: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config(*overrides)


@pytest.mark.parametrize(
    "environment",
    [
        {"RANK": "0"},
        {"WORLD_SIZE": "2"},
        {"RANK": "2", "WORLD_SIZE": "2"},
        {"RANK": "one", "WORLD_SIZE": "2"},
    ],
)
def test_half_an_environment_is_refused(environment: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="RANK and WORLD_SIZE must both be set"):
        rank_from_environment(environment)
    assert rank_from_environment({}) == (0, 1, 0)


def test_the_command_refuses_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    arguments = ["run", "demo-mod5", f"run.out={tmp_path / 'run'}"]
    for rank, said in (("0", 1), ("1", 0)):
        monkeypatch.setenv("RANK", rank)
        assert main(arguments) == 2
        assert capsys.readouterr().err.count("error: parallel.strategy='single'") == said
    assert not (tmp_path / "run").exists()


def test_offloading_needs_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(ConfigError, match="needs CUDA"),
        start_ranks(config(SHARDED, "parallel.cpu_offload=true"), "cpu"),
    ):
        pass


@pytest.fixture(name="ranks")
def _ranks(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with start_ranks(config(SHARDED), "cpu") as ranks:
        yield ranks


def trained(ranks: Ranks, seed: int = 0) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """A sharded model after one step of Adam."""
    model = tiny_model(seed=seed)
    shard_policy(model, layers_of(model), ParallelConfig(strategy="fsdp2"), torch.device("cpu"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ids = torch.arange(4, 20)[None]
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    return model, optimizer


def test_every_layer_is_a_unit_of_its_own() -> None:
    model = tiny_model()
    assert layers_of(model) == list(model.model.layers)
    assert layers_of(torch.nn.Linear(2, 2)) == []


def test_full_parameters_of_a_sharded_model(ranks: Ranks) -> None:
    plain = tiny_model(seed=3)
    expected = {name: value.clone() for name, value in plain.state_dict().items()}
    assert dict(full_parameters(plain)).keys() == expected.keys()
    shard_policy(plain, layers_of(plain), ParallelConfig(strategy="fsdp2"), torch.device("cpu"))
    gathered = dict(full_parameters(plain))
    assert type(gathered["lm_head.weight"]) in (torch.Tensor, torch.nn.Parameter)
    assert all(torch.equal(gathered[name], value) for name, value in expected.items())
    assert gathered.keys() == expected.keys()


@pytest.mark.parametrize("tied", [False, True])
def test_the_copy_generates_what_the_model_computes(ranks: Ranks, tied: bool) -> None:
    from transformers import LlamaForCausalLM

    model = tiny_model()
    if tied:
        model.config.tie_word_embeddings = True
        model = LlamaForCausalLM(model.config).eval()
    copied = GenerationCopy(model, ParallelConfig(strategy="fsdp2"), torch.device("cpu"))
    ids = torch.arange(4, 20)[None]
    with torch.no_grad():
        before = model(input_ids=ids).logits
        shard_policy(model, layers_of(model), ParallelConfig(strategy="fsdp2"), torch.device("cpu"))
        for _ in range(2):
            with copied.filled():
                assert torch.equal(copied.model(input_ids=ids).logits, before)
            assert {p.device.type for p in copied.model.parameters()} == {"meta"}
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    with torch.no_grad(), copied.filled():
        after = copied.model(input_ids=ids).logits
        assert torch.equal(after, model(input_ids=ids).logits)
    assert not torch.equal(after, before)


def test_a_checkpoint_brings_back_weights_and_moments(ranks: Ranks, tmp_path: Path) -> None:
    model, optimizer = trained(ranks)
    saved = {
        name: value.full_tensor().clone() if hasattr(value, "full_tensor") else value.clone()
        for name, value in (model_tensors(model) | optimizer_tensors(model, optimizer)).items()
    }
    store = ShardedCheckpoints(tmp_path / "checkpoints", ranks)
    store.save(model_tensors(model) | optimizer_tensors(model, optimizer), {"note": 7}, 1)

    other, fresh = tiny_model(seed=5), None
    shard_policy(other, layers_of(other), ParallelConfig(strategy="fsdp2"), torch.device("cpu"))
    fresh = torch.optim.AdamW(other.parameters(), lr=1e-2)
    found = store.latest()
    assert found is not None
    assert (found.step, found.state) == (1, {"note": 7})
    store.read_into(found, other, fresh)
    for name, value in (model_tensors(other) | optimizer_tensors(other, fresh)).items():
        full = value.full_tensor() if hasattr(value, "full_tensor") else value
        assert torch.equal(full, saved[name]), name
    # Both go on alike.
    for one, its in ((model, optimizer), (other, fresh)):
        its.zero_grad()
        ids = torch.arange(4, 20)[None]
        one(input_ids=ids, labels=ids).loss.backward()
        its.step()
    for (name, one), (_, two) in zip(full_parameters(model), full_parameters(other), strict=True):
        assert torch.equal(one, two), name


def written(ranks: Ranks, folder: Path, steps: int = 2) -> tuple[ShardedCheckpoints, Any, Any]:
    model, optimizer = trained(ranks)
    store = ShardedCheckpoints(folder, ranks, keep=5)
    for step in range(1, steps + 1):
        store.save(model_tensors(model) | optimizer_tensors(model, optimizer), {"n": step}, step)
    return store, model, optimizer


@pytest.mark.parametrize("file", ["shards/__0_0.distcp", "shards/.metadata", "state.pt"])
@pytest.mark.parametrize("how", ["flip", "cut", "remove"])
def test_a_damaged_checkpoint_is_set_aside(
    ranks: Ranks, tmp_path: Path, file: str, how: str
) -> None:
    store, _, _ = written(ranks, tmp_path)
    path = tmp_path / "step-000002" / file
    data = bytearray(path.read_bytes())
    if how == "flip":
        data[len(data) // 2] ^= 1
    if how == "remove":
        path.unlink()
    else:
        path.write_bytes(data[: len(data) // 2] if how == "cut" else data)
    found = store.latest()
    assert found is not None
    assert (found.step, found.state) == (1, {"n": 1})
    assert len(found.skipped) == 1
    assert Path(file).name in found.skipped[0]
    assert (tmp_path / "damaged-step-000002").is_dir()


def test_a_kill_in_the_middle_leaves_the_checkpoint_before(
    ranks: Ranks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, model, optimizer = written(ranks, tmp_path, steps=1)
    tensors = model_tensors(model) | optimizer_tensors(model, optimizer)

    class Killed(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr(CheckpointStore, "commit", kill)
    with pytest.raises(Killed):
        store.save(tensors, {"n": 2}, 2)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.glob(".tmp-*")], "what kill -9 leaves"
    again = ShardedCheckpoints(tmp_path, ranks)
    assert not list(tmp_path.glob(".tmp-*"))
    found = again.latest()
    assert found is not None
    assert found.step == 1


def test_a_full_disk_is_an_error_and_loses_nothing(
    ranks: Ranks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, model, optimizer = written(ranks, tmp_path, steps=1)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(RunError, match="No space left"):
        store.save(model_tensors(model) | optimizer_tensors(model, optimizer), {"n": 2}, 2)
    monkeypatch.undo()
    assert not list(tmp_path.glob(".tmp-*"))
    found = store.latest()
    assert found is not None
    assert found.step == 1


def test_a_checkpoint_of_another_model_is_refused(ranks: Ranks, tmp_path: Path) -> None:
    store, _, _ = written(ranks, tmp_path, steps=1)
    found = store.latest()
    assert found is not None
    other = torch.nn.Linear(3, 3)
    with pytest.raises(RunError, match="of another model: it holds nothing for model"):
        store.read_into(found, other, torch.optim.AdamW(other.parameters()))
    small = tiny_model()
    small.lm_head = torch.nn.Linear(32, 5, bias=False)
    with pytest.raises(RunError, match=r"of another model: .* for model.lm_head.weight"):
        read_model(found.path, small)


def test_an_index_can_run_no_code(ranks: Ranks, tmp_path: Path) -> None:
    _, model, _ = written(ranks, tmp_path, steps=1)
    path = tmp_path / "step-000001"
    evil = pickle.dumps(Evil())
    (path / "shards" / ".metadata").write_bytes(evil)
    # Whoever can write the index can write its checksum.
    import zlib

    meta = read_meta(path)
    meta["shards"][".metadata"] = [len(evil), zlib.crc32(evil)]
    (path / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(RunError, match=r"no index of a checkpoint: it names builtins\.exec"):
        read_model(path, model)
    assert "STARE_WAS_HERE" not in os.environ
    found = Checkpoint(step=1, state={}, path=path)
    with pytest.raises(RunError, match="no index of a checkpoint"):
        ShardedCheckpoints(tmp_path, ranks).read_into(
            found, model, torch.optim.AdamW(model.parameters())
        )


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import os; os.environ['STARE_WAS_HERE'] = '1'",)


def test_only_plain_things_are_saved_beside_the_shards(ranks: Ranks, tmp_path: Path) -> None:
    store, model, _ = written(ranks, tmp_path, steps=1)
    with pytest.raises(ArgumentError, match="must be a tensor, number"):
        store.save(model_tensors(model), {"bad": object()}, 2)
    assert not list(tmp_path.glob(".tmp-*"))
