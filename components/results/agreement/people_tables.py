"""Tables on people: agreement coefficients, distances of scores, judges as replacements for a
person, corrected win rates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.raters import rater_filters
from components.html.format import (
    DASH,
    count,
    decimal,
    interval,
    number,
    percent,
    points,
    share,
    spaced_ci,
)
from components.html.markup import EMPTY, Markup, escape, fill, link, measure_attribute
from components.html.pieces import empty_state, paragraph
from components.html.tables.forest_cells import Axis, fit_share_axis, forest_html
from components.html.tables.range_table import (
    axis_cell,
    dumbbell_track,
    interval_marks,
    people_track,
    point_mark,
    range_row,
    range_table,
    track_html,
)
from components.html.tables.table import TableCell, TableRow
from components.results.agreement.agreement_formulas import COEFFICIENTS_NOTE
from components.results.agreement.computed import Agreement
from components.results.agreement.panels import estimate_html, one_to_both_orders_html
from components.results.bias.computed import load_bias
from components.results.view import paper_table
from metrics.agreement.judge_as_annotator import JudgeAsAnnotator
from metrics.agreement.pairwise_agreement import PEOPLE, PairAgreement, agreement_among_people
from metrics.estimation.intervals import unknown_estimate
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.protocols.creation_alignment import Alignment
from metrics.win_rates.prediction_powered import CorrectedWinRate
from metrics.win_rates.win_rates import win_rate
from studies.domain import Estimate

TWO_PEOPLE: Final = "two people"
PERSON_VS_MEAN: Final = "a person's scores, compared with the others' mean"
ALWAYS_TIE: Final = "always tie"
LEADING_SHARE: Final = 0.95
COEFFICIENT_HEADS: Final = (
    "Same verdict, %",
    "Without ties, %",
    "Cohen's κ",
    "κ without ties",
    "Krippendorff's α",
    "MAE",
    "Scores within 1, %",
)


def show_coefficients(data: Agreement) -> Markup:
    """HTML table of all agreement coefficients: of judges (in single orders, and with both orders
    merged) with the people's majority, and of people with each other."""
    rows = []
    for name in data.ranked_judges:
        if (got := data.coefficients_with_people(name)) is not None:
            opens = rater_filters(data.raters, name) | {"unlike": PEOPLE}
            distance = data.distance_from_people_scores(name, False)
            rows.append(_coefficient_row(link(name, opens), got, distance))
        if (both := data.merged_agreement_with_people.get(name)) is not None:
            wide = fill('<span class="wide">{}, </span>', name)
            who = fill('<span class="eh-mute">{}both orders</span>', wide)
            distance = data.distance_from_people_scores(name, True)
            rows.append(_coefficient_row(who, both, distance, "both"))
    people, others = data.voter_agreement, data.signed_scores.leave_one_out_gaps().alignment
    rows.append(_coefficient_row(TWO_PEOPLE, people.pair, None, "who"))
    rows.append(_coefficient_row("a person and the others", people.others, others, "who"))
    heads = [TableCell("Raters compared", "nm"), *map(TableCell, COEFFICIENT_HEADS)]
    heads.append(TableCell("n", "num n"))
    table = range_table(heads, rows, "numbers", "Agreement with people, all coefficients")
    return table + paragraph(COEFFICIENTS_NOTE)


def _coefficient_row(
    name: str | Markup, agreement: PairAgreement, alignment: Alignment | None, kind: str = ""
) -> TableRow:
    """Row of the table of coefficients; `alignment` (mean distance of scores, share within 1) is
    None between two single votes. `kind`: CSS class of the row."""
    none = unknown_estimate("this coefficient is not defined between two single votes", "score")
    distances = [none, none] if alignment is None else [alignment.mae, alignment.consistency]
    names = ("share", "decisive", "kappa", "kappa_decisive", "alpha")
    values = [*(getattr(agreement, name) for name in names), *distances]
    cells = [
        estimate_html(one, *((1, 100) if head.endswith("%") else (2, 1)), head=head)
        for head, one in zip(COEFFICIENT_HEADS, values, strict=True)
    ]
    return range_row(name, *cells, count(agreement.share.n), kind=kind)


# ---------------------------------------------------------------------------- distances


