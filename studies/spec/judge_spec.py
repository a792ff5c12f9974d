"""Judges in a study file: parse and write an endpoint, the embedded model, or a simulated judge."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from studies.domain import JudgeSpec, Price
from studies.errors import StudyError
from studies.spec.keys import JUDGE, PRICE, SIMULATION, KeyBlock, StudyKey
from studies.spec.provider_presets import default_timeout, provider_presets


def parse_judge(entry: object, where: str) -> JudgeSpec:
    """Parse an entry of `judges` in a study file; StudyError, which names the place `where`, for an
    invalid one. Defaults depend on the model, and a provider's preset fills empty fields."""
    from studies.spec.schema import JudgeBlock, PriceBlock, SimulatedJudgeBlock, key_place

    model = entry.get(JUDGE.model.name) if isinstance(entry, Mapping) else None
    simulated = model == "simulated"
    block = (SimulatedJudgeBlock if simulated else JudgeBlock).parse(entry, where)
    found = block.attributes()
    simulation = {key.name: found.pop(key.attribute) for key in SIMULATION if simulated}
    if found[JUDGE.price.attribute] is not None:
        price = PriceBlock.parse(found[JUDGE.price.attribute], key_place(where, JUDGE.price))
        found[JUDGE.price.attribute] = Price(**price.attributes())
    if simulated:
        seed = found[JUDGE.seed.attribute] or 0
        found["simulation"] = _drop_none_values(simulation) | {JUDGE.seed.name: seed}
    if JUDGE.read.attribute not in block.model_fields_set:
        found[JUDGE.read.attribute] = default_reading_method(str(model))
    if JUDGE.timeout_s.attribute not in block.model_fields_set:
        found[JUDGE.timeout_s.attribute] = default_timeout(str(model))
    judge = JudgeSpec(**found)
    if judge.provider:
        if judge.provider not in provider_presets():
            known = ", ".join(provider_presets())
            place = key_place(where, JUDGE.provider)
            raise StudyError(f"{place}: expected one of {known}, found {judge.provider!r}")
        judge = _apply_preset(judge, block.model_fields_set)
    judge = replace(judge, name=judge.name or judge.model, endpoint=judge.endpoint.rstrip("/"))
    if fault := _find_fault(judge):
        raise StudyError(f"{key_place(where, fault[0])}: {fault[1]}")
    return judge


def _apply_preset(judge: JudgeSpec, given: Collection[str]) -> JudgeSpec:
    """Fill in what the provider preset of a judge knows: the address and the variable of the API
    key, unless the study file states them (`given` has the keys it states). Without a price in
    the file, a server on the user's machine gets the price 0."""
    preset = provider_presets()[judge.provider]
    variable = JUDGE.api_key_env.attribute in given
    return replace(
        judge,
        provider="",
        endpoint=judge.endpoint or preset.base_url,
        api_key_env=judge.api_key_env if variable else preset.api_key_env,
        price=judge.price or (Price(0.0, 0.0) if preset.local else None),
    )


def default_reading_method(model: str) -> str:
    """Return the default of a judge's key `read`: "probabilities" (the verdict is read from the
    probabilities of the labels) for the embedded model, "text" (from the reply) for others."""
    return "probabilities" if model == "embedded" else "text"


def _drop_none_values(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _find_fault(judge: JudgeSpec) -> tuple[StudyKey, str] | None:
    """Return the first key of a judge with an unusable value, and the reason; None if all are
    usable."""
    url, variable = judge.endpoint, judge.api_key_env
    if not judge.model:
        return JUDGE.model, JUDGE.model.rule.missing
    if re.search(r"://[^/]*@|[?#]", url):  # the address is stored with every request
        return (
            JUDGE.base_url,
            f"contains a password or a query; name a variable with the key in {JUDGE.api_key_env}",
        )
    if url and not _is_address(url):
        return JUDGE.base_url, f"expected http://… or https://…, found {url!r}"
    # An API key entered here by mistake would be stored and exported; the message omits it.
    if variable and (not _VARIABLE_NAME.fullmatch(variable) or _KEY_LIKE.fullmatch(variable)):
        return (
            JUDGE.api_key_env,
            "expected the name of a variable that holds the key, such as OPENAI_API_KEY; never put "
            "the key itself into a study",
        )
    weights, bias = SIMULATION.slot_weights, SIMULATION.first_bias
    if weights.name in judge.simulation and not judge.simulation.get(bias.name):
        return weights, f"distributes {bias} over the slots: set {bias} too"
    if judge.weights and judge.kind != "embedded":
        return JUDGE.weights, f"only a judge with {JUDGE.model}: embedded has weights of its own"
    if judge.kind == "endpoint" and not url:
        return JUDGE.base_url, f"model {judge.model!r} needs the base_url of its endpoint"
    return None


def _is_address(url: str) -> bool:
    """Whether a text is an http or https address with a host and, if any, a valid port."""
    try:
        return bool(re.match(r"https?://\S+\Z", url) and urlsplit(url).hostname) and (
            urlsplit(url).port != 0
        )
    except ValueError:
        return False


_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_KEY_LIKE: Final = re.compile(r"(?=.*[a-z])(?=.*[0-9])[A-Za-z0-9_]{28,}|(sk|hf|gsk|xai)_\w{16,}")
"""Pattern of texts like an API key: long with lower-case letters and digits, or a known prefix."""


def dump_judge(judge: JudgeSpec) -> dict[str, Any]:
    """Convert a judge to the keys of a study file; default values are left out."""
    default = JudgeSpec(
        "",
        "",
        read=default_reading_method(judge.model),  # type: ignore[arg-type]
        timeout_s=default_timeout(judge.model),
    )
    values = changed_fields(judge, default, JUDGE)
    if judge.price is not None:
        values[JUDGE.price.name] = changed_fields(judge.price, Price(-1.0, -1.0), PRICE)
    if judge.kind == "simulated":
        values.pop(JUDGE.seed.name, None)
        values |= {name: to_yaml_value(value) for name, value in judge.simulation.items()}
    return values


def changed_fields(value: Any, default: Any, block: KeyBlock) -> dict[str, Any]:
    """Return key -> value for the keys of `block` whose value in `value` differs from that in
    `default`. Keys whose value is a block of keys are left out."""
    pairs = ((key, getattr(value, key.attribute)) for key in block)
    return {
        key.name: to_yaml_value(mine)
        for key, mine in pairs
        if not key.is_block and mine != getattr(default, key.attribute)
    }


def to_yaml_value(value: Any) -> Any:
    """Convert tuples to lists and mappings to dicts, at every level of a value."""
    if isinstance(value, tuple):
        return [to_yaml_value(v) for v in value]
    return {k: to_yaml_value(v) for k, v in value.items()} if isinstance(value, Mapping) else value
