"""Studies of the library: read from a file or a store, or built from a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from evenhand.extras import names_missing_extra
from metrics.estimation import row_selection
from metrics.remedies.known_winners import DESIGN, PEOPLE
from metrics.summary.measured_study import MeasuredStudy, is_store, read_results
from metrics.summary.remedy_section import RemedyInputs
from studies.domain import BY_DESIGN, STATUSES, Item, Preference
from studies.errors import SourceError
from studies.exchange.unsaved_study import frame_from_source, has_designed_answers
from studies.frames.battle_frame import frame_from_battles
from studies.frames.frame import NO_PICK, TIE
from studies.sources.load import LoadedSource, load_source
from studies.spec.study import DataSpec

TruthKind = Literal["design", "people", "none"]

COLUMN_NAMES: Final = {
    "item": ("item",),
    "first": ("first", "model_a", "left"),
    "second": ("second", "model_b", "right"),
    "winner": ("winner",),
    "judge": ("judge",),
    "prompt": ("prompt",),
    "category": ("category",),
    "truth": ("truth",),
    "question": ("question", "instruction"),
    "first_answer": ("first_answer", "response_a"),
    "second_answer": ("second_answer", "response_b"),
}
"""Role of a column -> column names that are recognised if the caller does not name the column."""
_REQUIRED: Final = ("first", "second", "winner")
_SLOT_WORDS: Final = {
    **dict.fromkeys(("first", "model_a", "left", "a"), 0),
    **dict.fromkeys(("second", "model_b", "right", "b"), 1),
    **dict.fromkeys(("tie", "draw", "equal", "both_bad", "tie (bothbad)"), TIE),
    "": NO_PICK,
}
"""Word for the winner, in upper or lower case -> slot; a contestant of that name takes
precedence."""
_BATTLE_WORDS: Final = {0: "model_a", 1: "model_b", TIE: "tie", NO_PICK: "tie"}


@dataclass(frozen=True, eq=False)
class JudgedStudy:
    """A study with its verdicts, ready to be measured. `store` is the file from which the study was
    read, None for tables and logs; `source` is the log. `items` are the questions and answers that
    are known; a study with texts can be run (`evenhand.run`)."""

    measured: MeasuredStudy
    name: str
    truth: TruthKind = "none"
    store: Path | None = None
    items: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    source: DataSpec | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """The judgement frame: one row for each judgement."""
        return self.measured.frame

    @property
    def judges(self) -> list[str]:
        """Names of the model judges."""
        machine = ~row_selection.people_mask(self.frame)
        return sorted(set(self.frame["judge"][machine].astype(str)))

    def __repr__(self) -> str:
        items = row_selection.resampling_unit(self.frame).nunique() if len(self.frame) else 0
        judges = ", ".join(self.judges) or "none"
        return (
            f"<study {self.name!r}: {len(self.frame):,} judgements on {items:,} items; "
            f"judges: {judges}>"
        )


@names_missing_extra
def read(source: str | Path, study: str | None = None, *, format: str = "auto") -> JudgedStudy:
    """Read a store, a CSV of battles, or a log in any format that Evenhand imports. If a store has
    several studies, `study` names the one to read. Reading a store requires the extra `run`."""
    path = Path(source).expanduser()
    if path.is_file() and is_store(path):
        return _from_store(path, study)
    if path.is_file() and format == "auto" and _is_battle_table(path):
        return _with_truth(read_results(path), path.stem)
    spec = DataSpec(str(path.resolve()) if path.exists() else str(source), format)
    return replace(_from_source(load_source(spec, Path()), path.name.split(".")[0]), source=spec)


def study(
    table: pd.DataFrame,
    *,
    item: str | None = None,
    first: str | None = None,
    second: str | None = None,
    winner: str | None = None,
    judge: str | None = None,
    prompt: str | None = None,
    category: str | None = None,
    truth: str | None = None,
    question: str | None = None,
    first_answer: str | None = None,
    second_answer: str | None = None,
    name: str = "table",
) -> JudgedStudy:
    """Build a study from a table with one verdict in each row.

    The arguments name columns: the item, the contestants shown first and second, the winner (a
    contestant, `first`, `second` or `tie`; empty for a reply without a verdict), the judge, the
    prompt, the category, the better answer (`truth`, written like the winner), and the texts of
    question and answers. Without an item column each row is an item.
    """
    named = {
        "item": item, "first": first, "second": second, "winner": winner, "judge": judge,
        "prompt": prompt, "category": category, "truth": truth, "question": question,
        "first_answer": first_answer, "second_answer": second_answer,
    }  # fmt: skip
    columns = _find_columns(table, named)
    frame = battle_frame(
        table[columns["first"]],
        table[columns["second"]],
        table[columns["winner"]],
        {key: table[columns[key]] for key in ("item", "judge", "prompt", "category")
         if key in columns},
        truth=table[columns["truth"]] if "truth" in columns else None,
    )  # fmt: skip
    known = bool((frame["truth"] >= 0).any())
    inputs = RemedyInputs(source=DESIGN if known else None)
    return JudgedStudy(
        MeasuredStudy(frame, name, remedies=inputs),
        name,
        "design" if known else "none",
        items=tuple(_items_of(table, columns)),
    )


def as_study(data: JudgedStudy | pd.DataFrame | str | Path) -> JudgedStudy:
    """Return a study unchanged; convert a table or a file to a study."""
    if isinstance(data, JudgedStudy):
        return data
    return study(data) if isinstance(data, pd.DataFrame) else read(data)


def battle_frame(
    first: Iterable[object],
    second: Iterable[object],
    winner: Iterable[object],
    more: dict[str, pd.Series] | None = None,
    truth: Iterable[object] | None = None,
) -> pd.DataFrame:
    """Build the judgement frame from columns: contestant shown first, shown second, winner. `more`
    has further columns; `truth` is the better answer, written like the winner."""
    firsts, seconds = _texts(first), _texts(second)
    winners = _texts(winner)
    if not len(firsts) == len(seconds) == len(winners):
        raise SourceError(
            f"the columns have {len(firsts):,}, {len(seconds):,} and {len(winners):,} rows; "
            "give as many of each"
        )
    picks = _slots("winner", winners, firsts, seconds)
    columns = {name: values.to_numpy() for name, values in (more or {}).items()}
    table = pd.DataFrame(
        {
            "model_a": firsts,
            "model_b": seconds,
            "winner": [_BATTLE_WORDS[int(pick)] for pick in picks],
            **columns,
        }
    )
    try:
        frame = frame_from_battles(table)
    except ValueError as error:
        raise SourceError(str(error)) from None
    silent = picks == NO_PICK
    if silent.any():
        codes = np.where(silent, STATUSES.index("unreadable"), STATUSES.index("ok"))
        frame["status"] = pd.Categorical.from_codes(codes, pd.Index(STATUSES, dtype="str"))
        frame["pick"], frame["margin"] = picks, (picks >= 0).astype(np.int8)
    if truth is not None:
        frame["truth"] = _slots("truth", _texts(truth), firsts, seconds)
    return frame


def _texts(values: Iterable[object]) -> list[str]:
    """Convert values to texts; a missing value becomes empty, and 3.0 becomes "3" as in a CSV of
    whole numbers."""
    return [
        "" if value is None or value is pd.NA or value != value else _text(value)
        for value in values
    ]


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _slots(
    column: str, words: list[str], firsts: list[str], seconds: list[str]
) -> npt.NDArray[np.int8]:
    """Slot named by each row's word: 0 first, 1 second, TIE, or NO_PICK for an empty word."""
    found = np.empty(len(words), np.int8)
    for row, (word, first, second) in enumerate(zip(words, firsts, seconds, strict=True)):
        if word and word == first:
            found[row] = 0
        elif word and word == second:
            found[row] = 1
        elif (slot := _SLOT_WORDS.get(word.strip().casefold())) is not None:
            found[row] = slot
        else:
            raise SourceError(
                f"row {row + 1}: {column} is {word!r}; expected {first!r}, {second!r}, first, "
                "second or tie"
            )
    return found


