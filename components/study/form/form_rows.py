"""Rows of the form: one for each key of the study file. The key's rule decides the control."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from components.html.format import count
from components.html.markup import Markup, join
from components.html.templates import macros
from components.study.file.controls import controls
from components.study.file.judge_entries import (
    EMBEDDED,
    JUDGE_KINDS,
    OTHER_ADDRESS,
    SIMULATED,
    is_named_after_model,
    judge_address,
    judge_key_variable,
    judge_kind,
    provider_of,
    simulation_setting_default,
)
from components.study.file.lenient_study import LenientStudy, percent_text
from judges.money import costs, host_key
from judges.security.key_consents import origin_of
from metrics.remedies.rule_names import rule_texts_of_id
from studies import domain, settings
from studies.spec.combine_rules import COMBINE_RULES, REMEDY_RULES, parse_remedy
from studies.spec.judge_spec import default_reading_method
from studies.spec.keys import JUDGE, PRICE, PROTOCOL_KEYS, SIMULATION, STUDY, StudyKey
from studies.spec.presets import PRESETS
from studies.texts.twin_families import QUICK_ITEMS

html: Final = macros("study/form/form_rows.html")
PRESET_SUBTITLES: Final = {
    "visit-bench": "pairs on images, Elo",
    "grade-score": "N options, rotated",
    "creation-mmbench": "five levels, both orders",
    "mt-bench": "pairs and ratings",
    "arena-hard": "five labels, one baseline",
}
_PAIR_PROTOCOLS: Final = frozenset(("pairwise", "five-level", "factuality"))
_EFFORTS: Final = {"": "not sent"} | {w: w for w in ("minimal", "low", "medium", "high")}
_MENUS: Final = (STUDY.baseline, STUDY.new, STUDY.reading, STUDY.protocol, JUDGE.reasoning_effort)
_SLIDERS: Final = {STUDY.noise_floor, *SIMULATION} - {SIMULATION.slot_weights}


def setting_row(
    key: StudyKey,
    value: Any,
    *,
    field: str = "",
    options: Mapping[str, str] | None = None,
    hint: str | None = None,
    preset: str | None = None,
    mono: bool = False,
) -> Markup:
    """HTML row of a setting: label, control and hint. `field`: if the key belongs to a judge,
    "judge." with the judge's index or "extraction", else "". `options`: value -> text, in place of
    the key's own options. `hint`: text below the control, None for the key's own. `preset`: text of
    the preset's value, if the study file differs (see `LenientStudy.differing_preset_value`).
    `mono`: monospace text."""
    rule, to = key.rule, f"{field}.{key}" if field else str(key)
    offered = list((options or rule.options).items())
    text = "" if value is None else f"{value:g}" if isinstance(value, float) else value
    below = rule.hint if hint is None else hint
    if key in _MENUS:
        control = controls.select_menu(to, offered, text)
    elif offered:
        below = rule.option_hints.get(text, rule.hint) if hint is None else hint
        preset = None if preset is None else dict(offered).get(preset, preset).lower()
        control = controls.segmented_switch(to, offered, text)
    elif key in _SLIDERS:
        control = controls.slider(to, _as_number(value, rule.low), low=rule.low, high=rule.high)
    elif key.type is bool:
        control, below = controls.checkbox(to, bool(value), rule.hint), ""
    elif key.type is int and not key.optional:
        high = None if field else int(rule.high)
        control = controls.integer_input(to, text, low=int(rule.low), high=high)
    elif key.type in (int, float):
        limits = {"high": rule.high} if key.type is float and field else {}
        words = {"placeholder": rule.placeholder} if field else {"unit": "$", "placeholder": "none"}
        control = controls.decimal_input(to, text, **limits, **words)
    elif field:
        control = controls.text_input(to, text, mono=mono, placeholder=rule.placeholder)
    else:
        control = controls.text_input(to, text, label=rule.label)
    group = bool(offered) and key not in _MENUS
    return controls.form_row(rule.label, control, below, to=to, group=group, preset=preset)


def _as_number(value: Any, otherwise: float) -> float:
    """The value as a number; `otherwise` if the study file has no number there."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return otherwise


def _list_text(values: Any) -> str:
    """Values of a list, separated by commas; any other value of the study file as it is."""
    if not isinstance(values, list | tuple):
        return "" if values is None else str(values)
    return ", ".join(f"{one:g}" if isinstance(one, int | float) else str(one) for one in values)


