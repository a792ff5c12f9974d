"""Controls of the slice in the Data step: filters, models, sample, data format and answer files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from components.html.format import count
from components.html.markup import EMPTY, Markup
from components.html.templates import macros
from components.study.file.controls import controls
from components.study.file.lenient_study import FormState, LenientStudy, as_list
from components.study.form.data_step.data_source import HUB, current_source_kind
from components.study.plan.study_preview import StudyPreview
from studies.domain import REFERENCE
from studies.sources.registry import SOURCE_FORMATS
from studies.spec.keys import DATA, STUDY, StudyKey

html: Final = macros("study/form/data_step/slice_form.html")
SMALL_SAMPLE: Final = 50
"""Number of items of the small samples ("first", "random") that are offered beside all items."""
SAMPLE_FIELD: Final = "sample"
ALL_ITEMS: Final = "all"
_COMMON_FILTERS: Final = {
    "": "all items",
    "checks.follows=true": "items whose answers passed all checks by people",
    "checks.follows=true,unchecked": "items that passed all checks by people, or have none",
    "reference=true": "items with a reference answer",
}


def slice_form(preview: StudyPreview, state: FormState) -> Markup:
    """HTML controls of the slice (filters, models, sample of items), of the data format and of the
    answer files."""
    study, items = preview.lenient_study, preview.records.items if preview.records else ()
    categories = Counter(item.category for item in items if item.category)
    names = {name: f"{name} ({count(n)})" for name, n in sorted(categories.items())}
    drawn = {item.category for item in preview.items if item.category}
    players = {name: name for name in preview.contestants}
    many = f" {count(len(players))}" if players else ""
    if any(item.reference.strip() for item in items):
        players[REFERENCE] = f"{REFERENCE}, compared as a model"
    where = filter_text(study)
    own_filter = {} if where in _COMMON_FILTERS else {where: where.replace("=", " is ")}
    per, files = study.value_in_file(*DATA.per), study.value_in_file(*DATA.files)
    strata = ", ".join(f"{k}: {v}" for k, v in per.items()) if isinstance(per, Mapping) else ""
    metas = sorted({f"meta.{key}" for item in items[:200] for key in item.meta})
    return html.slice_form(
        study,
        DATA,
        STUDY,
        filters=list((_COMMON_FILTERS | own_filter).items()),
        where=where,
        where_hint="filters apply before sampling" if preview.records and where else "",
        categories=_multi_select(DATA.categories, names, as_list(study.value(*DATA.categories))),
        models=_multi_select(
            STUDY.contestants,
            players,
            as_list(study.value_in_file(*STUDY.contestants)),
            f"all{many}",
        ),
        sampled=f"{count(len(drawn))} of {count(len(names))} categories "
        f"{'is' if len(drawn) == 1 else 'are'} in this sample"
        if names
        else "",
        formats=[
            (DATA.format.default, "detect automatically"),
            *((f.name, f.description) for f in SOURCE_FORMATS.values()),
        ],
        is_hub=current_source_kind(study, state) == HUB,
        fields=["category", *metas[:12]],
        strata=strata,
        files=files if isinstance(files, Mapping) else {},
        join=", ".join(str(part) for part in as_list(study.value_in_file(*DATA.join))),
    )


def _multi_select(
    key: StudyKey, options: Mapping[str, str], chosen: Sequence[Any], nothing: str = ""
) -> Markup:
    """HTML list of checkboxes that can be unfolded. Its heading names the checked options; if that
    is too long, how many are checked of how many; if none is checked, the text `nothing` or, if
    that is empty, "all" with the number of options."""
    names = [str(name) for name in chosen]
    labels = dict(options) | {n: f"{n} (not in the data)" for n in names if n not in options}
    head = ", ".join(labels[name] for name in names)
    if not names:
        head = nothing or (f"all {count(len(options))}" if options else "all")
    elif len(head) > 34:
        head = f"{count(len(names))} of {count(len(options))}"
    return controls.multi_select(str(key), labels, names, head, key.rule.label)


def filter_text(study: LenientStudy) -> str:
    """The filters of a study in one line: field=value,value; field=value. "" if there are none."""
    where = study.value(*DATA.where)
    if not isinstance(where, Mapping):
        return ""
    return "; ".join(
        f"{k}={','.join(_format_yaml_value(v) for v in as_list(vs))}" for k, vs in where.items()
    )


def _format_yaml_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def sample_switch(preview: StudyPreview) -> Markup:
    """HTML switch between all items, the first items of the file, and a seeded sample; empty if no
    records are loaded or they are too few to sample from."""
    if preview.records is None:
        return EMPTY
    total, kinds = len(preview.records.items), DATA.take.rule.options
    drawn = int(preview.lenient_study.text_value(*DATA.count) or 0)
    take = preview.lenient_study.text_value(*DATA.take)
    sizes = {size for size in (SMALL_SAMPLE, drawn) if 0 < size < total}
    if not sizes:
        return EMPTY
    offered = {(kind, SMALL_SAMPLE) for kind in kinds if SMALL_SAMPLE in sizes}
    chosen = {(take, drawn)} if drawn in sizes else set()
    options = [(ALL_ITEMS, f"All {count(total)}")]
    options += [
        (f"{kind} {n}", f"{kinds[kind]} {count(n)}")
        for kind, n in sorted(offered | chosen)
        if kind in kinds
    ]
    value = f"{take} {drawn}" if chosen else ALL_ITEMS
    return controls.bare_switch(SAMPLE_FIELD, "Questions", options, value)


def settings_of_sample_choice(choice: str) -> dict[str, str]:
    """The study-file settings for a choice of the sample switch: "first 50" -> {"data.count": "50",
    "data.take": "first"}."""
    if choice == ALL_ITEMS:
        return {str(DATA.count): "0", str(DATA.take): DATA.take.default}
    take, _, size = choice.partition(" ")
    return {str(DATA.count): size, str(DATA.take): take}