def _find_columns(table: pd.DataFrame, named: dict[str, str | None]) -> dict[str, str]:
    """Return role -> column, as named by the caller or found under one of COLUMN_NAMES."""
    found = {}
    for role, given in named.items():
        if given is not None and given not in table.columns:
            known = ", ".join(map(str, table.columns))
            raise SourceError(f"{role}: the table has no column {given!r}; its columns: {known}")
        usual = next((name for name in COLUMN_NAMES[role] if name in table.columns), None)
        if (column := given or usual) is not None:
            found[role] = column
    if missing := [role for role in _REQUIRED if role not in found]:
        known = ", ".join(map(str, table.columns))
        raise SourceError(
            f"the table has no column for {', '.join(missing)}; name it, for example "
            f"{missing[0]}='…'. Its columns: {known}"
        )
    return found


def _items_of(table: pd.DataFrame, columns: dict[str, str]) -> Iterable[Item]:
    """Yield the items of the table; none unless it has columns for item, question, contestants and
    answers."""
    wanted = ("item", "question", "first", "second", "first_answer", "second_answer")
    if not all(role in columns for role in wanted):
        return
    answers: dict[str, dict[str, str]] = {}
    better: dict[str, dict[tuple[str, ...], Preference]] = {}
    questions: dict[str, str] = {}
    texts = [_texts(table[columns[role]]) for role in wanted]
    known = _texts(table[columns["truth"]]) if "truth" in columns else [""] * len(table)
    slots = _slots("truth", known, texts[2], texts[3])
    for row, (item, question, first, second, *pair) in enumerate(zip(*texts, strict=True)):
        questions.setdefault(item, question)
        answers.setdefault(item, {}).update(dict(zip((first, second), pair, strict=True)))
        if (slot := int(slots[row])) != NO_PICK:
            names = tuple(sorted((first, second)))
            picked = "tie" if slot == TIE else (first, second)[slot]
            better.setdefault(item, {})[names] = Preference(BY_DESIGN, names, picked)
    for item, question in questions.items():
        human = tuple(better.get(item, {}).values())
        yield Item(item, question, answers[item], human=human)


