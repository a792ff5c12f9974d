"""Form of all settings of one judge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from components.html.markup import EMPTY, Markup, fill, join
from components.study.file.controls import (
    checkbox,
    decimal_input,
    form_button,
    form_row,
    html_id,
    integer_input,
    key_input,
    segmented_switch,
    select_menu,
    slider,
    text_area,
    text_input,
)
from components.study.plan.public_checks import is_public
from judges.money.costs import listed_price, listed_prices
from judges.money.host_key import load_host_key
from judges.security.key_consents import origin_of
from studies.settings import secret_value
from studies.spec.judge_spec import default_read
from studies.spec.keys import JUDGE, PRICE, SIMULATION, StudyKey
from studies.spec.provider_presets import preset_for_url, provider_presets

_NAME, _MODEL, _URL = JUDGE.name.name, JUDGE.model.name, JUDGE.base_url.name
EMBEDDED, SIMULATED, ENDPOINT = "embedded", "simulated", "endpoint"
JUDGE_KINDS: Final = ((EMBEDDED, "Embedded"), (ENDPOINT, "Endpoint"), (SIMULATED, "Simulated"))
JUDGE_TEMPLATES: Final[Mapping[str, Mapping[str, Any]]] = {
    EMBEDDED: {_MODEL: "embedded"},
    SIMULATED: {
        _MODEL: "simulated",
        SIMULATION.first_bias.name: 0.3,
        SIMULATION.accuracy.name: 0.8,
        JUDGE.seed.name: 1,
    },
    ENDPOINT: {_MODEL: "gpt-4o-mini", _URL: JUDGE.base_url.rule.placeholder},
}
"""Kind of judge (endpoint, embedded, simulated) -> settings of a new judge of this kind."""
OTHER_ADDRESS: Final = "endpoint"
"""Value that stands for a provider if a judge's address belongs to no known provider."""
_ADDRESS_EXAMPLE: Final = "http://localhost:8000/v1"

SIMULATED_JUDGES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "even": ("even-handed", {SIMULATION.accuracy.name: 0.8, JUDGE.seed.name: 1}),
    "first": (
        "favours-first",
        {SIMULATION.first_bias.name: 0.3, SIMULATION.accuracy.name: 0.8, JUDGE.seed.name: 1},
    ),
    "long": (
        "favours-length",
        {SIMULATION.length_preference.name: 0.5, SIMULATION.accuracy.name: 0.8, JUDGE.seed.name: 1},
    ),
    "chance": ("chance", {SIMULATION.accuracy.name: 0.5, JUDGE.seed.name: 1}),
}
"""Key of a simulated judge in the drawer -> its name and settings."""
_EFFORT_OPTIONS: Final = (
    ("", "not sent"),
    *((word, word) for word in ("minimal", "low", "medium", "high")),
)


def judge_kind(judge: Mapping[str, Any]) -> str:
    model = judge.get(_MODEL)
    return str(model) if model in (EMBEDDED, SIMULATED) else ENDPOINT


def judge_address(judge: Mapping[str, Any]) -> str:
    """Address of the judge's endpoint: as written in the study file, else that of its provider."""
    preset = provider_presets().get(str(judge.get(JUDGE.provider.name)))
    return str(judge.get(JUDGE.base_url.name) or (preset.base_url if preset else ""))


def provider_of(judge: Mapping[str, Any]) -> str:
    """Provider of a judge: as written in the study file, else found by the address, else
    OTHER_ADDRESS; empty for embedded and simulated judges."""
    if judge_kind(judge) != ENDPOINT:
        return ""
    if named := str(judge.get(JUDGE.provider.name) or ""):
        return named
    preset = preset_for_url(judge_address(judge))
    return preset.name if preset else OTHER_ADDRESS


def is_named_after_model(judge: Mapping[str, Any]) -> bool:
    """Whether the judge has no name or its model's name; another model then also renames it."""
    return (judge.get(_NAME) or "") in ("", judge.get(_MODEL))


def judge_variable(judge: Mapping[str, Any]) -> str:
    """Environment variable with the judge's API key: as written in the study file, else that of its
    provider."""
    preset = provider_presets().get(str(judge.get(JUDGE.provider.name)))
    given = judge.get(JUDGE.api_key_env.name)
    return (preset.api_key_env if preset else "") if given is None else str(given)


def simulation_default(key: StudyKey) -> float:
    """Value of a simulation setting that the study file lacks: accuracy 1, every bias 0."""
    return 1.0 if key == SIMULATION.accuracy else 0.0


