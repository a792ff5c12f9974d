"""Study files: a YAML file that defines slice, contestants, judges, prompts and protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

import yaml

from studies.domain import JudgeSpec
from studies.errors import StudyError, file_error_advice
from studies.spec.field_reader import FieldReader, load_yaml
from studies.spec.judge_spec import changed_fields, dump_judge, parse_judge, to_yaml_value
from studies.spec.presets import PRESETS, merge_values

Combine = Literal["pooled", "strict", "majority"]
PAIR_ORDERS: Final = ("both", "one")
OPTION_ORDERS: Final = ("rotations", "williams", "all", "one")
PROTOCOLS: Final = (
    "pairwise",
    "choice",
    "five-level",
    "factuality",
    "single",
    "describe",
    "extraction",
)


@dataclass(frozen=True, slots=True)
class DataSpec:
    """Data source of a study, and the slice of its items."""

    source: str = "probe"
    format: str = "auto"
    files: Mapping[str, str] = field(default_factory=dict)
    join: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    split: str = ""
    read: str = ""
    """Verdict format in which recorded replies are read; empty for the verdicts of the file."""
    parts: tuple[str, ...] = ()
    """Further files in the format of `source`, read together with it as one table."""
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    options: int = 0
    categories: tuple[str, ...] = ()
    count: int = 0
    per: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Study:
    """All settings that determine the calls of a study and how verdicts are counted."""

    name: str
    data: DataSpec = DataSpec()
    preset: str = ""
    contestants: tuple[str, ...] = ()
    judges: tuple[JudgeSpec, ...] = ()
    prompts: tuple[str, ...] = ()
    protocol: str = ""
    pairing: str = "all"
    baseline: str = ""
    new: str = ""
    reference_games: int = 100
    families: Mapping[str, str] = field(default_factory=dict)
    orders: str = ""
    labels: str = "plain"
    unrelated: str = "none"
    repeats: int = 1
    noise_floor: float = 0.0
    judge_sees: str = "context"
    combine: str = "pooled"
    unreadable: str = "exclude"
    reading: str = "default"
    extraction: JudgeSpec | None = None
    concurrency: int = 16
    budget_usd: float | None = None
    folder: Path = Path()
    """Folder of the file, base of its relative paths; never stored, never part of a key."""

    @property
    def pair_orders(self) -> str:
        return self.orders if self.orders in PAIR_ORDERS else "both"

    @property
    def option_orders(self) -> str:
        return self.orders if self.orders in OPTION_ORDERS else "rotations"


def load_study(path: Path) -> Study:
    """Load a study file; errors name the file and the field."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        reason = f"{error.strerror}; {file_error_advice(error)}"
        raise StudyError(f"cannot read the study file {path}: {reason}") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path}: the study file is not UTF-8 text; save it as UTF-8") from None
    return parse_study(text, path.name, path.parent)


def parse_study(text: str, where: str = "study", folder: Path | None = None) -> Study:
    """Parse a study from YAML text."""
    try:
        values = load_yaml(text)
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from None
    return study_from_mapping(values, where, folder)


def study_from_mapping(values: object, where: str = "study", folder: Path | None = None) -> Study:
    """Build a study from parsed YAML and its preset; an unknown key is an error."""
    reader = FieldReader(_merge_preset(values, where), where)
    study = _read_study(reader, folder or Path())
    _check_study(study, reader)
    return study


