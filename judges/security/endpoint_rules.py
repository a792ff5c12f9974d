"""Which endpoints may be asked: a stranger's base URL must not reach what only this machine can.

Two gates, one mechanism for runs, tests and descriptions alike. The URL is read by a pattern that
has no room for what parsers read differently. Then its name is looked up once, every address that
came back is checked, and the connection is made to those addresses and to no others: a name that
means something else a moment later changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import yaml
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from judges.judge_errors import EndpointRefused
from studies.public_mode import is_public

PROVIDERS_FILE: Final = Path(__file__).parents[1] / "providers.yaml"
ENDPOINTS_VARIABLE: Final = "EVENHAND_ENDPOINTS"
ANY_HOST: Final = "any"
PIN_SECONDS: Final = 600.0
"""Seconds an answer of the name service holds. The next one is checked like the first."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Lookup = Callable[[str, int, socket.AddressFamily], Awaitable[list[ResolveResult]]]

_URL: Final = re.compile(
    r"https://(?P<host>[a-z0-9.-]{1,253})(?::(?P<port>[0-9]{1,5}))?(?P<path>/[a-z0-9._~/-]*)?",
    re.IGNORECASE | re.ASCII,
)
_HOST_NAME: Final = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])", re.ASCII
)
"""Two labels or more, the last not a number: what is a number in any base is no name."""

_INTERNAL_SUFFIXES: Final = (
    "localhost",
    "local",
    "internal",
    "localdomain",
    "lan",
    "arpa",
    "onion",
)


@dataclass(frozen=True, slots=True)
class EndpointRules:
    """What a base URL may be."""

    strict: bool
    """https alone, a name instead of a number, no proxy, public addresses, no body in messages."""
    hosts: tuple[str, ...] = ()
    """The only ones that may be asked; none: any, as far as the addresses allow."""
    ports: tuple[int, ...] = (443, 8443)
    refusal_reason: Callable[[str], str] = lambda address: why_not_public(address)
    """Why an address must not be connected to; empty if it may."""
    lookup: Lookup | None = None
    """The name service; None: the machine's."""


LOCAL_RULES: Final = EndpointRules(strict=False)
"""On one's own machine loopback and private addresses are what one wants. Also the rules for the
embedded judge, whose loopback address is our own wherever the page runs."""


def current_endpoint_rules() -> EndpointRules:
    """The rules of this process: what its environment and the list of providers say."""
    if not is_public():
        return LOCAL_RULES
    said = [part.strip().lower() for part in os.environ.get(ENDPOINTS_VARIABLE, "").split(",")]
    if ANY_HOST in said:
        return EndpointRules(strict=True)
    return EndpointRules(strict=True, hosts=(*provider_hosts(), *filter(None, said)), ports=(443,))


@cache
def provider_hosts(path: Path = PROVIDERS_FILE) -> tuple[str, ...]:
    """The hosts of judges/providers.yaml."""
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    hosts = values.get("hosts") if isinstance(values, dict) else None
    if not isinstance(hosts, list) or not all(isinstance(host, str) and host for host in hosts):
        raise EndpointRefused(f"{path.name}: expected hosts: and a list of host names below it")
    return tuple(host.lower() for host in hosts)


def check_url(url: str, rules: EndpointRules | None = None) -> None:
    """Raises where a base URL may not be asked; nothing is looked up for it."""
    rules = rules or current_endpoint_rules()
    if not rules.strict:
        _check_no_credentials(url)
        return
    match = _URL.fullmatch(url)
    if match is None:
        raise _endpoint_refused(url, "it has to read https://host/path, the host a plain name")
    host, port = match["host"].lower(), int(match["port"] or 443)
    if not _HOST_NAME.fullmatch(host) or host.rpartition(".")[2] in _INTERNAL_SUFFIXES:
        raise _endpoint_refused(
            url, "its host has to be a public name, not a number and not a local one"
        )
    if rules.hosts and not any(_host_matches(host, pattern) for pattern in rules.hosts):
        raise _endpoint_refused(
            url,
            f"{host} is not among the providers of this page ({_shorten_hosts(rules.hosts)}). On your own "
            f"machine any endpoint will do; the owner of the page can add it to {PROVIDERS_FILE.name}",
        )
    if port not in rules.ports:
        raise _endpoint_refused(url, f"port {port} is not one that judges answer at here")


