"""An OpenAI-compatible server on loopback that can be told to misbehave."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FlakyServer:
    """Serves the model `m`; a context manager.

    Each fault is a function of the number of the request (from 0, over all connections) that
    returns what to do: None to answer, `"drop"` to close the connection after reading the request,
    `"half"` to close it in the middle of the answer, `(status, headers)` to answer so, `"abort"` to
    answer that the request was dropped, `"hang"` to answer never.
    """

    def __init__(self, fault: Any = None, *, kind: str = "vllm", port: int = 0) -> None:
        self.fault = fault or (lambda number: None)
        self.kind = kind
        self.answered: Counter[int] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.connections = 0
        self.most_at_once = self._at_once = 0
        self.delay = 0.0
        self._lock = threading.Lock()
        self._port = port
        self._server: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def start(self) -> None:
        flaky = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args: Any) -> None:
                pass

            def setup(self) -> None:
                flaky.connections += 1
                super().setup()

            def do_GET(self) -> None:
                models = {"data": [{"id": "m", "owned_by": flaky.kind}]}
                self.reply(200, models)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with flaky._lock:
                    number = len(flaky.bodies)
                    flaky.bodies.append(body)
                    flaky.headers.append(dict(self.headers))
                    flaky.times.append(time.monotonic())
                    flaky._at_once += 1
                    flaky.most_at_once = max(flaky.most_at_once, flaky._at_once)
                try:
                    time.sleep(flaky.delay)
                    self.misbehave(flaky.fault(number), body)
                finally:
                    with flaky._lock:
                        flaky._at_once -= 1

            def misbehave(self, fault: Any, body: dict[str, Any]) -> None:
                if fault == "drop":
                    self.close_connection = True
                elif fault == "hang":
                    time.sleep(5)
                    self.close_connection = True
                elif isinstance(fault, tuple):
                    status, headers = fault
                    self.reply(status, {"error": {"message": f"told to say {status}"}}, headers)
                elif fault == "half":
                    self.send_response(200)
                    self.send_header("Content-Length", "1000")
                    self.end_headers()
                    self.wfile.write(b'{"choices": [')
                    self.close_connection = True
                else:
                    flaky.answered[body["seed"]] += 1
                    self.reply(200, answer(body, abort=fault == "abort"))

            def reply(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                for name, text in (headers or {}).items():
                    self.send_header(name, text)
                self.end_headers()
                self.wfile.write(data)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 256

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # the client hung up

        self._server = Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> FlakyServer:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()


def answer(body: dict[str, Any], *, abort: bool = False) -> dict[str, Any]:
    """A function of the seed, as a sampled response would be."""
    text = f"seed {body['seed']}: so \\boxed{{{body['seed'] % 97}}}"
    reason = "abort" if abort else ("length" if body["seed"] % 5 == 0 else "stop")
    choice: dict[str, Any] = {"index": 0, "finish_reason": reason, "stop_reason": None}
    if "messages" in body:
        choice["message"] = {"role": "assistant", "content": text}
    else:
        choice["text"] = text
    return {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 11}}
