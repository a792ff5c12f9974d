"""Limits on the number of connections, on the time and size of a request's head, and on the time
for which a client may leave its response unread.

Without them a few thousand silent connections would use up the server's file descriptors. The
limits on request bodies are in components.server.limits.request_limits. This module does not import
gradio.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, ClassVar, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

SPARE_DESCRIPTORS: Final = 256
"""File descriptors left for the store, temporary files and calls to judges."""


def may_be_proxy(address: str) -> bool:
    """Whether `address` may belong to a proxy that many visitors share: it is not a public IP
    address."""
    try:
        return not ip_address(address).is_global
    except ValueError:
        return True


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    connections: int = 1_000
    per_address: int = 100
    """Maximum connections of one address; an open page uses two or three."""
    is_shared: Callable[[str], bool] = may_be_proxy
    """Function that returns whether an address is exempt from `per_address`."""
    head_seconds: float = 15.0
    """Maximum seconds until the head of a request has arrived: from the opening of the connection
    or, for a later request on the same connection, from its first byte."""
    head_bytes: int = 65_536
    burst_seconds: float = 0.25
    """Seconds for which the number of connections may exceed `connections`."""
    keep_alive_seconds: int = 5
    """Seconds after a response until a silent connection is closed."""
    unread_seconds: float = 60.0
    """Seconds until a client that does not read its response is disconnected."""


def limit_connections(config: uvicorn.Config, limits: ConnectionLimits | None = None) -> None:
    """Set the connection limits of a uvicorn server that has not started, and turn off its
    websockets. `limits`: by default those of ConnectionLimits, with fewer connections if the
    process may not open enough files."""
    limits = limits or ConnectionLimits(connections=_max_connections_by_open_files())
    config.http = type("LimitedProtocol", (BoundedProtocol,), {"limits": limits})
    config.ws = "none"
    config.h11_max_incomplete_event_size = limits.head_bytes
    config.timeout_keep_alive = limits.keep_alive_seconds


def _max_connections_by_open_files() -> int:
    """Maximum number of connections: that of ConnectionLimits, or fewer (at least 50) if the
    process may not open enough files."""
    try:
        import resource  # not on Windows
    except ImportError:
        return ConnectionLimits().connections
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return ConnectionLimits().connections
    return max(50, min(ConnectionLimits().connections, soft - SPARE_DESCRIPTORS))


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP protocol with `ConnectionLimits`.

    If there are too many connections, the server closes those that have waited longest without a
    request, not the newest, so that silent connections cannot keep visitors out. It waits
    `burst_seconds` before it chooses them, so that the requests of connections that arrived
    together are read first."""

    limits: ClassVar[ConnectionLimits]
    _head_timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None
    _waiting_since: float = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_head_timer()
        if self._exceeds_address_limit():
            self._abort_connection()
        elif len(self.connections) == self.limits.connections + 1:
            self.loop.call_later(self.limits.burst_seconds, self._close_excess_connections)

    def _close_excess_connections(self) -> None:
        """If there are too many connections, close those that have waited longest for a request,
        but none with a request in progress."""
        excess = len(self.connections) - self.limits.connections
        if excess <= 0:
            return
        waiting = [one for one in self.connections if one.waits_for_request_head()]  # type: ignore
        waiting.sort(key=lambda one: one._waiting_since)  # type: ignore[union-attr]
        for one in waiting[:excess]:
            one._abort_connection()  # type: ignore[union-attr]
        if excess > len(waiting):  # all others are in use: look again
            self.loop.call_later(self.limits.burst_seconds, self._close_excess_connections)

    def waits_for_request_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        cycle = self.cycle
        if self.waits_for_request_head() and self._head_timer is None:
            self._start_head_timer()
        super().data_received(data)
        if self.cycle is not cycle:
            self._head_timer = _cancel_timer(self._head_timer)

    def pause_writing(self) -> None:
        super().pause_writing()
        _cancel_timer(self._unread_timer)
        self._unread_timer = self.loop.call_later(
            self.limits.unread_seconds, self._abort_connection
        )

    def resume_writing(self) -> None:
        self._unread_timer = _cancel_timer(self._unread_timer)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_timer = _cancel_timer(self._head_timer)
        self._unread_timer = _cancel_timer(self._unread_timer)
        super().connection_lost(exc)

    def _start_head_timer(self) -> None:
        self._waiting_since = self.loop.time()
        self._head_timer = self.loop.call_later(self.limits.head_seconds, self._abort_connection)

    def _exceeds_address_limit(self) -> bool:
        mine = self.client[0] if self.client else ""
        if not mine or self.limits.is_shared(mine):
            return False
        same = sum(1 for one in self.connections if one.client and one.client[0] == mine)  # type: ignore
        return same > self.limits.per_address

    def _abort_connection(self) -> None:
        """Close the connection at once, without sending the rest of the response."""
        self.connections.discard(self)
        self.transport.abort()


def _cancel_timer(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
