"""Logging in with Hugging Face on a Space: what stands around Gradio's own routes for it.

Gradio brings /login/huggingface, /login/callback and /logout. Around them: the address that a voter
left stays in the signed session, so that a link's token is neither printed nor told to anybody; a
login that fails ends on the page, in words; of all that comes back only the account's name is
kept, no token. No gradio here: plain ASGI.
"""

from __future__ import annotations

import logging
import os
import unicodedata
from collections.abc import Mapping, MutableMapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studies.records import HUMAN_PREFIX

_LOG: Final = logging.getLogger(__name__)
ACCOUNT: Final = "hf:"
"""Before the name of who is logged in: a name that is typed never begins so."""
NEEDED: Final = (
    "SPACE_ID", "SPACE_HOST", "OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES",
    "OPENID_PROVIDER_URL",
)  # fmt: skip
LEAVE: Final = "/login/huggingface"
RETURN: Final = "/login/callback"
LOGOUT: Final = "/logout"
TARGET: Final = "_target_url"
BACK: Final = "evenhand_back"
HELD: Final = "oauth_info"
"""Where Gradio keeps who is logged in."""
STATE: Final = "_state_huggingface_"
"""Before the key of a login that has begun."""
WORD: Final = "login"
"""In the address, after a login: how it went."""
LONGEST: Final = 2_000
"""A cookie has room for some 4,000 characters, and there is more in it."""
START: Final = "/?tab=vote"
TOLD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "refused": "The login was refused or broken off, so this page was told no name. Log in "
        "again, or type a name.",
        "lost": "The login came back to a browser that had not begun it, or too late. A page "
        "inside another page may not be allowed to keep a cookie: open this one in a tab of its "
        "own and log in there, or type a name.",
        "failed": "Hugging Face could not be reached, or did not say who you are. Try again in a "
        "minute, or type a name.",
    }
)


def can_log_in() -> bool:
    """On a Space whose metadata say hf_oauth: true, with what Gradio needs for it. Elsewhere Gradio
    would play a login with the account of whoever started the page."""
    there = os.environ.get("SYSTEM") == "spaces" and all(map(os.environ.get, NEEDED))
    return there and all(find_spec(name) for name in ("authlib", "itsdangerous"))


def is_account(voter: str) -> bool:
    """Whether a name is kept for accounts, or would be read as one that is."""
    name = unicodedata.normalize("NFKC", voter.removeprefix(HUMAN_PREFIX))
    return "".join(name.split()).casefold().startswith(ACCOUNT)


class Login:
    """Middleware inside the one that keeps the session; without a session it does nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ours = scope["type"] == "http" and scope["method"] == "GET" and "session" in scope
        path = scope.get("path", "") if ours else ""
        if path == LEAVE:
            await self._leave(scope, receive, send)
        elif path == RETURN:
            went = await self._return(scope, receive)
            await _to(went, scope["session"].pop(BACK, START))(scope, receive, send)
        elif path == LOGOUT:
            scope["session"].pop(HELD, None)
            await _to("", _asked(scope).get(TARGET, ""))(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _leave(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = scope["session"]
        _forget_begun(session)  # each would stay, until the cookie is too long to be kept
        asked = _asked(scope).get(TARGET, "")
        back = session[BACK] = asked if len(asked) <= LONGEST else START
        bare = {**scope, "query_string": b""}
        if not await _answered(self._app, bare, receive, send):
            session.pop(BACK)
            await _to("failed", back)(scope, receive, send)

    async def _return(self, scope: Scope, receive: Receive) -> str:
        """How a login went. Only one that this browser began, and once."""
        asked, session = _asked(scope), scope["session"]
        begun = f"{STATE}{asked.get('state', '')}" in session
        if "error" in asked or not begun:
            _forget_begun(session)
            return "refused" if begun else "lost"
        await _answered(self._app, scope, receive, _unheard)
        _forget_begun(session)
        return "done" if _keep_name(session) else "failed"


async def _answered(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> bool:
    """Whether there was an answer that is no error; only such a one is passed on.

    What went wrong may hold what was exchanged: the log is told its kind, and nobody more.
    """
    passed = False

    async def guarded(message: Message) -> None:
        nonlocal passed
        passed = passed or (message["type"] == "http.response.start" and message["status"] < 400)
        if passed:
            await send(message)

    try:
        await app(scope, receive, guarded)
    except Exception as error:
        if passed:
            raise
        _LOG.warning("a login failed: %s", type(error).__name__)
    return passed


async def _unheard(message: Message) -> None:
    """The answer is in the session; where to go on is for us to say."""


def _asked(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))


def _forget_begun(session: MutableMapping[str, Any]) -> None:
    for key in [key for key in session if key.startswith(STATE)]:
        del session[key]


def _keep_name(session: MutableMapping[str, Any]) -> bool:
    """Of what the provider sent, the name and until when it holds: what a vote needs."""
    held = session.pop(HELD, None) or {}
    name = (held.get("userinfo") or {}).get("preferred_username")
    if not isinstance(name, str) or not name.strip():
        return False
    profile = {"preferred_username": name, "name": name, "profile": "", "picture": ""}
    session[HELD] = {"userinfo": profile, "expires_at": held.get("expires_at")}
    return True


def _to(went: str, address: str) -> RedirectResponse:
    """To an address of this page and to no other, which is told how the login went."""
    query = address.removeprefix("/?") if address.startswith("/?") else ""
    values = [pair for pair in parse_qsl(query) if pair[0] != WORD] or parse_qsl(START[2:])
    return RedirectResponse("/?" + urlencode([*values, *([(WORD, went)] if went else [])]), 302)
