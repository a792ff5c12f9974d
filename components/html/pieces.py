"""Small parts of the page as HTML: findings, rows of key figures, notices, badges, buttons.

Every text is escaped here by `bold_and_code_html` or `escape`: callers pass plain sentences (with
**bold** and `code`) and unescaped names from data. Clickable elements have the attribute
data-select and need components.layout.widgets.ClickableHTML.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from components.html.format import DASH, count, interval, share, slot_name
from components.html.markup import EMPTY, Markup, attributes, bold_and_code_html, fill, join, link
from components.html.templates import macros
from studies.domain import ERROR_STATUSES, Estimate, Status

TEMPLATE: Final = "html/pieces.html"
STATUS_GLYPHS: Final[Mapping[Status, str]] = {
    "ok": "\u2713",
    "extracted": "\u21b3",
    "unreadable": "?",
    "empty": "\u2205",
    "refusal": "\u2298",
    "filtered": "\u2297",
    "truncated": "\u2026",
    "too_long": "\u21e5",
    "unsupported": "\u2260",
    "error": "!",
}
LegendMark = Literal[
    "first", "second", "tie", "win", "even", "chance", "dot", "diamond", "tick", "band", "ring",
    "limit", "waiting",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kpi:
    """One key figure: label ("Unusable replies"), value ("18"), unit ("of 8,000"), a note below,
    and the text of a link; a click on the link sends the data in `select`."""

    label: str
    value: str
    unit: str = ""
    note: str = ""
    link: str = ""
    select: Any = None
    meter: tuple[float, float] | None = None
    """Shares of the budget, from 0 to 1: spent so far, and expected for the whole study."""

    @property
    def link_html(self) -> Markup:
        return link(bold_and_code_html(self.link), self.select) if self.link else EMPTY

    @property
    def meter_widths(self) -> list[str]:
        """CSS widths of the two bars of the budget (spent so far, and expected in all), such as
        "40.0%"; an empty list without a budget."""
        return [f"{100 * min(max(value, 0.0), 1.0):.1f}%" for value in self.meter or ()]


def share_kpi(
    label: str, estimate: Estimate, *, before: str = "", after: str = "", beside: str = ""
) -> Kpi:
    """Key figure of a share. Its note is `before`, then the interval, n and `beside` (a level to
    compare with, such as "chance 50 %"), then `after`. If the share is unknown, the reason stands
    in place of interval, n and `beside`."""
    if estimate.value is None:
        note = estimate.note or "not measured"
    else:
        note = f"{interval(estimate, scale=100)}, n {count(estimate.n)}".removeprefix(", ")
        note += f"; {beside}" if beside else ""
    return Kpi(label, share(estimate.value), note=f"{before}{note}{after}")


UNUSABLE_RULE: Final = (
    "unusable replies enter no measure but those that name them, unless the preset makes them ties"
)


def failures_title(kinds: Collection[str]) -> str:
    """Title for the calls without a verdict, by their statuses `kinds`: "Failed calls" (without a
    reply), "Unusable replies", or, for both, "Calls without a verdict"."""
    if not ERROR_STATUSES.intersection(kinds):
        return "Unusable replies"
    return "Failed calls" if ERROR_STATUSES.issuperset(kinds) else "Calls without a verdict"


def unusable_replies_kpi(
    failed: int, replies: int, note: str = "unreadable, empty or failed"
) -> Kpi:
    """Key figure of the replies without a usable verdict, `failed` of `replies`, with the text
    `note` and, if there are any, a link that opens them."""
    link, select = ("Open", {"status": "failures"}) if failed else ("", None)
    if not replies:
        return Kpi("Unusable replies", DASH, "", "no replies yet")
    return Kpi("Unusable replies", count(failed), f"of {count(replies)}", note, link, select)


@dataclass(frozen=True, slots=True)
class Action:
    """A button whose label names its effect and cost; a click sends the data in `select`."""

    label: str
    select: Any
    primary: bool = False


def wrap(*parts: str) -> Markup:
    """Wrap finished HTML in the element that sets the page's fonts and spacing."""
    return fill('<div class="eh">{}</div>', join(parts))


def paragraph(text: str | Markup, kind: str = "eh-small eh-under", key: str = "") -> Markup:
    """HTML of a paragraph, such as a note under a table; "" if `text` is empty. `kind`: CSS
    classes. A plain text may contain **bold** and `code`. `key`: where the number that the text
    states is found in the output of `python -m metrics --json`."""
    made = attributes({"class": kind, "data-key": key or None})
    content = text if isinstance(text, Markup) else bold_and_code_html(text)
    return wrap(fill("<p{}>{}</p>", made, content)) if text else EMPTY


def finding_html(title: str, lead: str = "") -> Markup:
    """HTML of a headline, with an optional smaller text below it."""
    return macros(TEMPLATE).finding(title, lead)


def legend_entry(mark: LegendMark, text: str) -> Markup:
    return macros(TEMPLATE).legend_key(mark, text)


def panel_heading(
    title: str, subtitle: str = "", keys: Sequence[tuple[LegendMark, str]] = ()
) -> Markup:
    """HTML of a panel's head: title; subtitle with unit, n and interval; legend (`keys`: pairs of
    mark and text)."""
    return wrap(unwrapped_panel_heading(title, subtitle, keys))


def panel_html(
    title: str,
    subtitle: str,
    body: str,
    *,
    keys: Sequence[tuple[LegendMark, str]] = (),
    how_text: str = "",
) -> Markup:
    """HTML of a whole panel: head as in `panel_heading`, `body` (finished HTML), and the expandable
    part "How is this computed?" with `how_text` if it is not empty."""
    foot = unwrapped_how_computed(how_text) if how_text else ""
    head = unwrapped_panel_heading(title, subtitle, keys)
    return wrap(fill('<section class="eh-panel">{}{}{}</section>', head, body, foot))


