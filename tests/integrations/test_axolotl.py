"""axolotl's real GRPO trainer, by a class of the user's that `trainer_cls` names."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="TRL is not installed: make test-trl")
pytestmark = pytest.mark.filterwarnings("ignore")

GPU_ONLY = ("flash_attn", "ring_flash_attn", "bitsandbytes", "torchao", "schedulefree", "numba")
NOT_USED = (
    "peft",
    "wandb",
    "addict",
    "fire",
    "requests_toolbelt",
    "mistral_common",
    "art",
    "posthog",
)

# What docs/integrations-others.md tells users to write.
USERS = """
from axolotl.core.trainers.grpo.trainer import AxolotlGRPOTrainer
from stare import StareConfig
from stare.integrations.trl import attach

class Trainer(AxolotlGRPOTrainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        attach(self, StareConfig(variant="C2", target_entropy=0.3))
"""


def test_a_class_of_the_users_is_trl_with_stare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path
):
    # torch looks through modules when these are first imported, and must not meet the stubs.
    for name in ("trl.trainer.grpo_trainer", "trl.experimental", "torch._inductor"):
        import_module(name)
    from stub_modules import stub

    stub(*GPU_ONLY, *NOT_USED, "colorama")
    pytest.importorskip("axolotl", reason="axolotl is not on the path")
    from axolotl.core.trainers.grpo.args import AxolotlGRPOConfig
    from axolotl.utils.import_helper import get_cls_from_module_str
    from trl_runs import difference, logged, make, train

    from stare import StareConfig
    from stare.integrations.trl import attach

    assert USERS.strip() in (root / "docs" / "integrations-others.md").read_text()
    # A target that is never reached: the gate stays open.
    (tmp_path / "mine.py").write_text(USERS.replace("0.3", "9.0"))
    monkeypatch.syspath_prepend(str(tmp_path))
    cls = get_cls_from_module_str("mine.Trainer")
    trainer = make(tmp_path, cls, arguments=AxolotlGRPOConfig)
    got = train(trainer)
    expected = train(attach(make(tmp_path), StareConfig(variant="C2", target_entropy=9.0)))
    assert difference(got, expected) == 0.0
    assert difference(got, train(make(tmp_path))) > 1e-4
    assert all(gate == 1 for gate in logged(trainer, "stare/gate"))
