"""The source of the records in the Data step of the form: built-in, file, upload, Hub dataset or
recorded verdicts."""

from typing import Final

from components.html.format import count, file_size
from components.html.markup import Markup
from components.html.templates import macros
from components.study.file.lenient_study import FormState, LenientStudy
from components.study.form.data_step.table_columns import source_table
from components.study.plan.study_preview import StudyPreview, read_data_spec
from studies.files.upload_names import UPLOADS_FOLDER, original_name
from studies.settings import is_public
from studies.sources.catalogue import find_hub_set, hub_sets
from studies.sources.load import BUILT_IN_SOURCES, source_path
from studies.spec.keys import DATA

html: Final = macros("study/form/data_step/data_source.html")
BUILTIN, FILE, UPLOAD, HUB, RECORDED = "built-in", "file", "upload", "hub", "recorded"
SOURCE_KINDS: Final = (
    (BUILTIN, "Built-in"), (FILE, "File"), (UPLOAD, "Upload"), (HUB, "Hub"), (RECORDED, "Recorded"),
)  # fmt: skip
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


def current_source_kind(study: LenientStudy, state: FormState) -> str:
    return state.kind or source_kind(study.source)


def source_card(preview: StudyPreview, state: FormState) -> Markup:
    """HTML of the data source with its size and a button to choose a file; in an expandable part,
    the controls to choose another kind of source."""
    study = preview.lenient_study
    kind, own = current_source_kind(study, state), source_kind(study.source)
    hub = study.source.removeprefix("hub:")
    title = "Probe set" if study.source == "probe" else original_name(study.source)
    source = study.source if own == kind else ""
    repo, _, config = source.removeprefix("hub:").partition("@")[0].partition(":")
    known = find_hub_set(repo, config) if kind == HUB and repo else None
    return html.source_card(
        hub if own == HUB else title,
        _source_size(preview),
        replaces=own == UPLOAD,
        kinds=[one for one in SOURCE_KINDS if one[0] != FILE or not is_public()],
        kind=kind,
        source=source,
        file=original_name(source),
        built_in=[(name, "Probe set" if name == "probe" else name) for name in BUILT_IN_SOURCES],
        split=study.value_in_file(*DATA.split) or "",
        splits=[(split, "") for split in (known.splits if known else ())],
        known=known,
        hub_sets=[(one.hub, one.summary) for one in hub_sets()] if kind == HUB else (),
        token=(HUB_TOKEN_NAME, HUB_URL),
    )


def _source_size(preview: StudyPreview) -> str:
    """Text on the size of a source: rows, columns and bytes of its table; questions and models. ""
    if nothing could be read."""
    study, parts = preview.lenient_study, []
    if (table := source_table(study)) is not None:
        size = source_path(read_data_spec(study), study.folder).stat().st_size
        rows, columns = count(len(table.rows), "row"), count(len(table.columns), "column")
        parts.append(f"{rows}, {columns}, {file_size(size)}")
    if preview.records is not None:
        items, models = len(preview.records.items), len(preview.contestants)
        parts.append(f"{count(items, 'question')}, answers of {count(models, 'model')}")
    return " · ".join(parts)
