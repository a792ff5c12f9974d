"""HTML of the tables published in the papers, with cautions on using them."""

from typing import Final

from components.html import scales
from components.html.format import count, number
from components.html.heatmap import colour_scale_html
from components.html.markup import EMPTY, Markup, escape, fill
from components.html.pieces import notice_html, paragraph, wrap
from components.html.static_matrix import StaticCell, static_matrix
from components.html.tables import value_table as tables
from components.html.tables.forest_cells import Axis, fit_share_axis
from components.html.tables.level_stacks import PAPER_HEAD, LevelRow, level_legend, level_table
from components.html.templates import macros
from components.results.protocol import paper_tables
from components.results.protocol.creation_panels import both_orders_plot, distance_from_people_heads
from components.results.protocol.paper_tables import PublishedAlignment, model_name_without_date
from studies.domain import Estimate

GRADE_SCALES: Final = {
    "Grade": scales.GRADE_SCALE,
    "Entropy": scales.ENTROPY_SCALE,
    "Choice": scales.CHOICE_SCALE,
}
CREATION_TABLES: Final = ("Five levels", "People", "Descriptions")


# -- Grade Score ---------------------------------------------------------------------------------


def show_published_grades(measure: str) -> Markup:
    """HTML of one measure (`measure`: "Grade", "Entropy" or "Choice") of Grade Score's Tables 1 to
    3, without and with the unrelated option; with a warning, and a list of the impossible
    grades."""
    scale = GRADE_SCALES[measure]
    template = macros("results/protocol/published_grades.html")
    halves = template.halves([_grades_matrix(measure, scale, added) for added in (0, 1)])
    corners = template.corner_key() if measure == "Grade" else EMPTY
    return wrap(grade_warning(), halves, colour_scale_html(scale, corners), _doubtful_grades())


def _grades_matrix(measure: str, scale: scales.ColourScale, added: int) -> Markup:
    """HTML matrix of the measure `measure` by model and prompt; `added`: 1 with the unrelated
    option, 0 without it."""
    cells: dict[tuple[str, str], StaticCell | None] = {}
    for (name, prompt, unrelated), cell in paper_tables.published_grades().items():
        if unrelated != added:
            continue
        model, shown = model_name_without_date(name), prompt
        names = ("grade", "entropy", "choice")
        printed = ", ".join(f"{name} {number(getattr(cell, name), 4)}" for name in names)
        lines = [f"{model}, {shown}, published", printed]
        if cell.doubt_level:
            most = "largest Grade Score possible with this entropy and choice score: "
            lines.append(f"{most}{number(cell.max_grade, 4)}")
        corners = cell.doubt_level if measure == "Grade" else 0
        cells[model, shown] = StaticCell(getattr(cell, measure.lower()), tuple(lines), corners)
    prompts = enumerate(paper_tables.GRADE_PROMPTS, 1)
    columns = [(prompt, f"prompt {k}") for k, prompt in prompts]
    title = "With an unrelated option (N + 1 options)" if added else "Without the unrelated option"
    rows = [model_name_without_date(model) for model in paper_tables.models_by_grade()]
    return static_matrix(rows, columns, cells, scale, title=title)


def grade_warning() -> Markup:
    """HTML warning against using Grade Score's published grades as a standard, with counts computed
    from these grades."""
    found = paper_tables.compute_grade_caveat()
    (model, prompt, _), worst = found.worst
    limits = (
        "Do not compare your judges with these values. Entropy and choice score (share of an "
        "item's choices for the most chosen option) determine the largest possible grade. "
        f"{found.above_parts} of {found.cells} printed grades exceed it; {found.above_both} of "
        "these even exceed both scores."
    )
    title = "These published grades are not a reliable standard."
    who = f"{model_name_without_date(model)} with {prompt}"
    reasons = macros("results/protocol/published_grades.html").reasons(found, who, worst)
    return notice_html("warn", title, limits) + reasons


def _doubtful_grades() -> Markup:
    """HTML list of the published grades above their highest possible value."""
    rows = []
    for (model, prompt, added), cell in paper_tables.doubtful_grades():
        names = (model_name_without_date(model), prompt)
        grade, gap = number(cell.grade, 4), number(cell.grade - cell.max_grade, 4, signed=True)
        values = (fill("<b>{}</b>", grade), number(cell.max_grade, 4), gap)
        rows.append([*map(escape, names), "with" if added else "without", *values])
    texts = [tables.ColumnHead(text, numeric=False) for text in ("Prompt", "Unrelated option")]
    numbers = ("Printed grade", "Largest possible grade", "Printed minus possible")
    heads: list[tables.Head] = ["Model", *texts, *numbers]
    label = "Published grades above the largest possible value"
    body = tables.value_table(heads, rows, label=label)
    title = f"Show the {len(rows)} Grade Scores above their largest possible value"
    return fill('<details class="eh-how"><summary>{}</summary>{}</details>', title, body)


