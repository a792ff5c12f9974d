"""The view Agreement of Results: people, known answers, and labels of single answers."""

from collections.abc import Callable
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import NARROW_SPACE
from components.html.markup import EMPTY, Markup
from components.html.pieces import empty_state, finding_html, legend_entry, panel_heading, wrap
from components.html.tables.table import plain_table
from components.results.agreement import agreement_formulas as texts
from components.results.agreement import (
    disputes,
    majority_panel,
    panels,
    people_tables,
    verification_panel,
    voters_panel,
)
from components.results.agreement.computed import Agreement, load_agreement
from components.results.bias.tab import (
    may_have_pass_fail,
    may_have_single_answer_scores,
    single_answers_view,
)
from components.results.pass_fail import pass_fail_panels
from components.results.pass_fail.scores import score_panels
from components.results.pass_fail.scores.computed import has_comparisons
from components.results.view.result_view import (
    Body,
    Content,
    Control,
    Panel,
    PanelGroup,
    ReportPanel,
    View,
    fold,
)

NAME: Final = "Agreement"
MATRIX_TITLE: Final = "Who agrees with whom"
DISTANCES_TITLE: Final = "Distance of scores from the people's mean"
VOTERS_TITLE: Final = "The people who voted"
DISPUTE_KINDS: Final = (
    disputes.AGAINST_PEOPLE,
    disputes.AGAINST_KNOWN,
    disputes.JUDGES_SPLIT,
    disputes.PEOPLE_SPLIT,
)


def headline(filtered: FilteredStudy) -> tuple[str, str]:
    if not has_comparisons(filtered):
        passes = may_have_pass_fail(filtered)
        found = None if passes else score_panels.label_agreement_headline(filtered)
        return found or single_answers_view(filtered).headline(filtered)
    data = load_agreement(filtered)
    return majority_panel.closest_judge_headline(filtered, data) or panels.agreement_headline(data)


def single_answer_kpis(filtered: FilteredStudy) -> Markup:
    """HTML key figures of a study of single answers; empty for comparisons, whose headline has the
    figures."""
    figures = None if has_comparisons(filtered) else single_answers_view(filtered).kpis
    return figures(filtered) if figures else EMPTY


def render_matrix(filtered: FilteredStudy, agree: str) -> Content:
    """Render the matrix of agreement between raters (judges, each with a prompt, and the majority
    of people); `agree`: the coefficient, a key of `panels.COEFFICIENTS`."""
    data = load_agreement(filtered)
    heading = panel_heading(MATRIX_TITLE, f"{panels.COEFFICIENTS[agree][2]}; 95{NARROW_SPACE}% CI")
    matrix = panels.show_matrix(data, agree) + voters_panel.disputed_pair_vote_share_line(data)
    return Content({"matrix": matrix}, heading)


def make_votes_panel_renderer(
    show: Callable[[Agreement], Markup],
) -> Callable[[FilteredStudy], Markup | None]:
    """Return a function that renders a panel: the HTML that `show` returns and, if some votes are
    on pairs not chosen at random, a line on their share; None without votes."""

    def render(filtered: FilteredStudy) -> Markup | None:
        data = load_agreement(filtered)
        known = data.raters.has_people
        return show(data) + voters_panel.disputed_pair_vote_share_line(data) if known else None

    return render


def render_score_distances(filtered: FilteredStudy) -> Content | None:
    data = load_agreement(filtered)
    if not data.raters.has_people:
        return None
    scale = (
        "scores range from −2 to 2"
        if data.has_five_level_verdicts
        else "scores range from −1 to 1, so a tie (0) is always at most 1 from the mean: see the "
        "row “always tie”"
    )
    subtitle = (
        "mean distance (MAE) of a judge's scores from the people's mean, and % of scores at most 1 "
        f"from this mean; {scale}"
    )
    made = people_tables.show_score_distances(data) + voters_panel.disputed_pair_vote_share_line(
        data
    )
    return Content({"distances": made}, panel_heading(DISTANCES_TITLE, subtitle))


def render_voters(filtered: FilteredStudy) -> Content | None:
    data = load_agreement(filtered)
    if not data.raters.has_people:
        return None
    heading = panel_heading(VOTERS_TITLE, voters_panel.voters_subtitle(data))
    return Content({"voters": voters_panel.show_voters(data)}, heading)


def render_answer_verifications(filtered: FilteredStudy) -> Content | None:
    found = verification_panel.load_answer_verifications(load_agreement(filtered))
    if not found.has_checks:
        return None
    subtitle = verification_panel.verification_subtitle(found)
    heading = panel_heading(texts.VERIFICATION_TITLE, subtitle)
    return Content({"verified": verification_panel.show_answer_verifications(found)}, heading)


