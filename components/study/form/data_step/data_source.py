"""The source of the records in the Data step of the form: built-in, file, upload or Hub dataset."""

from __future__ import annotations

from typing import Final

from components.html.format import count, file_size
from components.html.markup import Markup, fill
from components.study.file.controls import (
    form_button,
    form_row,
    key_input,
    segmented_switch,
    select_menu,
    text_input,
)
from components.study.file.lenient_study import FormState, LenientStudy
from components.study.form.data_step.mapping_preview import source_table
from components.study.plan.public_checks import is_public
from components.study.plan.study_preview import StudyPreview, read_data_spec
from studies.files.upload_names import UPLOADS_FOLDER, original_name
from studies.sources.catalogue import find_hub_set, hub_sets
from studies.sources.load import BUILT_IN_SOURCES, source_path
from studies.spec.keys import DATA

BUILTIN, FILE, UPLOAD, HUB, RECORDED = "built-in", "file", "upload", "hub", "recorded"
SOURCE_KINDS: Final = (
    (BUILTIN, "Built-in"),
    (FILE, "File"),
    (UPLOAD, "Upload"),
    (HUB, "Hub"),
    (RECORDED, "Recorded"),
)
HUB_TOKEN_NAME: Final = "@hub"
"""Name under which the browser stores a Hub token."""
HUB_URL: Final = "https://huggingface.co"
"""The only host to which an entered token is sent."""


def source_kind(source: str) -> str:
    if source in BUILT_IN_SOURCES:
        return BUILTIN
    if source.startswith("hub:"):
        return HUB
    return UPLOAD if source.startswith(f"{UPLOADS_FOLDER}/") else FILE


def current_source_kind(study: LenientStudy, view: FormState) -> str:
    return view.kind or source_kind(study.source)


def source_card(preview: StudyPreview, view: FormState) -> Markup:
    """HTML of the data source with its size and a button to choose a file; in an expandable part,
    the controls to choose another kind of source."""
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
    """Text on the size of a source: rows, columns and bytes of its table; questions and models."""
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
            "your own Hugging Face token; the rows are stored as a new file on this server",
            to="token",
        )
        + fill('<div class="eh-row">{}</div></details>', fetch)
    )


def _split_hub_name(name: str) -> tuple[str, str]:
    repo, _, config = name.partition("@")[0].partition(":")
    return repo, config
