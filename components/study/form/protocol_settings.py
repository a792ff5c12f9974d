"""The Protocol step of the form: published presets, then each setting of the protocol."""

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
from metrics.remedies.rule_names import words_of_id
from studies.domain import REFERENCE
from studies.spec.combine_rules import COMBINE_RULES, REMEDY_RULES, parse_remedy
from studies.spec.keys import PROTOCOL_KEYS, STUDY, StudyKey
from studies.spec.presets import PRESETS

PRESET_SUBTITLES: Final = {
    "visit-bench": "pairs on images, Elo",
    "grade-score": "N options, rotated",
    "creation-mmbench": "five levels, both orders",
    "mt-bench": "pairs and ratings",
    "arena-hard": "five labels, one baseline",
}
_PAIR_PROTOCOLS: Final = ("pairwise", "five-level", "factuality")


def protocol_form(
    study: LenientStudy, protocols: frozenset[str], contestants: Sequence[str], sees: bool
) -> Markup:
    """HTML of the Protocol step. `protocols`: those that the study's prompts name, such as
    "pairwise"; `sees`: whether a judge of the study has vision."""
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


def preset_differences(study: LenientStudy) -> list[StudyKey]:
    """Settings whose value in the study file differs from the preset's."""
    if study.preset is None:
        return []
    return [
        key
        for key in PROTOCOL_KEYS
        if study.raw(*key) is not None
        and normalise_value(study.raw(*key)) != normalise_value(study.default_value(*key))
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
    pairing = study.text_value(*STUDY.pairing)
    made = [_switch_row(study, STUDY.pairing)]
    if pairing == "all":
        return made
    players = [("", "choose one"), *((name, name) for name in [*contestants, REFERENCE])]
    made.append(_menu_row(study, STUDY.baseline, players))
    if pairing == "new":
        made.append(_menu_row(study, STUDY.new, players[:-1]))
        made.append(_integer_row(study, STUDY.reference_games))
    return made


def _order_rows(study: LenientStudy, protocols: frozenset[str]) -> list[Markup]:
    pairs, choice = bool(protocols & set(_PAIR_PROTOCOLS)) or not protocols, "choice" in protocols
    words = ("both",) * pairs + ("rotations", "williams", "all") * choice
    scored = _score_rows(study) if "single" in protocols else []
    if not words:
        return scored
    value = study.text_value(*STUDY.orders)
    offered = {word: STUDY.orders.rule.options[word] for word in (*words, "one")}
    made = [
        _switch_row(study, STUDY.orders, offered, value if value in offered else words[0]),
        _switch_row(study, STUDY.labels),
        *scored,
    ]
    return [*made, _switch_row(study, STUDY.unrelated)] if choice else made


def _score_rows(study: LenientStudy) -> list[Markup]:
    """HTML rows for prompts that judge single answers: order of the options, order of the criteria,
    and the criteria of a good answer."""
    key = STUDY.criteria
    box = text_input(str(key), study.text_value(*key), label=key.rule.label)
    return [
        _switch_row(study, STUDY.options),
        _switch_row(study, STUDY.criteria_order),
        form_row(key.rule.label, box, study.hint(key.rule.hint, *key), to=str(key)),
    ]


def _repeat_rows(study: LenientStudy) -> list[Markup]:
    noise = study.share(*STUDY.noise_floor)
    noise_hint = (
        f"{percent_text(noise)} of calls are repeated in the same order, to measure how often "
        "verdicts change without a swap"
        if noise
        else "at 0, no call is repeated, so verdicts that change without a swap are not measured"
    )
    repeats = study.text_value(*STUDY.repeats)
    times = f"{repeats} times the calls" if repeats not in ("", "1") else "each call once"
    return [
        _integer_row(study, STUDY.repeats, times),
        form_row(
            STUDY.noise_floor.rule.label,
            slider(str(STUDY.noise_floor), noise),
            study.hint(noise_hint, *STUDY.noise_floor),
            to=str(STUDY.noise_floor),
        ),
    ]


def _combine_choices(study: LenientStudy) -> Mapping[str, str]:
    """Rule for combining both orders -> its text in the menu; if the study file names a remedy as
    the rule, also that remedy."""
    used = study.text_value(*STUDY.combine)
    remedy = parse_remedy(used)
    named = REMEDY_RULES | ({used: words_of_id(remedy.id, remedy.judges).title} if remedy else {})
    return COMBINE_RULES | {k: v for k, v in named.items() if k == used}


def _counting_rows(study: LenientStudy, protocols: frozenset[str], sees: bool) -> list[Markup]:
    images = study.text_value(*STUDY.judge_sees) == "images"
    no_vision = "no judge of this study can see images, so all judges get the image description"
    pairs = protocols & set(_PAIR_PROTOCOLS) or not protocols
    return [
        _switch_row(study, STUDY.judge_sees, hint=no_vision if images and not sees else ""),
        *([_switch_row(study, STUDY.combine, options=_combine_choices(study))] if pairs else []),
        _switch_row(study, STUDY.unreadable),
    ]


def _more_settings(
    study: LenientStudy, protocols: frozenset[str], contestants: Sequence[str]
) -> Markup:
    only = STUDY.protocol.rule.options
    choices = [("", "all prompts"), *((name, only.get(name, name)) for name in sorted(protocols))]
    budget, key = study.value(*STUDY.budget_usd), STUDY.budget_usd
    parts = [
        form_row(
            key.rule.label,
            decimal_input(str(key), "" if budget is None else budget, unit="$", placeholder="none"),
            key.rule.hint,
            to=str(key),
        ),
        _integer_row(study, STUDY.concurrency),
        _menu_row(study, STUDY.reading),
        _menu_row(study, STUDY.protocol, choices),
    ]
    families = study.raw(*STUDY.families)
    known: Mapping[str, Any] = families if isinstance(families, Mapping) else {}
    boxes = join(
        form_row(
            name,
            text_input(f"{STUDY.families}.{name}", known.get(name, ""), label=f"family of {name}"),
            to=f"{STUDY.families}.{name}",
        )
        for name in dict.fromkeys([*contestants[:30], *map(str, known)])
    )
    purpose = Markup(
        "<p>Name the family of each model, to measure whether a judge prefers answers of its own "
        "family.</p>"
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
    named = ", ".join(key.name.replace("_", " ") for key in changed)
    button = form_button(
        "Back to the preset", {"do": "preset", "preset": study.text_value(*STUDY.preset)}
    )
    return fill('<div class="eh-row eh-back">{}<span class="hint">{}</span></div>', button, named)


def _switch_row(
    study: LenientStudy,
    key: StudyKey,
    options: Mapping[str, str] | None = None,
    value: str | None = None,
    hint: str | None = None,
) -> Markup:
    """HTML row with the values of a setting as a switch; the hint explains the selected value."""
    offered = list((options or key.rule.options).items())
    chosen = study.text_value(*key) if value is None else value
    below = study.hint(_option_hint(key, chosen) if hint is None else hint, *key)
    if below.preset is not None:  # show the label of the option, not the value in the file
        below = Hint(below.text, dict(offered).get(below.preset, below.preset).lower())
    return form_row(
        key.rule.label,
        segmented_switch(str(key), offered, chosen),
        below,
        to=str(key),
        group=True,
    )


def _option_hint(key: StudyKey, value: str) -> str:
    return key.rule.option_hints.get(value, key.rule.hint)


def _menu_row(
    study: LenientStudy, key: StudyKey, options: Sequence[tuple[str, str]] = ()
) -> Markup:
    offered = options or list(key.rule.options.items())
    menu = select_menu(str(key), offered, study.text_value(*key))
    return form_row(key.rule.label, menu, study.hint(key.rule.hint, *key), to=str(key))


def _integer_row(study: LenientStudy, key: StudyKey, hint: str = "") -> Markup:
    box = integer_input(
        str(key), study.text_value(*key), low=int(key.rule.low), high=int(key.rule.high)
    )
    below = hint or key.rule.hint
    shown = study.hint(below, *key) if key.rule.protocol else below
    return form_row(key.rule.label, box, shown, to=str(key))
