"""The latest row of metrics in Prometheus' text format, as a file or over HTTP."""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from stare.errors import ConfigError, RunError

__all__ = ["PrometheusFile", "PrometheusServer", "exposition", "parse_address"]

Row = Mapping[str, float | int | None]


def exposition(row: Row) -> str:
    """A row as gauges; what is None is left out.

    Example:
        >>> print(exposition({"step": 3, "eval/pass@8": 0.5}), end="")
        # TYPE stare_step gauge
        stare_step 3
        # TYPE stare_eval_pass_8 gauge
        stare_eval_pass_8 0.5
    """
    lines = []
    for key, value in row.items():
        if value is None:
            continue
        name = "stare_" + re.sub(r"[^a-zA-Z0-9_]", "_", key)
        lines += [f"# TYPE {name} gauge", f"{name} {_number(value)}"]
    return "".join(f"{line}\n" for line in lines)


def _number(value: float | int) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return repr(value)


def parse_address(text: str) -> tuple[str, int] | None:
    """`host:port`, or None for `file`.

    Raises:
        ConfigError: it is neither.

    Example:
        >>> parse_address("127.0.0.1:9400"), parse_address("file")
        (('127.0.0.1', 9400), None)
    """
    if text == "file":
        return None
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"prometheus must be 'file' or 'host:port', got {text!r}")
    return host, int(port)


class PrometheusFile:
    """Replaces a file after every row: for node_exporter's textfile collector."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, row: Row) -> None:
        """Replace the file.

        Raises:
            RunError: it cannot be written.
        """
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(exposition(row), encoding="utf-8")
            temporary.replace(self.path)
        except OSError as error:
            raise RunError(f"{self.path} cannot be written: {error}") from error

    def close(self) -> None:
        """The file stays."""


class PrometheusServer:
    """Serves the latest row at `/metrics` until it is closed.

    Args:
        host: interface to listen on; `127.0.0.1` is reached from this machine only.
        port: 0 takes a free one; see `port`.

    Raises:
        RunError: the address cannot be used.
    """

    def __init__(self, host: str, port: int) -> None:
        text = [""]

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = self.path in ("/", "/metrics")
                body = text[0].encode() if found else b""
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Requests are no news."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise RunError(f"run.prometheus={host}:{port} cannot be used: {error}") from error
        self._text = text
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def write(self, row: Row) -> None:
        """Serve this row from now on."""
        self._text[0] = exposition(row)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
