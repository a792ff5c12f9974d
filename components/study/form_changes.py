"""Apply changes made in the Study form to the study file and to the form's state."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from components.html.pieces import notice_html
from components.study.file import judge_entries
from components.study.file.lenient_study import (
    FormState,
    LenientStudy,
    normalise_value,
    read_lenient_study,
)
from components.study.file.yaml_edit import put_value, reset_to_source
from components.study.form.data_step.data_source import BUILTIN, HUB
from components.study.form.data_step.slice_form import SAMPLE_FIELD, settings_of_sample_choice
from components.study.form.data_step.table_columns import guessed_column_mapping
from studies.errors import EvenhandError
from studies.spec.keys import DATA, EXTRACTION, JUDGE, PROTOCOL_KEYS, STUDY, find_key
from studies.spec.presets import PRESETS

FormChange = Mapping[str, Any]
"""One change with its running number: {"n": 3, "set": "data.count", "to": "12"} sets a field, {"n":
4, "do": "add judge", …} performs an action."""
Changed = tuple[str, FormState]
"""Study file and form state after a change."""


def apply_changes(
    text: str, state: FormState, entries: Sequence[FormChange], folder: Path
) -> Changed:
    """Apply the changes `entries` of the form, in order; return study file and form state. Changes
    with a number up to `state.last_change` are skipped, since they were applied before. An invalid
    change is not made, and the state's notice says why; nothing is changed in a study file that
    cannot be parsed."""
    state = replace(state, notice_html="")
    for entry in entries:
        if int(entry.get("n", 0)) <= state.last_change:
            continue
        state = replace(state, last_change=int(entry["n"]))
        sheet = read_lenient_study(text, folder)
        if sheet.parse_error:
            told = f"study.yaml: {sheet.parse_error}. Correct it below; then the form works again."
            return text, replace(
                state,
                notice_html=notice_html("bad", "The form cannot change the study file.", told),
            )
        try:
            text, state = _apply_change(sheet, state, entry)
        except (ValueError, EvenhandError) as error:
            state = replace(state, notice_html=notice_html("bad", "Not changed.", str(error)))
    return text, state


def _apply_change(study: LenientStudy, state: FormState, entry: FormChange) -> Changed:
    if "set" in entry:
        return _set_field(study, state, str(entry["set"]), entry.get("to"))
    if (changed := _change_state(state, entry)) is not None:
        return study.text, changed
    act = _ACTIONS.get(str(entry.get("do")))
    if act is None:
        raise ValueError(f"unknown action {entry.get('do')!r}; reload the page")
    return act(study, state, entry)


# ------------------------------------------------------------------------------ one field


def _set_field(study: LenientStudy, state: FormState, field: str, raw: Any) -> Changed:
    words = str(raw).strip()
    head, _, rest = field.partition(".")
    if field in ("mode", "prompt", "other", "describer", "describing"):
        changed: dict[str, Any] = {field: str(raw)}
        return study.text, replace(state, **changed)
    if field == "profile":
        return study.text, replace(state, whole=raw == "all")
    if field == "kind" and raw != BUILTIN:
        return study.text, replace(state, kind=str(raw))
    if field in ("kind", "hub", str(DATA.source)):
        hub = words.removeprefix("hub:")
        source = {"kind": "probe", "hub": f"hub:{hub}" if hub else ""}.get(field, words)
        return _set_source(study, state, source)
    if field == SAMPLE_FIELD:
        return _set_several_fields(study, state, {"values": settings_of_sample_choice(str(raw))})
    if head == "judge":
        return _set_judge_field(study, rest, raw), state
    if head == STUDY.extraction.name:
        made = _edit_extraction(study, rest, raw)
        return put_value(study.text, STUDY.extraction.path, made), state
    if head == "role":
        return _set_column_role(study, rest, str(raw)), state
    if head in _MAPPING_PATHS:
        return _set_mapping_entry(study, _MAPPING_PATHS[head], rest, words), state
    if field in _FIELD_PARSERS:
        path, parse = _FIELD_PARSERS[field]
        return _set_unless_default(study, path, parse(study, str(raw))), state
    return _set_unless_default(study, tuple(field.split(".")), _parse_field(field, raw)), state


def _set_unless_default(study: LenientStudy, path: tuple[str, ...], value: Any) -> str:
    """The study file with `value` at `path`. The key is left out if the value is empty, or if the
    file means the same without it (the preset's value, else the default)."""
    if not value and not isinstance(value, (int, float, dict)):
        value = None
    if value is not None and normalise_value(value) == normalise_value(study.default_value(*path)):
        value = None
    if value == {} and not study.default_value(*path):
        value = None
    return put_value(study.text, path, value)


def _set_source(study: LenientStudy, state: FormState, source: str) -> Changed:
    """Change the data source, and reset what was chosen for the former one (see
    `yaml_edit.reset_to_source`); nothing changes in the file if `source` is empty or already in
    use."""
    if not source:
        return study.text, state
    text = study.text if source == study.source else reset_to_source(study.text, source)
    return text, replace(state, kind=HUB if source.startswith("hub:") else "", item=0)


_MAPPING_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    key.name: key.path for key in (STUDY.families, DATA.files, DATA.mapping)
}


