"""Study files: parse and dump the YAML file that defines a study, and compare it with its
preset."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from studies.domain import JudgeSpec
from studies.errors import StudyError, file_error_advice
from studies.spec.field_reader import find_line_of_key, load_yaml, suggest_word
from studies.spec.judge_spec import changed_fields, dump_judge, parse_judge, to_yaml_value
from studies.spec.keys import DATA, EXTRACTION, PROTOCOL_KEYS, STUDY, TWINS, StudyKey
from studies.spec.presets import PRESETS, merge_study_values
from studies.spec.study_fields import OPTION_ORDERS as OPTION_ORDERS
from studies.spec.study_fields import PAIR_ORDERS as PAIR_ORDERS
from studies.spec.study_fields import PROTOCOLS as PROTOCOLS
from studies.spec.study_fields import DataSpec as DataSpec
from studies.spec.study_fields import Study as Study
from studies.spec.study_fields import TwinSpec as TwinSpec
from studies.texts.twin_families import FAMILIES, PRESET_FAMILIES, QUICK_ITEMS


def load_study(path: Path) -> Study:
    """Load a study file; StudyError, which names the file and the field, if it cannot be read or is
    invalid."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        reason = f"{error.strerror}; {file_error_advice(error)}"
        raise StudyError(f"cannot read the study file {path}: {reason}") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path}: the study file is not UTF-8 text; save it as UTF-8") from None
    return parse_study(text, path.name, path.parent)


def parse_study(text: str, where: str = "study", folder: Path | None = None) -> Study:
    """Parse a study from YAML text; StudyError, which names the line if it is known, for an invalid
    text. `where` begins every error message; `folder` (None: the current one) is the folder to
    which paths in the study are relative."""
    try:
        values = load_yaml(text)
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from None
    try:
        return study_from_mapping(values, where, folder)
    except StudyError as error:
        place = str(error).removeprefix(f"{where}: ").partition(":")[0]
        line = find_line_of_key(text, place)
        raise StudyError(f"{error} (line {line})" if line else str(error)) from None


def study_from_mapping(values: object, where: str = "study", folder: Path | None = None) -> Study:
    """Build a study from parsed YAML. Values that it does not state come from the preset it names
    or, without one, are the defaults. StudyError, which names the place `where`, for an
    unknown key or invalid value. `folder` is the folder to which its paths are relative."""
    study = _read_study(_merge_preset(values, where), where, folder or Path())
    _check_study(study, where)
    return study


def _read_study(values: object, where: str, folder: Path) -> Study:
    """Build a study from the keys of a study file, without its preset; StudyError for an invalid
    value. Keys that contradict each other are not checked."""
    from studies.spec.schema import DataBlock, StudyBlock  # imports pydantic

    block = StudyBlock.parse(values, where)
    found = block.attributes()
    data = DataBlock.parse(found.pop(STUDY.data.attribute), f"{where}: {STUDY.data}")
    judges = tuple(
        parse_judge(entry, f"{where}: {STUDY.judges}[{i}]")
        for i, entry in enumerate(found.pop(STUDY.judges.attribute))
    )
    extraction = _read_extraction_judge(found.pop(STUDY.extraction.attribute), judges, where)
    twins = _read_twins(found.pop(STUDY.twins.attribute), f"{where}: {STUDY.twins}")
    study = Study(
        **found,
        data=DataSpec(**data.attributes()),
        judges=judges,
        extraction=extraction,
        twins=twins,
        folder=folder,
    )
    return replace(study, name=study.name.strip())


def dump_study(study: Study) -> str:
    """Return a study as YAML text. Values that equal those of its preset or, without a preset,
    the defaults are left out."""
    import yaml  # not needed to measure a table

    return yaml.safe_dump(study_to_mapping(study), sort_keys=False, allow_unicode=True)


