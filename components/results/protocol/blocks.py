"""Content of the Protocol view, without Gradio: headline, key figures, panels by protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.markup import EMPTY, Markup
from components.html.panel import Kpi, empty_state, kpi_strip, panel_heading
from components.html.pieces import unusable_replies_kpi
from components.results.protocol import sections
from components.results.protocol.creation import alignment_with_people as protocol_alignment
from components.results.protocol.creation import levels_table as protocol_creation
from components.results.protocol.grade import grade_panel as protocol_grade
from components.results.protocol.grade import unread_trials as protocol_unread
from components.results.protocol.grade import unrelated_option as protocol_unrelated
from components.results.protocol.grade.unrelated_option import ComparisonStudy
from components.results.protocol.mt_bench import pair_games as protocol_games
from components.results.protocol.published import paper_tables_html
from components.results.protocol.published import redundancy_panel as protocol_redundancy
from components.results.protocol.visit import cost_and_extraction as protocol_cost
from components.results.protocol.visit import leaderboard as protocol_visit
from components.results.view.result_view import Drawn
from metrics.protocols.creation_alignment_table import AlignmentTable
from studies.spec.study import Study

load_leaderboard = memoise_by_study(protocol_visit.compute_leaderboard)
load_spending = memoise_by_study(protocol_cost.head_to_head_spending)
load_grade_cells = memoise_by_study(protocol_grade.study_grade_cells)
load_creation_rows = memoise_by_study(protocol_creation.creation_rows)
load_sections = memoise_by_study(sections.study_sections)
load_own_alignment = memoise_by_study(
    lambda filtered: protocol_alignment.compute_alignment(filtered, None)
)


def uses(*names: str) -> Callable[[FilteredStudy], bool]:
    """Return a function that tests whether the view of a study shows one of the panels `names`."""
    return lambda filtered: bool(set(names) & set(load_sections(filtered)))


def draw_rules(filtered: FilteredStudy) -> Markup:
    wanted = load_sections(filtered)
    if not wanted:
        return empty_state(
            "No protocol panels yet.",
            "Which tables appear depends on the study's preset or prompts; they appear with the "
            "first verdicts.",
        )
    return sections.rules_table(sections.rules_in_force(filtered, wanted))


def draw_board(filtered: FilteredStudy) -> Markup:
    return protocol_visit.show_elo_leaderboard(
        load_leaderboard(filtered), protocol_visit.common_image_kind(filtered)
    )


def draw_cost(filtered: FilteredStudy) -> Markup:
    return protocol_cost.show_cost(load_spending(filtered))


def draw_extraction(filtered: FilteredStudy) -> Markup:
    return protocol_cost.show_extraction(filtered, protocol_cost.reply_counts(filtered))


def draw_heatmap(filtered: FilteredStudy, score: str) -> Drawn:
    cells = load_grade_cells(filtered)
    sizes = protocol_grade.show_by_size(filtered, cells)
    bodies = {
        "heatmap": protocol_grade.show_heatmap(cells, score),
        "sizes": sizes + protocol_unread.show_unread_trials(filtered, cells),
    }
    title = f"Grade Score: {score.lower()} by judge and prompt"
    return Drawn(bodies, panel_heading(title, protocol_grade.MEASURE_SUBTITLES[score]))


def draw_unrelated(filtered: FilteredStudy, beside: str | None) -> Markup:
    other = load_comparison_study(filtered, beside)
    return protocol_unrelated.show_unrelated(filtered, load_grade_cells(filtered), other)


def draw_published_grades(filtered: FilteredStudy, printed: str) -> Markup:
    return paper_tables_html.show_published_grades(printed)


def draw_creation(filtered: FilteredStudy, split: str, cell: str) -> Drawn | None:
    if not uses(sections.LEVELS_SECTION, sections.FACTUALITY_SECTION)(filtered):
        return None
    baseline = protocol_creation.study_baseline(filtered)
    against = f"against {baseline}" if baseline else "against all opponents"
    title = {
        "Models": "Five levels by model",
        "Categories": f"{cell} by category",
        "Tasks": f"{cell} by task",
    }[split]
    subtitle = (
        f"% of usable verdicts {against} by level, both orders pooled; ties are drawn half on each "
        "side of the middle"
    )
    if split != "Models":
        subtitle = f"{cell} {against}; both orders pooled; 95\u202f% CI by item"
    table = protocol_creation.show_creation_table(filtered, split, cell, load_sections(filtered))
    return Drawn({"levels": table}, panel_heading(title, subtitle))


def draw_alignment(filtered: FilteredStudy, beside: str | None) -> Markup:
    return protocol_alignment.show_alignment(load_alignment(filtered, beside))


def draw_published_creation(filtered: FilteredStudy, table: str) -> Markup:
    """Draw Creation-MMBench's published tables, for studies with its preset or without a preset."""
    if filtered.study.preset not in ("", "creation-mmbench"):
        return EMPTY
    return paper_tables_html.show_published_creation(table)


def draw_conflicts(filtered: FilteredStudy) -> Markup:
    conflicts = protocol_games.game_conflicts(filtered)
    summary = protocol_games.unequal_games_html(conflicts)
    return summary + protocol_games.show_conflicts(conflicts)


def draw_redundancy(filtered: FilteredStudy, scores: Any, correlation: str) -> Drawn | None:
    """Draw the correlations with other benchmarks, for protocols that rank models; not for Grade
    Score, which rates judges."""
    if not set(load_sections(filtered)) - {sections.GRADE_SECTION}:
        return None
    bodies = {
        "redundancy": protocol_redundancy.show_correlations(filtered, scores, correlation),
        "scatter": protocol_redundancy.show_scatter(filtered, scores),
    }
    return Drawn(bodies)


# -- comparison with another study ---------------------------------------------------------------


def comparable_studies(filtered: FilteredStudy) -> list[str]:
    """Names of the studies of the same data that this one can be shown beside. They differ from it
    in what judges see (images or descriptions), or in the unrelated option, an answer to another
    item: absent, added, or in place of an answer. Those with an added option come last."""
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
    """The choices among N options in the study `name`, under the same filters; None if `name` is
    not one of the comparable studies."""
    if not name or name not in comparable_studies(filtered):
        return None
    other = FilteredStudy(filtered.store, name, filtered.filter)
    return ComparisonStudy(name, other.study.unrelated, protocol_grade.load_choice_rows(other))


def load_alignment(filtered: FilteredStudy, name: str | None) -> AlignmentTable | None:
    """Agreement of the judges with people. The judges of the study `name` are added if they saw
    images where the judges of this study saw descriptions, or the reverse."""
    if not name or name not in comparable_studies(filtered):
        return load_own_alignment(filtered)
    beside = FilteredStudy(filtered.store, name, filtered.filter)
    if beside.study.judge_sees == filtered.study.judge_sees:
        return load_own_alignment(filtered)
    rows = sections.protocol_rows(beside, "five-level")
    return protocol_alignment.compute_alignment(filtered, (beside.study.judge_sees, rows))


# -- headline and key numbers --------------------------------------------------------------------


def protocol_finding(filtered: FilteredStudy) -> tuple[str, str]:
    """Headline of the first protocol shown, and the sentence below it."""
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
