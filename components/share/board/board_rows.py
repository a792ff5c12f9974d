"""The rows of a board, a page that compares judges: one row for each judge with a prompt, computed
from the board's records alone. A row has facts, measures with intervals, places (ranges of ranks),
and the verdicts behind the numbers."""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pandas as pd

from components.share.board.record_tree import StudyRecords
from judges.rendering.prompt import hash_json
from metrics.catalogue.records import RECORDS
from metrics.estimation import all_measures, intervals, row_selection
from metrics.ratings.judge_as_ranker import RankedStudy, judge_as_ranker
from metrics.twins.twin_effects import TwinEffect, twin_effects
from metrics.twins.twin_sentence import difference_with_interval_text, effects_of_irrelevant_changes
from studies.domain import HUMAN_PREFIX, Estimate, Judgement
from studies.exchange.unsaved_study import frame_from_judgements
from studies.files.items import dump_item
from studies.frames import frame_codes, twin_rows
from studies.frames.frame import RIGHT_COLUMN
from studies.texts.twin_families import is_twin

Json = dict[str, Any]
TALLIED: Final = ("accuracy", "agreement", "consistency", "first_share", "longer", "unusable")
RANKED: Final = {
    "ranking_tau": "tau",
    "decisiveness": "decisiveness",
    "model_bias_spread": "bias_spread",
}
"""Column with a measure of how a judge ranks the models -> field of `RankerMeasures` that has
it."""
TWINS: Final = "twin_preference"
"""Column of the largest effect of a twin (an answer with a change that should not matter); the kind
of change differs between rows."""
COLUMNS: Final = (*TALLIED, *RANKED, TWINS)
UNPLACED: Final = frozenset({"decisiveness", "longer", TWINS})
"""Columns in which no direction is better, so that `add_rank_ranges` gives the rows no places."""
DECIMALS: Final = 6
"""Decimals of the numbers of a board: beyond them, processors may round differently."""
LAST_TIME: Final = 1e11
"""Times of replies from this value on (later than the year 5000) are not seconds since 1970, and
count as unknown."""
FORMAT: Final = 1


def compute_board(all_records: Iterable[StudyRecords], title: str) -> tuple[Json, dict[str, str]]:
    """Compute a board from the records of its studies, which are read one at a time. Return its
    numbers, as board.json stores them, and row id -> the verdicts of the row, as a JSON text."""
    rows: list[tuple[Json, str]] = []
    sets: dict[str, Json] = {}
    for records in all_records:
        for row, verdicts, judged in rows_with_verdicts_and_sets(records):
            sets.setdefault(row["set"], judged)
            text = json.dumps(verdicts, ensure_ascii=False, separators=(",", ":"))
            rows.append((row, text))
    rows.sort(key=lambda one: (one[0]["study"], one[0]["judge"], one[0]["prompt"]))
    sets = dict(sorted(sets.items(), key=lambda one: (-one[1]["items"], one[0])))
    for key in sets:
        add_rank_ranges([row for row, _ in rows if row["set"] == key])
    named = [{"id": str(place), **row} for place, (row, _) in enumerate(rows, 1)]
    return {
        "format": FORMAT,
        "title": title,
        "columns": [describe_column(key) for key in COLUMNS if _has_values(named, key)],
        "sets": sets,
        "rows": named,
        "verdicts": sum(row["asked"] for row in named),
        "date": max((row["date"] for row in named), default=""),
    }, {str(place): text for place, (_, text) in enumerate(rows, 1)}


def _has_values(rows: Iterable[Json], key: str) -> bool:
    return any(row["numbers"][key]["value"] is not None for row in rows)


def describe_column(key: str) -> Json:
    """Names and meaning of a column, from the catalogue of measures, as board.json stores them."""
    one = RECORDS[key]
    return {
        "key": key,
        "name": one.name,
        "head": one.column_head,
        "about": f"{one.description}. {one.how}".strip(),
        "style": one.style,
        "better": one.better,
        "placed": key not in UNPLACED,
    }


# ---- one study -----------------------------------------------------------------------------------


