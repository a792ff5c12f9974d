"""Report on the loaded records in the form: format, joined files, missing answers, the first
comparisons as they will be read, one item."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Final

from components.html.format import count, truncate
from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import notice_html, verdict_chip
from components.html.tables.table import Table
from components.html.templates import macros
from components.inspect.html_parts import images_html
from components.inspect.load_comparison import load_image
from components.study.file.lenient_study import FormState
from components.study.form.data_step import table_columns
from components.study.plan.study_preview import StudyPreview, read_data_spec
from judges.planning.plan import Plan
from judges.planning.plan_checks import presentation_lister_for, skipped_items
from studies.domain import REFERENCE, UNRELATED, Item
from studies.errors import EvenhandError
from studies.files.upload_names import original_name
from studies.sources.join import JoinReport
from studies.sources.load import image_folder
from studies.spec.keys import DATA, STUDY
from studies.spec.presentations import Presentation, resolve_contestants
from studies.texts.slice_statistics import count_coverage

html: Final = macros("study/form/data_step/records_report.html")
PAGE_SIZE: Final = 3
_MAX_TEXT: Final = 320
_JOIN_PROBLEMS: Final = ("missing", "empty", "duplicate", "conflicting", "unknown")


def records_html(preview: StudyPreview, state: FormState) -> Markup:
    """HTML report on the records: a warning if columns were guessed, menus for the columns,
    detected format, missing answers, prompts that skip items, and one item. Records that cannot be
    read have no report: the strip with the Run button has the reason."""
    parts = [_guess_notice(preview), table_columns.mapping_form(preview), _detected_format(preview)]
    if preview.records is not None:
        found = preview.records.join
        parts.append(_join_report_html(found) if found else _answer_coverage_table(preview))
        parts.append(_skipped_notice(preview))
        item = item_html(preview, state)
        parts.append(html.one_item(item) if item else EMPTY)
    return join(parts)


def _guess_notice(preview: StudyPreview) -> Markup:
    if not preview.data_error or table_columns.offers_column_roles(preview):
        return EMPTY  # the strip below names a column that is missing
    if not preview.lenient_study.value_in_file(*DATA.mapping) and table_columns.mappable_table(
        preview
    ):
        why = with_original_file_name(preview, preview.data_error)
        advice = "The meaning of each column was guessed. Check the guesses below and confirm them."
        notice = notice_html("warn", "The format of this table is unknown.", advice)
        return notice + html.error_details(why)
    return EMPTY  # the strip below says why the file cannot be read


def with_original_file_name(preview: StudyPreview, words: str) -> str:
    """The text `words` with the stored name of an uploaded file replaced by its original name."""
    stored = PurePath(preview.lenient_study.source).name
    return words.replace(stored, original_name(preview.lenient_study.source))


def _detected_format(preview: StudyPreview) -> Markup:
    """HTML on the detected format of the records: how it was recognised, which measures it does not
    permit, and notes."""
    if preview.records is None or preview.lenient_study.source == "probe":
        return EMPTY
    found = preview.records
    disabled = None
    if found.disabled_metrics:
        why = next(iter(found.disabled_metrics.values()))
        names = ", ".join(found.disabled_metrics)
        title = "The order of the answers is not recorded."
        disabled = notice_html("warn", title, f"{why} Disabled: {names}.")
    return html.detected_format(
        found, with_original_file_name(preview, found.format_reason), disabled
    )


# ------------------------------------------------------------------------------- gaps


def _join_report_html(found: JoinReport) -> Markup:
    """HTML on joined answer files: numbers of matched, missing, empty, duplicate, conflicting and
    unknown answers per file."""
    kinds = [
        kind
        for kind in _JOIN_PROBLEMS
        if kind in ("missing", "empty") or any(getattr(one, kind) for one in found.files)
    ]
    rows = [
        [one.contestant, count(one.matched), *(_count_cell(getattr(one, kind)) for kind in kinds)]
        for one in found.files
    ]
    table = Table(["model", "found", *kinds], rows, "eh-jt", box="").html()
    examples = [
        (one.contestant, kind, keys)
        for one in found.files
        for kind, keys in (one.examples or {}).items()
        if keys
    ]
    return html.join_report(found, table, examples)


def _answer_coverage_table(preview: StudyPreview) -> Markup:
    """HTML table of found, missing and empty answers per model; empty if all answers are found."""
    named = preview.lenient_study.value_in_file(*STUDY.contestants)
    names = named if isinstance(named, list) and named else preview.contestants[:20]
    found = [
        count_coverage(str(name), [item.responses.get(str(name)) for item in preview.items])
        for name in names
    ]
    if not any(one.missing or one.empty for one in found):
        return EMPTY
    rows = [
        [one.name, count(one.found), _count_cell(one.missing), _count_cell(one.empty)]
        for one in found
    ]
    table = Table(["model", "found", "missing", "empty"], rows, "eh-jt", box="").html()
    return html.coverage(len(preview.items), table)


def _count_cell(value: int) -> Markup:
    return fill('<span class="{}">{}</span>', "w" if value else "z", count(value))


def _skipped_notice(preview: StudyPreview) -> Markup:
    if preview.plan is None:
        return EMPTY
    lines = [
        f"{one.prompt} is not used on {count(one.items, 'item')}: {one.why}."
        for one in skipped_items(preview.plan.prompts, preview.plan.items)
    ]
    return notice_html("calm", "Some prompts skip items.", " ".join(lines[:4])) if lines else EMPTY


# ----------------------------------------------------------------------- comparisons, one item


def comparisons_html(preview: StudyPreview, state: FormState, why_none: str = "") -> Markup:
    """HTML of up to three comparisons: each question, with its answers in the order of the first
    call. If the study judges single answers: up to three questions, each with one answer. Without
    items, the text `why_none` on what is missing."""
    items = preview.items
    single = preview.plan is not None and preview.plan.judges_single_answers
    if not items:
        return html.no_preview(why_none) if why_none else EMPTY
    first = min(state.item, len(items) - 1) // PAGE_SIZE * PAGE_SIZE
    shown = [
        (
            item.instruction,
            [
                (EMPTY if single else verdict_chip(slot), name, _answer_or_placeholder(item, name))
                for slot, name in enumerate(_models_in_first_shown_order(preview, item))
            ],
        )
        for item in items[first : first + PAGE_SIZE]
    ]
    orders = count_planned_orders(preview.plan) if preview.plan else 1
    known = [item.id for item in preview.records.items] if preview.records else []
    places = {id: place for place, id in enumerate(known)}
    order = [places[item.id] for item in items]
    mixed = order != sorted(order)
    what = "answer" if single else "comparison"
    return html.comparisons(shown, first, len(items), mixed, orders, PAGE_SIZE, _MAX_TEXT, what)


def _models_in_first_shown_order(preview: StudyPreview, item: Item) -> tuple[str, ...]:
    """Models in the order of the first call on an item, empty if it has no call; without a plan,
    the first two by name."""
    if preview.plan is None:
        return tuple(sorted(name for name, text in item.responses.items() if text.strip()))[:2]
    found = next(_first_prompt_presentations(preview.plan, item), None)
    return found.shown if found else ()


def count_planned_orders(plan: Plan) -> int:
    """Number of orders in which each comparison is judged with the study's first prompt; it is
    taken from the first item that has a comparison, and is 1 if none has."""
    found = (next(_first_prompt_presentations(plan, item), None) for item in plan.items)
    return next((one.orders for one in found if one), 1)


def _first_prompt_presentations(plan: Plan, item: Item) -> Iterator[Presentation]:
    names = tuple(resolve_contestants(plan.study, plan.items))
    study = replace(plan.study, contestants=names)
    answered = {name for name, text in item.responses.items() if text.strip()} | {REFERENCE}
    if study.baseline and study.baseline not in answered:
        return
    study = replace(study, contestants=tuple(name for name in names if name in answered))
    # An unrelated option is an answer to another item, so one more item is passed along.
    others = [one for one in plan.items[:2] if one is not item] if study.unrelated != "none" else []
    shown = presentation_lister_for(plan.prompts[0])(study, [item, *others])
    yield from (one for one in shown if one.item is item)


def _answer_or_placeholder(item: Item, name: str) -> str:
    if name == UNRELATED:
        return "an answer to another question"
    return item.reference if name == REFERENCE else item.responses.get(name, "")


def item_html(preview: StudyPreview, state: FormState) -> Markup:
    """HTML of the selected item in full; empty without items."""
    n = len(preview.items)
    if not n:
        return EMPTY
    at = min(state.item, n - 1)
    item = preview.items[at]
    return html.item(item, at, n, *_images_and_description(preview, item))


def _images_and_description(preview: StudyPreview, item: Item) -> tuple[Any, str]:
    """HTML of an item's images (None without images), and a text on their description."""
    if not item.images:
        return None, ""
    try:
        folder = image_folder(read_data_spec(preview.lenient_study), preview.lenient_study.folder)
    except EvenhandError:
        folder = None
    shown = images_html((load_image(path, folder) for path in item.images[:4]), "image")
    context = item.context if isinstance(item.context, str) else " ".join(item.context)
    if not context.strip():
        none = "The image has no description, so a judge without vision gets no information about "
        return shown, none + "it."
    return shown, f"Description, {count(len(context.split()), 'word')}: {truncate(context, 140)}"
