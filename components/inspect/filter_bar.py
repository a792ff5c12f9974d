"""HTML of the filter bar in the Inspect tab: filter buttons with counts, menus, search field."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from components.html.format import count
from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.html.panel import wrap
from components.inspect.load_comparison import InspectedStudy
from components.inspect.url_selection import FAILURES, NO_SUSPECTS, ONLY_SUSPECTS, Selection
from components.inspect.verification_filter import ANY_CHECK, VERIFICATION_KINDS
from metrics.remedies.rule_names import rule_words_of_id
from studies.domain import STATUSES, USABLE_STATUSES
from studies.spec.combine_rules import JUDGE_SEPARATOR

_MENUS: Final = {
    "judge": "Judge",
    "prompt": "Prompt",
    "category": "Category",
    "contestant": "Model",
    "against": "Against",
}
_CHECKBOX: Final = Markup('<input type="checkbox" aria-label="All filters">')
_MORE_FILTERS: Final = fill('<label class="eh-fpill eh-more">{}All filters</label>', _CHECKBOX)
"""Checkbox that opens the menus and the search on a phone."""


def filter_bar(inspected: InspectedStudy) -> Markup:
    """HTML of the filter bar; an active filter button has a dark edge and a × to remove it. Empty
    if the study does not exist, or has no comparison and no filter is set."""
    if inspected.choices is None or not (inspected.selection.has_filters or inspected.total):
        return EMPTY
    pills = join(_filter_buttons(inspected.selection, inspected.counts or {}))
    menus = join(_filter_menus(inspected.selection, inspected.choices)) + _verified_menu(inspected)
    return wrap(
        fill(
            '<h1 class="eh-vh">Inspect replies</h1><div class="eh-filters">{}{}{}{}</div>',
            pills,
            _MORE_FILTERS,
            menus,
            _search_field(inspected.selection.text),
        )
    )


CHECKED_WORDS: Final = {
    "pass_good": "Good answers passed",
    "pass_bad": "False passes",
    "fail_good": "False fails",
    "fail_bad": "Bad answers failed",
}
"""Names of the cells of the pass/fail confusion matrix (values of `Selection.checked`)."""


def _filter_buttons(selection: Selection, counts: Mapping[str, int]) -> Iterable[str]:
    yield _filter_button(
        "Flipped", counts["flipped"], {"flipped": not selection.flipped}, selection.flipped
    )
    if selection.flipped or selection.toward:
        for end in ("first", "second"):
            on = selection.toward == end
            wanted = {"flipped": True, "toward": "" if on else end}
            yield _filter_button(f"Toward {end}", counts[end], wanted, on)
    yield from _status_filter_buttons(selection.status, counts)
    if counts["noise"] or selection.noise:
        wanted = {"noise": not selection.noise}
        yield _filter_button("Changes on a repeat", counts["noise"], wanted, selection.noise)
    if counts["suspect"] or selection.suspect == ONLY_SUSPECTS:
        on = selection.suspect == ONLY_SUSPECTS
        yield _filter_button(
            "Injection suspects", counts["suspect"], {"suspect": "" if on else ONLY_SUSPECTS}, on
        )
    if selection.suspect == NO_SUSPECTS:
        yield _filter_button("Without injection suspects", None, {"suspect": ""}, True)
    if selection.no_twins:
        yield _filter_button("Without twins", None, {"no_twins": False}, True)
    if selection.slot is not None:
        which = "tie" if selection.slot < 0 else f"position {selection.slot + 1}"
        yield _filter_button(f"Picked {which}", None, {"slot": None}, True)
    if selection.unlike:
        yield _filter_button(f"Differs from {selection.unlike}", None, {"unlike": ""}, True)
    if selection.checked:
        words = CHECKED_WORDS.get(selection.checked, selection.checked)
        yield _filter_button(words, None, {"checked": ""}, True)
    if selection.rule:
        id, *judges = selection.rule.split(JUDGE_SEPARATOR)
        title = rule_words_of_id(id, judges or [selection.judge]).title
        yield _filter_button(f"Changed by: {title}", None, {"rule": ""}, True)
    if selection.item:
        yield _filter_button(f"Item {selection.item}", None, {"item": ""}, True)


def _status_filter_buttons(status: str, counts: Mapping[str, int]) -> Iterable[str]:
    on = status == FAILURES
    yield _filter_button(
        "Unusable replies", counts[FAILURES], {"status": "" if on else FAILURES}, on
    )
    if not status:
        return
    kinds = [name for name in STATUSES if name not in USABLE_STATUSES and counts[name]]
    if on and len(kinds) < 2:
        return
    for name in kinds if status in (FAILURES, *kinds) else [*kinds, status]:
        on = status == name
        wanted = {"status": FAILURES if on else name}
        yield _filter_button(name.replace("_", " ").capitalize(), counts.get(name, 0), wanted, on)


def _filter_button(label: str, n: int | None, wanted: Mapping[str, Any], on: bool) -> Markup:
    """HTML of a filter button with the number `n` of its matches; a click sets the filters
    `wanted`, `on` says whether it is active."""
    number_of = "" if n is None else fill(" <b>{}</b>", count(n))
    close = Markup('<span class="x" aria-hidden="true">\u00d7</span>') if on else ""
    made = attributes(
        {
            "type": "button",
            "class": "eh-fpill on" if on else "eh-fpill",
            "aria-pressed": "true" if on else "false",
            "data-select": json.dumps({"set": wanted}),
        }
    )
    return fill("<button{}>{}{}{}</button>", made, label, number_of, close)


def _filter_menus(selection: Selection, choices: Mapping[str, Sequence[str]]) -> Iterable[str]:
    for name, label in _MENUS.items():
        value = getattr(selection, name)
        offered = list(choices["contestant" if name == "against" else name])
        if name == "against":
            if not (selection.contestant or value):
                continue
            offered = [who for who in offered if who != selection.contestant]
        if len(offered) > 1 or value:
            yield _filter_menu(name, label, value, offered)


def _filter_menu(name: str, label: str, value: str, offered: Sequence[str]) -> Markup:
    known = [*offered] if not value or value in offered else [*offered, value]
    everything = {"": "all" if name != "against" else "any model"}
    return _select_element(name, label, value, everything | {each: each for each in known})


def _select_element(name: str, label: str, value: str, offered: Mapping[str, str]) -> Markup:
    options = join(_option_element(each, text, each == value) for each, text in offered.items())
    on = " on" if value else ""
    return fill(
        '<label class="eh-menu{}"><span>{}</span><select data-field="{}">{}</select></label>',
        on,
        label,
        name,
        options,
    )


def _verified_menu(inspected: InspectedStudy) -> Markup:
    """HTML menu of the kinds of people's verifications that match at least one comparison, and of
    the kind now selected; empty if nothing matches and none is selected."""
    value, left = inspected.selection.verified, inspected.verified or {}
    if not left.get(ANY_CHECK) and not value:
        return EMPTY
    offered = {
        kind: f"{label} ({count(left[kind])})"
        for kind, label in VERIFICATION_KINDS.items()
        if left.get(kind)
    }
    if value and value not in offered:
        offered[value] = VERIFICATION_KINDS.get(value, value)
    return _select_element("verified", "Verified", value, {"": "all", **offered})


def _option_element(value: str, text: str, chosen: bool) -> Markup:
    made = attributes({"value": value, "selected": "selected" if chosen else None})
    return fill("<option{}>{}</option>", made, text)


def _search_field(text: str) -> Markup:
    made = attributes(
        {
            "type": "search",
            "data-field": "text",
            "data-keys": "/",
            "value": text,
            "placeholder": "Search questions, replies",
            "aria-label": "Search questions and replies",
            "maxlength": 200,
        }
    )
    on = " on" if text else ""
    return fill('<label class="eh-search{}"><input{}><kbd>/</kbd></label>', on, made)
