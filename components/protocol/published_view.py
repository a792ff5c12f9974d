"""The papers' printed tables as the page shows them: marked as published, doubts folded in."""

from __future__ import annotations

from typing import Final

from components.drawing import matrix as heat
from components.drawing.grid import PERCENT, Head, name, table, value
from components.drawing.levels import LevelRow, level_keys, level_table
from components.drawing.panels import Axis, notice, wrap
from components.drawing.still import Still, still_matrix, strip
from components.drawing.tracks import spread_axis
from components.format import count, number, rich, safe
from components.protocol.alignment import between
from components.protocol.grade import short_prompt
from components.protocol.published import (
    BASELINE,
    PROMPTS,
    PublishedAlignment,
    creation_alignment,
    creation_descriptions,
    creation_levels,
    doubtful,
    grade_caveat,
    grade_tables,
    models_by_grade,
    reproduction,
    seeing_helps,
    short_model,
)
from studies.records import Estimate

GRADE_PARTS: Final = {"Grade": heat.GRADE, "Entropy": heat.ENTROPY, "Choice": heat.CHOICE}
TABLES: Final = ("Five levels", "People", "Descriptions")


# -- Grade Score ---------------------------------------------------------------------------------


def show_grades(part: str) -> str:
    """Tables 1 to 3 of the paper: without the unrelated option, and with it added."""
    scale = GRADE_PARTS[part]
    halves = "".join(f"<div>{_half(part, scale, added)}</div>" for added in (0, 1))
    corners = (
        '<span class="eh-fk"></span><span>above what its parts allow</span>'
        '<span class="eh-fk two"></span><span>above both parts</span>'
    )
    both = f'<div class="eh-halves">{halves}</div>'
    return wrap(doubt_notice(), both, strip(scale, corners if part == "Grade" else ""), _list())


def _half(part: str, scale: heat.Scale, added: int) -> str:
    tables = grade_tables()
    cells: dict[tuple[str, str], Still | None] = {}
    for (model, prompt, unrelated), cell in tables.items():
        if unrelated == added:
            lines = [
                f"{short_model(model)}, {short_prompt(prompt)}, published",
                f"grade {number(cell.grade, 4)}, entropy {number(cell.entropy, 4)}, "
                f"choice {number(cell.choice, 4)}",
            ]
            if cell.doubt:
                lines.append(f"at most {number(cell.most, 4)} from these parts")
            corners = cell.doubt if part == "Grade" else 0
            printed = getattr(cell, part.lower())
            cells[short_model(model), short_prompt(prompt)] = Still(printed, tuple(lines), corners)
    columns = [(short_prompt(prompt), f"prompt {k}") for k, prompt in enumerate(PROMPTS, 1)]
    title = "With the unrelated option added, N + 1" if added else "Without the unrelated option"
    rows = [short_model(model) for model in models_by_grade()]
    return still_matrix(rows, columns, cells, scale, title=title)


def doubt_notice() -> str:
    """Why these tables are no oracle, in words made from their numbers."""
    found = grade_caveat()
    (model, prompt, _), worst = found.worst
    told = (
        f"{found.above_parts} of {found.cells} grades exceed what their own entropy and choice "
        f"allow, {found.above_both} exceed both ({short_model(model)}, {short_prompt(prompt)}: "
        f"{number(worst.grade, 2)}, at most {number(worst.most, 2)}). With the option added N "
        f"grows: the grade rises in {found.grade_rises} of {found.pairs} cells while the choice "
        f"score falls in {found.choice_falls}. {found.leaders} different models lead a column. The "
        "authors report 0.05 to 0.12 between repeats, and N is mixed: do not rank your judges "
        "against these."
    )
    return notice("warn", "Not an oracle.", told)


def _list() -> str:
    """The doubtful cells one by one."""
    rows = [
        [
            safe(short_model(model)),
            safe(short_prompt(prompt)),
            "with" if added else "without",
            f"<b>{number(cell.grade, 4)}</b>",
            number(cell.most, 4),
            f"{number(cell.grade - cell.most, 4, signed=True)}",
        ]
        for (model, prompt, added), cell in doubtful()
    ]
    heads = [
        Head("Model", numeric=False), Head("Prompt", numeric=False),
        Head("Unrelated option", numeric=False), Head("Printed"), Head("At most"), Head("Above by"),
    ]  # fmt: skip
    body = table(heads, rows, label="Doubtful cells")
    return f'<details class="eh-how"><summary>See the {len(rows)}</summary>{body}</details>'