def show_score_distances(data: Agreement) -> Markup:
    """HTML table of distances from the people's mean score: of each judge in one order and in both
    orders, of one person if known, and of a judge that always answers "tie"; a message if no pair
    has a verdict and a vote. MAE is the mean absolute error, Consistency the share within 1
    (Creation-MMBench)."""
    distance = data.distance_from_people_scores
    judges = [(name, distance(name, False), distance(name, True)) for name in data.ranked_judges]
    judges = [line for line in judges if line[1].consistency.value is not None]
    if not judges:
        return empty_state(
            "No pair has both a judge's verdict and a person's vote.",
            "The distance between judges and people needs verdicts and votes on the same pairs.",
        )
    people = data.signed_scores.leave_one_out_gaps().alignment
    tied = data.signed_scores.always_tie_gaps().alignment
    every = [a.consistency for _, one, both in judges for a in (one, both)]
    axis = fit_share_axis([*every, people.consistency, tied.consistency], bounds=(0, 1))
    heads = [
        TableCell(data.raters.column_head, "nm"),
        TableCell(Markup("MAE, one<br>order \u2192 both"), "num m"),
        axis_cell(axis),
        TableCell(Markup("Scores<br>within 1, %"), "num d"),
    ]
    rows = [_distance_row(name, one, both, axis) for name, one, both in judges]
    if people.mae.value is not None:
        diamond = people_track(axis, people.consistency)
        rows.append(_non_judge_distance_row(PERSON_VS_MEAN, people, diamond))
    hollow = track_html(axis, point_mark("o", axis, tied.consistency.value))
    rows.append(_non_judge_distance_row(ALWAYS_TIE, tied, hollow))
    return range_table(heads, rows, "short", "Distance of scores from the people's mean", axis)


def _distance_row(name: str, one: Alignment, both: Alignment, axis: Axis) -> TableRow:
    mae = one_to_both_orders_html(one.mae, both.mae, 1, 2)
    within = one_to_both_orders_html(one.consistency, both.consistency, 100, 1)
    track = dumbbell_track(axis, one.consistency, both.consistency)
    tip = (
        f"{name}\nMean distance from the people's mean (MAE): {number(both.mae.value, 2)}"
        f"{spaced_ci(both.mae, 2)} with both orders, {number(one.mae.value, 2)}"
        f"{spaced_ci(one.mae, 2)} with one order\n"
        f"Scores at most 1 from the people's mean: both orders {percent(both.consistency)}; one "
        f"order {percent(one.consistency)}"
    )
    return range_row(name, mae, track, within, tip=tip)


def _non_judge_distance_row(name: str, alignment: Alignment, plot: str) -> TableRow:
    """Row of the table of distances for a rater that is no judge (one person, or always a tie);
    `plot`: HTML of its plot."""
    mae, consistency = number(alignment.mae.value, 2), alignment.consistency.value
    within = number(None if consistency is None else 100 * consistency, 1)
    tip = f"{name}\nMAE {decimal(alignment.mae)}\nwithin 1: {percent(alignment.consistency)}"
    values = (fill("<b>{}</b>", mae), plot, fill("<b>{}</b>", within))
    return range_row(name, *values, tip=tip, kind="who")


# --------------------------------------------------------------------------- replacements


def show_voter_replacements(data: Agreement) -> Markup:
    """HTML table of how well each judge could replace a person, with sentences on the best judge
    and prompt; a message if no pair has a verdict and votes by two people. A value above 0 means
    that the judge agrees with the other voters more than the replaced person does."""
    known = [one for one in data.judges_replacing_a_voter if one.advantage.value is not None]
    if not known:
        pairs = data.voter_agreement.pair.share.n
        none = "with votes by two people has a judge's verdict" if pairs else "has two votes"
        return empty_state(
            f"No pair {none}.",
            "To test whether a judge can replace a voter, pairs need verdicts of the judge and "
            "votes by at least two people.",
        )
    axis = fit_share_axis([one.advantage for one in known], signed=True, holds=(0.0,))
    axis = replace(axis, chance=0.0)
    heads = [
        TableCell(data.raters.column_head, "nm"),
        axis_cell(axis),
        TableCell(Markup("Judge − person,<br>points"), "num d"),
        TableCell(Markup("Best, %<br>of samples"), "num b"),
    ]
    alone = len(known) == 1  # a single judge is not called the best
    rows = [_replacement_row(replace(one, best=None) if alone else one, axis) for one in known]
    tests = load_bias(data.raters.filtered).bonferroni_factor
    best = best_voter_replacement_sentence(known, data.raters.names, tests)
    prompt = prompt_best_replacing_voter_sentence(data.prompts_replacing_a_voter)
    table = range_table(heads, rows, "short", "Judges in a person's place", axis)
    return table + paragraph(f"{best} {prompt}".strip())


