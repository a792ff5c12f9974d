"""Parts of panels: rows of next steps with buttons, and the menu that opens at a judge's name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from components.html.markup import Markup
from components.html.templates import macros

JudgeMenu = Callable[[str], Markup]
"""Function: name of a judge -> HTML of the name with its menu."""
_VIEW: Final = macros("results/view/view.html")


class NextStep(NamedTuple):
    """A row of a panel of next steps: title, text, label and attributes of the button."""

    title: str
    text: str
    words: str
    opens: Mapping[str, object]


def step_rows(steps: Iterable[NextStep]) -> Any:
    """HTML rows of next steps, each with its button."""
    return _VIEW.steps(list(steps))


def judge_menu(name: str, targets: Mapping[str, Mapping[str, str]]) -> Any:
    """HTML of a name that opens a menu; `targets`: menu entry -> query parameters of its page."""
    named = [(text, json.dumps(dict(to), ensure_ascii=False)) for text, to in targets.items()]
    return _VIEW.menu(name, named)
