"""A judge as a study file writes it: an endpoint, the embedded model, or a simulation."""

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
"""What is known about a simulated judge; what each number does: judges/models/simulated.py."""


def parse_judge(entry: object, where: str) -> JudgeSpec:
    read = FieldReader(entry, where)
    model = read.text("model")
    if not model:
        raise read.field_error(
            "model", "a judge needs a model: embedded, simulated, or an endpoint's name"
        )
    simulated, embedded = model == "simulated", model == "embedded"
    spec = JudgeSpec(
        name=read.text("name", model),
        model=model,
        endpoint=_read_base_url(read),
        api_key_env=_read_key_variable(read),
        family=read.text("family"),
        temperature=None
        if read.is_null("temperature")  # not sent at all: some models refuse any
        else read.number("temperature", 0.0, 0.0, 5.0),
        top_p=read.optional_number("top_p", 0.0, 1.0),
        seed=None if not read.has("seed") else read.whole("seed", 0),
        max_tokens=read.whole("max_tokens", 4096, 1, 1_000_000),
        reasoning_effort=read.optional_text("reasoning_effort"),
        read=cast(
            Literal["text", "probabilities"],
            read.choice("read", "probabilities" if embedded else "text", ("text", "probabilities")),
        ),
        vision=read.flag("vision", False),
        price=_parse_price(read.mapping("price"), f"{where}.price") if read.has("price") else None,
        extra_body=_read_extra_body(read),
        simulation=_read_simulation(read) if simulated else {},
    )
    read.refuse_unknown_keys()
    if spec.kind == "endpoint" and not spec.endpoint:
        raise read.field_error("base_url", f"model {model!r} needs the base_url of its endpoint")
    return spec


def _read_base_url(read: FieldReader) -> str:
    """The base URL, which is stored with every request: no key may hide in it."""
    url = read.text("base_url").rstrip("/")
    if url and not url.startswith(("http://", "https://")):
        raise read.field_error("base_url", f"expected http://… or https://…, found {url!r}")
    if urlsplit(url).password or urlsplit(url).query:
        raise read.field_error(
            "base_url", "holds a password or a query; name a variable in api_key_env"
        )
    return url


def _read_key_variable(read: FieldReader) -> str:
    """The name of a variable. A key put here by mistake is refused without being repeated: it
    would be stored, exported and named in every message about it."""
    name = read.text("api_key_env")
    if name and (not _VARIABLE_NAME.fullmatch(name) or _KEY_LIKE.fullmatch(name)):
        raise read.field_error(
            "api_key_env",
            "expected the name of a variable that holds the key, such as OPENAI_API_KEY; the key "
            "itself never stands in a study",
        )
    return name


_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_KEY_LIKE: Final = re.compile(r"(?=.*[a-z])(?=.*[0-9])[A-Za-z0-9_]{28,}|(sk|hf|gsk|xai)_\w{16,}")
"""Long, with small letters and digits: nobody calls a variable that."""


def _read_extra_body(read: FieldReader) -> dict[str, object]:
    values = read.mapping("extra_body")
    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError):
        raise read.field_error(
            "extra_body", f"expected what JSON can hold, found {values!r}"
        ) from None
    return values


def _read_simulation(read: FieldReader) -> dict[str, object]:
    """The parameters of a judge whose truth is known."""
    values: dict[str, object] = {}
    for name in SIMULATION_RANGES:
        if read.has(name):
            low, high = SIMULATION_RANGES[name]
            values[name] = read.number(name, 0.0, low, high)
    if read.has("slot_weights"):
        if not values.get("first_bias"):
            raise read.field_error(
                "slot_weights", "says where first_bias goes: give first_bias too"
            )
        values["slot_weights"] = read.take(
            "slot_weights", list[float](), _parse_weights, _WEIGHTS_EXPECTED
        )
    values["seed"] = read.whole("seed", 0)
    return values


_WEIGHTS_EXPECTED: Final = "a weight for each slot, none negative, some in the first two"


def _parse_weights(value: object) -> list[float]:
    weights = [float(w) for w in cast(list[float], value) if not isinstance(w, (bool, str))]
    if not isinstance(value, list) or len(weights) != len(value):
        raise TypeError
    if not all(w >= 0 and math.isfinite(w) for w in weights) or not sum(weights[:2]):
        raise ValueError
    return weights


def _parse_price(values: Mapping[str, object], where: str) -> Price:
    read = FieldReader(values, where)
    price = Price(
        input=read.number("input", 0.0, 0.0, 1e6),
        output=read.number("output", 0.0, 0.0, 1e6),
        cache_read=read.optional_number("cache_read", 0.0, 1e6),
        cache_write=read.optional_number("cache_write", 0.0, 1e6),
    )
    read.refuse_unknown_keys()
    return price


def dump_judge(judge: JudgeSpec) -> dict[str, Any]:
    default = JudgeSpec(
        judge.name, judge.model, read="probabilities" if judge.model == "embedded" else "text"
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
