"""The Protocol view of the Results tab: the tables of the protocol's paper, with intervals
added."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE
from components.html.markup import Markup
from components.html.panel import how_computed, notice_html, panel_heading
from components.layout.widgets import ClickableHTML, PlotlyView, Switch
from components.results.protocol import blocks as protocol_view
from components.results.protocol.creation import levels_table as protocol_creation
from components.results.protocol.grade import grade_panel as protocol_grade
from components.results.protocol.how_computed import HOW_COMPUTED
from components.results.protocol.published import paper_tables_html
from components.results.protocol.published import redundancy_panel as protocol_redundancy
from components.results.protocol.published.redundancy_panel import InvalidScores, read_scores
from components.results.view_contract import ViewParts, pick_choice

NAME: Final = "Protocol"
NO_OTHER_STUDY: Final = "no other study"
CI_TEXT: Final = f"95{NARROW_SPACE}% CI"


def build() -> ViewParts:
    """Create one group of panels per protocol; `render` shows the groups that apply to the
    study."""
    shown: dict[str, Any] = {}
    controls: dict[str, Any] = {}
    with gr.Column(elem_classes="eh-panel"):
        with gr.Row(elem_classes="eh-panel-head"):
            ClickableHTML(
                panel_heading(
                    "Active rules", "where a paper, its authors' code and this app differ"
                )
            )
            controls["beside"] = gr.Dropdown(
                [NO_OTHER_STUDY],
                value=NO_OTHER_STUDY,
                label="Compare with",
                interactive=True,
                show_label=False,
                container=False,
                elem_classes="eh-filter",
                elem_id="eh-beside",
            )
        shown["rules"] = ClickableHTML(elem_id="eh-rules")
    _build_visit(shown)
    _build_grade(shown, controls)
    _build_creation(shown, controls)
    _build_games(shown)
    own = _build_redundancy(shown, controls)
    return ViewParts(
        outputs=[shown[key] for key in protocol_view.OUTPUT_KEYS],
        clickable=[shown[key] for key in shown if key not in BLOCKS],
        controls=controls,
        partial_redraws=_partial_redraws(shown),
        private_components=own,
    )


BLOCKS: Final = ("visit", "grade", "creation", "people", "games", "ratings", "labels", "others")
"""Output keys of the groups of panels, each shown or hidden as a whole."""


def _build_panel(
    shown: dict[str, Any], key: str, title: str, subtitle: str, *, scale: int = 1
) -> None:
    """Add a panel with one content component and its "How is this computed?" text."""
    with gr.Column(elem_classes="eh-panel", scale=scale):
        ClickableHTML(panel_heading(title, subtitle))
        shown[key] = ClickableHTML(elem_id=f"eh-{key}")
        ClickableHTML(how_computed(HOW_COMPUTED[key]))


def _build_visit(shown: dict[str, Any]) -> None:
    with gr.Column(visible=False, elem_classes="eh-block") as shown["visit"]:
        _build_panel(
            shown,
            "board",
            "VisIT-Bench: Elo leaderboard",
            f"online Elo, one pass in plan order, K 4; {CI_TEXT} by item bootstrap",
        )
        with gr.Row(equal_height=True, elem_classes="eh-pair"):
            _build_panel(
                shown, "cost", "Cost of a head-to-head", "one pair in both orders; recorded costs"
            )
            _build_panel(
                shown,
                "extraction",
                "Parsing of the replies",
                "verdicts found by the parsing rule, by the extraction judge, or not at all",
            )
        _build_panel(
            shown,
            "skills",
            "Win rate by skill",
            f"%, ties count half, by the counting rule in use; {CI_TEXT}",
        )


def _build_grade(shown: dict[str, Any], controls: dict[str, Any]) -> None:
    with gr.Column(visible=False, elem_classes="eh-block") as shown["grade"]:
        with gr.Column(elem_classes="eh-panel"):
            with gr.Row(elem_classes="eh-panel-head"):
                shown["grade_head"] = ClickableHTML()
                controls["score"] = Switch(tuple(protocol_grade.GRADE_MEASURES), "Score")
            shown["heatmap"] = ClickableHTML(elem_id="eh-heatmap")
            shown["sizes"] = ClickableHTML(elem_id="eh-sizes")
            ClickableHTML(how_computed(HOW_COMPUTED["heatmap"]))
        _build_panel(
            shown,
            "unrelated",
            "With and without an unrelated option",
            f"an answer to another question among the options; {CI_TEXT}",
        )
        _build_panel(
            shown,
            "reading",
            "Two parsing rules on the same replies",
            "verdicts that change with the rule",
        )
        _build_panel(
            shown,
            "points",
            "Prompt 4: grades and contradictions",
            f"mean grade 0 to 5; % of selections below the top grade; {CI_TEXT}",
        )
        with gr.Column(elem_classes="eh-panel"):
            with gr.Row(elem_classes="eh-panel-head"):
                ClickableHTML(
                    panel_heading(
                        "Published: Grade Score, Tables 1 to 3",
                        "10 models, 4 prompts; OpenAssistant, mixed N; no intervals printed",
                    )
                )
                controls["printed"] = Switch(tuple(paper_tables_html.GRADE_SCALES), "Printed score")
            shown["grades_printed"] = ClickableHTML(elem_id="eh-grades-printed")


def _build_creation(shown: dict[str, Any], controls: dict[str, Any]) -> None:
    with gr.Column(visible=False, elem_classes="eh-panel") as shown["creation"]:
        with gr.Row(elem_classes="eh-panel-head"):
            shown["creation_head"] = ClickableHTML()
            controls["split"] = Switch(protocol_creation.SPLITS, "Split")
            controls["cell"] = Switch(tuple(protocol_creation.CELL_SCALES), "Value in the cells")
        shown["levels"] = ClickableHTML(elem_id="eh-creation")
        ClickableHTML(how_computed(HOW_COMPUTED["levels"]))
    with gr.Column(visible=False, elem_classes="eh-block") as shown["labels"]:
        _build_panel(
            shown,
            "five_labels",
            "Five labels as given",
            "A = the answer shown first; without position bias, the counts are symmetric",
        )
    with gr.Column(visible=False, elem_classes="eh-block") as shown["people"]:
        _build_panel(
            shown,
            "alignment",
            "Five levels: agreement with people",
            "MAE: mean absolute error on levels −2 to 2; Consistency: % within one level; "
            f"{CI_TEXT}",
        )
        with gr.Column(elem_classes="eh-panel"):
            with gr.Row(elem_classes="eh-panel-head"):
                ClickableHTML(
                    panel_heading(
                        "Published: Creation-MMBench", "Tables 5, 7 and 6; intervals computed here"
                    )
                )
                controls["table"] = Switch(paper_tables_html.CREATION_TABLES, "Printed table")
            shown["creation_printed"] = ClickableHTML(elem_id="eh-creation-printed")


def _build_games(shown: dict[str, Any]) -> None:
    with gr.Column(visible=False, elem_classes="eh-block") as shown["games"]:
        _build_panel(
            shown, "wins", "Adjusted win rate", f"(wins + ties/2) / all; {CI_TEXT} by items"
        )
        _build_panel(
            shown, "conflicts", "Conflicts between the two games", "pairs judged in both orders"
        )
    with gr.Column(visible=False, elem_classes="eh-block") as shown["ratings"]:
        _build_panel(shown, "single", "Single ratings", f"mean of 1 to 10 over items; {CI_TEXT}")


def _build_redundancy(shown: dict[str, Any], controls: dict[str, Any]) -> dict[str, Any]:
    with gr.Column(visible=False, elem_classes="eh-panel") as shown["others"]:
        with gr.Row(elem_classes="eh-panel-head"):
            ClickableHTML(
                panel_heading(
                    "Redundancy: correlation with other benchmarks",
                    f"over the models in common; {CI_TEXT} over models",
                )
            )
            controls["correlation"] = Switch(
                tuple(protocol_redundancy.CORRELATION_SCALES), "Correlation"
            )
            upload = gr.UploadButton(
                "Upload scores (CSV)",
                file_types=[".csv"],
                size="sm",
                elem_classes="eh-fit",
                elem_id="eh-scores",
            )
        message = ClickableHTML()
        shown["redundancy"] = ClickableHTML(elem_id="eh-redundancy")
        shown["scatter"] = PlotlyView(height=1, elem_id="eh-scatter")
        ClickableHTML(how_computed(HOW_COMPUTED["redundancy"]))
    controls["scores"] = gr.State(None)
    return {"upload": upload, "message": message, "scores": controls["scores"]}


def _partial_redraws(shown: dict[str, Any]) -> dict[str, tuple[list[Any], Any]]:
    """For each switch of the view, the outputs it changes and the function that renders them."""
    return {
        "score": ([shown["grade_head"], shown["heatmap"]], render_heatmap),
        "printed": ([shown["grades_printed"]], render_published_grades),
        "split": ([shown["creation_head"], shown["levels"]], render_creation_table),
        "cell": ([shown["creation_head"], shown["levels"]], render_creation_table),
        "table": ([shown["creation_printed"]], render_published_creation),
        "correlation": ([shown["redundancy"], shown["scatter"]], render_redundancy),
        "scores": ([shown["redundancy"], shown["scatter"]], render_redundancy),
    }


def bind(parts: ViewParts) -> None:
    """Connect the upload of benchmark scores: keep the scores in the view's state, or show the
    error."""

    def load_upload(path: str) -> tuple[Any, str]:
        try:
            return read_scores(Path(path)), ""
        except InvalidScores as error:
            return gr.skip(), notice_html("bad", "File not used.", str(error))

    own = parts.private_components
    own["upload"].upload(
        load_upload,
        own["upload"],
        [own["scores"], own["message"]],
        show_progress="hidden",
        api_visibility="private",
    )


def initial_controls(filtered: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, Any]:
    """Values of the view's controls for a study and the page address."""
    beside = [NO_OTHER_STUDY, *protocol_view.comparable_studies(filtered)]
    default = beside[1] if len(beside) > 1 else NO_OTHER_STUDY
    known = {
        "score": tuple(protocol_grade.GRADE_MEASURES),
        "printed": tuple(paper_tables_html.GRADE_SCALES),
        "split": protocol_creation.SPLITS,
        "cell": tuple(protocol_creation.CELL_SCALES),
        "table": paper_tables_html.CREATION_TABLES,
        "correlation": tuple(protocol_redundancy.CORRELATION_SCALES),
    }
    chosen = {k: gr.Radio(value=pick_choice(wanted.get(k), names)) for k, names in known.items()}
    value = pick_choice(wanted.get("beside"), beside, default)
    dropdown = gr.Dropdown(choices=beside, value=value, visible=len(beside) > 1)
    return {"beside": dropdown, **chosen}