def study_to_mapping(study: Study) -> dict[str, Any]:
    """Convert a study to the keys of a study file. Values that equal those of its preset or,
    without a preset, the defaults are left out."""
    base = study_with_only_preset_values(study)
    values = changed_fields(study, base, STUDY)
    if data := changed_fields(study.data, replace(base.data, source=DataSpec().source), DATA):
        values[STUDY.data.name] = {DATA.source.name: study.data.source, **data}
    if study.judges:
        values[STUDY.judges.name] = [dump_judge(judge) for judge in study.judges]
    if study.extraction is not None:
        named = study.extraction.name in {judge.name for judge in study.judges}
        values[STUDY.extraction.name] = {
            EXTRACTION.judge.name: study.extraction.name if named else dump_judge(study.extraction)
        }
    if study.twins is not None:
        values[STUDY.twins.name] = changed_fields(study.twins, TwinSpec((), ""), TWINS)
    first = [key.name for key in (STUDY.name, STUDY.preset, STUDY.data) if key.name in values]
    return {name: values[name] for name in dict.fromkeys([*first, *values])}


def study_with_only_preset_values(study: Study) -> Study:
    """Return the study that results if nothing but this study's data source and preset is kept:
    all other values are those of the preset or, without a preset, the defaults."""
    defaults = Study(name="", data=DataSpec(source=study.data.source))
    if not study.preset:
        return defaults
    values = PRESETS[study.preset].values_for(study.data.source)
    made = _read_study({STUDY.name.name: study.preset, **values}, "preset", defaults.folder)
    return replace(made, name="", data=replace(made.data, source=study.data.source))


@dataclass(frozen=True, slots=True)
class PresetDifference:
    """A key whose value differs from the preset's; both values are as written in a study file."""

    key: str
    value: Any
    preset: Any


def preset_differences(study: Study) -> tuple[PresetDifference, ...]:
    """List the keys of a study file whose values differ from those of the study's preset; empty
    without a preset.

    Only the keys of a protocol are compared, without those that have no effect in this study or
    that the preset leaves to the user. The judges and the block `data` (source and selection of the
    items) are not part of it, but keys of `data` that the preset itself sets are compared.
    """
    if not study.preset:
        return ()
    base = study_with_only_preset_values(study)
    sets = PRESETS[study.preset].values_for(study.data.source).get(STUDY.data.name, {})
    pairs = [
        (str(key), getattr(study, key.attribute), getattr(base, key.attribute))
        for key in _protocol_keys(study, base)
    ]
    pairs += [
        (str(key), getattr(study.data, key.attribute), getattr(base.data, key.attribute))
        for key in map(DATA.__getitem__, sets)
    ]
    return tuple(
        PresetDifference(k, to_yaml_value(mine), to_yaml_value(its))
        for k, mine, its in pairs
        if mine != its
    )


def _protocol_keys(study: Study, base: Study) -> list[StudyKey]:
    """Return the protocol keys of `study` that are compared with its preset's values `base`.

    Keys that have no effect with the study's value of `pairing` are excluded, and so is `baseline`
    if the preset leaves it to the user.
    """
    unused = [] if study.pairing == "new" else [STUDY.new, STUDY.reference_games]
    if study.pairing == "all" or (base.pairing != "all" and not base.baseline):
        unused.append(STUDY.baseline)
    return [key for key in PROTOCOL_KEYS if key not in unused]


def _merge_preset(values: object, where: str) -> object:
    """Return the values of a study file merged with those of the preset that they name; the values
    of the file take precedence. Without a known preset, they are returned unchanged."""
    if not isinstance(values, Mapping) or not (name := values.get(STUDY.preset.name)):
        return values
    if str(name) not in PRESETS:
        return values  # the parser reports the unknown name
    data = values.get(STUDY.data.name)
    source = data.get(DATA.source.name) if isinstance(data, Mapping) else None
    records = DataSpec().source if source is None else str(source)
    return merge_study_values(PRESETS[str(name)].values_for(records), values)


