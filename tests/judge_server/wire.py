"""How an answer travels: whole, drip by drip, cut short, far too big, or not at all."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable

from aiohttp import web

from .errors import HTML, JSON, Refusal
from .faults import Fault
from .stream_events import events_of

LINGER_RESET = struct.pack("ii", 1, 0)  # close sends RST instead of FIN
PAGE = (
    b"<!doctype html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"
)
CHUNK = 64 * 1024
DRIPS = 200


async def send(
    request: web.BaseRequest,
    body: bytes,
    status: int = 200,
    content_type: str = JSON,
    headers: dict[str, str] | None = None,
) -> web.StreamResponse:
    """The whole answer, written before we return, so that the books know whether it went out."""
    response = web.Response(
        body=body, status=status, headers=headers, content_type=content_type or JSON
    )
    await response.prepare(request)
    await response.write_eof()
    return response


async def send_refusal(request: web.BaseRequest, answer: Refusal) -> web.StreamResponse:
    return await send(request, answer.body, answer.status, answer.content_type, answer.headers)


async def _open(request: web.BaseRequest, length: int) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": JSON})
    response.content_length = length
    await response.prepare(request)
    return response


async def _hang(request: web.BaseRequest, body: bytes, fault: Fault) -> web.StreamResponse:
    await asyncio.sleep(fault.seconds)
    return await send(request, body)


async def _drip(request: web.BaseRequest, body: bytes, fault: Fault) -> web.StreamResponse:
    """Headers at once, then the body evenly over `seconds`: no read ever waits long."""
    response = await _open(request, len(body))
    step = -(-len(body) // DRIPS)
    pause = fault.seconds / -(-len(body) // step)
    for start in range(0, len(body), step):
        await response.write(body[start : start + step])
        await asyncio.sleep(pause)
    await response.write_eof()
    return response


async def _silence(request: web.BaseRequest, body: bytes, fault: Fault) -> web.StreamResponse:
    """For a client that does not stream: nothing at all for so long."""
    await asyncio.sleep(fault.seconds)
    return await _cut(request, body, fault)


async def send_stream(
    request: web.BaseRequest,
    body: bytes,
    fault: Fault | None,
    headers: dict[str, str],
    *,
    with_usage: bool,
) -> web.StreamResponse:
    """The reply as server-sent events, a word each, after a comment that keeps the line open."""
    kind = fault.kind if fault else ""
    events = events_of(body, with_usage=with_usage)
    whole = len(events)
    if kind in ("silent_stream", "cut_stream"):
        events = events[: whole // 2]
    response = web.StreamResponse(headers={**headers, "Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b": processing\n\n")
    for event in events:
        await response.write(event)
        if fault and kind == "slow_stream":
            await asyncio.sleep(fault.seconds / whole)
    if fault and kind == "silent_stream":
        await asyncio.sleep(fault.seconds)
    await response.write_eof()
    return response


async def _truncate(request: web.BaseRequest, body: bytes, fault: Fault) -> web.StreamResponse:
    return await send(request, body[: len(body) // 2])


async def _cut(request: web.BaseRequest, body: bytes, fault: Fault) -> web.StreamResponse:
    response = await _open(request, len(body))
    await response.write(body[: len(body) // 2])
    if request.transport:
        request.transport.close()
    return response


async def _huge(request: web.BaseRequest, body: bytes, fault: Fault) -> web.StreamResponse:
    """Valid JSON of `size` bytes at least, sent in pieces: the padding stands in front of the
    first key."""
    response = await _open(request, len(body) + fault.size)
    await response.write(body[:1])
    for sent in range(0, fault.size, CHUNK):
        await response.write(b" " * min(CHUNK, fault.size - sent))
    await response.write(body[1:])
    await response.write_eof()
    return response


async def _reset(request: web.BaseRequest, body: bytes, fault: Fault) -> web.StreamResponse:
    transport = request.transport
    if transport:
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET
        )
        transport.abort()
    return web.Response()


async def _page(request: web.BaseRequest, body: bytes, fault: Fault) -> web.StreamResponse:
    return await send(request, PAGE, content_type=HTML)


Travel = Callable[[web.BaseRequest, bytes, Fault], Awaitable[web.StreamResponse]]

TRAVELS: dict[str, Travel] = {
    "timeout": _hang,
    "slow_drip": _drip,
    "slow_stream": _hang,
    "silent_stream": _silence,
    "cut_stream": _truncate,
    "truncated_json": _truncate,
    "cut_body": _cut,
    "huge_body": _huge,
    "connection_reset": _reset,
    "wrong_content_type": _page,
}
DELIVERS = frozenset(
    {"timeout", "slow_drip", "slow_stream", "truncated_json", "huge_body", "wrong_content_type"}
)
STREAMED = frozenset({"slow_stream", "silent_stream", "cut_stream"})
"""Kinds that change how a stream travels."""
