"""Keys of the study file: name, path, type, default and rules of each key, by block.

They are derived from the fields of `Study`, `DataSpec`, `JudgeSpec`, `Price`, `Simulation`,
`Extraction` and `TwinSpec` that have a `Key`. Code refers to a key as an attribute
(`STUDY.repeats`, `DATA.count`), so that the key's name is written only once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from types import UnionType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from studies.domain import JudgeSpec, Key, Price
from studies.lazy_values import cached_property
from studies.spec.study_fields import DataSpec, Extraction, Simulation, Study, TwinSpec

_TYPE_WORDS: Final[Mapping[Any, str]] = {
    str: "text",
    bool: "true or false",
    tuple: "a list of texts",
    Mapping: "key: value pairs",
}


@dataclass(frozen=True, slots=True, eq=False)
class StudyKey:
    """One key of the study file. `*key` gives its path, such as "data", "count"; str(key) gives
    "data.count"."""

    path: tuple[str, ...]
    attribute: str
    """Name of the dataclass field that stores the key's value."""
    type: Any
    """Type of the field, without None."""
    optional: bool
    default: Any
    rule: Key

    def __iter__(self) -> Iterator[str]:
        return iter(self.path)

    def __str__(self) -> str:
        return ".".join(self.path)

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def base_type(self) -> Any:
        """Type of the key's value without its parameters, such as Mapping for Mapping[str,
        int]; str for a Literal."""
        origin = get_origin(self.type)
        return str if origin is Literal else origin or self.type

    @property
    def is_block(self) -> bool:
        """Whether the key's value consists of further keys, or is a list of such values."""
        return any(is_dataclass(part) for part in (self.type, *get_args(self.type)))

    @property
    def expected_text(self) -> str:
        """Description of a valid value, for error messages."""
        low, high = self.rule.low, self.rule.high
        if self.rule.expected:
            return self.rule.expected
        if self.type is int:
            return f"a whole number {low:.0f}-{high:.0f}"
        if self.type is float:
            return f"a number from {low:g} to {high:g}"
        if self.type == Mapping[str, str]:
            return "key: text pairs"
        if self.is_block:
            return "a list" if self.base_type is tuple else _TYPE_WORDS[Mapping]
        return _TYPE_WORDS[self.base_type]


class KeyBlock:
    """The keys that one block of a study file may have, in the order of its dataclass's fields;
    `block.seed` and `block["seed"]` return the StudyKey of `seed`."""

    def __init__(self, spec: type, *path: str) -> None:
        self._spec, self._path = spec, path

    @cached_property
    def _keys(self) -> dict[str, StudyKey]:
        hints = get_type_hints(self._spec, include_extras=True)
        made: dict[str, StudyKey] = {}
        for entry in fields(self._spec):
            inner, *notes = get_args(hints[entry.name]) or (None,)
            rule = next((note for note in notes if isinstance(note, Key)), None)
            if rule is None:
                continue
            parts = get_args(inner) if isinstance(inner, UnionType) else (inner,)
            name = rule.name or entry.name
            made[name] = StudyKey(
                (*self._path, name),
                entry.name,
                parts[0],
                type(None) in parts,
                entry.default_factory() if callable(entry.default_factory) else entry.default,
                rule,
            )
        return made

    def __getattr__(self, name: str) -> StudyKey:
        try:
            return self._keys[name]
        except KeyError:
            raise AttributeError(f"{self._spec.__name__} has no key {name!r}") from None

    def __getitem__(self, name: str) -> StudyKey:
        return self._keys[name]

    def __contains__(self, key: object) -> bool:
        return key in self._keys.values()

    def __iter__(self) -> Iterator[StudyKey]:
        return iter(self._keys.values())


STUDY: Final = KeyBlock(Study)
DATA: Final = KeyBlock(DataSpec, STUDY.data.name)
JUDGE: Final = KeyBlock(JudgeSpec)
EXTRACTION: Final = KeyBlock(Extraction, STUDY.extraction.name)
TWINS: Final = KeyBlock(TwinSpec, STUDY.twins.name)
PRICE: Final = KeyBlock(Price, JUDGE.price.name)
SIMULATION: Final = KeyBlock(Simulation)
PROTOCOL_KEYS: Final = tuple(key for key in STUDY if key.rule.protocol)
"""Keys that a preset defines; data, judges and budget are not part of a protocol."""


def default_values() -> dict[str, Any]:
    """Return key -> default value, None for a required key; the defaults of the keys in `data` are
    a nested mapping."""
    top = {key.name: None if key.default is MISSING else key.default for key in STUDY}
    return {**top, STUDY.data.name: {key.name: key.default for key in DATA}}


def find_key(field: str) -> StudyKey | None:
    """Return the key with a dotted name such as `data.count`; None if there is none at the top
    level or in `data`."""
    return next((key for key in (*STUDY, *DATA) if str(key) == field), None)
