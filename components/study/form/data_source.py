"""Data step of the form: source of the records, and the slice to be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from components.html.format import count
from components.html.markup import Markup, fill, join
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
from components.study.plan.public_checks import is_public
from components.study.plan.study_preview import StudyPreview
from studies.domain import REFERENCE
from studies.sources.catalogue import HUB_SETS, find_hub_set
from studies.sources.load import BUILT_IN_SOURCES
from studies.sources.registry import SOURCE_FORMATS

BUILTIN, FILE, UPLOAD, HUB, RECORDED = "built-in", "file", "upload", "hub", "recorded"
SOURCE_KINDS: Final = (
    (BUILTIN, "Built-in"),
    (FILE, "File"),
    (UPLOAD, "Upload"),
    (HUB, "Hub"),
    (RECORDED, "Recorded"),
)
UPLOADS_FOLDER: Final = "uploads"
"""Folder beside the store for uploaded files, named by the hash of their content."""

HUB_TOKEN_NAME: Final = "@hub"
"""Name under which the browser stores a Hub token."""
HUB_URL: Final = "https://huggingface.co"
"""The only host to which an entered token is sent."""

_COMMON_FILTERS: Final = (
    ("", "all items"),
    ("checks.follows=true", "reference verified by people"),
    ("checks.follows=true,unchecked", "reference verified or not checked"),
    ("reference=true", "items with a reference"),
)


def source_kind(source: str) -> str:
    if source in BUILT_IN_SOURCES:
        return BUILTIN
    if source.startswith("hub:"):
        return HUB
    return UPLOAD if source.startswith(f"{UPLOADS_FOLDER}/") else FILE


def original_file_name(source: str) -> str:
    """File name of a source; for an upload, the name before it was stored under its hash."""
    name = PurePath(source).name
    return name.partition("-")[2] or name if source_kind(source) == UPLOAD else name


def current_source_kind(study: LenientStudy, view: FormState) -> str:
    return view.kind or source_kind(study.source)


def item_count_text(preview: StudyPreview) -> str:
    if preview.records is None:
        return ""
    return f"{count(len(preview.items))} of {count(len(preview.records.items))} items"


def source_form(preview: StudyPreview, view: FormState) -> Markup:
    """Name of the study, kind of source, and the source."""
    study = preview.lenient_study
    kinds = [kind for kind in SOURCE_KINDS if kind[0] != FILE or not is_public()]
    kind = current_source_kind(study, view)
    name = form_row(
        "Name", text_input("name", study.raw("name") or "", label="Name of the study"), to="name"
    )
    switch = fill(
        '<span id="f-kind-l" hidden>Source</span><div class="eh-kinds">{}</div>',
        segmented_switch("kind", kinds, kind),
    )
    return name + switch + _source_control(study, kind)


def _source_control(study: LenientStudy, kind: str) -> Markup:
    source = study.source if source_kind(study.source) == kind else ""
    if kind == BUILTIN:
        names = [(name, "Probe set" if name == "probe" else name) for name in BUILT_IN_SOURCES]
        hint = "64 questions with four answers each; the better answers are known"
        return form_row(
            "Source", select_menu("data.source", names, source or "probe"), hint, to="data.source"
        )
    if kind == HUB:
        return _hub_controls(study, source.removeprefix("hub:"))
    if kind == FILE:
        hint = "CSV, TSV, JSONL, JSON or Parquet, also .gz, or a folder; on the server of this page"
        box = text_input(
            "data.source", source, mono=True, placeholder="records/items.jsonl", slow=True
        )
        return form_row("Path", box, hint, to="data.source")
    if kind == UPLOAD:
        name = original_file_name(source)
        hint = "CSV, TSV, JSONL, JSON or Parquet, also .gz; several answer files are joined"
        return fill('<p class="hint">{}{}</p>', f"In use: {name}. " if name else "", hint)
    return Markup(
        '<p class="hint">Published verdicts (MT-Bench, Arena, AlpacaEval, LLMBar, PRD …) '
        "open as a study without a key or a call. You can add live judges afterwards.</p>"
    )


def _hub_controls(study: LenientStudy, name: str) -> Markup:
    """Controls for a Hub dataset: name with a summary, split, and token."""
    known = find_hub_set(*_split_hub_name(name)) if name else None
    control = text_input(
        "hub",
        name,
        mono=True,
        placeholder="owner/name[:config][@revision]",
        slow=True,
        suggestions=[(one.hub, one.summary) for one in HUB_SETS],
    )
    hint = known.summary if known else "a Hugging Face dataset, read at a pinned commit"
    splits = [(split, "") for split in (known.splits if known else ())]
    split = text_input(
        "data.split",
        study.raw("data", "split") or "",
        mono=True,
        slow=True,
        placeholder=f"{known.split if known else 'test'}[:500]",
        suggestions=splits,
    )
    fetch = form_button("Fetch with this token", {"do": "fetch"}, kind="small", errand=True)
    return (
        form_row("Dataset", control, hint, to="hub")
        + form_row("Split", split, "test[:500] reads the first 500 rows only", to="data.split")
        + Markup("<details class='eh-how' data-keep='hub token'><summary>Private dataset</summary>")
        + form_row(
            "Token",
            key_input(HUB_TOKEN_NAME, "f-token", HUB_URL),
            "your own token; the rows are stored here as a new file",
            to="token",
        )
        + fill('<div class="eh-row">{}</div></details>', fetch)
    )


def _split_hub_name(name: str) -> tuple[str, str]:
    repo, _, config = name.partition("@")[0].partition(":")
    return repo, config


# ------------------------------------------------------------------------------------ slice


def slice_form(preview: StudyPreview, view: FormState) -> Markup:
    """Controls of the slice: filters, models, then a seeded sample of items."""
    study, items = preview.lenient_study, preview.records.items if preview.records else ()
    categories = Counter(item.category for item in items if item.category)
    names = [(name, f"{name} ({count(n)})") for name, n in sorted(categories.items())]
    drawn = {item.category for item in preview.items if item.category}
    chosen = [str(name) for name in as_list(study.value("data", "categories"))]
    players = [(name, name) for name in preview.contestants]
    if any(item.reference.strip() for item in items):
        players.append((REFERENCE, f"{REFERENCE}, compared as a model"))
    playing = [str(name) for name in as_list(study.raw("contestants"))]
    hint = f"{count(len(drawn))} of {count(len(names))} categories in this sample" if names else ""
    parts = [
        form_row(
            "Filter",
            select_menu("where", _filter_options(study), _filter_text(study)),
            study.hint(_filter_hint(preview), "data", "where"),
            to="where",
        ),
        form_row(
            "Categories",
            multi_select("data.categories", names, chosen, label="Categories"),
            study.hint("", "data", "categories"),
            to="data.categories",
            group=True,
        ),
        form_row(
            "Models",
            multi_select(
                "contestants",
                players,
                playing,
                label="Models",
                nothing=_all_label(len(preview.contestants)),
            ),
            to="contestants",
            group=True,
        ),
        form_row(
            "Items",
            integer_input("data.count", study.text_value("data", "count"), label="Items"),
            hint if study.value("data", "count") else "0: all items",
            to="data.count",
        ),
        form_row(
            "Seed",
            integer_input("data.seed", study.text_value("data", "seed"), label="Seed"),
            to="data.seed",
        ),
    ]
    return join(parts) + _more_settings(study, items, current_source_kind(study, view))


def _all_label(many: int) -> str:
    """Label for no restriction: "all 5", or "all" while the number is unknown."""
    return f"all {count(many)}" if many else "all"


def _filter_options(study: LenientStudy) -> list[tuple[str, str]]:
    value = _filter_text(study)
    known = [choice for choice, _ in _COMMON_FILTERS]
    return [*_COMMON_FILTERS, *([] if value in known else [(value, value.replace("=", " is "))])]


def _filter_text(study: LenientStudy) -> str:
    """The filters of a study in one line: field=value,value; field=value."""
    where = study.value("data", "where")
    if not isinstance(where, Mapping):
        return ""
    return "; ".join(
        f"{k}={','.join(_yaml_word(v) for v in as_list(vs))}" for k, vs in where.items()
    )


def _yaml_word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filter_hint(preview: StudyPreview) -> str:
    if preview.records is None or not _filter_text(preview.lenient_study):
        return ""
    return "filters apply before sampling"


def _more_settings(study: LenientStudy, items: Any, kind: str) -> Markup:
    per = study.raw("data", "per")
    strata = ", ".join(f"{k}: {v}" for k, v in per.items()) if isinstance(per, Mapping) else ""
    metas = sorted({f"meta.{key}" for item in items[:200] for key in item.meta})
    fields = ["category", *metas[:12]]
    formats = [
        ("auto", "detect automatically"),
        *((f.name, f.description) for f in SOURCE_FORMATS.values()),
    ]
    parts = [
        form_row(
            "Format",
            select_menu("data.format", formats, study.text_value("data", "format")),
            to="data.format",
        ),
        form_row(
            "Split",
            text_input("data.split", study.raw("data", "split") or "", placeholder="test"),
            "if the source has splits",
            to="data.split",
        )
        if kind != HUB
        else "",
        form_row(
            "Options",
            integer_input("data.options", study.text_value("data", "options"), high=64),
            study.hint(
                "only items with exactly this many answers; 0: any number", "data", "options"
            ),
            to="data.options",
        ),
        form_row(
            "Custom filter",
            text_input(
                "filter", _filter_text(study), mono=True, placeholder="category=writing,math"
            ),
            f"field=value; fields: id, images, reference, {', '.join(fields)}, checks.follows",
            to="filter",
        ),
        form_row(
            "Items per",
            text_input("data.per", strata, mono=True, placeholder="category: 2"),
            "this many items per value: a stratified sample",
            to="data.per",
        ),
        _answer_files(study),
    ]
    return fill(
        "<details class='eh-how' data-keep='data more'><summary>Format, split, filters, "
        "answer files</summary>{}</details>",
        join(parts),
    )


def _answer_files(study: LenientStudy) -> Markup:
    """Controls for answers of further models, one file per model."""
    files = study.raw("data", "files")
    known: Mapping[str, Any] = files if isinstance(files, Mapping) else {}
    rows = join(
        form_row(
            str(name),
            text_input(f"files.{name}", value, mono=True, label=f"answers of {name}"),
            to=f"files.{name}",
        )
        for name, value in known.items()
    )
    columns = ", ".join(str(part) for part in as_list(study.raw("data", "join")))
    add = text_input("files+", "", mono=True, placeholder="model-x = answers.csv")
    return (
        form_row("Answers of", add, "add a model: its name, then its file", to="files+")
        + rows
        + form_row(
            "Joined on",
            text_input("data.join", columns, mono=True, placeholder="image, instruction"),
            "columns that identify a question; empty: detected automatically",
            to="data.join",
        )
    )
