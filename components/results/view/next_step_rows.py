"""Part of a panel: rows of next steps, each with its button."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from components.html.templates import macros

_VIEW: Final = macros("results/view/view.html")


class NextStep(NamedTuple):
    """A row of a panel of next steps: title, text, label and attributes of the button."""

    title: str
    text: str
    words: str
    opens: Mapping[str, object]


def next_step_rows_html(steps: Iterable[NextStep]) -> Any:
    """HTML rows of next steps, each with its button."""
    return _VIEW.steps(list(steps))
