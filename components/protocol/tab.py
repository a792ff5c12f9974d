"""Results, protocol: what the paper of the study's protocol prints, with intervals added."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import gradio as gr

from components.drawing.panels import heading, how, notice
from components.format import NARROW
from components.plot import ClickableHTML, PlotlyView, Switch
from components.protocol import creation as protocol_creation
from components.protocol import grade as protocol_grade
from components.protocol import published_view
from components.protocol import redundancy as protocol_redundancy
from components.protocol import view as protocol_view
from components.protocol.redundancy import BadScores, read_scores
from components.protocol.words import HOW
from components.results_parts import Parts, pick
from components.scene import Scene

NAME: Final = "Protocol"
NOTHING_BESIDE: Final = "no other study"
CI: Final = f"95{NARROW}% CI"


def build() -> Parts:
    """One block for each protocol; those that the study does not call for stay hidden."""
    shown: dict[str, Any] = {}
    controls: dict[str, Any] = {}
    with gr.Column(elem_classes="eh-panel"):
        with gr.Row(elem_classes="eh-panel-head"):
            ClickableHTML(
                heading("Rules in force", "where a paper, its authors' code and we differ")
            )
            controls["beside"] = gr.Dropdown(
                [NOTHING_BESIDE], value=NOTHING_BESIDE, label="Beside", interactive=True,
                show_label=False, container=False, elem_classes="eh-filter", elem_id="eh-beside",
            )  # fmt: skip
        shown["rules"] = ClickableHTML(elem_id="eh-rules")
    _build_visit(shown)
    _build_grade(shown, controls)
    _build_creation(shown, controls)
    _build_games(shown)
    own = _build_redundancy(shown, controls)
    return Parts(
        shown=[shown[key] for key in protocol_view.KEYS],
        clickable=[shown[key] for key in shown if key not in BLOCKS],
        controls=controls,
        alone=_alone(shown),
        own=own,
    )


BLOCKS: Final = ("visit", "grade", "creation", "people", "games", "ratings", "labels", "others")
"""Columns that are shown or hidden as a whole."""


def _panel(shown: dict[str, Any], key: str, title: str, subtitle: str, *, scale: int = 1) -> None:
    """A panel with one body, and how it is computed."""
    with gr.Column(elem_classes="eh-panel", scale=scale):
        ClickableHTML(heading(title, subtitle))
        shown[key] = ClickableHTML(elem_id=f"eh-{key}")
        ClickableHTML(how(HOW[key]))


def _build_visit(shown: dict[str, Any]) -> None:
    with gr.Column(visible=False, elem_classes="eh-block") as shown["visit"]:
        _panel(shown, "board", "VisIT-Bench: Elo leaderboard",
               f"online Elo, one pass in plan order, K 4; {CI} by item bootstrap")  # fmt: skip
        with gr.Row(equal_height=True, elem_classes="eh-pair"):
            _panel(
                shown, "cost", "What a head-to-head costs", "one pair, both orders; from the store"
            )
            _panel(shown, "extraction", "How verdicts were read", "by the rule, by extraction, not")
        _panel(shown, "skills", "Win rate by skill",
               f"%, ties as half, under the rule in force; {CI}")  # fmt: skip


def _build_grade(shown: dict[str, Any], controls: dict[str, Any]) -> None:
    with gr.Column(visible=False, elem_classes="eh-block") as shown["grade"]:
        with gr.Column(elem_classes="eh-panel"):
            with gr.Row(elem_classes="eh-panel-head"):
                shown["grade_head"] = ClickableHTML()
                controls["score"] = Switch(tuple(protocol_grade.MEASURES), "Score")
            shown["heatmap"] = ClickableHTML(elem_id="eh-heatmap")
            shown["sizes"] = ClickableHTML(elem_id="eh-sizes")
            ClickableHTML(how(HOW["heatmap"]))
        _panel(shown, "unrelated", "With and without an unrelated option",
               f"an answer to another question among the options; {CI}")  # fmt: skip
        _panel(shown, "reading", "Two ways to read the same replies",
               "verdicts that change with the rule")  # fmt: skip
        _panel(shown, "points", "Prompt 4: grades and contradictions",
               f"mean grade 0 to 5; % of selections below the top grade; {CI}")  # fmt: skip
        with gr.Column(elem_classes="eh-panel"):
            with gr.Row(elem_classes="eh-panel-head"):
                ClickableHTML(
                    heading("Published: Grade Score, Tables 1 to 3",
                            "10 models, 4 prompts; OpenAssistant, mixed N; no intervals printed")
                )  # fmt: skip
                controls["printed"] = Switch(tuple(published_view.GRADE_PARTS), "Printed score")
            shown["grades_printed"] = ClickableHTML(elem_id="eh-grades-printed")


def _build_creation(shown: dict[str, Any], controls: dict[str, Any]) -> None:
    with gr.Column(visible=False, elem_classes="eh-panel") as shown["creation"]:
        with gr.Row(elem_classes="eh-panel-head"):
            shown["creation_head"] = ClickableHTML()
            controls["split"] = Switch(protocol_creation.SPLITS, "Split")
            controls["cell"] = Switch(tuple(protocol_creation.CELLS), "In the cells")
        shown["levels"] = ClickableHTML(elem_id="eh-creation")
        ClickableHTML(how(HOW["levels"]))
    with gr.Column(visible=False, elem_classes="eh-block") as shown["labels"]:
        _panel(shown, "five_labels", "Five labels as given",
               "A is the answer shown first: without a taste for places they mirror")  # fmt: skip
    with gr.Column(visible=False, elem_classes="eh-block") as shown["people"]:
        _panel(shown, "alignment", "Five levels against people",
               f"MAE: mean distance, −2 to 2; Consistency: % within one level; {CI}")  # fmt: skip
        with gr.Column(elem_classes="eh-panel"):
            with gr.Row(elem_classes="eh-panel-head"):
                ClickableHTML(
                    heading("Published: Creation-MMBench", "Tables 5, 7 and 6; intervals are ours")
                )
                controls["table"] = Switch(published_view.TABLES, "Printed table")
            shown["creation_printed"] = ClickableHTML(elem_id="eh-creation-printed")


def _build_games(shown: dict[str, Any]) -> None:
    with gr.Column(visible=False, elem_classes="eh-block") as shown["games"]:
        _panel(shown, "wins", "Adjusted win rate", f"(wins + ties/2) / all; {CI} by items")
        _panel(shown, "conflicts", "Where the two games disagree", "pairs asked in both orders")
    with gr.Column(visible=False, elem_classes="eh-block") as shown["ratings"]:
        _panel(shown, "single", "Single ratings", f"mean of 1 to 10 over items; {CI}")


def _build_redundancy(shown: dict[str, Any], controls: dict[str, Any]) -> dict[str, Any]:
    with gr.Column(visible=False, elem_classes="eh-panel") as shown["others"]:
        with gr.Row(elem_classes="eh-panel-head"):
            ClickableHTML(
                heading("Redundancy: does it say what other benchmarks say?",
                        f"over the models in common; {CI} over models")
            )  # fmt: skip
            controls["correlation"] = Switch(tuple(protocol_redundancy.MEASURES), "Correlation")
            upload = gr.UploadButton(
                "Upload scores (CSV)", file_types=[".csv"], size="sm", elem_classes="eh-fit",
                elem_id="eh-scores",
            )  # fmt: skip
        said = ClickableHTML()
        shown["redundancy"] = ClickableHTML(elem_id="eh-redundancy")
        shown["scatter"] = PlotlyView(height=1, elem_id="eh-scatter")
        ClickableHTML(how(HOW["redundancy"]))
    controls["scores"] = gr.State(None)
    return {"upload": upload, "said": said, "scores": controls["scores"]}


def _alone(shown: dict[str, Any]) -> dict[str, tuple[list[Any], Any]]:
    """What each switch redraws."""
    return {
        "score": ([shown["grade_head"], shown["heatmap"]], show_score),
        "printed": ([shown["grades_printed"]], show_printed_grades),
        "split": ([shown["creation_head"], shown["levels"]], show_split),
        "cell": ([shown["creation_head"], shown["levels"]], show_split),
        "table": ([shown["creation_printed"]], show_printed_table),
        "correlation": ([shown["redundancy"], shown["scatter"]], show_redundancy),
        "scores": ([shown["redundancy"], shown["scatter"]], show_redundancy),
    }


def bind(parts: Parts) -> None:
    """An uploaded table becomes the view's own setting; a bad one says what is wrong with it."""

    def take(path: str) -> tuple[Any, str]:
        try:
            return read_scores(Path(path)), ""
        except BadScores as error:
            return gr.skip(), notice("bad", "Not used.", str(error))

    own = parts.own
    own["upload"].upload(
        take, own["upload"], [own["scores"], own["said"]], show_progress="hidden",
        api_visibility="private",
    )  # fmt: skip


