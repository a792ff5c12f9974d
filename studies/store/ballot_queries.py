"""The table `ballots`: comparisons and answers shown to voters on the page, and their votes.

A vote is stored as a judgement; its ballot records how it was cast. Saving a study rewrites its
plan but not its ballots, from which the votes cast on the page are restored.
"""

import hashlib
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Literal, get_args

from studies.domain import (
    HUMAN_PREFIX,
    PASS_FAIL_OPTIONS,
    REFERENCE,
    AnswerCheck,
    Ask,
    Item,
    recorded_key,
)
from studies.errors import StudyError
from studies.files.items import parse_stored_item
from studies.frames.arrangement import Arrangement
from studies.frames.frame_codes import SEP
from studies.sources.building.recorded_verdict import VOTE_PROMPT, slot_labels
from studies.store.rows import STUDY_ID

BallotMode = Literal["pair", "levels", "options", "verify", "pass", "score", "rubric"]
SelectionRule = Literal["random", "flipped", "split"]
SelectionReason = Literal["random", "flipped", "split", "repeat"]
BallotState = Literal["open", "voted", "skipped"]
BALLOT_MODES: Final[tuple[BallotMode, ...]] = get_args(BallotMode)
SINGLE_MODES: Final[tuple[BallotMode, ...]] = ("verify", "pass", "score", "rubric")
"""Voting modes in which a ballot shows one answer, so that there is no order to repeat."""
SCORE_LABELS: Final = ("score",)
"""`Ask.labels` of a vote that scores one answer; a vote with a rubric adds the criteria."""
SELECTION_RULES: Final[tuple[SelectionRule, ...]] = get_args(SelectionRule)

BALLOT_COLUMNS: Final = (
    "voter, position, item, shown, mode, chosen, state, key, answer, comment, seen, done"
)
CRITERIA_KEY: Final = "criteria"
"""JSON key in a ballot's column `answer` for the criteria of a filled-in rubric; in other ballots
the column contains an answer check."""
REASON_PREFIX: Final = "chosen: "
"""Text that begins the `detail` of a vote; after it comes the reason why the comparison was
chosen."""
RULES_ROW_VOTER: Final = ""
"""Value of the column `voter` in the row with a study's voting rules; no voter has this name."""
_ITEMS_PER_QUERY: Final = 500


@dataclass(frozen=True, slots=True)
class Ballot:
    """One comparison, or one single answer, that a voter was shown, and what the voter did with
    it. `shown` lists the contestants in the order shown."""

    voter: str
    """Judge name of the voter, `human:<name>`."""
    position: int
    """Index of the ballot among the ballots of its voter."""
    item: str
    shown: tuple[str, ...]
    mode: BallotMode
    chosen: SelectionReason
    state: BallotState = "open"
    key: str = ""
    """Key of the judgement that stores the vote; empty before the vote."""
    answer: AnswerCheck | None = None
    """The check of a verified answer, which is not stored as a judgement."""
    comment: str = ""
    seen: float = 0.0
    """Time when the ballot was last shown."""
    done: float = 0.0
    criteria: tuple[str, ...] = ()
    """Criteria of a filled-in rubric, in the order of the vote's levels."""

    @property
    def names(self) -> frozenset[str]:
        """The contestants shown, regardless of their order."""
        return frozenset(self.shown)


@dataclass(frozen=True, slots=True)
class VotingRules:
    """Rules by which people vote on a study, the same for all its voters. Creating the rules with
    a value that is not allowed raises StudyError."""

    mode: BallotMode | Literal[""] = ""
    """Voting mode; empty for the mode that fits the study."""
    choose: SelectionRule = "random"
    votes: int = 3
    """Target number of voters per comparison."""
    repeats: float = 0.1
    """Share of a voter's comparisons that are shown a second time in another order."""
    each: int = 0
    """Number of different comparisons per voter; 0 for all comparisons that still need votes."""
    timed: bool = True
    reveal: bool = False
    """Whether to show the contestants' names after each vote."""
    whom: Literal["reference", "answers"] = "reference"
    """Answers to verify: the references or the contestants' answers."""

    def __post_init__(self) -> None:
        values = {
            "mode": ("", *BALLOT_MODES),
            "choose": SELECTION_RULES,
            "whom": ("reference", "answers"),
        }
        for name, allowed in values.items():
            if getattr(self, name) not in allowed:
                raise StudyError(
                    f"voting: {name} must be one of {', '.join(w or 'empty' for w in allowed)}; "
                    f"found {getattr(self, name)!r}"
                )
        if not (1 <= self.votes <= 1000 and 0 <= self.repeats <= 0.5 and 0 <= self.each <= 10**6):
            raise StudyError(
                "voting: expected 'votes' from 1 to 1,000, 'repeats' from 0 to 0.5 and 'each' from "
                f"0 to 1,000,000; found {self.votes}, {self.repeats} and {self.each}"
            )


