"""The header of the page: logo, study menu, state of the run, theme, help and Share buttons."""

from dataclasses import dataclass

import gradio as gr

from components.html.format import count, share
from components.html.markup import EMPTY, Markup
from components.html.pieces import brand_html, run_pill, wrap
from components.layout.widgets import ClickableHTML
from judges.engine.snapshot import RunSnapshot
from studies.store.queries.plan_queries import count_items_judges_people_prompts
from studies.store.store import Store


@dataclass(frozen=True)
class Header:
    study: gr.Dropdown
    note: gr.HTML
    pill: gr.HTML
    share: gr.Button


def build() -> Header:
    with gr.Row(elem_id="eh-bar"):
        ClickableHTML(brand_html(), elem_id="eh-brand")
        study = gr.Dropdown(
            [],
            show_label=False,
            container=False,
            interactive=True,
            elem_id="eh-study",
            label="Study",
        )
        note = ClickableHTML(elem_id="eh-note")
        pill = ClickableHTML(elem_id="eh-pill")
        gr.Button("Light or dark", elem_id="eh-theme")
        gr.Button("Help: keys, words, tour", elem_id="eh-help")
        share_button = gr.Button("Share", elem_id="eh-share")
    return Header(study, note, pill, share_button)


def study_size_html(store: Store, name: str) -> Markup:
    """HTML line on the size of a study, such as "80 items × 2 judges × 1 prompt, recorded"; "no
    results yet" if it has neither items nor calls. Empty if there is no such study."""
    line = next((line for line in store.studies() if line.name == name), None)
    if line is None:  # renamed or deleted meanwhile
        return EMPTY
    items, judges, people, prompts = count_items_judges_people_prompts(store, name)
    if not items and not line.planned:
        return wrap("no results yet")
    counts = [count(items, "item")]
    counts += [count(judges, "judge"), count(prompts, "prompt")] if judges else []
    counts += [f"{count(people)} {'person' if people == 1 else 'people'}"] if people else []
    return wrap(" × ".join(counts) + (", recorded" if line.recorded else ""))


def run_pill_html(snapshot: RunSnapshot | None) -> Markup:
    if snapshot is None or snapshot.state not in ("running", "paused"):
        return EMPTY
    planned = max(1, snapshot.counts.get("planned", 1))
    done, calls = share(snapshot.done / planned, 0), (snapshot.done, planned)
    if snapshot.state == "paused":
        return run_pill(f"Paused {done}", "waiting", calls)
    if seconds := max((wait.seconds for wait in snapshot.waits), default=0.0):
        return run_pill(f"Waiting {max(1, round(seconds))} s {done}", "waiting", calls)
    return run_pill(f"Running {done}", "waiting" if snapshot.waits else "running", calls)
