"""HTML of the filter bar in the Inspect tab: filter buttons with counts, menus, search field."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from components.html.format import count
from components.html.markup import EMPTY, Markup
from components.html.pieces import wrap
from components.inspect.html_parts import html
from components.inspect.load_comparison import InspectedStudy
from components.inspect.url_selection import FAILURES, NO_SUSPECTS, ONLY_SUSPECTS, Selection
from components.inspect.verification_filter import ANY_CHECK, VERIFICATION_KINDS
from metrics.remedies.rule_names import rule_texts_of_id
from studies.domain import STATUSES, USABLE_STATUSES
from studies.spec.combine_rules import JUDGE_SEPARATOR

FilterButton = tuple[str, int | None, Mapping[str, Any], bool]
"""Label, number of matches (None: no number is shown), filters that a click sets, whether it is
active."""
FilterMenu = tuple[str, str, str, Mapping[str, str]]
"""Field of `Selection` that the menu sets, label, value chosen now, and {value of a choice: its
text}."""
_MENUS: Final = {
    "judge": "Judge",
    "prompt": "Prompt",
    "category": "Category",
    "contestant": "Model",
    "against": "Against",
}


def filter_bar(inspected: InspectedStudy) -> Markup:
    """HTML of the filter bar; an active filter button has a dark edge and a × to remove it. Empty
    if the study does not exist, or has no comparison and no filter is set."""
    if inspected.choices is None or not (inspected.selection.has_filters or inspected.total):
        return EMPTY
    selection = inspected.selection
    menus = [*_filter_menus(selection, inspected.choices), *_verification_menu(inspected)]
    pills = _filter_buttons(selection, inspected.counts or {})
    return wrap(html.filter_bar(pills, menus, selection.text))


CHECKED_WORDS: Final = {
    "pass_good": "Good answers passed",
    "pass_bad": "False passes",
    "fail_good": "False fails",
    "fail_bad": "Bad answers failed",
}
"""Names of the cells of the pass/fail confusion matrix (values of `Selection.checked`)."""


def _filter_buttons(selection: Selection, counts: Mapping[str, int]) -> Iterator[FilterButton]:
    if (flips := counts.get("flipped")) is not None or selection.flipped:
        yield "Flipped", flips, {"flipped": not selection.flipped}, selection.flipped
    if selection.flipped or selection.toward:
        for end in ("first", "second"):
            on = selection.toward == end
            wanted = {"flipped": True, "toward": "" if on else end}
            yield f"Toward {end}", counts[end], wanted, on
    yield from _status_filter_buttons(selection.status, counts)
    if counts["noise"] or selection.noise:
        wanted = {"noise": not selection.noise}
        yield "Changes on a repeat", counts["noise"], wanted, selection.noise
    if counts["suspect"] or selection.suspect == ONLY_SUSPECTS:
        on = selection.suspect == ONLY_SUSPECTS
        wanted = {"suspect": "" if on else ONLY_SUSPECTS}
        yield "Injection suspects", counts["suspect"], wanted, on
    if selection.suspect == NO_SUSPECTS:
        yield "Without injection suspects", None, {"suspect": ""}, True
    if selection.no_twins:
        yield "Without twins", None, {"no_twins": False}, True
    if selection.slot is not None:
        which = "tie" if selection.slot < 0 else f"position {selection.slot + 1}"
        yield f"Picked {which}", None, {"slot": None}, True
    if selection.unlike:
        yield f"Differs from {selection.unlike}", None, {"unlike": ""}, True
    if selection.checked:
        words = CHECKED_WORDS.get(selection.checked, selection.checked)
        yield words, None, {"checked": ""}, True
    if selection.rule:
        id, *judges = selection.rule.split(JUDGE_SEPARATOR)
        title = rule_texts_of_id(id, judges or [selection.judge]).title
        yield f"Changed by: {title}", None, {"rule": ""}, True
    if selection.item:
        yield f"Item {selection.item}", None, {"item": ""}, True


def _status_filter_buttons(status: str, counts: Mapping[str, int]) -> Iterator[FilterButton]:
    on = status == FAILURES
    yield "With unusable replies", counts[FAILURES], {"status": "" if on else FAILURES}, on
    if not status:
        return
    kinds = [name for name in STATUSES if name not in USABLE_STATUSES and counts[name]]
    if on and len(kinds) < 2:
        return
    for name in kinds if status in (FAILURES, *kinds) else [*kinds, status]:
        on = status == name
        wanted = {"status": FAILURES if on else name}
        yield name.replace("_", " ").capitalize(), counts.get(name, 0), wanted, on


def _filter_menus(
    selection: Selection, choices: Mapping[str, Sequence[str]]
) -> Iterator[FilterMenu]:
    for name, label in _MENUS.items():
        value = getattr(selection, name)
        offered = list(choices["contestant" if name == "against" else name])
        if name == "against":
            if not (selection.contestant or value):
                continue
            offered = [who for who in offered if who != selection.contestant]
        if len(offered) > 1 or value:
            known = [*offered] if not value or value in offered else [*offered, value]
            everything = {"": "all" if name != "against" else "any model"}
            yield name, label, value, everything | {each: each for each in known}


def _verification_menu(inspected: InspectedStudy) -> list[FilterMenu]:
    """The menu "Verified" (in a list, or an empty list if it is not needed). Its choices are the
    kinds of verification by people that match at least one comparison, and the kind that is
    selected now."""
    value, left = inspected.selection.verified, inspected.verified or {}
    if not left.get(ANY_CHECK) and not value:
        return []
    offered = {
        kind: f"{label} ({count(left[kind])})"
        for kind, label in VERIFICATION_KINDS.items()
        if left.get(kind)
    }
    if value and value not in offered:
        offered[value] = VERIFICATION_KINDS.get(value, value)
    return [("verified", "Verified", value, {"": "all", **offered})]
