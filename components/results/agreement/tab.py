"""The People view of the Results tab: layout of its panels and their contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE
from components.html.markup import Markup
from components.html.panel import empty_state, how_computed, legend_key, panel_heading, wrap
from components.layout.widgets import ClickableHTML, Switch
from components.results.agreement import panels
from components.results.agreement.computed import KNOWN_ANSWERS, Agreement, load_agreement
from components.results.agreement.dispute_list import show_disputes
from components.results.agreement.disputes import (
    AGAINST_KNOWN,
    AGAINST_PEOPLE,
    JUDGES_SPLIT,
    PEOPLE_SPLIT,
    dispute_kinds,
)
from components.results.agreement.people_tables import (
    show_coefficients,
    show_corrected_rates,
    show_distances,
    show_replacements,
)
from components.results.agreement.verification_panel import (
    VerificationData,
    load_verification,
    show_verification,
    verification_subtitle,
)
from components.results.agreement.voters_panel import (
    show_targeted_notice,
    show_voters,
    targeted_votes_note,
    voters_subtitle,
)
from components.results.view_contract import ViewParts, pick_choice
from metrics.people import voter_flags as flags

NAME: Final = "People"
DISPUTE_KINDS: Final = (AGAINST_PEOPLE, AGAINST_KNOWN, JUDGES_SPLIT, PEOPLE_SPLIT)


def build() -> ViewParts:
    targeted_notice = ClickableHTML(elem_id="eh-agree-sought")
    with gr.Row(equal_height=True, elem_classes="eh-pair"):
        with gr.Column(elem_classes="eh-panel", scale=27):
            with gr.Row(elem_classes="eh-panel-head"):
                head = ClickableHTML(panel_heading("Who agrees with whom"))
                kind = Switch(list(panels.COEFFICIENTS), "Coefficient")
            matrix = ClickableHTML(elem_id="eh-agree")
            ClickableHTML(how_computed(HOW_MATRIX))
        with gr.Column(elem_classes="eh-panel", scale=20):
            subtitle = (
                f"% of verdicts equal to people's majority, 95{NARROW_SPACE}% CI. "
                "Both orders: a win needs both, otherwise a tie."
            )
            ClickableHTML(panel_heading("Agreement with people: one order or both", subtitle))
            ClickableHTML(panels.order_legend(legend_key("chance", "chance: 1/3")))
            dual = ClickableHTML(elem_id="eh-agree-dual")
            ClickableHTML(how_computed(HOW_MERGED_ORDERS))
    with gr.Column(elem_classes="eh-panel") as numbers_panel:
        subtitle = (
            f"judges with the people's majority, people with each other; 95{NARROW_SPACE}% CI"
        )
        ClickableHTML(panel_heading("Agreement with people, all coefficients", subtitle))
        numbers = ClickableHTML(elem_id="eh-agree-numbers")
        ClickableHTML(how_computed(HOW_COEFFICIENTS))
    with gr.Row(equal_height=True, elem_classes="eh-pair") as people_row:
        with gr.Column(elem_classes="eh-panel", scale=1):
            head_stand = ClickableHTML(
                panel_heading("Which judge can replace a person?", REPLACEMENT_SUBTITLE)
            )
            stand = ClickableHTML(elem_id="eh-agree-stand")
            ClickableHTML(how_computed(HOW_REPLACEMENT))
        with gr.Column(elem_classes="eh-panel", scale=1):
            head_far = ClickableHTML(panel_heading("Distance from the people's mean"))
            ClickableHTML(panels.order_legend(legend_key("tick", "always tie")))
            far = ClickableHTML(elem_id="eh-agree-far")
            ClickableHTML(how_computed(HOW_DISTANCES))
    with gr.Column(elem_classes="eh-panel") as voters_panel:
        head_voters = ClickableHTML(panel_heading("The people who voted"))
        people = ClickableHTML(elem_id="eh-agree-voters")
        ClickableHTML(how_computed(HOW_VOTERS))
    with gr.Column(elem_classes="eh-panel", visible=False) as verified_panel:
        head_verified = ClickableHTML(panel_heading(VERIFICATION_TITLE))
        verified = ClickableHTML(elem_id="eh-agree-verified")
        ClickableHTML(how_computed(HOW_VERIFIED))
    with gr.Column(elem_classes="eh-panel") as categories_panel:
        head_categories = ClickableHTML(panel_heading("Agreement by category"))
        categories = ClickableHTML(elem_id="eh-agree-categories")
        ClickableHTML(how_computed(HOW_CATEGORIES))
    with gr.Column(elem_classes="eh-panel") as corrected_panel:
        ClickableHTML(panel_heading("Win rates, corrected by people", CORRECTED_SUBTITLE))
        ClickableHTML(wrap(CORRECTED_KEYS))
        corrected = ClickableHTML(elem_id="eh-agree-corrected")
        ClickableHTML(how_computed(HOW_CORRECTED))
    with gr.Column(elem_classes="eh-panel"):
        with gr.Row(elem_classes="eh-panel-head"):
            head_list = ClickableHTML(panel_heading("Where judges and people disagree"))
            apart = Switch(DISPUTE_KINDS, "List")
        listed = ClickableHTML(elem_id="eh-agree-list")
    return ViewParts(
        outputs=[
            head,
            matrix,
            dual,
            numbers,
            head_stand,
            stand,
            head_far,
            far,
            head_categories,
            categories,
            corrected,
            head_list,
            listed,
            targeted_notice,
            head_voters,
            people,
            numbers_panel,
            people_row,
            categories_panel,
            corrected_panel,
            voters_panel,
            head_verified,
            verified,
            verified_panel,
        ],
        clickable=[matrix, numbers, categories, listed, people, verified],
        controls={"agree": kind, "apart": apart},
        partial_redraws={
            "agree": ([head, matrix], render_matrix),
            "apart": ([head_list, listed], render_disputes),
        },
    )


REPLACEMENT_SUBTITLE: Final = (
    "agreement with the other voters in points, judge minus the person it replaces; "
    f"95{NARROW_SPACE}% CI by items"
)
CORRECTED_SUBTITLE: Final = (
    f"%, 95{NARROW_SPACE}% CI by items; judges' many verdicts corrected by people's few votes"
)
CORRECTED_KEYS: Final = Markup(
    '<div class="eh-row eh-keys"><span class="eh-key"><i class="hollow"></i>judges alone</span>'
    '<span class="eh-key"><i class="diamond"></i>people alone</span>'
    '<span class="eh-key"><i class="dot"></i>corrected</span></div>'
)
HOW_MATRIX: Final = (
    "Verdicts are compared separately in each order; of repeats the most frequent verdict counts. "
    "`κ = (same − expected) / (1 − expected)`: share of equal verdicts, and the share expected by "
    "chance from how often each rater gives each verdict. People: majority of the votes; without "
    "one, a tie. No colour: full agreement. Intervals: jackknife over items; for shares Wilson at "
    "the effective n. Click a cell to open the pairs on which the two disagree."
)
HOW_MERGED_ORDERS: Final = (
    "One order: every verdict counts separately. Both orders: one verdict per pair; a win needs "
    "both orders, otherwise a tie. Differences are paired by item. Chance is 1/3 if ties are as "
    "likely as either answer."
)
HOW_COEFFICIENTS: Final = (
    "Same verdict: both choose first, second or tie. Without ties: pairs on which neither chooses "
    "tie. `α = 1 − (n − 1)·observed / expected`, from the observed and expected disagreements of n "
    "verdicts without ranking them. Two people: every two votes on one pair. A person, the others: "
    "each vote against the majority of the other votes; without a majority, a tie. MAE (mean "
    "absolute error) and “within 1” (Creation-MMBench's Consistency): distance of a person's score "
    "from the mean of the others. Both orders: a win needs both, otherwise a tie; for MAE the mean "
    "of the two scores."
)
HOW_VOTERS: Final = (
    "First position: share of decisive votes for the answer shown first, where the order is known; "
    "even is 50 % for pairs. Same when swapped: comparisons shown to one person twice, answers "
    "swapped. With the others: share of the other voters on the same pair who agree with this "
    "person. Those others: their agreement with each other. Accuracy: probability of a correct "
    "vote, estimated from the agreement if people err independently (one-coin model).\n\n"
    "Flagged: agreement with the others, or consistency when swapped, at least "
    f"{100 * flags.MIN_GAP:.0f} points below that of the others (Fisher's exact test). Also: one "
    f"position chosen at least {100 * flags.MIN_LEAN:.0f} points more often than expected from the "
    f"others' votes (exact binomial test). Tests at {100 * flags.SIGNIFICANCE_LEVEL:.0f} % after "
    f"Holm's adjustment over all people, from {flags.MIN_VOTES} votes on. Also: most timed votes "
    f"faster than {flags.MAX_READING_SPEED:.0f} characters a second. No flagged voter is removed."
)
VERIFICATION_TITLE: Final = "Verified answers: do they follow the instruction?"
HOW_VERIFIED: Final = (
    "One verification: one person's latest check of one model's answer. “Follow it” and “harmful” "
    "are shares of all verifications, faults are shares of those that say no; Wilson intervals at "
    "the effective n, items as clusters. Two people: every two verifications of one answer; `κ` "
    "with chance agreement from the pooled shares of yes and no, "
    "`α = 1 − (n − 1)·disagreeing / (yes·no)` over all n verifications; jackknife over items.\n\n"
    "An answer passes if most of its verifiers say that it follows the instruction, and fails if "
    "most say no; with equal numbers it is not used. Judges: pairs of one answer that passes and "
    "one that fails, each order separately. Shown is the share of decisive verdicts for the "
    "answer that passes; chance is 50 %. Ties are counted separately. A number opens its "
    "comparisons."
)
HOW_REPLACEMENT: Final = (
    "The judge replaces each voter in turn. The agreement of the judge with the *remaining* voters "
    "is compared with that of the replaced voter: `judge − person`, on the same pairs, interval by "
    "items. Best: share of bootstrap samples of the items in which this judge leads."
)
HOW_DISTANCES: Final = (
    "J: a judge's score from −2 to 2, averaged over both orders where both were judged. P: the "
    "mean score of people; for a person, the mean of the *other* people. `MAE = mean |J − P|`, "
    "`Consistency = share of |J − P| ≤ 1` (Creation-MMBench F.2). Averaging two orders pulls J "
    "toward 0, which alone reduces the distance: compare with “always tie”, a judge that only "
    "gives ties."
)
HOW_CATEGORIES: Final = (
    "Share of a judge's verdicts that equal the people's majority, ties counted. Without votes, "
    "but with a better answer known by design: the share of correct verdicts."
)
HOW_CORRECTED: Final = (
    "Prediction-powered: the people's mean, minus the judges' mean on the same pairs, plus the "
    "judges' mean on all other pairs, with the weight that gives the narrowest interval (PPI++). "
    "Unbiased for any judge if the pairs with votes are a random sample of all. Votes worth: "
    "factor by which the number of votes would have to grow for the same width without judges."
)


def finding(filtered_study: FilteredStudy) -> tuple[str, str]:
    return panels.agreement_finding(load_agreement(filtered_study))


def kpis(filtered_study: FilteredStudy) -> Markup:
    return panels.show_kpis(load_agreement(filtered_study))


def initial_controls(filtered_study: FilteredStudy, wanted: Mapping[str, str]) -> dict[str, Any]:
    return {
        "agree": gr.Radio(value=pick_choice(wanted.get("agree"), list(panels.COEFFICIENTS))),
        "apart": gr.Radio(value=pick_choice(wanted.get("apart"), list(DISPUTE_KINDS))),
    }


def render(filtered_study: FilteredStudy, agree: str, apart: str) -> list[Any]:
    data = load_agreement(filtered_study)
    note = targeted_votes_note(data)
    against = data.by_category[0]
    title = f"Agreement with {against}, by category" if against else "Agreement by category"
    measure = "correct; a tie is wrong" if against == KNOWN_ANSWERS else "same verdict"
    levels = "−2 to 2" if data.has_five_levels else "−1 to 1: compare with “always tie”"
    distance = (
        "MAE: mean absolute difference; % within 1 (Creation-MMBench's Consistency); "
        f"scores {levels}"
    )
    return [
        *_matrix_outputs(data, agree),
        panels.show_merged_orders(data) + note,
        show_coefficients(data) + note,
        panel_heading("Which judge can replace a person?", REPLACEMENT_SUBTITLE),
        show_replacements(data) + note,
        panel_heading("Distance from the people's mean", distance),
        show_distances(data) + note,
        panel_heading(title, f"% {measure}, 95{NARROW_SPACE}% CI"),
        panels.show_categories(data) + note,
        show_corrected_rates(data),
        *_dispute_outputs(data, apart),
        show_targeted_notice(data),
        panel_heading("The people who voted", voters_subtitle(data)),
        show_voters(data),
        *_panel_visibility(data),
        *_verification_outputs(load_verification(data)),
    ]


def _verification_outputs(one: VerificationData) -> list[Any]:
    """Gradio outputs of the verification panel: heading, content and visibility; it is hidden
    without verifications."""
    head = panel_heading(VERIFICATION_TITLE, verification_subtitle(one))
    return [head, show_verification(one), gr.Column(visible=one.has_checks)]


def _panel_visibility(data: Agreement) -> list[Any]:
    """Visibility of the panels that need votes; without votes, one remaining panel explains their
    absence."""
    people, known = data.raters.has_people, bool(data.by_category[0])
    return [
        gr.Column(visible=people),
        gr.Row(visible=people),
        gr.Column(visible=known),
        gr.Column(visible=people),
        gr.Column(visible=people),
    ]


def render_matrix(filtered_study: FilteredStudy, agree: str, apart: str) -> list[Any]:
    return _matrix_outputs(load_agreement(filtered_study), agree)


def render_disputes(filtered_study: FilteredStudy, agree: str, apart: str) -> list[Any]:
    return _dispute_outputs(load_agreement(filtered_study), apart)


def _matrix_outputs(data: Agreement, agree: str) -> list[Any]:
    subtitle = f"{panels.COEFFICIENTS[agree][2]}; 95{NARROW_SPACE}% CI"
    return [
        panel_heading("Who agrees with whom", subtitle),
        panels.show_matrix(data, agree) + targeted_votes_note(data),
    ]


def _dispute_outputs(data: Agreement, apart: str) -> list[Any]:
    """Heading and HTML list of the chosen kind of dispute. If the default kind cannot occur in the
    study, the first kind that can is shown instead."""
    known = dispute_kinds(data.raters)
    title = (
        "Where judges and people disagree" if data.raters.has_people else "Where judges disagree"
    )
    if not known:
        return [
            panel_heading(title),
            empty_state("Nothing to list.", "Disputes need a second judge, prompt or some votes."),
        ]
    if apart == DISPUTE_KINDS[0] and apart not in known:
        apart = known[0]
    if apart not in known:
        return [panel_heading(title), empty_state("Nothing to list.", NO_DISPUTES_REASON[apart])]
    subtitle, made = show_disputes(data, apart)
    return [panel_heading(title, subtitle), made]


NO_DISPUTES_REASON: Final = {
    AGAINST_KNOWN: "The better answer is not known by design in this study.",
    JUDGES_SPLIT: "Only one judge with one prompt is shown. Add a second one, or remove filters.",
    PEOPLE_SPLIT: "There are no votes yet. Vote on the Vote tab.",
}
