"""A study as data: the YAML file that names slice, contestants, judges, prompts and protocol."""

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
    """Which records, and which slice of them."""

    source: str = "probe"
    format: str = "auto"
    files: Mapping[str, str] = field(default_factory=dict)
    join: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict)
    split: str = ""
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    options: int = 0
    categories: tuple[str, ...] = ()
    count: int = 0
    per: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that decides what is asked and how it is counted."""

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
    """Where the file lay: relative paths in it start here. Never stored, never in a key."""

    @property
    def pair_orders(self) -> str:
        return self.orders if self.orders in PAIR_ORDERS else "both"

    @property
    def option_orders(self) -> str:
        return self.orders if self.orders in OPTION_ORDERS else "rotations"


def load_study(path: Path) -> Study:
    """A study file; errors name the file and the field."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        told = f"{error.strerror}; {file_error_advice(error)}"
        raise StudyError(f"cannot read the study file {path}: {told}") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path}: a study file is UTF-8 text") from None
    return parse_study(text, path.name, path.parent)


def parse_study(text: str, where: str = "study", folder: Path | None = None) -> Study:
    """A study from YAML text."""
    try:
        values = load_yaml(text)
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from None
    return study_from_mapping(values, where, folder)


def study_from_mapping(values: object, where: str = "study", folder: Path | None = None) -> Study:
    """A study from a mapping as YAML gives it, over its preset; every key is known or an error."""
    read = FieldReader(_merge_preset(values, where), where)
    study = _read_study(read, folder or Path())
    _check_study(study, read)
    return study


def _read_study(read: FieldReader, folder: Path) -> Study:
    where = read.where
    judges = tuple(
        parse_judge(entry, f"{where}: judges[{i}]") for i, entry in enumerate(read.items("judges"))
    )
    study = Study(
        name=_read_name(read),
        preset=read.text("preset"),
        data=_read_data(read.mapping("data"), f"{where}: data"),
        contestants=read.texts("contestants"),
        judges=judges,
        prompts=read.texts("prompts"),
        protocol=read.choice("protocol", "", ("", *PROTOCOLS)),
        pairing=read.choice("pairing", "all", ("all", "baseline", "new")),
        baseline=read.text("baseline"),
        new=read.text("new"),
        reference_games=read.whole("reference_games", 100),
        families=read.text_map("families"),
        orders=read.choice("orders", "", ("", *PAIR_ORDERS, *OPTION_ORDERS)),
        labels=read.choice("labels", "plain", ("plain", "crossed")),
        unrelated=read.choice("unrelated", "none", ("none", "add", "replace")),
        repeats=read.whole("repeats", 1, 1, 100),
        noise_floor=read.number("noise_floor", 0.0, 0.0, 1.0),
        judge_sees=read.choice("judge_sees", "context", ("context", "images")),
        combine=read.choice("combine", "pooled", ("pooled", "strict", "majority")),
        unreadable=read.choice("unreadable", "exclude", ("exclude", "tie")),
        reading=read.choice("reading", "default", ("default", "last", "gradelab")),
        extraction=_read_extraction(read, judges, where),
        concurrency=read.whole("concurrency", 16, 1, 4096),
        budget_usd=read.optional_number("budget_usd", 0.0, 1e9),
        folder=folder,
    )
    read.refuse_unknown_keys()
    return study


def dump_study(study: Study) -> str:
    """The study as YAML that `parse` reads back: what was left at its default is left out."""
    return yaml.safe_dump(study_to_mapping(study), sort_keys=False, allow_unicode=True)


def study_to_mapping(study: Study) -> dict[str, Any]:
    """What a file would have to say: the preset, and whatever differs from it."""
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
    """The study that its preset alone makes of the same records; without one, the defaults."""
    bare = Study(name="", data=DataSpec(source=study.data.source))
    if not study.preset:
        return bare
    values = PRESETS[study.preset].values_for(study.data.source)
    made = _read_study(FieldReader({"name": study.preset, **values}, "preset"), bare.folder)
    return replace(made, name="", data=replace(made.data, source=study.data.source))


@dataclass(frozen=True, slots=True)
class PresetDifference:
    """One key of a study that is not as its preset has it, as a study file would write both."""

    key: str
    value: Any
    preset: Any


