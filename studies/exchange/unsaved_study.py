"""Judgement frame (a table with one row per judgement) of recorded verdicts that are not saved in
a store; and the items and judgements of a frame, written in Evenhand's own formats.

A frame needs only numpy and pandas; saving a study would also need the packages that read YAML.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.domain import BY_DESIGN, USABLE_STATUSES, Ask, Item, Judgement, Preference, Verdict
from studies.errors import build_write_error
from studies.files.items import dump_item
from studies.frames.frame import SEP, TIE, frame_from_rows
from studies.frames.frame_codes import NO_PICK
from studies.frames.reply_facts import add_reply_facts
from studies.people.item_votes import votes_as_judgements
from studies.sources.building.recorded_verdict import Pick
from studies.sources.load import LoadedSource
from studies.store.rows import item_facts


def frame_from_source(loaded: LoadedSource, study: str) -> pd.DataFrame:
    """Build the frame of the verdicts and votes of a source; `study` is the name of the study."""
    asks = (judgement.ask for judgement in loaded.judgements)
    votes = votes_as_judgements(loaded.items, study, asks, loaded.judgements)
    return frame_from_judgements(loaded.items, [*loaded.judgements, *votes], study)


def frame_from_judgements(
    items: Iterable[Item], judgements: Sequence[Judgement], study: str
) -> pd.DataFrame:
    """Build the frame of the judgements, in the given order; `items` are the items judged, `study`
    is the name of the study."""
    facts = {item.id: item_facts(item) for item in items}
    frame = frame_from_rows(_frame_rows(judgements), facts, study=study)
    return add_reply_facts(
        frame, ((seq, one.reply) for seq, one in enumerate(judgements, start=1) if one.reply)
    )


def has_answers_known_by_design(items: Iterable[Item]) -> bool:
    """Whether any item has a better answer that is known by design of the data, not from votes."""
    return any(one.judge == BY_DESIGN for item in items for one in item.human)


def _frame_rows(judgements: Sequence[Judgement]) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each judgement, with the columns of `Store.frame_rows`."""
    for position, one in enumerate(judgements):
        ask, verdict = one.ask, one.verdict
        pick, scores, likely = None, None, None
        if verdict:
            pick = TIE if verdict.pick == "tie" else verdict.pick
            scores, likely = (
                json.dumps(held) if held else None
                for held in (verdict.scores, verdict.label_probabilities)
            )
        names, labels = SEP.join(ask.shown), SEP.join(ask.labels)
        yield (
            *(position, ask.item, ask.judge, ask.prompt, names, labels, ask.repeat),
            *(int(ask.noise), ask.orders, one.status, pick, verdict.margin if verdict else None),
            *(scores, likely, position + 1),
        )


# ---- records of a frame ----------------------------------------------------------------------


def write_judgement_and_item_files(
    frame: pd.DataFrame, items: Iterable[Item], folder: Path
) -> tuple[Path, Path]:
    """Write the judgements of a frame, unusable ones included, to `judgements.jsonl` in `folder`,
    and their items with the better answers to `items.jsonl`; return both paths. StudyError if a
    file cannot be written.

    `items` are the items whose texts are known. If an item states no better answers, they are taken
    from the frame, as answers that are better by design.
    """
    verdicts, file = folder / "judgements.jsonl", folder / "items.jsonl"
    try:
        _write_json_lines(verdicts, map(asdict, judgements_from_frame(frame)))
        _write_json_lines(file, map(dump_item, items_with_facts_of_frame(frame, items)))
    except OSError as error:
        raise build_write_error(folder, error) from None
    return verdicts, file


def _write_json_lines(path: Path, records: Iterable[object]) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def judgements_from_frame(frame: pd.DataFrame) -> Iterator[Judgement]:
    """Yield the judgement of each row, without reply: its pick, margin and scores (for one answer
    also the levels of a rubric), or only its status if the reply is unusable."""
    scored = [name for name in map(str, frame) if re.fullmatch(r"(score|level)_\d+", name)]
    for row in frame.to_dict("records"):
        shown, labels = (tuple(str(row[name]).split(SEP)) for name in ("shown", "labels"))
        item, judge, prompt = (str(row[name]) for name in ("item", "judge", "prompt"))
        repeat, noise, orders = int(row["repeat"]), bool(row["noise"]), int(row["orders"])
        ask = Ask("", item, judge, prompt, shown, labels, repeat, noise, orders=orders)
        code, status = int(row["pick"]), row["status"]
        pick: Pick = "tie" if code == TIE else None if code == NO_PICK else code
        given = (np.float32(row[name]) for name in scored if row[name] == row[name])
        scores = tuple(float(str(score)) for score in given)  # as text, 0.1 has one decimal
        verdict = Verdict(pick, int(row["margin"]), scores)
        yield Judgement(ask, status, verdict if status in USABLE_STATUSES else None)


def items_with_facts_of_frame(frame: pd.DataFrame, items: Iterable[Item]) -> Iterator[Item]:
    """Yield each item of the frame, with its category and better answers. If `items` has an item
    of the same name, the texts and other fields are taken from it, and its category, votes
    and better answers take precedence over those of the frame. Otherwise the texts are empty."""
    known = {item.id: item for item in items}
    better = _known_better_answers_by_item(frame)
    category = dict(zip(frame["item"].astype(str), frame["category"].astype(str), strict=True))
    for name, group in category.items():
        item = known.get(name, Item(name, "", {}))
        human = item.human or tuple(better.get(name, {}).values())
        yield replace(item, category=item.category or group, human=human)


def _known_better_answers_by_item(frame: pd.DataFrame) -> dict[str, dict[str, Preference]]:
    """Return item -> comparison (its contestants by name, joined by SEP) -> the better answer or
    tie in the column `known_answer`, as a preference by design."""
    found: dict[str, dict[str, Preference]] = {}
    rows = frame.loc[
        frame["known_answer"] != NO_PICK, ["item", "shown", "comparison", "known_answer"]
    ]
    for item, shown, comparison, known_answer in rows.itertuples(index=False):
        names = tuple(str(shown).split(SEP))
        picked = "tie" if known_answer == TIE else names[int(known_answer)]
        pair = tuple(str(comparison).split(SEP))
        found.setdefault(str(item), {})[str(comparison)] = Preference(BY_DESIGN, pair, picked)
    return found
