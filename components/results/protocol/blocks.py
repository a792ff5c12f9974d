"""Content of the Protocol view, without Gradio: the panels of each protocol, headline and key
figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.markup import EMPTY, Markup
from components.html.panel import Kpi, empty_state, kpi_strip, panel_heading
from components.html.pieces import unusable_replies_kpi
from components.results.protocol import sections
from components.results.protocol.creation import alignment_with_people as protocol_alignment
from components.results.protocol.creation import levels_table as protocol_creation
from components.results.protocol.grade import grade_panel as protocol_grade
from components.results.protocol.grade import reading_rules as protocol_reading
from components.results.protocol.grade import unread_trials as protocol_unread
from components.results.protocol.grade import unrelated_option as protocol_unrelated
from components.results.protocol.grade.unrelated_option import ComparisonStudy
from components.results.protocol.mt_bench import pair_games as protocol_games
from components.results.protocol.mt_bench import single_ratings as protocol_ratings
from components.results.protocol.published import paper_tables_html
from components.results.protocol.published import redundancy_panel as protocol_redundancy
from components.results.protocol.visit import cost_and_extraction as protocol_cost
from components.results.protocol.visit import leaderboard as protocol_visit
from metrics.protocols.creation_alignment_table import AlignmentTable
from studies.spec.study import Study

OUTPUT_KEYS: Final = (
    "rules", "visit", "board", "cost", "extraction", "skills", "grade", "grade_head", "heatmap",
    "sizes", "unrelated", "reading", "points", "grades_printed", "creation", "creation_head",
    "levels", "labels", "five_labels", "people", "alignment", "creation_printed", "games", "wins",
    "conflicts", "ratings", "single", "others", "redundancy", "scatter",
)  # fmt: skip
"""Keys of the outputs in the order of the tab. The key of a protocol's group of panels precedes the
keys of its panels."""

load_leaderboard = memoise_by_study(protocol_visit.compute_leaderboard)
load_spending = memoise_by_study(protocol_cost.head_to_head_spending)
load_grade_cells = memoise_by_study(protocol_grade.study_grade_cells)
load_creation_rows = memoise_by_study(protocol_creation.creation_rows)
load_sections = memoise_by_study(sections.study_sections)
load_own_alignment = memoise_by_study(
    lambda filtered: protocol_alignment.compute_alignment(filtered, None)
)


def draw_blocks(filtered: FilteredStudy, controls: Mapping[str, Any]) -> dict[str, Any]:
    """The content of each output by its key, for the groups of panels that apply to the study."""
    wanted = load_sections(filtered)
    made: dict[str, Any] = {"rules": _rules_html(filtered, wanted)}
    if sections.VISIT_SECTION in wanted:
        made |= draw_visit(filtered)
    if sections.GRADE_SECTION in wanted:
        made |= draw_grade(filtered, controls)
    if sections.LEVELS_SECTION in wanted or sections.FACTUALITY_SECTION in wanted:
        made |= {"creation": True, **draw_creation(filtered, controls["split"], controls["cell"])}
    if sections.LEVELS_SECTION in wanted:
        made |= {"labels": True, "five_labels": protocol_ratings.show_label_counts(filtered)}
    if sections.ALIGNMENT_SECTION in wanted:
        made |= draw_people(filtered, controls)
    if sections.WINS_SECTION in wanted:
        made |= draw_games(filtered)
    if sections.RATINGS_SECTION in wanted:
        made |= {"ratings": True, "single": protocol_ratings.show_ratings(filtered)}
    if set(wanted) - {sections.GRADE_SECTION}:
        made["others"] = True
        made |= draw_redundancy(filtered, controls["scores"], controls["correlation"])
    return made


def _rules_html(filtered: FilteredStudy, wanted: tuple[str, ...]) -> Markup:
    if not wanted:
        return empty_state(
            "No protocol panels yet.",
            "They depend on the study's preset or prompts, and appear with the first verdicts.",
        )
    return sections.rules_table(sections.rules_in_force(filtered, wanted))


def draw_visit(filtered: FilteredStudy) -> dict[str, Any]:
    read = protocol_cost.reply_counts(filtered)
    return {
        "visit": True,
        "board": protocol_visit.show_elo_leaderboard(
            load_leaderboard(filtered), protocol_visit.common_image_kind(filtered)
        ),
        "cost": protocol_cost.show_cost(load_spending(filtered)),
        "extraction": protocol_cost.show_extraction(filtered, read),
        "skills": protocol_visit.show_skills(filtered),
    }


def draw_grade(filtered: FilteredStudy, controls: Mapping[str, Any]) -> dict[str, Any]:
    cells = load_grade_cells(filtered)
    beside = load_comparison_study(filtered, controls["beside"])
    return {
        "grade": True,
        **draw_heatmap(filtered, controls["score"]),
        "sizes": protocol_grade.show_by_size(filtered, cells)
        + protocol_unread.show_unread_trials(filtered, cells),
        "unrelated": protocol_unrelated.show_unrelated(filtered, cells, beside),
        "reading": protocol_reading.show_reading_differences(filtered),
        "points": protocol_reading.show_option_grades(filtered),
        "grades_printed": paper_tables_html.show_published_grades(controls["printed"]),
    }


def draw_heatmap(filtered: FilteredStudy, score: str) -> dict[str, Any]:
    title = f"Grade Score: {score.lower()} by judge and prompt"
    return {
        "grade_head": panel_heading(title, protocol_grade.MEASURE_SUBTITLES[score]),
        "heatmap": protocol_grade.show_heatmap(load_grade_cells(filtered), score),
    }


def draw_creation(filtered: FilteredStudy, split: str, cell: str) -> dict[str, Any]:
    baseline = protocol_creation.study_baseline(filtered)
    against = f"against {baseline}" if baseline else "against all opponents"
    title = {
        "Models": "Five levels by model",
        "Categories": f"{cell} by category",
        "Tasks": f"{cell} by task",
    }[split]
    subtitle = f"% of usable verdicts {against}, both orders pooled; ties are centred on the line"
    if split != "Models":
        subtitle = f"{against}; both orders pooled; 95\u202f% CI by items"
    return {
        "creation_head": panel_heading(title, subtitle),
        "levels": protocol_creation.show_creation_table(
            filtered, split, cell, load_sections(filtered)
        ),
    }


def draw_people(filtered: FilteredStudy, controls: Mapping[str, Any]) -> dict[str, Any]:
    found = load_alignment(filtered, controls["beside"])
    printed = filtered.study.preset in ("", "creation-mmbench")
    return {
        "people": True,
        "alignment": protocol_alignment.show_alignment(found),
        "creation_printed": paper_tables_html.show_published_creation(controls["table"])
        if printed
        else "",
    }


def draw_games(filtered: FilteredStudy) -> dict[str, Any]:
    conflicts = protocol_games.game_conflicts(filtered)
    summary = protocol_games.unequal_games_html(conflicts)
    return {
        "games": True,
        "wins": protocol_games.show_win_rates(filtered),
        "conflicts": summary + protocol_games.show_conflicts(conflicts),
    }


def draw_redundancy(filtered: FilteredStudy, scores: Any, correlation: str) -> dict[str, Any]:
    return {
        "redundancy": protocol_redundancy.show_correlations(filtered, scores, correlation),
        "scatter": protocol_redundancy.show_scatter(filtered, scores),
    }


# -- comparison with another study ---------------------------------------------------------------


def comparable_studies(filtered: FilteredStudy) -> list[str]:
    """Studies of the same data that differ in the unrelated option, or in what judges see (images
    or descriptions).

    Studies with an added unrelated option come last: they have one option more, so their grades are
    not comparable.
    """
    mine = filtered.study
    found = []
    for line in filtered.store.studies():
        if line.name == filtered.name or not line.judged:
            continue
        other = filtered.store.study(line.name)
        if _is_comparable(mine, other):
            found.append((other.unrelated == "add" or mine.unrelated == "add", line.name))
    return [name for _, name in sorted(found)]


def _is_comparable(one: Study, two: Study) -> bool:
    same = one.data.source == two.data.source and set(one.prompts) & set(two.prompts)
    return bool(same) and (one.unrelated != two.unrelated or one.judge_sees != two.judge_sees)


def load_comparison_study(filtered: FilteredStudy, name: str | None) -> ComparisonStudy | None:
    """The choices among N options in the study `name` under the same filters; None if there are
    none."""
    if not name or name not in comparable_studies(filtered):
        return None
    other = FilteredStudy(filtered.store, name, filtered.filter)
    return ComparisonStudy(name, other.study.unrelated, protocol_grade.load_choice_rows(other))


def load_alignment(filtered: FilteredStudy, name: str | None) -> AlignmentTable | None:
    """Agreement of the judges with people; also for the study `name`, if its judges saw the other
    input (images or descriptions)."""
    if not name or name not in comparable_studies(filtered):
        return load_own_alignment(filtered)
    beside = FilteredStudy(filtered.store, name, filtered.filter)
    if beside.study.judge_sees == filtered.study.judge_sees:
        return load_own_alignment(filtered)
    rows = sections.protocol_rows(beside, "five-level")
    return protocol_alignment.compute_alignment(filtered, (beside.study.judge_sees, rows))


# -- headline and key numbers --------------------------------------------------------------------


def protocol_finding(filtered: FilteredStudy) -> tuple[str, str]:
    """Headline, and the sentence below it, of the first protocol shown."""
    wanted = load_sections(filtered)
    if sections.GRADE_SECTION in wanted and wanted[0] == sections.GRADE_SECTION:
        return protocol_grade.grade_finding(load_grade_cells(filtered))
    if sections.LEVELS_SECTION in wanted or sections.FACTUALITY_SECTION in wanted:
        return protocol_creation.creation_finding(filtered, load_creation_rows(filtered))
    if wanted and wanted[0] == sections.VISIT_SECTION:
        return protocol_visit.leaderboard_finding(load_leaderboard(filtered))
    if wanted:
        return protocol_games.games_finding(filtered)
    return "No verdicts yet.", "Results appear here while the study runs."


def show_kpis(filtered: FilteredStudy) -> Markup:
    """HTML of the key figures of the first protocol shown, with the unusable replies."""
    wanted = load_sections(filtered)
    kpis: list[Kpi] = []
    if wanted and wanted[0] == sections.GRADE_SECTION:
        kpis = protocol_grade.grade_kpis(load_grade_cells(filtered))
    elif sections.LEVELS_SECTION in wanted or sections.FACTUALITY_SECTION in wanted:
        kpis = protocol_creation.creation_kpis(load_creation_rows(filtered))
        if (people := load_own_alignment(filtered)) is not None:
            kpis += protocol_alignment.alignment_kpis(people)
    elif wanted and wanted[0] == sections.VISIT_SECTION:
        read = protocol_cost.reply_counts(filtered)
        kpis = protocol_cost.visit_kpis(load_leaderboard(filtered), load_spending(filtered), read)
    elif wanted:
        kpis = protocol_games.game_kpis(filtered)
    if kpis:
        kpis.append(unusable_replies_kpi(filtered.failed, len(filtered.machines)))
    return kpi_strip(kpis[:5]) if kpis else EMPTY
