"""The list of stored studies on the Home tab: their state, actions on them, and example studies."""

import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from components.html.format import count, share
from components.html.markup import EMPTY, Markup
from components.html.pieces import empty_state
from components.html.templates import macros
from components.study.plan import demo_studies, draft_studies, example_files
from judges.engine.engine import Engine
from studies.domain import HUMAN_PREFIX
from studies.errors import AccessDenied, EvenhandError, StudyError
from studies.store.queries.alignment_queries import derived_studies
from studies.store.store import Store, StudySummary

html: Final = macros("home/home.html")
Question = Literal["", "rename", "delete"]
MAX_ROWS: Final = 8
"""Number of studies shown in the list until "All ... studies" is pressed."""
SEARCH_FIELD: Final = html.search_field()
"""Search field of the list; assets/page.js hides the rows that do not match."""
EXAMPLES: Final = (
    (demo_studies.LARGER_STUDY, "A recorded 1.5B judge", "4,608 real calls: six prompts, eight "
     "categories", "start here"),
    (demo_studies.PAIRS_STUDY, "A judge that follows the position", "1,104 real calls of a 135M "
     "judge, both orders", ""),
    (demo_studies.SINGLE_STUDY, "A pass-fail judge", "2,048 real calls on single answers, with "
     "labels", ""),
    (demo_studies.TWINS_STUDY, "What else moves a judge", "3,406 real calls: 16 changes that "
     "should not matter", ""),
    (demo_studies.OPTIONS_STUDY, "Four answers at once", "2,048 real calls: all positions, four "
     "rotations", ""),
)  # fmt: skip
"""Examples: recorded study, title, one line of text, and a tag; each has a drawing in home.html."""


Dot = Literal["ready", "running", "unfinished", "done"]
"""States of a study that a coloured dot shows; the text beside the dot names the state."""


@dataclass(frozen=True, slots=True)
class StudyState:
    """State of a study in the list: its text, the tab that a click opens, the colour of its dot."""

    text: str
    tab: str
    dot: Dot


def study_state(line: StudySummary, running: Iterable[str], run_failed: bool = False) -> StudyState:
    """State of a study. `running`: names of the studies with an active run; `run_failed`: whether
    its last run failed."""
    if line.name in running:
        done = share(line.judged / max(1, line.planned), 0)
        return StudyState(f"Running, {done}", "run", "running")
    if line.recorded:
        return StudyState("Recorded", "results", "done")
    if not line.planned:
        return StudyState("Not run yet", "study", "ready")
    if not line.judged and run_failed:
        return StudyState(f"Failed: {count(line.planned, 'call')} left", "run", "unfinished")
    if not line.judged and not line.failed:
        return StudyState(f"Ready: {count(line.planned, 'call')}", "study", "ready")
    if line.judged < line.planned:
        left = count(line.planned - line.judged, "call")
        return StudyState(f"{left} left", "run", "unfinished")
    told = f", {count(line.unusable)} unusable" if line.unusable else ""
    return StudyState(f"Done{told}", "results", "done")


def studies_html(
    store: Store, running: Sequence[str], question: Question = "", asked: str = ""
) -> Markup:
    """HTML list of the studies, or a note if there are none; `running`: names of the studies with
    an active run. The row of the study `asked` contains a field for its new name if `question` is
    "rename", and the question whether to delete it if `question` is "delete"."""
    lines = sorted(store.studies(), key=lambda line: is_recorded_demo(line.name))  # the demo last
    if not lines:
        return empty_state("No studies yet.", "Studies that you run or open are listed here.")
    last_runs = {run.study: run.state for run in reversed(store.runs())}  # newest first
    rows = [
        {
            "line": line,
            "state": study_state(line, running, last_runs.get(line.name) == "failed"),
            "asks": question if line.name == asked else "",
            "calls": _calls_and_votes_text(store, line),
            "judges": _judges_text(store, line.name),
            "day": day_text(line.updated, time.time()),
            "own": store.owns(line.name) and not is_recorded_demo(line.name),
        }
        for line in lines
    ]
    return html.studies(rows, MAX_ROWS, draft_studies.MAX_NAME)


