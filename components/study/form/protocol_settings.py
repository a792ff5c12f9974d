"""How answers are compared: a published protocol in one choice, then every setting of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from components.html.format import attributes, count, escape, inline_markup
from components.study.file.controls import (
    Hint,
    decimal_input,
    form_button,
    form_row,
    integer_input,
    percent_text,
    segmented_switch,
    select_menu,
    slider,
    text_input,
)
from components.study.file.lenient_study import LenientStudy, normalise_value
from studies.domain import REFERENCE
from studies.spec.presets import PRESETS

PRESET_SUBTITLES: Final = {
    "visit-bench": "pairs on images, Elo",
    "grade-score": "N options, rotated",
    "creation-mmbench": "five levels, dual",
    "mt-bench": "pairs and ratings",
    "arena-hard": "five labels, a baseline",
}
PRESET_SETTINGS: Final = (
    "prompts", "protocol", "pairing", "baseline", "new", "reference_games", "orders", "labels",
    "unrelated", "repeats", "noise_floor", "judge_sees", "combine", "unreadable", "reading",
)  # fmt: skip
"""What "back to the preset" takes out of the file; data, judges and money stay."""

_PAIR_PROTOCOLS: Final = ("pairwise", "five-level", "factuality")
_READING_OPTIONS: Final = (
    ("default", "the last verdict binds"),
    ("last", "last, also where one alone must stand"),
    ("gradelab", "as Grade Score's authors do"),
)


def protocol_form(
    sheet: LenientStudy, protocols: frozenset[str], contestants: Sequence[str], sees: bool
) -> str:
    """`protocols`: those of the study's prompts; `sees`: a judge of the study has vision."""
    return "".join(
        [
            _preset_cards(sheet),
            *_pairing_rows(sheet, protocols, contestants),
            *_order_rows(sheet, protocols),
            *_repeat_rows(sheet),
            *_counting_rows(sheet, protocols, sees),
            _more_settings(sheet, protocols, contestants),
            _reset_button(sheet),
        ]
    )


def preset_differences(sheet: LenientStudy) -> list[str]:
    """The settings in which the file departs from its preset."""
    if sheet.preset is None:
        return []
    return [
        key
        for key in PRESET_SETTINGS
        if sheet.raw(key) is not None
        and normalise_value(sheet.raw(key)) != normalise_value(sheet.default_value(key))
    ]


def preset_status_text(sheet: LenientStudy) -> str:
    if sheet.preset is None:
        return "no preset"
    made = len(preset_differences(sheet))
    return f"{count(made, 'change')} from the preset" if made else "as published"


def _preset_cards(sheet: LenientStudy) -> str:
    chosen = sheet.preset.name if sheet.preset else ""
    cards = [(p.name, p.title, PRESET_SUBTITLES.get(p.name, p.source)) for p in PRESETS.values()]
    cards.append(("", "Own", "start from nothing"))
    buttons = "".join(
        f"<button{_preset_attributes(name, name == chosen)}><b>{escape(title)}</b>{escape(told)}</button>"
        for name, title, told in cards
    )
    made = f'<div class="eh-pres" role="group" aria-label="Protocol">{buttons}</div>'
    if sheet.preset is None:
        return made
    notes = "".join(f"<p>{inline_markup(note)}</p>" for note in sheet.preset.notes)
    return (
        f"{made}<details class='eh-how eh-notes' data-keep='preset notes'><summary>"
        f"{escape(sheet.preset.title)}, and where code and paper differ</summary>"
        f"<p>{escape(sheet.preset.source)}.</p>{notes}</details>"
    )


def _preset_attributes(name: str, on: bool) -> str:
    return attributes(
        {
            "type": "button",
            "class": "on" if on else None,
            "aria-pressed": str(on).lower(),
            "data-do": json.dumps({"do": "preset", "preset": name}),
        }
    )


