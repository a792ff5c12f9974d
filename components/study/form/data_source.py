"""What is judged: where the records come from and which slice of them is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from components.html.format import count, escape
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
    (BUILTIN, "Built-in"), (FILE, "File"), (UPLOAD, "Upload"), (HUB, "Hub"), (RECORDED, "Recorded"),
)  # fmt: skip
UPLOADS_FOLDER: Final = "uploads"
"""The folder beside the store in which uploaded files are kept, by their content."""

HUB_TOKEN_NAME: Final = "@hub"
HUB_URL: Final = "https://huggingface.co"
"""The only host that a typed token is for."""
"""Under which name the browser keeps a token of the Hub."""

_COMMON_FILTERS: Final = (
    ("", "all items"),
    ("checks.follows=true", "reference verified by people"),
    ("checks.follows=true,unchecked", "verified or not checked"),
    ("reference=true", "items with a reference"),
)


def source_kind(source: str) -> str:
    if source in BUILT_IN_SOURCES:
        return BUILTIN
    if source.startswith("hub:"):
        return HUB
    return UPLOAD if source.startswith(f"{UPLOADS_FOLDER}/") else FILE


def original_file_name(source: str) -> str:
    """The name that a file had before it was kept under its content's hash."""
    name = PurePath(source).name
    return name.partition("-")[2] or name if source_kind(source) == UPLOAD else name


def current_source_kind(sheet: LenientStudy, view: FormState) -> str:
    return view.kind or source_kind(sheet.source)


def item_count_text(bench: StudyPreview) -> str:
    if bench.records is None:
        return ""
    return f"{count(len(bench.items))} of {count(len(bench.records.items))} items"


def source_form(bench: StudyPreview, view: FormState) -> str:
    """Name, kind of source, and the source itself."""
    sheet = bench.lenient_study
    kinds = [kind for kind in SOURCE_KINDS if kind[0] != FILE or not is_public()]
    kind = current_source_kind(sheet, view)
    name = form_row(
        "Name", text_input("name", sheet.raw("name") or "", label="Name of the study"), to="name"
    )
    switch = (
        f'<span id="f-kind-l" hidden>Source</span><div class="eh-kinds">'
        f"{segmented_switch('kind', kinds, kind)}</div>"
    )
    return name + switch + _source_control(sheet, kind)


def _source_control(sheet: LenientStudy, kind: str) -> str:
    source = sheet.source if source_kind(sheet.source) == kind else ""
    if kind == BUILTIN:
        names = [(name, "Probe set" if name == "probe" else name) for name in BUILT_IN_SOURCES]
        told = "64 questions, four answers each, the better one known"
        return form_row(
            "Source", select_menu("data.source", names, source or "probe"), told, to="data.source"
        )
    if kind == HUB:
        return _hub_controls(sheet, source.removeprefix("hub:"))
    if kind == FILE:
        told = (
            "CSV, TSV, JSONL, JSON or Parquet, also .gz, or a folder; on the machine of this page"
        )
        box = text_input(
            "data.source", source, mono=True, placeholder="records/items.jsonl", slow=True
        )
        return form_row("Path", box, told, to="data.source")
    if kind == UPLOAD:
        kept = original_file_name(source)
        told = "CSV, TSV, JSONL, JSON or Parquet, also .gz; several files of answers are joined"
        return f'<p class="hint">{escape(f"In use: {kept}. " if kept else "")}{told}</p>'
    return (
        '<p class="hint">Somebody’s finished verdicts (MT-Bench, Arena, AlpacaEval, LLMBar, PRD …) '
        "open as a study at once: no key, no call. Add live judges to it afterwards.</p>"
    )


def _hub_controls(sheet: LenientStudy, name: str) -> str:
    """A dataset by its name, with what is known of it; its split says how much of it is read."""
    known = find_hub_set(*_split_hub_name(name)) if name else None
    control = text_input(
        "hub",
        name,
        mono=True,
        placeholder="owner/name[:config]@revision",
        slow=True,
        suggestions=[(one.hub, one.summary) for one in HUB_SETS],
    )
    told = known.summary if known else "a dataset of the Hugging Face Hub, read at a pinned commit"
    splits = [(split, "") for split in (known.splits if known else ())]
    split = text_input("data.split", sheet.raw("data", "split") or "", mono=True, slow=True,
                 placeholder=f"{known.split if known else 'test'}[:500]",
                 suggestions=splits)  # fmt: skip
    fetch = form_button("Fetch with this token", {"do": "fetch"}, kind="small", errand=True)
    return (
        form_row("Dataset", control, told, to="hub")
        + form_row("Split", split, "test[:500] reads 500 rows and no more", to="data.split")
        + "<details class='eh-how' data-keep='hub token'><summary>A private dataset</summary>"
        + form_row("Token", key_input(HUB_TOKEN_NAME, "f-token", HUB_URL),
              "your own; its rows are kept as a new file here", to="token")
        + f'<div class="eh-row">{fetch}</div></details>'
    )  # fmt: skip


def _split_hub_name(name: str) -> tuple[str, str]:
    repo, _, config = name.partition("@")[0].partition(":")
    return repo, config


# -------------------------------------------------------------------------------- the slice


