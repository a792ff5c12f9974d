"""Rules for endpoint URLs: a visitor's base URL must not reach this machine's private network.

On a public page, two checks protect runs, judge tests and image descriptions alike. First, the URL
must match a strict pattern, so that different URL parsers cannot read it differently. Second, all
addresses of the host name are checked, and for PIN_SECONDS connections use only these; then the
name is resolved and checked again. So a changed DNS record (DNS rebinding) cannot lead to an
unchecked address.
"""

import asyncio
import ipaddress
import re
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import yaml
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from judges.judge_errors import EndpointRefused
from studies import settings
from studies.settings import is_public

PROVIDERS_FILE: Final = Path(__file__).parents[1] / "providers.yaml"
ANY_HOST: Final = "any"
PIN_SECONDS: Final = 600.0
"""Seconds for which a resolved address is reused; after that the host name is resolved and checked
again."""

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Lookup = Callable[[str, int, socket.AddressFamily], Awaitable[list[ResolveResult]]]

_URL: Final = re.compile(
    r"https://(?P<host>[a-z0-9.-]{1,253})(?::(?P<port>[0-9]{1,5}))?(?P<path>/[a-z0-9._~/-]*)?",
    re.IGNORECASE | re.ASCII,
)
_HOST_NAME: Final = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])", re.ASCII
)
"""Pattern of a host name with at least one dot. Its last part starts with a letter, so that no
numeric address matches."""

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
    """Conditions that a base URL and the addresses of its host must meet."""

    strict: bool
    """Whether https, a host name (no IP address) and public addresses are required, no proxy is
    used, and error messages quote no response."""
    hosts: tuple[str, ...] = ()
    """Allowed hosts; empty if every host with a public address is allowed."""
    ports: tuple[int, ...] = (443, 8443)
    refusal_reason: Callable[[str], str] = lambda address: why_address_not_public(address)
    """Function that returns why an address is refused; an empty text if it is allowed."""
    lookup: Lookup | None = None
    """Function for DNS lookups; None for the system's resolver."""


LOCAL_RULES: Final = EndpointRules(strict=False)
"""Rules for a page on the user's own machine, where loopback and private addresses are allowed.
Also used for the embedded judge, whose server this process starts on loopback."""


def current_endpoint_rules() -> EndpointRules:
    """Return the rules for this process. On the user's own machine almost every URL is allowed. On
    a public page, known providers and the hosts that an environment variable names are allowed,
    or every public host if that variable says so."""
    if not is_public():
        return LOCAL_RULES
    listed = [part.lower() for part in settings.ENDPOINTS.read()]
    if ANY_HOST in listed:
        return EndpointRules(strict=True)
    return EndpointRules(strict=True, hosts=(*provider_hosts(), *listed), ports=(443,))


@cache
def provider_hosts(path: Path = PROVIDERS_FILE) -> tuple[str, ...]:
    """Read the hosts of known providers, which may be called, from judges/providers.yaml;
    EndpointRefused if the file has no list of hosts."""
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    hosts = values.get("hosts") if isinstance(values, dict) else None
    if not isinstance(hosts, list) or not all(isinstance(host, str) and host for host in hosts):
        raise EndpointRefused(f"{path.name}: expected 'hosts:' followed by a list of host names")
    return tuple(host.lower() for host in hosts)


def check_url(url: str, rules: EndpointRules | None = None) -> None:
    """Raise EndpointRefused if a base URL may not be called by `rules` (None: those of this
    process). Rules that are not strict refuse only a URL with a user name or password. The host
    name is not looked up here."""
    rules = rules or current_endpoint_rules()
    # Raise EndpointRefused for a URL with a user name or password, because URLs are stored with
    # every request.
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise _refused_url_error(
            url,
            "it contains a user name or password. Type the key, or name its variable in "
            "api_key_env",
        )
    if not rules.strict:
        return
    match = _URL.fullmatch(url)
    if match is None:
        raise _refused_url_error(url, "it has to be https://host/path, with a plain host name")
    host, port = match["host"].lower(), int(match["port"] or 443)
    if not _HOST_NAME.fullmatch(host) or host.rpartition(".")[2] in _INTERNAL_SUFFIXES:
        raise _refused_url_error(
            url, "its host has to be a public name, not an IP address or a local name"
        )
    listed = rules.hosts
    wild = (pattern[1:] for pattern in listed if pattern.startswith("*."))
    if listed and host not in listed and not any(host.endswith(suffix) for suffix in wild):
        more = f" and {len(listed) - 6} more" if len(listed) > 6 else ""
        raise _refused_url_error(
            url,
            f"{host} is not among the providers of this page ({', '.join(listed[:6])}{more}). "
            "Run Evenhand on your own machine to use any endpoint, or ask the owner of this page "
            f"to add the host to {PROVIDERS_FILE.name}",
        )
    if port not in rules.ports:
        allowed = " or ".join(map(str, rules.ports))
        raise _refused_url_error(url, f"port {port} is not allowed; use {allowed}")


