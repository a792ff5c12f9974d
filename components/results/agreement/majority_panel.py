"""Agreement of a single call with the majority of people (or the known better answer), in the one
definition that headlines quote: an undecided verdict counts half. Table of judges, matrix by
category, headline."""

from dataclasses import replace

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import memoise_by_study
from components.filtering.raters import (
    Raters,
    call_credits_of_all_raters,
    is_agreement_with_people,
    load_remedies_of_all_raters,
    one_call_agreement_of_all_raters,
)
from components.html import format, scales
from components.html import heatmap as heat
from components.html.markup import Markup, link, measure_attribute
from components.html.tables.forest_cells import fit_share_axis
from components.html.tables.range_table import (
    axis_cell,
    bar_mark,
    interval_marks,
    people_track,
    range_row,
    range_table,
    track_html,
)
from components.html.tables.table import TableCell
from components.results.agreement.computed import Agreement
from components.results.agreement.panels import estimate_html
from metrics.agreement.pairwise_agreement import PEOPLE
from metrics.estimation.measures import CellKey, GroupedFrame
from metrics.remedies.remedy_study import CALL_AGREEMENT
from studies.domain import Estimate

EVEN = 0.5
"""Agreement of random choices, and of a judge that never decides."""


def one_call_agreement_by_judge(filtered: FilteredStudy) -> dict[str, Estimate]:
    """Name of each judge (with its prompt) that passes the filters -> agreement of one call with
    the majority of people or the known better answers; the highest first, unknown values left
    out."""
    raters, found = Raters(filtered), one_call_agreement_of_all_raters(filtered)
    known = {
        name: found[raters.names[name]]
        for name in raters.filtered_rater_names
        if raters.names[name] in found
    }
    ranked = sorted(known, key=lambda name: -(known[name].value or 0.0))
    return {name: known[name] for name in ranked if known[name].value is not None}


def agreement_reference_phrase(filtered: FilteredStudy) -> str:
    """Words for the answers with which verdicts are compared: the majority of people, or the known
    better answers."""
    by_people = is_agreement_with_people(filtered)
    return "the majority of people" if by_people else "the known better answers"


def closest_judge_headline(filtered: FilteredStudy, data: Agreement) -> tuple[str, str] | None:
    """Headline: the judge with the highest agreement and, if known, the agreement of one person
    with the others. Sentence below it: the judges with the second-highest and the lowest
    agreement, "" if there is only one judge. None if no agreement is known."""
    judges = one_call_agreement_by_judge(filtered)
    if not judges:
        return None
    best, one = next(iter(judges.items()))
    person = _agreement_of_one_person(data)
    value, whom = _format_share_with_interval(one), agreement_reference_phrase(filtered)
    title = f"{best} agrees with {whom} in {value} of comparisons"
    if person.value is not None:
        title += f"; one person agrees with the others in {_format_share_with_interval(person)}"
        title += ", not on the same comparisons"
    lead, rest = "", list(judges.items())[1:]
    if rest:
        (second, two), (last, least) = rest[0], rest[-1]
        lead = f"Next: {second}, {_format_share_with_interval(two)}."
        lead += f" Last: {last}, {_format_share_with_interval(least)}." if last != second else ""
    return f"{title}.", lead


def _format_share_with_interval(estimate: Estimate) -> str:
    return f"{format.share(estimate.value)}{format.spaced_ci(estimate, 0, scale=100)}".strip()