def slice_form(bench: StudyPreview, view: FormState) -> str:
    """Who plays, on which items; filters first, then a seeded draw."""
    sheet, items = bench.lenient_study, bench.records.items if bench.records else ()
    categories = Counter(item.category for item in items if item.category)
    names = [(name, f"{name} ({count(n)})") for name, n in sorted(categories.items())]
    drawn = {item.category for item in bench.items if item.category}
    chosen = [str(name) for name in as_list(sheet.value("data", "categories"))]
    players = [(name, name) for name in bench.contestants]
    if any(item.reference.strip() for item in items):
        players.append((REFERENCE, f"{REFERENCE}, which then plays too"))
    playing = [str(name) for name in as_list(sheet.raw("contestants"))]
    told = f"{count(len(drawn))} of {count(len(names))} categories in this draw" if names else ""
    parts = [
        form_row(
            "Keep",
            select_menu("where", _filter_options(sheet), _filter_text(sheet)),
            sheet.hint(_filter_hint(bench), "data", "where"),
            to="where",
        ),
        form_row(
            "Categories",
            multi_select("data.categories", names, chosen, label="Categories"),
            sheet.hint("", "data", "categories"),
            to="data.categories",
            group=True,
        ),
        form_row(
            "Contestants",
            multi_select(
                "contestants",
                players,
                playing,
                label="Contestants",
                nothing=_all_label(len(bench.contestants)),
            ),
            to="contestants",
            group=True,
        ),
        form_row(
            "Items",
            integer_input("data.count", sheet.text_value("data", "count"), label="Items"),
            told if sheet.value("data", "count") else "0: all of them",
            to="data.count",
        ),
        form_row(
            "Seed",
            integer_input("data.seed", sheet.text_value("data", "seed"), label="Seed"),
            to="data.seed",
        ),
    ]
    return "".join(parts) + _more_settings(sheet, items, current_source_kind(sheet, view))


def _all_label(many: int) -> str:
    """ "all 5"; of a file that is not read yet nobody knows how many."""
    return f"all {count(many)}" if many else "all"


def _filter_options(sheet: LenientStudy) -> list[tuple[str, str]]:
    value = _filter_text(sheet)
    known = [choice for choice, _ in _COMMON_FILTERS]
    return [*_COMMON_FILTERS, *([] if value in known else [(value, value.replace("=", " is "))])]


def _filter_text(sheet: LenientStudy) -> str:
    """The filters of a file in one line: field=value,value; field=value."""
    where = sheet.value("data", "where")
    if not isinstance(where, Mapping):
        return ""
    return "; ".join(
        f"{k}={','.join(_yaml_word(v) for v in as_list(vs))}" for k, vs in where.items()
    )


def _yaml_word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filter_hint(bench: StudyPreview) -> str:
    if bench.records is None or not _filter_text(bench.lenient_study):
        return ""
    return "filters come first, then the draw"


def _more_settings(sheet: LenientStudy, items: Any, kind: str) -> str:
    per = sheet.raw("data", "per")
    strata = ", ".join(f"{k}: {v}" for k, v in per.items()) if isinstance(per, Mapping) else ""
    metas = sorted({f"meta.{key}" for item in items[:200] for key in item.meta})
    fields = ["category", *metas[:12]]
    formats = [
        ("auto", "found by itself"),
        *((f.name, f.description) for f in SOURCE_FORMATS.values()),
    ]
    parts = [
        form_row(
            "Format",
            select_menu("data.format", formats, sheet.text_value("data", "format")),
            to="data.format",
        ),
        form_row(
            "Split",
            text_input("data.split", sheet.raw("data", "split") or "", placeholder="test"),
            "where the source has splits",
            to="data.split",
        )
        if kind != HUB
        else "",
        form_row(
            "Options",
            integer_input("data.options", sheet.text_value("data", "options"), high=64),
            sheet.hint("only items with exactly so many answers; 0: any", "data", "options"),
            to="data.options",
        ),
        form_row(
            "Filter",
            text_input(
                "filter", _filter_text(sheet), mono=True, placeholder="category=writing,math"
            ),
            f"field=value; fields: id, images, reference, {', '.join(fields)}, checks.follows",
            to="filter",
        ),
        form_row(
            "Per",
            text_input("data.per", strata, mono=True, placeholder="category: 2"),
            "so many of each: a stratified draw",
            to="data.per",
        ),
        _answer_files(sheet),
    ]
    return (
        "<details class='eh-how' data-keep='data more'><summary>Format, split, filters, "
        f"answer files</summary>{''.join(parts)}</details>"
    )


def _answer_files(sheet: LenientStudy) -> str:
    """Answers of further models, each in a file of its own."""
    files = sheet.raw("data", "files")
    known: Mapping[str, Any] = files if isinstance(files, Mapping) else {}
    rows = "".join(
        form_row(
            str(name),
            text_input(f"files.{name}", value, mono=True, label=f"answers of {name}"),
            to=f"files.{name}",
        )
        for name, value in known.items()
    )
    join = ", ".join(str(part) for part in as_list(sheet.raw("data", "join")))
    add = text_input("files+", "", mono=True, placeholder="model-x = answers.csv")
    return (
        form_row("Answers of", add, "one more model’s file: its name, then the file", to="files+")
        + rows
        + form_row(
            "Joined on",
            text_input("data.join", join, mono=True, placeholder="image, instruction"),
            "the columns that name a question; empty: found by itself",
            to="data.join",
        )
    )
