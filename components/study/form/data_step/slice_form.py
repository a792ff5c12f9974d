"""Controls of the slice in the Data step: filters, models, sample, data format and answer files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from components.html.format import count
from components.html.markup import EMPTY, Markup, fill, join
from components.study.file.controls import (
    form_row,
    integer_input,
    multi_select,
    segmented_switch,
    select_menu,
    text_input,
)
from components.study.file.lenient_study import FormState, LenientStudy, as_list
from components.study.form.data_step.data_source import HUB, current_source_kind
from components.study.plan.study_preview import StudyPreview
from studies.domain import REFERENCE
from studies.sources.registry import SOURCE_FORMATS
from studies.spec.keys import DATA, STUDY

SMALL_SAMPLE: Final = 50
"""Number of items of the small samples ("first", "random") that are offered beside all items."""
SAMPLE_FIELD: Final = "sample"
ALL_ITEMS: Final = "all"
_COMMON_FILTERS: Final = (
    ("", "all items"),
    ("checks.follows=true", "items whose answers passed all checks by people"),
    ("checks.follows=true,unchecked", "items that passed all checks by people, or have none"),
    ("reference=true", "items with a reference answer"),
)


def slice_form(preview: StudyPreview, view: FormState) -> Markup:
    """HTML controls of the slice: filters, models, then a seeded sample of items."""
    study, items = preview.lenient_study, preview.records.items if preview.records else ()
    categories = Counter(item.category for item in items if item.category)
    names = [(name, f"{name} ({count(n)})") for name, n in sorted(categories.items())]
    drawn = {item.category for item in preview.items if item.category}
    chosen = [str(name) for name in as_list(study.value(*DATA.categories))]
    players = [(name, name) for name in preview.contestants]
    if any(item.reference.strip() for item in items):
        players.append((REFERENCE, f"{REFERENCE}, compared as a model"))
    playing = [str(name) for name in as_list(study.raw(*STUDY.contestants))]
    hint = (
        f"{count(len(drawn))} of {count(len(names))} categories are in this sample" if names else ""
    )
    parts = [
        form_row(
            DATA.where.rule.label,
            select_menu(DATA.where.name, _filter_options(study), filter_text(study)),
            study.hint(_filter_hint(preview), *DATA.where),
            to=DATA.where.name,
        ),
        form_row(
            DATA.categories.rule.label,
            multi_select(str(DATA.categories), names, chosen, label=DATA.categories.rule.label),
            study.hint("", *DATA.categories),
            to=str(DATA.categories),
            group=True,
        ),
        form_row(
            STUDY.contestants.rule.label,
            multi_select(
                str(STUDY.contestants),
                players,
                playing,
                label=STUDY.contestants.rule.label,
                nothing=_all_label(len(preview.contestants)),
            ),
            to=str(STUDY.contestants),
            group=True,
        ),
        form_row(
            DATA.count.rule.label,
            integer_input(
                str(DATA.count), study.text_value(*DATA.count), label=DATA.count.rule.label
            ),
            hint if study.value(*DATA.count) else DATA.count.rule.hint,
            to=str(DATA.count),
        ),
        form_row(
            DATA.take.rule.label,
            select_menu(
                str(DATA.take), list(DATA.take.rule.options.items()), study.text_value(*DATA.take)
            ),
            DATA.take.rule.option_hints.get(study.text_value(*DATA.take), ""),
            to=str(DATA.take),
        ),
        form_row(
            DATA.seed.rule.label,
            integer_input(str(DATA.seed), study.text_value(*DATA.seed), label=DATA.seed.rule.label),
            to=str(DATA.seed),
        ),
    ]
    return join(parts) + _more_settings(study, items, current_source_kind(study, view))


def _all_label(many: int) -> str:
    """Label of the choice of everything: "all 5", or "all" while the number is unknown."""
    return f"all {count(many)}" if many else "all"


def _filter_options(study: LenientStudy) -> list[tuple[str, str]]:
    value = filter_text(study)
    known = [choice for choice, _ in _COMMON_FILTERS]
    return [*_COMMON_FILTERS, *([] if value in known else [(value, value.replace("=", " is "))])]


def filter_text(study: LenientStudy) -> str:
    """The filters of a study in one line: field=value,value; field=value."""
    where = study.value(*DATA.where)
    if not isinstance(where, Mapping):
        return ""
    return "; ".join(
        f"{k}={','.join(_yaml_word(v) for v in as_list(vs))}" for k, vs in where.items()
    )


def _yaml_word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filter_hint(preview: StudyPreview) -> str:
    if preview.records is None or not filter_text(preview.lenient_study):
        return ""
    return "filters apply before sampling"


def _more_settings(study: LenientStudy, items: Any, kind: str) -> Markup:
    per = study.raw(*DATA.per)
    strata = ", ".join(f"{k}: {v}" for k, v in per.items()) if isinstance(per, Mapping) else ""
    metas = sorted({f"meta.{key}" for item in items[:200] for key in item.meta})
    fields = ["category", *metas[:12]]
    formats = [
        (DATA.format.default, "detect automatically"),
        *((f.name, f.description) for f in SOURCE_FORMATS.values()),
    ]
    parts = [
        form_row(
            DATA.format.rule.label,
            select_menu(str(DATA.format), formats, study.text_value(*DATA.format)),
            to=str(DATA.format),
        ),
        form_row(
            DATA.split.rule.label,
            text_input(
                str(DATA.split),
                study.raw(*DATA.split) or "",
                placeholder=DATA.split.rule.placeholder,
            ),
            DATA.split.rule.hint,
            to=str(DATA.split),
        )
        if kind != HUB
        else "",
        form_row(
            DATA.options.rule.label,
            integer_input(
                str(DATA.options), study.text_value(*DATA.options), high=int(DATA.options.rule.high)
            ),
            study.hint(DATA.options.rule.hint, *DATA.options),
            to=str(DATA.options),
        ),
        form_row(
            "Custom filter",
            text_input(
                "filter", filter_text(study), mono=True, placeholder="category=writing,math"
            ),
            "field=value keeps only items with this value. Fields: id, images, "
            f"reference, {', '.join(fields)}, checks.follows (false: people found that an "
            "answer does not follow the instruction)",
            to="filter",
        ),
        form_row(
            DATA.per.rule.label,
            text_input(str(DATA.per), strata, mono=True, placeholder=DATA.per.rule.placeholder),
            DATA.per.rule.hint,
            to=str(DATA.per),
        ),
        _answer_files(study),
    ]
    return fill(
        "<details class='eh-how' data-keep='data more'><summary>Format, split, filters, "
        "answer files</summary>{}</details>",
        join(parts),
    )


def _answer_files(study: LenientStudy) -> Markup:
    """HTML controls for the answers of further models, one file per model."""
    files = study.raw(*DATA.files)
    known: Mapping[str, Any] = files if isinstance(files, Mapping) else {}
    rows = join(
        form_row(
            str(name),
            text_input(f"{DATA.files.name}.{name}", value, mono=True, label=f"answers of {name}"),
            to=f"{DATA.files.name}.{name}",
        )
        for name, value in known.items()
    )
    columns = ", ".join(str(part) for part in as_list(study.raw(*DATA.join)))
    add = text_input(f"{DATA.files.name}+", "", mono=True, placeholder="model-x = answers.csv")
    return (
        form_row(DATA.files.rule.label, add, DATA.files.rule.hint, to=f"{DATA.files.name}+")
        + rows
        + form_row(
            DATA.join.rule.label,
            text_input(str(DATA.join), columns, mono=True, placeholder=DATA.join.rule.placeholder),
            DATA.join.rule.hint,
            to=str(DATA.join),
        )
    )


def sample_switch(preview: StudyPreview) -> Markup:
    """HTML switch between all items, the first items of the file, and a seeded sample."""
    if preview.records is None:
        return EMPTY
    total = len(preview.records.items)
    drawn = int(preview.lenient_study.text_value(*DATA.count) or 0)
    take = preview.lenient_study.text_value(*DATA.take)
    sizes = {size for size in (SMALL_SAMPLE, drawn) if 0 < size < total}
    if not sizes:
        return EMPTY
    offered = {(kind, SMALL_SAMPLE) for kind in DATA.take.rule.options if SMALL_SAMPLE in sizes}
    chosen = (take, drawn) if drawn in sizes else None
    options = [(ALL_ITEMS, f"All {count(total)}")]
    options += [
        (f"{kind} {n}", f"{DATA.take.rule.options[kind]} {count(n)}")
        for kind, n in sorted({*offered, *([chosen] if chosen else [])})
        if kind in DATA.take.rule.options
    ]
    return fill(
        '<span id="f-sample-l" hidden>Questions</span>{}',
        segmented_switch(
            SAMPLE_FIELD, options, f"{chosen[0]} {chosen[1]}" if chosen else ALL_ITEMS
        ),
    )


def sample_values(choice: str) -> dict[str, str]:
    """Field -> value for a choice: "first 50" -> {"data.count": "50", "data.take": "first"}."""
    if choice == ALL_ITEMS:
        return {str(DATA.count): "0", str(DATA.take): DATA.take.default}
    take, _, size = choice.partition(" ")
    return {str(DATA.count): size, str(DATA.take): take}