def _pairing_rows(
    sheet: LenientStudy, protocols: frozenset[str], contestants: Sequence[str]
) -> list[str]:
    if not protocols & set(_PAIR_PROTOCOLS) and protocols:
        return []  # options are all shown at once, ratings one by one: nobody meets anybody
    pairing = sheet.text_value("pairing")
    options = (("all", "All pairs"), ("baseline", "Baseline"), ("new", "New"))
    told = {
        "all": "everybody meets everybody",
        "baseline": "everybody meets one: fewer asks, no ranking among the others",
        "new": "one drawn opponent an item, and some games against the baseline",
    }
    made = [_switch_row(sheet, "Pairing", "pairing", options, pairing, told.get(pairing, ""))]
    if pairing == "all":
        return made
    players = [("", "choose one"), *((name, name) for name in [*contestants, REFERENCE])]
    told_baseline = "whom everybody meets; @reference is the reference of each item"
    made.append(_menu_row(sheet, "Baseline", "baseline", players, told_baseline))
    if pairing == "new":
        made.append(_menu_row(sheet, "New", "new", players[:-1], "the contestant that is assessed"))
        made.append(
            form_row("Games", integer_input("reference_games", sheet.text_value("reference_games")),
                sheet.hint("of the new one against the baseline", "reference_games"),
                to="reference_games")
        )  # fmt: skip
    return made


def _order_rows(sheet: LenientStudy, protocols: frozenset[str]) -> list[str]:
    pairs, choice = bool(protocols & set(_PAIR_PROTOCOLS)) or not protocols, "choice" in protocols
    options: list[tuple[str, str]] = []
    if pairs:
        options.append(("both", "Both"))
    if choice:
        options += [("rotations", "Rotations"), ("williams", "Williams"), ("all", "All")]
    if not options:
        return []
    options.append(("one", "One"))
    default = options[0][0]
    value = sheet.text_value("orders") or default
    value = value if value in dict(options) else default
    told = {
        "both": "each pair twice, swapped",
        "rotations": "each option in each slot once: N asks an item",
        "williams": "each option also after each other one: N or 2N asks an item",
        "all": "every permutation, up to four options: N! asks an item",
        "one": "half the asks, but **one order cannot show position bias**",
    }[value]
    crossed = "crossed calls the first answer B in half of the pairs: tells place from name"
    made = [
        _switch_row(sheet, "Orders", "orders", options, value, told),
        _switch_row(sheet, "Labels", "labels", (("plain", "Plain"), ("crossed", "Crossed")),
             sheet.text_value("labels"), crossed),
    ]  # fmt: skip
    if choice:
        made.append(
            _switch_row(sheet, "Unrelated", "unrelated",
                 (("none", "None"), ("add", "Add"), ("replace", "Replace")),
                 sheet.text_value("unrelated"),
                 "an answer to another question as one more option, or in place of the worst")
        )  # fmt: skip
    return made


def _repeat_rows(sheet: LenientStudy) -> list[str]:
    noise = sheet.share("noise_floor")
    told = (
        f"{percent_text(noise)} of asks twice in the same order: what flips without any swap"
        if noise
        else "without it nobody knows what flips without any swap"
    )
    repeats = sheet.text_value("repeats")
    times = f"{repeats} times the asks" if repeats not in ("", "1") else "each ask once"
    return [
        form_row(
            "Repeats",
            integer_input("repeats", repeats, low=1, high=100),
            sheet.hint(times, "repeats"),
            to="repeats",
        ),
        form_row(
            "Noise floor",
            slider("noise_floor", noise),
            sheet.hint(told, "noise_floor"),
            to="noise_floor",
        ),
    ]


