"""First screen: the result of the recorded demo and three next steps. No gradio."""

from __future__ import annotations

import json

import pandas as pd

from components.html.forest_tables import first_visit_table
from components.html.format import count, share
from components.html.markup import Markup, attributes, fill, join, link_button
from components.html.pieces import data_note, empty_state, finding_html, wrap
from components.results.bias import panels as bias_view
from components.results.bias.panels import first_visit_rows
from components.study.plan import demo_studies
from studies.store.store import Store


def welcome_screen(store: Store) -> list[str]:
    """HTML of the first screen: headline, table, next steps, data source."""
    names = [line.name for line in store.studies()]
    ways = next_steps(store)
    if demo_studies.PAIRS_STUDY not in names:
        told = "Set up a study below."
        return [
            finding_html("Is your judge even-handed?", "No recorded demo in this store."),
            empty_state("Nothing is recorded here.", told),
            ways,
            "",
        ]
    told = (
        "Real replies of SmolLM2-135M-Instruct to the built-in probe set, recorded. It is far too "
        "small to rank models: it is here to show what position bias looks like."
    )
    return [*_demo_finding(store), ways, data_note(told)]


def _demo_finding(store: Store) -> tuple[str, str]:
    """Headline and table of the demo, computed once for all visitors."""
    study = demo_studies.PAIRS_STUDY
    return store.memoised(
        study, ("demo finding",), lambda: _compute_demo_finding(store.frame(study))
    )


def _compute_demo_finding(frame: pd.DataFrame) -> tuple[str, str]:
    return finding_html(*_demo_sentences(frame)), first_visit_table(first_visit_rows(frame))


def _demo_sentences(frame: pd.DataFrame) -> tuple[str, str]:
    rows, pairs = first_visit_rows(frame), bias_view.leans_from_frame(frame)
    flips, asked = sum(row.flips for row in pairs), sum(row.pairs for row in pairs)
    rate = share(flips / max(1, asked), 0)
    lead = (
        f"A small judge on this machine compared {asked // max(1, len(rows))} pairs of answers to "
        f"{frame['item'].nunique()} questions in both orders, with "
        f"{count(len(rows), 'prompt')}. Its replies were recorded."
    )
    return (
        f"When the two answers are swapped, this judge changes its verdict on {rate} of pairs.",
        lead,
    )


def next_steps(store: Store) -> Markup:
    """Next steps: own data, own judge, recorded studies."""
    cards = [
        _step_card(
            "Your own data",
            "A table with a question and two or more answers: CSV, JSONL, Parquet, a Hub id, or a "
            "file of recorded verdicts.",
            _form_button("Choose a file", {"set": "kind", "to": "upload"})
            + _form_button("Hub id", {"set": "kind", "to": "hub"}, "ghost"),
        ),
        _step_card(
            "Your own judge",
            "Any OpenAI-compatible endpoint. Keys are held in memory only.",
            _form_button("Add a judge", {"do": "add judge"}),
        ),
        _step_card("Recorded studies", "No calls, no costs.", _recorded_studies(store)),
    ]
    return wrap(fill('<div class="eh-form eh-ways" data-seen="0">{}</div>', join(cards)))


def _step_card(title: str, text: str, below: str) -> Markup:
    return fill(
        '<section class="eh-panel"><h2>{}</h2><p>{}</p><div class="eh-row">{}</div></section>',
        title,
        text,
        below,
    )


def _form_button(words: str, action: dict[str, str], kind: str = "") -> Markup:
    made = attributes(
        {
            "type": "button",
            "class": f"eh-btn {kind}".strip(),
            "data-do": json.dumps(action),
            "data-goto": "#eh-form",
        }
    )
    return fill("<button{}>{}</button>", made, words)


def _recorded_studies(store: Store) -> Markup:
    """Links to recorded studies, and a button to open a file of verdicts."""
    lines = [line for line in store.studies() if line.recorded][:4]
    items = join(
        fill(
            "<li>{} <span class='eh-mute'>{}</span></li>",
            _open_study_button(line.name),
            count(_count_verdicts(store, line.name), "verdict"),
        )
        for line in lines
    )
    more = _form_button("Open a file of verdicts", {"set": "kind", "to": "recorded"}, "ghost")
    return fill('<ul class="eh-plain">{}</ul>{}', items, more)


def _count_verdicts(store: Store, name: str) -> int:
    counts = store.counts(name, recorded=True)
    return int(counts.get("planned", 0))


def _open_study_button(name: str) -> Markup:
    action = json.dumps({"do": "open study", "study": name})
    return link_button(name, {"data-errand": action})
