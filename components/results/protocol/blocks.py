"""Content of the view Paper, without Gradio: headline, key figures, and the panels of each
protocol (a published way of judging, such as MT-Bench or Grade Score)."""

from collections.abc import Callable
from typing import Any

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.html.markup import EMPTY, Markup
from components.html.pieces import Kpi, empty_state, kpi_strip, panel_heading, unusable_replies_kpi
from components.results.protocol import (
    creation_panels,
    game_panels,
    grade_panel,
    paper_tables_html,
    redundancy_panel,
    sections,
    unrelated_option,
    visit_panels,
    visit_replies,
)
from components.results.view.result_view import Content
from metrics.protocols.creation_alignment_table import AlignmentTable
from studies.spec.study import Study

load_leaderboard = memoise_by_study(visit_panels.visit_bench_leaderboard)
load_spending = memoise_by_study(visit_replies.head_to_head_spending)
load_grade_cells = memoise_by_study(grade_panel.study_grade_cells)
load_creation_rows = memoise_by_study(creation_panels.creation_mmbench_rows)
load_sections = memoise_by_study(sections.study_sections)
load_own_alignment = memoise_by_study(
    lambda filtered: creation_panels.compute_distance_from_people(filtered, None)
)


def make_any_section_test(*names: str) -> Callable[[FilteredStudy], bool]:
    """Return a function that tests whether the view of a study shows one of the sections
    `names`, such as `sections.GRADE_SECTION`."""
    return lambda filtered: bool(set(names) & set(load_sections(filtered)))


shows_levels = make_any_section_test(sections.LEVELS_SECTION, sections.FACTUALITY_SECTION)


def render_rules(filtered: FilteredStudy) -> Markup:
    wanted = load_sections(filtered)
    if not wanted:
        return empty_state(
            "No protocol panels yet.",
            "Which tables appear depends on the study's preset or prompts; they appear with the "
            "first verdicts.",
        )
    return sections.rules_table(sections.rules_in_force(filtered, wanted))


def render_grade_heatmap(filtered: FilteredStudy, score: str) -> Content:
    """Render the heatmap of Grade Score or one of its parts (`score`: a key of
    `grade_panel.MEASURE_SUBTITLES`), the scores by number of options, and unusable replies."""
    cells = load_grade_cells(filtered)
    sizes = grade_panel.show_grades_by_option_count(filtered, cells)
    bodies = {
        "heatmap": grade_panel.show_heatmap(cells, score),
        "sizes": sizes + grade_panel.show_items_with_unusable_replies(filtered, cells),
    }
    title = f"Grade Score: {score.lower()} by judge and prompt"
    return Content(bodies, panel_heading(title, grade_panel.MEASURE_SUBTITLES[score]))


def render_unrelated_option(filtered: FilteredStudy, beside: str | None) -> Markup:
    """Render how choices change when an unrelated answer (to another item) is among the options;
    `beside`: name of the study to compare with."""
    other = load_choices_of_other_study(filtered, beside)
    return unrelated_option.show_unrelated_option(filtered, load_grade_cells(filtered), other)


def render_creation_tables(filtered: FilteredStudy, split: str, cell: str) -> Content | None:
    """Render Creation-MMBench's tables. With `split` "Models", the five levels by model;
    with "Categories" or "Tasks", the measure `cell` ("Reward", "Win rate" or "VFS", visual
    factuality score) by category or task. None for a study with neither five-level verdicts nor
    factuality scores."""
    if not shows_levels(filtered):
        return None
    baseline = creation_panels.study_baseline(filtered)
    against = f"against {baseline}" if baseline else "against all opponents"
    title = f"{cell} by {'category' if split == 'Categories' else 'task'}"
    subtitle = f"{cell} {against}; both orders pooled; 95\u202f% CI by item"
    if split == "Models":
        title = "Five levels by model"
        subtitle = (
            f"% of usable verdicts {against} by level, both orders pooled; ties are drawn half on "
            "each side of the middle"
        )
    table = creation_panels.show_creation_table(filtered, split, cell, load_sections(filtered))
    return Content({"levels": table}, panel_heading(title, subtitle))


def render_published_creation(filtered: FilteredStudy, table: str) -> Markup:
    """Render the table named `table` that Creation-MMBench published; empty for a study with
    another protocol's preset."""
    if filtered.study.preset not in ("", "creation-mmbench"):
        return EMPTY
    return paper_tables_html.show_published_creation(table)


def render_benchmark_correlations(
    filtered: FilteredStudy, scores: Any, correlation: str
) -> Content | None:
    """Render the correlations of the models' scores with other benchmarks. `scores`:
    uploaded scores (BenchmarkScores) or None; `correlation`: a key of
    `redundancy_panel.CORRELATION_SCALES`. None without a protocol, and for a study of Grade
    Score only, which scores judges and not models."""
    if not set(load_sections(filtered)) - {sections.GRADE_SECTION}:
        return None
    table = redundancy_panel.show_correlations(filtered, scores, correlation)
    plots = redundancy_panel.show_scatter(filtered, scores)
    return Content({"redundancy": table, "scatter": plots})


