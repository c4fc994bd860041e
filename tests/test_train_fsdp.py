"""FSDP2 over real gloo ranks: the same run whatever their number, and no rank left waiting."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from stare.errors import RunError
from stare.train.checkpoint import CheckpointStore
from stare.train.checkpoint_sharded import read_model
from stare.train.export import export
from stare.train.metrics import read_metrics
from stare.train.overrides import load_config
from stare.train.run import train
from tiny_llm import tiny_model, tiny_tokenizer

pytestmark = pytest.mark.slow  # every test here needs the runs of `runs`: about 40 s on two cores

WORDS = ["one and two", "three", "four plus", "a b c d", "seven", "x"]
TOLERANCE = 1e-6
"""|a - b| / |a| of every weight tensor: float32 sums in another order (measured: 3e-7 at most)."""


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fsdp")
    tiny_model(seed=1).save_pretrained(folder / "model")
    tiny_tokenizer(chat=True).save_pretrained(folder / "model")
    tied = tiny_tied()
    tied.save_pretrained(folder / "tied")
    tiny_tokenizer(chat=True).save_pretrained(folder / "tied")
    rows = [{"problem": word, "answer": i} for i, word in enumerate(WORDS)]
    (folder / "data.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return folder


def tiny_tied() -> Any:
    """A model whose head is its embedding."""
    from transformers import LlamaForCausalLM

    config = tiny_model().config
    config.tie_word_embeddings = True
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        return LlamaForCausalLM(config).eval()


def overrides(folder: Path, *extra: str) -> list[str]:
    return [
        "model.factory=none",
        f"model.path={folder / 'model'}",
        "model.dtype=float32",
        f"data.path={folder / 'data.jsonl'}",
        f"data.eval_path={folder / 'data.jsonl'}",
        "data.prompt_template='{problem} ='",
        "reward.function=fsdp_worker:even_length",
        "rollout.max_response_tokens=8",
        "rollout.max_prompt_tokens=20",
        "rollout.group_size=4",
        # More prompts in a round than problems: some are drawn twice, and must differ.
        "rollout.over_sample=2.5",
        "stare.target_entropy=1.2",  # of the entropy at the start: the controller has work to do
        "eval.every=2",
        "run.steps=3",
        "run.checkpoint_every=1",
        "optim.lr=1e-3",
        # Adam would turn the rounding of gradients near zero into steps of full length.
        "optim.eps=1e-5",
        *extra,
    ]


SHARDED = "parallel.strategy=fsdp2"
SEVERAL_STEPS = (
    "optim.mini_batches=2",
    "optim.epochs=2",
    "optim.micro_batch_tokens=60",
    "optim.lr=1e-4",
    "eval.every=0",
)
# Logits a few tokens at a time, sequences without padding, and one forward less.
COMPUTE = (
    "compute.logit_chunk_tokens=7",
    "compute.packing=true",
    "compute.reuse_rollout=true",
    "optim.micro_batch_tokens=60",
)
# Some of the responses call a tool, up to twice.
TOOLS = (
    "tools.enabled=true",
    "tools.format=fsdp_worker:LETTERS",
    "tools.executor=fsdp_worker:Echo",
    "tools.max_turns=2",
    "rollout.max_response_tokens=24",
)
# One round of few small groups: batches with fewer rows than the four ranks.
SHORT = (
    "run.seed=2",
    "rollout.group_size=2",
    "rollout.over_sample=1.0",
    "rollout.max_refills=0",
    "optim.mini_batches=2",
    "loss.kl_coef=0.1",
    "loss.aggregation=seq-mean-token-mean",
    "optim.micro_batch_tokens=40",
    "run.steps=2",
    "eval.every=0",
)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def child_environment() -> dict[str, str]:
    tests = Path(__file__).parent
    path = os.pathsep.join([str(tests), str(tests.parent / "python")])
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}


@pytest.fixture(name="runs", scope="module")
def _runs(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """All trainings that the tests look at: what each rank of each chose and said, by name."""

    def job(name: str, *extra: str, out: str | None = None, resume: bool = False) -> dict[str, Any]:
        target = folder / (out or name)
        arguments = ["run", "smollm2", *overrides(folder, *extra), f"run.out={target}"]
        return {
            "name": name,
            "out": str(target),
            "arguments": arguments + ["--resume"] * resume,
        }

    def broken(how: str) -> str:
        return f"reward.function=fsdp_worker:{how}_on_rank_1"

    several = (SHARDED, *SEVERAL_STEPS)
    short = (*SHORT, f"model.path={folder / 'tied'}")
    pieces = (SHARDED, "eval.every=0")
    dies = (*pieces, broken("dies"))
    phases: list[tuple[int, list[dict[str, Any]]]] = [
        (1, [job("single"), job("one", SHARDED), job("single-steps", *SEVERAL_STEPS)]),
        (
            2,
            [
                job("two", SHARDED),
                job("two-steps", *several),
                job("two-packed", SHARDED, *COMPUTE),
                job("two-tools", SHARDED, *TOOLS),
            ],
        ),
        (4, [job("four", SHARDED), job("four-short", SHARDED, *short)]),
        (
            2,
            [
                job("piece-1", *pieces, "run.steps=1", out="pieces"),
                job("failed", SHARDED, broken("fails")),
            ],
        ),
        (4, [job("piece-2", *pieces, "run.steps=2", out="pieces", resume=True)]),
        (
            1,
            [
                job("piece-3", *pieces, out="pieces", resume=True),
                job("single-short", *short),
                job("single-packed", *COMPUTE),
                job("single-tools", *TOOLS),
            ],
        ),
        (2, [job("dies", *dies)]),
        (2, [job("revived", *dies, out="dies", resume=True)]),
        (2, [job("hangs", SHARDED, broken("hangs"), "parallel.timeout_s=3") | {"abandon": True}]),
    ]
    ports = iter(free_ports(sum(len(jobs) for _, jobs in phases)))
    table = [
        {"size": size, "jobs": [one | {"port": next(ports)} for one in jobs]}
        for size, jobs in phases
    ]
    (folder / "phases.json").write_text(json.dumps(table))
    command = [sys.executable, "-m", "fsdp_worker", str(folder / "phases.json")]
    environment = child_environment() | {"STARE_TEST_FOLDER": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return {
        one["name"]: [
            pickle.loads(path.read_bytes())
            for path in sorted(folder.glob(f"{one['name']}.rank*.pkl"))
        ]
        for phase in table
        for one in phase["jobs"]
    }


def rows(folder: Path, name: str, *others: str) -> list[dict[str, Any]]:
    # How far the trainer's rounding is from the sampler's is rounding itself.
    volatile = ("time/", "speed/", "memory/", "mismatch/", *others)
    return [
        {k: v for k, v in row.items() if not k.startswith(volatile)}
        for row in read_metrics(folder / name / "metrics.jsonl").rows
    ]


def weights(folder: Path, name: str, step: int = 3) -> dict[str, torch.Tensor]:
    checkpoint = folder / name / "checkpoints" / f"step-{step:06d}"
    if not (checkpoint / "shards").exists():
        state: dict[str, torch.Tensor] = CheckpointStore(checkpoint.parent).load(step)["model"]
        return state
    model = tiny_tied() if "short" in name else tiny_model()
    read_model(checkpoint, model)
    return dict(model.state_dict())


def assert_same_run(folder: Path, name: str, other: str) -> None:
    left, right = rows(folder, name), rows(folder, other)
    for a, b in zip(left, right, strict=True):
        assert a.keys() == b.keys()
        for key, value in a.items():
            # Counts are exact; sums of small numbers of both signs are small, up to rounding.
            expected = (
                value if isinstance(value, (int, type(None))) else pytest.approx(value, 1e-5, 5e-6)
            )
            assert b[key] == expected, (a["step"], key)
    step = left[-1]["step"]
    assert_close(weights(folder, name, step), weights(folder, other, step))


def assert_same_steps(folder: Path, whole: str, other: str) -> None:
    """As `assert_same_run`, evaluation left out."""
    steps = [row for row in rows(folder, whole, "eval/") if row["step"]]
    for a, b in zip(steps, rows(folder, other), strict=True):
        assert b == pytest.approx(a, 1e-5, 5e-6)
    assert_close(weights(folder, whole), weights(folder, other))


def assert_close(weights: dict[str, torch.Tensor], others: dict[str, torch.Tensor]) -> None:
    assert weights.keys() == others.keys()
    for key, value in weights.items():
        error = float((value - others[key]).norm() / value.norm())
        assert error < TOLERANCE, (key, error)


def selections(results: list[dict[str, Any]]) -> list[dict[int, list[bool]]]:
    """Of every selection of a run: global row -> which of its tokens have a weight."""
    assert [result["code"] for result in results] == [0] * len(results), results[0]["said"]
    out: list[dict[int, list[bool]]] = []
    for ranks in zip(*(result["chosen"] for result in results), strict=True):
        chosen: dict[int, list[bool]] = {}
        for row, weights_T in (pair for rank in ranks for pair in rank):
            assert row not in chosen, "one row on two ranks"
            flags = [weight != 1 for weight in weights_T]
            chosen[row] = flags[: max((i + 1 for i, flag in enumerate(flags) if flag), default=0)]
        out.append(chosen)
    return out


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("single", "two"),
        ("single", "four"),
        ("single-steps", "two-steps"),
        ("single-short", "four-short"),
        ("single-packed", "two-packed"),
    ],
)
def test_ranks_change_nothing_but_rounding(
    folder: Path, runs: dict[str, Any], name: str, other: str
) -> None:
    alone, shared = selections(runs[name]), selections(runs[other])
    assert_same_run(folder, name, other)
    assert alone == shared, "the same tokens of the same rows"
    assert sum(flag for chosen in alone for flags in chosen.values() for flag in flags) >= 4
    trained = [row for row in rows(folder, name) if row["step"]]
    assert max(row["stare/w"] for row in trained) > 1, "the weights took part in the update"
    if name == "single-short":
        assert min(row["groups/kept"] for row in trained) * 2 < 4, "some ranks had no row"


def test_one_sharded_rank_is_a_single_process_bit_for_bit(
    folder: Path, runs: dict[str, Any]
) -> None:
    assert rows(folder, "one") == rows(folder, "single")
    single = weights(folder, "single")
    assert all(torch.equal(value, single[key]) for key, value in weights(folder, "one").items())


def test_a_run_goes_on_with_another_number_of_ranks(folder: Path, runs: dict[str, Any]) -> None:
    """One step on two ranks, one on four, one on one."""
    assert [runs[f"piece-{i}"][0]["code"] for i in (1, 2, 3)] == [0, 0, 0]
    assert_same_steps(folder, "single", "pieces")


def test_an_error_on_one_rank_is_one_message(folder: Path, runs: dict[str, Any]) -> None:
    first, second = runs["failed"]
    assert (first["code"], second["code"]) == (2, 2)
    assert "error: rank 1 of 2: the reward function returned" in first["said"]
    assert "error" not in second["said"]
    status = json.loads((folder / "failed" / "run.json").read_text())
    assert status["status"] == "failed"


@pytest.mark.parametrize(
    ("name", "step"), [("single", 3), ("two", 3), ("single-short", 2), ("four-short", 2)]
)
def test_an_exported_folder_loads_with_the_same_logits(
    folder: Path, runs: dict[str, Any], name: str, step: int, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    assert export(folder / name, tmp_path / "hf") == step
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "hf", dtype=torch.float32).eval()
    trained = tiny_tied() if "short" in name else tiny_model()
    before = tiny_tied() if "short" in name else tiny_model(seed=1)
    trained.load_state_dict(weights(folder, name, step))
    ids = AutoTokenizer.from_pretrained(tmp_path / "hf")("one and", return_tensors="pt").input_ids
    with torch.no_grad():
        assert torch.equal(model(ids).logits, trained(ids).logits)
        assert not torch.equal(model(ids).logits, before(ids).logits)
    with pytest.raises(RunError, match="not an empty folder"):
        export(folder / name, tmp_path / "hf")
    with pytest.raises(RunError, match="step-000009 is incomplete"):
        export(folder / name, tmp_path / "none", step=9)


@pytest.mark.parametrize("how", ["dies", "hangs"])
def test_a_lost_rank_stops_the_others(folder: Path, runs: dict[str, Any], how: str) -> None:
    """Without torchrun, which would end the others itself."""
    (survivor,) = runs[how]
    assert survivor["code"] == 2, survivor["said"]
    assert "error: rank 0 of 2 lost another one" in survivor["said"]
    assert "Traceback" not in survivor["said"]
    assert survivor["seconds"] < 60
    status = json.loads((folder / how / "run.json").read_text())["status"]
    assert status == ("failed" if how == "hangs" else "finished"), "it was resumed"


def test_a_run_that_lost_a_rank_goes_on(folder: Path, runs: dict[str, Any]) -> None:
    """Killed in its third step, by `kill -9` of one rank, and resumed."""
    assert [result["code"] for result in runs["revived"]] == [0, 0]
    assert_same_steps(folder, "single", "dies")


def test_torchrun_starts_it(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", "-m", "stare.train.cli", "run", "smollm2"]
    command += overrides(folder, SHARDED, "run.steps=1", "eval.every=0", f"run.out={tmp_path}/run")
    done = subprocess.run(
        command, env=child_environment(), capture_output=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.count(b"step 1/1") == 1, "one rank speaks"
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "finished"


def test_a_checkpoint_of_the_other_kind_is_refused_and_stays(
    folder: Path, runs: dict[str, Any], tmp_path: Path
) -> None:
    import shutil

    for name, extra, words in (
        ("two", (), "of a sharded policy"),
        ("single", (SHARDED,), "not of a sharded policy"),
    ):
        target = tmp_path / name
        shutil.copytree(folder / name, target)
        config = load_config("smollm2", overrides(folder, *extra))
        table = json.loads((target / "config.json").read_text())
        table["config"]["parallel"]["strategy"] = config.parallel.strategy
        (target / "config.json").write_text(json.dumps(table))
        with pytest.raises(RunError, match=words):
            train(config, target, resume=True)
        assert sorted(p.name for p in (target / "checkpoints").iterdir()) == ["step-000003"], (
            "nothing was renamed or removed"
        )


def test_tools_are_called_alike_on_two_ranks(
    folder: Path, runs: dict[str, list[dict[str, Any]]]
) -> None:
    assert_same_run(folder, "single-tools", "two-tools")
    steps = [row for row in rows(folder, "two-tools") if row["step"]]
    assert sum(row["tools/calls"] for row in steps) > 5
    assert any(row["tools/turns"] > 1 for row in steps)
