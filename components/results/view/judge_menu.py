"""Menu that opens at a judge's name, with links such as to the judge's report card."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from components.html.markup import Markup, fill, join

JudgeMenu = Callable[[str], Markup]
"""Function: name of a judge -> HTML of the name with its menu."""


def judge_menu(name: str, targets: Mapping[str, Mapping[str, str]]) -> Markup:
    """HTML of a name that opens a menu; `targets`: menu entry -> query parameters of its page."""
    entries = join(
        fill(
            '<button type="button" data-go="{}">{}</button>',
            json.dumps(dict(values), ensure_ascii=False),
            text,
        )
        for text, values in targets.items()
    )
    return fill(
        '<details class="eh-pop eh-who"><summary>{}</summary><div class="list">{}</div></details>',
        name,
        entries,
    )
