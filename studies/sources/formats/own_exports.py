"""Formats of Evenhand's own files: items, and the exports of `python -m studies export`."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from studies.domain import STATUSES, USABLE_STATUSES, Ask, Item, Judgement, Usage, Verdict
from studies.errors import SourceError
from studies.files.items import normalise_parquet_value, parse_items
from studies.files.suspect_flags import FLAG_FIELDS
from studies.files.table_formats.json_lines import parse_json_cell_or_raise
from studies.files.table_formats.spreadsheet_guard import FLAT_HEADERS, unguard_formula
from studies.files.tables import Row, SourceTable, read_table, text_of
from studies.frames.frame_codes import SUSPECT_COLUMN
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.recorded_verdict import slot_labels
from studies.sources.source_format import OpenedSource, reads
from studies.texts.counts import count

ITEMS_KEY: Final = "items"
"""Key in `data.files` for the file with the items of the judgements."""
JOINT: Final = " | "
"""Text that joins the contestants, and the labels, in a cell of the flat table."""
Names = tuple[str, ...]
VOTE_COLUMNS: Final = (
    "item", "judge", "prompt", "shown", "picked", "margin", "scores", "status", "orders", "repeat",
    "seconds", "time", "comment", "detail", "labels",
)  # fmt: skip


# ---- items and judgements --------------------------------------------------------------------


@reads(
    "evenhand", "Evenhand's items", "items",
    {"id, instruction, responses": "id, instruction and responses are Evenhand's own items"},
)  # fmt: skip
def read_items(source: OpenedSource) -> SourceBuilder:
    """Read items: one object per line with `id`, `instruction`, `responses`.

    Also `context`, `images`, `reference`, `ground_truth`, `criteria`, `category`, `meta`, `human`,
    `checks`, `labels`.
    """
    return SourceBuilder(items=parse_items(source.rows))


@reads(
    "evenhand-judgements", "Evenhand's judgements, as exported", "every verdict, order and reply",
    {"ask, status, reply": "ask, status and reply are Evenhand's own judgements"},
)  # fmt: skip
def read_judgements(source: OpenedSource) -> SourceBuilder:
    """Read Evenhand's export of judgements (`jsonl`, `parquet`).

    Lossless; their questions and answers are those of an items file that `--files` names.
    """
    return _builder_of_judgements_and_items(source, parse_judgements(source.rows))


def parse_judgements(table: SourceTable) -> list[Judgement]:
    """Parse the rows of an export of judgements; SourceError for a row that is not a judgement."""
    if table.kind == "parquet":
        table = replace(table, rows=[normalise_parquet_value(row) for row in table.rows])
    return _parse_rows(table, "judgement", "; export it again", _parse_judgement)


def _parse_rows(
    table: SourceTable, kind: str, advice: str, parse: Callable[[Row], Judgement]
) -> list[Judgement]:
    """Return the judgements in the rows of one of Evenhand's exports, each converted by `parse`.
    SourceError for a row that it cannot convert: the message names the row, the `kind` of row
    expected ("judgement" or "vote") and ends with the text `advice`."""
    found = []
    for index, row in enumerate(table.rows):
        try:
            found.append(parse(row))
        except (ValueError, KeyError, TypeError) as error:
            reason = f"{type(error).__name__} {error}{advice}"
            raise SourceError(f"{table.row_place(index)}: not a {kind}: {reason}"[:400]) from None
    return found


def _builder_of_judgements_and_items(
    source: OpenedSource, all_judgements: Sequence[Judgement]
) -> SourceBuilder:
    """Return a builder that contains exported judgements, without duplicates, and their items;
    an item that is in no file gets no texts. Notes state missing texts and duplicates.
    SourceError if `data.files` has another key than ITEMS_KEY."""
    files = source.spec.files
    if unknown := sorted(set(files) - {ITEMS_KEY}):
        raise SourceError(
            f"data.files: {unknown[0]!r} is not used with judgements; name their items as "
            f"{ITEMS_KEY}: items.jsonl"
        )
    judgements = keep_first_per_ask(all_judgements)
    tables = source.read_other_files().values()
    items, missing = _read_items_and_missing(tables, [j.ask.item for j in judgements])
    builder = SourceBuilder([*items, *missing], judgements)
    if missing and items:
        builder.notes.append(
            f"{count(len(missing), 'item')} of the judgements not found in {files[ITEMS_KEY]}"
        )
    elif missing:
        if flagged := sum(bool(row.get(SUSPECT_COLUMN)) for row in source.rows.rows):
            builder.notes.append(
                f"{count(flagged, 'judgement')} flagged as injection suspects when exported; "
                "adding questions and answers restores the flags"
            )
        builder.notes.append(
            "no questions and answers in the file: name them in data.files, "
            f"{ITEMS_KEY}: items.jsonl"
        )
    if duplicates := len(all_judgements) - len(judgements):
        builder.notes.append(f"{count(duplicates, 'judgement')} skipped: duplicates of others")
    return builder


def _read_items_and_missing(
    tables: Iterable[SourceTable], ids: Iterable[str]
) -> tuple[list[Item], list[Item]]:
    """Return the items in these tables, and an item without texts for each of `ids` that is not
    among them."""
    items = [item for table in tables for item in parse_items(table, texts_required=False)]
    known = {item.id for item in items}
    return items, [Item(id, "", {}) for id in dict.fromkeys(ids) if id not in known]


def keep_first_per_ask(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the first judgement of each request to a judge, as joined exports can contain a
    judgement twice."""
    first: dict[tuple[object, ...], Judgement] = {}
    for judgement in judgements:
        ask = judgement.ask
        at = (ask.judge, ask.prompt, ask.item, ask.shown, ask.labels, ask.repeat, ask.reads)
        first.setdefault(at, judgement)
    return list(first.values())


