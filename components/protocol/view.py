"""The protocol view as a whole: which blocks are drawn, with what in them. No gradio here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.drawing.panels import Kpi, empty, heading, kpi_strip
from components.drawing.pieces import not_evidence
from components.protocol import alignment as protocol_alignment
from components.protocol import cost as protocol_cost
from components.protocol import creation as protocol_creation
from components.protocol import games as protocol_games
from components.protocol import grade as protocol_grade
from components.protocol import published_view, sections
from components.protocol import ratings as protocol_ratings
from components.protocol import reading as protocol_reading
from components.protocol import redundancy as protocol_redundancy
from components.protocol import unread as protocol_unread
from components.protocol import unrelated as protocol_unrelated
from components.protocol import visit as protocol_visit
from components.protocol.unrelated import Beside
from components.remember import remembered
from components.scene import Scene
from metrics.alignment_table import AlignmentTable
from studies.study import Study

KEYS: Final = (
    "rules", "visit", "board", "cost", "extraction", "skills", "grade", "grade_head", "heatmap",
    "sizes", "unrelated", "reading", "points", "grades_printed", "creation", "creation_head",
    "levels", "labels", "five_labels", "people", "alignment", "creation_printed", "games", "wins",
    "conflicts", "ratings", "single", "others", "redundancy", "scatter",
)  # fmt: skip
"""What protocol_tab built, in its order; a block's name stands before what is in it."""

board = remembered(protocol_visit.board)
spending = remembered(protocol_cost.spending)
grade_cells = remembered(protocol_grade.own_cells)
models = remembered(protocol_creation.models)
shown_sections = remembered(sections.sections_of)
aligned_alone = remembered(lambda scene: protocol_alignment.alignment(scene, None))


def drawn(scene: Scene, controls: Mapping[str, Any]) -> dict[str, Any]:
    """Key -> what it shows. A block that is not called for has no key."""
    wanted = shown_sections(scene)
    made: dict[str, Any] = {"rules": _rules(scene, wanted)}
    if sections.VISIT in wanted:
        made |= draw_visit(scene)
    if sections.GRADE in wanted:
        made |= draw_grade(scene, controls)
    if sections.LEVELS in wanted or sections.FACTUALITY in wanted:
        made |= {"creation": True, **draw_creation(scene, controls["split"], controls["cell"])}
    if sections.LEVELS in wanted:
        made |= {"labels": True, "five_labels": protocol_ratings.show_labels(scene)}
    if sections.ALIGNMENT in wanted:
        made |= draw_people(scene, controls)
    if sections.WINS in wanted:
        made |= draw_games(scene)
    if sections.RATINGS in wanted:
        made |= {"ratings": True, "single": protocol_ratings.show_ratings(scene)}
    if set(wanted) - {sections.GRADE}:
        made |= {"others": True,
                 **draw_redundancy(scene, controls["scores"], controls["correlation"])}  # fmt: skip
    return made


def _rules(scene: Scene, wanted: tuple[str, ...]) -> str:
    if not wanted:
        return empty(
            "No protocol here yet.", "The panels follow the preset of the study, or its prompts."
        )
    return sections.rules_table(sections.rules_of(scene, wanted))


def draw_visit(scene: Scene) -> dict[str, Any]:
    read = protocol_cost.read_counts(scene)
    return {
        "visit": True,
        "board": protocol_visit.show_board(board(scene), protocol_visit.common_kind(scene)),
        "cost": protocol_cost.show_cost(spending(scene)),
        "extraction": protocol_cost.show_extraction(scene, read),
        "skills": protocol_visit.show_skills(scene),
    }


def draw_grade(scene: Scene, controls: Mapping[str, Any]) -> dict[str, Any]:
    cells = grade_cells(scene)
    beside = beside_of(scene, controls["beside"])
    return {
        "grade": True,
        **draw_heatmap(scene, controls["score"]),
        "sizes": protocol_grade.show_by_size(scene, cells)
        + protocol_unread.show_unread(scene, cells),
        "unrelated": protocol_unrelated.show_unrelated(scene, cells, beside),
        "reading": protocol_reading.show_reading(scene),
        "points": protocol_reading.show_points(scene),
        "grades_printed": published_view.show_grades(controls["printed"]),
    }


def draw_heatmap(scene: Scene, score: str) -> dict[str, Any]:
    title = f"Grade Score: {score.lower()} by judge and prompt"
    return {
        "grade_head": heading(title, protocol_grade.SUBTITLES[score]),
        "heatmap": protocol_grade.show_heatmap(grade_cells(scene), score),
    }