# ------------------------------------------------------------------------------------ reading


def read_ballots(connection: sqlite3.Connection, study: str, voter: str = "") -> list[Ballot]:
    """Read the ballots of a study, sorted by voter and ballot number: those of one `voter`, or of
    all voters if it is empty."""
    rows = connection.execute(
        f"SELECT {BALLOT_COLUMNS} FROM ballots WHERE study={STUDY_ID} AND voter!=? "
        "AND ? IN ('', voter) ORDER BY voter, position",
        (study, RULES_ROW_VOTER, voter),
    )
    return [ballot_from_row(row) for row in rows]


def ballot_from_row(row: Sequence[Any]) -> Ballot:
    """Convert a row with the columns BALLOT_COLUMNS to a ballot."""
    voter, position, item, shown, mode, chosen, state, key, answer, comment, seen, done = row
    stored = json.loads(answer) if answer else {}
    criteria = tuple(stored.get(CRITERIA_KEY, ()))
    return Ballot(
        voter, position, item, tuple(shown.split(SEP)), mode, chosen, state, key or "",
        AnswerCheck(**stored) if stored and not criteria else None, comment, seen or 0.0,
        done or 0.0, criteria,
    )  # fmt: skip


def checks_by_item(ballots: Iterable[Ballot]) -> dict[str, tuple[AnswerCheck, ...]]:
    """Return item -> verifications of its answers in these ballots; items without any are left
    out."""
    found: dict[str, list[AnswerCheck]] = defaultdict(list)
    for ballot in ballots:
        if ballot.state == "voted" and ballot.answer is not None:
            found[ballot.item].append(ballot.answer)
    return {item: tuple(checks) for item, checks in found.items()}


def add_checks_to_item(item: Item, checks: Sequence[AnswerCheck]) -> Item:
    """Return the item with `checks` (people's checks of its answers, made on the page) added to
    those it has from its file; a check that it already has is not added again."""
    return replace(item, checks=(*item.checks, *(c for c in checks if c not in item.checks)))


def selection_reasons(connection: sqlite3.Connection, study: str) -> dict[str, str]:
    """Return the key of a vote -> why its voter was shown this comparison: random, flipped (a
    judge's pick changed with the order) or split (judges disagreed).

    Only randomly chosen comparisons may enter estimates. The reason is exported with the
    vote; votes that came with the data have none and are left out."""
    rows = connection.execute(
        "SELECT p.key, substr(r.detail, ?) FROM plan p JOIN replies r USING(key) "
        f"WHERE p.study={STUDY_ID} AND p.judge LIKE ? AND r.detail LIKE ?",
        (len(REASON_PREFIX) + 1, study, f"{HUMAN_PREFIX}%", f"{REASON_PREFIX}%"),
    )
    return dict(rows)


def count_non_random_and_all_votes(connection: sqlite3.Connection, study: str) -> tuple[int, int]:
    """Return two numbers of votes cast on the page: those on comparisons that were not chosen at
    random, and all of them."""
    why = selection_reasons(connection, study)
    return sum(chosen != "random" for chosen in why.values()), len(why)


def verification_stamp(connection: sqlite3.Connection, study: str) -> tuple[int, float]:
    """Return the number of people's checks of answers made on the page, and the time of the last
    one. The result changes with every new check."""
    number, last = connection.execute(
        "SELECT count(*), COALESCE(max(done), 0) FROM ballots "
        f"WHERE study={STUDY_ID} AND mode='verify' AND answer IS NOT NULL AND state='voted'",
        (study,),
    ).fetchone()
    return int(number), float(last)


def voted_comparisons(
    connection: sqlite3.Connection, study: str, voter: str
) -> set[tuple[str, tuple[str, ...]]]:
    """Return the comparisons on which this voter has voted, on the page or in the data file.

    A comparison is an item and its contestants in alphabetical order.
    """
    rows = connection.execute(
        f"SELECT item, shown FROM plan WHERE study={STUDY_ID} AND judge=?", (study, voter)
    )
    return {(item, tuple(sorted(shown.split(SEP)))) for item, shown in rows}


def first_selection_reason(ballot: Ballot, ballots: Iterable[Ballot]) -> str:
    """Return why the comparison of a ballot was chosen. For a ballot that shows a comparison
    again, this is the reason for its first ballot ("random" if that ballot is missing).
    `ballots` are those of the same voter."""
    if ballot.chosen != "repeat":
        return ballot.chosen
    same = (b for b in ballots if (b.item, b.names) == (ballot.item, ballot.names))
    return next((b.chosen for b in same if b.chosen != "repeat"), "random")


# ------------------------------------------------------------------------------------ writing