def _check_status(status: str) -> Any:
    """Return the status; ValueError if it is none of STATUSES."""
    if status not in STATUSES:
        raise ValueError(f"unknown status {status!r}")
    return status


def _parse_judgement(values: Mapping[str, Any]) -> Judgement:
    """Parse one judgement; nested parts may be JSON texts, as in flat tables. ValueError for an
    unknown status, or for a usable status without a verdict.

    Injection flags of an export are ignored, since they are computed again from the items.
    """
    ask, held = dict(_decode_json(values["ask"])), _decode_json(values.get("verdict"))
    status = _check_status(values["status"])
    for name in ("shown", "labels"):
        ask[name] = tuple(ask[name])
    rest = dict(values)
    for name in FLAG_FIELDS:
        rest.pop(name, None)
    verdict = None if held is None else _parse_verdict(held, len(ask["shown"]))
    given = verdict is not None and (verdict.pick is not None or verdict.scores)
    if status in USABLE_STATUSES and not given:
        raise ValueError(f"status is {status!r}, but there is no verdict")
    usage = Usage(**(_decode_json(values.get("usage")) or {}))
    return Judgement(**{**rest, "ask": Ask(**ask), "verdict": verdict, "usage": usage})


def _decode_json(value: Any) -> Any:
    """Parse a value that is a JSON text; return any other value unchanged."""
    return parse_json_cell_or_raise(value) if isinstance(value, str) else value


def _parse_verdict(values: Mapping[str, Any], shown: int) -> Verdict:
    """Parse a verdict; ValueError for a pick that is none of the `shown` slots, or an unknown
    margin."""
    found = dict(values)
    for name in ("scores", "label_probabilities"):
        found[name] = tuple(found.get(name) or ())
    pick, margin = values.get("pick"), values.get("margin", 1)
    if isinstance(pick, str) and pick != "tie":  # a column of numbers and "tie" is read as text
        pick = int(pick)
    if (pick not in (None, "tie") and pick not in range(shown)) or isinstance(pick, bool):
        raise ValueError(
            f"pick is {pick!r}, of {shown} answers shown: expected a slot from 0, 'tie' or null"
        )
    if margin not in (0, 1, 2) or isinstance(margin, bool):
        raise ValueError(f"margin is {margin!r}: expected 0, 1 or 2")
    found["pick"] = int(pick) if isinstance(pick, float) else pick
    return Verdict(**found)


# ---- the flat table of judgements ------------------------------------------------------------


def _why_matches_flat_table(table: SourceTable) -> str:
    own = tuple(table.columns) in FLAT_HEADERS
    return "these are the columns of Evenhand's flat table of judgements" if own else ""


@reads(
    "evenhand-csv", "Evenhand's flat table of judgements, as exported", "verdicts with orders",
    _why_matches_flat_table,
)  # fmt: skip
def read_flat_table(source: OpenedSource) -> SourceBuilder:
    """Read Evenhand's flat table of judgements.

    Verdicts, orders and arrangements, replies, costs; not the details of token use, nor names that
    contain ` | `. Questions and answers as with `evenhand-judgements`.
    """
    table = source.rows
    found = _parse_rows(table, "judgement", "; export it again", _parse_flat_row)
    return _builder_of_judgements_and_items(
        source, found if "orders" in table.columns else _set_order_counts(found)
    )