def _read_study(reader: FieldReader, folder: Path) -> Study:
    where = reader.where
    judges = tuple(
        parse_judge(entry, f"{where}: judges[{i}]")
        for i, entry in enumerate(reader.items("judges"))
    )
    study = Study(
        name=_read_name(reader),
        preset=reader.text("preset"),
        data=_read_data(reader.mapping("data"), f"{where}: data"),
        contestants=reader.texts("contestants"),
        judges=judges,
        prompts=reader.texts("prompts"),
        protocol=reader.choice("protocol", "", ("", *PROTOCOLS)),
        pairing=reader.choice("pairing", "all", ("all", "baseline", "new")),
        baseline=reader.text("baseline"),
        new=reader.text("new"),
        reference_games=reader.whole("reference_games", 100),
        families=reader.text_map("families"),
        orders=reader.choice("orders", "", ("", *PAIR_ORDERS, *OPTION_ORDERS)),
        labels=reader.choice("labels", "plain", ("plain", "crossed")),
        unrelated=reader.choice("unrelated", "none", ("none", "add", "replace")),
        repeats=reader.whole("repeats", 1, 1, 100),
        noise_floor=reader.number("noise_floor", 0.0, 0.0, 1.0),
        judge_sees=reader.choice("judge_sees", "context", ("context", "images")),
        combine=reader.choice("combine", "pooled", ("pooled", "strict", "majority")),
        unreadable=reader.choice("unreadable", "exclude", ("exclude", "tie")),
        reading=reader.choice("reading", "default", ("default", "last", "gradelab")),
        extraction=_read_extraction(reader, judges, where),
        concurrency=reader.whole("concurrency", 16, 1, 4096),
        budget_usd=reader.optional_number("budget_usd", 0.0, 1e9),
        folder=folder,
    )
    reader.refuse_unknown_keys()
    return study


def dump_study(study: Study) -> str:
    """Write a study as YAML for `parse_study`; values equal to the default are omitted."""
    return yaml.safe_dump(study_to_mapping(study), sort_keys=False, allow_unicode=True)


def study_to_mapping(study: Study) -> dict[str, Any]:
    """Convert a study to the keys of a study file: the preset and the values that differ."""
    base = preset_defaults(study)
    values = changed_fields(study, base, skip=("data", "judges", "extraction", "folder"))
    if data := changed_fields(study.data, replace(base.data, source=DataSpec().source)):
        values["data"] = {"source": study.data.source, **data}
    if study.judges:
        values["judges"] = [dump_judge(judge) for judge in study.judges]
    if study.extraction is not None:
        named = study.extraction.name in {judge.name for judge in study.judges}
        values["extraction"] = {
            "judge": study.extraction.name if named else dump_judge(study.extraction)
        }
    order = ["name", "preset", "data"]
    return {k: values[k] for k in sorted(values, key=lambda k: order.index(k) if k in order else 9)}


def preset_defaults(study: Study) -> Study:
    """Build the study that the preset alone gives for the same source; without a preset, the
    default study."""
    defaults = Study(name="", data=DataSpec(source=study.data.source))
    if not study.preset:
        return defaults
    values = PRESETS[study.preset].values_for(study.data.source)
    made = _read_study(FieldReader({"name": study.preset, **values}, "preset"), defaults.folder)
    return replace(made, name="", data=replace(made.data, source=study.data.source))


@dataclass(frozen=True, slots=True)
class PresetDifference:
    """Key whose value differs from the preset; both values as written in a study file."""

    key: str
    value: Any
    preset: Any


def preset_differences(study: Study) -> tuple[PresetDifference, ...]:
    """List the keys in which a study departs from the protocol of its preset; () without one.

    Judges and slice are not part of a protocol, except the filters that the preset itself sets.
    """
    if not study.preset:
        return ()
    base = preset_defaults(study)
    sets = PRESETS[study.preset].values_for(study.data.source).get("data", {})
    keys = _protocol_keys(study, base)
    pairs = [(key, getattr(study, key), getattr(base, key)) for key in keys]
    pairs += [(f"data.{key}", getattr(study.data, key), getattr(base.data, key)) for key in sets]
    return tuple(
        PresetDifference(k, to_yaml_value(mine), to_yaml_value(its))
        for k, mine, its in pairs
        if mine != its
    )


def _protocol_keys(study: Study, base: Study) -> list[str]:
    """Return the protocol keys to compare with the preset.

    Keys that the pairing does not use are excluded, as is a baseline that the preset leaves to the
    user.
    """
    unused = {"new", "reference_games"} if study.pairing != "new" else set()
    if study.pairing == "all" or (base.pairing != "all" and not base.baseline):
        unused.add("baseline")
    return [key for key in _PROTOCOL_FIELDS if key not in unused]


_PROTOCOL_FIELDS: Final = (
    "prompts", "protocol", "pairing", "baseline", "new", "reference_games", "orders", "labels",
    "unrelated", "repeats", "noise_floor", "judge_sees", "combine", "unreadable", "reading",
)  # fmt: skip


