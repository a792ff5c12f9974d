"""The contents of uploaded files: verdicts, answers, pass or fail, or scores, how many of each,
notes of the import, and the next step."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from components.html.format import count, number
from components.html.markup import Markup
from components.html.templates import macros
from components.study import jobs
from components.study.file.lenient_study import START_YAML, read_lenient_study
from components.study.form.data_step.table_columns import source_table
from components.study.plan.cost_preview import count_asks_and_noise_repeats
from components.study.plan.study_preview import build_preview, load_records, read_data_spec
from studies.domain import BY_DESIGN, HUMAN_PREFIX, PASS_FAIL_OPTIONS, Judgement
from studies.errors import EvenhandError, SourceError
from studies.files.upload_names import hide_hashes
from studies.sources.detection.mapping_guess import find_unused_winner_column
from studies.sources.load import LoadedSource
from studies.spec.keys import DATA

html: Final = macros("home/home.html")
VERDICTS, ANSWERS, PASS_FAIL, SCORES = "Verdicts", "Answers", "Pass or fail", "Scores"
KINDS: Final = (VERDICTS, ANSWERS, PASS_FAIL, SCORES)
UNKNOWN: Final = "known once the columns are named"
UNNAMED_JUDGES: Final = frozenset({"judge", "recorded"})
"""Names that a judge gets if its file does not name it."""


@dataclass(frozen=True, slots=True)
class UploadedData:
    """Content of uploaded files. `text`: a study file that names the files as its data; `files`:
    the name of the only file, or the number of files in words; `seconds`: time for storing and
    reading; `amount`: items and recorded verdicts, in words (rows of the table if no column is
    known)."""

    text: str
    files: str
    seconds: float
    amount: str
    facts: dict[str, str] = field(default_factory=dict)
    """Kind of contents, such as VERDICTS -> its amount in words; the first is the kind selected
    unless the visitor chooses another. Empty if no column is known."""
    calls: int | None = None
    """Judge calls that answers without verdicts would need; None if they cannot be counted."""
    judge_unnamed: bool = False
    unread_column: str = ""
    """Column whose name suggests verdicts or labels, and which the study file does not read yet; ""
    if there is none."""
    notes: tuple[str, ...] = ()
    """Notes of the import: rows left out, and assumptions made."""
    chosen: str = ""
    """Kind of contents that the visitor chose in place of the first in `facts`; "" without a
    choice."""

    @property
    def kind(self) -> str:
        return self.chosen or next(iter(self.facts), "")

    @property
    def opens_results(self) -> bool:
        """Whether results can be shown without calling a judge: the files hold verdicts, pass or
        fail, or scores, and that kind of contents is selected."""
        return self.kind != ANSWERS and self.kind in self.facts


def store_and_read_uploads(paths: Sequence[Path], folder: Path) -> UploadedData:
    """Store uploaded files and return what they contain. If the files are a table whose columns
    have no known meaning, `facts` of the result is empty. EvenhandError if the files cannot be
    read, have neither verdicts nor answers, or are a table without rows or with one column only."""
    start, text = time.monotonic(), jobs.save_uploads_as_data(START_YAML, paths, folder)
    files = paths[0].name if len(paths) == 1 else count(len(paths), "file")
    try:
        found = load_records(read_data_spec(read_lenient_study(text, folder)), folder)
    except EvenhandError:
        table = source_table(read_lenient_study(text, folder))
        if table is None or not jobs.has_or_needs_column_mapping(text, folder):
            raise
        if len(table.columns) < 2 or not table.rows:
            lacks = "no rows" if not table.rows else "one column only"
            raise SourceError(
                f"{files}: a table with {lacks}; it needs a line of column names, and rows with a "
                "question and answers, or with verdicts"
            ) from None
        amount = count(len(table.rows), "row")
        return UploadedData(text, files, time.monotonic() - start, amount)
    facts = _describe_contents_by_kind(found)
    if not facts:
        raise SourceError(f"{files}: neither verdicts nor answers were found; check its columns")
    machines = {one.ask.judge for one in found.judgements if not _is_by_person(one)}
    return UploadedData(
        text,
        files,
        time.monotonic() - start,
        found.amount_in_words,
        facts,
        _count_planned_calls(text, folder) if ANSWERS in facts else None,
        len(machines) == 1 and machines <= UNNAMED_JUDGES,
        _find_unread_winner_column(text, folder) if next(iter(facts)) == ANSWERS else "",
        tuple(map(hide_hashes, found.notes)),
    )


def _find_unread_winner_column(text: str, folder: Path) -> str:
    study = read_lenient_study(text, folder)
    table, mapping = source_table(study), study.value_in_file(*DATA.mapping)
    mapping = mapping if isinstance(mapping, Mapping) else {}
    return find_unused_winner_column(table.columns, mapping) if table is not None else ""


def _is_by_person(judgement: Judgement) -> bool:
    return judgement.ask.judge.startswith(HUMAN_PREFIX)


def _count_planned_calls(text: str, folder: Path) -> int | None:
    plan = build_preview(text, folder).plan
    return None if plan is None else count_asks_and_noise_repeats(plan)[0]


def _describe_contents_by_kind(found: LoadedSource) -> dict[str, str]:
    """Kind -> its amount in words, such as "40 comparisons, both orders, 2 judges"; verdicts first,
    answers last, kinds that the source does not contain left out."""
    by_kind: dict[str, list[Judgement]] = defaultdict(list)
    for one in found.judgements:
        alone = PASS_FAIL if set(PASS_FAIL_OPTIONS) <= set(one.ask.labels) else SCORES
        by_kind[VERDICTS if len(one.ask.shown) > 1 else alone].append(one)
    facts: dict[str, str] = {}
    if found.shards is not None:
        facts[VERDICTS] = count(found.shards.rows, "verdict")
    for kind in (VERDICTS, PASS_FAIL, SCORES):
        if rows := by_kind[kind]:
            facts[kind] = _recorded_amount_text(kind, rows, found)
    models = {name for item in found.items for name, answer in item.responses.items() if answer}
    if models:
        facts[ANSWERS] = f"{count(len(found.items), 'question')}, {count(len(models), 'model')}"
        if labels := sum(len(item.labels) for item in found.items):
            facts[ANSWERS] += f", {count(labels, 'label')}"
    return facts


def _recorded_amount_text(kind: str, rows: Sequence[Judgement], found: LoadedSource) -> str:
    judges = count(len({one.ask.judge for one in rows if not _is_by_person(one)}), "judge")
    if kind == VERDICTS:
        orders: dict[tuple[str, frozenset[str]], dict[str, set[tuple[str, ...]]]]
        orders = defaultdict(lambda: defaultdict(set))
        for one in rows:
            orders[one.ask.item, frozenset(one.ask.shown)][one.ask.judge].add(one.ask.shown)
        both = sum(any(len(shown) > 1 for shown in by.values()) for by in orders.values())
        told = "one order" if not both else f"{count(both)} in both orders"
        told = "both orders" if both == len(orders) else told
        votes = sum(one.judge != BY_DESIGN for item in found.items for one in item.human)
        by_people = f", {count(votes, 'vote')} by people" if votes else ""
        return f"{count(len(orders), 'comparison')}, {told}, {judges}{by_people}"
    labels = sum(len(item.labels) for item in found.items)
    told = f", {count(labels, 'label')}" if labels else ", no labels"
    return f"{count(len(rows), 'verdict' if kind == PASS_FAIL else 'score')}, {judges}{told}"


def uploads_html(seen: UploadedData) -> Markup:
    """HTML of what the uploaded files contain: a card for each of the four kinds of contents, with
    the one in use marked; the notes; and the button for the next step, with a line on what it
    does."""
    if seen.opens_results:
        button, told = "Show results", "No call is made."
    elif seen.kind == ANSWERS and seen.calls:
        button = "Choose a judge"
        told = f"{count(seen.calls, 'call')} with one prompt; none is made before you press Run."
    else:
        button, told = "Name the columns", "You say what each column means. No call is made."
    absent = dict.fromkeys(KINDS, "not seen" if seen.facts else UNKNOWN)
    if seen.unread_column:
        absent[VERDICTS] = f"column {seen.unread_column}: {UNKNOWN}"
    facts = absent | seen.facts
    cards = [(name, facts[name], name == seen.kind) for name in KINDS]
    took = f"{seen.amount}, {number(seen.seconds, 1)} s"
    return html.seen(seen.files, took, cards, seen.notes, button, told)
