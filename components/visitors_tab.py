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

from components.format import safe
from studies.errors import Forbidden
from studies.guarded import VisitorsStore
from studies.visitors import here, new_secret, visiting, visitor_of

STORED: Final = "evenhand-visitor"
"""The name in the browser's storage: fixed, or a restart would orphan every study."""
TOKEN: Final = "token"
"""In the address of a link that Share made."""
REFUSED: Final = "Not yours"


@dataclass(frozen=True)
class Door:
    secret: gr.BrowserState
    token: gr.Textbox
    """Of the link by which this page was opened."""


def build(store: Path) -> Door:
    secret = gr.BrowserState("", storage_key=STORED, secret=kept_secret(store))
    return Door(secret, gr.Textbox("", visible="hidden", elem_id="eh-token", label=TOKEN))


def kept_secret(store: Path) -> str:
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


def bind(blocks: gr.Blocks, door: Door) -> None:
    """A browser that comes for the first time is given its secret; a link's token is kept."""

    def greet(request: gr.Request) -> list[Any]:
        token = str(request.query_params.get(TOKEN, ""))[:200]
        return [gr.skip() if here().owner else new_secret(), token]

    blocks.load(
        greet, None, [door.secret, door.token], show_progress="hidden", api_visibility="private"
    )


def guard(blocks: gr.Blocks, door: Door, study: gr.Dropdown, store: VisitorsStore) -> None:
    """Last of all, when every event is bound. What programs call is guarded in api_tab."""
    for event in blocks.fns.values():
        if event.fn is None or getattr(event.fn, "takes_token", False):
            continue
        inputs = list(event.inputs)
        named = [place for place, part in enumerate(inputs) if part is study]
        event.fn = _guarded(event.fn, store, named)
        event.inputs = [door.secret, door.token, *inputs]
        event.input_parameter_names = ["_secret", "_token", *event.input_parameter_names]
        event.component_prop_inputs = [place + 2 for place in event.component_prop_inputs]


def _guarded(
    function: Callable[..., Any], store: VisitorsStore, named: list[int]
) -> Callable[..., Any]:
    """`named`: which of the inputs are a study's name; checked before the handler runs."""
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise TypeError(f"{function} cannot be guarded: handlers are plain functions here")
    special = _special_before_inputs(function)

    @wraps(function)
    def call(secret: object, token: object, *values: Any) -> Any:
        with entering(secret, token, store):
            for place in named:
                name = values[place + special]
                if name:
                    store.must_see(str(name))
            return function(*values)

    own = list(inspect.signature(function).parameters.values())
    first = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for name in ("_secret", "_token")
    ]
    call.__signature__ = inspect.Signature([*first, *own])  # type: ignore[attr-defined]
    call.__annotations__ = dict(get_type_hints(function))
    return call


def _special_before_inputs(function: Callable[..., Any]) -> int:
    """Gradio puts requests and event data where the signature has them: how many come first."""
    hints, count = get_type_hints(function), 0
    for name in inspect.signature(function).parameters:
        kind = hints.get(name)
        if not (inspect.isclass(kind) and issubclass(kind, (gr.Request, gr.EventData))):
            break
        count += 1
    return count


@contextlib.contextmanager
def entering(secret: object, token: object, store: VisitorsStore) -> Any:
    """One call as one visitor's; what is not theirs is said on the page, and nothing happened.
    Where the store lies is said to nobody."""
    request = LocalContext.request.get(None)
    asked = request.query_params.get(TOKEN, "") if request is not None else ""
    try:
        with visiting(visitor_of(secret, token or asked)):
            yield
    except Forbidden as error:
        raise gr.Error(safe(error), title=REFUSED, duration=None) from None
    except gr.Error as error:
        error.message = _without_places(str(error.message), store.path)
        raise


def _without_places(text: str, path: Path) -> str:
    """Our errors name files, for whoever owns the machine: here only the names are left."""
    places = {str(path.parent), str(path.parent.resolve()), safe(path.parent)} - {"/", "."}
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(f"{place}/", "").replace(place, "its folder")
    return text
