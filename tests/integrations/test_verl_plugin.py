"""How verl finds the plugin: entry point, environment variable, Ray workers, a real queue."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

import verl_host

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def installed(root: Path, tmp_path: Path) -> Path:
    """A folder with the metadata that installing this package leaves, from pyproject.toml."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    info = tmp_path / "stare_rl-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def python(code: str, *paths: Path, timeout: float = 60, **variables: str) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, [verl_host.SOURCE, *paths])),
        "OMP_NUM_THREADS": "1",
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        **variables,
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


LOOK = """
import sys
import verl
early = [n for n in sys.modules if n.startswith("stare.integrations.verl")]
import verl.trainer.ppo.v1.trainer_base as base, verl.workers.utils.losses as losses
print(early, hasattr(base.PPOTrainer, "stare_watched"), hasattr(losses.ppo_loss, "stare_original"))
"""


def test_the_entry_point_loads_it_and_it_stays_light(installed):
    assert python(LOOK, installed).strip() == "['stare.integrations.verl'] True True"


def test_switched_off_by_verls_own_variable(installed):
    out = python(LOOK, installed, VERL_USE_EXTERNAL_PLUGINS="none")
    assert out.strip() == "[] False False"


def test_the_variable_of_older_versions_loads_it_too():
    out = python(
        LOOK,
        VERL_USE_EXTERNAL_PLUGINS="none",
        VERL_USE_EXTERNAL_MODULES="stare.integrations.verl",
    )
    assert out.strip() == "['stare.integrations.verl'] True True"


RAY = """
import sys
import ray
sys.path.insert(0, {tests!r})
import verl_host
config = verl_host.composed(
    "+stare.enabled=true",
    "+stare.top_p_ratio=0.2",
    "transfer_queue.enable=true",
    "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
)
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir={folder!r})


@ray.remote
class Runner:
    # As verl's TaskRunner: nothing here names STARE.
    def run(self, config):
        import verl
        import transfer_queue as tq
        from verl.trainer.ppo.v1 import get_trainer_cls

        tq.init(config.transfer_queue)
        trainer = get_trainer_cls("sync")(config=config)
        sys.path.insert(0, {tests!r})
        import verl_host

        fields = trainer_fields(verl_host)
        keys = verl_host.KEYS
        batch = tq.kv_batch_put(keys, "train", fields, tags=[dict() for _ in keys])
        metrics = dict()
        trainer._compute_advantage(batch, metrics)
        got = tq.kv_batch_get(keys, "train", ["advantages", "returns"])
        changed = (got["advantages"].values() != got["returns"].values()).sum()
        return type(trainer).__name__, int(changed), metrics["stare/gate"]


def trainer_fields(verl_host):
    from tensordict import NonTensorStack, TensorDict

    fields = TensorDict(dict(verl_host.rollout()), batch_size=4)
    fields["uid"] = NonTensorStack("p0", "p0", "p1", "p1")
    return fields


print(ray.get(Runner.remote().run.remote(config)))


@ray.remote
def worker():
    import verl.workers.utils.losses as losses

    return hasattr(losses.ppo_loss, "stare_original")


print(ray.get(worker.remote()))
ray.shutdown()
"""


@pytest.mark.slow
def test_in_a_ray_actor_with_the_real_transfer_queue(installed):
    """The driver imports no module of ours by name: the entry point does, in every process."""
    folder = tempfile.mkdtemp(prefix="r")
    try:
        code = RAY.format(tests=str(Path(__file__).parent), folder=folder)
        out = python(code, installed, timeout=240).strip().splitlines()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert out[-2:] == ["('StarePPOTrainerSync', 3, 1.0)", "True"]
