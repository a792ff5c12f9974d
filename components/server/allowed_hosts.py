"""ASGI middleware that accepts only requests to this server's hosts and from this server's pages.

It stops two attacks by a web site that the user visits. DNS rebinding: the site points its own name
at 127.0.0.1, so that the browser treats the app as part of the site; the Host header then contains
the site's name. Cross-site requests: the site posts to http://127.0.0.1:7860; the Origin header
then contains the site. Gradio itself checks neither, and permits cross-origin reads for every Host
except localhost. This module does not import gradio.
"""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from studies import errors, settings

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
"""Hosts that are always served, because Gradio sends a request to one of them when it starts."""
SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
STATE_CHANGING_ROUTES: Final = re.compile(
    r"/(?:logout|queue/data|heartbeat|call|startup-events|mcp|upload_progress)(?:/|$)"
)
"""Routes that change something even on GET, such as a logout, which deletes a cookie."""

_HOST: Final = re.compile(
    r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)\.?)(?::(?P<port>\d{0,5}))?"
)
_ORIGIN: Final = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#\\]+)(?:[/?#].*)?")
_MAX_HOST_LENGTH: Final = 300
_DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_FOREIGN_SITES: Final = (b"cross-site", b"same-site")
"""Values of the header Sec-Fetch-Site in a request from a page of another origin; for another port
of 127.0.0.1 the value is "same-site"."""
_CHECKED_HEADERS: Final = frozenset(
    (b"host", b"origin", b"referer", b"sec-fetch-site", b"sec-fetch-mode")
)


class BadHosts(errors.EvenhandError):
    """Raised if an entry of EVENHAND_HOSTS is not a host."""


class Host(NamedTuple):
    """A host name or IP address in canonical form, and its port (None: the scheme's default)."""

    name: str
    port: int | None
    is_address: bool

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port is None else f"{name}:{self.port}"

    def serves_port(self, port: int | None) -> bool:
        """Whether `port`, the port of an origin with this host's name, belongs to this host. A host
        that names no port has both default ports, 80 and 443, since a proxy may translate https to
        http."""
        return port == self.port or (self.port is None and port in _DEFAULT_PORTS.values())


@lru_cache(512)
def parse_host(text: str) -> Host | None:
    """Parse a Host header or an entry of EVENHAND_HOSTS; None if it is malformed."""
    found = _HOST.fullmatch(text.lower()) if len(text) <= _MAX_HOST_LENGTH else None
    if found is None:
        return None
    port = int(found["port"]) if found["port"] else None
    address = _canonical_address(found["v6"] or found["name"])
    if found["v6"] and not address:
        return None
    return Host(address or found["name"], port, bool(address))


@lru_cache(512)
def parse_origin(text: str) -> Host | None:
    """Host and port of the origin (scheme, host and port) at the start of an Origin or Referer
    header; without a port, the scheme's default. None if the text is malformed, such as `null`, or
    the scheme is neither http nor https."""
    found = _ORIGIN.fullmatch(text.lower()) if len(text) <= 10 * _MAX_HOST_LENGTH else None
    host = parse_host(found["host"]) if found else None
    if found is None or host is None:
        return None
    return host._replace(port=host.port or _DEFAULT_PORTS[found["scheme"]])


@lru_cache(512)
def _canonical_address(text: str) -> str:
    """Standard form of an IP address, such as "127.0.0.1" for "::ffff:127.0.0.1"; empty if the text
    is not an IP address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


@dataclass(frozen=True, slots=True)
class Hosts:
    """The host names and addresses under which a server accepts requests."""

    names: frozenset[str]
    listed: tuple[Host, ...] = ()
    """Hosts named in SPACE_HOST and EVENHAND_HOSTS. Their pages may always send requests, even if a
    proxy has replaced the Host header."""
    any_address: bool = False
    """Whether requests to any IP address are accepted. This is safe against DNS rebinding, which
    needs a name; health checks may use an address that this machine does not have."""

    def serves(self, host: Host, own_address: str) -> bool:
        """Whether requests addressed to `host` are accepted. They are if `host` is a known name, or
        an IP address at which the server received this request (`own_address`), or any IP address
        with `any_address`."""
        if host.name in self.names:
            return True
        return host.is_address and (self.any_address or host.name == own_address)

    def trusts(self, origin: Host, host: Host, own_address: str) -> bool:
        """Whether a page of `origin` may send a request that is addressed to `host` and arrived at
        `own_address`, an IP address of this server.

        It may if its origin is `host` itself, or another name of this server at the same port. All
        loopback names count as the same host. Apart from that, a page at an IP address or loopback
        name may only send requests to the same address, since another address may be another
        machine. Pages of the hosts in `listed` may always send requests."""
        if host.serves_port(origin.port) and self.serves(origin, own_address):
            if origin.name == host.name or {origin.name, host.name} <= set(LOOPBACK):
                return True
            if not origin.is_address and origin.name not in LOOPBACK:
                return True
        return any(
            listed.name == origin.name and listed.serves_port(origin.port) for listed in self.listed
        )


def configured_hosts(
    bound: str, *, public: bool, environment: Mapping[str, str] | None = None
) -> Hosts:
    """The hosts at which a server that listens on `bound` accepts requests: loopback names,
    `bound`, the hosts in SPACE_HOST (several if a Space has its own domain) and in EVENHAND_HOSTS;
    in public mode also every IP address. `environment` replaces the environment variables of the
    process. BadHosts if an entry of EVENHAND_HOSTS is malformed."""
    space = (parse_host(entry.rstrip("/")) for entry in settings.SPACE_HOST.read(environment))
    extra = (_parse_required_host(entry) for entry in settings.HOSTS.read(environment))
    listed = (*(host for host in space if host), *extra)
    own = _canonical_address(bound.strip("[]")) or bound.lower().rstrip(".")
    names = frozenset((*LOOPBACK, own, *(host.name for host in listed)))
    return Hosts(names, listed, any_address=public)


def _parse_required_host(entry: str) -> Host:
    host = parse_host(entry)
    if host is None:
        raise BadHosts(
            f"{settings.HOSTS.name}: {entry[:80]!r} is not a host. Write names, or names with "
            f"a port, separated by commas: {settings.HOSTS.name}=judge.example,localhost:6274"
        )
    return host


class AllowedHosts:
    """Middleware that refuses requests to unknown hosts and from pages of other origins."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        refused = find_refusal(scope, self._hosts) if kind in ("http", "websocket") else None
        if refused is None:
            await self._app(scope, receive, send)
        elif kind == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refused.words})
        else:
            await refused.response()(scope, receive, send)


