"""The view Paper of Results: the tables of the protocol's paper, with intervals."""

from collections.abc import Callable
from typing import Any, Final

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


HOW_COMPUTED: Final = {
    "board": (
        "After each battle of models a and b, in plan order, the rating of a changes by `4 (S − "
        "E)`. S is the result (win 1, tie ½, loss 0); `E = 1/(1 + 10^((Rb − Ra)/400))` is the "
        "result expected from the ratings Ra and Rb; all ratings start at 1000. Intervals: 200 "
        "bootstrap draws of the items. “Elo range if items are shuffled”: 95\u202f% range over "
        "random orders of the same items. Win rate against the reference: wins / head-to-heads "
        "other than ties, Wilson interval at the effective n. Ranking shows Bradley–Terry ratings, "
        "which do not depend on the order of the items."
    ),
    "cost": (
        "A head-to-head is one pair of answers to one item in all its orders and repeats, without "
        "noise-floor repeats. Dollars: the stored cost of each call, plus the extraction "
        "cost divided equally among the head-to-heads; interval: Student's t, items as clusters. A "
        "call without a price has unknown cost and does not count as free."
    ),
    "extraction": (
        "The parsing rule of the prompt reads each reply. If this rule finds no verdict, the "
        "extraction judge reads the reply. Replies that neither can read have no verdict. "
        "If such replies are counted as ties, only the measures change, not the stored records."
    ),
    "skills": (
        "`(wins + ties/2) / head-to-heads` per skill, both orders combined as stated under “Active "
        "rules”. Intervals: Wilson at the effective n of the items. Cells with fewer than five "
        "items are not coloured."
    ),
    "heatmap": (
        "Per item, over its N rotations: entropy of the chosen positions, divided by log2 N; "
        "choice = share of the most chosen option; grade G = harmonic mean of the two. Then the "
        "mean over items; interval: Student's t, items as clusters. Chance grade: the mean over "
        "all Nᴺ outcomes of random choices. Above chance, summed over items: `Σ(G − chance(N)) / "
        "Σ(1 − chance(N))`. Items with a tie or an unusable reply in a rotation are left out. If "
        "there are any, a table below gives the result of the code of Grade Score's authors."
    ),
    "unrelated": (
        "N is the number of options. Only at equal N (`unrelated: replace`) does the "
        "difference of Grade Scores measure the effect of the unrelated option. With one more "
        "option N grows, and the same behaviour gives another score. Differences are paired by "
        "item; intervals are adjusted for all judges and prompts simultaneously (max-t)."
    ),
    "reading": (
        "Stored replies are parsed again, without new calls. `default`: the option after the last "
        "`Selection:` line. `gradelab`: the first “Selection” anywhere, then the first `Option k`."
    ),
    "points": (
        "Only replies that graded every option before selecting are used. A selection contradicts "
        "its grades if another option got a higher grade; a shared top grade is no contradiction."
    ),
    "levels": (
        "MB, B, W, MW: counts of much better, better, worse, much worse. “Usable”: number "
        "of usable verdicts, both orders pooled. VFS: visual factuality score. `Reward = "
        "(100 MB + 50 B − 50 W − 100 MW) / usable`, `Win rate = (MB + B) / usable`, won outright. "
        "Unusable replies are left out. VFS is an item's mean over its usable "
        "orders, then the mean over items. Intervals: Student's t with items as clusters for "
        "Reward and VFS; Wilson at the effective n of the items for Win rate."
    ),
    "alignment": (
        "J is the judge's score from −2 to 2, P the mean score of the people. Mean absolute error: "
        "`MAE = mean |J − P|`. “Consistency” in the paper: share of items with `|J − P| ≤ 1`. With "
        "both orders, J is the mean of the two scores, if both are usable. Each person is compared "
        "with the mean of the others. With several models, their items are pooled."
    ),
    "wins": (
        "`(wins + ties/2) / all outcomes`. A game is one order of a pair; “Active rules” states "
        "how the games count. Unless the rule counts them as ties, unusable replies are left out; "
        "if it combines the games, with their pair. Interval: Wilson at the effective n of the "
        "items."
    ),
    "conflicts": (
        "A pair is in conflict if its two games have different results: different winners, or "
        "a win and a tie. “First position won both” means that the answer shown first "
        "won both games, although the answers were swapped."
    ),
    "single": (
        "The mean over items of each model's mean rating; interval: Student's t, items as clusters."
    ),
    "five_labels": (
        "The table counts each of the five levels, from much better to much worse. Ratings: "
        "Bradley–Terry on the Elo scale. Arena-Hard's code counts `>>` (much better) three "
        "times, which makes its intervals too narrow."
    ),
    "redundancy": (
        "Spearman's rank correlation and R² (squared Pearson) between this study's scores and the "
        "other benchmarks' scores of the same models. Intervals: bootstrap over models; unreliable "
        "with fewer than ten models."
    ),
}


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