def finding(filtered: FilteredStudy) -> tuple[str, str]:
    return protocol_view.protocol_finding(filtered)


def kpis(filtered: FilteredStudy) -> Markup:
    return protocol_view.show_kpis(filtered)


def render(filtered: FilteredStudy, **controls: Any) -> list[Any]:
    """Compute the groups of panels that apply to the study, and hide the others."""
    drawn = protocol_view.draw_blocks(filtered, controls)
    return [
        gr.Column(visible=key in drawn) if key in BLOCKS else drawn.get(key, gr.skip())
        for key in protocol_view.OUTPUT_KEYS
    ]


def render_heatmap(filtered: FilteredStudy, **controls: Any) -> list[Any]:
    found = protocol_view.draw_heatmap(filtered, controls["score"])
    return [found["grade_head"], found["heatmap"]]


def render_published_grades(filtered: FilteredStudy, **controls: Any) -> list[Any]:
    return [paper_tables_html.show_published_grades(controls["printed"])]


def render_creation_table(filtered: FilteredStudy, **controls: Any) -> list[Any]:
    found = protocol_view.draw_creation(filtered, controls["split"], controls["cell"])
    return [found["creation_head"], found["levels"]]


def render_published_creation(filtered: FilteredStudy, **controls: Any) -> list[Any]:
    return [paper_tables_html.show_published_creation(controls["table"])]


def render_redundancy(filtered: FilteredStudy, **controls: Any) -> list[Any]:
    found = protocol_view.draw_redundancy(filtered, controls["scores"], controls["correlation"])
    return [found["redundancy"], found["scatter"]]
