"""Read and write Evenhand's item files: one JSON object per line. An error names the file and, if
it is about one line or field, that line or field too."""

from collections.abc import Mapping, Set
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final

from studies.domain import REFERENCE, AnswerCheck, Item, Preference
from studies.errors import SourceError
from studies.files.answer_labels import dump_label, field_error, parse_label
from studies.files.tables import SourceTable, read_table

ITEM_FIELDS: Final = {
    "id", "instruction", "responses", "category", "context", "images", "reference",
    "ground_truth", "criteria", "meta", "human", "checks", "labels", "twins",
}  # fmt: skip
_PREFERENCE_FIELDS: Final = {"judge", "shown", "picked", "margin", "ranks"}
_CHECK_FIELDS: Final = {"judge", "contestant", "follows", "fault", "harmful"}


def read_items(path: Path) -> list[Item]:
    """Read all items of a file, in file order; SourceError for an invalid file."""
    return parse_items(read_table(path))


def parse_items(table: SourceTable, *, texts_required: bool = True) -> list[Item]:
    """Parse the rows of a table as items; SourceError for a row that is not an item, an id that
    occurs twice, and a table without rows.

    With `texts_required=False`, an item may lack its question, its answers or both, as in files
    exported beside judgements.
    """
    items: list[Item] = []
    row_of_id: dict[str, int] = {}
    for index, values in enumerate(table.rows):
        where = table.row_place(index)
        found = _drop_absent_fields(values) if table.kind == "parquet" else values
        item = (parse_item if texts_required else parse_stored_item)(found, where)
        if item.id in row_of_id:
            also = table.row_place(row_of_id[item.id]).removeprefix(f"{table.name}, ")
            raise SourceError(f"{where}: id {item.id!r} is also in {also}; ids must differ")
        row_of_id[item.id] = index
        items.append(item)
    if not items:
        raise SourceError(f"{table.name}: no items in it; expected one JSON object per line")
    return items


