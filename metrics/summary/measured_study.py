"""A study with everything its summary needs, read from a store or from a table.

The command `python -m metrics` and the library measure the same object, so that both give the same
numbers.

A jury is several judges that decide together.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pandas as pd

from metrics.remedies.known_winners import DESIGN
from metrics.summary.remedy_section import RemedyInputs
from metrics.summary.summary import summarise_frame, to_plain_data
from metrics.win_rates import counting_rules
from studies.domain import AnswerCheck, Item
from studies.files.table_formats.spreadsheet_guard import OWN_CSV_HEADERS, unguard_formula
from studies.frames import battle_frame, twin_rows
from studies.texts.style_features import Styles, count_style_marks_by_answer

if TYPE_CHECKING:
    from metrics.summary.alignment.alignment_section import AlignmentInputs

HEADER_BYTES: Final = 65_536
SQLITE_HEADER: Final = b"SQLite format 3\x00"


@dataclass(frozen=True)
class MeasuredStudy:
    """The frame of a study, and facts about the study that are not in its frame: the number of
    `planned` calls, the counting rules (`combine`: how the verdicts in both orders become one;
    `unreadable`: whether unusable replies count as ties), people's verifications by item
    (`checks`), the inputs of the remedies, the style of the answers, and the labels and candidates
    of its prompts (`alignment`). None: not known, or the study has none."""

    frame: pd.DataFrame
    name: str = ""
    planned: int | None = None
    combine: counting_rules.CombineRule = "pooled"
    unreadable: counting_rules.UnreadableRule = "exclude"
    checks: Mapping[str, Sequence[AnswerCheck]] | None = None
    remedies: RemedyInputs = field(default_factory=RemedyInputs)
    twins: pd.DataFrame | None = None
    """Rows that show a twin, which are not in `frame`."""
    styles: Styles | None = None
    alignment: AlignmentInputs | None = None
    unused_columns: tuple[str, ...] = ()
    """Columns of a CSV of battles that were not read."""

    @classmethod
    def from_rows(
        cls, frame: pd.DataFrame, name: str, items: Iterable[Item], remedies: RemedyInputs
    ) -> MeasuredStudy:
        """Build a study from all its rows, including those that show a twin (an answer with one
        change), and from its items."""
        twins = twin_rows.filter_rows_by_twins(frame, "only")
        own = twin_rows.filter_rows_by_twins(frame, "without")
        return cls(
            own, name, remedies=remedies, twins=twins, styles=count_style_marks_by_answer(items)
        )

    def summarise(self, by: Sequence[str] = (), *, quick: bool = False) -> dict[str, Any]:
        """Compute all measures as section -> values, the object that `python -m metrics --json`
        prints; `by` and `quick` as in `summarise_frame`."""
        result = summarise_frame(
            self.frame,
            by,
            planned=self.planned,
            combine=self.combine,
            unreadable=self.unreadable,
            quick=quick,
            checks=self.checks,
            remedies=self.remedies,
            twins=self.twins,
            styles=self.styles,
        )
        if self.alignment is not None:
            from metrics.summary.alignment.alignment_section import alignment_section

            section = alignment_section(self.frame, self.alignment)
            result["alignment"] = to_plain_data(section)
        return result


def read_results(
    path: Path,
    study: str | None = None,
    juries: Sequence[tuple[str, ...]] = (),
    words: Mapping[str, str] | None = None,
) -> MeasuredStudy:
    """Read a store, a CSV of battles, or a CSV of verdicts beside labels; ValueError if the file is
    none of these. `study` is the name of a study in a store; `juries` (not used for labels) are
    juries to compute besides the default ones; `words` maps other words in the column of winners of
    battles to their meaning."""
    if not path.exists():
        raise ValueError(f"no such file: {path}; name a store or a CSV of battles")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a store or a CSV of battles")
    if is_sqlite_file(path):
        return read_stored_study(path, study, juries)
    if _has_label_columns(path):
        return _read_verdicts_and_labels(path)
    frame, unused = _read_battles(path, words)
    source = DESIGN if (frame["known_answer"] >= 0).any() else None
    inputs = RemedyInputs(juries=tuple(juries), source=source)
    return MeasuredStudy(frame, remedies=inputs, unused_columns=unused)


def is_sqlite_file(path: Path) -> bool:
    """Whether a file is an SQLite database."""
    with path.open("rb") as file:
        return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER


def read_stored_study(
    path: Path, study: str | None, juries: Sequence[tuple[str, ...]] = ()
) -> MeasuredStudy:
    """Read a study from its store; without a name, the only study in the store. `juries` are juries
    to compute besides the default ones. ValueError if the study cannot be read."""
    from metrics.summary.alignment.alignment_section import read_alignment_inputs
    from metrics.summary.study_inputs import read_remedy_inputs, style_counts_of_study
    from studies.errors import EvenhandError
    from studies.people.verifications import checks_of_answers
    from studies.store.store import Store

    try:
        store = Store(path)
    except EvenhandError as error:  # here the store is the argument, not --store
        raise ValueError(str(error).replace(" with --store", "")) from error
    try:
        frame = store.frame(study)
        name = study or str(frame["study"].iloc[0]) if len(frame) else study
        if name is None:
            return MeasuredStudy(frame)
        spec = store.study(name)
        return MeasuredStudy(
            frame,
            name,
            planned=store.count_asks_without_twins(name),
            combine=counting_rules.counting_rule_of_remedy_or_same(spec.combine),
            unreadable=cast(counting_rules.UnreadableRule, spec.unreadable),
            checks=checks_of_answers(store, name),
            remedies=read_remedy_inputs(store, name, juries),
            twins=store.frame(name, "only"),
            styles=style_counts_of_study(store, name),
            alignment=read_alignment_inputs(store, name),
        )
    except EvenhandError as error:
        raise ValueError(str(error)) from error
    finally:
        store.close()


def _has_label_columns(path: Path) -> bool:
    """Whether the header of a file has the columns `verdict` and `label` but not `winner` (a column
    of battles)."""
    with path.open("rb") as file:
        first = file.readline(HEADER_BYTES).decode("utf-8-sig", "replace").casefold()
    names = {name.strip(" \t\r\n\"'") for name in re.split(r"[,;\t:{]", first)}
    return {"verdict", "label"} <= names and "winner" not in names


def _read_verdicts_and_labels(path: Path) -> MeasuredStudy:
    """Read a table of verdicts beside labels, through a temporary store that is deleted afterwards.
    ValueError if the table cannot be read."""
    from studies.errors import EvenhandError
    from studies.exchange.recorded_studies import import_verdicts
    from studies.sources.detection.detect import study_keys_to_command_options
    from studies.store.store import Store

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "labels.db")
        try:
            import_verdicts(store, path.resolve(), "labels")
        except EvenhandError as error:
            raise ValueError(study_keys_to_command_options(str(error))) from error
        finally:
            store.close()
        return read_stored_study(store.path, "labels")


def _read_battles(
    path: Path, words: Mapping[str, str] | None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read a CSV of battles as a frame, and name the columns that were not read; ValueError if it
    is none. Empty texts are kept as values (an item or category without a name); an empty winner is
    a reply without a verdict."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is neither a store nor a CSV of battles: {error}; check the path, or see "
            "docs/formats.md"
        ) from error
    if "model_a" not in table:  # the library's names, in the order shown
        table = table.rename(columns={"first": "model_a", "second": "model_b"})
    own = tuple(table.columns) in OWN_CSV_HEADERS
    try:
        frame = battle_frame.frame_from_battles(table.map(unguard_formula) if own else table, words)
        return frame, () if own else tuple(battle_frame.list_unused_columns(table))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