def _read_extraction_judge(
    values: dict[str, Any] | None, judges: tuple[JudgeSpec, ...], where: str
) -> JudgeSpec | None:
    """Read the judge that extracts verdicts from replies: one of the study's judges, given by
    name, or a separate judge. None if the key is absent. StudyError for an unknown name, or
    if a separate judge has the name of another one."""
    from studies.spec.schema import ExtractionBlock

    if not values:
        return None
    ExtractionBlock.parse(values, f"{where}: {STUDY.extraction}")
    entry, place = values.get(EXTRACTION.judge.name), f"{where}: {EXTRACTION.judge}"
    by_name = {judge.name: judge for judge in judges}
    if isinstance(entry, dict):
        own_judge = parse_judge(entry, place)
        if by_name.get(own_judge.name, own_judge) != own_judge:
            raise StudyError(
                f"{place}: another judge is named {own_judge.name!r}; use a different name"
            )
        return own_judge
    if str(entry) not in by_name:
        known = ", ".join(by_name) or "none"
        raise StudyError(f"{place}: no judge named {entry!r} in this study. Its judges: {known}")
    return by_name[str(entry)]


def _read_twins(values: object, where: str) -> TwinSpec | None:
    """Read the key `twins`: a block of settings, or the name of a set of families (`quick` or
    `full`). None if the key is absent, StudyError for an unknown family."""
    from studies.spec.schema import TwinsBlock

    if values is None:
        return None
    if isinstance(values, str):  # the families of a preset, quick on few items
        values = {
            TWINS.families.name: values,
            TWINS.items.name: QUICK_ITEMS if values == "quick" else 0,
        }
    found = TwinsBlock.parse(values, where).attributes()
    families: list[str] = []
    for name in found[TWINS.families.attribute] or TWINS.families.default:
        if name not in FAMILIES and name not in PRESET_FAMILIES:
            known = [*PRESET_FAMILIES, *FAMILIES]
            near = suggest_word(name, known)
            raise StudyError(f"{where}: no family {name!r}{near}. Known: {', '.join(known)}")
        families += PRESET_FAMILIES.get(name, (name,))
    answers = found[TWINS.answers.attribute]
    return TwinSpec(
        **found
        | {
            TWINS.families.attribute: tuple(dict.fromkeys(families)),
            TWINS.answers.attribute: () if answers == ("all",) else answers,
        }
    )


def _check_study(study: Study, where: str) -> None:
    """Raise StudyError, which names the file `where`, if values of several keys are inconsistent or
    a list entry is invalid."""

    def key_error(key: StudyKey, message: str) -> StudyError:
        return StudyError(f"{where}: {key}: {message}")

    if not study.name:
        raise key_error(STUDY.name, STUDY.name.rule.missing)
    for key in (STUDY.judges, STUDY.contestants, STUDY.prompts):
        listed = [getattr(entry, "name", entry) for entry in getattr(study, key.attribute)]
        twice = sorted({name for name in listed if listed.count(name) > 1})
        if twice and key == STUDY.judges:
            raise key_error(key, f"two judges are named {twice[0]!r}; give each its own name")
        if twice:
            raise key_error(key, f"{twice[0]!r} is listed twice; remove one")
        if not all(name.strip() for name in listed) and key != STUDY.judges:
            raise key_error(key, "a name in the list is empty; fill it in or remove it")
    if study.pairing == "all":
        return
    if not study.baseline:
        message = f"pairing: {study.pairing} needs a baseline: name one of the models"
        raise key_error(STUDY.baseline, message)
    if study.pairing == "new" and not study.new:
        raise key_error(
            STUDY.new, "pairing: new needs the name of the new model; name the model here"
        )
    if study.pairing == "new" and study.new == study.baseline:
        raise key_error(STUDY.new, f"{study.new!r} is also the baseline; name two different models")
