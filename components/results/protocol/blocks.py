"""The protocol view as a whole: which blocks are drawn, with what in them. No gradio here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.panel import Kpi, empty_state, kpi_strip, panel_heading
from components.html.pieces import unusable_replies_kpi
from components.results.protocol import sections
from components.results.protocol.creation import alignment_with_people as protocol_alignment
from components.results.protocol.creation import levels_table as protocol_creation
from components.results.protocol.grade import heatmap as protocol_grade
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
"""What protocol_tab built, in its order; a block's name stands before what is in it."""

load_leaderboard = memoise_by_study(protocol_visit.compute_leaderboard)
load_spending = memoise_by_study(protocol_cost.head_to_head_spending)
load_grade_cells = memoise_by_study(protocol_grade.study_grade_cells)
load_creation_rows = memoise_by_study(protocol_creation.creation_rows)
load_sections = memoise_by_study(sections.study_sections)
load_own_alignment = memoise_by_study(
    lambda scene: protocol_alignment.compute_alignment(scene, None)
)


def draw_blocks(scene: FilteredStudy, controls: Mapping[str, Any]) -> dict[str, Any]:
    """Key -> what it shows. A block that is not called for has no key."""
    wanted = load_sections(scene)
    made: dict[str, Any] = {"rules": _rules_html(scene, wanted)}
    if sections.VISIT_SECTION in wanted:
        made |= draw_visit(scene)
    if sections.GRADE_SECTION in wanted:
        made |= draw_grade(scene, controls)
    if sections.LEVELS_SECTION in wanted or sections.FACTUALITY_SECTION in wanted:
        made |= {"creation": True, **draw_creation(scene, controls["split"], controls["cell"])}
    if sections.LEVELS_SECTION in wanted:
        made |= {"labels": True, "five_labels": protocol_ratings.show_label_counts(scene)}
    if sections.ALIGNMENT_SECTION in wanted:
        made |= draw_people(scene, controls)
    if sections.WINS_SECTION in wanted:
        made |= draw_games(scene)
    if sections.RATINGS_SECTION in wanted:
        made |= {"ratings": True, "single": protocol_ratings.show_ratings(scene)}
    if set(wanted) - {sections.GRADE_SECTION}:
        made |= {"others": True,
                 **draw_redundancy(scene, controls["scores"], controls["correlation"])}  # fmt: skip
    return made


def _rules_html(scene: FilteredStudy, wanted: tuple[str, ...]) -> str:
    if not wanted:
        return empty_state(
            "No protocol here yet.", "The panels follow the preset of the study, or its prompts."
        )
    return sections.rules_table(sections.rules_in_force(scene, wanted))


def draw_visit(scene: FilteredStudy) -> dict[str, Any]:
    read = protocol_cost.reply_counts(scene)
    return {
        "visit": True,
        "board": protocol_visit.show_elo_leaderboard(
            load_leaderboard(scene), protocol_visit.common_image_kind(scene)
        ),
        "cost": protocol_cost.show_cost(load_spending(scene)),
        "extraction": protocol_cost.show_extraction(scene, read),
        "skills": protocol_visit.show_skills(scene),
    }


def draw_grade(scene: FilteredStudy, controls: Mapping[str, Any]) -> dict[str, Any]:
    cells = load_grade_cells(scene)
    beside = load_comparison_study(scene, controls["beside"])
    return {
        "grade": True,
        **draw_heatmap(scene, controls["score"]),
        "sizes": protocol_grade.show_by_size(scene, cells)
        + protocol_unread.show_unread_trials(scene, cells),
        "unrelated": protocol_unrelated.show_unrelated(scene, cells, beside),
        "reading": protocol_reading.show_reading_differences(scene),
        "points": protocol_reading.show_option_grades(scene),
        "grades_printed": paper_tables_html.show_published_grades(controls["printed"]),
    }


def draw_heatmap(scene: FilteredStudy, score: str) -> dict[str, Any]:
    title = f"Grade Score: {score.lower()} by judge and prompt"
    return {
        "grade_head": panel_heading(title, protocol_grade.MEASURE_SUBTITLES[score]),
        "heatmap": protocol_grade.show_heatmap(load_grade_cells(scene), score),
    }


def draw_creation(scene: FilteredStudy, split: str, cell: str) -> dict[str, Any]:
    baseline = protocol_creation.study_baseline(scene)
    against = f"against {baseline}" if baseline else "against everyone met"
    title = {
        "Models": "Five levels by model", "Categories": f"{cell} by category",
        "Tasks": f"{cell} by task",
    }[split]  # fmt: skip
    subtitle = f"% of readable verdicts {against}, both orders pooled; the tie is on the line"
    if split != "Models":
        subtitle = f"{against}; both orders pooled; 95\u202f% CI by items"
    return {
        "creation_head": panel_heading(title, subtitle),
        "levels": protocol_creation.show_creation_table(scene, split, cell, load_sections(scene)),
    }


