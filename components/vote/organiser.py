"""The organiser's side of the Vote tab: voting rules, their effect on estimates, voters so far."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from components.html.format import count
from components.html.markup import EMPTY, Markup
from components.html.pieces import notice_html, wrap
from components.html.tables.table import Cells, Table, TableCell
from components.server.hf_login import has_account_prefix
from components.vote.ballot_form import MODES, load_ballot_form
from components.vote.ballot_html import html
from studies.domain import HUMAN_PREFIX
from studies.people import votable, vote_session
from studies.sharing.visitor_store import VisitorStore
from studies.store.ballot_queries import (
    BALLOT_MODES,
    BallotMode,
    SelectionRule,
    VotingRules,
    checks_by_item,
    count_non_random_and_all_votes,
    read_ballots,
    read_voting_rules,
)
from studies.store.store import Store

AS_PROTOCOL: Final = "as the protocol asks"
SAMPLING_CHOICES: Final[Mapping[str, SelectionRule]] = MappingProxyType(
    {"At random": "random", "Where orders flip": "flipped", "Where judges disagree": "split"}
)
VERIFY_TARGETS: Final = MappingProxyType({"References": "reference", "Models' answers": "answers"})
MAX_LISTED_VOTERS: Final = 50

VALIDITY_NOTES: Final[Mapping[SelectionRule, str]] = MappingProxyType(
    {
        "random": "**At random.** Every comparison is equally likely to be voted on, so "
        "agreement and κ of judges with voters, and win rates corrected by votes, are unbiased.",
        "flipped": "**Where orders flip.** Voters see pairs whose verdict flips. Agreement and κ "
        "with these votes are lower than on random pairs. These votes cannot correct win rates.",
        "split": "**Where judges disagree.** Voters see pairs on which judges disagree, to find "
        "the judges that are wrong. Agreement and κ from these votes do not describe all pairs.",
    }
)


@dataclass(frozen=True, slots=True)
class VotingControls:
    """The voting rules as values of the page's controls. `choose`: rule by which comparisons are
    chosen; `votes`: wanted votes per comparison; `repeats`: per cent of a voter's comparisons that
    are shown a second time; `each`: maximum comparisons of one voter (0: no limit); `whom`: answers
    to verify; `reveal`: whether the models are named after each vote."""

    mode: str
    choose: str
    votes: float | None
    repeats: float
    each: float | None
    whom: str
    timed: bool
    reveal: bool

    def to_voting_rules(self) -> VotingRules:
        mode: BallotMode | str = next((m for m in BALLOT_MODES if MODES[m].name == self.mode), "")
        return VotingRules(
            mode,  # type: ignore[arg-type]
            SAMPLING_CHOICES[self.choose],
            int(self.votes or 0),
            round(self.repeats / 100, 4),
            int(self.each or 0),
            bool(self.timed),
            bool(self.reveal),
            VERIFY_TARGETS[self.whom],  # type: ignore[arg-type]
        )


def controls_from_rules(voting: VotingRules) -> VotingControls:
    return VotingControls(
        MODES[voting.mode].name if voting.mode else AS_PROTOCOL,
        next(name for name, choice in SAMPLING_CHOICES.items() if choice == voting.choose),
        voting.votes,
        round(100 * voting.repeats, 2),
        voting.each,
        next(name for name, whom in VERIFY_TARGETS.items() if whom == voting.whom),
        voting.timed,
        voting.reveal,
    )


def sampling_validity_notice(store: Store, study: str, choose: str) -> Markup:
    """HTML notice on a rule by which voters get their comparisons (`choose`, its name in the menu):
    how many comparisons it can choose, which estimates stay valid, and how many votes so far were
    not on randomly chosen comparisons."""
    rules, choice = read_voting_rules(store.read_connection, study), SAMPLING_CHOICES[choose]
    form = load_ballot_form(store, study)
    mode = rules.mode or form.mode
    left = votable.count_comparisons_by_rule(store, study, mode, rules)
    size = f"{count(left[choice], MODES[mode].noun)} of {count(left['random'])}."
    targeted, cast = count_non_random_and_all_votes(store.read_connection, study)
    warning = (
        f" {count(targeted)} of {count(cast)} votes are on pairs that were not chosen at "
        "random: see the view Agreement."
        if targeted
        else ""
    )
    kind: Any = "calm" if choice == "random" else "warn"
    default = f" Ballot form suggested for this study: {MODES[form.mode].name} ({form.origin})."
    return notice_html(kind, "", f"{VALIDITY_NOTES[choice]} {size}{warning}{default}")


def voters_table_html(store: Store, study: str) -> Markup:
    """HTML table of voters with their votes, and a summary of verifications."""
    lines = vote_session.list_voters(store, study)
    rows: list[Cells] = [
        [
            TableCell(line.voter.removeprefix(HUMAN_PREFIX), "nm", is_name=False),
            count(line.voted),
            count(line.skipped),
            _vote_time(line.last if line.voted else 0),
        ]
        for line in lines[:MAX_LISTED_VOTERS]
    ]
    heads: Cells = ["Voter", *map(TableCell, ("Votes", "Skipped", "Last vote"))]
    table = Table(heads, rows, "eh-tbl dense", box="").html() if rows else EMPTY
    has_accounts = any(has_account_prefix(line.voter) for line in lines)
    more = max(0, len(lines) - MAX_LISTED_VOTERS)
    return wrap(html.voters(table, more, has_accounts, _verification_summary(store, study)))


def _vote_time(at: float) -> str:
    return time.strftime("%d %b, %H:%M", time.localtime(at)) if at else "–"


def _verification_summary(store: Store, study: str) -> str:
    """Sentences on the verifications of a study; empty if there are none."""
    checks = [
        check
        for found in checks_by_item(read_ballots(store.read_connection, study)).values()
        for check in found
    ]
    if not checks:
        return ""
    faults = Counter(check.fault for check in checks if not check.follows)
    good, harmful = (sum(c.follows for c in checks), sum(c.harmful for c in checks))
    return (
        f"Of {count(len(checks), 'verification')}, {count(good)} say that the answer follows the "
        f"instruction. {count(faults.total())} say that it does not, {count(faults['answer'])} "
        f"because the answer is wrong, {count(faults['caption'])} because the caption is "
        f"incomplete. {count(harmful)} say that the answer is harmful."
    )


def voter_link_html(store: Store) -> Markup:
    """HTML of the link for voters; the browser fills in the address of this page. On a public page
    a link to a study needs a token, which the Share drawer creates."""
    return wrap(html.voter_link(isinstance(store, VisitorStore)))
