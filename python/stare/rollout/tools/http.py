"""Programs run by a SandboxFusion server, for clusters. An `Executor`.

The request and the answer are those of `POST /run_code` of SandboxFusion
(https://github.com/bytedance/SandboxFusion): its `run_result.status` is Finished,
TimeLimitExceeded or Error; an answer whose `status` is SandboxError is the server's own failure.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from urllib.parse import urlsplit

from stare.errors import ConfigError, SandboxError

from .executor import ClosingExecutor, Execution, Status
from .limits import Limits

__all__ = ["HttpExecutor"]

COMPILE_SECONDS = 10.0
NETWORK_SECONDS = 10.0
"""How much longer than the program itself an answer may take."""
FIRST_PAUSE_SECONDS = 0.25
ENVELOPE_BYTES = 1 << 16
"""Room in an answer beyond both streams, each character of which JSON may write as six."""


class HttpExecutor(ClosingExecutor):
    """Sends programs to a server, and tries again where the connection fails.

    Args:
        url: Of the server, such as "http://sandbox:8080"; a path before /run_code is kept.
        limits: `wall_seconds` and `memory_mb` are sent along, `source_kb` and `output_kb` are
            applied here; the rest are the server's.
        concurrency: Requests at one time.
        retries: Further attempts after a connection that failed or a server that was too busy
            (429, 502, 503, 504), with growing pauses.
        headers: Further headers, such as Authorization.

    Raises:
        ConfigError: an argument is out of range, or the address is no http(s) one.
    """

    def __init__(
        self,
        url: str,
        limits: Limits | None = None,
        *,
        concurrency: int = 16,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"url must be an http or https address, got {url!r}")
        if concurrency < 1:
            raise ConfigError(f"concurrency must be at least 1, got {concurrency}")
        if retries < 0:
            raise ConfigError(f"retries must be at least 0, got {retries}")
        self._host, self._port, self._secure = parts.hostname, parts.port, parts.scheme == "https"
        self._path = f"{parts.path.rstrip('/')}/run_code"
        self._limits = limits or Limits()
        self._retries = retries
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="stare-http")
        self._kept = threading.local()
        self._open: set[http.client.HTTPConnection] = set()
        self._closed = threading.Event()

    def run_many(self, programs: Sequence[str]) -> list[Execution]:
        """Run programs on the server; one result each, in order.

        Raises:
            SandboxError: the executor is closed.
        """
        if self._closed.is_set():
            raise SandboxError("the executor is closed")
        return list(self._threads.map(self._run, programs))

    def close(self) -> None:
        """Close the connections; programs that wait for another attempt end as unavailable."""
        self._closed.set()
        self._threads.shutdown(wait=True)
        for connection in self._open:
            connection.close()

    def _run(self, program: str) -> Execution:
        size = len(program.encode("utf-8", "surrogatepass"))
        if size > self._limits.source_kb << 10:
            reason = f"the source has {size:,} bytes, the limit is {self._limits.source_kb} KiB\n"
            return Execution(status="error", stdout="", stderr=reason, seconds=0.0)
        request = {
            "code": program,
            "language": "python",
            "compile_timeout": COMPILE_SECONDS,
            "run_timeout": self._limits.wall_seconds,
            "memory_limit_MB": self._limits.memory_mb,
        }
        body = json.dumps(request).encode()
        reason = "no attempt was made"
        for attempt in range(self._retries + 1):
            if attempt and self._closed.wait(_pause(attempt)):
                break
            began = time.monotonic()
            try:
                code, answer = self._post(body)
            except TimeoutError:  # the server took it: to ask again would run it again
                return _unavailable(f"no answer within {self._patience():g} seconds")
            except (OSError, http.client.HTTPException) as error:
                reason = f"{type(error).__name__}: {error}"
                continue
            if code in (429, 502, 503, 504):
                reason = f"the server answered {code}"
                continue
            if code != 200:
                return _unavailable(f"the server answered {code}: {answer[:200]!r}")
            return self._execution(answer, time.monotonic() - began)
        return _unavailable(f"{reason} ({self._host}, {self._retries + 1} attempts)")

    def _post(self, body: bytes) -> tuple[int, bytes]:
        connection = getattr(self._kept, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = kind(self._host, self._port, timeout=NETWORK_SECONDS)
            self._kept.connection = connection
            self._open.add(connection)
        deadline = time.monotonic() + self._patience()
        try:
            if connection.sock is None:
                connection.connect()
                cast(socket.socket, connection.sock).settimeout(self._patience())
            connection.request("POST", self._path, body, self._headers)
            response = connection.getresponse()
            answer = b""
            while chunk := response.read1(ENVELOPE_BYTES):
                answer += chunk
                if len(answer) > self._longest():
                    connection.close()
                    return response.status, answer
                if time.monotonic() > deadline:
                    raise TimeoutError
            response.read()  # nothing is left; this frees the connection for the next request
            return response.status, answer
        except BaseException:
            connection.close()
            raise

    def _patience(self) -> float:
        return self._limits.wall_seconds + COMPILE_SECONDS + NETWORK_SECONDS

    def _longest(self) -> int:
        return ENVELOPE_BYTES + 12 * (self._limits.output_kb << 10)

    def _execution(self, answer: bytes, seconds: float) -> Execution:
        """What an answer says, in our words."""
        if len(answer) > self._longest():
            return Execution(status="output", stdout="", stderr="", seconds=seconds)
        try:
            fields = json.loads(answer)
            result = fields.get("run_result") or {}
            outcome, said = fields["status"], str(fields.get("message") or "")
            ended, code = result.get("status"), result.get("return_code")
            output, cut_output = self._cut(result.get("stdout"))
            errors, cut_errors = self._cut(result.get("stderr"))
            seconds = float(result.get("execution_time") or seconds)
        except (ValueError, KeyError, TypeError, AttributeError):
            return _unavailable(f"no answer of SandboxFusion: {answer[:200]!r}")
        if outcome == "SandboxError" or ended in (None, "Error"):
            return _unavailable(said or errors or f"the sandbox failed ({outcome}, {ended})")
        status: Status
        if ended == "TimeLimitExceeded":
            status = "timeout"
        elif cut_output or cut_errors:
            status = "output"
        elif code == 0:
            status = "ok"
        elif errors.rstrip().rpartition("\n")[2].startswith("MemoryError"):
            status = "memory"
        else:
            status = "killed" if isinstance(code, int) and code < 0 else "error"
        return Execution(status=status, stdout=output, stderr=errors, seconds=seconds)

    def _cut(self, text: Any) -> tuple[str, bool]:
        data = str(text or "").encode("utf-8", "replace")
        limit = self._limits.output_kb << 10
        return data[:limit].decode("utf-8", "replace"), len(data) > limit


def _pause(attempt: int) -> float:
    # Spread out, so that a server that comes back is not met by all requests at once.
    return FIRST_PAUSE_SECONDS * 2.0 ** (attempt - 1) * random.uniform(0.5, 1.5)


def _unavailable(reason: str) -> Execution:
    return Execution(status="unavailable", stdout="", stderr=f"{reason}\n", seconds=0.0)