def majority_agreement_table(filtered: FilteredStudy, data: Agreement) -> Markup | None:
    """HTML table of each judge's agreement with the majority of people (or with the known better
    answers), drawn on one axis; the last row is one person, if a person's agreement is known from
    votes. None if no judge's agreement is known."""
    judges = one_call_agreement_by_judge(filtered)
    if not judges:
        return None
    person = _agreement_of_one_person(data)
    known = [*judges.values(), *([person] if person.value is not None else [])]
    axis = replace(fit_share_axis(known, holds=(EVEN,), bounds=(0, 1)), chance=EVEN)
    band = bar_mark("band", axis, person.low, person.high)
    by_people, rows = is_agreement_with_people(filtered), []
    for name, one in judges.items():
        judge, prompt = data.raters.names[name]
        select = {"judge": judge, "prompt": prompt, "unlike": PEOPLE}
        who = link(name, select if by_people else None)
        track = track_html(axis, band, *interval_marks("p", axis, one))
        value = estimate_html(one, 1, 100, attribute=measure_attribute("agreement", judge, prompt))
        rows.append(range_row(who, track, value, tip=f"{name}\n{format.percent(one)}"))
    if person.value is not None:
        track, tip = (
            people_track(axis, person),
            f"one person against others\n{format.percent(person)}",
        )
        value = estimate_html(person, 1, 100, attribute=measure_attribute("one_person"))
        rows.append(range_row("one person", track, value, tip=tip, kind="who"))
    head = TableCell(data.raters.column_head, "nm")
    heads = [head, axis_cell(axis), TableCell("Agreement, %", "num")]
    return range_table(heads, rows, "majority", "Agreement with the majority", axis)


def _agreement_of_one_person(data: Agreement) -> Estimate:
    return data.voter_agreement.one_person if data.raters.has_people else Estimate(None)


def majority_agreement_subtitle(filtered: FilteredStudy, data: Agreement) -> str:
    """Subtitle: definition, numbers of comparisons and votes, kind of interval, and, if drawn, the
    meaning of the band (agreement of one person with the others)."""
    study = load_remedies_of_all_raters(filtered)[0]
    known = _agreement_of_one_person(data).value is not None
    band = "; band: one person against others, not on the same comparisons " if known else ""
    band += "(on the same: “Can a judge replace a person?” in Agreement)" if known else ""
    people, votes = data.voter_agreement, ""
    if is_agreement_with_people(filtered):
        votes = f" on which over half of the votes prefer one answer ({people.cases:,} have votes, "
        votes += f"{people.single_vote_cases:,} of them a single one)"
    return (
        f"undecided counts half; {format.count(study.call_grid.size, 'comparison')}{votes}, "
        f"95{format.NARROW_SPACE}% CI by item{band}; dashed: chance"
    )


@memoise_by_study
def agreement_by_judge_and_category(filtered: FilteredStudy) -> dict[tuple[str, str], Estimate]:
    """(judge with prompt, category) -> agreement of single calls with people or known answers; the
    category "" pools all. Unknown values are left out."""
    raters = Raters(filtered)
    names = {raters.names[name]: name for name in raters.filtered_rater_names}
    by = ["judge", "prompt", "category"]
    parts: dict[CellKey, Estimate] = {(*at, ""): one for at, one in raters.call_agreement.items()}
    found = CALL_AGREEMENT.by_cell(GroupedFrame(call_credits_of_all_raters(filtered), by))
    parts.update((cell, found[cell]) for cell in sorted(found) if cell[-1])
    return {
        (names[judge, prompt], part): one
        for (judge, prompt, part), one in parts.items()
        if (judge, prompt) in names and one.value is not None
    }


def agreement_by_category_html(filtered: FilteredStudy) -> Markup | None:
    """HTML matrix, by judge and category, of the agreement of single calls with people or known
    answers; None with fewer than two categories, or if no agreement is known."""
    cells, judges = agreement_by_judge_and_category(filtered), one_call_agreement_by_judge(filtered)
    groups = dict.fromkeys(part for _, part in cells)
    if len(groups) < 3 or not judges:
        return None
    first, total = next(iter(judges)), heat.total_name(groups)
    columns = [
        heat.MatrixColumn(
            part or total, "" if part else format.count(cells[first, part].items, "item")
        )
        for part in groups
    ]
    cells = {(judge, part or total): one for (judge, part), one in cells.items()}
    enough = [one for one in cells.values() if one.items >= format.MIN_COLOURED_ITEMS]
    scale = scales.fit_scale(scales.AGREEMENT_SCALE, [one.value or 0.0 for one in enough], EVEN)
    keys = ("row", "category")
    return heat.matrix_html(list(judges), columns, cells, scale, total=True, keys=keys)