def _drop_absent_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a row that are not null, and remove nulls inside them too. (Parquet
    stores a null for each field that a row lacks.)"""
    return {
        name: inner
        for name, value in values.items()
        if (inner := normalise_parquet_value(value)) is not None
    }


def normalise_parquet_value(value: Any) -> Any:
    """Return a value read from Parquet, with keys whose value is null removed at every level,
    and with maps (lists of pairs) converted to dicts."""
    if isinstance(value, dict):
        return {
            name: normalise_parquet_value(inner)
            for name, inner in value.items()
            if inner is not None
        }
    if isinstance(value, list):
        if value and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
            return normalise_parquet_value(dict(value))
        return [normalise_parquet_value(inner) for inner in value]
    return value


def parse_item(values: Mapping[str, Any], where: str) -> Item:
    """Parse one item, given as a JSON object (field -> value); SourceError for an invalid field.
    `where` (file and line) begins every error message."""
    if unknown := sorted(set(values) - ITEM_FIELDS):
        raise SourceError(
            f"{where}: unknown field {unknown[0]!r}; put extra facts into 'meta'. "
            f"Known fields: {', '.join(sorted(ITEM_FIELDS))}"
        )
    id, instruction = (_read_required_text(values, name, where) for name in ("id", "instruction"))
    responses = _read_responses(values, where)
    contestants = {*responses, REFERENCE}
    human, checks, labels = (
        _read_list(values, name, where) for name in ("human", "checks", "labels")
    )
    return Item(
        id=id,
        instruction=instruction,
        responses=responses,
        category=_read_text(values, "category", where),
        context=_read_context(values, where),
        images=_read_images(values, where),
        reference=_read_text(values, "reference", where),
        ground_truth=_read_text(values, "ground_truth", where),
        criteria=_read_text_map(values, "criteria", where),
        meta=_read_text_map(values, "meta", where),
        human=tuple(_parse_preference(v, f"{where}: human", contestants) for v in human),
        checks=tuple(_parse_check(v, f"{where}: checks", contestants) for v in checks),
        labels=tuple(parse_label(v, f"{where}: labels", contestants) for v in labels),
        twins=_read_text_map(values, "twins", where),
    )


def parse_stored_item(values: Mapping[str, Any], where: str = "store") -> Item:
    """Parse an item of the store, or of a file whose items may lack texts; SourceError for an
    invalid field.

    Items of imported verdicts may have empty texts, or votes on an answer without a text, which
    `parse_item` would refuse. `where` begins every error message.
    """
    stand_in = {**values, "instruction": "-", "responses": values.get("responses") or {"-": ""}}
    stand_in |= {"human": [], "checks": [], "labels": []}
    return replace(
        parse_item(stand_in, where),
        instruction=_read_text(values, "instruction", where),
        responses=values.get("responses") or {},
        human=tuple(_parse_stored_preference(v, where) for v in _read_list(values, "human", where)),
        checks=tuple(_parse_check(v, where) for v in _read_list(values, "checks", where)),
        labels=tuple(parse_label(v, where) for v in _read_list(values, "labels", where)),
    )


def _parse_stored_preference(value: Any, where: str) -> Preference:
    _check_known_keys(value, _PREFERENCE_FIELDS, where)
    shown, picked = value.get("shown"), value.get("picked")
    margin = _parse_margin(value, where, 0 if picked == "tie" else 1)
    ranks, order = value.get("ranks") or {}, tuple(shown) if shown else None
    return Preference(_parse_judge_name(value, where), order, picked, margin, ranks)


def dump_item(item: Item) -> dict[str, Any]:
    """Convert an item to the format of item files; empty fields are omitted, except id, instruction
    and responses."""
    values: dict[str, Any] = {
        "id": item.id,
        "instruction": item.instruction,
        "responses": dict(item.responses),
        "category": item.category,
        "context": list(item.context) if isinstance(item.context, tuple) else item.context,
        "images": list(item.images),
        "reference": item.reference,
        "ground_truth": item.ground_truth,
        "criteria": dict(item.criteria),
        "meta": dict(item.meta),
        "human": [_dump_preference(p) for p in item.human],
        "checks": [
            {
                "judge": c.judge,
                "contestant": c.contestant,
                "follows": c.follows,
                "fault": c.fault,
                "harmful": c.harmful,
            }
            for c in item.checks
        ],
        "labels": [dump_label(label) for label in item.labels],
        "twins": dict(item.twins),
    }
    required = ("id", "instruction", "responses")
    return {k: v for k, v in values.items() if v or k in required}


def _dump_preference(preference: Preference) -> dict[str, Any]:
    out: dict[str, Any] = {"judge": preference.judge}
    out["shown"] = None if preference.shown is None else list(preference.shown)
    if preference.ranks:
        out["ranks"] = dict(preference.ranks)
    else:
        out |= {"picked": preference.picked, "margin": preference.margin}
    return out


def _read_required_text(values: Mapping[str, Any], field: str, where: str) -> str:
    if field not in values:
        raise SourceError(f"{where}: field {field!r} is missing; add it to the line")
    value = values[field]
    if not isinstance(value, str) or not value.strip():
        raise field_error(where, field, "a non-empty text", value)
    return value


def _read_text(values: Mapping[str, Any], field: str, where: str) -> str:
    value = values.get(field)
    if not isinstance(value, str | None):
        raise field_error(where, field, "text", value)
    return value or ""


def _read_list(values: Mapping[str, Any], field: str, where: str) -> list[Any]:
    value = values.get(field)
    if not isinstance(value, list | None):
        raise field_error(where, field, "a list", value)
    return value or []


def _read_texts(values: Mapping[str, Any], field: str, where: str) -> list[str]:
    found = _read_list(values, field, where)
    if not all(isinstance(v, str) for v in found):
        raise field_error(where, field, "a list of texts", found)
    return found


def _read_text_map(values: Mapping[str, Any], field: str, where: str) -> dict[str, str]:
    value = values.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise field_error(where, field, "an object whose values are texts", value)
    return value


def _read_images(values: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Read image locations: paths inside the file's folder, https:// addresses or data: URLs.

    Other paths are refused, since their files would be sent to a judge.
    """
    images = _read_texts(values, "images", where)
    for image in images:
        if not image.startswith(("https://", "data:")) and not _is_inside_folder(image):
            expected = "a path inside the file's folder, an https:// address or a data: URL"
            raise field_error(where, "images", expected, image)
    return tuple(images)


def _is_inside_folder(path: str) -> bool:
    """Whether a path is relative and has no "..", also if it is read as a Windows path."""
    windows, posix = PureWindowsPath(path), PurePosixPath(path)
    rooted = windows.drive or windows.root or posix.root or "://" in path
    return bool(path.strip()) and not rooted and ".." not in windows.parts


def _read_context(values: Mapping[str, Any], where: str) -> str | tuple[str, ...]:
    if isinstance(values.get("context"), list):
        return tuple(_read_texts(values, "context", where))
    return _read_text(values, "context", where)


