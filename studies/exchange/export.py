"""Export of a study's judgements, in Evenhand's lossless formats and in formats of other tools.

Lossless: `jsonl`, `parquet` (read back by studies.exchange.recorded_studies), `votes`, `items`,
`yaml`; `csv` is a flat table of the judgements. The formats of other tools contain readable
verdicts (MT-Bench's also failures), with the fields that the format has. The rows of `jsonl`,
`parquet` and `csv` also record whether the judge saw a text suspected of a prompt injection, and
which rule found it.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from studies.domain import HUMAN_PREFIX, REFERENCE, USABLE_STATUSES, Judgement
from studies.errors import StudyError, build_write_error
from studies.exchange import alpaca_leaderboard, every_eval_ever
from studies.exchange.injection_flags import InjectionFlags, format_suspects
from studies.files.items import dump_item
from studies.files.table_formats import spreadsheet_guard
from studies.sources.formats.own_exports import VOTE_COLUMNS, vote_row
from studies.spec.presets import PROBE_SOURCE
from studies.spec.study import dump_study
from studies.store.ballot_queries import add_checks_to_item, checks_by_item, read_ballots
from studies.store.store import Store
from studies.texts.twin_families import is_twin

_ROWS_PER_BATCH: Final = 5_000
UNKNOWN_ORDER: Final = "unknown"
"""Value of `order` in exported battles of unknown order; `model_a` is then the first by name."""
Writer = Callable[[Store, str, Path], int]
"""(store, study, path) -> number of records written."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """An export format: file suffix, description and writing function."""

    suffix: str
    description: str
    write: Writer


EXPORT_FORMATS: Final[dict[str, ExportFormat]] = {}
"""Name -> export format, in the order in which the page and the messages list the formats."""


def register_export_format(name: str, suffix: str, description: str) -> Callable[[Writer], Writer]:
    """Return a decorator that registers a function as the writer of the export format `name`.
    `suffix` is that of its files, `description` is shown to the user."""

    def register_writer(write: Writer) -> Writer:
        EXPORT_FORMATS[name] = ExportFormat(suffix, description, write)
        return write

    return register_writer


def write_export(store: Store, study: str, name: str, path: Path) -> int:
    """Export a study to a file in the format `name`, and return the number of records. StudyError
    for an unknown format, or if the study has no data for it.

    The file is replaced only after the export is complete.
    """
    if name not in EXPORT_FORMATS:
        raise StudyError(f"no export format {name!r}; known: {', '.join(EXPORT_FORMATS)}")
    store.study(study)
    partial = path.with_name(path.name + ".part")
    try:
        written = EXPORT_FORMATS[name].write(store, study, partial)
        partial.replace(path)
    except OSError as error:
        raise build_write_error(path, error) from None
    finally:
        with contextlib.suppress(OSError):  # the file is missing, or its folder is a file
            partial.unlink()
    return written


def write_json_lines(out: TextIO, records: Iterable[object]) -> int:
    """Write each record as a line of JSON; return the number of records."""
    written = 0
    for written, record in enumerate(records, 1):  # noqa: B007
        out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return written


def _write_json_lines_file(path: Path, records: Iterable[object]) -> int:
    with path.open("w", encoding="utf-8") as out:
        return write_json_lines(out, records)


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> int:
    """Write a CSV, safe to open in a spreadsheet; return the number of rows. The header is written
    even without rows."""
    written = 0
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        for written, row in enumerate(rows, 1):  # noqa: B007
            writer.writerow([spreadsheet_guard.guard_formula(value) for value in row])
    return written


# ---- judgements ------------------------------------------------------------------------------


def write_judgement_lines(store: Store, study: str, out: TextIO) -> int:
    """Write each judgement of a study as a line of JSON, with a flag that states whether the
    judge saw a suspected prompt injection; return the number of judgements."""
    flags = InjectionFlags(store, study)
    return write_json_lines(out, map(flags.judgement_row_with_flags, store.judgements(study)))


@register_export_format("jsonl", ".jsonl", "every judgement with its reply, one per line; lossless")
def _write_judgements_jsonl(store: Store, study: str, path: Path) -> int:
    with path.open("w", encoding="utf-8") as out:
        return write_judgement_lines(store, study, out)


@register_export_format("parquet", ".parquet", "the same as Parquet; lossless")
def _write_judgements_parquet(store: Store, study: str, path: Path) -> int:
    """Write the rows of `write_judgement_lines` as Parquet; a pick is a text: "0", "1", … or
    "tie"."""
    import pyarrow as pa  # not needed for the other formats
    import pyarrow.parquet as pq

    from studies.files.judgement_schema import FLAGGED_SCHEMA, convert_pick_to_text

    written, flags, judgements = 0, InjectionFlags(store, study), iter(store.judgements(study))
    with pq.ParquetWriter(path, FLAGGED_SCHEMA, compression="zstd") as writer:
        while batch := list(itertools.islice(judgements, _ROWS_PER_BATCH)):
            rows = [
                convert_pick_to_text(flags.judgement_row_with_flags(judgement))
                for judgement in batch
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema=FLAGGED_SCHEMA))
            written += len(rows)
    return written


@register_export_format(
    "csv", ".csv", "one flat row per judgement, safe in a spreadsheet; can be imported again"
)
def _write_flat_csv(store: Store, study: str, path: Path) -> int:
    flags, category = InjectionFlags(store, study), _categories_by_item(store, study)
    rows = (_csv_row(j, flags, category.get(j.ask.item, "")) for j in store.judgements(study))
    return _write_csv(path, spreadsheet_guard.FLAT_COLUMNS, rows)


def _categories_by_item(store: Store, study: str) -> dict[str, str]:
    return {name: facts["category"] for name, facts in store.item_facts(study).items()}


def _csv_row(judgement: Judgement, flags: InjectionFlags, category: str) -> Sequence[object]:
    """Return one judgement as a row of the CSV export, with the columns FLAT_COLUMNS; lists are
    joined by " | ". `flags` finds the suspected prompt injections that the judge saw;
    `category` is that of the item."""
    found = flags.suspects_shown(judgement.ask)
    ask, verdict = judgement.ask, judgement.verdict if judgement.status in USABLE_STATUSES else None
    return (
        ask.item, ask.judge, ask.prompt, " | ".join(ask.shown), " | ".join(ask.labels),
        ask.repeat, int(ask.noise), judgement.status, _picked_contestant(judgement),
        "" if verdict is None or verdict.pick is None else verdict.pick,
        "" if verdict is None or verdict.pick is None else verdict.margin,
        "" if verdict is None else " | ".join(str(s) for s in verdict.scores),
        judgement.rule, judgement.usage.prompt, judgement.usage.completion, judgement.cost,
        judgement.seconds, judgement.model, judgement.reply, judgement.detail, ask.key,
        int(bool(found)), format_suspects(found), category, ask.orders, judgement.time,
        json.dumps(verdict.label_probabilities) if verdict and verdict.label_probabilities else "",
        "" if verdict is None or verdict.label_mass is None else verdict.label_mass,
    )  # fmt: skip


def _picked_contestant(judgement: Judgement | None) -> str:
    """Return the contestant picked, "tie", or "" without a usable pick."""
    verdict = judgement.verdict if judgement and judgement.status in USABLE_STATUSES else None
    if judgement is None or verdict is None or verdict.pick is None:
        return ""
    return "tie" if verdict.pick == "tie" else judgement.ask.shown[verdict.pick]


# ---- formats of other tools ------------------------------------------------------------------


def _judgements_without_twins(store: Store, study: str) -> Iterator[Judgement]:
    """Yield the judgements that show no twin (a changed copy of an answer), because other tools
    would take a twin for a model."""
    for judgement in store.judgements(study):
        if not any(map(is_twin, judgement.ask.shown)):
            yield judgement


def _pair_verdicts(store: Store, study: str) -> Iterator[tuple[Judgement, str]]:
    """Yield the usable verdicts on two answers, each with the contestant picked; replies that
    contain only scores are left out."""
    for judgement in _judgements_without_twins(store, study):
        if len(judgement.ask.shown) == 2 and (picked := _picked_contestant(judgement)):
            yield judgement, picked


@register_export_format("arena", ".csv", "battles in the format of Chatbot Arena")
def _write_arena(store: Store, study: str, path: Path) -> int:
    """Write the usable verdicts on pairs as battles, without noise-floor repeats; return the
    number of rows. `model_a` is the answer shown first or, in a row whose `order` is
    `unknown`, the first by name."""
    categories = _categories_by_item(store, study)
    rows = (
        (
            *(ask.item, *ask.shown, _battle_winner(picked, ask.shown)),
            *(ask.judge, ask.prompt, ask.item, categories.get(ask.item, ""), judgement.time),
            "shown" if ask.orders else UNKNOWN_ORDER,
        )
        for judgement, picked in _pair_verdicts(store, study)
        if not (ask := judgement.ask).noise
    )
    return _write_csv(path, spreadsheet_guard.BATTLE_COLUMNS, rows)


def _battle_winner(picked: str, shown: tuple[str, ...]) -> str:
    """Return the winner of a battle as exported: `model_a`, `model_b` or "tie". If a contestant
    is itself called `model_a` or `model_b`, these words would be ambiguous; the name of the
    contestant picked is then returned instead."""
    words = ("model_a", "model_b")
    return picked if {*words} & {*shown} else _format_winner(picked, shown, *words)


def _format_winner(picked: str, pair: tuple[str, ...], first: str, second: str) -> str:
    """Return the winner as a format writes it: `first` or `second` if the contestant `picked` is
    the first or second of `pair`, else "tie"."""
    return "tie" if picked == "tie" else first if picked == pair[0] else second


@register_export_format("mt-bench", ".jsonl", "MT-Bench pair judgements, both games")
def _write_mt_bench(store: Store, study: str, path: Path) -> int:
    """Write MT-Bench's pair file; a line has the verdicts of a judge and prompt on a pair of
    answers.

    The verdicts in the two orders are games 1 and 2; repeats have lines of their own. A winner is
    `model_1`, `model_2` or `tie`, never a position; a missing or unusable verdict is `error`. Left
    out are noise-floor repeats, verdicts of unknown order, and prompts whose replies give only
    scores.
    """
    games: dict[tuple[Any, ...], dict[tuple[str, ...], Judgement]] = defaultdict(dict)
    scores, picks = set[str](), set[str]()
    for judgement in _judgements_without_twins(store, study):
        ask = judgement.ask
        if len(ask.shown) == 2 and not ask.noise and ask.orders:
            pair = tuple(sorted(ask.shown))
            games[ask.item, pair, ask.judge, ask.prompt, ask.repeat][ask.shown] = judgement
            if judgement.status in USABLE_STATUSES:
                (picks if _picked_contestant(judgement) else scores).add(ask.prompt)
    kept = {key: played for key, played in games.items() if key[3] not in scores - picks}
    return _write_json_lines_file(path, itertools.starmap(_mt_bench_line, kept.items()))


def _mt_bench_line(
    key: tuple[Any, ...], judgements: dict[tuple[str, ...], Judgement]
) -> dict[str, Any]:
    """Return a line of MT-Bench's pair file. `key`: item, pair of models, judge, prompt, repeat;
    `judgements`: models in the order shown -> judgement."""
    item, pair, judge, prompt, _ = key
    line: dict[str, Any] = {"question_id": item, "model_1": pair[0], "model_2": pair[1]}
    line |= {"judge": [judge, prompt], "turn": 1, "tstamp": 0.0}
    for game, shown in (("g1", pair), ("g2", pair[::-1])):
        one = judgements.get(shown)
        picked = _picked_contestant(one)
        line[f"{game}_winner"] = (
            _format_winner(picked, pair, "model_1", "model_2") if picked else "error"
        )
        line[f"{game}_judgment"] = one.reply if one else ""
        line["tstamp"] = one.time if one else line["tstamp"]
    return line


@register_export_format("llm-comparator", ".json", "opens in LLM Comparator, one pair")
def _write_llm_comparator(store: Store, study: str, path: Path) -> int:
    """Write the verdicts (no noise-floor repeats) on the two models that were compared most often;
    return the number of examples (items). StudyError if no pair has a usable verdict.

    An LLM Comparator file holds only two models. Scores are from -1.5 to 1.5; positive means that
    the first model by name is better, whichever was shown first.
    """
    met = Counter(tuple(sorted(j.ask.shown)) for j, _ in _pair_verdicts(store, study))
    if not met:
        raise StudyError(
            f"{study!r} has no usable verdict on a pair, which LLM Comparator needs; run or import "
            "verdicts first"
        )
    pair = max(met, key=lambda pair: (met[pair], pair))
    ratings: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for judgement, picked in _pair_verdicts(store, study):
        ask = judgement.ask
        if tuple(sorted(ask.shown)) == pair and not ask.noise:
            size = 1.5 if judgement.verdict and judgement.verdict.margin >= 2 else 1.0
            rating = {
                "is_flipped": ask.shown != pair if ask.orders else None,
                "score": 0.0 if picked == "tie" else size if picked == pair[0] else -size,
                "rating_label": picked,
                "rationale": judgement.reply,
                "rater": ask.judge,
                "prompt": ask.prompt,
            }
            ratings[ask.item].append(rating)
    examples, items = [], store.items(study)
    for name, rated in ratings.items():
        item = items[name]
        first, second = (
            item.answer(one) if one == REFERENCE or one in item.responses else "" for one in pair
        )
        example = {
            "input_text": item.instruction,
            "tags": [item.category] if item.category else [],
            "output_text_a": first,
            "output_text_b": second,
            "score": sum(rating["score"] for rating in rated) / len(rated),
            "individual_rater_scores": rated,
            "custom_fields": {"item": name},
        }
        examples.append(example)
    fields = [{"name": "item", "type": "string"}]
    whole = {
        "metadata": {"source_path": study, "custom_fields_schema": fields},
        "models": [{"name": pair[0]}, {"name": pair[1]}],
        "examples": examples,
    }
    path.write_text(json.dumps(whole, ensure_ascii=False, indent=1), encoding="utf-8")
    return len(examples)


@register_export_format("alpaca-eval", ".csv", "AlpacaEval's leaderboard, against the baseline")
def _write_alpaca_leaderboard(store: Store, study: str, path: Path) -> int:
    rows = alpaca_leaderboard.leaderboard_rows(
        store.study(study), store.items(study), _judgements_without_twins(store, study)
    )
    return _write_csv(
        path, alpaca_leaderboard.LEADERBOARD_COLUMNS, [[*row.values()] for row in rows]
    )


@register_export_format(
    "every-eval-ever", ".zip", "Every Eval Ever records, one JSON file per model"
)
def _write_every_eval_ever(store: Store, study: str, path: Path) -> int:
    items, judgements = store.items(study), _judgements_without_twins(store, study)
    return every_eval_ever.write_record_archive(store.study(study), items, judgements, path)


# ---- votes, items and the study file ---------------------------------------------------------


@register_export_format("votes", ".csv", "human votes only; lossless, can be imported again")
def _write_votes(store: Store, study: str, path: Path) -> int:
    people = (j for j in store.judgements(study) if j.ask.judge.startswith(HUMAN_PREFIX))
    return _write_csv(path, VOTE_COLUMNS, ([*vote_row(vote).values()] for vote in people))


@register_export_format("items", ".jsonl", "questions and answers, with human verifications")
def _write_items(store: Store, study: str, path: Path) -> int:
    checks = checks_by_item(read_ballots(store.read_connection, study))
    items = (add_checks_to_item(one, checks.get(one.id, ())) for one in store.items(study).values())
    return _write_json_lines_file(path, map(dump_item, items))


@register_export_format("yaml", ".yaml", "the study file")
def _write_study_yaml(store: Store, study: str, path: Path) -> int:
    """Write the study file, with a comment if its data source is a file on this machine; return
    the number of records, which is 1."""
    spec, note = store.study(study), ""
    source = spec.data.source
    if source != PROBE_SOURCE and not source.startswith("hub:") and "${" not in source:
        note = (
            "# data.source is a local file of the machine this study was made on. To run the "
            "study\n# elsewhere, export its items too and set data.source to that file.\n"
        )
    path.write_text(note + dump_study(spec), encoding="utf-8")
    return 1