def judge_form(judge: Mapping[str, Any], field: str, name: str) -> Markup:
    kind = judge_kind(judge)
    parts = [
        form_row(JUDGE.name.rule.label, _name_input(field, judge, name), to=f"{field}.{_NAME}"),
        form_row(
            "Kind",
            segmented_switch(f"{field}.kind", JUDGE_KINDS, kind),
            to=f"{field}.kind",
            group=True,
        ),
    ]
    parts += {
        EMBEDDED: _embedded_settings,
        SIMULATED: _simulated_settings,
        ENDPOINT: _endpoint_settings,
    }[kind](judge, field, name)
    if field.startswith("judge."):
        remove = form_button(
            "Remove this judge", {"do": "remove judge", "judge": int(field[6:])}, kind="small"
        )
        parts.append(fill('<div class="eh-row">{}</div>', remove))
    return fill('<div class="eh-jf">{}</div>', join(parts))


def _name_input(field: str, judge: Mapping[str, Any], name: str) -> Markup:
    return text_input(f"{field}.{_NAME}", judge.get(_NAME, ""), renames=name)


def _model_input(field: str, judge: Mapping[str, Any], name: str) -> Markup:
    """HTML field for the model; models with a known price are suggested, except for an address of
    no known provider and for a server on this machine."""
    model, address = str(judge.get(_MODEL, "")), judge_address(judge)
    other = provider_of(judge) == OTHER_ADDRESS
    priced = [] if other else [name for name in listed_prices() if listed_price(name, address)]
    models = [(name, "listed price") for name in priced]
    renames = name if is_named_after_model(judge) else ""
    return text_input(f"{field}.{_MODEL}", model, mono=True, suggestions=models, renames=renames)


def _embedded_settings(judge: Mapping[str, Any], field: str, name: str) -> list[Markup]:
    hint = (
        "probabilities: the judge returns one token per call, without reasoning; text: it "
        "writes a whole reply, which is slower"
    )
    return [_read_row(judge, field, hint), *_sampling_settings(judge, field)]


def _read_row(judge: Mapping[str, Any], field: str, hint: str = "") -> Markup:
    key = JUDGE.read
    chosen = str(judge.get(key.name) or default_read(judge_kind(judge)))
    switch = segmented_switch(f"{field}.{key}", list(key.rule.options.items()), chosen)
    return _judge_row(field, key, switch, hint, group=True)


def _simulation_slider(judge: Mapping[str, Any], field: str, key: StudyKey) -> Markup:
    value = judge.get(key.name)
    at = simulation_default(key) if value is None else float(value)
    return slider(f"{field}.{key}", at, low=key.rule.low, high=key.rule.high)


def _simulated_settings(judge: Mapping[str, Any], field: str, name: str) -> list[Markup]:
    weights = ", ".join(f"{w:g}" for w in judge.get(SIMULATION.slot_weights.name) or ())
    return [
        *(
            _judge_row(field, key, _simulation_slider(judge, field, key))
            for key in SIMULATION
            if key.rule.label and key != SIMULATION.slot_weights
        ),
        _text_row(field, SIMULATION.slot_weights, weights),
        _judge_row(
            field,
            JUDGE.seed,
            integer_input(f"{field}.{JUDGE.seed}", judge.get(JUDGE.seed.name, 0)),
        ),
        _text_row(field, JUDGE.family, judge.get(JUDGE.family.name, "")),
    ]


def _host_key_row(judge: Mapping[str, Any], field: str) -> Markup:
    """HTML row for using this Space's key, with its models and spending limits; empty if the Space
    has no key."""
    host_key = load_host_key()
    if host_key is None:
        return EMPTY
    hint = (
        f"this Space's key is only for {', '.join(host_key.prices)} at {host_key.endpoint}; the "
        f"Space pays up to ${host_key.run_usd:.2f} per run and ${host_key.visitor_usd:.2f} per day "
        "for you"
    )
    key = JUDGE.api_key_env
    box = text_input(
        f"{field}.{key}", judge.get(key.name, ""), mono=True, placeholder=host_key.key_env
    )
    return form_row("or Space's key", box, hint, to=f"{field}.{key}")


def needs_typed_key(judge: Mapping[str, Any]) -> bool:
    """Whether a key must be typed: the provider requires one, and no environment variable supplies
    it. Typed keys are only in the browser and are not considered."""
    if judge_kind(judge) != ENDPOINT:
        return False
    url, variable = judge_address(judge), judge_variable(judge)
    paid = any(preset.serves(url) and preset.api_key_env for preset in provider_presets().values())
    if is_public():
        return paid and not variable
    return paid and not (variable and secret_value(variable))


def key_row(field: str, name: str, url: str) -> Markup:
    """HTML field for the key of an endpoint, with the host to which the key is sent; disabled until
    there is an address."""
    hint = (
        f"the key is sent to {origin_of(url) or 'this address'} only; it is held in memory, never "
        "in a file, link or export"
    )
    return form_row(
        "Key",
        key_input(name, html_id(f"{field}.key"), url, disabled=not url),
        hint if url else "enter the address first; the key is sent to this address only",
        to=f"{field}.key",
    )