def _read_responses(values: Mapping[str, Any], where: str) -> dict[str, str]:
    if "responses" not in values:
        raise SourceError(
            f'{where}: field \'responses\' is missing; it contains the answers: {{"model": "text"}}'
        )
    responses = values["responses"]
    if not isinstance(responses, dict) or not responses:
        raise field_error(where, "responses", 'answers by model: {"model": "text"}', responses)
    for name, text in responses.items():
        if not isinstance(text, str):
            raise field_error(where, f"responses.{name}", "text", text)
        check_contestant_name(name, where)
    return responses


def check_contestant_name(name: str, where: str) -> None:
    """Raise SourceError for a name that is empty or "tie", that begins with @, or that contains
    control characters. `where` (file and line) begins the message."""
    control = any(character < " " or character == "\x7f" for character in name)
    if not name.strip() or name == "tie" or name.startswith("@") or control:
        raise SourceError(
            f"{where}: model {name!r}: a name must not be empty, be 'tie', begin with '@' "
            "(reserved) or contain control characters"
        )


def _parse_preference(value: Any, where: str, contestants: Set[str]) -> Preference:
    _check_known_keys(value, _PREFERENCE_FIELDS, where)
    shown, picked, ranks = value.get("shown"), value.get("picked"), value.get("ranks")
    if shown is not None:
        shown = _parse_shown_models(shown, where, contestants)
    if ranks is not None:
        if picked is not None:
            raise field_error(where, "ranks", "either 'picked' or 'ranks'", value)
        ranks = _parse_ranks(ranks, where, contestants)
    elif picked != "tie" and picked not in (contestants if shown is None else shown):
        offered = ", ".join(sorted(contestants - {REFERENCE}) if shown is None else shown)
        raise field_error(where, "picked", f"one of {offered} or 'tie' (or 'ranks')", picked)
    return Preference(
        judge=_parse_judge_name(value, where),
        shown=shown,
        picked=picked,
        margin=_parse_margin(value, where, 0 if picked == "tie" else 1),
        ranks=ranks or {},
    )


def _parse_shown_models(value: Any, where: str, contestants: Set[str]) -> tuple[str, ...]:
    names = value if isinstance(value, list) else []
    known = [name for name in names if isinstance(name, str) and name in contestants]
    if len(set(known)) < 2 or len(set(known)) < len(names):
        raise field_error(where, "shown", "two or more models of this item, or null", value)
    return tuple(known)


def _parse_ranks(value: Any, where: str, contestants: Set[str]) -> dict[str, int]:
    if not isinstance(value, dict) or not value or not set(value) <= contestants:
        raise field_error(where, "ranks", "models of this item with their ranks", value)
    if not all(isinstance(rank, int) and not isinstance(rank, bool) for rank in value.values()):
        raise field_error(where, "ranks", "whole numbers by model", value)
    return value


def _parse_margin(value: Mapping[str, Any], where: str, default: int) -> int:
    margin = value.get("margin")
    if margin is None:
        return default
    if isinstance(margin, bool) or margin not in (0, 1, 2):
        raise field_error(where, "margin", "0, 1 or 2", margin)
    return int(margin)


def _parse_check(value: Any, where: str, contestants: Set[str] | None = None) -> AnswerCheck:
    """Parse people's verification of an answer; SourceError for an invalid field, or a contestant
    that is not one of `contestants` (None: any name is allowed)."""
    _check_known_keys(value, _CHECK_FIELDS, where)
    follows, harmful = value.get("follows"), value.get("harmful", False)
    if not isinstance(follows, bool):
        raise field_error(where, "follows", "true or false", follows)
    if not isinstance(harmful, bool):
        raise field_error(where, "harmful", "true or false", harmful)
    contestant, fault = value.get("contestant"), value.get("fault")
    if not isinstance(contestant, str) or (
        contestants is not None and contestant not in contestants
    ):
        raise field_error(where, "contestant", "a model of this item, or '@reference'", contestant)
    if not isinstance(fault, str | None):
        raise field_error(where, "fault", "text or null", fault)
    return AnswerCheck(_parse_judge_name(value, where), contestant, follows, fault, harmful)


def _parse_judge_name(value: Mapping[str, Any], where: str) -> str:
    judge = value.get("judge")
    if not isinstance(judge, str) or not judge.strip():
        raise field_error(where, "judge", "the name of the judge", judge)
    return judge


def _check_known_keys(value: Any, known: Set[str], where: str) -> None:
    if not isinstance(value, dict):
        raise SourceError(f"{where}: expected a list of objects, found {value!r}"[:400])
    if unknown := sorted(set(value) - known):
        raise SourceError(
            f"{where}: unknown field {unknown[0]!r}. Known fields: {', '.join(sorted(known))}"
        )
