"""A study as data: the YAML file that names slice, contestants, judges, prompts and protocol."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

import yaml

from studies.errors import StudyError
from studies.fields import Fields, load_yaml
from studies.records import JudgeSpec, Price

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
SIMULATION_RANGES: Final = {
    "first_bias": (0.0, 1.0),
    "accuracy": (0.0, 1.0),
    "tie_rate": (0.0, 1.0),
    "length_preference": (-1.0, 1.0),
    "self_preference": (0.0, 1.0),
    "unreadable_rate": (0.0, 1.0),
}


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


def load(path: Path) -> Study:
    """A study file; errors name the file and the field."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StudyError(f"cannot read the study file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path}: a study file is UTF-8 text") from None
    return parse(text, path.name, path.parent)


def parse(text: str, where: str = "study", folder: Path | None = None) -> Study:
    """A study from YAML text."""
    try:
        values = load_yaml(text)
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from None
    return from_mapping(values, where, folder)


def from_mapping(values: object, where: str = "study", folder: Path | None = None) -> Study:
    """A study from a mapping as YAML gives it; every key is known or an error."""
    read = Fields(values, where)
    judges = tuple(
        _judge(entry, f"{where}: judges[{i}]") for i, entry in enumerate(read.items("judges"))
    )
    study = Study(
        name=_required_name(read),
        preset=read.choice("preset", "", ("",)),
        data=_data(read.mapping("data"), f"{where}: data"),
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
        extraction=_extraction(read, judges, where),
        concurrency=read.whole("concurrency", 16, 1, 4096),
        budget_usd=read.maybe_number("budget_usd", 0.0, 1e9),
        folder=folder or Path(),
    )
    read.done()
    _check(study, read)
    return study


def dump(study: Study) -> str:
    """The study as YAML that `parse` reads back: what was left at its default is left out."""
    return yaml.safe_dump(to_mapping(study), sort_keys=False, allow_unicode=True)


def to_mapping(study: Study) -> dict[str, Any]:
    values = _non_default(study, Study(name=""), skip=("data", "judges", "extraction", "folder"))
    if data := _non_default(study.data, DataSpec()):
        values["data"] = {"source": study.data.source, **data}
    if study.judges:
        values["judges"] = [_judge_mapping(judge) for judge in study.judges]
    if study.extraction is not None:
        named = study.extraction.name in {judge.name for judge in study.judges}
        values["extraction"] = {
            "judge": study.extraction.name if named else _judge_mapping(study.extraction)
        }
    order = ["name", "preset", "data"]
    return {k: values[k] for k in sorted(values, key=lambda k: order.index(k) if k in order else 9)}


def _required_name(read: Fields) -> str:
    name = read.text("name").strip()
    if not name:
        raise read.fail("name", "a study needs a name; judgements are kept under it")
    return name


def _data(values: Mapping[str, object], where: str) -> DataSpec:
    read = Fields(values, where)
    spec = DataSpec(
        source=read.text("source", "probe"),
        format=read.text("format", "auto"),
        files=read.text_map("files"),
        join=read.texts("join"),
        mapping=read.text_map("mapping"),
        split=read.text("split"),
        where={k: _allowed(read, v) for k, v in read.mapping("where").items()},
        options=read.whole("options", 0, 0, 64),
        categories=read.texts("categories"),
        count=read.whole("count", 0),
        per={k: _count(read, v) for k, v in read.mapping("per").items()},
        seed=read.whole("seed", 0),
    )
    read.done()
    return spec


def _allowed(read: Fields, value: object) -> tuple[str, ...]:
    """YAML's true and yes are written by people as words: compare in one spelling."""
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(v, (str, int, float)) for v in values):
        raise read.fail("where", f"expected a value or a list of values to keep, found {value!r}")
    return tuple(str(v).lower() if isinstance(v, bool) else str(v) for v in values)


def _count(read: Fields, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise read.fail("per", f"expected a whole number of items, found {value!r}")
    return value


def _judge(entry: object, where: str) -> JudgeSpec:
    read = Fields(entry, where)
    model = read.text("model")
    if not model:
        raise read.fail(
            "model", "a judge needs a model: embedded, simulated, or an endpoint's name"
        )
    simulated, embedded = model == "simulated", model == "embedded"
    spec = JudgeSpec(
        name=read.text("name", model),
        model=model,
        endpoint=_endpoint(read),
        api_key_env=read.text("api_key_env"),
        family=read.text("family"),
        temperature=None
        if read.is_null("temperature")  # not sent at all: some models refuse any
        else read.number("temperature", 0.0, 0.0, 5.0),
        top_p=read.maybe_number("top_p", 0.0, 1.0),
        seed=None if not read.has("seed") else read.whole("seed", 0),
        max_tokens=read.whole("max_tokens", 4096, 1, 1_000_000),
        reasoning_effort=read.maybe_text("reasoning_effort"),
        read=cast(
            Literal["text", "probabilities"],
            read.choice("read", "probabilities" if embedded else "text", ("text", "probabilities")),
        ),
        vision=read.flag("vision", False),
        price=_price(read.mapping("price"), f"{where}.price") if read.has("price") else None,
        extra_body=_extra_body(read),
        simulation=_simulation(read) if simulated else {},
    )
    read.done()
    if spec.kind == "endpoint" and not spec.endpoint:
        raise read.fail("base_url", f"model {model!r} needs the base_url of its endpoint")
    return spec


def _endpoint(read: Fields) -> str:
    """The base URL, which is stored with every request: no key may hide in it."""
    url = read.text("base_url").rstrip("/")
    if url and not url.startswith(("http://", "https://")):
        raise read.fail("base_url", f"expected http://… or https://…, found {url!r}")
    if urlsplit(url).password or urlsplit(url).query:
        raise read.fail("base_url", "holds a password or a query; name a variable in api_key_env")
    return url


def _extra_body(read: Fields) -> dict[str, object]:
    values = read.mapping("extra_body")
    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError):
        raise read.fail("extra_body", f"expected what JSON can hold, found {values!r}") from None
    return values