def _calls_and_votes_text(store: Store, line: StudySummary) -> str:
    """Number of calls and of people's votes, such as "1,104 + 3 votes". For an unfinished study:
    "12 of 80", the numbers of calls made and planned."""
    counts = store.ask_counts_by_rater_and_status(line.name)
    votes = sum(n for judge, *_, n in counts if judge.startswith(HUMAN_PREFIX))
    also = f" + {count(votes, 'vote')}" if votes else ""
    if line.recorded or line.judged == line.planned:
        return f"{count(line.planned - votes if line.recorded else line.planned)}{also}"
    return f"{count(line.judged)} of {count(line.planned)}"


def _judges_text(store: Store, name: str) -> str:
    """Name of the only judge, or the number of judges; empty if there is none or the study file
    cannot be read."""
    judges = {
        judge
        for judge, *_ in store.ask_counts_by_rater_and_status(name)
        if not judge.startswith(HUMAN_PREFIX)
    }
    if not judges:
        with contextlib.suppress(EvenhandError):  # opening the study reports the error
            judges = {judge.name for judge in store.study(name).judges}
    return next(iter(judges)) if len(judges) == 1 else count(len(judges), "judge") if judges else ""


def is_recorded_demo(name: str) -> bool:
    return name in demo_studies.DEMO_STUDIES


def day_text(then: float, now: float) -> str:
    """A day in words relative to `now`: "today, 14:20", "yesterday", "9 Nov", or with the year."""
    day, today = time.localtime(then), time.localtime(now)
    if day[:3] == today[:3]:
        return time.strftime("today, %H:%M", day)
    if day[:3] == time.localtime(now - 86_400)[:3]:
        return "yesterday"
    text = time.strftime("%d %b", day).lstrip("0")
    return text if day[0] == today[0] else f"{text} {day[0]}"


def examples_html(store: Store, claims: Markup = EMPTY) -> Markup:
    """HTML of the recorded examples as cards; a link unfolds the example files and
    `claims`, the HTML of the papers' claims."""
    present = {line.name for line in store.studies()}
    titles = [(name, example_files.example_title(name)) for name in example_files.example_names()]
    return html.examples([one for one in EXAMPLES if one[0] in present], titles, claims)


# -------------------------------------------------------------------------------- actions


def running_study_names(store: Store, engine: Engine) -> list[str]:
    """Names of the studies with a run that has not ended."""
    runs = {line.name: engine.latest_run(line.name) for line in store.studies()}
    return [name for name, run in runs.items() if run is not None and not run.finished.is_set()]


def rename_study(store: Store, engine: Engine, name: str, wanted: str) -> str:
    """Rename a study to the typed name `wanted`. Return the new name: its spaces are tidied, and on
    a public page it gets a suffix for its owner. Raise an error if the name is too long, empty or
    taken, or if the study is of another visitor, part of the demo or running."""
    other = " ".join(wanted.split())
    if other == name:
        return name
    for one in (name, *derived_studies(store, name)):
        _require_changeable_study(store, engine, one)
    if not other or len(other) > draft_studies.MAX_NAME:
        raise StudyError(f"A name has 1 to {draft_studies.MAX_NAME} characters.")
    other = store.name_to_save_under(other)
    if other != name:
        store.rename_study(name, other)
    return other


def delete_study(store: Store, engine: Engine, name: str) -> int:
    """Delete a study and the replies that only it uses; return the number of deleted replies. Raise
    an error if the study is of another visitor, part of the demo or running."""
    _require_changeable_study(store, engine, name)
    return store.delete_study(name)


def _require_changeable_study(store: Store, engine: Engine, name: str) -> None:
    if not store.owns(name):
        raise AccessDenied(f"{name!r} belongs to another visitor.")
    if is_recorded_demo(name):
        raise StudyError("The recorded demo cannot be changed.")
    if name in running_study_names(store, engine):
        raise StudyError(f"{name!r} is running. Stop its run first.")
