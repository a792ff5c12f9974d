"""The first screen: the finding of the recorded demo, and three ways on from it. No gradio."""

from __future__ import annotations

import json
from functools import lru_cache

import pandas as pd

from components import demo
from components.bias import view as bias_view
from components.bias.view import first_visit_rows
from components.drawing.pieces import data_line, empty, finding, wrap
from components.drawing.tables import first_visit_table
from components.format import attributes, count, safe, share
from studies.store import Store


def first_screen(store: Store) -> list[str]:
    """Finding, table, the three ways on, data line."""
    names = [line.name for line in store.studies()]
    ways = ways_on(store)
    if demo.PAIRS not in names:
        told = "Judges can be run without it: set up a study below."
        return [
            finding("Is your judge even-handed?", "No recorded demo in this store."),
            empty("Nothing recorded.", told),
            ways,
            "",
        ]
    told = (
        "Real replies of SmolLM2-135M-Instruct to the built-in probe set, recorded. It is far too "
        "small to rank models: it is here to show what position bias looks like."
    )
    return [*_recorded_demo(store, store.version(demo.PAIRS)), ways, data_line(told)]


@lru_cache(maxsize=4)
def _recorded_demo(store: Store, version: tuple[str, int]) -> tuple[str, str]:
    """The finding and its table: every visitor sees them first, and they do not change."""
    frame = store.frame(demo.PAIRS)
    return finding(*_finding(frame)), first_visit_table(first_visit_rows(frame))


def _finding(frame: pd.DataFrame) -> tuple[str, str]:
    rows, pairs = first_visit_rows(frame), bias_view.leans(frame)
    flips, asked = sum(row.flips for row in pairs), sum(row.pairs for row in pairs)
    rate = share(flips / max(1, asked), 0)
    lead = (
        f"A small judge on this machine, asked in both orders about {asked // max(1, len(rows))} "
        f"pairs of answers to {frame['item'].nunique()} questions, with "
        f"{count(len(rows), 'prompt')}. Recorded."
    )
    return f"Swap two answers, and this judge changes its mind on {rate} of pairs.", lead


def ways_on(store: Store) -> str:
    """Your own data, your own judge, what others recorded."""
    cards = [
        _way(
            "Your own data",
            "A table with a question and two or more answers: CSV, JSONL, Parquet, a Hub id, or "
            "somebody’s recorded verdicts.",
            _go("Choose a file", {"set": "kind", "to": "upload"})
            + _go("Hub id", {"set": "kind", "to": "hub"}, "ghost"),
        ),
        _way(
            "Your own judge",
            "Any OpenAI-compatible address. The key stays in memory: in no file, link or export.",
            _go("Add a judge", {"do": "add judge"}),
        ),
        _way("Recorded studies", "Nothing is asked, nothing costs.", _recorded(store)),
    ]
    return wrap(f'<div class="eh-form eh-ways" data-seen="0">{"".join(cards)}</div>')


def _way(title: str, text: str, below: str) -> str:
    return (
        f'<section class="eh-panel"><h2>{safe(title)}</h2><p>{safe(text)}</p>'
        f'<div class="eh-row">{below}</div></section>'
    )


def _go(words: str, action: dict[str, str], kind: str = "") -> str:
    made = attributes(
        {
            "type": "button",
            "class": f"eh-btn {kind}".strip(),
            "data-do": json.dumps(action),
            "data-goto": "#eh-form",
        }
    )
    return f"<button{made}>{safe(words)}</button>"


def _recorded(store: Store) -> str:
    """Studies that can be looked at now, and one more: a file of verdicts."""
    lines = [line for line in store.studies() if line.recorded][:4]
    items = "".join(
        f"<li>{_open(line.name)} "
        f"<span class='eh-mute'>{count(_verdicts(store, line.name), 'verdict')}</span></li>"
        for line in lines
    )
    more = _go("Open a file of verdicts", {"set": "kind", "to": "recorded"}, "ghost")
    return f'<ul class="eh-plain">{items}</ul>{more}'


def _verdicts(store: Store, name: str) -> int:
    counts = store.counts(name, recorded=True)
    return int(counts.get("planned", 0))


def _open(name: str) -> str:
    made = attributes(
        {
            "type": "button",
            "class": "eh-link",
            "data-errand": json.dumps({"do": "open study", "study": name}),
        }
    )
    return f"<button{made}>{safe(name)}</button>"
