"""Form with all settings of one judge."""

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
from judges.money.costs import listed_prices
from judges.money.host_key import load_host_key
from judges.security.key_consents import origin_of
from studies.spec.judge_spec import SIMULATION_RANGES
from studies.spec.provider_presets import provider_presets

EMBEDDED, SIMULATED, ENDPOINT = "embedded", "simulated", "endpoint"
JUDGE_KINDS: Final = ((EMBEDDED, "Embedded"), (ENDPOINT, "Endpoint"), (SIMULATED, "Simulated"))
JUDGE_TEMPLATES: Final[Mapping[str, Mapping[str, Any]]] = {
    EMBEDDED: {"model": "embedded"},
    SIMULATED: {"model": "simulated", "first_bias": 0.3, "accuracy": 0.8, "seed": 1},
    ENDPOINT: {"model": "gpt-4o-mini", "base_url": "https://api.openai.com/v1"},
}
"""Starting values of a new judge of each kind."""

_SIMULATION_HINTS: Final = {
    "first_bias": "probability of picking the first answer regardless of content",
    "accuracy": "otherwise, probability of picking the better answer",
    "tie_rate": "probability of a tie, if the prompt offers one",
    "length_preference": "prefers the longer answer; below 0 the shorter",
    "self_preference": "prefers answers of its own family",
    "unreadable_rate": "probability of a reply without a verdict",
}
_EFFORT_OPTIONS: Final = (
    ("", "not sent"),
    *((word, word) for word in ("minimal", "low", "medium", "high")),
)
_READ_OPTIONS: Final = (("text", "Reply text"), ("probabilities", "Label probabilities"))


def judge_kind(judge: Mapping[str, Any]) -> str:
    model = judge.get("model")
    return str(model) if model in (EMBEDDED, SIMULATED) else ENDPOINT


def _provider_addresses() -> list[tuple[str, str]]:
    """Addresses of the known providers, with their names; local servers only on a private page."""
    shown = (p for p in provider_presets().values() if p.base_url and not (p.local and is_public()))
    return [(preset.base_url, preset.title) for preset in shown]


def judge_address(judge: Mapping[str, Any]) -> str:
    """Address of an endpoint: its own, or that of the provider it names."""
    preset = provider_presets().get(str(judge.get("provider")))
    return str(judge.get("base_url") or (preset.base_url if preset else ""))


def judge_variable(judge: Mapping[str, Any]) -> str:
    """Variable with an endpoint's key: its own, or that of the provider it names."""
    preset = provider_presets().get(str(judge.get("provider")))
    given = judge.get("api_key_env")
    return (preset.api_key_env if preset else "") if given is None else str(given)


def simulation_default(key: str) -> float:
    """A simulation setting without an entry in the study file: no bias, always right."""
    return 1.0 if key == "accuracy" else 0.0


