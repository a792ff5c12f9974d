"""The Data step of the form: the source of the records, and the slice to be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from components.html.format import count, file_size
from components.html.markup import EMPTY, Markup, fill, join
from components.study.file.controls import (
    form_button,
    form_row,
    integer_input,
    key_input,
    multi_select,
    segmented_switch,
    select_menu,
    text_input,
)
from components.study.file.lenient_study import FormState, LenientStudy, as_list
from components.study.form.mapping_preview import source_table
from components.study.plan.public_checks import is_public
from components.study.plan.study_preview import StudyPreview, read_data_spec
from studies.domain import REFERENCE
from studies.files.upload_names import UPLOADS_FOLDER, original_name
from studies.sources.catalogue import find_hub_set, hub_sets
from studies.sources.load import BUILT_IN_SOURCES, source_path
from studies.sources.registry import SOURCE_FORMATS
from studies.spec.keys import DATA, STUDY

BUILTIN, FILE, UPLOAD, HUB, RECORDED = "built-in", "file", "upload", "hub", "recorded"
SOURCE_KINDS: Final = (
    (BUILTIN, "Built-in"),
    (FILE, "File"),
    (UPLOAD, "Upload"),
    (HUB, "Hub"),
    (RECORDED, "Recorded"),
)
SMALL_SAMPLE: Final = 50
"""Items of the cheap choices beside all items."""
SAMPLE_FIELD: Final = "sample"
ALL_ITEMS: Final = "all"

HUB_TOKEN_NAME: Final = "@hub"
"""Name under which the browser stores a Hub token."""
HUB_URL: Final = "https://huggingface.co"
"""The only host to which an entered token is sent."""

_COMMON_FILTERS: Final = (
    ("", "all items"),
    ("checks.follows=true", "items whose reference was verified by people"),
    (
        "checks.follows=true,unchecked",
        "items whose reference was verified by people, or not checked",
    ),
    ("reference=true", "items with a reference"),
)


def source_kind(source: str) -> str:
    if source in BUILT_IN_SOURCES:
        return BUILTIN
    if source.startswith("hub:"):
        return HUB
    return UPLOAD if source.startswith(f"{UPLOADS_FOLDER}/") else FILE


def current_source_kind(study: LenientStudy, view: FormState) -> str:
    return view.kind or source_kind(study.source)


def sample_switch(preview: StudyPreview) -> Markup:
    """Choice between all items, the first ones of the file, and a seeded sample."""
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
    """Fields of the study file for a choice of `sample_switch`, such as "first 50"."""
    if choice == ALL_ITEMS:
        return {str(DATA.count): "0", str(DATA.take): DATA.take.default}
    take, _, size = choice.partition(" ")
    return {str(DATA.count): size, str(DATA.take): take}


def source_card(preview: StudyPreview, view: FormState) -> Markup:
    """The source with its size, a button that replaces it, and the other kinds of sources."""
    study = preview.lenient_study
    kinds = [kind for kind in SOURCE_KINDS if kind[0] != FILE or not is_public()]
    kind = current_source_kind(study, view)
    switch = fill(
        '<span id="f-kind-l" hidden>Source</span><div class="eh-kinds">{}</div>',
        segmented_switch("kind", kinds, kind),
    )
    words = "Replace" if source_kind(study.source) == UPLOAD else "Choose a file"
    card = fill(
        '<div class="eh-filec"><span class="eh-mono">{}</span><span class="eh-small eh-mute">{}'
        '</span><span class="eh-grow"></span><button type="button" class="eh-btn small"'
        ' data-press="#eh-upload">{}</button></div>',
        source_title(study.source),
        _source_size(preview),
        words,
    )
    return fill(
        "{}<details class='eh-how eh-other' data-keep='source'><summary>Other sources: built-in, "
        "Hub, recorded verdicts</summary>{}{}</details>",
        card,
        switch,
        _source_control(study, kind),
    )


def source_title(source: str) -> str:
    if source == "probe":
        return "Probe set"
    return source.removeprefix("hub:") if source_kind(source) == HUB else original_name(source)


def _source_size(preview: StudyPreview) -> str:
    """Rows, columns and bytes of a table; questions and models of what was read from it."""
    parts = [_table_size(preview.lenient_study)]
    if preview.records is not None:
        items, models = len(preview.records.items), len(preview.contestants)
        parts.append(f"{count(items, 'question')}, answers of {count(models, 'model')}")
    return " · ".join(part for part in parts if part)


def _table_size(study: LenientStudy) -> str:
    table = source_table(study)
    if table is None:
        return ""
    size = source_path(read_data_spec(study), study.folder).stat().st_size
    rows, columns = count(len(table.rows), "row"), count(len(table.columns), "column")
    return f"{rows}, {columns}, {file_size(size)}"


def _source_control(study: LenientStudy, kind: str) -> Markup:
    source = study.source if source_kind(study.source) == kind else ""
    if kind == BUILTIN:
        names = [(name, "Probe set" if name == "probe" else name) for name in BUILT_IN_SOURCES]
        hint = "64 built-in questions with four answers each; the better answers are known"
        return form_row(
            "Source",
            select_menu(str(DATA.source), names, source or "probe"),
            hint,
            to=str(DATA.source),
        )
    if kind == HUB:
        return _hub_controls(study, source.removeprefix("hub:"))
    if kind == FILE:
        hint = (
            "path of a CSV, TSV, JSONL, JSON or Parquet file (also .gz) or of a folder, on the "
            "server of this page"
        )
        box = text_input(
            str(DATA.source), source, mono=True, placeholder="records/items.jsonl", slow=True
        )
        return form_row("Path", box, hint, to=str(DATA.source))
    if kind == UPLOAD:
        name = original_name(source)
        hint = (
            "upload CSV, TSV, JSONL, JSON or Parquet files, also .gz; several files of answers "
            "are joined"
        )
        told = fill('<p class="hint">{}{}</p>', f"In use: {name}. " if name else "", hint)
        return told + _upload_button("Choose files")
    return Markup(
        '<p class="hint">Published verdicts (MT-Bench, Arena, AlpacaEval, LLMBar, PRD …) '
        "open as a study without a key or a call. You can add live judges afterwards.</p>"
    ) + _upload_button("Choose files of verdicts")


def _upload_button(words: str) -> Markup:
    return fill(
        '<div class="eh-row"><button type="button" class="eh-btn" data-press="#eh-upload">{}'
        "</button></div>",
        words,
    )


def _hub_controls(study: LenientStudy, name: str) -> Markup:
    """HTML controls for a Hub dataset: name with a summary, split, and token."""
    known = find_hub_set(*_split_hub_name(name)) if name else None
    control = text_input(
        "hub",
        name,
        mono=True,
        placeholder="owner/name[:config][@revision]",
        slow=True,
        suggestions=[(one.hub, one.summary) for one in hub_sets()],
    )
    hint = known.summary if known else "a Hugging Face dataset, read at a pinned commit"
    splits = [(split, "") for split in (known.splits if known else ())]
    split = text_input(
        str(DATA.split),
        study.raw(*DATA.split) or "",
        mono=True,
        slow=True,
        placeholder=f"{known.split if known else 'test'}[:500]",
        suggestions=splits,
    )
    fetch = form_button("Fetch with this token", {"do": "fetch"}, kind="small", errand=True)
    return (
        form_row("Dataset", control, hint, to="hub")
        + form_row(
            DATA.split.rule.label,
            split,
            "for example, test[:500] reads only the first 500 rows of the split test",
            to=str(DATA.split),
        )
        + Markup("<details class='eh-how' data-keep='hub token'><summary>Private dataset</summary>")
        + form_row(
            "Token",
            key_input(HUB_TOKEN_NAME, "f-token", HUB_URL),
            "your own Hugging Face token; the rows are stored on this server as a new file",
            to="token",
        )
        + fill('<div class="eh-row">{}</div></details>', fetch)
    )


def _split_hub_name(name: str) -> tuple[str, str]:
    repo, _, config = name.partition("@")[0].partition(":")
    return repo, config


# ------------------------------------------------------------------------------------ slice


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
    """Label of the choice without restriction: "all 5", or "all" while the number is unknown."""
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
            "keep only items with this value, written field=value. Fields: id, images, "
            f"reference, {', '.join(fields)}, checks.follows",
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