class RequestRefusal(NamedTuple):
    status: int
    words: str

    def response(self) -> PlainTextResponse:
        """A response that closes the connection, so that the rest of the body is not read."""
        headers = {
            "Cache-Control": "no-store",
            "Connection": "close",
            "X-Content-Type-Options": "nosniff",
        }
        return PlainTextResponse(f"{self.words}\n", self.status, headers)


def find_refusal(scope: Scope, hosts: Hosts) -> RequestRefusal | None:
    """The reason to refuse a request; None if it is accepted."""
    sent: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _CHECKED_HEADERS:
            if name in sent:
                return RequestRefusal(400, f"The request has more than one {name.decode()} header.")
            sent[name] = value
    if not sent.get(b"host"):
        return RequestRefusal(400, "The request has no Host header.")
    host = parse_host(sent[b"host"].decode("latin-1"))
    if host is None:
        return RequestRefusal(400, "The Host header of the request is not a valid host name.")
    server = scope.get("server")
    own = _canonical_address(str(server[0])) if server else ""
    if not hosts.serves(host, own):
        return RequestRefusal(403, _unknown_host_message(host))
    return _find_page_refusal(scope, sent, lambda origin: hosts.trusts(origin, host, own))


def _find_page_refusal(
    scope: Scope, headers: Mapping[bytes, bytes], trusts: Callable[[Host], bool]
) -> RequestRefusal | None:
    """Reason to refuse a request because of the page that sent it; None if it is accepted.
    `headers`: name -> value; `trusts`: function that says whether pages of an origin may send
    requests.

    Pages of other sites may open this page by a link or in a frame, as huggingface.co does with a
    Space; their other requests are refused. The sending page is found by the Origin header, else by
    Sec-Fetch-Site, else (for requests that change something) by Referer. Requests without these
    headers come from other clients than browsers, such as curl, and are accepted.
    """
    if b"origin" in headers:
        origin = parse_origin(headers[b"origin"].decode("latin-1"))
        return (
            None
            if origin and trusts(origin)
            else RequestRefusal(403, _foreign_origin_message(origin))
        )
    changes = scope.get("method") not in SAFE_METHODS or bool(
        STATE_CHANGING_ROUTES.search(scope["path"])
    )
    if headers.get(b"sec-fetch-site") in _FOREIGN_SITES:
        opens = not changes and headers.get(b"sec-fetch-mode") == b"navigate"
        return None if opens else RequestRefusal(403, _foreign_origin_message(None))
    if changes and headers.get(b"referer"):
        page = parse_origin(headers[b"referer"].decode("latin-1"))
        return None if page and trusts(page) else RequestRefusal(403, _foreign_origin_message(page))
    return None


def _unknown_host_message(host: Host) -> str:
    return (
        f"Evenhand does not answer at the host name {host}. Open the address printed at its start; "
        f"if the name is yours, start it with {settings.HOSTS.name}={host._replace(port=None)}"
    )


def _foreign_origin_message(origin: Host | None) -> str:
    if origin is None:
        return "A page of another site sent this request. Open Evenhand itself and try again there."
    return (
        f"A page of {origin} sent this request; only Evenhand's own pages may send requests. If "
        f"that page is yours, start Evenhand with {settings.HOSTS.name}={origin}"
    )


def make_host_check_lifespan(
    hosts: Hosts,
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """A lifespan handler (function that runs when the server starts) that puts AllowedHosts before
    all other middleware of an app.

    Middleware given to launch() comes after Gradio's CORS middleware, which would answer some
    requests first."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        stack = app.middleware_stack or app.build_middleware_stack()
        app.middleware_stack = AllowedHosts(stack, hosts)
        yield

    return lifespan
