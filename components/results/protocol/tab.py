"""The Protocol view of the Results tab: the tables of the protocol's paper, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE
from components.html.markup import EMPTY, Markup
from components.html.panel import notice_html
from components.results.protocol import blocks, sections
from components.results.protocol.creation import levels_table as protocol_creation
from components.results.protocol.grade import grade_panel as protocol_grade
from components.results.protocol.grade import reading_rules as protocol_reading
from components.results.protocol.how_computed import HOW_COMPUTED
from components.results.protocol.mt_bench import pair_games as protocol_games
from components.results.protocol.mt_bench import single_ratings as protocol_ratings
from components.results.protocol.published import paper_tables_html
from components.results.protocol.published import redundancy_panel as protocol_redundancy
from components.results.protocol.published.redundancy_panel import InvalidScores, read_scores
from components.results.protocol.visit import leaderboard as protocol_visit
from components.results.view.address_choices import pick_choice
from components.results.view.result_view import (
    Body,
    Control,
    ControlState,
    Extra,
    Panel,
    PanelGroup,
    View,
)

NAME: Final = "Protocol"
NO_OTHER_STUDY: Final = "no other study"
CI_TEXT: Final = f"95{NARROW_SPACE}% CI"


def bind(parts: Any) -> None:
    """Connect the upload of benchmark scores: store the scores in the control "scores"."""

    def load_upload(path: str, scores: Any) -> tuple[Any, Markup]:
        try:
            return read_scores(Path(path)), EMPTY
        except InvalidScores as error:
            return scores, notice_html("bad", "File not used.", str(error))

    upload, scores = parts.extras["upload"], parts.controls["scores"]
    upload.upload(
        load_upload,
        [upload, scores],
        [scores, parts.extras["message"]],
        show_progress="hidden",
        api_visibility="private",
    )


def beside_state(filtered: FilteredStudy, wanted: str | None) -> ControlState:
    """State of the menu of studies to compare with, which is hidden if there are none."""
    beside = [NO_OTHER_STUDY, *blocks.comparable_studies(filtered)]
    default = beside[1] if len(beside) > 1 else NO_OTHER_STUDY
    return ControlState(pick_choice(wanted, beside, default), beside, len(beside) > 1)


def _panel(name: str, draw: Callable[..., Any], title: str, subtitle: str, **more: Any) -> Panel:
    """Panel `name` with one body of the same name and the explanation HOW_COMPUTED[name]."""
    body = (Body(name, f"eh-{name}", clickable=True),)
    return Panel(name, draw, body, title, subtitle, how=HOW_COMPUTED[name], **more)


RULES: Final = Panel(
    "rules",
    blocks.draw_rules,
    (Body("rules", "eh-rules", clickable=True),),
    "Active rules",
    "where a paper, its authors' code and this app differ",
    controls=(
        Control(
            "beside", "Compare with", [NO_OTHER_STUDY], "menu", "eh-beside", state=beside_state
        ),
    ),
)
VISIT: Final = PanelGroup(
    (
        _panel(
            "board",
            blocks.draw_board,
            "VisIT-Bench: Elo leaderboard",
            f"online Elo ratings, one pass in plan order, K-factor 4; {CI_TEXT} by item bootstrap",
            json_keys=(
                "protocol.leaderboard.*.elo",
                "elo.*",
            ),
        ),
        PanelGroup(
            (
                _panel(
                    "cost",
                    blocks.draw_cost,
                    "Cost of a head-to-head",
                    "recorded cost of judging one pair of answers in both orders",
                ),
                _panel(
                    "extraction",
                    blocks.draw_extraction,
                    "Parsing of the replies",
                    "replies whose verdict was found by the parsing rule, by the extraction "
                    "judge, or not at all",
                    json_keys=("counts.by_status.*",),
                ),
            )
        ),
        _panel(
            "skills",
            protocol_visit.show_skills,
            "Win rate by skill",
            f"% of outcomes won, ties count half; the counting rule combines the orders; {CI_TEXT}",
            json_keys=("--by category: by.*.win_rate.*",),
        ),
    ),
    row=False,
    css="eh-block",
    name="visit",
    visible=blocks.uses(sections.VISIT_SECTION),
)
HEATMAP: Final = Panel(
    "grade",
    blocks.draw_heatmap,
    (Body("heatmap", "eh-heatmap", clickable=True), Body("sizes", "eh-sizes", clickable=True)),
    "Grade Score",
    heading_changes=True,
    controls=(Control("score", "Score", tuple(protocol_grade.GRADE_MEASURES)),),
    how=HOW_COMPUTED["heatmap"],
    json_keys=(
        "grade.*.*.grade",
        "grade.*.*.entropy",
        "grade.*.*.choice",
    ),
)
PUBLISHED_GRADES: Final = Panel(
    "grades_printed",
    blocks.draw_published_grades,
    (Body("grades_printed", "eh-grades-printed", clickable=True),),
    "Published: Grade Score, Tables 1 to 3",
    "10 models and 4 prompts on OpenAssistant data with different numbers of options; the paper "
    "prints no intervals",
    controls=(Control("printed", "Printed score", tuple(paper_tables_html.GRADE_SCALES)),),
)
GRADE: Final = PanelGroup(
    (
        HEATMAP,
        _panel(
            "unrelated",
            blocks.draw_unrelated,
            "Grade Score with and without an unrelated option",
            f"an unrelated option is an answer to another question; {CI_TEXT}",
            json_keys=(
                "grade.*.*.unrelated_share",
                "grade.*.*.grade",
            ),
        ),
        _panel(
            "reading",
            protocol_reading.show_reading_differences,
            "Two parsing rules on the same replies",
            "replies whose verdict depends on the parsing rule",
        ),
        _panel(
            "points",
            protocol_reading.show_option_grades,
            "Prompt 4: grades and contradictions",
            "mean grade from 0 to 5 that the judge gave; % of selections whose option did not "
            f"have the highest grade; {CI_TEXT}",
            json_keys=("grade.*.*.contradictions",),
        ),
        PUBLISHED_GRADES,
    ),
    row=False,
    css="eh-block",
    name="grades",
    visible=blocks.uses(sections.GRADE_SECTION),
)
CREATION: Final = Panel(
    "creation",
    blocks.draw_creation,
    (Body("levels", "eh-creation", clickable=True),),
    "Five levels",
    heading_changes=True,
    controls=(
        Control("split", "Split by", protocol_creation.SPLITS),
        Control("cell", "Value in the cells", tuple(protocol_creation.CELL_SCALES)),
    ),
    how=HOW_COMPUTED["levels"],
    visibility="hidden",
    json_keys=(
        "reward.*",
        "levels.*.*",
        "factuality.*",
        "creation.*.*",
    ),
)
LABELS: Final = PanelGroup(
    (
        _panel(
            "five_labels",
            protocol_ratings.show_label_counts,
            "Five labels as given",
            "A = the answer shown first; without position bias, A and B are chosen equally often "
            "at each margin",
            json_keys=("levels.*.*",),
        ),
    ),
    row=False,
    css="eh-block",
    name="labels",
    visible=blocks.uses(sections.LEVELS_SECTION),
)
PUBLISHED_CREATION: Final = Panel(
    "creation_printed",
    blocks.draw_published_creation,
    (Body("creation_printed", "eh-creation-printed", clickable=True),),
    "Published: Creation-MMBench",
    "values printed in the paper's Tables 5, 6 and 7; intervals are computed here",
    controls=(Control("table", "Printed table", paper_tables_html.CREATION_TABLES),),
)
PEOPLE: Final = PanelGroup(
    (
        _panel(
            "alignment",
            blocks.draw_alignment,
            "Five levels: agreement with people",
            "MAE: mean absolute error on levels −2 to 2; “Consistency” in the paper: % of "
            "scores within one level of people; "
            f"{CI_TEXT}",
            json_keys=(
                "agreement.alignment.*.*.*.mae",
                "agreement.alignment.*.*.*.consistency",
            ),
        ),
        PUBLISHED_CREATION,
    ),
    row=False,
    css="eh-block",
    name="people",
    visible=blocks.uses(sections.ALIGNMENT_SECTION),
)
GAMES: Final = PanelGroup(
    (
        _panel(
            "wins",
            protocol_games.show_win_rates,
            "Adjusted win rate",
            f"adjusted win rate: (wins + ties/2) / all pairs, in %; {CI_TEXT} by items",
            json_keys=(
                "win_rate.*",
                "protocol.win_rate.*",
            ),
        ),
        _panel(
            "conflicts",
            blocks.draw_conflicts,
            "Conflicts between the two games (orders) of a pair",
            "number of pairs judged in both orders, by result",
            json_keys=(
                "position.*.*.flips.first_twice",
                "position.*.*.flips.second_twice",
            ),
        ),
    ),
    row=False,
    css="eh-block",
    name="games",
    visible=blocks.uses(sections.WINS_SECTION),
)
RATINGS: Final = PanelGroup(
    (
        _panel(
            "single",
            protocol_ratings.show_ratings,
            "Single ratings",
            f"mean over items of each model's rating from 1 to 10; {CI_TEXT}",
            json_keys=("ratings.*",),
        ),
    ),
    row=False,
    css="eh-block",
    name="ratings",
    visible=blocks.uses(sections.RATINGS_SECTION),
)
REDUNDANCY: Final = Panel(
    "others",
    blocks.draw_redundancy,
    (
        Body("redundancy", "eh-redundancy", clickable=True),
        Body("scatter", "eh-scatter", chart_height=1, clickable=True),
    ),
    "Redundancy: correlation with other benchmarks",
    "correlation of scores over the models that both this study and the benchmark contain; "
    f"{CI_TEXT} over models",
    controls=(
        Control("correlation", "Correlation", tuple(protocol_redundancy.CORRELATION_SCALES)),
        Control("scores", "Scores", kind="session"),
    ),
    extras=(
        Extra("upload", "upload", "Upload scores (CSV)", "eh-scores", file_types=(".csv",)),
        Extra("message", "text"),
    ),
    how=HOW_COMPUTED["redundancy"],
    visibility="hidden",
)
VIEW: Final = View(
    NAME,
    (RULES, VISIT, GRADE, CREATION, LABELS, PEOPLE, GAMES, RATINGS, REDUNDANCY),
    blocks.protocol_finding,
    blocks.show_kpis,
    bind=bind,
    json_keys=(
        "elo.*",
        "grade.*.*.grade",
        "reward.*",
        "win_rate.*",
        "ratings.*",
    ),
)