def render_majority_agreement(filtered: FilteredStudy) -> Content | None:
    """Render how often each judge agrees with the majority of people, or with the better answers if
    they are known; None if neither is."""
    data = load_agreement(filtered)
    made = majority_panel.majority_agreement_table(filtered, data)
    if made is None:
        return None
    title = f"Agreement with {majority_panel.agreement_reference_phrase(filtered)}"
    heading = panel_heading(title, majority_panel.majority_agreement_subtitle(filtered, data))
    return Content({"majority": made}, heading)


def render_corrected_win_rates(filtered: FilteredStudy) -> Markup | None:
    data = load_agreement(filtered)
    return people_tables.show_corrected_win_rates(data) if data.raters.has_people else None


def render_disputes(filtered: FilteredStudy, apart: str) -> Content:
    """Render the list of disputes of the kind `apart` (one of DISPUTE_KINDS), or a message if the
    study cannot have any of this kind. Without votes, the default kind (judges against people)
    is replaced by the first kind that the study can have."""
    data = load_agreement(filtered)
    known = disputes.possible_dispute_kinds(data.raters)
    who = "judges and people" if data.raters.has_people else "judges"
    title = f"Where {who} disagree"
    if apart == DISPUTE_KINDS[0] and known and apart not in known:
        apart = known[0]
    if apart not in known:
        why = f"Disagreements need {panels.TWO_RATERS}."
        if known:
            votes = data.raters.missing_votes_text
            why = votes if apart == disputes.PEOPLE_SPLIT else NO_DISPUTES_REASON[apart]
        return Content({"disputes": empty_state("Nothing to list.", why)}, panel_heading(title))
    subtitle, made = disputes.disputes_subtitle_and_html(data, apart)
    return Content({"disputes": made}, panel_heading(title, subtitle))


NO_DISPUTES_REASON: Final = {
    disputes.AGAINST_KNOWN: "No better answer to these questions is known by design.",
    disputes.JUDGES_SPLIT: (
        "Only one judge with one prompt is shown. Add a second judge or prompt, or remove filters."
    ),
}


def has_judge_to_compare(filtered: FilteredStudy) -> bool:
    """Whether the filters leave a judge that can be compared with another judge or with people."""
    data = load_agreement(filtered)
    enough = len(data.judges) > 1 or (len(data.judges) == 1 and data.raters.has_people)
    return enough and not filtered.has_only_people


def report_headline(filtered: FilteredStudy) -> Markup:
    return finding_html(*headline(filtered)) if has_judge_to_compare(filtered) else EMPTY


def report_people_agreement(filtered: FilteredStudy) -> ReportPanel | None:
    """Report section on agreement among people; None for a study with model judges, or if no
    agreement is known."""
    table = people_tables.people_agreement_paper_table(filtered)
    if table is None or not table.rows:
        return None
    subtitle = (
        "how often, in %, two votes on the same two answers are equal, and Krippendorff's α; "
        f"95{NARROW_SPACE}% CI"
    )
    return ReportPanel("Agreement among people", subtitle, plain_table(table.head, table.rows))


