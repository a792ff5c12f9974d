"""The view Paper of Results: the tables of the protocol's paper, with intervals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE
from components.results.protocol import (
    blocks,
    creation_panels,
    game_panels,
    grade_panel,
    paper_tables_html,
    reading_rules,
    redundancy_panel,
    sections,
    visit_panels,
    visit_replies,
)
from components.results.view.address_choices import choice_or_default
from components.results.view.result_view import (
    Body,
    Control,
    ControlState,
    Panel,
    PanelGroup,
    Upload,
    View,
)

NAME: Final = "Paper"
NO_OTHER_STUDY: Final = "no other study"
CI_TEXT: Final = f"95{NARROW_SPACE}% CI"


def other_study_menu_state(filtered: FilteredStudy, wanted: str | None) -> ControlState:
    """State of the menu of studies to compare with: `wanted` if it is one of them or
    NO_OTHER_STUDY, else the first; the menu is hidden if there are none."""
    beside = [NO_OTHER_STUDY, *blocks.comparable_studies(filtered)]
    default = beside[1] if len(beside) > 1 else NO_OTHER_STUDY
    return ControlState(choice_or_default(wanted, beside, default), beside, len(beside) > 1)


HOW_COMPUTED: Final[dict[str, str]] = yaml.safe_load(
    Path(__file__).with_name("how_computed.yaml").read_text(encoding="utf-8")
)


def _protocol_panel(
    name: str, renderer: Callable[..., Any], title: str, subtitle: str = "", *keys: str, **more: Any
) -> Panel:
    """Build the panel `name`. `keys`: paths of its numbers in the JSON output; `more`: further
    fields of Panel. Of these, `how` is a key of HOW_COMPUTED (by default `name`) instead of the
    text; without `bodies`, the panel has one body, with the panel's name."""
    bodies = more.pop("bodies", (Body(name, f"eh-{name.replace('_', '-')}", clickable=True),))
    how = HOW_COMPUTED.get(more.pop("how", name), "")
    return Panel(name, renderer, bodies, title, subtitle, how=how, json_keys=keys, **more)


def _panels_of_section(name: str, section: str, *panels: Panel | PanelGroup) -> PanelGroup:
    """Group of panels below each other, shown only if `section` is one of the sections (groups of
    panels) of the study."""
    visible = blocks.make_any_section_test(section)
    return PanelGroup(panels, row=False, css="eh-block", name=name, visible=visible)


