"""Metrics for Prometheus: a file for node_exporter's textfile collector, or an HTTP address.

Format: the text exposition format 0.0.4 of Prometheus.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from stare.errors import ConfigError, RunError
from stare.train.metric_keys import METRICS

__all__ = ["PrometheusWriter", "exposition", "parse_address"]

_HELP = {m.key: f"{m.meaning} ({m.unit})" for m in METRICS}


def parse_address(text: str) -> tuple[str, int]:
    """`host:port`, `[v6]:port`, `:port` or `port`; the host is the loopback where none is given.

    Raises:
        ConfigError: it is none of these.

    Example:
        >>> parse_address("0.0.0.0:9464"), parse_address(":9464")
        (('0.0.0.0', 9464), ('127.0.0.1', 9464))
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ConfigError(
            f"prometheus must be 'file' or 'host:port', got {text!r}\n"
            "hint: ':9464' serves on this machine alone, '0.0.0.0:9464' to everyone who reaches it"
        )
    return host.strip("[]") or "127.0.0.1", int(port)


def metric_name(key: str) -> str:
    """A metric's name for Prometheus.

    Example:
        >>> metric_name("eval/pass@8_se"), metric_name("entropy/batch")
        ('stare_eval_pass_at_8_se', 'stare_entropy_batch')
    """
    return "stare_" + re.sub(r"[^a-zA-Z0-9_]", "_", key.replace("@", "_at_"))


def _number(value: float | int) -> str:
    text = repr(float(value)) if isinstance(value, float) else str(int(value))
    return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}.get(text, text)


def exposition(values: Mapping[str, float | int | None], *, run: str) -> str:
    """The text of some metrics, all of them gauges with the label `run`.

    Args:
        values: by key; None is left out.
        run: name of the run.

    Example:
        >>> print(exposition({"extra/x": 0.5}, run="first"), end="")
        # HELP stare_extra_x extra/x
        # TYPE stare_extra_x gauge
        stare_extra_x{run="first"} 0.5
    """
    label = run.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    lines: list[str] = []
    for key, value in values.items():
        if value is None:
            continue
        name = metric_name(key)
        words = _HELP.get(key, key).replace("\\", "\\\\").replace("\n", "\\n")
        lines += [
            f"# HELP {name} {words}",
            f"# TYPE {name} gauge",
            f'{name}{{run="{label}"}} {_number(value)}',
        ]
    return "".join(f"{line}\n" for line in lines)


class PrometheusWriter:
    """Shows the newest value of every metric; those of an evaluation stay until the next.

    Args:
        folder: the run's folder, which names it.
        target: `file` writes `metrics.prom` there; an address serves `/metrics` until `close`.

    Raises:
        RunError: the address cannot be served, or (from `write`) the file cannot be written.
    """

    def __init__(self, folder: Path, target: str) -> None:
        self._run = folder.resolve().name
        self._path = folder / "metrics.prom" if target == "file" else None
        self._values: dict[str, float | int | None] = {}
        self._text = ""
        self._server: ThreadingHTTPServer | None = None
        if self._path is None:
            self._server = self._serve(*parse_address(target))

    @property
    def port(self) -> int | None:
        """The port that is served: another one than asked for where that was 0."""
        return None if self._server is None else self._server.server_address[1]

    def _serve(self, host: str, port: int) -> ThreadingHTTPServer:
        import socket

        writer = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10.0  # a client that says nothing keeps no thread

            def do_GET(self) -> None:
                found = self.path.partition("?")[0] == "/metrics"
                body = (writer._text if found else "the metrics are at /metrics\n").encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Stderr is for the progress."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that went away is no matter of ours."""

        try:
            server = Server((host, port), Handler)
        except (OSError, OverflowError) as error:
            raise RunError(
                f"run.prometheus cannot be served on {host}:{port}: {error}\n"
                "hint: another port, or run.prometheus=file"
            ) from error
        threading.Thread(
            target=server.serve_forever, args=(0.1,), name="stare-prometheus", daemon=True
        ).start()
        return server

    def write(self, row: Mapping[str, float | int | None]) -> None:
        """Show a row."""
        self._values |= {key: value for key, value in row.items() if value is not None}
        self._text = exposition(
            self._values | {"extra/updated_seconds": time.time()}, run=self._run
        )
        if self._path is None:
            return
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(self._text, encoding="utf-8")
            temporary.replace(self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise RunError(f"{self._path} cannot be written: {error}") from error

    def close(self) -> None:
        """Stop serving; the file stays."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
