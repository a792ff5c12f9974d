"""Run a study with any judges; a run continues where the previous run stopped, and shows its
progress in terminal or notebook."""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from evenhand.extras import report_missing_extra
from evenhand.running.function_judge import FunctionJudge, JudgeLike, collect_judges
from evenhand.study_table import JudgedStudy, read
from studies.domain import Item, count_calls_left
from studies.errors import StudyError
from studies.files.items import dump_item

if TYPE_CHECKING:
    from judges.engine.engine import Engine
    from judges.engine.run import Run
    from studies.spec.study import Study

DEFAULT_PROMPTS: Final = ("brief-letters",)


@report_missing_extra
def run(
    study: JudgedStudy | str | Path,
    judges: Iterable[JudgeLike] = (),
    *,
    prompts: Sequence[str] = DEFAULT_PROMPTS,
    store: str | Path | None = None,
    name: str = "",
    progress: bool = True,
) -> JudgedStudy:
    """Make the calls of a study that have no reply yet, and return the study with all its verdicts.
    If calls got no reply, a warning states how many.

    `study` is a study file, or a study whose questions and answers are known (StudyError for one
    without). `judges` are functions or dictionaries with the keys of a study file; by default,
    the judges of the file. `prompts` are used only if there is no study file. Replies are kept
    in `store` (default: a file beside the study file; without one, a new temporary file), so
    that a second run makes only the calls that are missing. `name` replaces the name of the
    study; `progress` shows a progress bar."""
    from judges.planning.plan import make_plan, save_plan
    from studies.store.store import Store

    specs, functions = collect_judges(judges)
    path = _given_or_new_store_path(study, store)
    spec = _load_or_build_study(study, path, prompts, name)
    plan = make_plan(replace(spec, judges=specs) if specs else spec)
    kept = Store(path)
    try:
        save_plan(plan, kept)
        engine = _build_engine(functions)
        try:
            _follow_run(engine.start(plan, kept), progress)
        finally:
            engine.close()
    finally:
        kept.close()
    return read(path, plan.study.name)


def _follow_run(started: Run, progress: bool) -> None:
    """Wait until a run ends, with a progress bar if `progress`; warn if calls are without reply."""
    from judges.operations.terminal_progress import supervise_run

    out = progress_stream() if progress else cast(TextIO, _SilentStream())
    snapshot = supervise_run(started, out)
    left = count_calls_left(snapshot.counts)
    if left:
        why = "; ".join(f"{f.judge}: {f.reason}: {f.example}" for f in snapshot.failures[:3])
        warnings.warn(
            f"{left:,} calls have no reply ({snapshot.reason or why or snapshot.state}); "
            "run the study again to make them",
            stacklevel=5,
        )


def _build_engine(functions: dict[str, FunctionJudge]) -> Engine:
    """Return an engine that can also call judges that are functions."""
    from evenhand.running.function_engine import FunctionEngine

    return FunctionEngine(functions)


def _given_or_new_store_path(study: JudgedStudy | str | Path, store: str | Path | None) -> Path:
    if store is not None:
        return Path(store).expanduser()
    if isinstance(study, JudgedStudy):
        return Path(tempfile.mkdtemp(prefix="evenhand-")) / "evenhand.db"
    return Path(study).expanduser().with_suffix(".db")


def _load_or_build_study(
    study: JudgedStudy | str | Path, store: Path, prompts: Sequence[str], name: str
) -> Study:
    """Return the study to run: from the study file, if `study` is a path. Otherwise write the
    study's items to a new file beside `store` and return a study of this file with `prompts`;
    StudyError if the items have no answers. If `name` is not empty, it replaces the name of the
    study."""
    from studies.spec.study import DataSpec, Study, load_study

    if not isinstance(study, JudgedStudy):
        found = load_study(Path(study).expanduser())
        return replace(found, name=name) if name else found
    items = study.items or _stored_items(study)
    if not any(item.responses for item in items):
        raise StudyError(
            f"{study.name}: its questions and answers are not known; name their columns: "
            "study(table, question=…, first_answer=…, second_answer=…)"
        )
    store.parent.mkdir(parents=True, exist_ok=True)
    file = store.with_name(f"{store.stem}-items.jsonl")
    lines = (json.dumps(dump_item(item), ensure_ascii=False) for item in items)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = DataSpec(str(file.resolve()))
    made = Study(name or study.name, data, prompts=tuple(prompts), folder=store.parent)
    # The models that were judged, if the items come from a store: it may have answers of others.
    judged = {str(one) for column in ("first", "second") for one in study.frame[column].unique()}
    known = dict.fromkeys(one for item in items for one in item.responses if one in judged)
    return made if study.items else replace(made, contestants=tuple(known))


def _stored_items(study: JudgedStudy) -> tuple[Item, ...]:
    """Items of a study that was read from a store; () for any other study."""
    from studies.store.store import Store

    if study.store is None:
        return ()
    with closing(Store(study.store)) as kept:
        return tuple(kept.items(study.name).values())


# ------------------------------------------------------------------------------ progress


def progress_stream() -> TextIO:
    """Return the stream for a progress bar: the output of a notebook cell, else the terminal."""
    if (display := _notebook_display()) is not None:
        return cast(TextIO, NotebookProgress(display))
    return sys.stderr


def _notebook_display() -> Any:
    """Return the module IPython.display inside a notebook; None outside."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython import display  # type: ignore[import-not-found,unused-ignore]

    return display


class NotebookProgress:
    """A stream whose latest line replaces the line before in a notebook's output."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        """Do nothing: `write` displays at once. Streams need this method."""

    def write(self, text: str) -> int:
        line = text.replace("\r", "").replace("\033[K", "").strip("\n")
        if line:
            shown = self._display.Pretty(line)
            if self._handle is None:
                self._handle = self._display.display(shown, display_id=True)
            else:
                self._handle.update(shown)
        return len(text)


class _SilentStream:
    """A stream that discards everything written to it."""

    def isatty(self) -> bool:
        return False

    def flush(self) -> None:
        """Do nothing; streams need this method."""

    def write(self, text: str) -> int:
        return len(text)
