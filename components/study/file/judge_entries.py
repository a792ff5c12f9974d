"""The judges of a study file: kind, address and key of an entry, new entries, and changes of one
field."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from judges.security.key_consents import origin_of
from studies.settings import is_public, secret_value
from studies.spec.judge_spec import default_reading_method
from studies.spec.keys import JUDGE, PRICE, SIMULATION, StudyKey
from studies.spec.provider_presets import preset_for_url, provider_presets

_NAME, _MODEL, _URL = JUDGE.name.name, JUDGE.model.name, JUDGE.base_url.name
EMBEDDED, SIMULATED, ENDPOINT = "embedded", "simulated", "endpoint"
JUDGE_KINDS: Final = ((EMBEDDED, "Embedded"), (ENDPOINT, "Endpoint"), (SIMULATED, "Simulated"))
_ACCURATE: Final = {SIMULATION.accuracy.name: 0.8, JUDGE.seed.name: 1}
JUDGE_TEMPLATES: Final[Mapping[str, Mapping[str, Any]]] = {
    EMBEDDED: {_MODEL: "embedded"},
    SIMULATED: {_MODEL: "simulated", SIMULATION.first_bias.name: 0.3, **_ACCURATE},
    ENDPOINT: {_MODEL: "gpt-4o-mini", _URL: JUDGE.base_url.rule.placeholder},
}
"""Kind of judge (endpoint, embedded, simulated) -> settings of a new judge of this kind."""
OTHER_ADDRESS: Final = "endpoint"
"""Value that stands for a provider if a judge's address belongs to no known provider."""

SIMULATED_JUDGES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "even": ("even-handed", _ACCURATE),
    "first": ("favours-first", {SIMULATION.first_bias.name: 0.3, **_ACCURATE}),
    "long": ("favours-length", {SIMULATION.length_preference.name: 0.5, **_ACCURATE}),
    "chance": ("chance", {**_ACCURATE, SIMULATION.accuracy.name: 0.5}),
}
"""Key of a simulated judge in the drawer -> its name and settings."""


def judge_name(judge: Mapping[str, Any]) -> str:
    """Name of a judge in the form: its name, else its model, else "judge"."""
    return str(judge.get(JUDGE.name.name) or judge.get(JUDGE.model.name) or "judge")


def judge_test_key(judge: Mapping[str, Any]) -> str:
    """Key under which the form keeps the result of a judge's test call. It contains all settings of
    the judge, so a changed judge counts as not tested."""
    return f"@test {json.dumps(judge, sort_keys=True, default=str)}"


def judge_kind(judge: Mapping[str, Any]) -> str:
    model = judge.get(_MODEL)
    return str(model) if model in (EMBEDDED, SIMULATED) else ENDPOINT


def judge_address(judge: Mapping[str, Any]) -> str:
    """Address of the judge's endpoint: as written in the study file, else that of the provider
    written there, else ""."""
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
    """Whether the judge has no name, or that of its model; if so, choosing another model also
    changes its name."""
    return (judge.get(_NAME) or "") in ("", judge.get(_MODEL))


def judge_key_variable(judge: Mapping[str, Any]) -> str:
    """Environment variable with the judge's API key: as written in the study file, else that of the
    provider written there, else ""."""
    preset = provider_presets().get(str(judge.get(JUDGE.provider.name)))
    given = judge.get(JUDGE.api_key_env.name)
    return (preset.api_key_env if preset else "") if given is None else str(given)


def simulation_setting_default(key: StudyKey) -> float:
    """Value of a setting of a simulated judge that the study file does not set: 1 for the
    probability of a right verdict (accuracy, sensitivity, specificity), 0 for every bias."""
    return float(key in (SIMULATION.accuracy, SIMULATION.sensitivity, SIMULATION.specificity))


