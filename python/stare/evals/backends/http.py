"""HTTP to servers that come and go: connections kept, health per server, bounded retries.

A request is tried again only where it cannot have been answered: the connection was lost, or the
server said 429 or 5xx. There is no time limit on an answer unless one is set, because a retry of a
slow request makes the server slower; TCP keep-alive finds a host that has gone.
"""

from __future__ import annotations

import asyncio
import email.utils
import http.client
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from stare.evals.backends.batching import in_thread
from stare.evals.failures import BackendError, RequestError

__all__ = ["Answer", "Endpoint", "Pool", "retry_after"]

BACKOFF_S, MAX_BACKOFF_S, MAX_RETRY_AFTER_S = 0.5, 30.0, 600.0
KEEPALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 20), ("TCP_KEEPCNT", 5))
FATAL = {401: "the key is refused", 403: "access is refused", 404: "no such model or endpoint"}


class _Reply(NamedTuple):
    status: int
    retry_after: float | None
    body: bytes


class Answer(NamedTuple):
    """A JSON object from a server."""

    body: dict[str, Any]
    attempts: int


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds that a `Retry-After` header asks for; None if it is absent or makes no sense.

    Example:
        >>> retry_after("3", 0.0), retry_after("Thu, 01 Jan 1970 00:00:09 GMT", 4.0)
        (3.0, 5.0)
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now
        except (ValueError, TypeError):
            return None
    return min(max(0.0, seconds), MAX_RETRY_AFTER_S) if seconds == seconds else None


class Endpoint:
    """One server: idle connections, and whether it is well."""

    def __init__(self, url: str, *, stall_limit: float | None, backoff: float) -> None:
        self.url = url.rstrip("/")
        self._parts = urlsplit(self.url)
        self._timeout, self._backoff = stall_limit, backoff
        self._idle: list[http.client.HTTPConnection] = []
        self._live: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()
        self._closed = False
        self.in_flight = 0
        self.down_until = 0.0
        self._failures = 0

    def well(self) -> None:
        """It answered."""
        self._failures, self.down_until = 0, 0.0

    def ill(self, now: float, at_least: float | None = None) -> None:
        """It failed: leave it alone for a while, longer every time.

        Requests that fail together count once.
        """
        if now >= self.down_until:
            self._failures += 1
            pause = min(self._backoff * 2 ** (self._failures - 1), MAX_BACKOFF_S)
            self.down_until = now + pause * random.uniform(0.75, 1.25)
        if at_least is not None:
            self.down_until = max(self.down_until, now + at_least)

    def call(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> _Reply:
        """Send one request and read the whole answer; blocks.

        Raises:
            OSError: the connection was lost, or timed out.
            http.client.HTTPException: the answer was cut short or is not HTTP.
        """
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is not None:
            try:
                return self._exchange(connection, method, path, body, headers)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                pass  # it was closed while idle, which says nothing about the server
        return self._exchange(self._connect(), method, path, body, headers)

    def _connect(self) -> http.client.HTTPConnection:
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=30.0)
        connection.connect()
        connection.sock.settimeout(self._timeout)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEPALIVE:
            if hasattr(socket, name):
                connection.sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        return connection

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: dict[str, str],
    ) -> _Reply:
        with self._lock:
            if self._closed:
                connection.close()
                raise ConnectionAbortedError("closed")
            self._live.add(connection)
        keep = False
        try:
            connection.request(method, f"{self._parts.path}{path}", body=body, headers=headers)
            response = connection.getresponse()
            data = response.read()
            keep = not response.will_close
            wait = retry_after(response.headers.get("Retry-After"), time.time())
            return _Reply(response.status, wait, data)
        finally:
            with self._lock:
                self._live.discard(connection)
                if keep and not self._closed:
                    self._idle.append(connection)
                else:
                    connection.close()

    def close(self) -> None:
        """End every connection, also those that wait for an answer."""
        with self._lock:
            self._closed = True
            for connection in [*self._live, *self._idle]:
                try:
                    if connection.sock is not None:
                        connection.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            for connection in self._idle:
                connection.close()
            self._idle.clear()