def draw_people(scene: FilteredStudy, controls: Mapping[str, Any]) -> dict[str, Any]:
    found = load_alignment(scene, controls["beside"])
    printed = scene.study.preset in ("", "creation-mmbench")
    return {
        "people": True,
        "alignment": protocol_alignment.show_alignment(found),
        "creation_printed": paper_tables_html.show_published_creation(controls["table"])
        if printed
        else "",
    }


def draw_games(scene: FilteredStudy) -> dict[str, Any]:
    clash = protocol_games.game_conflicts(scene)
    told = protocol_games.unequal_games_html(clash)
    return {
        "games": True,
        "wins": protocol_games.show_win_rates(scene),
        "conflicts": told + protocol_games.show_conflicts(clash),
    }


def draw_redundancy(scene: FilteredStudy, scores: Any, correlation: str) -> dict[str, Any]:
    return {
        "redundancy": protocol_redundancy.show_correlations(scene, scores, correlation),
        "scatter": protocol_redundancy.show_scatter(scene, scores),
    }


# -- another study beside this one ---------------------------------------------------------------


def comparable_studies(scene: FilteredStudy) -> list[str]:
    """Studies of the same data that differ in the unrelated option or in what judges see, those
    that can be compared first."""
    mine = scene.study
    found = []
    for line in scene.store.studies():
        if line.name == scene.name or not line.judged:
            continue
        other = scene.store.study(line.name)
        if _is_comparable(mine, other):
            found.append((other.unrelated == "add" or mine.unrelated == "add", line.name))
    return [name for _, name in sorted(found)]


def _is_comparable(one: Study, two: Study) -> bool:
    same = one.data.source == two.data.source and set(one.prompts) & set(two.prompts)
    return bool(same) and (one.unrelated != two.unrelated or one.judge_sees != two.judge_sees)


def load_comparison_study(scene: FilteredStudy, name: str | None) -> ComparisonStudy | None:
    """The rotations of the study chosen, seen through the same filter."""
    if not name or name not in comparable_studies(scene):
        return None
    other = FilteredStudy(scene.store, name, scene.filter)
    return ComparisonStudy(name, other.study.unrelated, protocol_grade.load_choice_rows(other))


def load_alignment(scene: FilteredStudy, name: str | None) -> AlignmentTable | None:
    """Judges beside people; with another study, once for each thing that judges saw."""
    if not name or name not in comparable_studies(scene):
        return load_own_alignment(scene)
    beside = FilteredStudy(scene.store, name, scene.filter)
    if beside.study.judge_sees == scene.study.judge_sees:
        return load_own_alignment(scene)
    rows = sections.protocol_rows(beside, "five-level")
    return protocol_alignment.compute_alignment(scene, (beside.study.judge_sees, rows))


# -- words ---------------------------------------------------------------------------------------


def protocol_finding(scene: FilteredStudy) -> tuple[str, str]:
    """The finding of the first block."""
    wanted = load_sections(scene)
    if sections.GRADE_SECTION in wanted and wanted[0] == sections.GRADE_SECTION:
        return protocol_grade.grade_finding(load_grade_cells(scene))
    if sections.LEVELS_SECTION in wanted or sections.FACTUALITY_SECTION in wanted:
        return protocol_creation.creation_finding(scene, load_creation_rows(scene))
    if wanted and wanted[0] == sections.VISIT_SECTION:
        return protocol_visit.leaderboard_finding(load_leaderboard(scene))
    if wanted:
        return protocol_games.games_finding(scene)
    return "Nothing has been judged yet.", "This page fills while the study runs."


def show_kpis(scene: FilteredStudy) -> str:
    """The numbers of the first block; failures are always one of them."""
    wanted = load_sections(scene)
    kpis: list[Kpi] = []
    if wanted and wanted[0] == sections.GRADE_SECTION:
        kpis = protocol_grade.grade_kpis(load_grade_cells(scene))
    elif sections.LEVELS_SECTION in wanted or sections.FACTUALITY_SECTION in wanted:
        kpis = protocol_creation.creation_kpis(load_creation_rows(scene))
        if (people := load_own_alignment(scene)) is not None:
            kpis += protocol_alignment.alignment_kpis(people)
    elif wanted and wanted[0] == sections.VISIT_SECTION:
        read = protocol_cost.reply_counts(scene)
        kpis = protocol_cost.visit_kpis(load_leaderboard(scene), load_spending(scene), read)
    elif wanted:
        kpis = protocol_games.game_kpis(scene)
    if kpis:
        kpis.append(unusable_replies_kpi(scene.failed, len(scene.machines)))
    return kpi_strip(kpis[:5]) if kpis else ""