def _counting_rows(sheet: LenientStudy, protocols: frozenset[str], sees: bool) -> list[str]:
    blind = "" if sees else "no judge of this study has vision: all read the description"
    made = [
        _switch_row(sheet, "Judge sees", "judge_sees",
             (("context", "Description"), ("images", "Images")), sheet.text_value("judge_sees"),
             blind if sheet.text_value("judge_sees") == "images" else ""),
    ]  # fmt: skip
    if protocols & set(_PAIR_PROTOCOLS) or not protocols:
        combine = sheet.text_value("combine")
        told = {
            "pooled": "each order counts by itself",
            "strict": "2–0 wins, anything else is a tie: fewer wins, more ties",
            "majority": "one win and one tie is a win",
        }
        made.append(
            _switch_row(sheet, "Two orders", "combine",
                 (("pooled", "Pooled"), ("strict", "2–0 or tie"), ("majority", "Majority")),
                 combine, told.get(combine, ""))
        )  # fmt: skip
    tie = (
        "a reply nobody can read counts as a tie" if sheet.text_value("unreadable") == "tie" else ""
    )
    return [
        *made,
        _switch_row(sheet, "Unreadable", "unreadable", (("exclude", "Exclude"), ("tie", "Tie")),
             sheet.text_value("unreadable"), tie or "left out and counted"),
    ]  # fmt: skip


def _more_settings(
    sheet: LenientStudy, protocols: frozenset[str], contestants: Sequence[str]
) -> str:
    kept = [("", "all prompts"), *((name, f"{name} only") for name in sorted(protocols))]
    budget = sheet.value("budget_usd")
    parts = [
        form_row(
            "Budget",
            decimal_input(
                "budget_usd", "" if budget is None else budget, unit="$", placeholder="none"
            ),
            "a run stops before it spends more",
            to="budget_usd",
        ),
        form_row(
            "At once",
            integer_input("concurrency", sheet.text_value("concurrency"), low=1, high=4096),
            "asks in flight at an endpoint",
            to="concurrency",
        ),
        _menu_row(
            sheet,
            "Reading",
            "reading",
            _READING_OPTIONS,
            "replies are kept: they can be read again by another rule without asking again",
        ),
        _menu_row(
            sheet, "Prompts", "protocol", kept, "prompts of several protocols may share a study"
        ),
    ]
    families = sheet.raw("families")
    known: Mapping[str, Any] = families if isinstance(families, Mapping) else {}
    boxes = "".join(
        form_row(
            name,
            text_input(f"families.{name}", known.get(name, ""), label=f"family of {name}"),
            to=f"families.{name}",
        )
        for name in dict.fromkeys([*contestants[:30], *map(str, known)])
    )
    told = "<p>Whose answers are one family: does a judge prefer its own?</p>"
    parts.append(
        "<details class='eh-how' data-keep='families'><summary>Families of contestants</summary>"
        f"{told}{boxes}</details>"
    )
    return (
        "<details class='eh-how' data-keep='protocol more'><summary>Budget, reading and families"
        f"</summary>{''.join(parts)}</details>"
    )


def _reset_button(sheet: LenientStudy) -> str:
    made = preset_differences(sheet)
    if not made:
        return ""
    named = ", ".join(key.replace("_", " ") for key in made)
    button = form_button(
        "Back to the preset", {"do": "preset", "preset": sheet.text_value("preset")}
    )
    return f'<div class="eh-row eh-back">{button}<span class="hint">{escape(named)}</span></div>'


def _switch_row(
    sheet: LenientStudy,
    label: str,
    key: str,
    options: Sequence[tuple[str, str]],
    value: str,
    hint: str = "",
) -> str:
    told = sheet.hint(hint, key)
    if told.preset is not None:  # in the words of the switch, not of the file
        told = Hint(told.text, dict(options).get(told.preset, told.preset).lower())
    return form_row(label, segmented_switch(key, options, value), told, to=key, group=True)


def _menu_row(
    sheet: LenientStudy, label: str, key: str, options: Sequence[tuple[str, str]], hint: str = ""
) -> str:
    return form_row(
        label, select_menu(key, options, sheet.text_value(key)), sheet.hint(hint, key), to=key
    )
