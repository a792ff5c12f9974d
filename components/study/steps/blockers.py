"""Reasons why a study cannot be run yet, each with the button that helps to remove it; and the
conditions of a run that are met."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.html.format import count
from components.study.file import judge_entries as entries
from components.study.file.judge_entries import judge_address, judge_name, needs_typed_key
from components.study.file.lenient_study import LenientStudy
from components.study.form.data_step import records_report, slice_form, table_columns
from components.study.plan.study_preview import StudyPreview
from studies.files.upload_names import original_name
from studies.spec.keys import DATA, JUDGE


@dataclass(frozen=True, slots=True)
class Blocker:
    """One reason why a study cannot be run. `step`: number of the step in the form; `text`: short
    form for the steps; `sentence`: long form. `button`: label of a button that helps; a click on it
    applies the form change `action`, presses another button (CSS selector `press`), or shows a part
    of the page (CSS selector `goto`)."""

    step: int
    text: str
    sentence: str
    button: str
    action: Mapping[str, Any] | None = None
    press: str = ""
    goto: str = ""
    errand: Mapping[str, Any] | None = None
    """A slow job that the button starts."""
    key_of: str = ""
    """Judge without a key; the browser hides this reason once a key is typed for the judge."""
    key_url: str = ""
    """Address of the judge `key_of`, the only address to which its key is sent."""


def find_blockers_besides_keys(preview: StudyPreview) -> list[Blocker]:
    """The reasons why the study cannot be run, in the order of the steps; empty if there are none.
    Missing API keys are not among them: see `key_blockers`."""
    study = preview.lenient_study
    if study.parse_error:
        return [
            Blocker(1, "study.yaml cannot be read", f"study.yaml: {study.parse_error}.",
                    "Open study.yaml", press="#eh-show-file")
        ]  # fmt: skip
    found = [*_data_blockers(preview), *_judge_blockers(study)]
    if not study.prompts:
        found.append(
            Blocker(2, "no prompt is chosen", "choose a prompt.", "Choose a prompt",
                    {"do": "mode", "mode": "library"})
        )  # fmt: skip
    if not found and preview.plan is None and has_only_verdicts(preview):
        asked = any(item.instruction.strip() for item in preview.items)
        lacks = "no answers" if asked else "no questions and no answers"
        found.append(
            Blocker(1, f"verdicts, but {lacks}", f"these records contain verdicts, but {lacks}.",
                "Open the verdicts", errand={"do": "recorded"})
        )  # fmt: skip
    if not found and preview.plan is None:
        why = records_report.with_original_file_name(preview, preview.plan_error)
        found.append(Blocker(3, "see below", why, "More settings", press="#eh-more summary"))
    return found


def key_blockers(study: LenientStudy) -> list[Blocker]:
    """One reason for each judge whose key must be typed (`needs_typed_key`)."""
    return [
        Blocker(2, f"{judge_name(judge)} has no key", f"{judge_name(judge)} has no key.",
                "Use this key", key_of=judge_name(judge), key_url=judge_address(judge))
        for judge in study.judges
        if needs_typed_key(judge)
    ]  # fmt: skip


def has_only_verdicts(preview: StudyPreview) -> bool:
    """Whether the records are verdicts without any answer, so that no judge can be asked."""
    found = preview.records
    return found is not None and bool(found.verdict_count) and not any(
        item.responses for item in found.items
    )  # fmt: skip


def _data_blockers(preview: StudyPreview) -> list[Blocker]:
    study = preview.lenient_study
    if not preview.data_error:
        return []
    if preview.records is not None and not preview.items:
        return [_empty_slice_blocker(study, len(preview.records.items))]
    table = table_columns.mappable_table(preview)
    if table is not None and not table.rows:
        name = original_name(study.source)
        return [
            Blocker(1, "the table has no rows", f"{name} has no rows below its header.",
                    "Choose another file", press="#eh-upload")
        ]  # fmt: skip
    if missing := table_columns.missing_column_roles(preview):
        return [
            Blocker(1, f"column of {role} to choose", f"choose the column of {role}.",
                    "Choose the column", goto="#eh-columns .need select")
            for role in missing
        ]  # fmt: skip
    if table is not None and study.value_in_file(*DATA.mapping):
        return [
            Blocker(1, "the columns do not fit", preview.data_error, "Change the columns",
                    goto="#eh-columns, #eh-all-columns")
        ]  # fmt: skip
    if table is not None:
        columns = len(table.columns)
        return [
            Blocker(1, f"{columns} columns to name", f"choose what each of the {columns} columns "
                "contains.",
                    "Name the columns", goto="#eh-columns, #eh-all-columns")
        ]  # fmt: skip
    why = records_report.with_original_file_name(preview, preview.data_error)
    return [
        Blocker(1, "the data cannot be read", why, "Choose another file", press="#eh-upload")
    ]  # fmt: skip


def _empty_slice_blocker(study: LenientStudy, total: int) -> Blocker:
    where = slice_form.filter_text(study)
    short = "no question of the data passes the filter"
    if where:
        sentence = f"none of {total:,} questions passes the filter “{where}”."
        return Blocker(1, short, sentence, "Clear the filter", {"set": DATA.where.name, "to": ""})
    if study.value(*DATA.categories):
        sentence = f"none of {total:,} questions is in the chosen categories."
        clear = {"set": str(DATA.categories), "to": []}
        return Blocker(
            1, "no question is in the chosen categories", sentence, "All categories", clear
        )
    short = "no question has this number of answers"
    sentence = f"none of {total:,} questions has the number of answers set in the field “Options”."
    clear = {"set": str(DATA.options), "to": "0"}
    return Blocker(1, short, sentence, "Any number of answers", clear)


def _judge_blockers(study: LenientStudy) -> list[Blocker]:
    if not study.judges:
        return [
            Blocker(2, "no judge is chosen", "choose a judge.", "Choose a judge",
                    {"do": "add judge"})
        ]  # fmt: skip
    return [
        blocker
        for place, judge in enumerate(study.judges)
        for blocker in endpoint_blockers(judge, str(place))
    ]


def endpoint_blockers(judge: Mapping[str, Any], index: str) -> list[Blocker]:
    """Reasons why the study cannot run yet: the judge number `index` (from 0) has no address, or no
    model. Empty if it has both, or is not called at an address."""
    if entries.judge_kind(judge) != entries.ENDPOINT:
        return []
    named = any(judge.get(key.name) for key in (JUDGE.name, JUDGE.model))
    name = judge_name(judge) if named else "the judge"
    opens = {"do": "open judge", "judge": index}
    found = []
    if not judge_address(judge):
        sentence = f"the address of {name} is missing."
        found.append(Blocker(2, f"{name} has no address", sentence, "Enter the address", opens))
    if not judge.get(JUDGE.model.name):
        sentence = f"choose a model for {name}."
        found.append(Blocker(2, f"{name} has no model", sentence, "Choose the model", opens))
    return found


@dataclass(frozen=True, slots=True)
class FulfilledRequirement:
    """One condition of a run that is met. `key_of`: name of a judge whose key must be typed; the
    condition is then met only once the key is typed, which only the browser knows."""

    text: str
    key_of: str = ""


def fulfilled_requirements(preview: StudyPreview) -> list[FulfilledRequirement]:
    """The conditions of a run that the study meets, in the order of the steps, such as "2 judges
    set up". For each judge whose key must be typed, "… has a key" is also listed; the browser shows
    it only once the key is typed."""
    study, prompts = preview.lenient_study, preview.lenient_study.prompts
    if study.parse_error:
        return []
    complete = [judge for judge in study.judges if not endpoint_blockers(judge, "")]
    keyless = [judge_name(judge) for judge in complete if needs_typed_key(judge)]
    ready = [name for name in map(judge_name, complete) if name not in keyless]
    fits = f"{'fits' if len(prompts) == 1 else 'fit'} the data" if preview.plan else "chosen"
    read = "" if preview.data_error or not preview.items else count(len(preview.items), "question")
    if read and preview.records is not None and has_only_verdicts(preview):
        read = count(preview.records.verdict_count, "recorded verdict")
    texts = [
        f"{read} read" if read else "",
        f"{_name_or_count(ready, 'judge')} set up" if ready else "",
        *(f"{name} has a key" for name in keyless),
        f"{_name_or_count(prompts, 'prompt')} {fits}" if prompts else "",
    ]
    keys = ["", "", *keyless, ""]
    return [FulfilledRequirement(text, key) for text, key in zip(texts, keys, strict=True) if text]


def _name_or_count(names: Sequence[str], noun: str) -> str:
    return f"{noun} {names[0]}" if len(names) == 1 else count(len(names), noun)
