"""Export of a study's judgements, in Evenhand's lossless formats and in formats of other tools.

Lossless: `jsonl`, `parquet` (read back by studies.exchange.recorded_studies), `votes`, `items`,
`yaml`. The formats of other tools contain readable verdicts (MT-Bench's also failures), with the
fields that the format has. Evenhand's rows also record whether the judge saw an injection suspect,
and which rule found it.
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

from studies.domain import (
    HUMAN_PREFIX,
    REFERENCE,
    USABLE_STATUSES,
    Item,
    Judgement,
)
from studies.errors import StudyError, write_error
from studies.exchange.alpaca_leaderboard import LEADERBOARD_COLUMNS as LEADERBOARD
from studies.exchange.alpaca_leaderboard import leaderboard_rows
from studies.exchange.every_eval_ever import write_records
from studies.exchange.injection_flags import InjectionFlags, format_suspects
from studies.files.items import dump_item
from studies.files.table_formats.spreadsheet_guard import (
    BATTLE_COLUMNS,
    FLAT_COLUMNS,
    guard_formula,
)
from studies.sources.formats.own_exports import VOTE_COLUMNS, vote_row
from studies.spec.presets import PROBE_SOURCE
from studies.spec.study import dump_study
from studies.store.ballot_queries import checks_by_item, read_ballots, with_checks
from studies.store.store import Store

_ROWS_PER_BATCH: Final = 5_000
UNKNOWN_ORDER: Final = "unknown"
"""Value of `order` in exported battles of unknown order; `model_a` is then the first by name."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """An export format: file suffix, description and writing function."""

    suffix: str
    description: str
    write: Callable[[Store, str, Path], int]
    """(store, study, path) -> number of records written."""


def write_export(store: Store, study: str, name: str, path: Path) -> int:
    """Export a study to a file and return the number of records.

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
        raise write_error(path, error) from None
    finally:
        with contextlib.suppress(OSError):  # the file is missing, or its folder is a file
            partial.unlink()
    return written


# ------------------------------------------------------------------------------------- lossless


def write_json_lines(store: Store, study: str, out: TextIO) -> int:
    """Write one JSON object per line: a judgement with its injection flag."""
    written, flags = 0, InjectionFlags(store, study)
    for judgement in store.judgements(study):
        out.write(json.dumps(flags.flagged_row(judgement), ensure_ascii=False) + "\n")
        written += 1
    return written


def _write_jsonl(store: Store, study: str, path: Path) -> int:
    with path.open("w", encoding="utf-8") as out:
        return write_json_lines(store, study, out)


def _write_parquet(store: Store, study: str, path: Path) -> int:
    """Write the rows of `write_json_lines` as Parquet; a pick is a text: "0", "1", … or "tie"."""
    import pyarrow as pa  # not needed for the other formats
    import pyarrow.parquet as pq

    from studies.files.judgement_schema import FLAGGED_SCHEMA, pick_as_text

    written, flags = 0, InjectionFlags(store, study)
    with pq.ParquetWriter(path, FLAGGED_SCHEMA, compression="zstd") as writer:
        for batch in _split_batches(store.judgements(study), _ROWS_PER_BATCH):
            rows = [pick_as_text(flags.flagged_row(judgement)) for judgement in batch]
            writer.write_table(pa.Table.from_pylist(rows, schema=FLAGGED_SCHEMA))
            written += len(rows)
    return written


def _write_items(store: Store, study: str, path: Path) -> int:
    items = store.items(study).values()
    checks = checks_by_item(read_ballots(store.read_connection, study))
    with path.open("w", encoding="utf-8") as out:
        for item in items:
            verified = with_checks(item, checks.get(item.id, ()))
            out.write(json.dumps(dump_item(verified), ensure_ascii=False) + "\n")
    return len(items)


def _write_yaml(store: Store, study: str, path: Path) -> int:
    spec = store.study(study)
    path.write_text(_local_source_note(spec.data.source) + dump_study(spec), encoding="utf-8")
    return 1


def _local_source_note(source: str) -> str:
    """Return a YAML comment saying that the data source is a file on this machine; "" for other
    sources."""
    if source == PROBE_SOURCE or source.startswith("hub:") or "${" in source:
        return ""
    return (
        "# data.source is a local file of the machine this study was made on. To run the study\n"
        "# elsewhere, export its items too and set data.source to that file.\n"
    )


# ------------------------------------------------------------------------ formats of other tools


def _write_flat_csv(store: Store, study: str, path: Path) -> int:
    """Write one flat row per judgement, safe to open in a spreadsheet."""
    flags, category = InjectionFlags(store, study), _categories_by_item(store, study)
    rows = (_flat_row(j, flags, category.get(j.ask.item, "")) for j in store.judgements(study))
    return _write_csv(path, FLAT_COLUMNS, rows)