def _parse_flat_row(row: Row) -> Judgement:
    cell = {name: text_of(value) for name, value in row.items()}
    usable = _check_status(cell["status"]) in USABLE_STATUSES
    shown, labels = (tuple(cell[name].split(JOINT)) for name in ("shown", "labels"))
    counts = [cell["prompt_tokens"], cell["completion_tokens"]]
    prompt, completion = (int(float(count)) if count else None for count in counts)
    cost = float(cell["cost"]) if cell["cost"] else None
    facts = {"usage": Usage(prompt, completion), "cost": cost, "model": cell["model"]}
    verdict = _flat_verdict(cell, len(shown)) if usable else None
    return _make_judgement(cell, shown, labels, verdict, reply=cell["reply"], **facts)


def _make_judgement(
    cell: dict[str, str], shown: Names, labels: Names, verdict: Verdict | None, **facts: Any
) -> Judgement:
    """Return the judgement of a row, from those columns that the flat table of judgements and
    the table of votes both have. `cell`: column -> text; `facts` are further fields."""
    ask = Ask(
        *(cell.get("key", ""), cell["item"], cell["judge"], cell["prompt"], shown, labels),
        repeat=int(cell["repeat"] or 0),
        noise=cell.get("noise") == "1",
        orders=int(cell.get("orders") or 1),
    )
    status, detail = _check_status(cell["status"]), cell["detail"]
    facts |= {name: float(cell.get(name) or 0) for name in ("seconds", "time")}
    return Judgement(ask, status, verdict, rule=cell["rule"], detail=detail, **facts)


def _flat_verdict(cell: Mapping[str, str], shown: int) -> Verdict:
    """Return the verdict of a row of the flat table; ValueError if it has neither a slot nor
    scores, or a slot that is none of the `shown` ones."""
    scores = tuple(float(part) for part in cell["scores"].split(JOINT) if part)
    slot: Any = cell["slot"] if cell["slot"] in ("", "tie") else int(cell["slot"])
    if slot == "" and not scores:
        raise ValueError(f"status is {cell['status']!r}, but there is no verdict")
    if isinstance(slot, int) and not 0 <= slot < shown:
        raise ValueError(f"slot is {slot}, but only {shown} answers were shown")
    likely = tuple(parse_json_cell_or_raise(cell.get("probabilities") or "[]"))
    mass = float(cell["label_mass"]) if cell.get("label_mass") else None
    margin = int(cell["margin"]) if cell["margin"] else 1
    return Verdict(None if slot == "" else slot, margin, scores, likely, mass)