def needs_typed_key(judge: Mapping[str, Any]) -> bool:
    """Whether the user must type an API key for this judge: its provider requires a key, and no
    environment variable holds one (in public mode: the judge names no variable). Keys already typed
    are not known here, since only the browser has them."""
    if judge_kind(judge) != ENDPOINT:
        return False
    url, variable = judge_address(judge), judge_key_variable(judge)
    paid = any(preset.serves(url) and preset.api_key_env for preset in provider_presets().values())
    if is_public():
        return paid and not variable
    return paid and not (variable and secret_value(variable))


def new_judge(kind: str, judges: Sequence[Mapping[str, Any]], name: str = "") -> dict[str, Any]:
    """Default settings of a new judge of a kind (endpoint, embedded, simulated). It is named after
    its model unless `name` is given, with a number if one of `judges` has this name."""
    made = dict(JUDGE_TEMPLATES[kind])
    return {_NAME: unique_name(name or str(made[_MODEL]), judges), **made}


def judge_from_template(template: str, judges: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Settings of a new judge, with a name that none of `judges` has. `template`: a provider
    ("openai"), "embedded", a key of SIMULATED_JUDGES ("first"), or OTHER_ADDRESS, whose judge gets
    no name and no address. ValueError for any other template."""
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
    """Settings of the judge after its field `key` was changed to the typed value `raw`; ValueError
    for an unknown field or kind, or a value that cannot be parsed.

    An empty value, or one that equals the default, removes the key; but an empty temperature is
    stored as null, so that none is sent. Another kind of judge resets the other settings, a new
    model renames a judge that is named after its model, and an address at another host removes the
    price."""
    made = dict(judge)
    if key == "kind":
        common = {k: made[k] for k in (_NAME, JUDGE.family.name) if k in made}
        if str(raw) not in JUDGE_TEMPLATES:
            raise ValueError(f"no kind of judge named {raw!r}; reload the page")
        return made if raw == judge_kind(made) else {**common, **JUDGE_TEMPLATES[raw]}
    found = next((k for k in (*SIMULATION, *JUDGE, *PRICE) if str(k) == key), None)
    if found is None:
        raise ValueError(f"{key}: not a setting of a judge; reload the page")
    if found in PRICE:
        return _with_typed_price(made, found, str(raw).strip())
    value = _parse_value(found, raw)
    if found.rule.null and value is None:
        return {**made, key: None}  # an explicit null: no temperature is sent
    if key == _MODEL and value and is_named_after_model(made):
        made = {_NAME: value} | made | {_NAME: value}  # the name comes first in the file
    if found == JUDGE.base_url:
        made = _without_price_of_other_host(made, str(value or ""))
    if value is None or value == _default_value(made, found):
        made.pop(key, None)
        return made
    return {**made, key: value}


def _without_price_of_other_host(judge: dict[str, Any], url: str) -> dict[str, Any]:
    """The judge without its price, if `url` is at another host than the judge's present address (a
    price holds for one provider); else the judge unchanged."""
    before = origin_of(judge_address(judge))
    if not before or before == origin_of(url):
        return judge
    return {key: value for key, value in judge.items() if key != JUDGE.price.name}


def _default_value(judge: Mapping[str, Any], key: StudyKey) -> Any:
    if key == JUDGE.read:
        return default_reading_method(judge_kind(judge))
    return simulation_setting_default(key) if key in SIMULATION else key.default


def _parse_value(key: StudyKey, raw: Any) -> Any:
    """Parse the typed value `raw` into the type of a key; None if it is empty. A ValueError if it
    is malformed."""
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


def _with_typed_price(judge: dict[str, Any], key: StudyKey, words: str) -> dict[str, Any]:
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


def parse_number(key: StudyKey, words: str) -> float:
    """Parse a typed number; for any other text, a ValueError that names the key and the expected
    range."""
    try:
        return int(words) if key.type is int else float(words)
    except ValueError:
        raise ValueError(f"{key}: expected {key.expected_text}, found {words!r}") from None
