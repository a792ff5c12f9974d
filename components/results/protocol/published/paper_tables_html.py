"""HTML of the tables published in the papers, with cautions on using them."""

from __future__ import annotations

from typing import Final

from components.html import scales
from components.html.format import count, number
from components.html.heatmap import scale_html
from components.html.markup import EMPTY, Markup, escape, fill, inline_markup, join
from components.html.panel import Axis, notice_html, wrap
from components.html.static_matrix import StaticCell, static_matrix
from components.html.tables.forest_cells import fit_share_axis
from components.html.tables.level_stacks import LevelRow, level_legend, level_table
from components.html.tables.value_table import (
    PERCENT,
    ColumnHead,
    name_cell,
    value_cell,
    value_table,
)
from components.results.protocol.creation.alignment_with_people import order_dumbbell
from components.results.protocol.grade.grade_panel import short_prompt
from components.results.protocol.paper_tables import (
    GRADE_PROMPTS,
    PUBLISHED_BASELINE,
    PublishedAlignment,
    count_images_unhelpful,
    creation_alignment,
    creation_descriptions,
    creation_levels,
    doubtful_grades,
    grade_caveat,
    models_by_grade,
    published_grades,
    reproduction_error,
    short_model,
)
from studies.domain import Estimate

GRADE_SCALES: Final = {
    "Grade": scales.GRADE_SCALE,
    "Entropy": scales.ENTROPY_SCALE,
    "Choice": scales.CHOICE_SCALE,
}
CREATION_TABLES: Final = ("Five levels", "People", "Descriptions")


# -- Grade Score ---------------------------------------------------------------------------------


def show_published_grades(part: str) -> Markup:
    """HTML of one measure (`part`: grade, entropy or choice) of Grade Score's Tables 1 to 3,
    without and with the unrelated option."""
    scale = GRADE_SCALES[part]
    halves = join(fill("<div>{}</div>", _grades_matrix(part, scale, added)) for added in (0, 1))
    corners = Markup(
        '<span class="eh-fk"></span><span>grade above its largest possible value</span>'
        '<span class="eh-fk two"></span><span>grade above both entropy and choice</span>'
    )
    both = fill('<div class="eh-halves">{}</div>', halves)
    return wrap(
        doubt_notice(),
        both,
        scale_html(scale, corners if part == "Grade" else EMPTY),
        _doubtful_list(),
    )


def _grades_matrix(part: str, scale: scales.ColourScale, added: int) -> Markup:
    tables = published_grades()
    cells: dict[tuple[str, str], StaticCell | None] = {}
    for (model, prompt, unrelated), cell in tables.items():
        if unrelated == added:
            lines = [
                f"{short_model(model)}, {short_prompt(prompt)}, published",
                f"grade {number(cell.grade, 4)}, entropy {number(cell.entropy, 4)}, "
                f"choice {number(cell.choice, 4)}",
            ]
            if cell.doubt_level:
                lines.append(
                    "largest Grade Score possible with this entropy and choice score: "
                    f"{number(cell.max_grade, 4)}"
                )
            corners = cell.doubt_level if part == "Grade" else 0
            printed = getattr(cell, part.lower())
            cells[short_model(model), short_prompt(prompt)] = StaticCell(
                printed, tuple(lines), corners
            )
    columns = [(short_prompt(prompt), f"prompt {k}") for k, prompt in enumerate(GRADE_PROMPTS, 1)]
    title = "With an unrelated option (N + 1 options)" if added else "Without the unrelated option"
    rows = [short_model(model) for model in models_by_grade()]
    return static_matrix(rows, columns, cells, scale, title=title)


def doubt_notice() -> Markup:
    """HTML warning against using Grade Score's published grades as a standard, with counts computed
    from these grades."""
    found = grade_caveat()
    (model, prompt, _), worst = found.worst
    limits = (
        "Do not compare your judges with these values. Entropy and choice score (share of an "
        "item's choices for the most chosen option) determine the largest possible grade. "
        f"{found.above_parts} of {found.cells} printed grades exceed it; {found.above_both} of "
        "these even exceed both scores."
    )
    reasons = (
        f"Largest excess: {short_model(model)} with {short_prompt(prompt)}, printed grade "
        f"{number(worst.grade, 2)}, largest possible grade {number(worst.max_grade, 2)}.",
        "One table adds an unrelated option to every item, so its grades are not comparable with "
        "those of the other table.",
        f"With the unrelated option, grades are higher in {found.grade_rises} of {found.pairs} "
        f"combinations of model and prompt; choice scores are lower in {found.choice_falls}.",
        f"Depending on prompt and table, {found.leaders} different models have the highest grade.",
        "The authors report that grades differ by 0.05 to 0.12 between repeats.",
        "The authors pool items with different numbers of options.",
    )
    listed = join(fill("<li>{}</li>", reason) for reason in reasons)
    return join(
        [
            notice_html("warn", "These published grades are not a reliable standard.", limits),
            fill('<ul class="eh-plain eh-small eh-under eh-reasons">{}</ul>', listed),
        ]
    )


def _doubtful_list() -> Markup:
    """HTML list of the published grades above their highest possible value."""
    rows = [
        [
            escape(short_model(model)),
            escape(short_prompt(prompt)),
            "with" if added else "without",
            fill("<b>{}</b>", number(cell.grade, 4)),
            number(cell.max_grade, 4),
            f"{number(cell.grade - cell.max_grade, 4, signed=True)}",
        ]
        for (model, prompt, added), cell in doubtful_grades()
    ]
    heads = [
        ColumnHead("Model", numeric=False),
        ColumnHead("Prompt", numeric=False),
        ColumnHead("Unrelated option", numeric=False),
        ColumnHead("Printed grade"),
        ColumnHead("Largest possible grade"),
        ColumnHead("Printed minus possible"),
    ]
    body = value_table(heads, rows, label="Published grades above the largest possible value")
    title = f"Show the {len(rows)} Grade Scores above their largest possible value"
    return fill('<details class="eh-how"><summary>{}</summary>{}</details>', title, body)


