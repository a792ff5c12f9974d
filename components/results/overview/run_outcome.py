"""Panels of the Run tab at the end of a run: direction of the flips, next steps with links.

A flip is a comparison whose verdict changes with the order of the answers."""

import json
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count, number, points, share, spaced_ci
from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import panel_html, wrap
from components.results.bias.computed import Bias, load_bias
from components.results.bias.flip_leans import FlipLean
from components.results.bias.pair_tests import p_value_clause
from components.results.overview.panels import flip_direction_chart, list_flips_of_pairs
from components.results.overview.tab import can_compare_remedies
from components.results.remedies import tab as remedies_tab
from components.results.view import unusable_replies
from components.results.view.next_step_rows import NextStep, next_step_rows_html
from metrics.catalogue.position_records import EFFECT
from studies.people.label_split import PromptToImprove, find_prompt_improved_by
from studies.store.store import Store

WIDE: Final = 0.05
"""Half-width of the interval of the consistency above which the panel proposes more questions."""


def run_outcome_html(store: Store, name: str) -> Markup:
    """HTML of the panels on flips and on next steps, for a study whose calls have all been made; if
    no verdict is usable, the reason instead of the flips. Empty without replies."""
    filtered = FilteredStudy(store, name)
    bias = load_bias(filtered)
    if not bias.call_count:
        return EMPTY
    unusable = unusable_replies.find_if_all_unusable(filtered)
    if unusable is not None:
        parts = _unusable_html(filtered, unusable, store.owns(name))
    else:
        parts = join([_flips_html(bias), _next_steps_panel(next_steps(filtered, bias))])
    return wrap(fill('<div class="eh-outcome">{}</div>', parts))


def _flip_bounds(bias: Bias) -> tuple[float, float] | None:
    """(lower, upper) end of the interval of the share of comparisons that flip when the answers
    are swapped; None if unknown. The two ends are not equally far from the share."""
    same = bias.overall("consistency")
    return None if same.low is None or same.high is None else (1 - same.high, 1 - same.low)


def _flips_html(bias: Bias) -> Markup:
    rows = list_flips_of_pairs(bias)
    if not rows:
        return EMPTY
    flips, pairs = sum(row.flips for row in rows), sum(row.pairs for row in rows)
    subtitle = f"{count(flips)} of {count(pairs, 'comparison')} flip"
    rest = f"{_flip_direction_sentence(rows)}{_flip_precision_sentence(bias)}"
    told = join(fill('<p class="eh-small">{}</p>', text) for text in (repetition_text(bias), rest))
    return panel_html("Which way verdicts flip", subtitle, flip_direction_chart(bias) + told)


def repetition_text(bias: Bias) -> str:
    """Text on the share of verdicts that change on a repeat in the same order, and on the order
    effect; or that no call was repeated."""
    repeats, effect = bias.overall("noise_floor"), bias.overall("order_effect")
    if repeats.value is None:
        return (
            "No call was repeated in the same order, so it is unknown how many verdicts change "
            "without a swap."
        )
    told = (
        f"On a repeat in the same order, {share(repeats.value)}"
        f"{spaced_ci(repeats, 1, scale=100)} of verdicts change, n {count(repeats.n)}. "
    )
    if effect.value is None or effect.low is None or effect.high is None:
        return told
    sure = "" if effect.low > 0 or effect.high < 0 else "; no significant difference"
    return told + (
        f"{EFFECT.name} (disagreement between orders minus changes on a repeat): "
        f"{points(number(100 * effect.value, 1, signed=True))}"
        f"{spaced_ci(effect, 1, scale=100)}, {count(effect.n, 'repeated comparison')}{sure}."
    )


def _flip_direction_sentence(rows: list[FlipLean]) -> str:
    if len(rows) > 1:
        leaning = sum(row.is_significant for row in rows)
        return (
            f"{count(leaning)} of {count(len(rows), 'combination')} of judge and prompt "
            f"significantly {'prefers' if leaning == 1 else 'prefer'} a position. "
        )
    return f"Sign test by questions: {p_value_clause(rows[0].p)}, adjusted. "