def _set_mapping_entry(study: LenientStudy, path: tuple[str, ...], key: str, words: str) -> str:
    values = study.value_in_file(*path)
    made = dict(values) if isinstance(values, Mapping) else {}
    if path == DATA.mapping.path and not made:
        made = dict(guessed_column_mapping(study))  # keep the other guessed columns
    made.pop(key, None)
    return put_value(study.text, path, made | ({key: words} if words else {}) or None)


def _set_column_role(study: LenientStudy, role: str, column: str) -> str:
    """The study file with `column` mapped to the role `role`, such as "instruction", "gold",
    "human" or "label"; an empty column removes the role. For a role such as "answer.2", the answers
    of a model, the column is mapped to "responses." with its own name, which becomes the model's
    name."""
    saved = study.value_in_file(*DATA.mapping)
    made = dict(saved) if isinstance(saved, Mapping) else dict(guessed_column_mapping(study))
    made = {name: field for name, field in made.items() if field != role and name != column}
    if column:
        made[column] = f"responses.{column}" if role.startswith("answer.") else role
    return put_value(study.text, DATA.mapping.path, made or None)


def _parse_field(field: str, raw: Any) -> Any:
    """Parse `raw`, the typed value of a field, into its type in the study file; None if empty (an
    empty list for a list)."""
    key = find_key(field)
    kind = key.base_type if key else str
    if kind is tuple:
        names = raw.split(",") if isinstance(raw, str) else raw
        return [str(name).strip() for name in names if str(name).strip()]
    words = str(raw).strip()
    if not words:
        return None
    return judge_entries.parse_number(key, words) if key and kind in (int, float) else words


def _parse_filters(_: LenientStudy, words: str) -> dict[str, list[str]]:
    """Parse filters: "field=a,b; other=c" -> {"field": ["a", "b"], "other": ["c"]}. ValueError if
    one has no "=" or no value."""
    made = {}
    for part in words.split(";"):
        if not part.strip():
            continue
        field, equals, values = part.partition("=")
        accepted = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or not accepted:
            raise ValueError(f"{DATA.where}: expected field=value, found {part.strip()!r}")
        made[field.strip()] = accepted
    return made


def _parse_items_per_value_by_field(_: LenientStudy, words: str) -> dict[str, int]:
    """Parse how many items to take for each value of a field: "category: 2" -> {"category": 2}
    means two items of each category. Several fields are separated by commas. ValueError if a part
    has another form."""
    made = {}
    for part in words.split(","):
        if not part.strip():
            continue
        field, colon, number = part.rpartition(":")
        if not colon or not field.strip() or not number.strip().isdigit():
            raise ValueError(f"{DATA.per}: expected field: number, found {part.strip()!r}")
        made[field.strip()] = int(number)
    return made


def _add_answer_file(study: LenientStudy, words: str) -> dict[str, str]:
    """The study's answer files (model -> file) with one more, typed as "model = file"; unchanged if
    nothing was typed. ValueError for any other text."""
    values = study.value_in_file(*DATA.files)
    made = dict(values) if isinstance(values, Mapping) else {}
    if not words.strip():
        return made
    name, equals, path = (part.strip() for part in words.partition("="))
    if not equals or not name or not path:
        raise ValueError(f"{DATA.files}: expected model = file, found {words.strip()!r}")
    return {**made, name: path}


_FIELD_PARSERS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[LenientStudy, str], Any]]]] = {
    DATA.where.name: (DATA.where.path, _parse_filters),
    "filter": (DATA.where.path, _parse_filters),
    str(DATA.per): (DATA.per.path, _parse_items_per_value_by_field),
    f"{DATA.files.name}+": (DATA.files.path, _add_answer_file),
}


def _set_judge_field(study: LenientStudy, path: str, raw: Any) -> str:
    """Return the study file with one field of a judge set to `raw`; `path` is the judge's index and
    the field, such as "0.model". ValueError if there is no such judge or field."""
    index, _, key = path.partition(".")
    judges = study.editable_judges()
    at = _parse_judge_index(index, judges)
    judges[at] = judge_entries.edit_judge(judges[at], key, raw)
    return put_value(study.text, STUDY.judges.path, judges)


def _parse_judge_index(index: Any, judges: Sequence[Any]) -> int:
    """Index of a judge; ValueError if the judge was removed in the meantime."""
    if not 0 <= int(index) < len(judges):
        raise ValueError("this judge is no longer in the study; open another one")
    return int(index)


def _edit_extraction(study: LenientStudy, key: str, raw: Any) -> dict[str, Any] | None:
    """The block `extraction` of the study file after a change of the extraction judge, which reads
    verdicts from replies that no rule can read; None if the block is to be removed.

    `key` "judge" chooses this judge by `raw`: the name of one of the study's judges, "@own" for one
    that is only used for this, or "" for none. Any other `key` sets a field of such an own judge to
    `raw`; ValueError if the study has none."""
    entry = study.value_in_file(*EXTRACTION.judge)
    own = EXTRACTION.judge.name
    if key != own:
        if not isinstance(entry, dict):
            raise ValueError("this extraction judge is no longer in the study; reload the page")
        return {own: judge_entries.edit_judge(dict(entry), key, raw)}
    if raw == "@own":
        return {own: judge_entries.new_judge("endpoint", study.judges, "extractor")}
    return {own: str(raw)} if raw else None


