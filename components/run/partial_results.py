"""Results so far, on the Run tab during a run: how many comparisons change with the order, or the
pass rate of single answers."""

from components.html import pieces, templates
from components.html.format import count, share, spaced_ci
from components.html.markup import EMPTY, Markup
from components.run import live_figures, run_facts
from studies.domain import Estimate


def partial_results_html(facts: run_facts.RunFacts, figures: live_figures.LiveFigures) -> Markup:
    """HTML panel of the results so far: of comparisons the share whose verdict changes with the
    order, of single answers the pass rate or mean score. Empty while no run is active or no reply
    is stored."""
    if not facts.running or not facts.reply_count:
        return EMPTY
    heading = pieces.unwrapped_panel_heading(
        "Results so far",
        "the same numbers as on the Results tab; no finding is stated before the run ends",
        (),
    )
    done = f"{count(facts.reply_count)} of {count(facts.planned)}"
    single = figures.judges_single_answers
    so_far = _pass_rate_sentence(*figures.of_answers) if single else order_change_sentence(figures)
    return pieces.wrap(templates.macros("run/run.html").results_so_far(heading, done, so_far))


def _pass_rate_sentence(name: str, estimate: Estimate) -> str:
    """Sentence on the pass rate or the mean score of the answers judged so far."""
    if estimate.value is None:
        return "No answer has a usable verdict yet."
    value = f"{share(estimate.value, 0)}{spaced_ci(estimate, 0, scale=100)}"
    what, _, whole = name.partition(", % ")  # such as "Mean score, % of the scale"
    told = f"{what[:1].lower()}{what[1:]} {value} {whole}".rstrip()
    return f"Of {count(estimate.n, 'verdict')}: {told}. The interval narrows with more verdicts."


def order_change_sentence(figures: live_figures.LiveFigures) -> str:
    """Sentence on how many comparisons were judged in all orders, and how many of them change with
    the order."""
    changed = figures.changed
    if changed.value is None:
        return "No comparison has a verdict in all its orders yet."
    return (
        f"Of {count(changed.n, 'comparison')} judged in all orders, the outcome of "
        f"{count(round(changed.value * changed.n))} changed with the order: "
        f"{f'{share(changed.value, 0)}{spaced_ci(changed, 0, scale=100)}'.strip()}. "
        "The interval narrows with more verdicts."
    )
