"""Visitors of a shared page, identified by a secret that only their browser has.

The store contains only hashes of the secrets, with which a visitor cannot be impersonated. The
visitor is set for each request to the page (`as_visitor`) and read by the restricted store
(studies/sharing/visitor_store.py), so a handler without checks shows only permitted studies.
"""

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

MIN_SECRET_CHARS: Final = 24
"""Minimum length of a secret; a shorter one could be guessed."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A visitor: `owner` is the hash of the browser's secret, `share` the hash of the token in the
    share link that was opened. If both are empty, only ownerless studies are visible."""

    owner: str = ""
    share: str = ""
    address: str = field(default="", compare=False)
    """Network address of the request; many visitors may share it, and it gives no permission."""


ANONYMOUS: Final = Visitor()
_CURRENT_VISITOR: Final[ContextVar[Visitor]] = ContextVar("visitor", default=ANONYMOUS)


def current_visitor() -> Visitor:
    """Return the visitor set by `as_visitor`; ANONYMOUS outside of it, also in a new thread."""
    return _CURRENT_VISITOR.get()


@contextmanager
def as_visitor(visitor: Visitor) -> Iterator[None]:
    """Context in which `current_visitor` returns `visitor`."""
    token = _CURRENT_VISITOR.set(visitor)
    try:
        yield
    finally:
        _CURRENT_VISITOR.reset(token)


def visitor_from_secret(secret: object, token: object = "", address: str = "") -> Visitor:
    """Return the visitor with this browser secret and this token of a share link. For an invalid
    secret or token, the hash is empty. `address` is the network address of the request."""
    return Visitor(_hash_secret("owner", secret), _hash_secret("share", token), address)


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def _hash_secret(kind: str, value: object) -> str:
    """Hash a secret together with its kind ("owner" or "share"), so that a browser's secret and a
    link token with equal texts have different hashes; "" for an invalid value."""
    if not isinstance(value, str) or not MIN_SECRET_CHARS <= len(value) <= 200:
        return ""
    return hashlib.sha256(f"{kind}:{value}".encode("utf-8", "replace")).hexdigest()
