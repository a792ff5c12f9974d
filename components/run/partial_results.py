"""Results so far, on the Run tab during a run: how many comparisons change with the order, or the
pass rate of single answers."""

from components.html.format import count, share, spaced_ci
from components.html.markup import EMPTY, Markup, fill
from components.html.pieces import unwrapped_panel_heading, wrap
from components.run.live_figures import LiveFigures
from components.run.run_facts import RunFacts
from studies.domain import Estimate


def partial_results_html(facts: RunFacts, picture: LiveFigures) -> Markup:
    """HTML panel with the share of comparisons so far whose verdict changes with the order, or with
    the pass rate or mean score of single answers; empty while no run is active or no reply is
    stored."""
    if not facts.running or not facts.done:
        return EMPTY
    heading = unwrapped_panel_heading(
        "Results so far",
        "the same numbers as on the Results tab; no finding is stated before the run ends",
        (),
    )
    return wrap(
        fill(
            '<section class="eh-panel"><div class="eh-so-far">{}{}</div>{}</section>',
            heading,
            Markup(
                '<button type="button" class="eh-btn" data-tab="results">Open partial results'
                "</button>"
            ),
            _partial_notice_html(facts, picture),
        )
    )


def _partial_notice_html(facts: RunFacts, picture: LiveFigures) -> Markup:
    """HTML notice: calls done of those planned, and the result so far."""
    return fill(
        '<div class="eh-notice warn"><b>{}</b><span class="eh-grow">{}</span></div>',
        f"Partial: {count(facts.done)} of {count(facts.planned)}.",
        _pass_rate_sentence(*picture.of_answers)
        if picture.judges_single_answers
        else order_change_sentence(picture),
    )


def _pass_rate_sentence(name: str, estimate: Estimate) -> str:
    """Sentence on the pass rate or the mean score of the answers judged so far."""
    if estimate.value is None:
        return "No answer has a usable verdict yet."
    value = f"{share(estimate.value, 0)}{spaced_ci(estimate, 0, scale=100)}"
    what, _, whole = name.partition(", % ")  # such as "Mean score, % of the scale"
    told = f"{what[:1].lower()}{what[1:]} {value} {whole}".rstrip()
    return f"Of {count(estimate.n, 'verdict')}: {told}. The interval narrows with more verdicts."


def order_change_sentence(picture: LiveFigures) -> str:
    """Sentence on how many comparisons were judged in all orders, and how many of them change with
    the order."""
    changed = picture.changed
    if changed.value is None:
        return "No comparison has a verdict in all its orders yet."
    return (
        f"Of {count(changed.n, 'comparison')} judged in all orders, the outcome of "
        f"{count(round(changed.value * changed.n))} changed with the order: "
        f"{f'{share(changed.value, 0)}{spaced_ci(changed, 0, scale=100)}'.strip()}. "
        "The interval narrows with more verdicts."
    )
