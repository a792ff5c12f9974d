"""Protocol step of the form: published presets, then each setting of the comparison protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from components.html.format import count
from components.html.markup import EMPTY, Markup, attributes, fill, inline_markup, join
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
    "creation-mmbench": "five levels, both orders",
    "mt-bench": "pairs and ratings",
    "arena-hard": "five labels, one baseline",
}
PRESET_SETTINGS: Final = (
    "prompts", "protocol", "pairing", "baseline", "new", "reference_games", "orders", "labels",
    "unrelated", "repeats", "noise_floor", "judge_sees", "combine", "unreadable", "reading",
)  # fmt: skip
"""Settings removed by "Back to the preset"; data, judges and budget are unchanged."""

_PAIR_PROTOCOLS: Final = ("pairwise", "five-level", "factuality")
_READING_OPTIONS: Final = (
    ("default", "last verdict; “Response X is better” must occur once"),
    ("last", "last verdict, also if there are several"),
    ("gradelab", "as in the code of Grade Score's authors"),
)


def protocol_form(
    study: LenientStudy, protocols: frozenset[str], contestants: Sequence[str], sees: bool
) -> Markup:
    """The protocol form.

    `protocols` are those of the study's prompts; `sees` is True if a judge of the study has vision.
    """
    return join(
        [
            _preset_cards(study),
            *_pairing_rows(study, protocols, contestants),
            *_order_rows(study, protocols),
            *_repeat_rows(study),
            *_counting_rows(study, protocols, sees),
            _more_settings(study, protocols, contestants),
            _reset_button(study),
        ]
    )


def preset_differences(study: LenientStudy) -> list[str]:
    """Settings whose value in the file departs from the preset."""
    if study.preset is None:
        return []
    return [
        key
        for key in PRESET_SETTINGS
        if study.raw(key) is not None
        and normalise_value(study.raw(key)) != normalise_value(study.default_value(key))
    ]


def preset_status_text(study: LenientStudy) -> str:
    if study.preset is None:
        return "no preset"
    changes = len(preset_differences(study))
    return f"{count(changes, 'change')} from the preset" if changes else "as published"


def _preset_cards(study: LenientStudy) -> Markup:
    chosen = study.preset.name if study.preset else ""
    cards = [(p.name, p.title, PRESET_SUBTITLES.get(p.name, p.source)) for p in PRESETS.values()]
    cards.append(("", "Custom", "no preset"))
    buttons = join(
        fill(
            "<button{}><b>{}</b>{}</button>",
            _preset_attributes(name, name == chosen),
            title,
            subtitle,
        )
        for name, title, subtitle in cards
    )
    made = fill('<div class="eh-pres" role="group" aria-label="Protocol">{}</div>', buttons)
    if study.preset is None:
        return made
    notes = join(fill("<p>{}</p>", inline_markup(note)) for note in study.preset.notes)
    return fill(
        "{}<details class='eh-how eh-notes' data-keep='preset notes'><summary>"
        "{}: source, and differences between code and paper</summary>"
        "<p>{}.</p>{}</details>",
        made,
        study.preset.title,
        study.preset.source,
        notes,
    )


def _preset_attributes(name: str, on: bool) -> Markup:
    return attributes(
        {
            "type": "button",
            "class": "on" if on else None,
            "aria-pressed": str(on).lower(),
            "data-do": json.dumps({"do": "preset", "preset": name}),
        }
    )


def _pairing_rows(
    study: LenientStudy, protocols: frozenset[str], contestants: Sequence[str]
) -> list[Markup]:
    if not protocols & set(_PAIR_PROTOCOLS) and protocols:
        return []  # all options are shown at once and ratings one by one, so there are no pairs
    pairing = study.text_value("pairing")
    options = (("all", "All pairs"), ("baseline", "Baseline"), ("new", "New"))
    hints = {
        "all": "every model against every other",
        "baseline": "every model against one: fewer calls, no direct comparison of the others",
        "new": "one random opponent per item, plus some comparisons against the baseline",
    }
    made = [_switch_row(study, "Pairing", "pairing", options, pairing, hints.get(pairing, ""))]
    if pairing == "all":
        return made
    players = [("", "choose one"), *((name, name) for name in [*contestants, REFERENCE])]
    baseline_hint = "opponent of every model; @reference is the reference answer of each item"
    made.append(_menu_row(study, "Baseline", "baseline", players, baseline_hint))
    if pairing == "new":
        made.append(_menu_row(study, "New", "new", players[:-1], "the model to be assessed"))
        made.append(
            form_row(
                "Games",
                integer_input("reference_games", study.text_value("reference_games")),
                study.hint("comparisons of the new model against the baseline", "reference_games"),
                to="reference_games",
            )
        )
    return made


def _order_rows(study: LenientStudy, protocols: frozenset[str]) -> list[Markup]:
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
    value = study.text_value("orders") or default
    value = value if value in dict(options) else default
    hint = {
        "both": "each pair in both orders",
        "rotations": "each option in each position once: N calls per item",
        "williams": "each option also directly after every other: N or 2N calls per item",
        "all": "every permutation, for up to four options: N! calls per item",
        "one": "half the calls, but **position bias cannot be measured with one order**",
    }[value]
    crossed = "crossed: half of the pairs label the first answer B, separating position from label"
    made = [
        _switch_row(study, "Orders", "orders", options, value, hint),
        _switch_row(
            study,
            "Labels",
            "labels",
            (("plain", "Plain"), ("crossed", "Crossed")),
            study.text_value("labels"),
            crossed,
        ),
    ]
    if choice:
        made.append(
            _switch_row(
                study,
                "Unrelated",
                "unrelated",
                (("none", "None"), ("add", "Add"), ("replace", "Replace")),
                study.text_value("unrelated"),
                "an answer to another question as an extra option, or in place of the worst",
            )
        )
    return made


def _repeat_rows(study: LenientStudy) -> list[Markup]:
    noise = study.share("noise_floor")
    noise_hint = (
        f"{percent_text(noise)} of calls repeated in the same order, to measure changes without "
        "a swap"
        if noise
        else "at 0, changes without a swap are not measured"
    )
    repeats = study.text_value("repeats")
    times = f"{repeats} times the calls" if repeats not in ("", "1") else "each call once"
    return [
        form_row(
            "Repeats",
            integer_input("repeats", repeats, low=1, high=100),
            study.hint(times, "repeats"),
            to="repeats",
        ),
        form_row(
            "Noise floor",
            slider("noise_floor", noise),
            study.hint(noise_hint, "noise_floor"),
            to="noise_floor",
        ),
    ]


def _counting_rows(study: LenientStudy, protocols: frozenset[str], sees: bool) -> list[Markup]:
    no_vision = "" if sees else "no judge of this study has vision: all get the description"
    made = [
        _switch_row(
            study,
            "Judge sees",
            "judge_sees",
            (("context", "Description"), ("images", "Images")),
            study.text_value("judge_sees"),
            no_vision if study.text_value("judge_sees") == "images" else "",
        ),
    ]
    if protocols & set(_PAIR_PROTOCOLS) or not protocols:
        combine = study.text_value("combine")
        hints = {
            "pooled": "each order counts as a separate verdict",
            "strict": "a win needs both orders, else a tie: fewer wins, more ties",
            "majority": "one win and one tie count as a win",
        }
        made.append(
            _switch_row(
                study,
                "Two orders",
                "combine",
                (("pooled", "Pooled"), ("strict", "2–0 or tie"), ("majority", "Majority")),
                combine,
                hints.get(combine, ""),
            )
        )
    tie = (
        "a reply without a readable verdict counts as a tie"
        if study.text_value("unreadable") == "tie"
        else ""
    )
    return [
        *made,
        _switch_row(
            study,
            "Unreadable",
            "unreadable",
            (("exclude", "Exclude"), ("tie", "Tie")),
            study.text_value("unreadable"),
            tie or "excluded, and counted as unusable",
        ),
    ]


def _more_settings(
    study: LenientStudy, protocols: frozenset[str], contestants: Sequence[str]
) -> Markup:
    choices = [("", "all prompts"), *((name, f"{name} only") for name in sorted(protocols))]
    budget = study.value("budget_usd")
    parts = [
        form_row(
            "Budget",
            decimal_input(
                "budget_usd", "" if budget is None else budget, unit="$", placeholder="none"
            ),
            "a run stops before it would exceed this amount",
            to="budget_usd",
        ),
        form_row(
            "Concurrency",
            integer_input("concurrency", study.text_value("concurrency"), low=1, high=4096),
            "simultaneous calls per endpoint",
            to="concurrency",
        ),
        _menu_row(
            study,
            "Parsing",
            "reading",
            _READING_OPTIONS,
            "replies are stored: another rule can be applied later without new calls",
        ),
        _menu_row(study, "Prompts", "protocol", choices, "use only the prompts of one protocol"),
    ]
    families = study.raw("families")
    known: Mapping[str, Any] = families if isinstance(families, Mapping) else {}
    boxes = join(
        form_row(
            name,
            text_input(f"families.{name}", known.get(name, ""), label=f"family of {name}"),
            to=f"families.{name}",
        )
        for name in dict.fromkeys([*contestants[:30], *map(str, known)])
    )
    purpose = Markup(
        "<p>Models of one family, to measure whether a judge prefers its own family.</p>"
    )
    parts.append(
        fill(
            "<details class='eh-how' data-keep='families'><summary>Model families</summary>"
            "{}{}</details>",
            purpose,
            boxes,
        )
    )
    return fill(
        "<details class='eh-how' data-keep='protocol more'><summary>Budget, parsing, families"
        "</summary>{}</details>",
        join(parts),
    )


def _reset_button(study: LenientStudy) -> Markup:
    changed = preset_differences(study)
    if not changed:
        return EMPTY
    named = ", ".join(key.replace("_", " ") for key in changed)
    button = form_button(
        "Back to the preset", {"do": "preset", "preset": study.text_value("preset")}
    )
    return fill('<div class="eh-row eh-back">{}<span class="hint">{}</span></div>', button, named)


def _switch_row(
    study: LenientStudy,
    label: str,
    key: str,
    options: Sequence[tuple[str, str]],
    value: str,
    hint: str = "",
) -> Markup:
    below = study.hint(hint, key)
    if below.preset is not None:  # show the label of the option, not the value in the file
        below = Hint(below.text, dict(options).get(below.preset, below.preset).lower())
    return form_row(label, segmented_switch(key, options, value), below, to=key, group=True)


def _menu_row(
    study: LenientStudy, label: str, key: str, options: Sequence[tuple[str, str]], hint: str = ""
) -> Markup:
    return form_row(
        label, select_menu(key, options, study.text_value(key)), study.hint(hint, key), to=key
    )
