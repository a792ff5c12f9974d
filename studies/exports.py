"""Data out: the judgements of a study in our own lossless formats, and in those of others.

Lossless: `jsonl`, `parquet` (read back by studies.recorded), `items`, `yaml`. The others keep what
their format can hold: an order where it records one, and never a verdict that was not read. Our own
rows say whether the judge saw an injection suspect, and which rule found it.
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

import pyarrow as pa
import pyarrow.parquet as pq

from studies.alpaca_board import COLUMNS as LEADERBOARD
from studies.alpaca_board import board
from studies.ballots import with_checks
from studies.errors import StudyError, not_written
from studies.flags import Flags, flat
from studies.formulas import BATTLES, FLAT, guarded
from studies.judgement_rows import FLAGGED, pick_as_text
from studies.presets import PROBE
from studies.records import (
    EVIDENCE,
    HUMAN_PREFIX,
    REFERENCE,
    Item,
    Judgement,
)
from studies.sources.native import item_to
from studies.sources.vote_table import COLUMNS, row_of
from studies.store import Store
from studies.study import dump

_ROWS_AT_ONCE: Final = 5_000
UNKNOWN: Final = "unknown"
"""In the column `order` of battles: the names stand as they sort."""


@dataclass(frozen=True, slots=True)
class Format:
    """One way out: how its file ends, what it holds, who writes it."""

    suffix: str
    told: str
    write: Callable[[Store, str, Path], int]
    """(store, study, path) -> how many records were written."""


def export(store: Store, study: str, name: str, path: Path) -> int:
    """Writes a study to a file; returns how many records are in it. Never half a file: the new
    one takes the old one's place when it is whole."""
    if name not in FORMATS:
        raise StudyError(f"no export format {name!r}; known: {', '.join(FORMATS)}")
    store.study(study)
    half = path.with_name(path.name + ".part")
    try:
        written = FORMATS[name].write(store, study, half)
        half.replace(path)
    except OSError as error:
        raise not_written(path, error) from None
    finally:
        with contextlib.suppress(OSError):  # a folder that is a file has nothing in it
            half.unlink()
    return written


# ------------------------------------------------------------------------------------- lossless


def write_lines(store: Store, study: str, out: TextIO) -> int:
    """One JSON object a line: the judgement, and whether it saw an injection suspect."""
    written, flags = 0, Flags(store, study)
    for judgement in store.judgements(study):
        out.write(json.dumps(flags.row(judgement), ensure_ascii=False) + "\n")
        written += 1
    return written


def _jsonl(store: Store, study: str, path: Path) -> int:
    with path.open("w", encoding="utf-8") as out:
        return write_lines(store, study, out)


def _parquet(store: Store, study: str, path: Path) -> int:
    """The same nesting as the JSON lines. A pick is text: "0", "1", "tie"."""
    written, flags = 0, Flags(store, study)
    with pq.ParquetWriter(path, FLAGGED, compression="zstd") as writer:
        for batch in _batched(store.judgements(study), _ROWS_AT_ONCE):
            rows = [pick_as_text(flags.row(judgement)) for judgement in batch]
            writer.write_table(pa.Table.from_pylist(rows, schema=FLAGGED))
            written += len(rows)
    return written


def _items(store: Store, study: str, path: Path) -> int:
    items, checks = store.items(study).values(), store.checks(study)
    with path.open("w", encoding="utf-8") as out:
        for item in items:
            verified = with_checks(item, checks.get(item.id, ()))
            out.write(json.dumps(item_to(verified), ensure_ascii=False) + "\n")
    return len(items)


def _yaml(store: Store, study: str, path: Path) -> int:
    spec = store.study(study)
    path.write_text(_travels(spec.data.source) + dump(spec), encoding="utf-8")
    return 1


def _travels(source: str) -> str:
    """What a reader on another machine must know of a source that is a file of this one."""
    if source == PROBE or source.startswith("hub:") or "${" in source:
        return ""
    return (
        "# data.source is a file of the machine this study was made on. To ask elsewhere, take\n"
        "# the export of its items along and name that file there.\n"
    )