def _replacement_row(replacement: JudgeAsAnnotator, axis: Axis) -> TableRow:
    gap = number(100 * (replacement.advantage.value or 0.0), 1, signed=True)
    bounds = spaced_ci(replacement.advantage, 1, scale=100)
    ends = (replacement.with_judge, replacement.with_person)
    judge, person = (percent(e, n=False) for e in ends)
    cells = (
        forest_html(replacement.advantage, axis),
        fill('<b>{}</b><span class="eh-ci">{}</span>', gap, bounds),
        number(None if replacement.best is None else 100 * replacement.best),
    )
    tip = (
        f"{replacement.judge}\nagreement with the other voters: judge {judge}, replaced person "
        f"{person}\njudge − person: {points(gap)}{bounds}\n"
        f"{count(replacement.advantage.n, 'pair')} with two votes or more"
    )
    return range_row(replacement.judge, *cells, tip=tip)


def prompt_best_replacing_voter_sentence(prompts: Sequence[JudgeAsAnnotator]) -> str:
    """Sentence on the prompt whose judges best replace a person, if the verdicts of all judges with
    a prompt count as those of one judge; "" unless several prompts can be compared."""
    known = [one for one in prompts if one.advantage.value is not None]
    if len(known) < 2:
        return ""
    first = known[0]
    gap = number(100 * (first.advantage.value or 0.0), 1, signed=True)
    leads = "" if first.best is None else f" (in {share(first.best, 0)} of bootstrap samples)"
    return (
        f"Of {count(len(known), 'prompt')}, with the verdicts of all judges pooled, "
        f"**{first.judge}** replaces a person best{leads}. Agreement with the other voters, prompt "
        f"minus replaced person: {points(gap)}{spaced_ci(first.advantage, 1, scale=100)}."
    )


def best_voter_replacement_sentence(
    known: Sequence[JudgeAsAnnotator],
    names: Mapping[str, tuple[str, str]] | None = None,
    tests: float = 1,
) -> str:
    """Sentence on the judge and prompt that best replace a person, the first of `known`: whether
    they differ significantly from the person, adjusted for `tests` as on the report cards, at least
    for all of `known`, and how often they are the best in bootstrap samples. `names`: name of a
    rater -> (judge, prompt)."""
    first = known[0]
    judge, prompt = (names or {}).get(first.judge, (first.judge, ""))
    several = len({cell[1] for cell in (names or {}).values()}) > 1
    who = f"**{judge}** with the prompt **{prompt}**" if several else f"**{first.judge}**"
    tests = max(tests, len(known))
    advantage = simultaneous_interval(first.advantage, tests, bounds=(-1.0, 1.0))
    more = "more" if (advantage.value or 0.0) > 0 else "less"
    result = f"agrees with the other voters **{more} often than the person it replaces**"
    if not advantage.excludes_zero:
        result = "and the person it replaces show no significant difference in agreement with the "
        result += "other voters"
    judge_rate, person_rate = share(first.with_judge.value, 0), share(first.with_person.value, 0)
    gap = points(number(100 * (advantage.value or 0.0), 1, signed=True))
    gap += spaced_ci(advantage, 1, scale=100) + ", adjusted" * (tests > 1)
    rates = f"(judge {judge_rate}, person {person_rate}: {gap})"
    if len(known) == 1:
        return f"{who} {result} {rates}."
    head = f"Best replacement for a person: {who}. This judge {result} {rates}."
    if first.best is None:
        return head
    if first.best >= LEADING_SHARE:
        return f"{head} It is the best of these in {share(first.best, 0)} of bootstrap samples."
    next_best = max(known[1:], key=lambda one: one.best or 0.0)
    return (
        f"{head} It is the best in only {share(first.best, 0)} of bootstrap samples; "
        f"{next_best.judge} is the best in {share(next_best.best, 0)}."
    )


# ------------------------------------------------------------------------------ corrected