def _merge_preset(values: object, where: str) -> object:
    """Merge the values of the preset with those of the file, which take precedence."""
    if not isinstance(values, Mapping) or not values.get("preset"):
        return values
    name = FieldReader(values, where).choice("preset", "", PRESETS)
    data = values.get("data")
    source = data.get("source") if isinstance(data, Mapping) else None
    records = DataSpec().source if source is None else str(source)
    return merge_values(PRESETS[name].values_for(records), values)


def _read_name(reader: FieldReader) -> str:
    name = reader.text("name").strip()
    if not name:
        raise reader.field_error("name", "a study needs a name; its judgements are stored under it")
    return name


def _read_data(values: Mapping[str, object], where: str) -> DataSpec:
    reader = FieldReader(values, where)
    spec = DataSpec(
        source=reader.text("source", "probe"),
        format=reader.text("format", "auto"),
        parts=reader.texts("parts"),
        files=reader.text_map("files"),
        join=reader.texts("join"),
        mapping=reader.text_map("mapping"),
        split=reader.text("split"),
        read=reader.text("read"),
        where={k: _filter_values(reader, v) for k, v in reader.mapping("where").items()},
        options=reader.whole("options", 0, 0, 64),
        categories=reader.texts("categories"),
        count=reader.whole("count", 0),
        per={k: _parse_count(reader, v) for k, v in reader.mapping("per").items()},
        seed=reader.whole("seed", 0),
    )
    reader.refuse_unknown_keys()
    return spec


def _filter_values(reader: FieldReader, value: object) -> tuple[str, ...]:
    """Convert filter values to text; booleans become true and false, as metadata spells them."""
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(v, (str, int, float)) for v in values):
        raise reader.field_error(
            "where", f"expected a value or a list of values to keep, found {value!r}"
        )
    return tuple(str(v).lower() if isinstance(v, bool) else str(v) for v in values)


def _parse_count(reader: FieldReader, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise reader.field_error("per", f"expected a whole number of items, found {value!r}")
    return value


def _read_extraction(
    reader: FieldReader, judges: tuple[JudgeSpec, ...], where: str
) -> JudgeSpec | None:
    """Read the extraction judge: the name of a judge of the study, or a judge of its own."""
    values = reader.mapping("extraction")
    if not values:
        return None
    inner = FieldReader(values, f"{where}: extraction")
    entry = inner.take("judge", None, lambda v: cast(Any, v), "a judge's name or definition")
    inner.refuse_unknown_keys()
    by_name = {judge.name: judge for judge in judges}
    if isinstance(entry, dict):
        own_judge = parse_judge(entry, f"{where}: extraction.judge")
        if by_name.get(own_judge.name, own_judge) != own_judge:
            raise inner.field_error(
                "judge", f"another judge is named {own_judge.name!r}; use a different name"
            )
        return own_judge
    if str(entry) not in by_name:
        known = ", ".join(by_name) or "none"
        raise inner.field_error(
            "judge", f"no judge named {entry!r} in this study. Its judges: {known}"
        )
    return by_name[str(entry)]


def _check_study(study: Study, reader: FieldReader) -> None:
    names = [judge.name for judge in study.judges]
    if duplicates := sorted({name for name in names if names.count(name) > 1}):
        raise reader.field_error(
            "judges", f"two judges are named {duplicates[0]!r}; give each its own name"
        )
    for field_name in ("contestants", "prompts"):
        listed = getattr(study, field_name)
        if duplicates := sorted({name for name in listed if listed.count(name) > 1}):
            raise reader.field_error(field_name, f"{duplicates[0]!r} is listed twice")
        if not all(name.strip() for name in listed):
            raise reader.field_error(field_name, "a name in the list is empty")
    if study.pairing in ("baseline", "new") and not study.baseline:
        raise reader.field_error(
            "baseline", f"pairing: {study.pairing} needs a baseline: name one of the models"
        )
    if study.pairing == "new" and not study.new:
        raise reader.field_error("new", "pairing: new needs the name of the new model")
    if study.pairing == "new" and study.new == study.baseline:
        raise reader.field_error(
            "new", f"{study.new!r} is also the baseline; name two different models"
        )
