"""The child's side of `stare.rollout.vllm_engine`: `python -m stare.rollout.vllm_server FD`."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from stare.rollout.vllm_engine import Job, Result

__all__ = ["Server", "serve"]

OLDEST = (0, 22)
_CHECK_S = 0.5


class Server:
    """vLLM behind the methods that the parent calls."""

    def __init__(self) -> None:
        self.llm: Any = None

    def start(self, arguments: dict[str, Any]) -> str:
        """Make the engine; returns the version of vLLM."""
        import vllm

        if tuple(int(part) for part in vllm.__version__.split(".")[:2]) < OLDEST:
            raise ImportError(f"version {vllm.__version__} is older than 0.22")
        self.llm = vllm.LLM(**arguments)
        return str(vllm.__version__)

    def sample(self, jobs: list[Job]) -> list[Result]:
        """One response for each job."""
        from vllm import SamplingParams

        prompts = [{"prompt_token_ids": job.prompt_ids} for job in jobs]
        params = [
            SamplingParams(
                n=1,
                seed=job.seed,
                temperature=job.temperature,
                top_p=job.top_p,
                max_tokens=job.max_tokens,
                stop=list(job.stop),
                stop_token_ids=list(job.stop_ids),
                include_stop_str_in_output=True,
                logprobs=0,
                skip_special_tokens=True,
            )
            for job in jobs
        ]
        results = []
        for output in self.llm.generate(prompts, params, use_tqdm=False):
            one = output.outputs[0]
            ids = list(one.token_ids)
            found = [table[token].logprob for token, table in zip(ids, one.logprobs, strict=True)]
            results.append(Result(ids, found, one.text, str(one.finish_reason)))
        return results

    def load(self, folder: str) -> None:
        """Read the weights again, in place."""
        self.llm.collective_rpc("reload_weights", kwargs={"weights_path": folder})
        self.llm.reset_prefix_cache()

    def sleep(self) -> None:
        """Give memory back, weights kept on the CPU."""
        self.llm.sleep(level=1)

    def wake(self) -> None:
        """Take it again."""
        self.llm.wake_up()


def _end_with(parent: int) -> None:
    """End this process group once the parent is gone: an engine that works or hangs reads nothing.

    The number is that of the process that started this one; another one adopts it afterwards.
    """
    while os.getppid() == parent:
        time.sleep(_CHECK_S)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def serve(server: Any, link: Connection) -> None:
    """Answer until the parent is gone."""
    # Its own process group is what may be killed: a server in someone else's just answers.
    if os.getpgrp() == os.getpid():
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    while True:
        try:
            method, arguments = link.recv()
        except EOFError:  # the parent is gone
            return
        try:
            answer = ("ok", getattr(server, method)(*arguments))
        except ImportError as error:
            answer = (
                "refused",
                f"vllm cannot be imported: {error}\nhint: pip install 'stare-rl[vllm]'",
            )
        except Exception as error:
            # Nothing is left to ask an engine that did not start.
            status = "refused" if method == "start" else "broken"
            answer = (status, f"{type(error).__name__}: {error}")
        link.send(answer)


if __name__ == "__main__":
    serve(Server(), Connection(int(sys.argv[1])))
    # Its children would keep a process alive that has nothing left to do.
    os.killpg(os.getpgrp(), signal.SIGKILL)
