"""ASGI middleware around Gradio's routes for logging in with Hugging Face on a Space.

Gradio provides /login/huggingface, /login/callback and /logout. This middleware does three things.
It keeps the address of the voter's page in the signed session, so that the token in a link is
neither logged nor sent to the provider. After a failed login it returns to the page with a message.
It stores only the account's name, no access token. This module does not import gradio.
"""

import logging
import unicodedata
from collections.abc import Mapping, MutableMapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studies import domain, settings

_LOG: Final = logging.getLogger(__name__)
ACCOUNT_PREFIX: Final = "hf:"
"""Prefix of the names of logged-in voters; typed names cannot begin with it."""
LOGIN_PATH: Final = "/login/huggingface"
CALLBACK_PATH: Final = "/login/callback"
LOGOUT_PATH: Final = "/logout"
TARGET_PARAMETER: Final = "_target_url"
RETURN_ADDRESS_KEY: Final = "evenhand_back"
OAUTH_INFO_KEY: Final = "oauth_info"
"""Session key under which Gradio stores the account."""
LOGIN_STATE_PREFIX: Final = "_state_huggingface_"
"""Prefix of the session keys of unfinished logins."""
RESULT_PARAMETER: Final = "login"
"""Query parameter with the result of a login."""
MAX_ADDRESS_LENGTH: Final = 2_000
"""Maximum characters of a return address; a longer one is replaced by DEFAULT_ADDRESS, since the
session's cookie holds only about 4,000."""
DEFAULT_ADDRESS: Final = "/?tab=vote"
LOGIN_MESSAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "refused": "The login was refused or cancelled. Log in again, or type a name.",
        "lost": "The login took too long, or the browser blocks cookies of embedded pages. Log in "
        "with this page in its own tab, or type a name.",
        "failed": "Hugging Face could not be reached or returned no account name. Try again in a "
        "minute, or type a name.",
    }
)


def can_log_in() -> bool:
    """Whether login is possible: a Space with `hf_oauth: true` and the packages that Gradio needs
    for it. Elsewhere Gradio would simulate a login with the account of the user who started the
    app."""
    required = all(setting.read() for setting in settings.LOGIN_SETTINGS)
    on_space = settings.SYSTEM.read() == "spaces" and required
    return on_space and all(find_spec(name) for name in ("authlib", "itsdangerous"))


def has_account_prefix(voter: str) -> bool:
    """Whether a voter's name starts with "hf:", the prefix of logged-in accounts, also if it is
    written with other forms of these letters or with spaces."""
    name = unicodedata.normalize("NFKC", voter.removeprefix(domain.HUMAN_PREFIX))
    return "".join(name.split()).casefold().startswith(ACCOUNT_PREFIX)


class LoginMiddleware:
    """Middleware that handles the three routes for logging in and out with Hugging Face, as the
    module describes; other requests, and those without a session, are passed on unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handled = scope["type"] == "http" and scope["method"] == "GET" and "session" in scope
        path = scope.get("path", "") if handled else ""
        if path == LOGIN_PATH:
            await self._start_login(scope, receive, send)
        elif path == CALLBACK_PATH:
            result = await self._finish_login(scope, receive)
            address = scope["session"].pop(RETURN_ADDRESS_KEY, DEFAULT_ADDRESS)
            await _redirect_with_result(result, address)(scope, receive, send)
        elif path == LOGOUT_PATH:
            scope["session"].pop(OAUTH_INFO_KEY, None)
            address = _query_values(scope).get(TARGET_PARAMETER, "")
            await _redirect_with_result("", address)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _start_login(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = scope["session"]
        _delete_login_states(session)  # Gradio never deletes them, and the cookie would overflow
        address = _query_values(scope).get(TARGET_PARAMETER, "")
        if len(address) > MAX_ADDRESS_LENGTH:
            address = DEFAULT_ADDRESS
        session[RETURN_ADDRESS_KEY] = address
        without_query = {**scope, "query_string": b""}
        if not await _forward_unless_error(self._app, without_query, receive, send):
            session.pop(RETURN_ADDRESS_KEY)
            await _redirect_with_result("failed", address)(scope, receive, send)

    async def _finish_login(self, scope: Scope, receive: Receive) -> str:
        """Complete a login. Return "done", or a key of LOGIN_MESSAGES that says why it failed, for
        example because this browser did not start the login."""
        query, session = _query_values(scope), scope["session"]
        begun = f"{LOGIN_STATE_PREFIX}{query.get('state', '')}" in session
        if "error" in query or not begun:
            _delete_login_states(session)
            return "refused" if begun else "lost"
        await _forward_unless_error(self._app, scope, receive, _discard_message)
        _delete_login_states(session)
        return "done" if _keep_only_account_name(session) else "failed"


async def _forward_unless_error(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> bool:
    """Pass a request on to the app, and send the app's response unless it is an error; return
    whether a response was sent. Of an exception only the type is logged, since its text may contain
    login secrets."""
    passed = False

    async def send_unless_error(message: Message) -> None:
        nonlocal passed
        passed = passed or (message["type"] == "http.response.start" and message["status"] < 400)
        if passed:
            await send(message)

    try:
        await app(scope, receive, send_unless_error)
    except Exception as error:
        if passed:
            raise
        _LOG.warning("login with Hugging Face failed: %s", type(error).__name__)
    return passed


async def _discard_message(message: Message) -> None:
    """Ignore Gradio's redirect; the result of the login is in the session."""


def _query_values(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))


def _delete_login_states(session: MutableMapping[str, Any]) -> None:
    for key in [key for key in session if key.startswith(LOGIN_STATE_PREFIX)]:
        del session[key]


def _keep_only_account_name(session: MutableMapping[str, Any]) -> bool:
    """Keep only name and expiry time of the account that Gradio stored in the session, and return
    True; if it has no name, delete all account data and return False."""
    info = session.pop(OAUTH_INFO_KEY, None) or {}
    name = (info.get("userinfo") or {}).get("preferred_username")
    if not isinstance(name, str) or not name.strip():
        return False
    profile = {"preferred_username": name, "name": name, "profile": "", "picture": ""}
    session[OAUTH_INFO_KEY] = {"userinfo": profile, "expires_at": info.get("expires_at")}
    return True


def _redirect_with_result(result: str, address: str) -> RedirectResponse:
    """Redirect to `address` with the login's result as a query parameter; if `address` is not one
    of this page, to DEFAULT_ADDRESS."""
    query = address.removeprefix("/?") if address.startswith("/?") else ""
    values = [pair for pair in parse_qsl(query) if pair[0] != RESULT_PARAMETER]
    values = values or parse_qsl(DEFAULT_ADDRESS[2:])
    values += [(RESULT_PARAMETER, result)] if result else []
    return RedirectResponse("/?" + urlencode(values), 302)