class Pool:
    """Several servers that serve the same model.

    Args:
        urls: their base URLs.
        key: sent as a bearer token; kept in memory alone.
        retries: tries of one request before its servers count as gone.
        stall_limit: seconds without a byte after which a connection counts as lost; None waits.
        backoff: first pause of a server that failed.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        key: str | None = None,
        retries: int = 12,
        stall_limit: float | None = None,
        backoff: float = BACKOFF_S,
    ) -> None:
        self.endpoints = [
            Endpoint(url, stall_limit=stall_limit, backoff=backoff) for url in dict.fromkeys(urls)
        ]
        self._retries = retries
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    async def get(self, path: str, endpoint: Endpoint) -> dict[str, Any] | None:
        """The JSON object at a path of one server; None where it has no such path."""
        answer = await self._send("GET", path, None, [endpoint], optional=True)
        return None if answer is None else answer.body

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],
        accept: Callable[[dict[str, Any]], str | None],
    ) -> Answer:
        """Post a JSON object to whichever server is well and least busy.

        Args:
            path: below the base URL.
            body: the object.
            accept: says why an answer does not count and is to be asked for again; None: it counts.

        Raises:
            RequestError: a server refused this request for good.
            BackendError: no server answered in as many tries as are allowed; or the key, the model
                or the endpoint is refused.
        """
        data = json.dumps(body).encode()
        answer = await self._send("POST", path, data, self.endpoints, accept=accept)
        assert answer is not None
        return answer

    async def _send(
        self,
        method: str,
        path: str,
        data: bytes | None,
        endpoints: Sequence[Endpoint],
        *,
        accept: Callable[[dict[str, Any]], str | None] = lambda body: None,
        optional: bool = False,
    ) -> Answer | None:
        last = ""
        for attempt in range(1, self._retries + 1):
            endpoint = await _choose(endpoints)
            endpoint.in_flight += 1
            try:
                reply = await in_thread(endpoint.call, method, path, data, self._headers)
            except (OSError, http.client.HTTPException) as error:
                last = f"{endpoint.url}: {str(error) or type(error).__name__}"
                endpoint.ill(time.monotonic())
                continue
            finally:
                endpoint.in_flight -= 1
            said = f"{endpoint.url}{path}: HTTP {reply.status}: {_message(reply.body)}"
            if reply.status == 429 or reply.status >= 500:
                endpoint.ill(time.monotonic(), reply.retry_after)
                last = said
                continue
            if reply.status in FATAL and not optional:
                raise BackendError(f"{FATAL[reply.status]}: {said}")
            if reply.status != 200:
                if optional:
                    return None
                raise RequestError(said)
            body = _object(reply.body)
            refusal = "no JSON object" if body is None else accept(body)
            if body is None or refusal is not None:
                last = f"{endpoint.url}: {refusal}"
                endpoint.ill(time.monotonic())
                continue
            endpoint.well()
            return Answer(body, attempt)
        raise BackendError(
            f"no answer in {self._retries} tries, the last: {last}\n"
            "hint: nothing is lost; when the server is back, the same command goes on"
        )

    def close(self) -> None:
        """End all connections."""
        for endpoint in self.endpoints:
            endpoint.close()


async def _choose(endpoints: Sequence[Endpoint]) -> Endpoint:
    """The least busy of the servers that are well; waits for the first to be so again."""
    while True:
        now = time.monotonic()
        able = [endpoint for endpoint in endpoints if endpoint.down_until <= now]
        if able:
            return min(able, key=lambda endpoint: endpoint.in_flight)
        await asyncio.sleep(min(endpoint.down_until for endpoint in endpoints) - now)


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        body = json.loads(data)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _message(data: bytes) -> str:
    """The words of an error answer, whatever its shape."""
    body = _object(data) or {}
    error = body.get("error")
    words = error.get("message") if isinstance(error, dict) else error or body.get("message")
    return str(words or data[:200].decode("utf-8", "replace"))[:500]
