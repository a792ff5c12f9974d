"""The parts of a results view, as the Results tab and its views know them. No gradio here.

A view is a module `<name>_tab.py` with

    NAME                            the word on the switch
    build() -> Parts                lays out its panels, inside the Results tab
    tell(scene) -> (title, lead)    the finding as a sentence; empty: the view tells it itself
    show(scene, **controls) -> []   one value for each of Parts.shown, in their order
    settle(scene, wanted) -> {}     optional: each control as a new study or an address wants it
    kpis(scene) -> str              optional: its own strip of numbers instead of the usual one
    bind(parts)                     optional: connects what only this view knows (an upload)

and stands in results_tab.VIEWS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ViewParts:
    """What a view built."""

    outputs: list[Any]
    """Filled by show()."""
    clickable: list[Any] = field(default_factory=list)
    """A click on a mark in these opens the judgements behind it."""
    controls: dict[str, Any] = field(default_factory=dict)
    """The view's own settings, by the name that the address and show() know them by."""
    partial_redraws: dict[str, tuple[list[Any], Callable[..., list[Any]]]] = field(
        default_factory=dict
    )
    """A control whose change redraws only these, by this function of (scene, **controls)."""
    private_components: dict[str, Any] = field(default_factory=dict)
    """What only the view's own bind() needs."""


def pick_choice(wanted: str | None, known: Sequence[str], default: str | None = None) -> str | None:
    """What an address asks for, if there is such a thing; else the default, else the first."""
    if wanted in known:
        return wanted
    return default if default is not None else known[0] if known else None
