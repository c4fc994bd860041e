"""The HTTP executor against a server in the SandboxFusion format, and against bad ones."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from stare.errors import ConfigError, SandboxError
from stare.rollout.tools import http as http_module
from stare.rollout.tools.http import HttpExecutor
from stare.rollout.tools.limits import Limits

LIMITS = Limits(wall_seconds=0.5, output_kb=1)


def answer(outcome="Success", message="", **result) -> dict:
    """An answer of the server, shaped as its `RunCodeResponse`."""
    run = {
        "status": "Finished",
        "execution_time": 0.25,
        "return_code": 0,
        "stdout": "",
        "stderr": "",
    }
    return {
        "status": outcome,
        "message": message,
        "compile_result": None,
        "run_result": run | result,
        "executor_pod_name": None,
        "files": {},
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.requests.append((self.path, dict(self.headers), body))
            server.active += 1
            server.most = max(server.most, server.active)
        try:
            code, content = server.respond(body)
        finally:
            with server.lock:
                server.active -= 1
        if code == 0:  # hang up
            self.close_connection = True
            return
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            self.close_connection = True

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.requests, server.lock, server.active, server.most = [], threading.Lock(), 0, 0
    server.respond = lambda body: (200, answer(stdout=body["code"]))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch):
    monkeypatch.setattr(http_module, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(http_module, "COMPILE_SECONDS", 0.3)
    monkeypatch.setattr(http_module, "NETWORK_SECONDS", 0.3)


def executor(server, **kwargs) -> HttpExecutor:
    return HttpExecutor(f"http://127.0.0.1:{server.server_port}", LIMITS, **kwargs)


def test_the_request(server):
    with executor(server, headers={"Authorization": "Bearer x"}) as pool:
        (result,) = pool.run_many(["print('é')"])
    assert (result.status, result.stdout, result.seconds) == ("ok", "print('é')", 0.25)
    path, headers, body = server.requests[0]
    assert path == "/run_code"
    assert headers["Authorization"] == "Bearer x"
    assert body == {
        "code": "print('é')",
        "language": "python",
        "compile_timeout": 0.3,
        "run_timeout": 0.5,
        "memory_limit_MB": 512,
    }


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (answer(), "ok"),
        (answer("Failed", return_code=1, stderr="Traceback\nValueError: x\n"), "error"),
        (answer("Failed", return_code=1, stderr="Traceback\nMemoryError\n"), "memory"),
        (answer("Failed", return_code=-9), "killed"),
        (answer("Failed", status="Error"), "unavailable"),
        (answer(stdout="x" * 2000), "output"),
        (answer(stderr="é" * 2000), "output"),
        (answer("SandboxError", "no image"), "unavailable"),
        ({"status": "SandboxError", "message": "m", "run_result": None}, "unavailable"),
        ({"status": "Success", "message": "", "run_result": {}}, "unavailable"),
        ({"detail": "not found"}, "unavailable"),
        ([], "unavailable"),
        (b"<html>", "unavailable"),
        (b"", "unavailable"),
        (b"x" * 200_000, "output"),
    ],
)
def test_answers(server, given, status):
    server.respond = lambda body: (200, given)
    with executor(server) as pool:
        (result,) = pool.run_many(["1"])
    assert result.status == status
    assert len(result.stdout) <= 1024
    assert len(result.stderr.encode()) <= 1100


def test_time_limit(server):
    late = answer("Failed", status="TimeLimitExceeded", return_code=None, stdout="so far")
    server.respond = lambda body: (200, late)
    with executor(server) as pool:
        (result,) = pool.run_many(["1"])
    assert (result.status, result.stdout) == ("timeout", "so far")


def test_order_and_bounded_concurrency(server):
    def respond(body):
        time.sleep(0.02 if int(body["code"]) % 3 else 0.05)
        return 200, answer(stdout=body["code"])

    server.respond = respond
    with executor(server, concurrency=4) as pool:
        results = pool.run_many([str(i) for i in range(40)])
    assert [r.stdout for r in results] == [str(i) for i in range(40)]
    assert 2 <= server.most <= 4
    assert len(server.requests) == 40, "connections are kept"


@pytest.mark.parametrize("code", [0, 429, 502, 503, 504])
def test_a_failed_connection_is_tried_again(server, code):
    failures = iter([code, code])
    server.respond = lambda body: (next(failures, 200), answer(stdout="at last"))
    with executor(server) as pool:
        (result,) = pool.run_many(["1"])
    assert (result.status, result.stdout) == ("ok", "at last")
    assert len(server.requests) == 3


def test_attempts_end(server):
    server.respond = lambda body: (503, b"")
    with executor(server, retries=2) as pool:
        (result,) = pool.run_many(["1"])
    assert result.status == "unavailable"
    assert "503" in result.stderr
    assert "3 attempts" in result.stderr
    assert len(server.requests) == 3


def test_a_refusal_is_not_tried_again(server):
    server.respond = lambda body: (422, {"detail": "language"})
    with executor(server) as pool:
        (result,) = pool.run_many(["1"])
    assert result.status == "unavailable"
    assert "422" in result.stderr
    assert len(server.requests) == 1


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with HttpExecutor(f"http://127.0.0.1:{port}", LIMITS, retries=1) as pool:
        results = pool.run_many(["1", "2"])
    assert [r.status for r in results] == ["unavailable", "unavailable"]
    assert "2 attempts" in results[0].stderr


def test_a_server_that_never_answers(server):
    server.respond = lambda body: (time.sleep(3), (0, b""))[1]
    began = time.monotonic()
    with executor(server) as pool:
        (result,) = pool.run_many(["1"])
    assert result.status == "unavailable"
    assert "no answer within" in result.stderr
    assert time.monotonic() - began < 2.5
    assert len(server.requests) == 1


def test_a_long_source_is_not_sent(server):
    with executor(server) as pool:
        (result,) = pool.run_many(["#" * (2 << 20)])
    assert result.status == "error"
    assert "limit" in result.stderr
    assert server.requests == []


def test_after_close(server):
    pool = executor(server)
    pool.run_many(["1"])
    pool.close()
    pool.close()
    with pytest.raises(SandboxError, match="closed"):
        pool.run_many(["1"])


@pytest.mark.parametrize(
    ("url", "kwargs", "words"),
    [
        ("sandbox:8080", {}, "http"),
        ("ftp://sandbox", {}, "http"),
        ("http://", {}, "http"),
        ("http://sandbox", {"concurrency": 0}, "concurrency"),
        ("http://sandbox", {"retries": -1}, "retries"),
    ],
)
def test_bad_arguments(url, kwargs, words):
    with pytest.raises(ConfigError, match=words):
        HttpExecutor(url, **kwargs)