def _simulation(read: Fields) -> dict[str, object]:
    """The parameters of a judge whose truth is known."""
    values: dict[str, object] = {}
    for name in SIMULATION_RANGES:
        if read.has(name):
            low, high = SIMULATION_RANGES[name]
            values[name] = read.number(name, 0.0, low, high)
    if read.has("slot_weights"):
        if not values.get("first_bias"):
            raise read.fail("slot_weights", "says where first_bias goes: give first_bias too")
        values["slot_weights"] = read.take("slot_weights", list[float](), _weights, _WEIGHTS)
    values["seed"] = read.whole("seed", 0)
    return values


_WEIGHTS: Final = "a weight for each slot, none negative, some in the first two"


def _weights(value: object) -> list[float]:
    weights = [float(w) for w in cast(list[float], value) if not isinstance(w, (bool, str))]
    if not isinstance(value, list) or len(weights) != len(value):
        raise TypeError
    if not all(w >= 0 and math.isfinite(w) for w in weights) or not sum(weights[:2]):
        raise ValueError
    return weights


def _price(values: Mapping[str, object], where: str) -> Price:
    read = Fields(values, where)
    price = Price(
        input=read.number("input", 0.0, 0.0, 1e6),
        output=read.number("output", 0.0, 0.0, 1e6),
        cache_read=read.maybe_number("cache_read", 0.0, 1e6),
        cache_write=read.maybe_number("cache_write", 0.0, 1e6),
    )
    read.done()
    return price


def _extraction(read: Fields, judges: tuple[JudgeSpec, ...], where: str) -> JudgeSpec | None:
    """The judge that extracts: one named above, or one written out that does nothing else."""
    values = read.mapping("extraction")
    if not values:
        return None
    inner = Fields(values, f"{where}: extraction")
    entry = inner.take("judge", None, lambda v: cast(Any, v), "a judge's name, or one written out")
    inner.done()
    by_name = {judge.name: judge for judge in judges}
    if isinstance(entry, dict):
        written = _judge(entry, f"{where}: extraction.judge")
        if by_name.get(written.name, written) != written:
            raise inner.fail("judge", f"another judge is named {written.name!r}; give it its own")
        return written
    if str(entry) not in by_name:
        known = ", ".join(by_name) or "none"
        raise inner.fail("judge", f"no judge named {entry!r} in this study. Its judges: {known}")
    return by_name[str(entry)]


def _check(study: Study, read: Fields) -> None:
    names = [judge.name for judge in study.judges]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise read.fail("judges", f"two judges are named {twice[0]!r}; give each its own name")
    for field_name in ("contestants", "prompts"):
        listed = getattr(study, field_name)
        if twice := sorted({name for name in listed if listed.count(name) > 1}):
            raise read.fail(field_name, f"{twice[0]!r} is listed twice")
        if not all(name.strip() for name in listed):
            raise read.fail(field_name, "a name in the list is empty")
    if study.pairing in ("baseline", "new") and not study.baseline:
        raise read.fail("baseline", f"pairing: {study.pairing} needs a baseline contestant")
    if study.pairing == "new" and not study.new:
        raise read.fail("new", "pairing: new needs the name of the new contestant")
    if study.pairing == "new" and study.new == study.baseline:
        raise read.fail("new", f"{study.new!r} is the baseline too; it cannot meet itself")


def _non_default(value: Any, default: Any, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    changed = {}
    for spec in fields(value):
        mine = getattr(value, spec.name)
        if spec.name not in skip and mine != getattr(default, spec.name):
            changed[spec.name] = _plain(mine)
    return changed


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def _judge_mapping(judge: JudgeSpec) -> dict[str, Any]:
    default = JudgeSpec(
        judge.name, judge.model, read="probabilities" if judge.model == "embedded" else "text"
    )
    values = _non_default(judge, default, skip=("simulation", "price", "endpoint", "name", "model"))
    out: dict[str, Any] = {"name": judge.name, "model": judge.model}
    if judge.endpoint:
        out["base_url"] = judge.endpoint
    if judge.price is not None:
        values["price"] = _non_default(judge.price, Price(-1.0, -1.0))
    if judge.kind == "simulated":
        values.pop("seed", None)
        values |= {k: _plain(v) for k, v in judge.simulation.items()}
    return out | values