def study_setting_row(
    study: LenientStudy, key: StudyKey, hint: str | None = None, **more: Any
) -> Markup:
    """HTML row of a setting of the study; `more`: further arguments of `setting_row`, and `value`
    to show another value than that of the study."""
    value = more.pop("value", study.text_value(*key))
    preset = study.differing_preset_value(*key) if key.rule.protocol else None
    return setting_row(key, value, hint=hint, preset=preset, **more)


def preset_differences(study: LenientStudy) -> list[StudyKey]:
    """Settings whose value in the study file differs from the preset's."""
    return [key for key in PROTOCOL_KEYS if study.differing_preset_value(*key) is not None]


def preset_status_text(study: LenientStudy) -> str:
    if study.preset is None:
        return "no preset"
    changes = len(preset_differences(study))
    return f"{count(changes, 'change')} from the preset" if changes else "as published"


def protocol_form(
    study: LenientStudy, protocols: frozenset[str], contestants: Sequence[str], vision: bool
) -> Markup:
    """HTML of the Protocol step: published presets, then the settings that fit the prompts.
    `protocols`: those that the study's prompts name, such as "pairwise"; `contestants`: the models
    of the data; `vision`: whether a judge sees images."""
    pairs, choice = bool(protocols & _PAIR_PROTOCOLS) or not protocols, "choice" in protocols
    models = {name: name for name in contestants}
    cards = [(p.name, p.title, PRESET_SUBTITLES.get(p.name, p.source)) for p in PRESETS.values()]
    made = [html.presets(study.preset, [*cards, ("", "Custom", "no preset")])]
    if pairs:  # else all options are shown at once and ratings one by one
        pairing = study.text_value(*STUDY.pairing)
        made.append(study_setting_row(study, STUDY.pairing))
        if pairing != "all":
            players = {"": "choose one", **models, domain.REFERENCE: domain.REFERENCE}
            made.append(study_setting_row(study, STUDY.baseline, options=players))
        if pairing == "new":
            made.append(study_setting_row(study, STUDY.new, options={"": "choose one", **models}))
            made.append(study_setting_row(study, STUDY.reference_games))
    if words := ("both",) * pairs + ("rotations", "williams", "all") * choice:
        offered = {word: STUDY.orders.rule.options[word] for word in (*words, "one")}
        order = study.text_value(*STUDY.orders)
        order = order if order in offered else words[0]
        made.append(study_setting_row(study, STUDY.orders, options=offered, value=order))
        made.append(study_setting_row(study, STUDY.labels))
    if "single" in protocols:
        shown = (STUDY.options, STUDY.criteria_order, STUDY.criteria)
        made += [study_setting_row(study, key) for key in shown]
    if choice:
        made.append(study_setting_row(study, STUDY.unrelated))
    repeats, noise = study.text_value(*STUDY.repeats), study.number_or_zero(*STUDY.noise_floor)
    times = f"{repeats} times the calls" if repeats not in ("", "1") else "each call once"
    single = protocols == {"single"}
    cause = "on a repeat" if single else "without a swap"
    noise_hint = (
        f"each call is {repeats_text(noise, single)}, to measure how often verdicts change {cause}"
        if noise
        else f"at 0, no call is repeated, so verdicts that change {cause} are not measured"
    )
    blind = study.text_value(*STUDY.judge_sees) == "images" and not vision
    no_vision = "no judge of this study can see images, so all judges get the image description"
    made += [
        study_setting_row(study, STUDY.repeats, times),
        study_setting_row(study, STUDY.noise_floor, noise_hint, value=noise),
        _twins_row(study),
        study_setting_row(study, STUDY.judge_sees, no_vision if blind else ""),
        *(
            [study_setting_row(study, STUDY.combine, options=_order_combination_choices(study))]
            if pairs
            else []
        ),
        study_setting_row(study, STUDY.unreadable),
        _budget_parsing_and_families_html(study, protocols, contestants),
    ]
    if changed := preset_differences(study):
        names = [key.name.replace("_", " ") for key in changed]
        made.append(html.back_to_preset(study.text_value(*STUDY.preset), names))
    return join(made)