MAJORITY: Final = Panel(
    "majority",
    render_majority_agreement,
    (Body("majority", "eh-agree-majority", clickable=True),),
    "Agreement with the majority of people",
    how=texts.HOW_MAJORITY,
    needs="pairs of answers with votes of people or known better answers",
    in_report=has_comparisons,
    json_keys=("remedies.rules.*.*.single.agreement", "agreement.among_people.one_person"),
)
NOTICE: Final = Panel(
    "notice",
    lambda filtered: voters_panel.show_disputed_pair_votes_notice(load_agreement(filtered)),
    (Body("notice", "eh-agree-sought"),),
    css="",
)
MATRIX: Final = Panel(
    "matrix",
    render_matrix,
    (Body("matrix", "eh-agree", clickable=True),),
    MATRIX_TITLE,
    controls=(Control("agree", "Coefficient", list(panels.COEFFICIENTS)),),
    how=texts.HOW_MATRIX,
    scale=27,
    in_report=has_judge_to_compare,
    report=report_people_agreement,
    table=people_tables.people_agreement_paper_table,
    json_keys=(
        "agreement.pairs.*.*.kappa",
        "agreement.pairs.*.*.share",
        "agreement.pairs.*.*.alpha",
        "agreement.pairs.*.*.decisive",
    ),
)
MERGED_ORDERS: Final = Panel(
    "merged_orders",
    make_votes_panel_renderer(panels.show_merged_order_agreement),
    (Body("merged_orders", "eh-agree-dual"),),
    "Agreement with people: one order or both",
    f"% of verdicts equal to people's majority, 95{NARROW_SPACE}% CI. Both orders: an answer wins "
    "if it wins in both, otherwise a tie.",
    legend=panels.order_legend(),
    how=texts.HOW_MERGED_ORDERS,
    needs="votes of people on the same pairs",
    json_keys=("agreement.merged_orders.*", "agreement.pairs.*.people.share"),
)
COEFFICIENTS: Final = Panel(
    "coefficients",
    make_votes_panel_renderer(people_tables.show_coefficients),
    (Body("coefficients", "eh-agree-numbers", clickable=True),),
    "Agreement with people, all coefficients",
    f"agreement of judges with the people's majority, and of people with each other; "
    f"95{NARROW_SPACE}% CI",
    how=texts.HOW_COEFFICIENTS,
    in_report=has_judge_to_compare,
    json_keys=(
        "agreement.pairs.*.people.share",
        "agreement.pairs.*.people.kappa",
        "agreement.pairs.*.people.alpha",
        "agreement.people.*.mae",
        "agreement.people.*.within_one",
        "agreement.among_people.pair.*",
        "agreement.voter_pairs.*.*.share",
    ),
)
REPLACEMENTS: Final = Panel(
    "replacements",
    make_votes_panel_renderer(people_tables.show_voter_replacements),
    (Body("replacements", "eh-agree-stand"),),
    "Which judge can replace a person?",
    texts.REPLACEMENT_SUBTITLE,
    how=texts.HOW_REPLACEMENT,
    json_keys=(
        "agreement.annotators.*.advantage",
        "agreement.annotators.*.with_judge",
        "agreement.annotators.*.with_person",
        "agreement.annotators.*.best",
    ),
)
DISTANCES: Final = Panel(
    "distances",
    render_score_distances,
    (Body("distances", "eh-agree-far"),),
    DISTANCES_TITLE,
    legend=panels.order_legend(legend_entry("tick", "always tie")),
    how=texts.HOW_DISTANCES,
    json_keys=(
        "agreement.people.*.mae",
        "agreement.people.*.within_one",
        "agreement.people.*.merged_mae",
        "agreement.people.*.merged_within_one",
        "agreement.always_tie.mae",
    ),
)
VOTERS: Final = Panel(
    "voters",
    render_voters,
    (Body("voters", "eh-agree-voters", clickable=True),),
    VOTERS_TITLE,
    how=texts.HOW_VOTERS,
    in_report=lambda filtered: filtered.has_only_people,
    json_keys=(
        "agreement.voters.*.votes",
        "agreement.voters.*.first",
        "agreement.voters.*.others",
        "agreement.voters.*.ties",
    ),
)
VERIFIED: Final = Panel(
    "verified",
    render_answer_verifications,
    (Body("verified", "eh-agree-verified", clickable=True),),
    texts.VERIFICATION_TITLE,
    how=texts.HOW_VERIFIED,
    needs="checks of answers in the Vote tab",
    in_report=lambda _: True,
    json_keys=("verification",),
)
CATEGORIES: Final = Panel(
    "by_category",
    majority_panel.agreement_by_category_html,
    (Body("by_category", "eh-agree-categories", clickable=True),),
    "Agreement by category",
    "% of comparisons, undecided counts half",
    how=texts.HOW_MAJORITY,
    json_keys=("--by category: by.*.remedies.rules.*.*.single.agreement",),
)
CORRECTED: Final = Panel(
    "corrected",
    render_corrected_win_rates,
    (Body("corrected", "eh-agree-corrected"),),
    "Win rates corrected with people's votes",
    texts.CORRECTED_SUBTITLE,
    legend=wrap(texts.CORRECTED_KEYS),
    how=texts.HOW_CORRECTED,
    in_report=has_judge_to_compare,
    json_keys=("corrected.*.corrected", "corrected.*.people", "corrected.*.judge"),
)
DISPUTES: Final = Panel(
    "disputes",
    render_disputes,
    (Body("disputes", "eh-agree-list", clickable=True),),
    "Where judges and people disagree",
    controls=(Control("apart", "Cases to list", DISPUTE_KINDS),),
)
PAIRS: Final = PanelGroup(
    (
        NOTICE,
        MAJORITY,
        CATEGORIES,
        fold("Other definitions of agreement", COEFFICIENTS, MATRIX, MERGED_ORDERS, DISTANCES),
        fold("Can a judge replace a person?", REPLACEMENTS, CORRECTED),
        fold(VOTERS_TITLE, VOTERS, VERIFIED),
        fold("Disputed comparisons", DISPUTES),
    ),
    row=False,
    css="eh-kind",
    name="agreement_of_pairs",
    visible=has_comparisons,
)
"""Panels that need comparisons of answers."""
PASSES: Final = PanelGroup(
    pass_fail_panels.VIEW.layout, False, "eh-kind", "agreement_of_passes", may_have_pass_fail
)
SCORES: Final = PanelGroup(
    score_panels.VIEW.layout, False, "eh-kind", "agreement_of_scores", may_have_single_answer_scores
)
VIEW: Final = View(
    NAME,
    (PAIRS, PASSES, SCORES),
    headline,
    single_answer_kpis,
    report=report_headline,
    json_keys=("remedies.rules.*.*.single.agreement", "agreement.among_people.one_person"),
)
