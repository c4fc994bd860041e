"""An engine's process without vLLM: same protocol, tokens that follow from the seed, and faults.

python fake_vllm.py FAULTS FD      # FAULTS: a folder; a file `die` or `hang` in it happens once
"""

from __future__ import annotations

import os
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

from stare.rollout.vllm_engine import Job, Result
from stare.rollout.vllm_server import serve


class Engine:
    def __init__(self, faults: Path) -> None:
        self.faults = faults
        self.weights = b""

    def start(self, arguments: dict) -> str:
        if (self.faults / "refuse").exists() or self._fault("refuse_once"):
            raise ValueError("no such model")
        self.folder = Path(arguments["model"])
        self.weights = (self.folder / "model.safetensors").read_bytes()
        assert (self.folder / "config.json").exists()
        with (self.faults / "started").open("a") as file:
            file.write(f"{os.getpid()}\n")
        return "fake"

    def _fault(self, name: str) -> bool:
        try:
            (self.faults / name).unlink()
        except FileNotFoundError:
            return False
        return True

    def sample(self, jobs: list[Job]) -> list[Result]:
        if self._fault("die_and_refuse"):
            (self.faults / "refuse_once").touch()
            os._exit(5)
        if self._fault("die") or (self.faults / "die_always").exists():
            os._exit(3)
        if self._fault("hang"):
            # A child of its own, as vLLM has: it must not survive either.
            if os.fork() == 0:
                (self.faults / "grandchild").write_text(str(os.getpid()))
                time.sleep(600)
            time.sleep(600)
        return [
            Result(
                [job.seed % 97, len(job.prompt_ids), len(self.weights)], [-0.5, -0.25, -1.0],
                "x", "stop" if job.max_tokens > 2 else "length",
            )
            for job in jobs
        ]  # fmt: skip

    def load(self, folder: str) -> None:
        if self._fault("die_loading"):
            os._exit(4)
        self.weights = (Path(folder) / "model.safetensors").read_bytes()


if __name__ == "__main__":
    serve(Engine(Path(sys.argv[1])), Connection(int(sys.argv[2])))