def _refused_url_error(url: str, why: str) -> EndpointRefused:
    """Build the error for a refused URL; the part of the URL before an @ is left out, because that
    part may be a key."""
    rest = url.rpartition("@")[2]
    shown = rest if rest.isprintable() and len(rest) <= 120 else ascii(rest)[:120]
    return EndpointRefused(f"the endpoint {shown!r} is refused: {why}")


# ---- addresses -----------------------------------------------------------------------------

_SPECIAL_NETWORKS: Final = tuple(
    (ipaddress.ip_network(network), reason)
    for network, reason in (
        ("168.63.129.16/32", "a metadata address"),  # Azure's, inside the public range
        ("169.254.0.0/16", "link-local, where metadata services are"),
        ("100.64.0.0/10", "behind carrier-grade NAT"),
        ("192.0.0.0/24", "reserved"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("0.0.0.0/8", "this machine"),
        ("64:ff9b:1::/48", "a local NAT64 address"),
        ("100::/64", "discard-only"),
        ("3fff::/20", "reserved for documentation"),
        ("5f00::/16", "reserved"),
        ("fec0::/10", "site-local"),
    )
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")


def why_address_not_public(text: str) -> str:
    """Return the reason why an address is not public; an empty text if it is public. For an IPv6
    address that contains IPv4 addresses (mapped, NAT64, 6to4, Teredo), these are checked."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "not a valid IP address"
    for inner in _unwrap_address(address):
        if reason := _nonpublic_reason(inner):
            return reason
    return ""


@lru_cache(maxsize=1024)
def is_private_url(url: str) -> bool:
    """Whether a URL names this machine or a private network: by an address that is not public, a
    name without a dot, or an internal suffix. False for a malformed URL. No DNS lookup is made."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    if not host:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.rpartition(".")[2] in _INTERNAL_SUFFIXES
    return bool(why_address_not_public(host))


def _unwrap_address(address: IPAddress) -> Iterator[IPAddress]:
    """Yield the addresses that have to be checked instead of `address`: the IPv4 addresses
    contained in an IPv6 address, else the address itself. An IPv6 address with a zone (`%eth0`),
    which names a network interface of this machine, also yields a link-local address, which is
    not public."""
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
    for network, reason in _SPECIAL_NETWORKS:
        if address.version == network.version and address in network:
            return reason
    if address.is_loopback or address.is_unspecified:
        return "this machine"
    if address.is_multicast:
        return "multicast"
    if address.is_link_local:
        return "link-local"
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return "not public"
    return "" if address.is_global and not address.is_reserved else "private or reserved"


# ---- name resolution -----------------------------------------------------------------------


class PinnedResolver(AbstractResolver):
    """A DNS resolver that caches the checked addresses, so that the connection uses only these."""

    def __init__(
        self,
        refuses: Callable[[str], str] = why_address_not_public,
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
        async with self._lookup_lock:  # two workers at once could get two different answers
            until, found = self._pinned.get((host, port), (0.0, []))
            if self._clock() >= until:
                found = await self._lookup(host, port, family)
                self._check_addresses(host, found)
                self._pinned[host, port] = self._clock() + PIN_SECONDS, found
            return list(found)

    def _check_addresses(self, host: str, found: list[ResolveResult]) -> None:
        """Raise EndpointRefused if a host has no address, or if one of its addresses is refused;
        one is enough, because a mixture of public and private addresses suggests an attack."""
        if not found:
            raise EndpointRefused(
                f"the host {host} has no IP address; check the address (base_url)"
            )
        for result in found:
            if reason := self._refusal_reason(str(result["host"])):
                raise EndpointRefused(
                    f"the endpoint's host {host} is refused: its address is {reason}; a public "
                    "page connects to public addresses only"
                )

    async def close(self) -> None:
        self._pinned.clear()