# -- Creation-MMBench ----------------------------------------------------------------------------


def show_creation(which: str) -> str:
    if which == "People":
        return _alignment()
    return _descriptions() if which == "Descriptions" else _levels()


def _levels() -> str:
    rows = [
        LevelRow(
            row.model, row.counts, row.fail, row.reward, row.win_rate,
            Estimate(row.vfs, note="as printed"), None, row.group,
        )
        for row in creation_levels()
    ]  # fmt: skip
    reward, rate = reproduction()
    said = (
        f"Table 5, {count(len(rows))} models against {BASELINE}, 765 items in both orders. From "
        f"the printed counts, Reward agrees with print within {number(reward, 3)} and Win Rate "
        f"within {number(rate, 3)}. The paper prints no intervals: these count the two orders of "
        "an item as one."
    )
    return wrap(level_keys()) + level_table(rows, BASELINE) + _under(said)


def _descriptions() -> str:
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in creation_descriptions():
        found.setdefault(row.model, {})[row.description] = (row.vfs, row.reward)
    heads = [
        Head("Reads descriptions", numeric=False), Head("VFS, generic"),
        Head("VFS, query-specific"), Head("Change"), Head("Reward, generic"),
        Head("Reward, query-specific"), Head("Change"),
    ]  # fmt: skip
    lines = []
    for model, by_kind in found.items():
        generic, specific = by_kind["generic"], by_kind["query-specific"]
        line = [safe(model)]
        for part, digits in ((0, 2), (1, 1)):
            line += [
                number(generic[part], digits),
                f"<b>{number(specific[part], digits)}</b>",
                number(specific[part] - generic[part], digits, signed=True),
            ]
        lines.append(line)
    worse = [
        model for model, kinds in found.items() if kinds["query-specific"][1] < kinds["generic"][1]
    ]
    said = (
        "Table 6: language models that never see the image, given a description written for any "
        "question or for this one. "
        f"The Reward falls for {', '.join(worse)}."
        if worse
        else ""
    )
    return table(heads, lines, label="Table 6") + _under(said)


def _alignment() -> str:
    overall = [row for row in creation_alignment() if row.model == "overall"]
    by_judge: dict[tuple[str, str], dict[bool, PublishedAlignment]] = {}
    for row in overall:
        by_judge.setdefault((row.judge, row.sees), {})[row.dual] = row
    order = {"images": 0, "description": 1, "people": 2}
    axis = spread_axis([row.consistency for row in overall], bounds=(0, 1))
    heads = [
        Head("Judge", numeric=False), Head("Sees", numeric=False), Head("MAE, one"),
        Head("MAE, both"), Head("Within one level, %", axis=axis), Head("One"),
        Head("Both"),
    ]  # fmt: skip
    ranked = sorted(by_judge.items(), key=lambda pair: (order[pair[0][1]] == 2, _rank(pair[1])))
    lines = [_published_line(judge, sees, runs, axis) for (judge, sees), runs in ranked]
    always = [
        '<span class="eh-mute">Always tie</span>', "–", "–", "–",
        '<span class="eh-small eh-mute">needs people\'s own votes; the paper prints none</span>',
        "–", "–",
    ]  # fmt: skip
    worse, cells = seeing_helps()
    said = (
        f"Table 7, all three models pooled; intervals: Wilson on the items. The paper says that "
        f"seeing the images always helps: in {worse} of {cells} cells it does not."
    )
    return table(heads, [*lines, always], label="Table 7") + _under(said)


def _rank(runs: dict[bool, PublishedAlignment]) -> float:
    last = runs.get(True) or runs[False]
    return -(last.consistency.value or 0.0)


def _published_line(
    judge: str, sees: str, runs: dict[bool, PublishedAlignment], axis: Axis
) -> list[str]:
    one, both = runs.get(False), runs.get(True)
    person = sees == "people"
    shown = f"Person {judge}" if person else judge
    return [
        name(shown, None, "against the others" if person else ""),
        "the images" if person else sees,
        number(one.mae, 2) if one else "–",
        f"<b>{number(both.mae, 2)}</b>" if both else "",
        between(axis, one and one.consistency, both and both.consistency, shown),
        value(one and one.consistency, PERCENT, who=f"{shown}, each order"),
        value(both and both.consistency, PERCENT, who=f"{shown}, both orders") if both else "",
    ]


def _under(text: str) -> str:
    return wrap(f'<p class="eh-small eh-under">{rich(text)}</p>') if text else ""