def _flip_precision_sentence(bias: Bias) -> str:
    bounds = _flip_bounds(bias)
    told = "95\u202f% interval of the share of flips, as measured"
    if bounds is None:
        return ""
    return f"{told}: {number(100 * bounds[0], 1)} to {share(bounds[1], 1)}."


def next_steps(filtered: FilteredStudy, bias: Bias) -> list[NextStep]:
    """Rows of the panel "Next steps", those that apply: read the flips; compare remedies or, if no
    better answer is known, ask people; ask more questions; share. A study made to improve the
    prompt of another study has a single row, which leads back to that study."""
    if found := find_prompt_improved_by(filtered.store, filtered.name):
        told = "the replies are there: edit and try the rules, or see what each candidate changes"
        address = json.dumps(_improved_prompt_address(filtered, found))
        opens = {"data-go": address, "data-to": remedies_tab.IMPROVED}
        return [NextStep(f"Back to {found.study}", told, "Improve the prompt", opens)]
    flips = sum(row.flips for row in list_flips_of_pairs(bias))
    steps = []
    if flips:
        told = f"{count(flips, 'comparison')} with the replies in both orders side by side"
        opens = {"data-select": json.dumps({"flipped": True})}
        steps.append(
            NextStep("See which comparisons flipped", told, f"Open {count(flips, 'flip')}", opens)
        )
    if can_compare_remedies(filtered):
        told = (
            "rules that combine several verdicts, compared by how often they are right; no new "
            "calls"
        )
        opens = {"data-view": remedies_tab.NAME}
        steps.append(NextStep("Compare remedies", told, "Remedies", opens))
    elif bias.overall("accuracy").value is None:
        told = "votes by people show how often the judge is right"
        steps.append(NextStep("Ask people", told, "Vote", {"data-tab": "vote"}))
    bounds = _flip_bounds(bias)
    if bounds is not None and (bounds[1] - bounds[0]) / 2 > WIDE:
        told = (
            f"the interval of the share of flips ({number(100 * bounds[0])} to "
            f"{share(bounds[1], 0)}) is wide; the Study tab shows how to narrow it"
        )
        steps.append(NextStep("Ask more questions", told, "Study", {"data-tab": "study"}))
    report = "report, tables for a paper, data and a link; none of them contains an API key"
    return [*steps, NextStep("Share", report, "Report", {"data-click": "#eh-share"})]


def _improved_prompt_address(filtered: FilteredStudy, found: PromptToImprove) -> dict[str, str]:
    """Query parameters of the page that shows the panel "Improve the prompt" of the study that
    `found` names. Its judge is a parameter only if that study has several judges, its prompt only
    if it has several prompts."""
    base = filtered.store.study(found.study)
    judges = [one.name for one in base.judges]
    where = {"study": found.study, "view": remedies_tab.NAME}
    if len(judges) > 1 and found.judge in judges:
        where["judge"] = found.judge
    return {**where, "prompt": found.prompt} if len(base.prompts) > 1 else where


def _next_steps_panel(steps: list[NextStep]) -> Markup:
    return panel_html("Next steps", "", next_step_rows_html(steps))


def _unusable_html(
    filtered: FilteredStudy, unusable: unusable_replies.UnusableReplies, may_run: bool
) -> Markup:
    """HTML for a study without a usable verdict: expected form, example of a reply, next steps.
    `may_run`: whether the reader may run the study."""
    steps = unusable_replies.repair_steps(filtered, unusable, on_run=True, may_run=may_run)
    title, why = unusable_replies.EXPLANATION_TITLE, unusable.consequence
    panel = panel_html(title, why, unusable_replies.explanation_html(filtered))
    return panel + _next_steps_panel(steps)
