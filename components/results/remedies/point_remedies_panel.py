"""Remedies for verdicts on single answers: rules that combine stored verdicts, such as those of
several repeats, by their agreement with labels."""

from dataclasses import replace
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import cache_in_filtered_study
from components.html.format import NARROW_SPACE, count, number, points, share, spaced_ci
from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import empty_state, wrap
from components.html.tables.forest_cells import fit_axis, fit_share_axis, tick_steps_from
from components.html.tables.typed_columns import TypedColumn, ValueRow, page_table
from components.html.tables.value_table import PERCENT, SCORE, NumberStyle
from components.results.pass_fail.computed import load_pass_fail, missing_labels_text
from components.results.pass_fail.rate_tables import as_sentence
from components.results.view.unusable_replies import put_format_advice_first_if_needed
from metrics.catalogue.records import RECORDS
from metrics.labels.point_rules import PointRemedies, compare_single_answer_rules_with_one_call
from metrics.labels.true_pass_rate import is_by_labels
from metrics.remedies.rule_names import POINT_RULE_TEXTS, advised_rule_text, rater_text
from studies.domain import Rater

MAX_TABLES: Final = 6
"""Maximum number of tables, one per judge and prompt; readers see the others by filtering."""
TITLE: Final = "Remedies for verdicts on single answers"
SUBTITLE: Final = (
    "each rule's agreement with the labels (pass/fail) or distance to the labels (scores), "
    f"compared with one call; 95{NARROW_SPACE}% CI by item, widened for the number of rules"
)
NO_LABELS_TITLE: Final = "Remedies for single answers need labels."
SHIFT: Final = NumberStyle(2, signed=True)
SHIFT_POINTS: Final = NumberStyle(1, 100, signed=True)
HOW_POINTS: Final = (
    "Each answer counts once in the table; in Agreement each verdict does. If at "
    "least half of the answers have a verdict in every order, the others are left out.\n\n"
    "Pass/fail: a verdict equal to the label earns 1, the opposite 0, no majority ½. Scores: the "
    "distance between score and label. Each rule is compared with one call on the same answers, "
    "paired by item; intervals of the gains hold for all rules of a table together (Bonferroni). "
    "The headline's gain was measured on items that were not used to choose the rule. On a random "
    "half of the items, the best rule up to each number of calls is chosen; its gain is measured "
    "on the other half. Then the halves change roles; all this is repeated 20 times.\n\n"
    "The Rogan–Gladen method corrects the pass rate, not individual verdicts: see Agreement."
)

NO_GAIN: Final = "no rule comes significantly closer to the labels"
NO_SIGNAL: Final = (
    "no rule comes significantly closer to the labels than the same verdict on every answer"
)


@cache_in_filtered_study
def load_single_answer_rules(filtered: FilteredStudy) -> dict[Rater, PointRemedies]:
    """(judge, prompt) with labelled single answers -> remedies; the most answers first."""
    found = compare_single_answer_rules_with_one_call(filtered.measured_judge_rows)
    return dict(sorted(found.items(), key=lambda pair: -pair[1].rules[0].value.n))


def single_answer_rules_headline(filtered: FilteredStudy) -> tuple[str, str]:
    """Headline and the sentence below it: the recommended rule with its gain on held-out items, or
    the reason why none is recommended, or that too few replies can be read."""
    found = load_single_answer_rules(filtered)
    if not found:
        told = (NO_LABELS_TITLE, missing_labels_text(filtered))
        return put_format_advice_first_if_needed(filtered, None, told)
    (judge, prompt), remedies = next(iter(found.items()))
    return put_format_advice_first_if_needed(
        filtered,
        (judge, prompt),
        _headline_of_rater(
            rater_text((judge, prompt), list(found)),
            remedies,
            _one_call_sentence(filtered, (judge, prompt), remedies),
        ),
    )


def _one_call_sentence(filtered: FilteredStudy, rater: Rater, remedies: PointRemedies) -> str:
    """How well one call agrees with the labels: the number of the view Agreement, if it is on the
    same verdicts; else the mean over the answers that every rule can decide."""
    single = remedies.rules[0].value
    if remedies.kind == "pass":
        whole = load_pass_fail(filtered).results[rater].rates.agreement
        shown = whole if whole.n == remedies.verdicts else single
        decided = f"on the {count(single.n)} answers that every rule can decide"
        where = "of verdicts" if shown is whole else decided
        rate = f"{share(shown.value)}{spaced_ci(shown, 1, scale=100)}"
        return f"One call agrees with the labels in {rate} {where}"
    return (
        f"The score of one call is on average {number(single.value, 2)}"
        f"{spaced_ci(single, 2)} scale points from the label"
    )


