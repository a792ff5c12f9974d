"""The list of stored studies on the Home tab: their state, actions on them, and example studies."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from components.home.example_pictures import picture
from components.html.format import count, share
from components.html.markup import EMPTY, Markup, attributes, fill, join, link_button
from components.html.pieces import empty_state, panel_head, wrap
from components.study.plan import demo_studies
from components.study.plan.example_files import example_names, example_title
from studies.domain import HUMAN_PREFIX, USABLE_STATUSES
from studies.errors import EvenhandError
from studies.store.store import Store, StudySummary

Question = Literal["", "rename", "delete"]
MAX_NAME: Final = 120
"""Maximum characters of a study's name."""
MAX_ROWS: Final = 8
"""Number of studies shown in the list until "All ... studies" is pressed."""
SEARCH_FIELD: Final = Markup(
    '<div class="eh"><input type="search" class="eh-in" id="eh-find" data-keys="/" '
    'placeholder="Search" aria-label="Search my studies" autocomplete="off">'
    '<span id="eh-find-none" class="eh-small eh-mute" role="status"></span></div>'
)
"""Search field of the list; assets/page.js hides the rows that do not match."""

EXAMPLES: Final = (
    ("grade-score-probe", "Four options, rotated", "Grade Score on the built-in questions"),
    ("mt-bench-probe", "Two answers, both orders", "MT-Bench prompts on the built-in questions"),
    ("visit-bench-probe", "A leaderboard by Elo", "VisIT-Bench on the built-in questions"),
    ("creation-mmbench-probe", "Against a baseline", "Creation-MMBench on the built-in questions"),
    (
        "label-probability-probe",
        "Label probabilities",
        "the judge's probability of each label, such as A or B, instead of one verdict",
    ),
    (
        "arena-hard-probe",
        "Five levels",
        "Arena-Hard prompts; each model is compared with a baseline",
    ),
)
"""Examples: file name, title, and one line of text."""


Dot = Literal["ready", "running", "unfinished", "done"]
"""States of a study that a coloured dot shows; the text beside the dot names the state."""


@dataclass(frozen=True, slots=True)
class StudyState:
    """State of a study in the list: its text, the tab that a click opens, the colour of its dot."""

    text: str
    tab: str
    dot: Dot


def study_state(line: StudySummary, running: Iterable[str], unusable: int = 0) -> StudyState:
    """State of a study; `unusable`: number of its replies without a usable verdict."""
    if line.name in running:
        done = share(line.judged / max(1, line.planned), 0)
        return StudyState(f"Running, {done}", "run", "running")
    if line.recorded:
        return StudyState("Recorded", "results", "done")
    if not line.planned:
        return StudyState("Not run yet", "study", "ready")
    if not line.judged:
        return StudyState(f"Ready: {count(line.planned, 'call')}", "study", "ready")
    if line.judged < line.planned:
        left = count(line.planned - line.judged, "call")
        return StudyState(f"{left} left", "run", "unfinished")
    failed = f", {count(unusable)} unusable" if unusable else ""
    return StudyState(f"Done{failed}", "results", "done")


def _count_unusable(store: Store, line: StudySummary) -> int:
    """Number of unusable replies of a study whose calls have all been made; else 0."""
    if line.recorded or line.judged < line.planned:
        return 0
    rows = store.ask_counts(line.name)
    return sum(n for *_, status, n in rows if status not in (*USABLE_STATUSES, "pending"))


def studies_html(
    store: Store, running: Sequence[str], question: Question = "", asked: str = ""
) -> Markup:
    """HTML list of the studies. The row of the study `asked` contains, for `question` "rename", a
    field for its new name; for "delete", the question whether to delete it."""
    lines = sorted(store.studies(), key=lambda line: is_demo(line.name))  # the demo last
    rows = [
        _row_html(
            store,
            line,
            study_state(line, running, _count_unusable(store, line)),
            question if line.name == asked else "",
            more=place >= MAX_ROWS,
        )
        for place, line in enumerate(lines)
    ]
    if not rows:
        return empty_state("No studies yet.", "Studies that you run or open are listed here.")
    heads = fill(
        "<thead><tr><th>Name</th><th>Changed</th><th>Judges</th>"
        '<th class="eh-num">Calls</th><th>State</th><th><span class="eh-vh">Actions</span></th>'
        "</tr></thead>"
    )
    table = fill('<table class="eh-tbl eh-studies">{}<tbody>{}</tbody></table>', heads, join(rows))
    return wrap(table, _show_all(len(rows)))


def _show_all(studies: int) -> Markup:
    """HTML button that shows all rows; empty for at most MAX_ROWS rows. Until it is pressed,
    assets/page.js shows only the first MAX_ROWS rows and those that a search finds."""
    if studies <= MAX_ROWS:
        return EMPTY
    return fill(
        '<p class="eh-all"><button type="button" class="eh-link" data-all-studies>All {} studies'
        "</button></p>",
        count(studies),
    )