def _categories_by_item(store: Store, study: str) -> dict[str, str]:
    return {name: facts["category"] for name, facts in store.item_facts(study).items()}


def _flat_row(judgement: Judgement, flags: InjectionFlags, category: str) -> dict[str, object]:
    found = flags.suspects_shown(judgement.ask)
    ask, verdict = judgement.ask, judgement.verdict if judgement.status in USABLE_STATUSES else None
    values = (
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
    return dict(zip(FLAT_COLUMNS, values, strict=True))


def _picked_contestant(judgement: Judgement) -> str:
    """Return the contestant picked, "tie", or "" without a usable pick."""
    verdict = judgement.verdict
    if verdict is None or verdict.pick is None or judgement.status not in USABLE_STATUSES:
        return ""
    return "tie" if verdict.pick == "tie" else judgement.ask.shown[verdict.pick]


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[dict[str, object]]) -> int:
    """Write a CSV; the header is written even without rows."""
    written = 0
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, columns)
        writer.writeheader()
        for row in rows:
            writer.writerow({name: guard_formula(value) for name, value in row.items()})
            written += 1
    return written


def _write_arena(store: Store, study: str, path: Path) -> int:
    """Write usable verdicts as battles; `model_a` was shown first, unless `order` is `unknown`."""
    categories = _categories_by_item(store, study)

    def rows() -> Iterator[dict[str, object]]:
        for judgement in _pair_verdicts(store, study):
            ask, picked = judgement.ask, _picked_contestant(judgement)
            if ask.noise:
                continue
            winner = "tie" if picked == "tie" else ("model_a", "model_b")[picked != ask.shown[0]]
            values = (
                ask.item, *ask.shown, winner, ask.judge, ask.prompt, ask.item,
                categories.get(ask.item, ""), judgement.time,
                "shown" if ask.orders else UNKNOWN_ORDER,
            )  # fmt: skip
            yield dict(zip(BATTLE_COLUMNS, values, strict=True))

    return _write_csv(path, BATTLE_COLUMNS, rows())


def _pair_verdicts(store: Store, study: str) -> Iterator[Judgement]:
    """Yield the usable verdicts on two answers; replies that contain only scores are left out."""
    for judgement in store.judgements(study):
        if len(judgement.ask.shown) == 2 and _picked_contestant(judgement):
            yield judgement


def _write_mt_bench(store: Store, study: str, path: Path) -> int:
    """Write MT-Bench's pair file; each line has the verdicts of one judge on one pair of answers.

    The verdicts in the two orders are games 1 and 2; repeats have lines of their own. A winner is
    `model_1`, `model_2` or `tie`, never a position; a missing or unusable verdict is `error`.
    Prompts whose replies give only scores, and verdicts of unknown order, are left out.
    """
    games: dict[tuple[Any, ...], dict[tuple[str, ...], Judgement]] = defaultdict(dict)
    scores, picks = set[str](), set[str]()
    for judgement in store.judgements(study):
        ask = judgement.ask
        if len(ask.shown) == 2 and not ask.noise and ask.orders:
            pair = tuple(sorted(ask.shown))
            games[ask.item, pair, ask.judge, ask.prompt, ask.repeat][ask.shown] = judgement
            if judgement.status in USABLE_STATUSES:
                (picks if _picked_contestant(judgement) else scores).add(ask.prompt)
    games = {key: played for key, played in games.items() if key[3] not in scores - picks}
    with path.open("w", encoding="utf-8") as out:
        for (item, pair, judge, prompt, _), played in games.items():
            line: dict[str, Any] = {
                "question_id": item, "model_1": pair[0], "model_2": pair[1],
                "judge": [judge, prompt], "turn": 1, "tstamp": 0.0,
            }  # fmt: skip
            for game, shown in (("g1", pair), ("g2", pair[::-1])):
                judgement_here = played.get(shown)
                line[f"{game}_winner"] = _game_winner(judgement_here, pair)
                line[f"{game}_judgment"] = judgement_here.reply if judgement_here else ""
                line["tstamp"] = judgement_here.time if judgement_here else line["tstamp"]
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    return len(games)


def _game_winner(judgement: Judgement | None, pair: tuple[str, ...]) -> str:
    picked = "" if judgement is None else _picked_contestant(judgement)
    if not picked:
        return "error"
    return "tie" if picked == "tie" else "model_1" if picked == pair[0] else "model_2"


