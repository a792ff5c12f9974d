"""Human votes stored with items, converted to judgements of the judges `human:<name>`.

Preferences given by the design of the data (`by-design`) are not votes and are left out.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from studies.domain import (
    BY_DESIGN,
    HUMAN_PREFIX,
    UNRELATED,
    Ask,
    Item,
    Judgement,
    Preference,
    Verdict,
    assign_recorded_keys,
)
from studies.frames.known_answers import best_answer
from studies.sources.building.recorded_verdict import ORDER_UNKNOWN, VOTE_PROMPT, Pick, slot_labels

OptionSet = frozenset[str]


def votes_as_judgements(
    items: Iterable[Item], source: str, asks: Iterable[Ask] = (), existing: Iterable[Judgement] = ()
) -> list[Judgement]:
    """Convert the votes in items to judgements of the study `source`.

    With `asks` (requests to judges), a vote becomes a choice among the answers that a request
    compares: a vote on exactly these answers is taken as it is; a ranking, or a pick out of more
    answers, is converted if it decides between them. Without `asks`, each vote is converted as
    given, and a ranking as a pick of its best answer. A person's votes on an item are left out if
    `existing` already contains a judgement of this person on the item.
    """
    # Item -> sets of answers that are compared with each other in the asks.
    compared: dict[str, set[OptionSet]] = defaultdict(set)
    for ask in asks:
        if len(ask.shown) > 1:
            compared[ask.item].add(frozenset(ask.shown))
    present = {(j.ask.item, j.ask.judge) for j in existing}
    votes: list[Judgement] = []
    for item in items:
        wanted = compared.get(item.id, set()) if compared else None
        for preference in item.human:
            name = HUMAN_PREFIX + preference.judge.removeprefix(HUMAN_PREFIX)
            if preference.judge != BY_DESIGN and (item.id, name) not in present:
                votes += _judgements_of_vote(item, preference, name, wanted)
    return assign_recorded_keys(source, _set_repeats_and_order_counts(votes))


def has_votes(items: Iterable[Item]) -> bool:
    """Whether any item has a human vote."""
    return any(p.judge != BY_DESIGN for item in items for p in item.human)


def is_item_vote(judgement: Judgement) -> bool:
    """Whether a judgement was made from a vote in an item. Such a vote has no time; a vote cast
    on the page has one."""
    return judgement.rule == VOTE_PROMPT and not judgement.time


def _judgements_of_vote(
    item: Item, preference: Preference, judge: str, wanted: Collection[OptionSet] | None
) -> Iterator[Judgement]:
    """Yield the judgements that follow from a vote: one for each set of answers in `wanted`
    among which the vote decides or, if `wanted` is None, one for the answers voted on. `judge`
    is the name of the voter."""
    own = preference.shown or tuple(sorted(preference.ranks or item.responses))
    known = preference.shown is not None
    for options in [frozenset(own)] if wanted is None else sorted(wanted, key=sorted):
        if options == frozenset(own):
            yield from _judgement_implied_by_vote(item, preference, judge, own, known)
        elif options - {UNRELATED} <= frozenset(own):
            yield from _judgement_implied_by_vote(
                item, preference, judge, tuple(sorted(options)), False
            )


def _judgement_implied_by_vote(
    item: Item, preference: Preference, judge: str, shown: tuple[str, ...], known: bool
) -> Iterator[Judgement]:
    """Yield one judgement on the answers `shown` if a vote decides among them, else nothing.

    For example, a pick out of three answers decides nothing between the other two. `known`
    states whether the person saw the answers in this order."""
    picked = _pick_among(preference, shown)
    if picked is None or len(shown) < 2:
        return
    margin = preference.margin if picked != "tie" else 0
    pick: Pick = "tie" if picked == "tie" else shown.index(picked)
    orders = 1 if known else ORDER_UNKNOWN
    labels = slot_labels(len(shown))
    ask = Ask("", item.id, judge, VOTE_PROMPT, shown, labels, orders=orders)
    yield Judgement(ask, "ok", Verdict(pick, margin), rule=VOTE_PROMPT)


def _pick_among(preference: Preference, shown: Sequence[str]) -> str | None:
    """Return the contestant of `shown` that a vote chooses, or "tie"; None if it chooses none."""
    if preference.picked is not None and set(shown) == set(preference.shown or shown):
        return preference.picked if preference.picked in (*shown, "tie") else None
    return best_answer([preference], shown)


def _set_repeats_and_order_counts(votes: list[Judgement]) -> Iterator[Judgement]:
    """Yield the votes with `repeat` (the number of earlier votes of this person in this order) and
    `orders` (the number of orders in which this person judged the comparison; 0 if the order is
    unknown)."""
    repeats: dict[tuple[object, ...], int] = defaultdict(int)
    orders: dict[tuple[str, str, OptionSet], set[tuple[str, ...]]] = defaultdict(set)
    for vote in votes:
        orders[vote.ask.item, vote.ask.judge, frozenset(vote.ask.shown)].add(vote.ask.shown)
    for vote in votes:
        ask = vote.ask
        at = (ask.item, ask.judge, ask.shown)
        seen = len(orders[ask.item, ask.judge, frozenset(ask.shown)])
        orders_seen = seen if ask.orders != ORDER_UNKNOWN else ORDER_UNKNOWN
        yield replace(vote, ask=replace(ask, repeat=repeats[at], orders=orders_seen))
        repeats[at] += 1
