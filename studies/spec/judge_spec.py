"""Judges of a study file: parse and dump an endpoint, the embedded model, or a simulation."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

from studies.domain import JudgeSpec, Price
from studies.spec.field_reader import FieldReader
from studies.spec.provider_presets import ProviderPreset, default_timeout, provider_presets

SIMULATION_RANGES: Final = {
    "first_bias": (0.0, 1.0),
    "accuracy": (0.0, 1.0),
    "tie_rate": (0.0, 1.0),
    "length_preference": (-1.0, 1.0),
    "self_preference": (0.0, 1.0),
    "unreadable_rate": (0.0, 1.0),
    "much_rate": (0.0, 1.0),
    "contradiction_rate": (0.0, 1.0),
    "score_mean": (0.0, 10.0),
    "score_spread": (0.0, 10.0),
    "score_noise": (0.0, 10.0),
    "first_points": (-10.0, 10.0),
}
"""Parameters of a simulated judge with their ranges; judges/models/simulated.py uses them."""


def parse_judge(entry: object, where: str) -> JudgeSpec:
    reader = FieldReader(entry, where)
    model = reader.text("model")
    if not model:
        raise reader.field_error(
            "model", "a judge needs a model: embedded, simulated, or an endpoint's name"
        )
    simulated, embedded = model == "simulated", model == "embedded"
    preset = _read_provider(reader)
    spec = JudgeSpec(
        name=reader.text("name", model),
        model=model,
        endpoint=_read_base_url(reader) or (preset.base_url if preset else ""),
        api_key_env=_read_key_variable(reader)
        if preset is None or reader.has("api_key_env")
        else preset.api_key_env,
        family=reader.text("family"),
        temperature=_read_temperature(reader),
        top_p=reader.optional_number("top_p", 0.0, 1.0),
        seed=None if not reader.has("seed") else reader.whole("seed", 0),
        max_tokens=reader.whole("max_tokens", 4096, 1, 1_000_000),
        reasoning_effort=reader.optional_text("reasoning_effort"),
        read=cast(
            Literal["text", "probabilities"],
            reader.choice(
                "read", "probabilities" if embedded else "text", ("text", "probabilities")
            ),
        ),
        vision=reader.flag("vision", False),
        price=_parse_price(reader.mapping("price"), f"{where}.price")
        if reader.has("price")
        else (Price(0.0, 0.0) if preset and preset.local else None),
        extra_body=_read_extra_body(reader),
        simulation=_read_simulation(reader) if simulated else {},
        timeout_s=reader.number("timeout_s", default_timeout(model), 1.0, 3600.0),
        max_attempts=reader.whole("max_attempts", 6, 1, 20),
        stream=reader.flag("stream", False),
        idle_s=reader.number("idle_s", 60.0, 1.0, 3600.0),
        connect_s=reader.number("connect_s", 10.0, 0.1, 300.0),
        hedge=reader.flag("hedge", False),
    )
    reader.refuse_unknown_keys()
    if spec.kind == "endpoint" and not spec.endpoint:
        raise reader.field_error("base_url", f"model {model!r} needs the base_url of its endpoint")
    return spec


def _read_provider(reader: FieldReader) -> ProviderPreset | None:
    """Read the name of a provider, whose preset fills in address, key variable and price."""
    if not reader.has("provider"):
        return None
    return provider_presets()[reader.choice("provider", "", tuple(provider_presets()))]


def _read_temperature(reader: FieldReader) -> float | None:
    """Return None for `temperature: null`: it is then not sent, since some models refuse it."""
    if reader.is_null("temperature"):
        return None
    return reader.number("temperature", 0.0, 0.0, 5.0)


def _read_base_url(reader: FieldReader) -> str:
    """Read the base URL; it is stored with every request, so it must not contain a key."""
    url = reader.text("base_url").rstrip("/")
    if url and not url.startswith(("http://", "https://")):
        raise reader.field_error("base_url", f"expected http://… or https://…, found {url!r}")
    if urlsplit(url).password or urlsplit(url).query:
        raise reader.field_error(
            "base_url",
            "contains a password or a query; name a variable with the key in api_key_env",
        )
    return url


def _read_key_variable(reader: FieldReader) -> str:
    """Read the name of the environment variable that contains the key.

    A key entered here by mistake would be stored and exported, so it is refused; the error message
    does not repeat it.
    """
    name = reader.text("api_key_env")
    if name and (not _VARIABLE_NAME.fullmatch(name) or _KEY_LIKE.fullmatch(name)):
        raise reader.field_error(
            "api_key_env",
            "expected the name of a variable that holds the key, such as OPENAI_API_KEY; never put "
            "the key itself into a study",
        )
    return name


_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_KEY_LIKE: Final = re.compile(r"(?=.*[a-z])(?=.*[0-9])[A-Za-z0-9_]{28,}|(sk|hf|gsk|xai)_\w{16,}")
"""Texts that look like a key: long with lower-case letters and digits, or a known prefix."""


def _read_extra_body(reader: FieldReader) -> dict[str, object]:
    values = reader.mapping("extra_body")
    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError):
        raise reader.field_error(
            "extra_body", f"expected values that JSON supports, found {values!r}"
        ) from None
    return values


def _read_simulation(reader: FieldReader) -> dict[str, object]:
    """Read the parameters of a simulated judge, whose true bias they define."""
    values: dict[str, object] = {}
    for name in SIMULATION_RANGES:
        if reader.has(name):
            low, high = SIMULATION_RANGES[name]
            values[name] = reader.number(name, 0.0, low, high)
    if reader.has("slot_weights"):
        if not values.get("first_bias"):
            raise reader.field_error(
                "slot_weights", "distributes first_bias over the slots: set first_bias too"
            )
        values["slot_weights"] = reader.take(
            "slot_weights", list[float](), _parse_weights, _WEIGHTS_EXPECTED
        )
    values["seed"] = reader.whole("seed", 0)
    return values


_WEIGHTS_EXPECTED: Final = "a non-negative weight for each slot, not all 0 in the first two"


def _parse_weights(value: object) -> list[float]:
    weights = [float(w) for w in cast(list[float], value) if not isinstance(w, (bool, str))]
    if not isinstance(value, list) or len(weights) != len(value):
        raise TypeError
    if not all(w >= 0 and math.isfinite(w) for w in weights) or not sum(weights[:2]):
        raise ValueError
    return weights


def _parse_price(values: Mapping[str, object], where: str) -> Price:
    reader = FieldReader(values, where)
    price = Price(
        input=reader.number("input", 0.0, 0.0, 1e6),
        output=reader.number("output", 0.0, 0.0, 1e6),
        cache_read=reader.optional_number("cache_read", 0.0, 1e6),
        cache_write=reader.optional_number("cache_write", 0.0, 1e6),
    )
    reader.refuse_unknown_keys()
    return price


def dump_judge(judge: JudgeSpec) -> dict[str, Any]:
    default = JudgeSpec(
        judge.name,
        judge.model,
        read="probabilities" if judge.model == "embedded" else "text",
        timeout_s=default_timeout(judge.model),
    )
    values = changed_fields(
        judge, default, skip=("simulation", "price", "endpoint", "name", "model")
    )
    out: dict[str, Any] = {"name": judge.name, "model": judge.model}
    if judge.endpoint:
        out["base_url"] = judge.endpoint
    if judge.price is not None:
        values["price"] = changed_fields(judge.price, Price(-1.0, -1.0))
    if judge.kind == "simulated":
        values.pop("seed", None)
        values |= {k: to_yaml_value(v) for k, v in judge.simulation.items()}
    return out | values


def changed_fields(value: Any, default: Any, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    changed = {}
    for spec in fields(value):
        mine = getattr(value, spec.name)
        if spec.name not in skip and mine != getattr(default, spec.name):
            changed[spec.name] = to_yaml_value(mine)
    return changed


def to_yaml_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [to_yaml_value(v) for v in value]
    return {k: to_yaml_value(v) for k, v in value.items()} if isinstance(value, Mapping) else value
