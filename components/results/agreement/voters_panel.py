"""Panel on the voters: one row per person, flags of doubtful voters, agreement without them."""

from collections.abc import Sequence
from typing import Final

from components.html.format import DASH, count, duration, number, share
from components.html.markup import EMPTY, Markup, fill, join, link
from components.html.pieces import notice_html, paragraph, wrap
from components.html.tables.range_table import range_row, range_table
from components.html.tables.table import TableCell, TableRow
from components.results.agreement.computed import Agreement
from components.results.agreement.panels import estimate_html
from metrics.estimation.intervals import join_notes
from metrics.people.voters import Voter
from studies.domain import HUMAN_PREFIX, Estimate

UNFOLDED_VOTERS: Final = 12
"""Number of voters listed before the expandable part "Show more"."""
MAX_VOTERS: Final = 300
"""Maximum number of voters listed; a line below the table gives the number of further voters."""
VOTER_HEADS: Final = (
    "Votes",
    "First-position share, %",
    "Same when swapped, %",
    "Ties, %",
    "Agrees with others, %",
    "Others' agreement, %",
    "Skill, %",
    "Time per vote",
)
ALL_VOTES: Final = "All votes, %"
TWO_PEOPLE: Final = "two people"
FLAG_LABELS: Final = {
    "apart": "disagrees with the others",
    "one side": "prefers one position",
    "unsteady": "inconsistent",
    "too fast": "votes too fast",
}


def voters_subtitle(data: Agreement) -> str:
    """Subtitle of the panel: numbers of people, votes and flagged voters."""
    people = data.voters
    flagged = len(data.flagged_voters)
    who, flags = f"{count(flagged, 'person')} {'is' if flagged == 1 else 'are'}", "none is flagged"
    if flagged:
        flags = f"{who} flagged for the reasons below, but all votes count"
    cast = sum(one.votes for one in people)
    return f"{count(len(people), 'person')} cast {count(cast, 'vote')}; {flags}"


def show_voters(data: Agreement) -> Markup:
    """HTML table of the voters: flagged voters first, then by number of votes; each name links to
    the person's votes. Below, the reasons of the flags, and agreement by subset of votes."""
    people = data.voters
    made = _voter_table(people[:UNFOLDED_VOTERS], "The people who voted")
    if rest := people[UNFOLDED_VOTERS:MAX_VOTERS]:
        more = _voter_table(rest, "More people who voted")
        head = fill("<summary>Show {} more</summary>", count(len(rest)))
        made += wrap(fill('<details class="eh-rest">{}{}</details>', head, more))
    if len(people) > MAX_VOTERS:
        left = f"{count(len(people) - MAX_VOTERS)} more people voted; export the votes to see all."
        made += paragraph(left, "eh-small eh-mute eh-under")
    reasons = _flag_reasons_html([one for one in people if one.flags])
    return made + reasons + _vote_subsets_table(data)


def _voter_table(people: Sequence[Voter], label: str) -> Markup:
    heads = [TableCell("Person", "nm"), *map(TableCell, VOTER_HEADS)]
    return range_table(heads, [_voter_row(one) for one in people], "numbers eh-people", label)


def _voter_row(voter: Voter) -> TableRow:
    name = link(voter.name, {"judge": HUMAN_PREFIX + voter.name})
    if voter.flags:
        flags = ", ".join(FLAG_LABELS[flag.rule] for flag in voter.flags)
        name += fill(' <span class="eh-badge s-unreadable">{}</span>', flags)
    pace = fill('<span class="eh-mute" data-tip="not timed">{}</span>', DASH)
    if voter.seconds is not None:
        tip = f"median of {count(voter.timed, 'timed vote')}"
        pace = fill('<span data-tip="{}">{}</span>', tip, duration(voter.seconds))
    values: tuple[str | Estimate, ...] = (
        count(voter.votes), voter.first, voter.steady, voter.ties, voter.others,
        DASH if voter.rest is None else number(100 * voter.rest, 0), voter.skill, pace,
    )  # fmt: skip
    cells = [
        estimate_html(value, head=head, tip=join_notes(f"n {count(value.n)}", value.note))
        if isinstance(value, Estimate)
        else _render_labelled_value(head, value)
        for head, value in zip(VOTER_HEADS, values, strict=True)
    ]
    return range_row(name, *cells)


def _render_labelled_value(head: str, value: str) -> Markup:
    return fill('<span class="lb">{}</span>{}', head, value)


def _flag_reasons_html(people: Sequence[Voter]) -> Markup:
    if not people:
        return EMPTY
    lines = join(
        fill("<li><b>{}</b> {}.</li>", one.name, flag.reason)
        for one in people[:UNFOLDED_VOTERS]
        for flag in one.flags
    )
    return wrap(fill('<ul class="eh-plain eh-small eh-under eh-reasons">{}</ul>', lines))


# ------------------------------------------------------------------ agreement by subset of votes


def _vote_subsets_table(data: Agreement) -> Markup:
    """HTML table of agreement with people: by all votes, by all but those of flagged voters, and by
    votes on randomly chosen pairs; empty if no vote would be left out."""
    columns = {ALL_VOTES: data.agreement_by_all_votes}
    if data.flagged_voters:
        flagged = data.flagged_voters
        who = flagged[0] if len(flagged) == 1 else f"the {len(flagged)} flagged people"
        columns[f"Without {who}, %"] = data.agreement_without_flagged_voters
    if data.not_random_pair_vote_count:
        columns["Pairs chosen at random, %"] = data.agreement_on_random_pairs
    if len(columns) == 1:
        return EMPTY
    heads = [TableCell("Rater", "nm"), *map(TableCell, columns)]
    rows = []
    for rater in columns[ALL_VOTES]:
        cells = [_render_subset_agreement(head, of.get(rater)) for head, of in columns.items()]
        rows.append(range_row(rater, *cells, kind="who" if rater == TWO_PEOPLE else ""))
    label = "Agreement with people by all votes and by subsets of the votes"
    made = range_table(heads, rows, "numbers", label)
    head = Markup("<h3>Agreement with people, by subset of votes</h3>")
    return wrap(fill('<div class="eh-beside">{}{}</div>', head, made))


def _render_subset_agreement(head: str, estimate: Estimate | None) -> Markup:
    if estimate is None or estimate.value is None:
        return _render_labelled_value(head, DASH)
    sized = fill(' <span class="eh-mute">n {}</span>', count(estimate.n))
    return estimate_html(estimate, 1, head=head) + sized


# ------------------------------------------------------------------- votes on selected pairs


def show_disputed_pair_votes_notice(data: Agreement) -> Markup:
    """HTML notice that some votes are on pairs chosen because the verdicts of judges change with
    the order or disagree; empty if none are."""
    if not data.not_random_pair_vote_count:
        return EMPTY
    text = (
        f"{count(data.not_random_pair_vote_count)} of {count(data.vote_count)} votes are on pairs "
        "selected because judges' verdicts on them flip or differ. Agreement below includes "
        "these harder pairs; corrected win rates do not."
    )
    return notice_html("warn", "Some pairs with votes were not chosen at random.", text)


def disputed_pair_vote_share_line(data: Agreement) -> Markup:
    """HTML line on the share of votes on pairs not chosen at random, for panels with estimates;
    empty if all were chosen at random."""
    if not data.not_random_pair_vote_count:
        return EMPTY
    part = share(data.not_random_pair_vote_count / max(data.vote_count, 1), 0)
    return paragraph(
        f"{part} of the votes are on pairs **not chosen at random**. The numbers above therefore "
        "do not describe all pairs.",
        "eh-small eh-mute eh-under",
    )