def repeats_text(noise: float, single: bool) -> str:
    """Words that complete "each call is …", on calls repeated to measure how often verdicts change
    by chance. `noise`: probability of a repeat; `single`: whether each call shows one answer, so
    that "in the same order" is left out."""
    order = "" if single else " in the same order"
    return f"repeated{order}" + (
        "" if noise >= 1 else f" with a probability of {percent_text(noise)}"
    )


def _twins_row(study: LenientStudy) -> Markup:
    """HTML row that chooses which twins (copies of answers with one change, to test the judge) are
    made: none, quick or full. If the study file describes them in a block of its own, the row also
    offers to keep it."""
    offered = {"": "none", "quick": f"quick: {QUICK_ITEMS} items", "full": "full"}
    if isinstance(study.value(*STUDY.twins), Mapping):
        offered, value = {"block": "as in the study file", **offered}, "block"
    else:
        value = study.text_value(*STUDY.twins)
    return study_setting_row(study, STUDY.twins, options=offered, value=value)


def _order_combination_choices(study: LenientStudy) -> Mapping[str, str]:
    """Menu of the rules for combining both orders: value -> text. If the study file uses a remedy
    (a rule that decides from several stored verdicts) for this, that remedy is in the menu too."""
    used = study.text_value(*STUDY.combine)
    remedy = parse_remedy(used)
    named = REMEDY_RULES | (
        {used: rule_texts_of_id(remedy.id, remedy.judges).title} if remedy else {}
    )
    return COMBINE_RULES | {k: v for k, v in named.items() if k == used}


def _budget_parsing_and_families_html(
    study: LenientStudy, protocols: frozenset[str], contestants: Sequence[str]
) -> Markup:
    only = STUDY.protocol.rule.options
    choices = {"": "all prompts"} | {name: only.get(name, name) for name in sorted(protocols)}
    known = study.value_in_file(*STUDY.families)
    known = known if isinstance(known, Mapping) else {}
    families = {name: known.get(name, "") for name in [*contestants[:30], *map(str, known)]}
    parts = [
        study_setting_row(study, STUDY.budget_usd, value=study.value(*STUDY.budget_usd)),
        study_setting_row(study, STUDY.concurrency),
        study_setting_row(study, STUDY.reading),
        study_setting_row(study, STUDY.protocol, options=choices),
        html.families(families, STUDY.families),
    ]
    return controls.fold("protocol more", "Budget, parsing, families", join(parts))


def judge_form(judge: Mapping[str, Any], field: str, name: str) -> Markup:
    """HTML of the settings of a judge that fit its kind (endpoint, embedded or simulated). `field`:
    "judge." with its index, or "extraction"; `name`: the judge's name."""
    kind, drawer = judge_kind(judge), field.startswith("judge.")
    url, other = judge_address(judge), provider_of(judge) == OTHER_ADDRESS

    def judge_setting_row(key: StudyKey, **more: Any) -> Markup:
        default = "" if key.default is None else key.default
        return setting_row(
            key, more.pop("value", judge.get(key.name, default)), field=field, **more
        )

    embedded_hint = (
        "probabilities: the judge returns one token per call, without reasoning; text: it "
        "writes a whole reply, which is slower"
    )
    chosen = str(judge.get(JUDGE.read.name) or default_reading_method(kind))
    read = judge_setting_row(
        JUDGE.read, value=chosen, hint=embedded_hint if kind == EMBEDDED else None
    )
    sampling = [
        judge_setting_row(key)
        for key in (JUDGE.temperature, JUDGE.max_tokens, JUDGE.top_p, JUDGE.seed)
    ]
    parts = [html.judge_head(judge.get(JUDGE.name.name, ""), field, name, JUDGE_KINDS, kind)]
    if kind == EMBEDDED:
        parts += [read, controls.fold(f"{field} sampling", "Sampling", join(sampling))]
    elif kind == SIMULATED:
        for key in SIMULATION:
            if key.rule.label and key != SIMULATION.slot_weights:
                given = judge.get(key.name)
                parts.append(
                    judge_setting_row(
                        key, value=simulation_setting_default(key) if given is None else given
                    )
                )
        weights = _list_text(judge.get(SIMULATION.slot_weights.name))
        seed = controls.integer_input(f"{field}.{JUDGE.seed}", judge.get(JUDGE.seed.name, 0))
        parts += [
            judge_setting_row(SIMULATION.slot_weights, value=weights),
            html.key_row(JUDGE.seed, seed, field),
            judge_setting_row(JUDGE.family),
        ]
    else:
        if not (drawer and other):  # the drawer shows these rows below the tile of another address
            parts += address_and_model_rows(judge, field, name)
        if not drawer:
            parts.append(typed_key_row(field, name, url))
        extra = judge.get(JUDGE.extra_body.name)
        written = json.dumps(extra, ensure_ascii=False) if extra else ""
        area = controls.text_area(f"{field}.{JUDGE.extra_body}", written, rows=2)
        sampling += [
            judge_setting_row(JUDGE.reasoning_effort, options=_EFFORTS),
            html.key_row(JUDGE.extra_body, area, field),
        ]
        parts += [
            _host_key_row(judge, field)
            if settings.is_public()
            else judge_setting_row(JUDGE.api_key_env, value=judge_key_variable(judge), mono=True),
            _price_row(judge, field),
            read,
            judge_setting_row(JUDGE.vision),
            judge_setting_row(JUDGE.family),
            controls.fold(f"{field} sampling", "Sampling", join(sampling)),
        ]
    return html.judge_form(join(parts), int(field[6:]) if drawer else None)