def judge_form(judge: Mapping[str, Any], field: str, name: str) -> Markup:
    kind = judge_kind(judge)
    parts = [
        form_row("Name", _name_input(field, judge, name), to=f"{field}.name"),
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
    return text_input(f"{field}.name", judge.get("name", ""), renames=name)


def _model_input(field: str, judge: Mapping[str, Any], name: str) -> Markup:
    """Model field; a judge named after its model is renamed with it."""
    model = str(judge.get("model", ""))
    models = [(known, "listed price") for known in listed_prices()]
    renames = name if name == model else ""
    return text_input(f"{field}.model", model, mono=True, suggestions=models, renames=renames)


def _embedded_settings(judge: Mapping[str, Any], field: str, name: str) -> list[Markup]:
    read = str(judge.get("read") or "probabilities")
    return [
        _judge_row(
            field,
            "read",
            "Verdict from",
            segmented_switch(f"{field}.read", _READ_OPTIONS, read),
            "probabilities: one token per call, no reasoning; text: slower, a whole reply",
            group=True,
        ),
        *_sampling_settings(judge, field),
    ]


def _simulation_value(judge: Mapping[str, Any], key: str) -> float:
    value = judge.get(key)
    return simulation_default(key) if value is None else float(value)


def _simulated_settings(judge: Mapping[str, Any], field: str, name: str) -> list[Markup]:
    parts = [
        _judge_row(
            field,
            key,
            key.replace("_", " ").capitalize(),
            slider(f"{field}.{key}", _simulation_value(judge, key), low=SIMULATION_RANGES[key][0]),
            hint,
        )
        for key, hint in _SIMULATION_HINTS.items()
    ]
    weights = ", ".join(f"{w:g}" for w in judge.get("slot_weights") or ())
    return [
        *parts,
        _judge_row(
            field,
            "slot_weights",
            "Slot weights",
            text_input(f"{field}.slot_weights", weights, placeholder="1, 0, 0"),
            "one weight per position; with the probability “first bias”, the position is drawn "
            "by them",
        ),
        _judge_row(field, "seed", "Seed", integer_input(f"{field}.seed", judge.get("seed", 0))),
        _judge_row(
            field, "family", "Family", text_input(f"{field}.family", judge.get("family", ""))
        ),
    ]


def _host_key_row(judge: Mapping[str, Any], field: str) -> Markup:
    """Field for this Space's key, with its models and spending limits; empty without one."""
    host_key = load_host_key()
    if host_key is None:
        return EMPTY
    hint = (
        f"{', '.join(host_key.prices)} at {host_key.endpoint}; this Space pays up to "
        f"${host_key.run_usd:.2f} per run and ${host_key.visitor_usd:.2f} per day for you"
    )
    return _judge_row(
        field,
        "api_key_env",
        "or Space's key",
        text_input(
            f"{field}.api_key_env",
            judge.get("api_key_env", ""),
            mono=True,
            placeholder=host_key.key_env,
        ),
        hint,
    )


def _endpoint_settings(judge: Mapping[str, Any], field: str, name: str) -> list[Markup]:
    given = judge.get("price")
    price = given if isinstance(given, Mapping) else {}
    known = listed_prices().get(str(judge.get("model")))
    ends = [(f"{field}.price.input", "input", "in"), (f"{field}.price.output", "output", "out")]
    prices = join(
        (
            decimal_input(
                to,
                price.get(end, ""),
                unit=unit,
                label=f"$ per million tokens {unit}",
                placeholder=f"{getattr(known, end):g}" if known else "?",
            )
            for to, end, unit in ends
        ),
        " ",
    )
    read = str(judge.get("read") or "text")
    url = judge_address(judge)
    return [
        _judge_row(
            field,
            "base_url",
            "Address",
            text_input(
                f"{field}.base_url",
                url,
                mono=True,
                placeholder="https://api.openai.com/v1",
                suggestions=_provider_addresses(),
            ),
            "any OpenAI-compatible endpoint, also a local server",
        ),
        _judge_row(field, "model", "Model", _model_input(field, judge, name)),
        _judge_row(
            field,
            "key",
            "Key",
            key_input(name, html_id(f"{field}.key"), url),
            f"goes to {origin_of(url) or 'this address'} only; held by this page and the run, "
            "never in a file, link or export",
        ),
        _host_key_row(judge, field)
        if is_public()
        else _judge_row(
            field,
            "api_key_env",
            "or variable",
            text_input(
                f"{field}.api_key_env",
                judge_variable(judge),
                mono=True,
                placeholder="OPENAI_API_KEY",
            ),
            "environment variable of the server that runs this page",
        ),
        _judge_row(
            field,
            "price.input",
            "$ per million",
            fill('<span class="eh-row">{}</span>', prices),
            "tokens; without a price the budget limit cannot be applied",
        ),
        _judge_row(
            field,
            "read",
            "Verdict from",
            segmented_switch(f"{field}.read", _READ_OPTIONS, read),
            "label probabilities need an endpoint with logprobs",
            group=True,
        ),
        _judge_row(
            field,
            "vision",
            "Vision",
            checkbox(f"{field}.vision", bool(judge.get("vision")), "accepts images"),
        ),
        _judge_row(
            field,
            "family",
            "Family",
            text_input(f"{field}.family", judge.get("family", ""), placeholder="openai"),
            "model family, to measure self-preference",
        ),
        *_sampling_settings(judge, field, more=True),
    ]


def _sampling_settings(judge: Mapping[str, Any], field: str, more: bool = False) -> list[Markup]:
    """Folded sampling settings, which most studies leave unchanged."""
    temperature = (
        ""
        if "temperature" in judge and judge["temperature"] is None
        else judge.get("temperature", 0)
    )
    parts = [
        _judge_row(
            field,
            "temperature",
            "Temperature",
            decimal_input(f"{field}.temperature", temperature, high=5, placeholder="not sent"),
            "empty: not sent; some models accept no temperature",
        ),
        _judge_row(
            field,
            "max_tokens",
            "Max tokens",
            integer_input(f"{field}.max_tokens", judge.get("max_tokens", 4096), low=1),
        ),
        _judge_row(
            field,
            "top_p",
            "Top-p",
            decimal_input(
                f"{field}.top_p", _empty_if_none(judge.get("top_p")), high=1, placeholder="not sent"
            ),
        ),
        _judge_row(
            field,
            "seed",
            "Seed",
            decimal_input(
                f"{field}.seed", _empty_if_none(judge.get("seed")), placeholder="not sent"
            ),
        ),
    ]
    if more:
        extra = judge.get("extra_body")
        written = json.dumps(extra, ensure_ascii=False) if extra else ""
        effort = str(judge.get("reasoning_effort") or "")
        parts += [
            _judge_row(
                field,
                "reasoning_effort",
                "Reasoning",
                select_menu(f"{field}.reasoning_effort", _EFFORT_OPTIONS, effort),
            ),
            _judge_row(
                field,
                "extra_body",
                "Extra body",
                text_area(f"{field}.extra_body", written, rows=2),
                "JSON added to each request, such as provider options",
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


def _empty_if_none(value: Any) -> Any:
    return "" if value is None else value


def _judge_row(
    field: str, key: str, label: str, control: str, hint: str = "", group: bool = False
) -> Markup:
    return form_row(label, control, hint, to=f"{field}.{key}", group=group)
