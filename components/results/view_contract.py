"""Contract between the Results tab and its views, without Gradio.

A view is a module `<name>/tab.py` listed in results_tab.VIEWS, with

    NAME                                         label on the switch
    build() -> ViewParts                         lay out the panels inside the Results tab
    finding(filtered_study) -> (title, lead)     headline; empty if the view draws its own
    render(filtered_study, **controls) -> []     one value per ViewParts.outputs, in order
    initial_controls(filtered_study, wanted)     optional: control values for a new study
    CHANGING_CONTROLS, available_choices()       optional: switches whose choices grow in a run
    kpis(filtered_study) -> str                  optional: key figures in place of the default ones
    bind(parts)                                  optional: events of this view only (an upload)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True)
class ViewParts:
    """The Gradio components that a view has built."""

    outputs: list[Any]
    """Components that render() fills, in the order of its values."""
    clickable: list[Any] = field(default_factory=list)
    """Components whose marks open the judgements behind them on a click."""
    controls: dict[str, Any] = field(default_factory=dict)
    """Settings of the view, by their name in the page address and in render()."""
    partial_redraws: dict[str, tuple[list[Any], Callable[..., list[Any]]]] = field(
        default_factory=dict
    )
    """For each control, the outputs redrawn when it changes, and the function that renders them."""
    private_components: dict[str, Any] = field(default_factory=dict)
    """Components used only by the view's own bind()."""


RENAMED_CHOICES: Final[Mapping[str, str]] = {
    "Above the coin": "Above chance",
    "Agreement": "People",
    "as the study says": "study default",
    "each order counts": "count each order",
    "2–0 wins, else a tie": "win only if both agree",
    "2–0 wins, unreadable is a tie": "win only if both agree, unreadable is a tie",
}
"""Present text of each renamed choice by its former text, so that older addresses still work."""


def pick_choice(wanted: str | None, known: Sequence[str], default: str | None = None) -> str | None:
    """The choice named in the page address if it exists, else the default, else the first
    choice."""
    if wanted not in known:
        wanted = RENAMED_CHOICES.get(wanted or "", wanted)
    if wanted in known:
        return wanted
    return default if default is not None else known[0] if known else None