def _set_order_counts(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements with `Ask.orders` set: the number of orders in which the file has the
    comparison or, for one answer, of arrangements of the options. It is used for older files,
    which lack this number."""
    seen: dict[tuple[object, ...], set[tuple[object, ...]]] = defaultdict(set)
    asks = [one.ask for one in judgements]
    keys = [(ask.judge, ask.prompt, ask.item, frozenset(ask.shown)) for ask in asks]
    for key, ask in zip(keys, asks, strict=True):
        seen[key].add((ask.shown, ask.labels) if len(ask.shown) == 1 else (ask.shown,))
    return [
        replace(one, ask=replace(one.ask, orders=len(seen[key])))
        for one, key in zip(judgements, keys, strict=True)
    ]


# ---- people's votes --------------------------------------------------------------------------


def vote_row(judgement: Judgement) -> dict[str, object]:
    """Convert a vote to a row of the exported table of votes (column -> value). The cell `labels`
    is empty if the answers had the usual labels (A, B)."""
    ask, verdict = judgement.ask, judgement.verdict
    pick = None if verdict is None else verdict.pick
    picked = ask.shown[pick] if isinstance(pick, int) else pick or ""
    scores = json.dumps(verdict.scores) if verdict and verdict.scores else ""
    labels = "" if ask.labels == slot_labels(len(ask.shown)) else json.dumps(ask.labels)
    margin = "" if verdict is None else verdict.margin
    shown = json.dumps(ask.shown, ensure_ascii=False)
    values = (
        ask.item, ask.judge, ask.prompt, shown, picked, margin, scores, judgement.status,
        ask.orders, ask.repeat, repr(judgement.seconds), repr(judgement.time), judgement.reply,
        judgement.detail, labels,
    )  # fmt: skip
    return dict(zip(VOTE_COLUMNS, values, strict=True))


@reads(
    "evenhand-votes",
    "people's votes, exported from Evenhand",
    "people's votes",
    {
        "item, judge, shown, picked, comment, time": "item, judge, shown, picked, comment and time "
        "are Evenhand's own votes"
    },
)
def read_votes(source: OpenedSource) -> SourceBuilder:
    """Read people's votes, exported from Evenhand.

    Lossless, one row per vote; questions and answers as with `evenhand-judgements`.
    """
    files = source.spec.files
    tables = [source.read_other_file(files[ITEMS_KEY])] if ITEMS_KEY in files else []
    votes = _parse_rows(source.rows, "vote", "", _parse_vote)
    items, missing = _read_items_and_missing(tables, [vote.ask.item for vote in votes])
    builder = SourceBuilder([*items, *missing], votes)
    if missing:
        builder.notes.append(
            f"{len(missing)} of the items voted on have no text here: name them in data.files, "
            f"{ITEMS_KEY}: items.jsonl"
        )
    return builder


def unguarded_text(value: object) -> str:
    """Return the text of a cell, without the apostrophe that exports put before a text that a
    spreadsheet would take for a formula."""
    return unguard_formula(text_of(value))


def _parse_vote(row: Row) -> Judgement:
    cell = {name: unguarded_text(row.get(name)) for name in VOTE_COLUMNS} | {"rule": "vote"}
    cell |= {"status": cell["status"] or "ok", "prompt": cell["prompt"] or "vote"}
    shown = tuple(str(name) for name in parse_json_cell_or_raise(cell["shown"]))
    usable = _check_status(cell["status"]) in USABLE_STATUSES
    labels = (
        tuple(parse_json_cell_or_raise(cell["labels"]))
        if cell["labels"]
        else slot_labels(len(shown))
    )
    verdict = _vote_verdict(cell, shown)
    if verdict is None and usable:
        raise ValueError(f"status is {cell['status']!r}, but nothing is picked")
    return _make_judgement(cell, shown, labels, verdict, reply=cell["comment"])


def _vote_verdict(cell: Mapping[str, str], shown: tuple[str, ...]) -> Verdict | None:
    """Return the verdict of a row of votes, None if it has neither a pick nor scores; ValueError if
    the pick is not among the contestants `shown`."""
    picked, scores = cell["picked"], tuple(parse_json_cell_or_raise(cell["scores"] or "[]"))
    if not picked and not scores:
        return None
    if picked not in ("", "tie", *shown):
        raise ValueError(f"picked is {picked!r}, which is not among {', '.join(shown)}")
    pick: Any = picked if picked == "tie" else shown.index(picked) if picked else None
    margin = int(cell["margin"]) if cell["margin"] else int(picked != "tie")
    return Verdict(pick, margin, scores)


# ---- folders of shards -----------------------------------------------------------------------


def _why_matches_shards(folder: Path) -> str:
    if next(folder.rglob("*.parquet"), None) is None:
        return ""  # without a Parquet file pyarrow is not needed
    from studies.files import shards

    return shards.why_matches_shards(folder)


@reads(
    "evenhand-shards", "a folder of Parquet files with judgements, exported from Evenhand",
    "every verdict, order and reply", folder=_why_matches_shards,
)  # fmt: skip
def read_shards(source: OpenedSource) -> SourceBuilder:
    """Read a folder of Parquet files with judgements, exported from Evenhand.

    Lossless; the items are in `items.jsonl` in the same folder.
    """
    # Only a summary is read here, because millions of verdicts do not fit into memory as objects.
    # When a study is saved, studies/exchange/shard_import.py imports the columns of the shards.
    from studies.files.shards import ITEMS_FILE, summarise_shards

    contents = summarise_shards(source.path)
    items_path = source.path / ITEMS_FILE
    tables = [read_table(items_path)] if items_path.is_file() else []
    items, missing = _read_items_and_missing(tables, contents.items)
    builder = SourceBuilder([*items, *missing])
    builder.shards, builder.unknown_order = contents, contents.unknown_order
    if missing:
        builder.notes.append(
            f"{count(len(missing), 'item')} of the judgements without question and answers: add "
            f"them to {ITEMS_FILE} in the folder of the shards"
        )
    return builder
