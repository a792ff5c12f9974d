"""Items and judgements of a judgement frame, written in Evenhand's own formats."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

import pandas as pd

from studies.domain import BY_DESIGN, USABLE_STATUSES, Ask, Item, Judgement, Preference, Verdict
from studies.errors import write_error
from studies.files.items import dump_item
from studies.frames.frame import SEP, TIE
from studies.frames.frame_codes import NO_PICK


def write_frame_records(
    frame: pd.DataFrame, items: Iterable[Item], folder: Path
) -> tuple[Path, Path]:
    """Write the judgements of a frame and their items, unusable replies and better answers
    included; return both paths.

    `items` are the items whose texts are known. A better answer that such an item does not state is
    taken from the frame, as an answer that is better by design.
    """
    verdicts, file = folder / "judgements.jsonl", folder / "items.jsonl"
    try:
        _write_lines(verdicts, (asdict(one) for one in frame_judgements(frame)))
        _write_lines(file, (dump_item(one) for one in frame_items(frame, items)))
    except OSError as error:
        raise write_error(folder, error) from None
    return verdicts, file


def _write_lines(path: Path, records: Iterable[dict[str, object]]) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def frame_judgements(frame: pd.DataFrame) -> Iterator[Judgement]:
    """Yield the judgement of each row: its verdict, or its status if the reply is unusable."""
    for row in frame.to_dict("records"):
        ask = Ask(
            "",
            str(row["item"]),
            str(row["judge"]),
            str(row["prompt"]),
            tuple(str(row["shown"]).split(SEP)),
            tuple(str(row["labels"]).split(SEP)),
            int(row["repeat"]),
            bool(row["noise"]),
            orders=int(row["orders"]),
        )
        usable = row["status"] in USABLE_STATUSES
        verdict = Verdict(_pick(int(row["pick"])), int(row["margin"])) if usable else None
        yield Judgement(ask, row["status"], verdict)


def _pick(code: int) -> int | Literal["tie"] | None:
    return "tie" if code == TIE else None if code == NO_PICK else code


def frame_items(frame: pd.DataFrame, items: Iterable[Item]) -> Iterator[Item]:
    """Yield an item for each item of the frame, with its category and its better answers."""
    known = {item.id: item for item in items}
    better = _better_answers(frame)
    category = dict(zip(frame["item"].astype(str), frame["category"].astype(str), strict=True))
    for name, group in category.items():
        item = known.get(name, Item(name, "", {}))
        human = item.human or tuple(better.get(name, {}).values())
        yield replace(item, category=item.category or group, human=human)


def _better_answers(frame: pd.DataFrame) -> dict[str, dict[str, Preference]]:
    """Item -> comparison -> its better answer, from the column `truth`."""
    found: dict[str, dict[str, Preference]] = {}
    rows = frame.loc[frame["truth"] != NO_PICK, ["item", "shown", "comparison", "truth"]]
    for item, shown, comparison, truth in rows.itertuples(index=False):
        names = tuple(str(shown).split(SEP))
        picked = "tie" if truth == TIE else names[int(truth)]
        pair = tuple(str(comparison).split(SEP))
        found.setdefault(str(item), {})[str(comparison)] = Preference(BY_DESIGN, pair, picked)
    return found