# -- comparison with another study ---------------------------------------------------------------


def comparable_studies(filtered: FilteredStudy) -> list[str]:
    """Names of the studies with verdicts that this one can be compared with. They have the same
    data and a common prompt, and differ in what judges see (images or descriptions) or in the
    unrelated option (an answer to another item), which is absent, added, or in place of an
    answer. Sorted by name; but if this study has no added option, studies with one come last."""
    mine, lines = filtered.study, filtered.store.studies()
    others = [one.name for one in lines if one.name != filtered.name and one.judged]
    found = []
    for name in others:
        other = filtered.store.study(name)
        if _is_comparable(mine, other):
            found.append((other.unrelated == "add" or mine.unrelated == "add", name))
    return [name for _, name in sorted(found)]


def _is_comparable(one: Study, two: Study) -> bool:
    same = one.data.source == two.data.source and set(one.prompts) & set(two.prompts)
    return bool(same) and (one.unrelated != two.unrelated or one.judge_sees != two.judge_sees)


def load_choices_of_other_study(
    filtered: FilteredStudy, name: str | None
) -> unrelated_option.ComparisonStudy | None:
    """The study `name` with its verdicts by prompts that ask for the best of N answers (N at least
    2), under the filters of the study shown; None if `name` is not one of the `comparable_studies`.
    """
    if not name or name not in comparable_studies(filtered):
        return None
    other = FilteredStudy(filtered.store, name, filtered.filter)
    rows = grade_panel.load_choice_rows(other)
    return unrelated_option.ComparisonStudy(name, other.study.unrelated, rows)


def load_distance_from_people(filtered: FilteredStudy, name: str | None) -> AlignmentTable | None:
    """Distance of the judges' five-level verdicts from people's; None without votes. The judges of
    the study `name` are included if they saw images and the judges of this study descriptions,
    or the reverse."""
    if not name or name not in comparable_studies(filtered):
        return load_own_alignment(filtered)
    beside = FilteredStudy(filtered.store, name, filtered.filter)
    if beside.study.judge_sees == filtered.study.judge_sees:
        return load_own_alignment(filtered)
    rows = sections.protocol_rows(beside, "five-level")
    return creation_panels.compute_distance_from_people(filtered, (beside.study.judge_sees, rows))


# -- headline and key numbers --------------------------------------------------------------------


def main_section(filtered: FilteredStudy) -> str:
    """Name of the group of panels (section) from which the view takes its headline and key
    figures; "" if the study has none."""
    wanted = load_sections(filtered)
    first = wanted[0] if wanted else ""
    levels = shows_levels(filtered) and not sections.is_arena_hard(filtered)
    if first != sections.GRADE_SECTION and levels:
        return sections.LEVELS_SECTION
    if first in ("", sections.GRADE_SECTION, sections.VISIT_SECTION):
        return first
    return sections.WINS_SECTION


def protocol_headline(filtered: FilteredStudy) -> tuple[str, str]:
    """Headline of the study's main protocol, and the sentence below it; a message without a
    protocol."""
    protocol = main_section(filtered)
    if protocol == sections.GRADE_SECTION:
        return grade_panel.grade_headline(load_grade_cells(filtered))
    if protocol == sections.LEVELS_SECTION:
        return creation_panels.creation_headline(filtered, load_creation_rows(filtered))
    if protocol == sections.VISIT_SECTION:
        return visit_panels.leaderboard_headline(load_leaderboard(filtered))
    if protocol:
        return game_panels.games_headline(filtered)
    return "No verdicts yet.", "Results appear here while the study runs."


def show_kpis(filtered: FilteredStudy) -> Markup:
    """HTML of the key figures of the study's main protocol, the last one the number of unusable
    replies; empty if it has no key figures."""
    protocol = main_section(filtered)
    kpis: list[Kpi] = []
    if protocol == sections.GRADE_SECTION:
        kpis = grade_panel.grade_kpis(load_grade_cells(filtered))
    elif protocol == sections.LEVELS_SECTION:
        kpis = creation_panels.creation_kpis(load_creation_rows(filtered))
        if (people := load_own_alignment(filtered)) is not None:
            kpis += creation_panels.distance_from_people_kpis(people)
    elif protocol == sections.VISIT_SECTION:
        read = visit_replies.reply_counts(filtered)
        kpis = visit_replies.visit_kpis(load_leaderboard(filtered), load_spending(filtered), read)
    elif protocol:
        kpis = game_panels.game_kpis(filtered)
    if not kpis:
        return EMPTY
    unusable = unusable_replies_kpi(filtered.unusable_count, len(filtered.measured_judge_rows))
    return kpi_strip([*kpis, unusable][:5])