def rows_with_verdicts_and_sets(records: StudyRecords) -> Iterator[tuple[Json, Json, Json]]:
    """For each pair of judge and prompt with judgements that compare answers, yield three dicts:
    the row; its verdicts; and facts on the set of comparisons that was judged. People get no
    rows."""
    frame = frame_from_judgements(records.items, records.judgements, records.study.name)
    by = ["judge", "prompt"]
    own, twins = (twin_rows.filter_rows_by_twins(frame, kind) for kind in ("without", "only"))
    compared = row_selection.select_rows(own, own["options"] > 1)
    measures = [RECORDS[key].estimator for key in TALLIED]
    found = all_measures.estimate_all(measures, compared, by)
    estimates = {key: found[one.name] for key, one in zip(TALLIED, measures, strict=True)}
    content = {item.id: _item_hash(dump_item(replace(item, twins={}))) for item in records.items}
    right = _rightness_of_verdicts(frame)
    groups = _comparison_indices_by_rater(records.judgements)
    study, effects = RankedStudy.from_frame(own), twin_effects(twins, own)
    for judge, prompt in sorted(groups):
        if judge.startswith(HUMAN_PREFIX):
            continue
        places = groups[judge, prompt]
        mine = [records.judgements[place] for place in places]
        rows = row_selection.select_rows(
            compared, (compared["judge"] == judge) & (compared["prompt"] == prompt)
        )
        nothing = intervals.unknown_estimate("no comparison without a twin")
        numbers = {
            key: _estimate_to_json(estimates[key].get((judge, prompt), nothing)) for key in TALLIED
        }
        numbers |= _compute_ranker_numbers(rows, study)
        numbers[TWINS] = largest_twin_effect(
            [e for e in effects if (e.judge, e.prompt) == (judge, prompt)]
        )
        for key, one in numbers.items():
            chances = {RECORDS[key].chance(n) for n in {*rows["options"].tolist()} or {2}}
            one["neutral"] = chances.pop() if len(chances) == 1 else None
        judged = _describe_judged_set(mine, content, records.source)
        facts = _row_description(records, judge, prompt, mine)
        row = {**facts, "set": judged.pop("hash"), "numbers": numbers}
        yield row, _verdicts_json(mine, places, right), judged


def _rightness_of_verdicts(frame: pd.DataFrame) -> np.ndarray:
    """For each row of the frame: 1 if its verdict is right, 0 if it is wrong (ties too), −1 if the
    better answer is unknown or there is no verdict. The measure Accuracy counts verdicts in the
    same way."""
    pick, answer = frame["pick"].to_numpy(), frame["known_answer"].to_numpy()
    found = np.where(answer >= 0, pick == answer, -1)
    if RIGHT_COLUMN in frame:  # of three options or more, several may be right
        found = frame[RIGHT_COLUMN].to_numpy()
    return np.where(pick == frame_codes.NO_PICK, -1, found)