# ------------------------------------------------------------------------------ files


def _is_battle_table(path: Path) -> bool:
    if path.suffix.casefold() != ".csv":
        return False
    try:
        names = set(pd.read_csv(path, nrows=0).columns)
    except (ValueError, UnicodeDecodeError):
        return False
    return {"model_a", "model_b", "winner"} <= names


def _from_store(path: Path, name: str | None) -> JudgedStudy:
    measured = read_results(path, name)
    truth: TruthKind = "people" if measured.remedies.source == PEOPLE else "design"
    known = bool((measured.frame["truth"] >= 0).any())
    return JudgedStudy(measured, measured.name, truth if known else "none", path.resolve())


def _with_truth(measured: MeasuredStudy, name: str) -> JudgedStudy:
    return JudgedStudy(measured, name)


def _from_source(loaded: LoadedSource, name: str) -> JudgedStudy:
    if loaded.shards is not None:
        raise SourceError(
            "a folder of Parquet shards is read through a store: evenhand import FOLDER, then "
            "read the store"
        )
    frame = frame_from_source(loaded, name)
    if not len(frame):
        raise SourceError(f"{name}: {len(loaded.items):,} items without verdicts; run a judge")
    designed = has_designed_answers(loaded.items)
    known = bool((frame["truth"] >= 0).any())
    inputs = RemedyInputs(source=(DESIGN if designed else PEOPLE) if known else None)
    measured = MeasuredStudy.from_rows(frame, name, loaded.items, inputs)
    truth: TruthKind = ("design" if designed else "people") if known else "none"
    return JudgedStudy(measured, name, truth, items=tuple(loaded.items), notes=loaded.notes)
