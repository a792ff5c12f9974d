"""Fields of Every Eval Ever's records (schema 0.2.1) that the export writes, as a JSON schema.

The names and types are those of the published schema; fields that Evenhand never writes are left
out. `find_faults` checks a record before it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

SCHEMA_VERSION: Final = "0.2.1"
_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_TEXTS: Final = {"type": "object", "additionalProperties": _TEXT}


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties}


_MODEL: Final = _object("name id", name=_TEXT, id=_TEXT, developer=_TEXT, additional_details=_TEXTS)
_UNCERTAINTY: Final = _object(
    "",
    standard_error=_object("value", value=_NUMBER, method=_TEXT),
    num_samples={"type": "integer"},
)
_METRIC: Final = _object(
    "lower_is_better",
    evaluation_description=_TEXT,
    lower_is_better={"type": "boolean"},
    score_type={"type": "string", "enum": ["binary", "continuous", "levels"]},
    min_score=_NUMBER,
    max_score=_NUMBER,
    llm_scoring=_object(
        "judges input_prompt",
        judges={"type": "array", "items": _object("model_info", model_info=_MODEL)},
        input_prompt=_TEXT,
        additional_details=_TEXTS,
    ),
    additional_details=_TEXTS,
)
_RESULT: Final = _object(
    "evaluation_name source_data metric_config score_details",
    evaluation_name=_TEXT,
    source_data=_object(
        "dataset_name source_type",
        dataset_name=_TEXT,
        source_type={"type": "string", "enum": ["hf_dataset", "other"]},
        hf_repo=_TEXT,
        additional_details=_TEXTS,
    ),
    metric_config=_METRIC,
    score_details=_object("score", score=_NUMBER, details=_TEXTS, uncertainty=_UNCERTAINTY),
)
RECORD_SCHEMA: Final[Mapping[str, Any]] = {
    **_object(
        "schema_version evaluation_id retrieved_timestamp source_metadata model_info eval_library "
        "evaluation_results",
        schema_version=_TEXT,
        evaluation_id=_TEXT,
        evaluation_timestamp=_TEXT,
        retrieved_timestamp=_TEXT,
        source_metadata=_object(
            "source_type source_organization_name evaluator_relationship",
            source_name=_TEXT,
            source_type={"type": "string", "enum": ["documentation", "evaluation_run"]},
            source_organization_name=_TEXT,
            evaluator_relationship={
                "type": "string",
                "enum": ["first_party", "third_party", "collaborative", "other"],
            },
            additional_details=_TEXTS,
        ),
        eval_library=_object("name version", name=_TEXT, version=_TEXT, additional_details=_TEXTS),
        model_info=_MODEL,
        evaluation_results={"type": "array", "items": _RESULT},
    ),
    "additionalProperties": False,
}
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def find_faults(
    value: Any, schema: Mapping[str, Any] = RECORD_SCHEMA, where: str = "record"
) -> Iterator[str]:
    """Yield each place where a record differs from the schema, with the reason."""
    kind = schema["type"]
    if not _has_type(value, kind):
        yield f"{where}: expected {kind}, found {type(value).__name__}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is not one of {', '.join(schema['enum'])}"
    if kind == "array":
        for place, one in enumerate(value):
            yield from find_faults(one, schema["items"], f"{where}[{place}]")
    if kind == "object":
        yield from _object_faults(value, schema, where)


def _has_type(value: Any, kind: str) -> bool:
    """Whether a value has a JSON type; true and false do not count as numbers."""
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _object_faults(value: dict[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}.{name}: required"
    known, more = schema.get("properties", {}), schema.get("additionalProperties")
    for name, inner in value.items():
        if name in known:
            yield from find_faults(inner, known[name], f"{where}.{name}")
        elif isinstance(more, Mapping):
            yield from find_faults(inner, more, f"{where}.{name}")
        else:
            yield f"{where}.{name}: unknown field"