def _comparison_indices_by_rater(
    judgements: Sequence[Judgement],
) -> dict[tuple[str, str], list[int]]:
    """Indices of the judgements that compare answers, by judge and prompt."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, one in enumerate(judgements):
        if len(one.ask.shown) > 1 and one.ask.reads is None:
            found[one.ask.judge, one.ask.prompt].append(place)
    return found


def _compute_ranker_numbers(rows: pd.DataFrame, study: RankedStudy) -> Json:
    found = judge_as_ranker(rows, study)
    return {key: _estimate_to_json(getattr(found, name)) for key, name in RANKED.items()}


def largest_twin_effect(effects: Sequence[TwinEffect]) -> Json:
    """The largest effect of a harmless change of an answer (a twin family) on the verdicts, after
    subtracting the effect of a change that cannot matter (its floor); the note names both changes.
    The interval is adjusted for all families, so it also holds for the largest. The value is None
    without verdicts on twins and their floor."""
    moving = [
        one for one in effects_of_irrelevant_changes(effects) if one.adjusted.value is not None
    ]
    if not moving:
        return _estimate_to_json(intervals.unknown_estimate("no verdicts on twins and their floor"))
    top = moving[0]
    floor = f"floor {top.floor_family} {difference_with_interval_text(top.floor)}"
    note = f"{top.family}, {top.finding}; {floor}"
    return {**_estimate_to_json(top.adjusted), "note": note}


def _estimate_to_json(estimate: Estimate) -> Json:
    """An estimate as a board stores it, rounded."""
    return {
        "value": _round_or_none(estimate.value),
        "low": _round_or_none(estimate.low),
        "high": _round_or_none(estimate.high),
        "n": estimate.n,
        "items": estimate.items,
        "note": estimate.note,
    }


def _round_or_none(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return round(float(value), DECIMALS) + 0.0  # without a minus zero


def _item_hash(item: Mapping[str, Any]) -> str:
    text = json.dumps(item, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _describe_judged_set(
    judgements: Sequence[Judgement], content: Mapping[str, str], source: str
) -> Json:
    """Facts on the comparisons that a judge was given, without those that show twins (changed
    copies of answers): hash, source, number of items and comparisons, models. Equal sets of
    comparisons have equal hashes; only rows with the same set are ranked against each other.
    `content`: item -> hash of its contents."""
    asked = {
        (one.ask.item, tuple(sorted(one.ask.shown)))
        for one in judgements
        if not one.ask.noise and not any(map(is_twin, one.ask.shown))
    }
    lines = sorted(f"{content.get(item, item)} {' | '.join(shown)}" for item, shown in asked)
    models = sorted({name for _, shown in asked for name in shown})
    return {
        "hash": hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12],
        "source": source,
        "items": len({item for item, _ in asked}),
        "comparisons": len(asked),
        "models": models,
    }


def _row_description(
    records: StudyRecords, judge: str, prompt: str, judgements: Sequence[Judgement]
) -> Json:
    """Facts on a row of the board besides its measures: study, judge, prompt, models, hashes,
    numbers of verdicts, cost, date, and who ran the study. `judgements`: those of the row."""
    spec = next((one for one in records.study.judges if one.name == judge), None)
    text = next((one for one in records.prompts if one.name == prompt), None)
    imported = records.is_imported(judge)
    counted = [one for one in judgements if not one.ask.noise]
    comparisons = len({(one.ask.item, frozenset(one.ask.shown)) for one in counted})
    costs = [one.cost for one in counted]
    dollars = None if None in costs else sum(cost or 0.0 for cost in costs)
    tokens = [(one.usage.prompt or 0) + (one.usage.completion or 0) for one in counted]
    last = max((one.time for one in judgements if one.time < LAST_TIME), default=0.0)
    reading = [records.study.reading, spec.read if spec else "", repr(text.format) if text else ""]
    return {
        "study": records.name,
        "name": records.study.name,
        "judge": judge,
        "prompt": prompt,
        "model": ", ".join(sorted({one.model for one in judgements if one.model}))
        or "not reported",
        "requested": _requested_model(records, judge),
        "simulated": bool(spec and spec.kind == "simulated"),
        "prompt_hash": text.sha[:12] if text and not imported else "",
        "reading_hash": "" if imported else hash_json(reading)[:12],
        "asked": len(judgements),
        "readable": sum(one.usable for one in judgements),
        "not_read_again": sum(
            imported or _cannot_be_read_again(one) for one in judgements if one.usable
        ),
        "dollars_per_1000": _mean_per_comparison(dollars, comparisons, 1000),
        "tokens": _mean_per_comparison(sum(tokens) or None, comparisons, 1),
        "date": datetime.fromtimestamp(last, UTC).date().isoformat() if last else "",
        "by": records.by,
        "imported": imported,
    }


def _requested_model(records: StudyRecords, judge: str) -> str:
    """The model that the requests to a judge named; for a judge that is not called at an address,
    the text that identifies its weights or its simulation. It is part of the key of every call. ""
    for imported verdicts."""
    spec = next((one for one in records.study.judges if one.name == judge), None)
    if spec is None or records.is_imported(judge):
        return ""
    return spec.model if spec.kind == "endpoint" else records.identities[judge]


def _cannot_be_read_again(judgement: Judgement) -> bool:
    """Whether the verdict of a record cannot be read from its reply again: it was read by an
    extraction judge (another model), or from token probabilities that were not stored."""
    return judgement.status == "extracted" or (
        judgement.rule == "probabilities" and not judgement.top_logprobs
    )


def _mean_per_comparison(total: float | None, comparisons: int, scale: int) -> float | None:
    return None if total is None or not comparisons else _round_or_none(scale * total / comparisons)


def _verdicts_json(judgements: Sequence[Judgement], places: Sequence[int], right: Any) -> Json:
    """The models of a row of the board, and its verdicts. Each verdict is a list of seven values:
    line in the record file; item; models as shown (indices of the models); position chosen, from 0
    (−1: tie, None: no verdict); right (1), wrong (0) or unknown (−1); 1 if the comparison flips; 1
    if the call was repeated only to measure the noise floor.

    `places`: index of each judgement in the records; `right`: rightness of each record."""
    flips = _flipped_comparisons(judgements)
    models = sorted({name for one in judgements for name in one.ask.shown})
    code = {name: place for place, name in enumerate(models)}
    rows = []
    for one, place in zip(judgements, places, strict=True):
        pick = one.verdict.pick if one.verdict and one.usable else None
        rows.append(
            [
                place + 1,
                one.ask.item,
                [code[name] for name in one.ask.shown],
                -1 if pick == "tie" else pick,
                int(right[place]),
                int((one.ask.item, frozenset(one.ask.shown)) in flips),
                int(one.ask.noise),
            ]
        )
    return {"models": models, "rows": rows}


def _flipped_comparisons(judgements: Sequence[Judgement]) -> set[tuple[str, frozenset[str]]]:
    """The comparisons, as (item, models), that flip: each of their orders has a verdict, and the
    verdicts differ. If an order was repeated, its most frequent choice counts, or a tie if several
    are equally frequent; calls repeated only for the noise floor do not count."""
    chosen: dict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    planned = {(one.ask.item, frozenset(one.ask.shown)): one.ask.orders for one in judgements}
    for one in judgements:
        if one.usable and one.verdict and not one.ask.noise and one.verdict.pick is not None:
            pick, shown = one.verdict.pick, one.ask.shown
            chosen[one.ask.item, shown]["tie" if pick == "tie" else shown[pick]] += 1
    by_comparison: dict[tuple[str, frozenset[str]], list[str]] = defaultdict(list)
    for (item, shown), names in chosen.items():
        most = [name for name, times in names.items() if times == max(names.values())]
        by_comparison[item, frozenset(shown)].append(most[0] if len(most) == 1 else "tie")
    found = by_comparison.items()
    return {key for key, names in found if len(set(names)) > 1 and len(names) >= planned[key]}


# ---- places --------------------------------------------------------------------------------------


def add_rank_ranges(rows: Sequence[Json]) -> None:
    """Set the range of places of each number of the rows, which must all be on the same
    comparisons: `place` becomes [best, worst], or None if the number has no interval or its column
    is in UNPLACED.

    A row is surely better than another if its whole interval is better. Its best place is one more
    than the number of rows that are surely better. Its worst place is the number of rows with an
    interval minus those that are surely worse."""
    for key in COLUMNS:
        merits = [_interval_where_higher_is_better(key, row["numbers"][key]) for row in rows]
        known = [one for one in merits if one is not None]
        for row, mine in zip(rows, merits, strict=True):
            place = None
            if mine is not None and key not in UNPLACED:
                better = sum(one[0] > mine[1] for one in known)
                worse = sum(one[1] < mine[0] for one in known)
                place = [better + 1, len(known) - worse]
            row["numbers"][key]["place"] = place


def _interval_where_higher_is_better(key: str, number: Json) -> tuple[float, float] | None:
    """The interval of a number on a scale where higher is better: unchanged if high is good,
    negated if low is good. Otherwise it is minus the distance from the neutral value (the value
    without an effect). None without an interval, or if the neutral value is unknown."""
    low, high = number["low"], number["high"]
    if number["value"] is None or low is None or high is None:
        return None
    one = RECORDS[key]
    if one.better == "high":
        return low, high
    if one.better == "low":
        return -high, -low
    neutral = number.get("neutral", one.chance())
    if neutral is None:
        return None
    far = max(abs(low - neutral), abs(high - neutral))
    near = 0.0 if low <= neutral <= high else min(abs(low - neutral), abs(high - neutral))
    return -far, -near


def reported_models(judgements: Iterable[Judgement]) -> dict[str, Counter[str]]:
    """Judge -> model names that its replies report -> number of replies."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in judgements:
        if one.model:
            found[one.ask.judge][one.model] += 1
    return found