# ----------------------------------------------------------------------------------- for others


def _csv(store: Store, study: str, path: Path) -> int:
    """One flat row a judgement, safe to open in a spreadsheet."""
    flags, category = Flags(store, study), _categories(store, study)
    rows = (_flat(j, flags, category.get(j.ask.item, "")) for j in store.judgements(study))
    return _write_csv(path, FLAT, rows)


def _categories(store: Store, study: str) -> dict[str, str]:
    return {name: facts["category"] for name, facts in store.narrow_items(study).items()}


def _flat(judgement: Judgement, flags: Flags, category: str) -> dict[str, object]:
    found = flags.of(judgement.ask)
    ask, verdict = judgement.ask, judgement.verdict if judgement.status in EVIDENCE else None
    values = (
        ask.item, ask.judge, ask.prompt, " | ".join(ask.shown), " | ".join(ask.labels),
        ask.repeat, int(ask.noise), judgement.status, _picked(judgement),
        "" if verdict is None or verdict.pick is None else verdict.pick,
        "" if verdict is None or verdict.pick is None else verdict.margin,
        "" if verdict is None else " | ".join(str(s) for s in verdict.scores),
        judgement.rule, judgement.usage.prompt, judgement.usage.completion, judgement.cost,
        judgement.seconds, judgement.model, judgement.reply, judgement.detail, ask.key,
        int(bool(found)), flat(found), category,
    )  # fmt: skip
    return dict(zip(FLAT, values, strict=True))


def _picked(judgement: Judgement) -> str:
    """A contestant, "tie", or nothing."""
    verdict = judgement.verdict
    if verdict is None or verdict.pick is None or judgement.status not in EVIDENCE:
        return ""
    return "tie" if verdict.pick == "tie" else judgement.ask.shown[verdict.pick]


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[dict[str, object]]) -> int:
    """Without a row, its columns still say what would be in it."""
    written = 0
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, columns)
        writer.writeheader()
        for row in rows:
            writer.writerow({name: guarded(value) for name, value in row.items()})
            written += 1
    return written


def _arena(store: Store, study: str, path: Path) -> int:
    """Battles: `model_a` is the answer shown first, unless `order` says that nobody knows. Only
    verdicts that were read."""
    categories = _categories(store, study)

    def rows() -> Iterator[dict[str, object]]:
        for judgement in _pairs(store, study):
            ask, picked = judgement.ask, _picked(judgement)
            if ask.noise:
                continue
            winner = "tie" if picked == "tie" else ("model_a", "model_b")[picked != ask.shown[0]]
            values = (
                ask.item, *ask.shown, winner, ask.judge, ask.prompt, ask.item,
                categories.get(ask.item, ""), judgement.time,
                "shown" if ask.orders else UNKNOWN,
            )  # fmt: skip
            yield dict(zip(BATTLES, values, strict=True))

    return _write_csv(path, BATTLES, rows())


def _pairs(store: Store, study: str) -> Iterator[Judgement]:
    """Verdicts on two answers; what only scores them decides nothing."""
    for judgement in store.judgements(study):
        if len(judgement.ask.shown) == 2 and _picked(judgement):
            yield judgement


def _mt_bench(store: Store, study: str, path: Path) -> int:
    """Pair files: one line a pair, judge and prompt; game 2 is written un-swapped, as theirs are.

    A game that was not read is `error`, never a tie. A prompt that only scores plays no games, and
    a verdict whose order nobody knows is neither game.
    """
    games: dict[tuple[Any, ...], dict[tuple[str, ...], Judgement]] = defaultdict(dict)
    scores, picks = set[str](), set[str]()
    for judgement in store.judgements(study):
        ask = judgement.ask
        if len(ask.shown) == 2 and not ask.noise and ask.orders:
            pair = tuple(sorted(ask.shown))
            games[ask.item, pair, ask.judge, ask.prompt, ask.repeat][ask.shown] = judgement
            if judgement.status in EVIDENCE:
                (picks if _picked(judgement) else scores).add(ask.prompt)
    games = {key: played for key, played in games.items() if key[3] not in scores - picks}
    with path.open("w", encoding="utf-8") as out:
        for (item, pair, judge, prompt, _), played in games.items():
            line: dict[str, Any] = {
                "question_id": item, "model_1": pair[0], "model_2": pair[1],
                "judge": [judge, prompt], "turn": 1, "tstamp": 0.0,
            }  # fmt: skip
            for game, shown in (("g1", pair), ("g2", pair[::-1])):
                played_here = played.get(shown)
                line[f"{game}_winner"] = _game_winner(played_here, pair)
                line[f"{game}_judgment"] = played_here.reply if played_here else ""
                line["tstamp"] = played_here.time if played_here else line["tstamp"]
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    return len(games)