def _row_html(
    store: Store, line: StudySummary, state: StudyState, question: Question, *, more: bool
) -> Markup:
    calls = (
        count(line.planned)
        if line.recorded or line.judged == line.planned
        else f"{count(line.judged)} of {count(line.planned)}"
    )
    judges = _judges_text(store, line.name)
    day = day_text(line.updated, time.time())
    hidden = more and not question
    return fill(
        '<tr{}><th>{}<span class="facts">{}</span></th><td class="eh-mute">{}</td><td>{}</td>'
        '<td class="eh-num">{}</td><td><i class="eh-state {}"></i>{}</td><td class="op">{}</td>'
        "</tr>",
        attributes(
            {
                "data-find": f"{line.name} {judges} {state.text}",
                "data-more": "" if hidden else None,
                "hidden": "" if hidden else None,
            }
        ),
        _name_html(line, state, question),
        f"{day} \u00b7 {calls} calls",
        day,
        judges,
        calls,
        state.dot,
        state.text,
        _actions_html(store, line, state, question),
    )


def _judges_text(store: Store, name: str) -> str:
    """Name of the only judge, or the number of judges."""
    judges = {judge for judge, *_ in store.ask_counts(name) if not judge.startswith(HUMAN_PREFIX)}
    if not judges:
        with contextlib.suppress(EvenhandError):  # opening the study reports the error
            judges = {judge.name for judge in store.study(name).judges}
    return next(iter(judges)) if len(judges) == 1 else count(len(judges), "judge") if judges else ""


def _name_html(line: StudySummary, state: StudyState, question: Question) -> Markup:
    if question == "rename":
        return fill(
            '<input class="eh-in" data-field="{}" value="{}" maxlength="{}" aria-label="{}">',
            line.name,
            line.name,
            MAX_NAME,
            f"New name of {line.name}",
        )
    return link_button(line.name, _click("open", line.name, state.tab))


def _click(act: str, name: str, tab: str = "") -> dict[str, object]:
    words = {"delete now": "Delete", "show": "Cancel the change of"}
    told = f"{words.get(act, act.capitalize())} {name}"
    return {"data-select": json.dumps({"do": act, "study": name, "tab": tab}), "aria-label": told}


def _actions_html(
    store: Store, line: StudySummary, state: StudyState, question: Question
) -> Markup:
    name = line.name
    cancel = link_button("Cancel", {**_click("show", name), "data-cancel": ""})
    if question == "delete":
        return fill(
            "<span>Delete {} with up to {}?</span> {} {}",
            name,
            count(line.judged, "reply"),
            link_button("Delete", _click("delete now", name)),
            cancel,
        )
    if question == "rename":
        return fill('<span class="eh-mute">Enter saves</span> {}', cancel)
    acts = [("Open", "open"), ("Duplicate", "duplicate")]
    if store.owns(name) and not is_demo(name):
        acts = [acts[0], ("Rename", "rename"), acts[1], ("Delete \u2026", "delete")]
    entries = join(
        fill(
            "<button{}>{}</button>",
            attributes({"type": "button", **_click(act, name, state.tab)}),
            words,
        )
        for words, act in acts
    )
    return fill(
        '<details class="eh-pop eh-row-menu" data-keep="{}"><summary class="eh-btn ghost" '
        'aria-label="{}">\u22ef</summary><div class="list">{}</div></details>',
        f"menu of {name}",
        f"Actions for {name}",
        entries,
    )


def is_demo(name: str) -> bool:
    return name in demo_studies.DEMO_STUDIES


def day_text(then: float, now: float) -> str:
    """A day in words relative to `now`: "today, 14:20", "yesterday", "9 Nov", or with the year."""
    day, today = time.localtime(then), time.localtime(now)
    if day[:3] == today[:3]:
        return time.strftime("today, %H:%M", day)
    if day[:3] == time.localtime(now - 86_400)[:3]:
        return "yesterday"
    text = time.strftime("%d %b", day).lstrip("0")
    return text if day[0] == today[0] else f"{text} {day[0]}"


def examples_html() -> Markup:
    """HTML of the example studies as cards, each with a drawing, a title and one line of text."""
    known = example_names()
    cards = [
        fill(
            '<li>{}<span class="eh-lead">{}</span><span class="eh-small eh-mute">{}</span></li>',
            picture(name),
            link_button(
                title, _click("example", name) | {"aria-label": f"{title}: open as a study"}
            ),
            text,
        )
        for name, title, text in EXAMPLES
        if name in known
    ]
    return wrap(
        fill(
            '<section class="eh-panel"><div class="eh-so-far">{}{}</div>{}'
            '<ul class="eh-plain eh-examples">{}</ul></section>',
            panel_head(
                "Examples",
                "each example opens as a study that you can change; no call is made before you "
                "press Run",
                (),
            ),
            fill(
                '<button type="button" class="eh-link" data-unfold="#eh-all-examples" '
                'aria-expanded="false" aria-controls="eh-all-examples">All {}</button>',
                count(len(known)),
            ),
            _all_examples(known),
            join(cards),
        )
    )


def _all_examples(names: Sequence[str]) -> Markup:
    """HTML list of all example studies by name, shown when "All" is pressed."""
    entries = join(
        fill(
            "<li>{}</li>",
            link_button(
                example_title(name),
                _click("example", name) | {"aria-label": f"{example_title(name)}: open as a study"},
            ),
        )
        for name in names
    )
    return fill('<ul class="eh-plain" id="eh-all-examples">{}</ul>', entries)