def _check_no_credentials(url: str) -> None:
    """No key may hide in a URL, which is stored with every request."""
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise _endpoint_refused(
            url.rpartition("@")[2], "it names a user; a key is typed, or in api_key_env"
        )


def _endpoint_refused(url: str, why: str) -> EndpointRefused:
    shown = url if url.isprintable() and len(url) <= 120 else ascii(url)[:120]
    return EndpointRefused(f"the endpoint {shown!r} is not asked: {why}")


def _shorten_hosts(hosts: tuple[str, ...]) -> str:
    more = f" and {len(hosts) - 6} more" if len(hosts) > 6 else ""
    return ", ".join(hosts[:6]) + more


def _host_matches(host: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern


# ---- addresses -----------------------------------------------------------------------------

_SPECIAL_NETWORKS: Final = tuple(
    (ipaddress.ip_network(network), told)
    for network, told in (
        ("168.63.129.16/32", "a metadata address"),  # Azure's, inside the public range
        ("169.254.0.0/16", "link-local, where metadata services are"),
        ("100.64.0.0/10", "behind a carrier's NAT"),
        ("192.0.0.0/24", "reserved"),
        ("192.88.99.0/24", "a relay of 6to4"),
        ("0.0.0.0/8", "this machine"),
        ("64:ff9b:1::/48", "a NAT64 of the local network"),
        ("100::/64", "a black hole"),
        ("3fff::/20", "for documentation"),
        ("5f00::/16", "reserved"),
        ("fec0::/10", "site-local"),
    )
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")


def why_not_public(text: str) -> str:
    """Why an address is none of the public network; empty if it is.

    An IPv6 address may carry an IPv4 one that is really meant: then each of them counts.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "no address"
    for inner in _unwrap_address(address):
        if told := _nonpublic_reason(inner):
            return told
    return ""


def _unwrap_address(address: IPAddress) -> Iterator[IPAddress]:
    """What an address stands for: itself, or the ones it wraps."""
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    if address.scope_id:
        yield ipaddress.IPv6Address("fe80::")  # an interface of this machine
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif address in _NAT64:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    elif address.sixtofour is not None:
        yield address.sixtofour
    elif address.teredo is not None:
        yield from address.teredo
    else:
        yield address


def _nonpublic_reason(address: IPAddress) -> str:
    for network, told in _SPECIAL_NETWORKS:
        if address.version == network.version and address in network:
            return told
    if address.is_loopback or address.is_unspecified:
        return "this machine"
    if address.is_multicast:
        return "multicast"
    if address.is_link_local:
        return "link-local"
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return "not public"
    return "" if address.is_global and not address.is_reserved else "private or reserved"


# ---- the name service ----------------------------------------------------------------------


class PinnedResolver(AbstractResolver):
    """Looks a name up once and keeps the answer: what was checked is what is connected to."""

    def __init__(
        self,
        refuses: Callable[[str], str] = why_not_public,
        lookup: Lookup | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._refusal_reason, self._clock = refuses, clock
        self._lookup = lookup or ThreadedResolver(asyncio.get_running_loop()).resolve
        self._pinned: dict[tuple[str, int], tuple[float, list[ResolveResult]]] = {}
        self._lookup_lock = asyncio.Lock()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        async with self._lookup_lock:  # two workers at once would be two answers
            until, found = self._pinned.get((host, port), (0.0, []))
            if self._clock() >= until:
                found = await self._lookup(host, port, family)
                self._check_addresses(host, found)
                self._pinned[host, port] = self._clock() + PIN_SECONDS, found
            return list(found)

    def _check_addresses(self, host: str, found: list[ResolveResult]) -> None:
        """One address that must not be reached, and the name is refused: it is not chance."""
        if not found:
            raise EndpointRefused(f"the endpoint's host {host} has no address")
        for result in found:
            if told := self._refusal_reason(str(result["host"])):
                raise EndpointRefused(
                    f"the endpoint's host {host} is not asked: its address is {told}; only public "
                    "addresses are asked from a public page"
                )

    async def close(self) -> None:
        self._pinned.clear()