def _headline_of_rater(judge: str, remedies: PointRemedies, now: str) -> tuple[str, str]:
    advice = remedies.advice
    if advice is None:
        if len(remedies.rules) == 1:
            return f"No remedy can be computed for {judge} yet.", f"{now}. The reasons are below."
        rules = "; ".join(POINT_RULE_TEXTS[one.id][0].lower() for one in remedies.rules[1:])
        return (
            f"No remedy was shown to help the judge {judge}, of those compared ({rules}).",
            f"{now}; {NO_SIGNAL if remedies.no_signal else NO_GAIN}.",
        )
    gain = advice.gain
    amount = (
        f"{points(number(100 * (gain.value or 0), 1, signed=True))}{spaced_ci(gain, 1, scale=100)}"
        if remedies.kind == "pass"
        else f"mean distance to the label smaller by {number(gain.value, 2)}{spaced_ci(gain, 2)} "
        "scale points"
    )
    lead = (
        f"{now}. Gain over one call of rules chosen in this way, on items not used to choose them: "
        f"{amount}."
    )
    return f"Use for {judge}: {advised_rule_text(advice.rule, advice.calls, advice.fitted)}.", lead


def single_answer_rules_html(filtered: FilteredStudy) -> Markup | None:
    """HTML tables of the rules by judge and prompt, at most MAX_TABLES; a message without labels,
    None without verdicts on single answers."""
    found = load_single_answer_rules(filtered)
    if not found:
        if not (filtered.measured_judge_rows["options"] == 1).any():
            return None
        return empty_state(NO_LABELS_TITLE, missing_labels_text(filtered))
    shown = list(found.items())[:MAX_TABLES]
    tables = join(_remedies_section(filtered, rater, remedies) for rater, remedies in shown)
    left = len(found) - len(shown)
    more = fill(
        "<p>{}</p>",
        f"{count(left, 'more table')} not shown; filter by judge or prompt to see them.",
    )
    return wrap(tables, more if left else EMPTY)


def single_answer_rules_report(filtered: FilteredStudy) -> Markup | None:
    """HTML for the report on rules that combine several verdicts on a single answer, such as the
    mean of its repeats; None without labelled answers."""
    return single_answer_rules_html(filtered) if load_single_answer_rules(filtered) else None


def _remedies_section(filtered: FilteredStudy, rater: Rater, found: PointRemedies) -> Markup:
    title = fill('<h3 class="eh-under">{}</h3>', " · ".join(rater))
    return join(
        [
            title,
            _rules_by_agreement_table(rater, found),
            _rules_not_computed_html(found),
            _true_pass_rate_sentence(filtered, rater),
        ]
    )


def _rules_by_agreement_table(rater: Rater, found: PointRemedies) -> Markup:
    gains = [one.adjusted for one in found.rules if one.adjusted is not None]
    if found.kind == "pass":
        style, change = PERCENT, SHIFT_POINTS
        heads = (f"{RECORDS['point_right'].name}, by answer,\u00a0%", "Gain over one call, points")
        axis = fit_share_axis(gains, signed=True, holds=(0.0,))
    else:
        style, change = SCORE, SHIFT
        heads = (
            f"{RECORDS['scores.mae'].name}, by answer, scale points",
            "Mean distance of one call minus that of this rule, scale points (above 0: the rule is "
            "nearer to the label)",
        )
        axis = fit_axis(gains, tick_steps_from(0.1), lambda tick: number(tick, 1), holds=(0.0,))
    columns = [
        TypedColumn("Calls", lambda rule: f"{rule.calls:.3g}"),
        TypedColumn(heads[0], lambda rule: rule.value, style, n=True),
        TypedColumn(heads[1], lambda rule: rule.adjusted or "baseline", change),
    ]
    if gains:
        plotted = replace(axis, chance=0.0)
        columns.append(TypedColumn("", lambda rule: rule.adjusted, change, axis=plotted))
    rows = []
    for one in found.rules:
        title, note = POINT_RULE_TEXTS[one.id]
        if (advice := found.advice) is not None and advice.rule == one.id:
            note += f"; recommended: {advised_rule_text(one.id, one.calls, advice.fitted)}"
        rows.append(ValueRow(title, one, note=note))
    return page_table("Rule", columns, rows, f"Remedies of {' · '.join(rater)}")


def _rules_not_computed_html(found: PointRemedies) -> Markup:
    if not found.missing:
        return EMPTY
    listed = "; ".join(f"{POINT_RULE_TEXTS[id][0]}: {why}" for id, why in found.missing.items())
    return fill(
        '<details class="eh-rest"><summary>Not computed ({})</summary><p>{}.</p></details>',
        len(found.missing),
        listed,
    )


def _true_pass_rate_sentence(filtered: FilteredStudy, rater: Rater) -> Markup:
    """HTML sentence on the observed pass rate and the true one, which is estimated from the labels
    (by count, if all answers have one), or why it is unknown; empty for scores."""
    found = load_pass_fail(filtered).results.get(rater)
    if found is None:
        return EMPTY
    observed, true = found.rates.observed_pass_rate, found.true_pass_rate
    if true.value is None:
        rate = f"The observed pass rate is {share(observed.value, 0)}"
        text = f"{rate}. {as_sentence(true.note)}"
    elif is_by_labels(true):
        text = (
            f"Every answer has a pass/fail label: observed pass rate {share(observed.value, 0)}, "
            f"pass rate by the labels {share(true.value, 0)}{spaced_ci(true, 0, scale=100)}."
        )
    else:
        text = (
            "Labels also correct the pass rate without changing any verdict: observed rate "
            f"{share(observed.value, 0)}, estimated true rate {share(true.value, 0)}"
            f"{spaced_ci(true, 0, scale=100)}."
        )
    return fill('<p class="eh-small eh-under">{}</p>', text)
