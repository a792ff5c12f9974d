"""Texts of the help, shown by assets/page.js: keyboard keys of the page, and steps of the tour."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from components.html.markup import Markup, json_script
from components.layout.glossary import glossary_data


class TourStep(NamedTuple):
    """One step of the tour: the tab it opens, the element it points at, and its text."""

    tab: str
    anchor: str
    title: str
    text: str


TOUR: Final = (
    TourStep(
        "home", "#eh-again", "Home: start here",
        "Try the demo, or open your own data: choose files, drop them or paste a table.",
    ),
    TourStep(
        "study", "#eh-study-title", "Study: data, judge, prompt",
        "Choose what is compared and who judges. The cost is shown before any call is made.",
    ),
    TourStep(
        "run", "#eh-run-finding", "Run: the calls as they are made",
        "Progress, cost and the last replies. A stopped run continues where it stopped.",
    ),
    TourStep(
        "results", "#eh-results-view", "Results: the findings",
        "How often verdicts flip, which model leads, and whether swapping changes the ranking.",
    ),
    TourStep(
        "inspect", ".eh-inspect-filters", "Inspect: the replies behind a number",
        "Click a mark in Results to read both answers and the judge's reply in each order.",
    ),
    TourStep(
        "", "#eh-share", "Share: link, files, report",
        "Send a link to what you see, or save tables and a report. Press ? for help.",
    ),
)  # fmt: skip
KEYS: Final[Sequence[tuple[str, Sequence[tuple[str, str]]]]] = (
    (
        "Everywhere",
        (
            ("?", "open or close this help"),
            ("Esc", "close a menu, a side panel, an explanation or the tour"),
            ("Tab", "go to the next control; the first press offers to skip the header"),
            ("← →", "go to the previous or next tab, view or tour step"),
        ),
    ),
    ("Home", (("/", "search my studies"),)),
    ("Run", (("p", "pause or continue"),)),
    ("Inspect", (("j →", "next comparison"), ("k ←", "previous comparison"), ("/", "search"))),
    (
        "Vote",
        (
            ("← →", "the left or the right answer is better"),
            ("↓", "a tie"),
            (
                "1 2 3 4 5",
                "on ballots without arrow keys: choose the 1st to 5th button from the left",
            ),
            ("n", "skip this ballot, or show the next one"),
            ("b", "show the previous ballot"),
            ("u", "undo the last vote"),
            ("h", "offensive or harmful"),
        ),
    ),
)
"""Tab -> its keyboard keys and their effects; keys with the same effect are separated by spaces."""


def help_texts_script_html() -> Markup:
    """Script tag with glossary, keys and tour as JSON, for the head of the page."""
    data: dict[str, Any] = {"terms": glossary_data(), "keys": KEYS, "tour": TOUR}
    return json_script("eh-help-data", data)