def address_and_model_rows(judge: Mapping[str, Any], field: str, name: str) -> list[Markup]:
    """HTML rows for address and model of an endpoint. Models with a known price are suggested,
    except for an address of no known provider or in a private network (such as this machine).
    `field`: "judge." with the judge's index, or "extraction"; `name`: the judge's name."""
    url, key, model = judge_address(judge), JUDGE.base_url, JUDGE.model
    other = provider_of(judge) == OTHER_ADDRESS
    example = "http://localhost:8000/v1" if other else key.rule.placeholder
    priced = [] if other else [one for one in costs.listed_prices() if costs.listed_price(one, url)]
    address = controls.text_input(f"{field}.{key}", url, mono=True, placeholder=example)
    box = controls.text_input(
        f"{field}.{model}",
        judge.get(model.name, ""),
        mono=True,
        suggestions=[(one, "listed price") for one in priced],
        renames=name if is_named_after_model(judge) else "",
    )
    return [html.key_row(key, address, field), html.key_row(model, box, field, hint="")]


def typed_key_row(field: str, name: str, url: str) -> Markup:
    """HTML field for the key of the endpoint at `url`, with the host to which the key is sent;
    disabled if `url` is empty. `field`: "judge." with the judge's index, or "extraction"."""
    where = origin_of(url) or "this address"
    hint = f"the key is sent to {where} only; it is held in memory, never in a file, link or export"
    if not url:
        hint = "enter the address first; the key is sent to this address only"
    to = f"{field}.key"
    box = controls.key_input(name, to, url, disabled=not url)
    return controls.form_row("Key", box, hint, to=to)


def _host_key_row(judge: Mapping[str, Any], field: str) -> Markup:
    """HTML row for using this Space's key, with its models and spending limits; empty if the Space
    has no key."""
    host = host_key.load_host_key_settings()
    if host is None:
        return Markup()
    hint = (
        f"this Space's key is only for {', '.join(host.prices)} at {host.endpoint}; the Space pays "
        f"up to ${host.run_usd:.2f} per run and ${host.visitor_usd:.2f} per day for you"
    )
    to, given = f"{field}.{JUDGE.api_key_env}", judge.get(JUDGE.api_key_env.name, "")
    box = controls.text_input(to, given, mono=True, placeholder=host.key_env)
    return controls.form_row("or Space's key", box, hint, to=to)


def _price_row(judge: Mapping[str, Any], field: str) -> Markup:
    given = judge.get(JUDGE.price.name)
    price = given if isinstance(given, Mapping) else {}
    known = costs.listed_price(str(judge.get(JUDGE.model.name)), judge_address(judge))
    boxes = [
        controls.decimal_input(
            f"{field}.{key}",
            price.get(key.name, ""),
            unit=key.rule.label,
            label=f"$ per million tokens {key.rule.label}",
            placeholder=f"{getattr(known, key.attribute):g}" if known else "?",
        )
        for key in (PRICE.input, PRICE.output)
    ]
    return html.price_row(JUDGE.price.rule, boxes, f"{field}.{PRICE.input}")