# -- Creation-MMBench ----------------------------------------------------------------------------


def show_published_creation(which: str) -> Markup:
    """HTML of one of Creation-MMBench's published tables; `which`: one of CREATION_TABLES."""
    if which == "People":
        return _published_alignment_table()
    return _published_descriptions_table() if which == "Descriptions" else _published_levels_table()


def _published_levels_table() -> Markup:
    rows = []
    for row in paper_tables.read_creation_levels():
        measured = (row.reward, row.win_rate, Estimate(row.vfs, note="as printed"))
        rows.append(LevelRow(row.model, row.counts, row.fail, *measured, note=row.group))
    reward, rate = paper_tables.reproduction_error()
    baseline = paper_tables.PUBLISHED_BASELINE
    note = (
        f"Table 5: {count(len(rows))} models against {baseline}, 765 items in both orders. Reward "
        "computed from the printed counts differs from the printed Reward by at most "
        f"{number(reward, 3)} points, and Win Rate by at most {number(rate, 3)} points. The paper "
        "prints no intervals; in the intervals computed here, the two orders of an item are one "
        "observation."
    )
    return wrap(level_legend()) + level_table(rows, baseline, PAPER_HEAD) + paragraph(note)


def _published_descriptions_table() -> Markup:
    found, heads = paper_tables.read_creation_descriptions(), ["Model given descriptions"]
    for measure in ("VFS", "Reward"):
        heads += [
            f"{measure}, generic description",
            f"{measure} with a description written for the question",
            f"Change in {measure}",
        ]
    lines = []
    for model, by_kind in found.items():
        line = [escape(model)]
        for part, digits in ((0, 2), (1, 1)):
            generic, specific = by_kind["generic"][part], by_kind["query-specific"][part]
            line += [
                escape(number(generic, digits)),
                fill("<b>{}</b>", number(specific, digits)),
                escape(number(specific - generic, digits, signed=True)),
            ]
        lines.append(line)
    worse = [model for model, by in found.items() if by["query-specific"][1] < by["generic"][1]]
    note = (
        "Table 6: language models that get a description instead of the image. The description "
        "is generic or written for the question. VFS: visual factuality score. With the "
        "description written for the question, the Reward is lower than with the generic one "
        f"for {', '.join(worse)}."
    )
    return tables.value_table(heads, lines, label="Table 6") + paragraph(note if worse else "")


def _published_alignment_table() -> Markup:
    overall = [row for row in paper_tables.read_creation_alignment() if row.model == "overall"]
    by_judge: dict[tuple[str, str], dict[bool, PublishedAlignment]] = {}
    for row in overall:
        by_judge.setdefault((row.judge, row.sees), {})[row.dual] = row
    axis = fit_share_axis([row.consistency for row in overall], bounds=(0, 1))

    def sort_key(rater: tuple[str, str]) -> tuple[bool, float]:
        last = by_judge[rater].get(True) or by_judge[rater][False]
        return rater[1] == "people", -(last.consistency.value or 0.0)

    ranked = sorted(by_judge, key=sort_key)
    lines = [_published_alignment_row(*rater, by_judge[rater], axis) for rater in ranked]
    reason = "this value needs the votes of each person, which the paper does not print"
    tie = Markup('<span class="eh-mute">Always tie</span>')
    why = fill('<span class="eh-small eh-mute">{}</span>', reason)
    lines.append([tie, "–", "–", "–", why, "–", "–"])
    worse, cells = paper_tables.count_values_no_better_with_images()
    note = (
        "Table 7, all three models pooled. MAE: mean absolute error. Consistency: % of scores "
        "within one level of people. Intervals: Wilson over items. The paper states that judges "
        f"always agree better with people if they see the images. In Table 7, {worse} of {cells} "
        "values of MAE and Consistency are no better with images than with descriptions."
    )
    table = tables.value_table(distance_from_people_heads(axis), lines, label="Table 7")
    return table + paragraph(note)


def _published_alignment_row(
    judge: str, sees: str, runs: dict[bool, PublishedAlignment], axis: Axis
) -> list[str]:
    one, both = runs.get(False), runs.get(True)
    shares = one.consistency if one else None, both.consistency if both else None
    person, percent = sees == "people", tables.PERCENT
    shown = f"Person {judge}" if person else judge
    return [
        tables.name_cell(shown, None, "against the others" if person else ""),
        "the images" if person else sees,
        number(one.mae, 2) if one else "–",
        fill("<b>{}</b>", number(both.mae, 2)) if both else "",
        both_orders_plot(axis, *shares, shown),
        tables.value_cell(shares[0], percent, who=f"{shown}, each order"),
        tables.value_cell(shares[1], percent, who=f"{shown}, both orders") if both else "",
    ]