def preset_differences(study: Study) -> tuple[PresetDifference, ...]:
    """How a study departs from the protocol of its preset; () without one.

    Who judges and which slice is judged is nobody's protocol; only filters that the preset itself
    sets are compared.
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
    """What is said about how answers are compared. What the pairing does not use says nothing, and
    a baseline that the preset leaves open is the reader's to name."""
    unused = {"new", "reference_games"} if study.pairing != "new" else set()
    if study.pairing == "all" or (base.pairing != "all" and not base.baseline):
        unused.add("baseline")
    return [key for key in _PROTOCOL_FIELDS if key not in unused]


_PROTOCOL_FIELDS: Final = (
    "prompts", "protocol", "pairing", "baseline", "new", "reference_games", "orders", "labels",
    "unrelated", "repeats", "noise_floor", "judge_sees", "combine", "unreadable", "reading",
)  # fmt: skip


def _merge_preset(values: object, where: str) -> object:
    """The values of the preset under those of the file."""
    if not isinstance(values, Mapping) or not values.get("preset"):
        return values
    name = FieldReader(values, where).choice("preset", "", PRESETS)
    data = values.get("data")
    source = data.get("source") if isinstance(data, Mapping) else None
    records = DataSpec().source if source is None else str(source)
    return merge_values(PRESETS[name].values_for(records), values)


def _read_name(read: FieldReader) -> str:
    name = read.text("name").strip()
    if not name:
        raise read.field_error("name", "a study needs a name; judgements are kept under it")
    return name


def _read_data(values: Mapping[str, object], where: str) -> DataSpec:
    read = FieldReader(values, where)
    spec = DataSpec(
        source=read.text("source", "probe"),
        format=read.text("format", "auto"),
        files=read.text_map("files"),
        join=read.texts("join"),
        mapping=read.text_map("mapping"),
        split=read.text("split"),
        where={k: _filter_values(read, v) for k, v in read.mapping("where").items()},
        options=read.whole("options", 0, 0, 64),
        categories=read.texts("categories"),
        count=read.whole("count", 0),
        per={k: _parse_count(read, v) for k, v in read.mapping("per").items()},
        seed=read.whole("seed", 0),
    )
    read.refuse_unknown_keys()
    return spec


def _filter_values(read: FieldReader, value: object) -> tuple[str, ...]:
    """YAML's true and yes are written by people as words: compare in one spelling."""
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(v, (str, int, float)) for v in values):
        raise read.field_error(
            "where", f"expected a value or a list of values to keep, found {value!r}"
        )
    return tuple(str(v).lower() if isinstance(v, bool) else str(v) for v in values)


def _parse_count(read: FieldReader, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise read.field_error("per", f"expected a whole number of items, found {value!r}")
    return value


def _read_extraction(
    read: FieldReader, judges: tuple[JudgeSpec, ...], where: str
) -> JudgeSpec | None:
    """The judge that extracts: one named above, or one written out that does nothing else."""
    values = read.mapping("extraction")
    if not values:
        return None
    inner = FieldReader(values, f"{where}: extraction")
    entry = inner.take("judge", None, lambda v: cast(Any, v), "a judge's name, or one written out")
    inner.refuse_unknown_keys()
    by_name = {judge.name: judge for judge in judges}
    if isinstance(entry, dict):
        written = parse_judge(entry, f"{where}: extraction.judge")
        if by_name.get(written.name, written) != written:
            raise inner.field_error(
                "judge", f"another judge is named {written.name!r}; give it its own"
            )
        return written
    if str(entry) not in by_name:
        known = ", ".join(by_name) or "none"
        raise inner.field_error(
            "judge", f"no judge named {entry!r} in this study. Its judges: {known}"
        )
    return by_name[str(entry)]


def _check_study(study: Study, read: FieldReader) -> None:
    names = [judge.name for judge in study.judges]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise read.field_error(
            "judges", f"two judges are named {twice[0]!r}; give each its own name"
        )
    for field_name in ("contestants", "prompts"):
        listed = getattr(study, field_name)
        if twice := sorted({name for name in listed if listed.count(name) > 1}):
            raise read.field_error(field_name, f"{twice[0]!r} is listed twice")
        if not all(name.strip() for name in listed):
            raise read.field_error(field_name, "a name in the list is empty")
    if study.pairing in ("baseline", "new") and not study.baseline:
        raise read.field_error("baseline", f"pairing: {study.pairing} needs a baseline contestant")
    if study.pairing == "new" and not study.new:
        raise read.field_error("new", "pairing: new needs the name of the new contestant")
    if study.pairing == "new" and study.new == study.baseline:
        raise read.field_error("new", f"{study.new!r} is the baseline too; it cannot meet itself")
