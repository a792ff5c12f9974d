"""Pydantic models of the study file, built from the fields with a `Key`, and its JSON schema.

The models check types, ranges and unknown keys; `study.py` and `judge_spec.py` build the frozen
dataclasses from them. This module is imported only when a study file is parsed, because importing
pydantic takes longer than reading many files. Write the published schema with:

    python -m studies.spec.schema > study.schema.json
"""

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, is_dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic.json_schema import models_json_schema
from pydantic_core import PydanticCustomError

from studies.domain import JudgeSpec, Price
from studies.errors import StudyError
from studies.spec.field_reader import as_text, describe_value, suggest_word
from studies.spec.keys import DATA, EXTRACTION, JUDGE, PRICE, SIMULATION, STUDY, TWINS, StudyKey
from studies.spec.study_fields import DataSpec, TwinSpec

SCHEMA_FILE: Final = "study.schema.json"
MODEL_OF_SIMULATIONS: Final = "simulated"


class Block(BaseModel):
    """Pydantic base of the blocks of a study file, such as `data`; a key with the value null counts
    as absent, unless its `Key` gives null a meaning."""

    model_config = ConfigDict(extra="forbid", strict=True)
    keys: ClassVar[Mapping[str, StudyKey]] = {}

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, values: Mapping[object, object]) -> dict[str, object]:
        named = {str(name): value for name, value in values.items()}
        nulls = {key.name for key in cls.keys.values() if not key.rule.null}
        return {n: value for n, value in named.items() if value is not None or n not in nulls}

    @classmethod
    def parse(cls, values: object, where: str) -> Self:
        """Check a mapping and return it as a block. StudyError for the first fault: it names the
        place `where`, the key and the value expected."""
        if not isinstance(values, Mapping):
            raise StudyError(f"{where}: expected key: value lines, found {describe_value(values)}")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            faults = error.errors(include_url=False)
            first = min(faults, key=lambda fault: fault["type"] == "extra_forbidden")
            name = str(first["loc"][0])
            reason = cls._describe_fault(name, first, values)
            raise StudyError(f"{key_place(where, name)}: {reason}") from None

    @classmethod
    def _describe_fault(cls, name: str, fault: Any, values: Mapping[Any, Any]) -> str:
        """Return the message for a fault of the key `name`. It lists the known keys if the key is
        unknown; else it says that the key is missing, or which value is expected and which was
        found. `fault` is an entry of pydantic's list of errors, `values` the whole block."""
        if fault["type"] == "extra_forbidden":
            known = sorted(cls.keys)
            return f"unknown key{suggest_word(name, known)}. Known keys: {', '.join(known)}"
        key, found = cls.keys[name], values.get(name)
        if fault["type"] == "missing":
            return key.rule.missing
        if fault["type"] == "option":
            return str(fault["msg"])
        if fault["type"] == "dict_type" and key.rule.expected:
            return f"expected key: value pairs, found {found!r}"
        if len(fault["loc"]) > 1 and key.rule.expected and isinstance(found, dict):
            found = found.get(fault["loc"][1], found)
        return f"expected {key.expected_text}, found {found!r}"

    def attributes(self) -> dict[str, Any]:
        """Return dataclass field -> value, for all keys of the block."""
        return {key.attribute: getattr(self, key.attribute) for key in self.keys.values()}


def key_place(where: str, key: object) -> str:
    """Return the location of a key for an error message, such as `study.yaml: data.count`."""
    return f"{where}.{key}" if ":" in where else f"{where}: {key}"


def _build_block(name: str, *keys: StudyKey, **types: Any) -> type[Block]:
    """Build the pydantic model of a block; `types` override the types derived from the fields."""
    entries: dict[str, Any] = {}
    for key in keys:
        kind = types.get(key.attribute) or _value_type(key)
        default = key.default
        if default is MISSING or is_dataclass(default):
            default = {} if is_dataclass(default) else key.type()
        about = Field(
            ... if key.rule.missing else default,
            alias=key.name,
            title=key.rule.label or None,
            description=key.rule.hint or None,
        )
        entries[key.attribute] = (kind | None if key.optional else kind, about)
    made = create_model(name, __base__=Block, **entries)
    made.keys = {key.name: key for key in keys}
    return made


def _value_type(key: StudyKey) -> Any:
    """Return the type by which pydantic checks a key, with the key's range or accepted words."""
    rule = key.rule
    if rule.options:
        words = [*rule.options, *([] if key.default in (*rule.options, MISSING) else [key.default])]
        check = AfterValidator(partial(_check_option, key))
        shape: dict[str, Any] = {"type": "string", "enum": words}
        if rule.pattern:
            shape = {"anyOf": [shape, {"type": "string", "pattern": rule.pattern.pattern}]}
        return Annotated[Text, check, WithJsonSchema(shape)]
    if key.type in (int, float):
        return Annotated[key.type, Field(ge=rule.low, le=rule.high)]
    return _TYPES.get(key.type, key.type)


def _check_option(key: StudyKey, value: str) -> str:
    """Return `value` if the key accepts it: as one of its options, as its default, or because it
    matches the key's pattern. Raise an error of pydantic for any other value."""
    known = list(key.rule.options)
    pattern = key.rule.pattern
    fits = pattern is not None and pattern.match(value) is not None
    if value not in known and value != key.default and not fits:
        others = f" (nor like {key.rule.examples})" if key.rule.examples else ""
        message = f"{value!r} is not one of {', '.join(known)}{others}{suggest_word(value, known)}"
        raise PydanticCustomError("option", "{message}", {"message": message})
    return value


