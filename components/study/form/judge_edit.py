"""Add a judge to a study file, or change one field of a judge."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from components.study.file.typed_values import parse_number
from components.study.form.judge_settings import (
    JUDGE_TEMPLATES,
    OTHER_ADDRESS,
    SIMULATED_JUDGES,
    is_named_after_model,
    judge_address,
    judge_kind,
    simulation_default,
)
from judges.security.key_consents import origin_of
from studies.spec.judge_spec import default_read
from studies.spec.keys import JUDGE, PRICE, SIMULATION, StudyKey
from studies.spec.provider_presets import provider_presets

_NAME, _MODEL = JUDGE.name.name, JUDGE.model.name


def new_judge(kind: str, judges: Sequence[Mapping[str, Any]], name: str = "") -> dict[str, Any]:
    """Default settings of a new judge of a kind (endpoint, embedded, simulated); it is named after
    its model unless `name` is given."""
    made = dict(JUDGE_TEMPLATES[kind])
    return {_NAME: unique_name(name or str(made[_MODEL]), judges), **made}


def judge_from_template(template: str, judges: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Settings of a new judge. `template`: a provider ("openai"), OTHER_ADDRESS, "embedded", or a
    key of SIMULATED_JUDGES ("first")."""
    if template in SIMULATED_JUDGES:
        name, settings = SIMULATED_JUDGES[template]
        return {_NAME: unique_name(name, judges), _MODEL: "simulated", **settings}
    if template == OTHER_ADDRESS:
        return {_MODEL: ""}  # no address: a key must not go to a provider that was not chosen
    if template in JUDGE_TEMPLATES:
        return new_judge(template, judges)
    if template not in provider_presets():
        raise ValueError(f"no judge or provider named {template!r}; reload the page")
    start = dict(JUDGE_TEMPLATES["endpoint"]) if template == "openai" else {_MODEL: ""}
    named = str(start[_MODEL]) or provider_presets()[template].title
    start.pop(JUDGE.base_url.name, None)  # the provider has it
    return {_NAME: unique_name(named, judges), **start, JUDGE.provider.name: template}


def unique_name(name: str, judges: Sequence[Mapping[str, Any]]) -> str:
    taken = {str(judge.get(_NAME, "")) for judge in judges}
    made, number = name, 2
    while made in taken:
        made, number = f"{name}-{number}", number + 1
    return made


def edit_judge(judge: Mapping[str, Any], key: str, raw: Any) -> dict[str, Any]:
    """Settings of the judge after a change of the field `key` to the typed value `raw`. Another
    kind of judge resets the settings, a new model may rename the judge, a new host removes the
    price."""
    made = dict(judge)
    if key == "kind":
        common = {k: made[k] for k in (_NAME, JUDGE.family.name) if k in made}
        return made if raw == judge_kind(made) else {**common, **JUDGE_TEMPLATES[str(raw)]}
    found = next((k for k in (*SIMULATION, *JUDGE, *PRICE) if str(k) == key), None)
    if found is None:
        raise ValueError(f"{key}: not a setting of a judge; reload the page")
    if found in PRICE:
        return _with_price(made, found, str(raw).strip())
    value = _parse_value(found, raw)
    if found.rule.null and value is None:
        return {**made, key: None}  # an explicit null: no temperature is sent
    if key == _MODEL and value and is_named_after_model(made):
        made = {_NAME: value} | made | {_NAME: value}  # the name comes first in the file
    if found == JUDGE.base_url:
        made = _without_foreign_price(made, str(value or ""))
    if value is None or value == _default_value(made, found):
        made.pop(key, None)
        return made
    return {**made, key: value}


def _without_foreign_price(judge: dict[str, Any], url: str) -> dict[str, Any]:
    """Remove the judge's price if `url` is at another host than its present address."""
    before = origin_of(judge_address(judge))
    if not before or before == origin_of(url):
        return judge
    return {key: value for key, value in judge.items() if key != JUDGE.price.name}


def _default_value(judge: Mapping[str, Any], key: StudyKey) -> Any:
    if key == JUDGE.read:
        return default_read(judge_kind(judge))
    return simulation_default(key) if key in SIMULATION else key.default


def _parse_value(key: StudyKey, raw: Any) -> Any:
    """Parse typed text into the type of a key; None if empty."""
    if key.type is bool:
        return bool(raw)
    words = str(raw).strip()
    if not words:
        return None
    if key.base_type is Mapping:
        return _parse_json_object(words)
    if key.base_type is tuple:
        return [parse_number(key, part) for part in words.split(",") if part.strip()] or None
    return parse_number(key, words) if key.type in (int, float) else words


def _with_price(judge: dict[str, Any], key: StudyKey, words: str) -> dict[str, Any]:
    price = judge.pop(JUDGE.price.name, None)
    made = dict(price) if isinstance(price, Mapping) else {}
    made.pop(key.name, None)
    if words:
        value = parse_number(key, words)
        made[key.name] = int(value) if value == int(value) else value
    return {**judge, JUDGE.price.name: made} if made else judge


def _parse_json_object(words: str) -> dict[str, Any]:
    try:
        values = json.loads(words)
    except ValueError as error:
        raise ValueError(f"{JUDGE.extra_body}: not valid JSON: {error}") from None
    if not isinstance(values, dict):
        raise ValueError(f'{JUDGE.extra_body}: expected a JSON object such as {{"key": value}}')
    return values
