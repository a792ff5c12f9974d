"""Who is asking, where strangers share a page: a secret that only their browser holds.

The store keeps hashes: whoever reads it cannot pass for anybody. Who it is, is said once for a
call (`visiting`), and a guarded store (studies/sharing/visitor_store.py) asks `here`: a handler that forgets to
check can show only what its visitor may see.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

MIN_SECRET_CHARS: Final = 24
"""A secret with fewer characters is a word that somebody else may choose too."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """`owner` and `share` are hashes, or empty: then only what is everybody's is seen."""

    owner: str = ""
    share: str = ""


ANONYMOUS: Final = Visitor()
_CURRENT_VISITOR: Final[ContextVar[Visitor]] = ContextVar("visitor", default=ANONYMOUS)


def current_visitor() -> Visitor:
    """Whose call this is; outside of `visiting`, in a thread of its own too, nobody's."""
    return _CURRENT_VISITOR.get()


@contextmanager
def as_visitor(visitor: Visitor) -> Iterator[None]:
    token = _CURRENT_VISITOR.set(visitor)
    try:
        yield
    finally:
        _CURRENT_VISITOR.reset(token)


def visitor_from_secret(secret: object, token: object = "") -> Visitor:
    """What came from a browser or a program may be anything; what is no secret is nobody's."""
    return Visitor(_hash_secret("owner", secret), _hash_secret("share", token))


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def _hash_secret(kind: str, value: object) -> str:
    """Two kinds, so that a link's token can never be taken for an owner's secret."""
    if not isinstance(value, str) or not MIN_SECRET_CHARS <= len(value) <= 200:
        return ""
    return hashlib.sha256(f"{kind}:{value}".encode("utf-8", "replace")).hexdigest()