def settle(scene: Scene, wanted: Mapping[str, str]) -> dict[str, Any]:
    """The controls as an address or a new study wants them."""
    beside = [NOTHING_BESIDE, *protocol_view.candidates(scene)]
    default = beside[1] if len(beside) > 1 else NOTHING_BESIDE
    known = {
        "score": tuple(protocol_grade.MEASURES), "printed": tuple(published_view.GRADE_PARTS),
        "split": protocol_creation.SPLITS, "cell": tuple(protocol_creation.CELLS),
        "table": published_view.TABLES, "correlation": tuple(protocol_redundancy.MEASURES),
    }  # fmt: skip
    chosen = {k: gr.Radio(value=pick(wanted.get(k), names)) for k, names in known.items()}
    value = pick(wanted.get("beside"), beside, default)
    dropdown = gr.Dropdown(choices=beside, value=value, visible=len(beside) > 1)
    return {"beside": dropdown, **chosen}


def tell(scene: Scene) -> tuple[str, str]:
    return protocol_view.tell(scene)


def kpis(scene: Scene) -> str:
    return protocol_view.show_kpis(scene)


def show(scene: Scene, **controls: Any) -> list[Any]:
    """Only the blocks the study calls for are worked out; the others are hidden."""
    drawn = protocol_view.drawn(scene, controls)
    return [
        gr.Column(visible=key in drawn) if key in BLOCKS else drawn.get(key, gr.skip())
        for key in protocol_view.KEYS
    ]


def show_score(scene: Scene, **controls: Any) -> list[Any]:
    found = protocol_view.draw_heatmap(scene, controls["score"])
    return [found["grade_head"], found["heatmap"]]


def show_printed_grades(scene: Scene, **controls: Any) -> list[Any]:
    return [published_view.show_grades(controls["printed"])]


def show_split(scene: Scene, **controls: Any) -> list[Any]:
    found = protocol_view.draw_creation(scene, controls["split"], controls["cell"])
    return [found["creation_head"], found["levels"]]


def show_printed_table(scene: Scene, **controls: Any) -> list[Any]:
    return [published_view.show_creation(controls["table"])]


def show_redundancy(scene: Scene, **controls: Any) -> list[Any]:
    found = protocol_view.draw_redundancy(scene, controls["scores"], controls["correlation"])
    return [found["redundancy"], found["scatter"]]