def _game_winner(judgement: Judgement | None, pair: tuple[str, ...]) -> str:
    picked = "" if judgement is None else _picked(judgement)
    if not picked:
        return "error"
    return "tie" if picked == "tie" else "model_1" if picked == pair[0] else "model_2"


def _comparator(store: Store, study: str, path: Path) -> int:
    """LLM Comparator reads one pair a file: this is the pair that met most often."""
    met = Counter(tuple(sorted(j.ask.shown)) for j in _pairs(store, study))
    if not met:
        raise StudyError(f"{study!r} has no pair that was read: LLM Comparator shows pairs")
    return write_comparator(store, study, max(met, key=lambda pair: (met[pair], pair)), path)


def write_comparator(store: Store, study: str, pair: tuple[str, ...], path: Path) -> int:
    """Scores run from -1.5 to 1.5, positive for A, and are written un-flipped, as theirs are."""
    ratings: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for judgement in _pairs(store, study):
        if tuple(sorted(judgement.ask.shown)) == pair and not judgement.ask.noise:
            ratings[judgement.ask.item].append(_rating(judgement, pair))
    items = store.items(study)
    examples = [
        {
            "input_text": items[name].instruction,
            "tags": [items[name].category] if items[name].category else [],
            "output_text_a": _answer(items[name], pair[0]),
            "output_text_b": _answer(items[name], pair[1]),
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


def _answer(item: Item, contestant: str) -> str:
    known = contestant == REFERENCE or contestant in item.responses
    return item.answer(contestant) if known else ""


def _rating(judgement: Judgement, pair: tuple[str, ...]) -> dict[str, Any]:
    picked = _picked(judgement)
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


def _alpaca(store: Store, study: str, path: Path) -> int:
    rows = board(store.study(study), store.items(study), store.judgements(study))
    return _write_csv(path, LEADERBOARD, rows)


def _votes(store: Store, study: str, path: Path) -> int:
    """People's votes alone, lossless: `python -m studies import` reads them back."""
    people = (j for j in store.judgements(study) if j.ask.judge.startswith(HUMAN_PREFIX))
    return _write_csv(path, COLUMNS, (row_of(vote) for vote in people))


def _batched(values: Iterable[Judgement], size: int) -> Iterator[list[Judgement]]:
    run = iter(values)
    while batch := list(itertools.islice(run, size)):
        yield batch


FORMATS: Final[dict[str, Format]] = {
    "jsonl": Format(".jsonl", "every judgement with its reply, one a line; lossless", _jsonl),
    "parquet": Format(".parquet", "the same as Parquet; lossless", _parquet),
    "csv": Format(".csv", "one flat row a judgement, safe in a spreadsheet", _csv),
    "arena": Format(".csv", "battles as Chatbot Arena has them", _arena),
    "mt-bench": Format(".jsonl", "MT-Bench pair judgements, both games", _mt_bench),
    "llm-comparator": Format(".json", "opens in LLM Comparator, one pair", _comparator),
    "alpaca-eval": Format(".csv", "AlpacaEval's leaderboard, against the baseline", _alpaca),
    "votes": Format(".csv", "people's votes alone; lossless, imported as any file", _votes),
    "items": Format(".jsonl", "questions and answers, with what people verified", _items),
    "yaml": Format(".yaml", "the study file", _yaml),
}