def _write_llm_comparator(store: Store, study: str, path: Path) -> int:
    """Write the verdicts on the two models that were compared most often, since an LLM Comparator
    file holds only two models; return the number of examples (items)."""
    met = Counter(tuple(sorted(j.ask.shown)) for j in _pair_verdicts(store, study))
    if not met:
        raise StudyError(
            f"{study!r} has no usable verdict on a pair, which LLM Comparator needs; run or import "
            "verdicts first"
        )
    return write_comparator(store, study, max(met, key=lambda pair: (met[pair], pair)), path)


def write_comparator(store: Store, study: str, pair: tuple[str, ...], path: Path) -> int:
    """Write the verdicts on the two models of `pair` in LLM Comparator's format; return the number
    of examples (items).

    Scores are from -1.5 to 1.5; positive means that `pair[0]` is better, whichever was shown first.
    """
    ratings: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for judgement in _pair_verdicts(store, study):
        if tuple(sorted(judgement.ask.shown)) == pair and not judgement.ask.noise:
            ratings[judgement.ask.item].append(_comparator_rating(judgement, pair))
    items = store.items(study)
    examples = [
        {
            "input_text": items[name].instruction,
            "tags": [items[name].category] if items[name].category else [],
            "output_text_a": _answer_text(items[name], pair[0]),
            "output_text_b": _answer_text(items[name], pair[1]),
            "score": sum(r["score"] for r in rated) / len(rated),
            "individual_rater_scores": rated,
        }
        for name, rated in ratings.items()
    ]
    whole = {
        "metadata": {"source_path": study, "custom_fields_schema": []},
        "models": [{"name": pair[0]}, {"name": pair[1]}],
        "examples": examples,
    }
    path.write_text(json.dumps(whole, ensure_ascii=False, indent=1), encoding="utf-8")
    return len(examples)


def _answer_text(item: Item, contestant: str) -> str:
    known = contestant == REFERENCE or contestant in item.responses
    return item.answer(contestant) if known else ""


def _comparator_rating(judgement: Judgement, pair: tuple[str, ...]) -> dict[str, Any]:
    picked = _picked_contestant(judgement)
    margin = judgement.verdict.margin if judgement.verdict else 1
    size = 1.5 if margin >= 2 else 1.0
    score = 0.0 if picked == "tie" else size if picked == pair[0] else -size
    return {
        "is_flipped": judgement.ask.shown != pair if judgement.ask.orders else None,
        "score": score,
        "rating_label": picked,
        "rationale": judgement.reply,
        "rater": judgement.ask.judge,
    }


def _write_alpaca_leaderboard(store: Store, study: str, path: Path) -> int:
    rows = leaderboard_rows(store.study(study), store.items(study), store.judgements(study))
    return _write_csv(path, LEADERBOARD, rows)


def _write_every_eval_ever(store: Store, study: str, path: Path) -> int:
    return write_records(store.study(study), store.items(study), store.judgements(study), path)


def _write_votes(store: Store, study: str, path: Path) -> int:
    """Write the human votes without loss; `python -m studies import` reads them again."""
    people = (j for j in store.judgements(study) if j.ask.judge.startswith(HUMAN_PREFIX))
    return _write_csv(path, VOTE_COLUMNS, (vote_row(vote) for vote in people))


def _split_batches(values: Iterable[Judgement], size: int) -> Iterator[list[Judgement]]:
    remaining = iter(values)
    while batch := list(itertools.islice(remaining, size)):
        yield batch


EXPORT_FORMATS: Final[dict[str, ExportFormat]] = {
    "jsonl": ExportFormat(
        ".jsonl", "every judgement with its reply, one per line; lossless", _write_jsonl
    ),
    "parquet": ExportFormat(".parquet", "the same as Parquet; lossless", _write_parquet),
    "csv": ExportFormat(
        ".csv",
        "one flat row per judgement, safe in a spreadsheet; can be imported again",
        _write_flat_csv,
    ),
    "arena": ExportFormat(".csv", "battles in the format of Chatbot Arena", _write_arena),
    "mt-bench": ExportFormat(".jsonl", "MT-Bench pair judgements, both games", _write_mt_bench),
    "llm-comparator": ExportFormat(
        ".json", "opens in LLM Comparator, one pair", _write_llm_comparator
    ),
    "alpaca-eval": ExportFormat(
        ".csv", "AlpacaEval's leaderboard, against the baseline", _write_alpaca_leaderboard
    ),
    "every-eval-ever": ExportFormat(
        ".zip", "Every Eval Ever records, one JSON file per model", _write_every_eval_ever
    ),
    "votes": ExportFormat(
        ".csv", "human votes only; lossless, can be imported again", _write_votes
    ),
    "items": ExportFormat(
        ".jsonl", "questions and answers, with human verifications", _write_items
    ),
    "yaml": ExportFormat(".yaml", "the study file", _write_yaml),
}
