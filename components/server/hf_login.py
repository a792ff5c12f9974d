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

from studies.domain import HUMAN_PREFIX

_LOG: Final = logging.getLogger(__name__)
ACCOUNT_PREFIX: Final = "hf:"
"""Before the name of who is logged in: a name that is typed never begins so."""
REQUIRED_VARIABLES: Final = (
    "SPACE_ID", "SPACE_HOST", "OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES",
    "OPENID_PROVIDER_URL",
)  # fmt: skip
LOGIN_PATH: Final = "/login/huggingface"
CALLBACK_PATH: Final = "/login/callback"
LOGOUT_PATH: Final = "/logout"
TARGET_PARAMETER: Final = "_target_url"
RETURN_ADDRESS_KEY: Final = "evenhand_back"
OAUTH_INFO_KEY: Final = "oauth_info"
"""Where Gradio keeps who is logged in."""
LOGIN_STATE_PREFIX: Final = "_state_huggingface_"
"""Before the key of a login that has begun."""
RESULT_PARAMETER: Final = "login"
"""In the address, after a login: how it went."""
MAX_ADDRESS_LENGTH: Final = 2_000
"""A cookie has room for some 4,000 characters, and there is more in it."""
DEFAULT_ADDRESS: Final = "/?tab=vote"
LOGIN_MESSAGES: Final[Mapping[str, str]] = MappingProxyType(
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
    there = os.environ.get("SYSTEM") == "spaces" and all(map(os.environ.get, REQUIRED_VARIABLES))
    return there and all(find_spec(name) for name in ("authlib", "itsdangerous"))


def is_account(voter: str) -> bool:
    """Whether a name is kept for accounts, or would be read as one that is."""
    name = unicodedata.normalize("NFKC", voter.removeprefix(HUMAN_PREFIX))
    return "".join(name.split()).casefold().startswith(ACCOUNT_PREFIX)


class LoginMiddleware:
    """Middleware inside the one that keeps the session; without a session it does nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ours = scope["type"] == "http" and scope["method"] == "GET" and "session" in scope
        path = scope.get("path", "") if ours else ""
        if path == LOGIN_PATH:
            await self._start_login(scope, receive, send)
        elif path == CALLBACK_PATH:
            went = await self._finish_login(scope, receive)
            await _redirect(went, scope["session"].pop(RETURN_ADDRESS_KEY, DEFAULT_ADDRESS))(
                scope, receive, send
            )
        elif path == LOGOUT_PATH:
            scope["session"].pop(OAUTH_INFO_KEY, None)
            await _redirect("", _query_values(scope).get(TARGET_PARAMETER, ""))(
                scope, receive, send
            )
        else:
            await self._app(scope, receive, send)

    async def _start_login(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = scope["session"]
        _drop_login_states(session)  # each would stay, until the cookie is too long to be kept
        asked = _query_values(scope).get(TARGET_PARAMETER, "")
        back = session[RETURN_ADDRESS_KEY] = (
            asked if len(asked) <= MAX_ADDRESS_LENGTH else DEFAULT_ADDRESS
        )
        bare = {**scope, "query_string": b""}
        if not await _forward_success(self._app, bare, receive, send):
            session.pop(RETURN_ADDRESS_KEY)
            await _redirect("failed", back)(scope, receive, send)

    async def _finish_login(self, scope: Scope, receive: Receive) -> str:
        """How a login went. Only one that this browser began, and once."""
        asked, session = _query_values(scope), scope["session"]
        begun = f"{LOGIN_STATE_PREFIX}{asked.get('state', '')}" in session
        if "error" in asked or not begun:
            _drop_login_states(session)
            return "refused" if begun else "lost"
        await _forward_success(self._app, scope, receive, _discard_message)
        _drop_login_states(session)
        return "done" if _keep_account_name(session) else "failed"


async def _forward_success(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> bool:
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


async def _discard_message(message: Message) -> None:
    """The answer is in the session; where to go on is for us to say."""


def _query_values(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))


def _drop_login_states(session: MutableMapping[str, Any]) -> None:
    for key in [key for key in session if key.startswith(LOGIN_STATE_PREFIX)]:
        del session[key]


def _keep_account_name(session: MutableMapping[str, Any]) -> bool:
    """Of what the provider sent, the name and until when it holds: what a vote needs."""
    held = session.pop(OAUTH_INFO_KEY, None) or {}
    name = (held.get("userinfo") or {}).get("preferred_username")
    if not isinstance(name, str) or not name.strip():
        return False
    profile = {"preferred_username": name, "name": name, "profile": "", "picture": ""}
    session[OAUTH_INFO_KEY] = {"userinfo": profile, "expires_at": held.get("expires_at")}
    return True


def _redirect(went: str, address: str) -> RedirectResponse:
    """To an address of this page and to no other, which is told how the login went."""
    query = address.removeprefix("/?") if address.startswith("/?") else ""
    values = [pair for pair in parse_qsl(query) if pair[0] != RESULT_PARAMETER] or parse_qsl(
        DEFAULT_ADDRESS[2:]
    )
    return RedirectResponse(
        "/?" + urlencode([*values, *([(RESULT_PARAMETER, went)] if went else [])]), 302
    )
