"""The door of a page that strangers share: every event says whose it is before it does anything.

The secret lives in the browser (gr.BrowserState) and comes along with every event, a link's token
beside it. `guard` puts both in front of the inputs of every handler there is, so that no tab has to
think of it and none can forget it; a test counts them.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final

import gradio as gr
from gradio.context import LocalContext
from gradio.utils import get_type_hints

from components.html.format import escape
from studies.errors import AccessDenied
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import as_visitor, current_visitor, new_secret, visitor_from_secret

STORAGE_KEY: Final = "evenhand-visitor"
"""The name in the browser's storage: fixed, or a restart would orphan every study."""
TOKEN_PARAMETER: Final = "token"
"""In the address of a link that Share made."""
REFUSED_TITLE: Final = "Not yours"


@dataclass(frozen=True)
class VisitorInputs:
    secret: gr.BrowserState
    token: gr.Textbox
    """Of the link by which this page was opened."""


def build(store: Path) -> VisitorInputs:
    secret = gr.BrowserState("", storage_key=STORAGE_KEY, secret=storage_secret(store))
    return VisitorInputs(
        secret, gr.Textbox("", visible="hidden", elem_id="eh-token", label=TOKEN_PARAMETER)
    )


def storage_secret(store: Path) -> str:
    """What the browser's storage is encrypted with: kept beside the store. It is sent to every
    browser and protects nothing on the server; another one would only make every browser a
    stranger. So it is named by EVENHAND_SECRET, or made from the Space's own name, where the disk
    forgets."""
    if named := os.environ.get("EVENHAND_SECRET", ""):
        return named
    path = store.with_name(store.name + "-secret")
    if (space := os.environ.get("SPACE_ID", "")) and not path.exists():
        return hashlib.sha256(f"evenhand {space}".encode()).hexdigest()[:32]
    with contextlib.suppress(FileExistsError):
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(24))
    return path.read_text(encoding="ascii").strip()


def bind(blocks: gr.Blocks, door: VisitorInputs) -> None:
    """A browser that comes for the first time is given its secret; a link's token is kept."""

    def greet(request: gr.Request) -> list[Any]:
        token = str(request.query_params.get(TOKEN_PARAMETER, ""))[:200]
        return [gr.skip() if current_visitor().owner else new_secret(), token]

    blocks.load(
        greet, None, [door.secret, door.token], show_progress="hidden", api_visibility="private"
    )


def guard_events(
    blocks: gr.Blocks, door: VisitorInputs, study: gr.Dropdown, store: VisitorStore
) -> None:
    """Last of all, when every event is bound. What programs call is guarded in api_tab."""
    for event in blocks.fns.values():
        if event.fn is None or getattr(event.fn, "takes_token", False):
            continue
        inputs = list(event.inputs)
        named = [place for place, part in enumerate(inputs) if part is study]
        event.fn = _as_visitor_call(event.fn, store, named)
        event.inputs = [door.secret, door.token, *inputs]
        event.input_parameter_names = ["_secret", "_token", *event.input_parameter_names]
        event.component_prop_inputs = [place + 2 for place in event.component_prop_inputs]


def _as_visitor_call(
    function: Callable[..., Any], store: VisitorStore, named: list[int]
) -> Callable[..., Any]:
    """`named`: which of the inputs are a study's name; checked before the handler runs."""
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise TypeError(f"{function} cannot be guarded: handlers are plain functions here")
    special = _count_special_parameters(function)

    @wraps(function)
    def call(secret: object, token: object, *values: Any) -> Any:
        with visitor_context(secret, token, store):
            for place in named:
                name = values[place + special]
                if name:
                    store.require_readable(str(name))
            return function(*values)

    own = list(inspect.signature(function).parameters.values())
    first = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for name in ("_secret", "_token")
    ]
    call.__signature__ = inspect.Signature([*first, *own])  # type: ignore[attr-defined]
    call.__annotations__ = dict(get_type_hints(function))
    return call


def _count_special_parameters(function: Callable[..., Any]) -> int:
    """Gradio puts requests and event data where the signature has them: how many come first."""
    hints, count = get_type_hints(function), 0
    for name in inspect.signature(function).parameters:
        kind = hints.get(name)
        if not (inspect.isclass(kind) and issubclass(kind, (gr.Request, gr.EventData))):
            break
        count += 1
    return count


@contextlib.contextmanager
def visitor_context(secret: object, token: object, store: VisitorStore) -> Any:
    """One call as one visitor's; what is not theirs is said on the page, and nothing happened.
    Where the store lies is said to nobody."""
    request = LocalContext.request.get(None)
    asked = request.query_params.get(TOKEN_PARAMETER, "") if request is not None else ""
    try:
        with as_visitor(visitor_from_secret(secret, token or asked)):
            yield
    except AccessDenied as error:
        raise gr.Error(escape(error), title=REFUSED_TITLE, duration=None) from None
    except gr.Error as error:
        error.message = _hide_paths(str(error.message), store.path)
        raise


def _hide_paths(text: str, path: Path) -> str:
    """Our errors name files, for whoever owns the machine: here only the names are left."""
    places = {str(path.parent), str(path.parent.resolve()), escape(path.parent)} - {"/", "."}
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(f"{place}/", "").replace(place, "its folder")
    return text