def draw_creation(scene: Scene, split: str, cell: str) -> dict[str, Any]:
    baseline = protocol_creation.baseline_of(scene)
    against = f"against {baseline}" if baseline else "against everyone met"
    title = {
        "Models": "Five levels by model", "Categories": f"{cell} by category",
        "Tasks": f"{cell} by task",
    }[split]  # fmt: skip
    subtitle = f"% of readable verdicts {against}, both orders pooled; the tie is on the line"
    if split != "Models":
        subtitle = f"{against}; both orders pooled; 95\u202f% CI by items"
    return {
        "creation_head": heading(title, subtitle),
        "levels": protocol_creation.show_table(scene, split, cell, shown_sections(scene)),
    }


def draw_people(scene: Scene, controls: Mapping[str, Any]) -> dict[str, Any]:
    found = aligned(scene, controls["beside"])
    printed = scene.study.preset in ("", "creation-mmbench")
    return {
        "people": True,
        "alignment": protocol_alignment.show_alignment(found),
        "creation_printed": published_view.show_creation(controls["table"]) if printed else "",
    }


def draw_games(scene: Scene) -> dict[str, Any]:
    clash = protocol_games.conflicts(scene)
    told = protocol_games.unequal_sentence(clash)
    return {
        "games": True,
        "wins": protocol_games.show_wins(scene),
        "conflicts": told + protocol_games.show_conflicts(clash),
    }


def draw_redundancy(scene: Scene, scores: Any, correlation: str) -> dict[str, Any]:
    return {
        "redundancy": protocol_redundancy.show_matrix(scene, scores, correlation),
        "scatter": protocol_redundancy.show_scatter(scene, scores),
    }


# -- another study beside this one ---------------------------------------------------------------


def candidates(scene: Scene) -> list[str]:
    """Studies of the same data that differ in the unrelated option or in what judges see, those
    that can be compared first."""
    mine = scene.study
    found = []
    for line in scene.store.studies():
        if line.name == scene.name or not line.judged:
            continue
        other = scene.store.study(line.name)
        if _comparable(mine, other):
            found.append((other.unrelated == "add" or mine.unrelated == "add", line.name))
    return [name for _, name in sorted(found)]


def _comparable(one: Study, two: Study) -> bool:
    same = one.data.source == two.data.source and set(one.prompts) & set(two.prompts)
    return bool(same) and (one.unrelated != two.unrelated or one.judge_sees != two.judge_sees)


def beside_of(scene: Scene, name: str | None) -> Beside | None:
    """The rotations of the study chosen, seen through the same filter."""
    if not name or name not in candidates(scene):
        return None
    other = Scene(scene.store, name, scene.filter)
    return Beside(name, other.study.unrelated, protocol_grade.choice_rows(other))


def aligned(scene: Scene, name: str | None) -> AlignmentTable | None:
    """Judges beside people; with another study, once for each thing that judges saw."""
    if not name or name not in candidates(scene):
        return aligned_alone(scene)
    beside = Scene(scene.store, name, scene.filter)
    if beside.study.judge_sees == scene.study.judge_sees:
        return aligned_alone(scene)
    rows = sections.rows_of_protocol(beside, "five-level")
    return protocol_alignment.alignment(scene, (beside.study.judge_sees, rows))


# -- words ---------------------------------------------------------------------------------------


def tell(scene: Scene) -> tuple[str, str]:
    """The finding of the first block."""
    wanted = shown_sections(scene)
    if sections.GRADE in wanted and wanted[0] == sections.GRADE:
        return protocol_grade.tell(grade_cells(scene))
    if sections.LEVELS in wanted or sections.FACTUALITY in wanted:
        return protocol_creation.tell(scene, models(scene))
    if wanted and wanted[0] == sections.VISIT:
        return protocol_visit.tell(board(scene))
    if wanted:
        return protocol_games.tell(scene)
    return "Nothing has been judged yet.", "This page fills while the study runs."


def show_kpis(scene: Scene) -> str:
    """The numbers of the first block; failures are always one of them."""
    wanted = shown_sections(scene)
    kpis: list[Kpi] = []
    if wanted and wanted[0] == sections.GRADE:
        kpis = protocol_grade.grade_kpis(grade_cells(scene))
    elif sections.LEVELS in wanted or sections.FACTUALITY in wanted:
        kpis = protocol_creation.creation_kpis(models(scene))
        if (people := aligned_alone(scene)) is not None:
            kpis += protocol_alignment.alignment_kpis(people)
    elif wanted and wanted[0] == sections.VISIT:
        read = protocol_cost.read_counts(scene)
        kpis = protocol_cost.visit_kpis(board(scene), spending(scene), read)
    elif wanted:
        kpis = protocol_games.game_kpis(scene)
    if kpis:
        kpis.append(not_evidence(scene.failed, len(scene.machines)))
    return kpi_strip(kpis[:5]) if kpis else ""
