"""What a click or a keystroke in the Study form does to the study file and to what is in sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from components.drawing.pieces import notice
from components.study.data import BUILTIN, HUB
from components.study.edit import other_source, put
from components.study.judge_edit import changed_judge, judge_of, unique_name
from components.study.protocol import SETTINGS
from components.study.sheet import Sheet, View, called, plain, read_sheet
from components.study.typed import filters, one_more_file, strata, typed
from studies.errors import EvenhandError
from studies.presets import PRESETS

Entry = Mapping[str, Any]
"""{"n": 3, "set": "data.count", "to": "12"} or {"n": 4, "do": "add judge", …}."""


def apply(text: str, view: View, entries: Sequence[Entry], folder: Path) -> tuple[str, View]:
    """All changes that were not taken in yet, in their order; a wrong one says so and is passed."""
    view = replace(view, said="")
    for entry in entries:
        if int(entry.get("n", 0)) <= view.seen:
            continue
        view = replace(view, seen=int(entry["n"]))
        sheet = read_sheet(text, folder)
        if sheet.fault:
            told = f"study.yaml: {sheet.fault}. Mend it below, then the form works again."
            return text, replace(view, said=notice("bad", "The file cannot be changed.", told))
        try:
            text, view = _applied(sheet, view, entry)
        except (ValueError, EvenhandError) as error:
            view = replace(view, said=notice("bad", "Not changed.", str(error)))
    return text, view


def _applied(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    if "set" in entry:
        return _set(sheet, view, str(entry["set"]), entry.get("to"))
    act = _ACTIONS.get(str(entry.get("do")))
    if act is None:
        raise ValueError(f"no such action: {entry.get('do')!r}")
    return act(sheet, view, entry)


# ------------------------------------------------------------------------------ one field


def _set(sheet: Sheet, view: View, field: str, raw: Any) -> tuple[str, View]:
    if field in ("mode", "prompt", "other", "describer", "describing"):
        return sheet.text, replace(view, **{field: str(raw)})
    if field == "profile":
        return sheet.text, replace(view, whole=raw == "all")
    if field == "kind":
        return _kind(sheet, view, str(raw))
    if field == "data.source":
        return _source(sheet, view, str(raw).strip())
    if field == "hub":
        name = str(raw).strip().removeprefix("hub:")
        return _source(sheet, view, f"hub:{name}" if name else "")
    head, _, rest = field.partition(".")
    if head in ("judge", "extraction"):
        return _judge(sheet, head, rest, raw), view
    if head in _MAPPINGS:
        return _mapping(sheet, _MAPPINGS[head], rest, raw), view
    if field in _WRITTEN:
        path, parse = _WRITTEN[field]
        return _put(sheet, path, parse(sheet, str(raw))), view
    return _put(sheet, tuple(field.split(".")), typed(field, raw)), view


def _put(sheet: Sheet, path: tuple[str, ...], value: Any) -> str:
    """What is as the preset (or the default) has it is left out of the file."""
    if not value and not isinstance(value, (int, float, dict)):
        value = None
    if value is not None and plain(value) == plain(sheet.base(*path)):
        value = None
    if value == {} and not sheet.base(*path):
        value = None
    return put(sheet.text, path, value)


def _kind(sheet: Sheet, view: View, kind: str) -> tuple[str, View]:
    if kind == BUILTIN:
        return _source(sheet, view, "probe")
    return sheet.text, replace(view, kind=kind)


def _source(sheet: Sheet, view: View, source: str) -> tuple[str, View]:
    """Another source begins with all its items and contestants; the size of the slice stays."""
    if not source:
        return sheet.text, view
    text = sheet.text
    if source != sheet.source:
        text = other_source(text, source)
    kind = HUB if source.startswith("hub:") else ""
    return text, replace(view, kind=kind, item=0)


_MAPPINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "families": ("families",),
    "files": ("data", "files"),
    "mapping": ("data", "mapping"),
}


def _mapping(sheet: Sheet, path: tuple[str, ...], key: str, raw: Any) -> str:
    values = sheet.raw(*path)
    made = dict(values) if isinstance(values, Mapping) else {}
    made.pop(key, None)
    if str(raw).strip():
        made[key] = str(raw).strip()
    return put(sheet.text, path, made or None)


_WRITTEN: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Sheet, str], Any]]]] = {
    "where": (("data", "where"), filters),
    "filter": (("data", "where"), filters),
    "data.per": (("data", "per"), strata),
    "files+": (("data", "files"), one_more_file),
}


def _judge(sheet: Sheet, head: str, rest: str, raw: Any) -> str:
    if head == "extraction":
        return put(sheet.text, ("extraction",), _extraction(sheet, rest, raw))
    place, _, key = rest.partition(".")
    judges = sheet.judges_to_change()
    judges[int(place)] = changed_judge(judges[int(place)], key, raw)
    return put(sheet.text, ("judges",), judges)


def _extraction(sheet: Sheet, key: str, raw: Any) -> dict[str, Any] | None:
    entry = sheet.raw("extraction", "judge")
    if key != "judge":
        return {"judge": changed_judge(dict(entry), key, raw)} if isinstance(entry, dict) else None
    if raw == "@own":
        return {"judge": judge_of("endpoint", sheet.judges, "extractor")}
    return {"judge": str(raw)} if raw else None


# ------------------------------------------------------------------------------- one action


def _preset(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    """As published: what the preset sets is taken out of the file, so that the preset holds."""
    name = str(entry.get("preset", ""))
    if name and name not in PRESETS:
        raise ValueError(f"no preset named {name!r}. Known: {', '.join(PRESETS)}")
    text = put(sheet.text, ("preset",), name or None)
    if not name:  # its prompts would go with it
        text = put(text, ("prompts",), sheet.prompts or ["brief-letters"])
        return text, view
    for key in SETTINGS:
        text = put(text, (key,), None)
    sets = PRESETS[name].values_for(sheet.source).get("data", {})
    for key in sets:
        text = put(text, ("data", key), None)
    if "options" in sets:  # N answers at once: a choice of two of them would be another protocol
        text = put(text, ("contestants",), None)
    return text, replace(view, prompt="")


def _add_judge(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    judges = sheet.judges_to_change()
    made = [*judges, judge_of("endpoint", judges)]
    return put(sheet.text, ("judges",), made), replace(view, judge=str(len(judges)))


def _open_judge(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    return sheet.text, replace(view, judge=str(entry.get("judge", "")))


def _meant(entry: Entry, judges: Sequence[Mapping[str, Any]]) -> int | None:
    """Where the judge of a card stands now. The card may be older than the file: two clicks are
    faster than one answer, and then its place is another judge's. None: it is not there any more,
    and what was wanted of it has been done."""
    place, name = int(entry["judge"]), entry.get("name")
    if name is None or (place < len(judges) and called(judges[place]) == name):
        return place
    return next((at for at, one in enumerate(judges) if called(one) == name), None)


def _park(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    """Not asked, not forgotten."""
    judges = sheet.judges_to_change()
    if (place := _meant(entry, judges)) is None:
        return sheet.text, view
    gone = judges.pop(place)
    view = replace(view, parked=(gone, *view.parked), judge="")
    return put(sheet.text, ("judges",), judges or None), view


def _unpark(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    parked = list(view.parked)
    if (place := _meant(entry, parked)) is None:
        return sheet.text, view
    back = dict(parked.pop(place))
    judges = sheet.judges_to_change()
    back["name"] = unique_name(str(back.get("name") or "judge"), judges)
    text = put(sheet.text, ("judges",), [*judges, back])
    return text, replace(view, parked=tuple(parked))


def _drop(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    gone = _meant(entry, view.parked)
    parked = [one for place, one in enumerate(view.parked) if place != gone]
    return sheet.text, replace(view, parked=tuple(parked))


def _remove_judge(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    judges = sheet.judges_to_change()
    judges.pop(int(entry["judge"]))
    return put(sheet.text, ("judges",), judges or None), replace(view, judge="")


def _prompt(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    name = str(entry["prompt"])
    others = [one for one in sheet.prompts if one != name]
    chosen = [*others, name] if entry.get("on") else others
    return _put(sheet, ("prompts",), chosen), replace(view, prompt=name)


def _show_prompt(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    return sheet.text, replace(view, prompt=str(entry["prompt"]), mode=str(entry["mode"]))


def _new_prompt(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    return sheet.text, replace(view, prompt="@new", mode="editor")


def _mode(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    return sheet.text, replace(view, mode=str(entry["mode"]))


def _item(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    return sheet.text, replace(view, item=max(0, int(entry["to"])))


def _map(sheet: Sheet, view: View, entry: Entry) -> tuple[str, View]:
    return put(sheet.text, ("data", "mapping"), dict(entry["mapping"])), view


_ACTIONS: Final[Mapping[str, Callable[[Sheet, View, Entry], tuple[str, View]]]] = {
    "preset": _preset,
    "add judge": _add_judge,
    "open judge": _open_judge,
    "park": _park,
    "unpark": _unpark,
    "drop": _drop,
    "remove judge": _remove_judge,
    "prompt": _prompt,
    "show prompt": _show_prompt,
    "new prompt": _new_prompt,
    "mode": _mode,
    "item": _item,
    "map": _map,
}