def show_corrected_win_rates(data: Agreement) -> Markup:
    """HTML table of prediction-powered win rates, beside uncorrected rates by judges and people; a
    message without votes on randomly chosen pairs of answers."""
    table_of = {
        name: one
        for name, one in data.win_rates_corrected_by_votes.items()
        if one.people.value is not None
    }
    if not table_of and data.not_random_pair_vote_count:
        return empty_state(
            "No vote is on a randomly chosen pair.",
            "All votes are on pairs selected because judges' verdicts on them flip or differ. To "
            "correct win rates, collect votes on pairs chosen at random.",
        )
    if not table_of:
        return empty_state("No vote on two answers.", "Corrected win rates need such votes.")
    every = [e for one in table_of.values() for e in (one.corrected, one.judge, one.people)]
    axis = fit_share_axis(every, holds=(0.5,), bounds=(0, 1))
    axis = replace(axis, chance=0.5)
    heads = [
        TableCell("Model", "nm"),
        TableCell("Judges, %", "num a"),
        TableCell("People, %", "num b"),
        axis_cell(axis),
        TableCell("Corrected, %", "num d"),
        TableCell("Votes worth", "num w"),
    ]
    rates = win_rate(data.raters.rows_of_model_judges)
    rows = [
        _corrected_win_rate_row(name, replace(one, judge=rates.get(name, one.judge)), axis)
        for name, one in table_of.items()
    ]
    notes = {part for one in table_of.values() for part in one.corrected.note.split("; ") if part}
    text = "".join(f"{note.capitalize()}. " for note in sorted(notes))
    table = range_table(heads, rows, "stand", "Corrected win rates", axis)
    return table + paragraph(text, "eh-small eh-mute eh-under")


def _corrected_win_rate_row(name: str, model_rates: CorrectedWinRate, axis: Axis) -> TableRow:
    judge, people, bias = model_rates.judge, model_rates.people, model_rates.bias
    bar, point = interval_marks("p", axis, model_rates.corrected)
    others = [point_mark("s", axis, judge.value), point_mark("q", axis, people.value)]
    worth = DASH if model_rates.worth is None else f"× {number(model_rates.worth, 1)}"
    tip = (
        f"{name}\nwin rate by judges minus win rate by people: "
        f"{points(number(100 * (bias.value or 0.0), 1, signed=True))}"
        f"{spaced_ci(bias, 1, scale=100)}, on {count(bias.n, 'pair')} with votes and verdicts\n"
        f"all pairs with votes: {count(people.n)}\nof the judges: {count(judge.n, 'verdict')}"
    )
    rate = DASH if model_rates.corrected.value is None else estimate_html(model_rates.corrected, 1)
    by_judges = _render_rate(judge, measure_attribute("win_rate", "", "", name))
    marks = track_html(axis, bar, *others, point)
    return range_row(name, by_judges, _render_rate(people), marks, rate, worth, tip=tip)


def _render_rate(estimate: Estimate, of: Markup = EMPTY) -> Markup:
    if estimate.value is None:
        return escape(DASH)
    shown = (of, number(100 * estimate.value, 1), interval(estimate, 1, scale=100))
    return fill('<span{}>{}</span> <span class="eh-ci">{}</span>', *shown)


# ------------------------------------------------------------------------------ for a paper


def people_agreement_paper_table(filtered: FilteredStudy) -> paper_table.PaperTable | None:
    """Table of agreement among people; None for a study with model judges."""
    if not filtered.has_only_people:
        return None
    found = agreement_among_people(filtered.frame_by_person)
    measures = (
        ("Two people agree", found.pair.share),
        ("Two people agree, votes for a tie left out", found.pair.decisive),
        ("A person agrees with the majority of the others", found.others.share),
    )
    rows = [
        (name, *paper_table.percent_cells(got), count(got.n)) for name, got in measures if got.n
    ]
    alpha = found.pair.alpha
    if alpha.value is not None:
        bounds = paper_table.interval_cell(alpha, 1, 2)
        rows.append(("Krippendorff's α", number(alpha.value, 2), bounds, count(alpha.n)))
    caption = (
        f"Agreement among people on {filtered.name}: how often, in %, two votes on the same two "
        f"answers are equal; Krippendorff's α is corrected for chance. "
        f"{count(found.voters, 'person')}. {paper_table.describe_items_and_filters(filtered)} "
        "95 % intervals over items."
    )
    head = ("Agreement", "%", "95 % CI", "n")
    return paper_table.PaperTable("Agreement", caption, head, tuple(rows))