def unwrapped_panel_heading(
    title: str, subtitle: str, keys: Sequence[tuple[LegendMark, str]]
) -> Markup:
    """HTML of a panel's head, as `panel_heading` without the element that sets the page's fonts and
    spacing."""
    return macros(TEMPLATE).panel_head(title, subtitle, keys)


def kpi_strip(kpis: Sequence[Kpi]) -> Markup:
    """HTML of a row of key figures; ValueError for more than five."""
    if len(kpis) > 5:
        raise ValueError(f"at most five key figures fit in a row, got {len(kpis)}")
    return macros(TEMPLATE).kpi_strip(kpis)


def button_html(action: Action, small: bool = False) -> Markup:
    kind = "eh-btn" + (" primary" if action.primary else "") + (" small" if small else "")
    select = None if action.select is None else json.dumps(action.select)
    made = attributes({"type": "button", "class": kind, "data-select": select})
    return fill("<button{}>{}</button>", made, action.label)


def status_badge(status: Status, n: int | None = None) -> Markup:
    """HTML badge of a reply's status: sign, word and colour (readable without colour); with `n`,
    also this number of replies."""
    number_of = fill(" <b>{}</b>", count(n)) if n is not None else ""
    values = (status, STATUS_GLYPHS[status], status.replace("_", " "), number_of)
    return fill('<span class="eh-badge s-{}"><i>{}</i>{}{}</span>', *values)


def no_significant_difference_badge() -> Markup:
    """HTML badge for a difference whose interval contains 0; the badge does not mean that the two
    values are equal."""
    return Markup('<span class="eh-badge s-unreadable">no significant difference</span>')


def rating_gap_badge(text: str, tip: str) -> Markup:
    """HTML badge beside the gap between two ratings, with the words `text`, such as "not
    significant" or "not after adjustment"; `tip`: text of its hover card."""
    made = attributes({"class": "eh-badge s-unreadable", "data-tip": tip, "tabindex": "0"})
    return fill("<span{}>{}</span>", made, text)


def verdict_chip(pick: int | Literal["tie"] | None) -> Markup:
    """HTML of a verdict: chosen position (from 0) in its colour, "tie", or a dash for None."""
    if pick is None:
        return fill('<span class="eh-mute">{}</span>', DASH)
    if pick == "tie":
        return Markup('<span class="eh-slot">tie</span>')
    name = ("first", "second")[pick] if pick < 2 else "later"
    return fill('<span class="eh-slot {}">{}</span>', name, slot_name(pick))


def notice_html(
    kind: Literal["warn", "bad", "calm"], title: str, text: str = "", action: Action | None = None
) -> Markup:
    """HTML of a notice: `title` in bold, then `text`, then the button of `action`.

    `kind` is "warn" (warning), "bad" (error) or "calm" (information). `text` says, where it
    applies, how often the problem occurs and how it changes the numbers.
    """
    return macros(TEMPLATE).notice(kind, title, text, button_html(action) if action else "")


def empty_state(title: str, why: str, action: Action | None = None) -> Markup:
    """HTML shown in place of missing data: `title` names what is missing, `why` the reason; then
    the button of `action`."""
    return macros(TEMPLATE).empty_state(title, why, button_html(action) if action else "")


def how_computed(text: str, json_keys: Sequence[str] = ()) -> Markup:
    """HTML of the expandable part "How is this computed?": `text` on formula and resampling, then
    `json_keys`, which say where the numbers are found in the output of `python -m metrics
    --json`."""
    return wrap(unwrapped_how_computed(text, json_keys))


def unwrapped_how_computed(text: str, json_keys: Sequence[str] = ()) -> Markup:
    """HTML of `how_computed` without the element that sets the page's fonts and spacing.
    `json_keys`: paths in the output of `python -m metrics --json`. If a path exists only with an
    option of this command, the option comes before it: "--by category: by.*"."""
    keys = [(key.rpartition(": ")[0], key.rpartition(": ")[2]) for key in json_keys]
    return macros(TEMPLATE).how_computed(text, keys)


def simulated_note(judges: Sequence[str]) -> str:
    """Sentence that these judges are simulated."""
    who = " and ".join(f"“{name}”" for name in judges) if len(judges) < 3 else ", ".join(judges)
    return f"Simulated judges, with parameters set in the study file: {who}."


def data_note(text: str) -> Markup:
    """HTML of the last line of a view, which states whether its data are real or simulated."""
    return wrap(fill('<p class="eh-src"><b>Data.</b> {}</p>', bold_and_code_html(text)))


def run_pill(
    text: str,
    kind: Literal["running", "waiting", "bad"] = "running",
    calls: tuple[int, int] | None = None,
) -> Markup:
    """HTML of the state of the run in the header, such as "Running 65 %"; a phone shows only the
    last word, "65 %". `kind` sets the colour. `calls`: numbers of calls done and planned."""
    word, _, last = text.rpartition(" ")
    counts = {"data-done": calls[0], "data-planned": calls[1]} if calls else {}
    return macros(TEMPLATE).run_pill(kind, attributes(counts), word, last)


def brand_html() -> Markup:
    """HTML of the logo and the name "Evenhand", after a link "Skip to the content"."""
    return wrap(Markup('<a class="eh-skip" href="#eh-tabs">Skip to the content</a>'), logo_html())


def logo_html() -> Markup:
    return macros(TEMPLATE).logo()