def put_ballot(connection: sqlite3.Connection, study: str, ballot: Ballot) -> None:
    answer = json.dumps(asdict(ballot.answer)) if ballot.answer else None
    if ballot.criteria:  # a vote stores no answer check, so the column is free
        answer = json.dumps({CRITERIA_KEY: ballot.criteria})
    connection.execute(
        f"INSERT OR REPLACE INTO ballots(study, {BALLOT_COLUMNS}) "
        f"VALUES ({STUDY_ID},?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            study, ballot.voter, ballot.position, ballot.item, SEP.join(ballot.shown), ballot.mode,
            ballot.chosen, ballot.state, ballot.key or None, answer, ballot.comment,
            ballot.seen or None, ballot.done or None,
        ),
    )  # fmt: skip


def delete_ballot(connection: sqlite3.Connection, study: str, ballot: Ballot) -> None:
    connection.execute(
        f"DELETE FROM ballots WHERE study={STUDY_ID} AND voter=? AND position=?",
        (study, ballot.voter, ballot.position),
    )


def read_voting_rules(connection: sqlite3.Connection, study: str) -> VotingRules:
    """Return the stored voting rules of a study; the default rules if none are stored."""
    row = connection.execute(
        f"SELECT answer FROM ballots WHERE study={STUDY_ID} AND voter=? AND position=0",
        (study, RULES_ROW_VOTER),
    ).fetchone()
    known = {field.name for field in fields(VotingRules)}
    stored = json.loads(row[0]) if row else {}
    return VotingRules(**{name: value for name, value in stored.items() if name in known})


def put_voting_rules(connection: sqlite3.Connection, study: str, voting: VotingRules) -> None:
    """Store the voting rules of a study as JSON. They are kept in the table `ballots`, in one row
    per study whose voter is empty."""
    connection.execute(
        "INSERT OR REPLACE INTO ballots(study, voter, position, item, shown, mode, chosen, state, "
        f"answer) VALUES ({STUDY_ID},?,0,'','','rules','rules','rules',?)",
        (study, RULES_ROW_VOTER, json.dumps(asdict(voting))),
    )


# ----------------------------------------------------------------- votes in the plan of a study


def make_vote_ask(study: str, ballot: Ballot, item: Item, orders: int = 1) -> Ask | None:
    """Return the request (Ask) under which a vote is stored, as if the voter were a judge; None if
    the item no longer has the answers shown.

    Its key contains a hash of question and answers, so that a vote is not reused after one of
    these texts has changed. `orders` is the number of orders in which the voter has judged the
    comparison."""
    try:
        texts = [item.instruction, *(item.answer(name) for name in sorted(ballot.shown))]
    except KeyError:
        return None
    if REFERENCE in ballot.shown and not item.reference.strip():
        return None
    texts_sha = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
    ask = Ask(
        "",
        ballot.item,
        ballot.voter,
        VOTE_PROMPT,
        ballot.shown,
        _vote_labels(ballot),
        orders=orders,
    )
    return replace(ask, key=recorded_key(f"{study}{SEP}{texts_sha}", ask))


def _vote_labels(ballot: Ballot) -> tuple[str, ...]:
    """Return `Ask.labels` of a vote: the options of its voting mode, or the labels of the slots."""
    if ballot.mode == "pass":
        return PASS_FAIL_OPTIONS
    if ballot.mode == "rubric":
        return Arrangement(SCORE_LABELS, (), ballot.criteria).labels
    return SCORE_LABELS if ballot.mode == "score" else slot_labels(len(ballot.shown))


def vote_keys(connection: sqlite3.Connection, study: str) -> set[str]:
    """Return the keys of all votes cast on the page, also of those no longer in the plan."""
    rows = connection.execute(
        f"SELECT key FROM ballots WHERE study={STUDY_ID} AND key IS NOT NULL", (study,)
    )
    return {key for (key,) in rows}


def append_page_votes_to_plan(connection: sqlite3.Connection, study: str) -> None:
    """Append the votes cast on the page to the plan of a study that was just saved. Votes on
    texts that the study no longer has are left out."""
    cast = [b for b in read_ballots(connection, study) if b.key]
    items = read_items_by_id(connection, study, {ballot.item for ballot in cast})
    orders = orders_seen(cast)
    for ballot in cast:
        if ballot.item in items:
            ask = make_vote_ask(
                study, ballot, items[ballot.item], len(orders[_voter_comparison_key(ballot)])
            )
            if ask is not None and ask.key == ballot.key:
                append_vote_ask(connection, study, ask)