# -- Creation-MMBench ----------------------------------------------------------------------------


def show_published_creation(which: str) -> Markup:
    if which == "People":
        return _alignment_table()
    return _descriptions_table() if which == "Descriptions" else _levels_table()


def _levels_table() -> Markup:
    rows = [
        LevelRow(
            row.model,
            row.counts,
            row.fail,
            row.reward,
            row.win_rate,
            Estimate(row.vfs, note="as printed"),
            None,
            row.group,
        )
        for row in creation_levels()
    ]
    reward, rate = reproduction_error()
    note = (
        f"Table 5: {count(len(rows))} models against {PUBLISHED_BASELINE}, 765 items in both "
        "orders. Reward computed from the printed counts differs from the printed Reward by at "
        f"most {number(reward, 3)} points, and Win Rate by at most {number(rate, 3)} points. The "
        "paper prints "
        "no intervals; in the intervals computed here, the two orders of an item are one "
        "observation."
    )
    return wrap(level_legend()) + level_table(rows, PUBLISHED_BASELINE) + _note_html(note)


def _descriptions_table() -> Markup:
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in creation_descriptions():
        found.setdefault(row.model, {})[row.description] = (row.vfs, row.reward)
    heads = [
        ColumnHead("Model given descriptions", numeric=False),
        ColumnHead("VFS, generic description"),
        ColumnHead("VFS with a description written for the question"),
        ColumnHead("Change in VFS"),
        ColumnHead("Reward, generic description"),
        ColumnHead("Reward with a description written for the question"),
        ColumnHead("Change in Reward"),
    ]
    lines = []
    for model, by_kind in found.items():
        generic, specific = by_kind["generic"], by_kind["query-specific"]
        line = [escape(model)]
        for part, digits in ((0, 2), (1, 1)):
            line += [
                escape(number(generic[part], digits)),
                fill("<b>{}</b>", number(specific[part], digits)),
                escape(number(specific[part] - generic[part], digits, signed=True)),
            ]
        lines.append(line)
    worse = [
        model for model, kinds in found.items() if kinds["query-specific"][1] < kinds["generic"][1]
    ]
    note = (
        "Table 6: language models that get a description instead of the image. The description "
        "is generic or written for the question. VFS: visual factuality score. With the "
        "description written for the question, the Reward is lower than with the generic one "
        f"for {', '.join(worse)}."
        if worse
        else ""
    )
    return value_table(heads, lines, label="Table 6") + _note_html(note)


def _alignment_table() -> Markup:
    overall = [row for row in creation_alignment() if row.model == "overall"]
    by_judge: dict[tuple[str, str], dict[bool, PublishedAlignment]] = {}
    for row in overall:
        by_judge.setdefault((row.judge, row.sees), {})[row.dual] = row
    order = {"images": 0, "description": 1, "people": 2}
    axis = fit_share_axis([row.consistency for row in overall], bounds=(0, 1))
    heads = [
        ColumnHead("Judge", numeric=False),
        ColumnHead("Input", numeric=False),
        ColumnHead("MAE, one order"),
        ColumnHead("MAE, both orders"),
        ColumnHead("Within one level, %", axis=axis),
        ColumnHead("One order, %"),
        ColumnHead("Both orders, %"),
    ]
    ranked = sorted(
        by_judge.items(), key=lambda pair: (order[pair[0][1]] == 2, _alignment_rank(pair[1]))
    )
    lines = [_alignment_row(judge, sees, runs, axis) for (judge, sees), runs in ranked]
    reason = "this value needs the votes of each person, which the paper does not print"
    always = [
        Markup('<span class="eh-mute">Always tie</span>'),
        *("–", "–", "–"),
        fill('<span class="eh-small eh-mute">{}</span>', reason),
        *("–", "–"),
    ]
    worse, cells = count_images_unhelpful()
    note = (
        "Table 7, all three models pooled. MAE: mean absolute error. Consistency: % of scores "
        "within one level of people. Intervals: Wilson over items. The paper states that judges "
        "always agree better with people if they see the "
        f"images. In Table 7, {worse} of {cells} values of MAE and Consistency are no better with "
        "images than with descriptions."
    )
    return value_table(heads, [*lines, always], label="Table 7") + _note_html(note)


def _alignment_rank(runs: dict[bool, PublishedAlignment]) -> float:
    last = runs.get(True) or runs[False]
    return -(last.consistency.value or 0.0)


def _alignment_row(
    judge: str, sees: str, runs: dict[bool, PublishedAlignment], axis: Axis
) -> list[str]:
    one, both = runs.get(False), runs.get(True)
    one_share, both_share = one.consistency if one else None, both.consistency if both else None
    person = sees == "people"
    shown = f"Person {judge}" if person else judge
    return [
        name_cell(shown, None, "against the others" if person else ""),
        "the images" if person else sees,
        number(one.mae, 2) if one else "–",
        fill("<b>{}</b>", number(both.mae, 2)) if both else "",
        order_dumbbell(axis, one_share, both_share, shown),
        value_cell(one_share, PERCENT, who=f"{shown}, each order"),
        value_cell(both_share, PERCENT, who=f"{shown}, both orders") if both else "",
    ]


def _note_html(text: str) -> Markup:
    return wrap(fill('<p class="eh-small eh-under">{}</p>', inline_markup(text))) if text else EMPTY