# ------------------------------------------------------------------------------- one action


def _change_state(state: FormState, entry: FormChange) -> FormState | None:
    """The form state after an action that does not change the study file, such as opening a drawer;
    None if the action is none of these."""
    match entry.get("do"):
        case "open judge":
            return replace(state, judge=str(entry.get("judge", "")), panel="judge")
        case "close":
            return replace(state, panel="", judge="")
        case "show prompt":
            prompt, mode = str(entry["prompt"]), str(entry["mode"])
            return replace(state, prompt=prompt, mode=mode, panel="prompts")
        case "new prompt":
            return replace(state, prompt="@new", mode="editor", panel="prompts")
        case "mode":
            return replace(state, mode=str(entry["mode"]), panel="prompts")
        case "item":
            return replace(state, item=max(0, int(entry["to"])))
    return None


def _apply_preset(study: LenientStudy, state: FormState, entry: FormChange) -> Changed:
    """Choose a preset, the settings of a published protocol, and remove from the study file what it
    replaces: the protocol settings, the data settings that the preset has and, if it shows several
    answers at once, the choice of models. An empty name removes the preset but keeps its prompts.
    ValueError for an unknown name."""
    name = str(entry.get("preset", ""))
    if name and name not in PRESETS:
        raise ValueError(f"no preset named {name!r}. Known: {', '.join(PRESETS)}")
    text = put_value(study.text, STUDY.preset.path, name or None)
    if not name:  # removing the preset would remove its prompts
        return put_value(text, STUDY.prompts.path, study.prompts or ["brief-letters"]), state
    sets = PRESETS[name].values_for(study.source).get(STUDY.data.name, {})
    removed = [*PROTOCOL_KEYS, *(DATA[each] for each in sets)]
    if DATA.options.name in sets:  # N answers at once: two of them would be another protocol
        removed.append(STUDY.contestants)
    for key in removed:
        text = put_value(text, key.path, None)
    return text, replace(state, prompt="")


def _add_and_open_judge(study: LenientStudy, state: FormState, entry: FormChange) -> Changed:
    judges = study.editable_judges()
    made = [*judges, judge_entries.new_judge("endpoint", judges)]
    opened = replace(state, judge=str(len(judges)), panel="judge")
    return put_value(study.text, STUDY.judges.path, made), opened


def _replace_judge(study: LenientStudy, state: FormState, entry: FormChange) -> Changed:
    """Replace a judge by a judge of a provider, the embedded judge, or a simulated judge; no change
    if the study no longer has the judge."""
    judges, place = study.editable_judges(), int(entry["judge"])
    if place < len(judges):
        others = [one for at, one in enumerate(judges) if at != place]
        judges[place] = judge_entries.judge_from_template(str(entry["template"]), others)
        if model := entry.get("model"):
            named = {JUDGE.name.name: judge_entries.unique_name(str(model), others)}
            judges[place] = judge_entries.edit_judge(judges[place], JUDGE.model.name, model) | named
    return put_value(study.text, STUDY.judges.path, judges), state


def _remove_judge(study: LenientStudy, state: FormState, entry: FormChange) -> Changed:
    judges = study.editable_judges()
    judges.pop(_parse_judge_index(entry["judge"], judges))
    made = put_value(study.text, STUDY.judges.path, judges or None)
    return made, replace(state, judge="", panel="")


def _add_or_remove_prompt(study: LenientStudy, state: FormState, entry: FormChange) -> Changed:
    name = str(entry["prompt"])
    others = [one for one in study.prompts if one != name]
    made = _set_unless_default(
        study, STUDY.prompts.path, [*others, *[name] * bool(entry.get("on"))]
    )
    return made, replace(state, prompt=name, panel="" if entry.get("close") else state.panel)


def _set_column_mapping(study: LenientStudy, state: FormState, entry: FormChange) -> Changed:
    return put_value(study.text, DATA.mapping.path, dict(entry["mapping"])), state


def _set_several_fields(study: LenientStudy, state: FormState, entry: FormChange) -> Changed:
    """Apply one change that sets several fields, in the given order."""
    for field, value in dict(entry["values"]).items():
        text, state = _set_field(study, state, str(field), value)
        study = read_lenient_study(text, study.folder)
    return study.text, state


_ACTIONS: Final[Mapping[str, Callable[[LenientStudy, FormState, FormChange], Changed]]] = {
    "set": _set_several_fields,
    "preset": _apply_preset,
    "add judge": _add_and_open_judge,
    "use judge": _replace_judge,
    "remove judge": _remove_judge,
    "prompt": _add_or_remove_prompt,
    "map": _set_column_mapping,
}