def _as_list(value: object) -> object:
    """Convert a single value to a list of one; return lists unchanged."""
    return value if isinstance(value, list) else [value]


def _as_filter_value(value: object) -> str:
    """Convert a filter value to text; booleans become "true" and "false", as in meta data."""
    return str(value).lower() if isinstance(value, bool) else as_text(value)


def _check_position_weights(weights: list[float]) -> list[float]:
    """Return a simulated judge's preferences for the positions, a weight for each; ValueError if a
    weight is not finite, or if the first two are both 0."""
    if not all(math.isfinite(weight) for weight in weights) or not sum(weights[:2]):
        raise ValueError
    return weights


def _check_json(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values; ValueError if they cannot be written as JSON."""
    try:
        json.dumps(values, allow_nan=False)
    except TypeError as error:  # pydantic reports a ValueError only
        raise ValueError from error
    return values


_REF: Final = "@ref"
"""Key that stands for `$ref` until the schema is complete; pydantic would try to resolve `$ref`."""


def _block_schema(*blocks: str, plain: str = "") -> WithJsonSchema:
    """Return a JSON schema that accepts one of these blocks or, if given, the JSON type `plain`."""
    found = [{_REF: f"#/$defs/{block}"} for block in blocks] + [{"type": plain}] * bool(plain)
    return WithJsonSchema(found[0] if len(found) == 1 else {"anyOf": found})


def _one_or_list_schema(*kinds: str, min_items: int = 0) -> WithJsonSchema:
    """Return a JSON schema that accepts a value of one of the JSON types `kinds`, or a list of at
    least `min_items` such values."""
    one = {"type": list(kinds)}
    return WithJsonSchema({"anyOf": [one, {"type": "array", "items": one, "minItems": min_items}]})


Text = Annotated[str, BeforeValidator(as_text), WithJsonSchema({"type": ["string", "number"]})]
_Texts = Annotated[
    list[Text],
    BeforeValidator(_as_list),
    AfterValidator(tuple),
    _one_or_list_schema("string", "number"),
]
_Name = Annotated[str, BeforeValidator(str)]
_Filter = Annotated[
    list[Annotated[str, BeforeValidator(_as_filter_value)]],
    Field(min_length=1),
    BeforeValidator(_as_list),
    AfterValidator(tuple),
    _one_or_list_schema("string", "number", "boolean", min_items=1),
]
_Weights = Annotated[list[Annotated[float, Field(ge=0)]], AfterValidator(_check_position_weights)]
_TYPES: Final[Mapping[Any, Any]] = {
    str: Text,
    object: Annotated[Any, _block_schema("Judge", "SimulatedJudge", plain="string")],
    tuple[str, ...]: _Texts,
    tuple[float, ...]: _Weights,
    tuple[JudgeSpec, ...]: list[Annotated[Any, _block_schema("Judge", "SimulatedJudge")]],
    Mapping[str, str]: dict[_Name, Text],
    Mapping[str, int]: dict[_Name, Annotated[int, Field(ge=1)]],
    Mapping[str, tuple[str, ...]]: dict[_Name, _Filter],
    Mapping[str, object]: Annotated[dict[_Name, Any], AfterValidator(_check_json)],
    DataSpec: Annotated[dict[_Name, Any], _block_schema("Data")],
    Price: Annotated[dict[_Name, Any], _block_schema("Price")],
    JudgeSpec: Annotated[dict[_Name, Any], _block_schema("Extraction")],
    TwinSpec: Annotated[Any, _block_schema("Twins", plain="string")],
}

StudyBlock: Final = _build_block("Study", *STUDY)
DataBlock: Final = _build_block("Data", *DATA)
PriceBlock: Final = _build_block("Price", *PRICE)
JudgeBlock: Final = _build_block("Judge", *JUDGE)
SimulatedJudgeBlock: Final = _build_block(
    "SimulatedJudge",
    *JUDGE,
    *SIMULATION,
    model=Annotated[str, WithJsonSchema({"const": MODEL_OF_SIMULATIONS})],
)

ExtractionBlock: Final = _build_block("Extraction", *EXTRACTION)
TwinsBlock: Final = _build_block("Twins", *TWINS)


def study_schema() -> dict[str, Any]:
    """Return the JSON schema of the study file, which editors use for completion and checks."""
    judges = (PriceBlock, JudgeBlock, SimulatedJudgeBlock, ExtractionBlock)
    blocks = (StudyBlock, DataBlock, *judges, TwinsBlock)
    _, made = models_json_schema([(block, "validation") for block in blocks])
    defs = made["$defs"]
    for block in defs.values():
        block.pop("description", None)  # the docstring of `Block`
    top = defs.pop("Study")
    head = {"$schema": "http://json-schema.org/draft-07/schema#", **top, "title": "Evenhand study"}
    text = json.dumps({**head, "$defs": defs}).replace(f'"{_REF}"', '"$ref"')
    return json.loads(text)  # type: ignore[no-any-return]


def schema_text() -> str:
    """Return the text of the published schema file."""
    return json.dumps(study_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
