"""Studies begun in the form that have no calls yet, saved so that the header can name them.

A study without calls has a study file and nothing else: no items, no plan. Run saves its plan.
"""

from dataclasses import replace

from components.study.file.yaml_edit import parse_yaml, put_value
from components.study.plan import demo_studies
from judges.engine.engine import Engine
from judges.planning.plan import find_free_study_name
from studies.errors import EvenhandError, StudyError
from studies.spec.keys import STUDY
from studies.spec.study import parse_study
from studies.store.queries.alignment_queries import derived_studies
from studies.store.store import Store

MAX_NAME = 120
"""Maximum number of characters of a study's name on the page."""


def save_new_study(text: str, store: Store, name: str = "") -> tuple[str, str]:
    """Save a study file as a study without calls. Its name is `name`, else that in the file, with a
    number if the name is taken. Return (name in the store, study file with this name); if the file
    is not valid, nothing is saved and the name is ""."""
    try:
        wanted = name or str(parse_yaml(text).get(STUDY.name.name) or "My study")
        free = find_free_study_name(store, store.name_to_save_under(wanted))
        made = put_value(text, STUDY.name.path, free)
        store.save_study(parse_study(made, "study.yaml", store.folder), (), ())
    except (EvenhandError, ValueError):
        return "", text
    return free, made


def is_without_calls(store: Store, name: str) -> bool:
    """Whether the store has a study of this name with neither calls nor recorded verdicts."""
    line = next((line for line in store.studies() if line.name == name), None)
    return line is not None and not line.recorded and not line.planned


def save_study_if_without_calls(store: Store, name: str, text: str) -> None:
    """Save what was changed in the form, if the study has no calls yet, the visitor owns it, and
    the file is valid; otherwise do nothing. Changes of a study with calls are saved when Run is
    pressed."""
    if not name or not is_without_calls(store, name) or not store.owns(name):
        return
    try:
        study = parse_study(text, "study.yaml", store.folder)
    except EvenhandError:
        return  # the form shows the error; the last valid file stays
    store.save_study(replace(study, name=name), (), ())


def is_renamable(store: Store, engine: Engine, name: str) -> bool:
    """Whether the study is renamed when its name is changed in the form; if not, Run saves a copy
    with the new name."""
    line = next((line for line in store.studies() if line.name == name), None)
    runs = map(engine.latest_run, (name, *derived_studies(store, name)))
    return (
        line is not None
        and not line.recorded
        and store.owns(name)
        and name not in demo_studies.DEMO_STUDIES
        and all(run is None or run.finished.is_set() for run in runs)
    )


def rename_from_form(store: Store, name: str, wanted: str) -> str:
    """Rename a study to `wanted`; return the new name, which has a suffix for the visitor on a
    public page. A name that is empty, too long, taken or of the demo raises StudyError."""
    other = " ".join(wanted.split())
    if not other or len(other) > MAX_NAME:
        raise StudyError(f"A name has 1 to {MAX_NAME} characters.")
    if other in demo_studies.DEMO_STUDIES:
        raise StudyError("The recorded demo has this name; choose another name.")
    other = store.name_to_save_under(other)
    if other != name:
        store.rename_study(name, other)
    return other