def rekey_votes(connection: sqlite3.Connection, study: str, new_name: str) -> None:
    """Change the keys of votes cast on the page of `study` to those that they have in a study
    named `new_name`, because a key depends on the study's name. Without this, saving the
    renamed study would leave the votes out. Votes on texts that the study no longer has keep
    their keys."""
    cast = [b for b in read_ballots(connection, study) if b.key]
    items = read_items_by_id(connection, study, {ballot.item for ballot in cast})
    for ballot in cast:
        item = items.get(ballot.item)
        old, new = (item and make_vote_ask(name, ballot, item) for name in (study, new_name))
        if old and new and old.key == ballot.key:
            for table in ("ballots", "plan", "judgements", "replies"):
                connection.execute(f"UPDATE {table} SET key=? WHERE key=?", (new.key, old.key))


def orders_seen(ballots: Iterable[Ballot]) -> dict[tuple[object, ...], set[tuple[str, ...]]]:
    """Return (voter, item, contestants) -> orders in which the voter saw the comparison."""
    seen: dict[tuple[object, ...], set[tuple[str, ...]]] = defaultdict(set)
    for ballot in ballots:
        seen[_voter_comparison_key(ballot)].add(ballot.shown)
    return seen


def _voter_comparison_key(ballot: Ballot) -> tuple[object, ...]:
    return (ballot.voter, ballot.item, ballot.names)


def append_vote_ask(connection: sqlite3.Connection, study: str, ask: Ask) -> None:
    """Append the request (Ask) under which a vote is stored to the study's plan, unless the plan
    contains it."""
    find = f"SELECT 1 FROM plan WHERE study={STUDY_ID} AND key=?"
    if connection.execute(find, (study, ask.key)).fetchone():
        return
    connection.execute(
        f"INSERT INTO plan SELECT {STUDY_ID}, COALESCE((SELECT max(position) FROM plan "
        f"WHERE study={STUDY_ID}), -1) + 1, ?,?,?,?,?,?,?,?,?,?,?",
        (
            study, study, ask.key, ask.item, ask.judge, ask.prompt, SEP.join(ask.shown),
            SEP.join(ask.labels), ask.repeat, int(ask.noise), ask.orders, None, "recorded",
        ),
    )  # fmt: skip


def update_order_counts(connection: sqlite3.Connection, study: str, ballot: Ballot) -> None:
    """Count the orders in which the voter voted on the comparison of the ballot, and store the
    number as `orders` in each of these votes."""
    mine = [b for b in read_ballots(connection, study, ballot.voter) if b.item == ballot.item]
    cast = [b for b in mine if b.key and b.names == ballot.names]
    orders = len({b.shown for b in cast})
    for one in cast:
        connection.execute(
            f"UPDATE plan SET orders=? WHERE study={STUDY_ID} AND key=?", (orders, study, one.key)
        )


def delete_vote(connection: sqlite3.Connection, study: str, key: str) -> None:
    """Delete a withdrawn vote from the plan, the judgements and the replies. The study's time of
    the last change is advanced, so that cached results are computed anew."""
    connection.execute(f"DELETE FROM plan WHERE study={STUDY_ID} AND key=?", (study, key))
    for table in ("judgements", "replies"):
        connection.execute(f"DELETE FROM {table} WHERE key=?", (key,))
    # Deleting may leave the highest seq unchanged; the new time stamp invalidates cached frames.
    connection.execute("UPDATE studies SET updated=updated+0.001 WHERE name=?", (study,))


def read_items_by_id(
    connection: sqlite3.Connection, study: str, wanted: set[str]
) -> dict[str, Item]:
    """Return id -> item, for the items of a study with the ids `wanted`; unknown ids are left out.

    The ids are separate SQL parameters, because SQLite would cut ids in a JSON text at a null
    character.
    """
    found: dict[str, Item] = {}
    ids = sorted(wanted)
    for start in range(0, len(ids), _ITEMS_PER_QUERY):
        names = ids[start : start + _ITEMS_PER_QUERY]
        rows = connection.execute(
            "SELECT s.item, i.json FROM study_items s JOIN items i USING(sha) "
            f"WHERE s.study={STUDY_ID} AND s.item IN ({','.join('?' * len(names))})",
            (study, *names),
        )
        found |= {name: parse_stored_item(json.loads(text)) for name, text in rows}
    return found


_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that count as printable but are not seen, so that two names would look alike."""


def voter_id(name: str) -> str:
    """Return the name under which a voter is stored as a judge: `human:<name>`, without invisible
    characters and with single spaces. StudyError if the name is then empty, has more than 60
    characters, or contains one that cannot be printed."""
    plain = " ".join(_INVISIBLE.sub("", name).split()).removeprefix(HUMAN_PREFIX).strip()
    if not plain or len(plain) > 60 or not plain.isprintable():
        raise StudyError(
            "a voter's name must have 1 to 60 printable characters on one line; type another name"
        )
    return HUMAN_PREFIX + plain
