"""Visitor identity in public mode: every event carries the visitor's secret and link token.

The secret is stored in the browser (gr.BrowserState). `guard_events` adds secret and token to the
inputs of every handler, and checks access before the handler runs, so that the tabs need not do it.
A test checks that no handler is left out.
"""

import contextlib
import hashlib
import inspect
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final, get_type_hints

import gradio as gr

from components.html.markup import escape
from components.server.fair_turns import identify_client
from components.server.gradio_private import current_request, wrap_handlers
from studies import errors, settings
from studies.files.partial_files import assign_name_if_free
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import as_visitor, current_visitor, new_secret, visitor_from_secret

STORAGE_KEY: Final = "evenhand-visitor"
"""Name of the secret in the browser's storage. If it changed, visitors would lose their studies."""
TOKEN_PARAMETER: Final = "token"
"""Query parameter of links made by Share."""
REFUSED_TITLE: Final = "No access"


@dataclass(frozen=True)
class VisitorInputs:
    secret: gr.BrowserState
    token: gr.Textbox
    """The token of the link with which the page was opened."""


def build(store: Path) -> VisitorInputs:
    secret = gr.BrowserState("", storage_key=STORAGE_KEY, secret=find_or_make_secret(store))
    return VisitorInputs(
        secret,
        gr.Textbox(
            "", visible="hidden", container=False, elem_id="eh-token", label=TOKEN_PARAMETER
        ),
    )


def find_or_make_secret(store: Path) -> str:
    """Key with which Gradio encrypts what browsers store for this page, among it the visitors'
    secrets.

    It is EVENHAND_SECRET, else the content of a file beside the store, else a new random key, which
    is written to that file. On a Space without the file it is a hash of the Space's name, since the
    disk of a Space may be erased.

    Every browser receives the key, so it protects nothing on the server. It must stay the same,
    because with another key browsers could not read the secrets that they have stored."""
    if named := settings.SECRET.read():
        return named
    path = store.with_name(store.name + "-secret")
    if (space := settings.SPACE_ID.read()) and not path.exists():
        return hashlib.sha256(f"evenhand {space}".encode()).hexdigest()[:32]
    while True:
        with contextlib.suppress(FileNotFoundError):
            if found := path.read_text(encoding="ascii").strip():
                return found
            path.unlink()  # empty: the disk was full
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        made = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(made, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(24))
        assign_name_if_free(partial, path)  # another process may have been faster
        partial.unlink(missing_ok=True)


def bind(blocks: gr.Blocks, visitor: VisitorInputs) -> None:
    """Bind the event that, when the page loads, gives a new browser its secret and stores the token
    of the link."""

    def identify(request: gr.Request) -> list[Any]:
        token = str(request.query_params.get(TOKEN_PARAMETER, ""))[:200]
        return [gr.skip() if current_visitor().owner else new_secret(), token]

    outputs = [visitor.secret, visitor.token]
    blocks.load(identify, None, outputs, show_progress="hidden", api_visibility="private")


def guard_events(
    blocks: gr.Blocks, visitor: VisitorInputs, study: gr.Dropdown, store: VisitorStore
) -> None:
    """Make every handler run as the visitor who sent the event, and refuse events on studies that
    this visitor may not read; called after all events are bound. API functions are guarded in
    api_tab."""

    def guard(function: Callable[..., Any], inputs: Sequence[Any]) -> Callable[..., Any] | None:
        if getattr(function, "takes_token", False):
            return None
        study_inputs = [index for index, part in enumerate(inputs) if part is study]
        return _wrap_as_visitor(function, store, study_inputs)

    wrap_handlers(blocks, {"_secret": visitor.secret, "_token": visitor.token}, guard)


def _wrap_as_visitor(
    function: Callable[..., Any], store: VisitorStore, study_inputs: list[int]
) -> Callable[..., Any]:
    """Wrap a handler so that it runs as the visitor who sent the event. The new function takes
    secret and token before the other inputs, and first checks that this visitor may read the
    studies named in the inputs with the indices `study_inputs`. TypeError if the handler is a
    generator or coroutine."""
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise TypeError(f"{function} cannot be guarded: handlers are plain functions here")
    special = _count_special_parameters(function)

    @wraps(function)
    def call(secret: object, token: object, *values: Any) -> Any:
        with visitor_context(secret, token, store):
            for index in study_inputs:
                name = values[index + special]
                if name:
                    store.require_readable(str(name))
            return function(*values)

    own = list(inspect.signature(function).parameters.values())
    first = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for name in ("_secret", "_token")
    ]
    call.__signature__ = inspect.Signature([*first, *own])  # type: ignore[attr-defined]
    call.__annotations__ = _type_hints(function)
    return call


def _count_special_parameters(function: Callable[..., Any]) -> int:
    """Number of a handler's first parameters that Gradio fills with request or event data."""
    hints, count = _type_hints(function), 0
    for name in inspect.signature(function).parameters:
        kind = hints.get(name)
        if not (inspect.isclass(kind) and issubclass(kind, (gr.Request, gr.EventData))):
            break
        count += 1
    return count


def _type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(function if inspect.isroutine(function) else type(function).__call__)


@contextlib.contextmanager
def visitor_context(secret: object, token: object, store: VisitorStore) -> Any:
    """Run the `with` block as the visitor whom `secret` identifies, with the read access that the
    `token` of a share link (or of the page's address) gives. AccessDenied becomes an error message
    on the page, and error messages do not show the store's folder. A share token is not accepted as
    a secret."""
    request = current_request()
    from_link = request.query_params.get(TOKEN_PARAMETER, "") if request is not None else ""
    try:
        own = "" if store.is_share_token(secret) else secret
        sent = getattr(request, "request", None)
        address = identify_client(None, sent).address if sent is not None else ""
        with as_visitor(visitor_from_secret(own, token or from_link, address)):
            yield
    except errors.AccessDenied as error:
        raise gr.Error(escape(error), title=REFUSED_TITLE, duration=None) from None
    except gr.Error as error:
        error.message = _hide_paths(str(error.message), store.path)
        raise


def _hide_paths(text: str, path: Path) -> str:
    """Remove the store's folder from an error message, so that only file names are left."""
    folders = {str(path.parent), str(path.parent.resolve()), escape(path.parent)} - {"/", "."}
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(f"{folder}/", "").replace(folder, "its folder")
    return text