BESIDE: Final = Control(
    "beside", "Compare with", [NO_OTHER_STUDY], "menu", "eh-beside", state=other_study_menu_state
)
RULES: Final = _protocol_panel(
    "rules",
    blocks.render_rules,
    "Active rules",
    "where a paper, its authors' code and this app differ",
    controls=(BESIDE,),
)
COST: Final = _protocol_panel(
    "cost",
    lambda filtered: visit_replies.show_cost(blocks.load_spending(filtered)),
    "Cost of a head-to-head",
    "recorded cost of judging one pair of answers in both orders",
)
EXTRACTION: Final = _protocol_panel(
    "extraction",
    visit_replies.show_reply_counts,
    "Parsing of the replies",
    "replies whose verdict was found by the parsing rule, by the extraction judge, or not at all",
    "counts.by_status.*",
)
VISIT: Final = _panels_of_section(
    "visit",
    sections.VISIT_SECTION,
    _protocol_panel(
        "board",
        lambda filtered: visit_panels.show_elo_leaderboard(
            blocks.load_leaderboard(filtered), visit_panels.common_image_kind(filtered)
        ),
        "VisIT-Bench: Elo leaderboard",
        f"online Elo ratings, one pass in plan order, K-factor 4; {CI_TEXT} by item bootstrap",
        "protocol.leaderboard.*.elo",
        "elo.*",
    ),
    PanelGroup((COST, EXTRACTION)),
    _protocol_panel(
        "skills",
        visit_panels.show_win_rates_by_skill,
        "Win rate by skill",
        f"% of outcomes won, ties count half; the counting rule combines the orders; {CI_TEXT}",
        "--by category: by.*.win_rate.*",
    ),
)
GRADE: Final = _panels_of_section(
    "grades",
    sections.GRADE_SECTION,
    _protocol_panel(
        "grade",
        blocks.render_grade_heatmap,
        "Grade Score",
        "",
        "grade.*.*.grade",
        "grade.*.*.entropy",
        "grade.*.*.choice",
        bodies=tuple(Body(name, f"eh-{name}", clickable=True) for name in ("heatmap", "sizes")),
        how="heatmap",
        controls=(Control("score", "Score", tuple(grade_panel.GRADE_MEASURES)),),
    ),
    _protocol_panel(
        "unrelated",
        blocks.render_unrelated_option,
        "Grade Score with and without an unrelated option",
        f"an unrelated option is an answer to another question; {CI_TEXT}",
        "grade.*.*.unrelated_share",
        "grade.*.*.grade",
    ),
    _protocol_panel(
        "reading",
        reading_rules.show_parsing_rule_differences,
        "Two parsing rules on the same replies",
        "replies whose verdict depends on the parsing rule",
    ),
    _protocol_panel(
        "points",
        reading_rules.show_grades_given_in_replies,
        "Prompt 4: grades and contradictions",
        "mean grade from 0 to 5 that the judge gave; % of selections whose option did not "
        f"have the highest grade; {CI_TEXT}",
        "grade.*.*.contradictions",
    ),
    _protocol_panel(
        "grades_printed",
        lambda filtered, printed: paper_tables_html.show_published_grades(printed),
        "Published: Grade Score, Tables 1 to 3",
        "10 models and 4 prompts on OpenAssistant data with different numbers of options; the "
        "paper prints no intervals",
        controls=(Control("printed", "Printed score", tuple(paper_tables_html.GRADE_SCALES)),),
    ),
)
CREATION: Final = _protocol_panel(
    "creation",
    blocks.render_creation_tables,
    "Five levels",
    "",
    "reward.*",
    "levels.*.*",
    "factuality.*",
    "creation.*.*",
    bodies=(Body("levels", "eh-creation", clickable=True),),
    how="levels",
    controls=(
        Control("split", "Split by", creation_panels.SPLITS),
        Control("cell", "Value in the cells", tuple(creation_panels.CELL_SCALES)),
    ),
)
LABELS: Final = _panels_of_section(
    "labels",
    sections.LEVELS_SECTION,
    _protocol_panel(
        "five_labels",
        game_panels.show_arena_verdict_counts,
        "Five labels as given",
        "A = the answer shown first; without position bias, A and B are chosen equally often "
        "at each margin",
        "levels.*.*",
        bodies=(Body("five_labels", "eh-five_labels", clickable=True),),
    ),
)
PEOPLE: Final = _panels_of_section(
    "people",
    sections.ALIGNMENT_SECTION,
    _protocol_panel(
        "alignment",
        lambda filtered, beside: creation_panels.show_distance_from_people(
            blocks.load_distance_from_people(filtered, beside)
        ),
        "Five levels: agreement with people",
        "MAE: mean absolute error on levels −2 to 2; “Consistency” in the paper: % of "
        f"scores within one level of people; {CI_TEXT}",
        "agreement.alignment.*.*.*.mae",
        "agreement.alignment.*.*.*.consistency",
    ),
    _protocol_panel(
        "creation_printed",
        blocks.render_published_creation,
        "Published: Creation-MMBench",
        "values printed in the paper's Tables 5, 6 and 7; intervals are computed here",
        controls=(Control("table", "Printed table", paper_tables_html.CREATION_TABLES),),
    ),
)
GAMES: Final = _panels_of_section(
    "games",
    sections.WINS_SECTION,
    _protocol_panel(
        "wins",
        game_panels.show_win_rates,
        "Adjusted win rate",
        f"adjusted win rate: (wins + ties/2) / all outcomes, in %; {CI_TEXT} by items",
        "win_rate.*",
        "protocol.win_rate.*",
    ),
    _protocol_panel(
        "conflicts",
        game_panels.render_order_conflicts,
        "Conflicts between the two games (orders) of a pair",
        "number of pairs judged in both orders, by result",
        "position.*.*.flips.first_twice",
        "position.*.*.flips.second_twice",
    ),
)
RATINGS: Final = _panels_of_section(
    "ratings",
    sections.RATINGS_SECTION,
    _protocol_panel(
        "single",
        game_panels.show_ratings,
        "Single ratings",
        f"mean over items of each model's rating from 1 to 10; {CI_TEXT}",
        "ratings.*",
    ),
)
REDUNDANCY: Final = _protocol_panel(
    "others",
    blocks.render_benchmark_correlations,
    "Redundancy: correlation with other benchmarks",
    "correlation of scores over the models that both this study and the benchmark contain; "
    f"{CI_TEXT} over models",
    bodies=(
        Body("redundancy", "eh-redundancy", clickable=True),
        Body("scatter", "eh-scatter", chart_height=1, clickable=True),
    ),
    how="redundancy",
    controls=(
        Control("correlation", "Correlation", tuple(redundancy_panel.CORRELATION_SCALES)),
        Control("scores", "Scores", kind="session"),
    ),
)
VIEW: Final = View(
    NAME,
    (RULES, VISIT, GRADE, CREATION, LABELS, PEOPLE, GAMES, RATINGS, REDUNDANCY),
    blocks.protocol_headline,
    blocks.show_kpis,
    upload=Upload(
        "scores",
        REDUNDANCY.name,
        "Upload scores (CSV)",
        "eh-scores",
        (".csv",),
        redundancy_panel.read_benchmark_scores,
    ),
    json_keys=("elo.*", "grade.*.*.grade", "reward.*", "win_rate.*", "ratings.*"),
)