def address_rows(judge: Mapping[str, Any], field: str, name: str) -> list[Markup]:
    """HTML rows for the address and the model of an endpoint."""
    url, key = judge_address(judge), JUDGE.base_url
    example = _ADDRESS_EXAMPLE if provider_of(judge) == OTHER_ADDRESS else key.rule.placeholder
    box = text_input(f"{field}.{key}", url, mono=True, placeholder=example)
    return [
        _judge_row(field, key, box),
        form_row(JUDGE.model.rule.label, _model_input(field, judge, name), to=f"{field}.{_MODEL}"),
    ]


def _endpoint_settings(judge: Mapping[str, Any], field: str, name: str) -> list[Markup]:
    url = judge_address(judge)
    variable, vision = JUDGE.api_key_env, JUDGE.vision
    in_drawer = field.startswith("judge.")
    # The drawer shows these rows below the tile of another address, above the key.
    shown_above = in_drawer and provider_of(judge) == OTHER_ADDRESS
    return [
        *([] if shown_above else address_rows(judge, field, name)),
        EMPTY if in_drawer else key_row(field, name, url),
        _host_key_row(judge, field)
        if is_public()
        else _text_row(field, variable, judge_variable(judge), mono=True),
        form_row(
            JUDGE.price.rule.label,
            fill('<span class="eh-row">{}</span>', _price_inputs(judge, field)),
            JUDGE.price.rule.hint,
            to=f"{field}.{PRICE.input}",
        ),
        _read_row(judge, field),
        form_row(
            vision.rule.label,
            checkbox(f"{field}.{vision}", bool(judge.get(vision.name)), vision.rule.hint),
            to=f"{field}.{vision}",
        ),
        _text_row(field, JUDGE.family, judge.get(JUDGE.family.name, "")),
        *_sampling_settings(judge, field, more=True),
    ]


def _price_inputs(judge: Mapping[str, Any], field: str) -> Markup:
    given = judge.get(JUDGE.price.name)
    price = given if isinstance(given, Mapping) else {}
    known = listed_price(str(judge.get(_MODEL)), judge_address(judge))
    return join(
        (
            decimal_input(
                f"{field}.{key}",
                price.get(key.name, ""),
                unit=key.rule.label,
                label=f"$ per million tokens {key.rule.label}",
                placeholder=f"{getattr(known, key.attribute):g}" if known else "?",
            )
            for key in (PRICE.input, PRICE.output)
        ),
        " ",
    )


def _sampling_settings(judge: Mapping[str, Any], field: str, more: bool = False) -> list[Markup]:
    """HTML of the sampling settings in an expandable part; with `more`, also reasoning effort and
    extra parameters."""
    most = JUDGE.max_tokens
    tokens = integer_input(
        f"{field}.{most}", judge.get(most.name, most.default), low=int(most.rule.low)
    )
    parts = [
        _decimal_row(judge, field, JUDGE.temperature),
        _judge_row(field, most, tokens),
        _decimal_row(judge, field, JUDGE.top_p),
        _decimal_row(judge, field, JUDGE.seed),
    ]
    if more:
        extra, effort = judge.get(JUDGE.extra_body.name), JUDGE.reasoning_effort
        written = json.dumps(extra, ensure_ascii=False) if extra else ""
        menu = select_menu(f"{field}.{effort}", _EFFORT_OPTIONS, str(judge.get(effort.name) or ""))
        parts += [
            _judge_row(field, effort, menu),
            _judge_row(
                field, JUDGE.extra_body, text_area(f"{field}.{JUDGE.extra_body}", written, rows=2)
            ),
        ]
    return [
        fill(
            '<details class="eh-how" data-keep="{} sampling"><summary>Sampling</summary>'
            "{}</details>",
            field,
            join(parts),
        )
    ]


def _decimal_row(judge: Mapping[str, Any], field: str, key: StudyKey) -> Markup:
    """HTML row for an optional number; if the field is empty, the parameter is not sent."""
    value = judge.get(key.name, key.default)
    high = key.rule.high if key.type is float else None
    box = decimal_input(
        f"{field}.{key}",
        "" if value is None else f"{value:g}" if isinstance(value, float) else value,
        high=high,
        placeholder=key.rule.placeholder,
    )
    return _judge_row(field, key, box)


def _text_row(field: str, key: StudyKey, value: object, mono: bool = False) -> Markup:
    box = text_input(f"{field}.{key}", value, mono=mono, placeholder=key.rule.placeholder)
    return _judge_row(field, key, box)


def _judge_row(
    field: str, key: StudyKey, control: str, hint: str = "", group: bool = False
) -> Markup:
    below = hint or key.rule.hint
    return form_row(key.rule.label, control, below, to=f"{field}.{key}", group=group)
