"""Human votes of items as judgements: people are judges too, `human:<name>`.

The design of the data (`by-design`) is nobody's vote and is never a row.
"""

from __future__ import annotations

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
)
from studies.frames.truth import best_answer
from studies.recorded_keys import assign_recorded_keys
from studies.sources.builder import ORDER_UNKNOWN, VOTE_PROMPT, Pick, slot_labels

OptionSet = frozenset[str]


def votes_as_judgements(
    items: Iterable[Item],
    source: str,
    asks: Iterable[Ask] = (),
    besides: Iterable[Judgement] = (),
) -> list[Judgement]:
    """What people said about the items, as judgements of the study `source`.

    With `asks`, only what can be held against a judge: a vote on the very answers that are asked
    about; and a ranking, or a pick out of more, as what it says about the fewer that are (an answer
    to another question is worse than any). Without any (a study that asks nothing), each vote as it
    was given, a ranking as the pick of its best. People in `besides` have their votes there.
    """
    asked = _comparisons_by_item(asks)
    there = {(j.ask.item, j.ask.judge) for j in besides}
    votes: list[Judgement] = []
    for item in items:
        wanted = asked.get(item.id, set()) if asked else None
        for preference in item.human:
            name = HUMAN_PREFIX + preference.judge.removeprefix(HUMAN_PREFIX)
            if preference.judge != BY_DESIGN and (item.id, name) not in there:
                votes += _judgements_of_vote(item, preference, name, wanted)
    return assign_recorded_keys(source, _number_repeats(votes))


def has_votes(items: Iterable[Item]) -> bool:
    """Whether a person said anything about any of them."""
    return any(p.judge != BY_DESIGN for item in items for p in item.human)


def is_item_vote(judgement: Judgement) -> bool:
    """Whether a judgement was made here out of an item's votes; one cast on the page has a time."""
    return judgement.rule == VOTE_PROMPT and not judgement.time


def _comparisons_by_item(asks: Iterable[Ask]) -> dict[str, set[OptionSet]]:
    """Which answers are shown together, by item."""
    found: dict[str, set[OptionSet]] = defaultdict(set)
    for ask in asks:
        if len(ask.shown) > 1:
            found[ask.item].add(frozenset(ask.shown))
    return found


def _judgements_of_vote(
    item: Item, preference: Preference, judge: str, wanted: Collection[OptionSet] | None
) -> Iterator[Judgement]:
    own = preference.shown or tuple(sorted(preference.ranks or item.responses))
    known = preference.shown is not None
    for options in [frozenset(own)] if wanted is None else sorted(wanted, key=sorted):
        if options == frozenset(own):
            yield from _judgement_on(item, preference, judge, own, known)
        elif options - {UNRELATED} <= frozenset(own):
            yield from _judgement_on(item, preference, judge, tuple(sorted(options)), False)


def _judgement_on(
    item: Item, preference: Preference, judge: str, shown: tuple[str, ...], known: bool
) -> Iterator[Judgement]:
    """Nothing where the vote does not say: who is second-best of three is not in a pick."""
    picked = _pick_among(preference, shown)
    if picked is None or len(shown) < 2:
        return
    margin = preference.margin if picked != "tie" else 0
    pick: Pick = "tie" if picked == "tie" else shown.index(picked)
    ask = Ask("", item.id, judge, VOTE_PROMPT, shown, slot_labels(len(shown)),
              orders=1 if known else ORDER_UNKNOWN)  # fmt: skip
    yield Judgement(ask, "ok", Verdict(pick, margin), rule=VOTE_PROMPT)


def _pick_among(preference: Preference, shown: Sequence[str]) -> str | None:
    if preference.picked is not None and set(shown) == set(preference.shown or shown):
        return preference.picked if preference.picked in (*shown, "tie") else None
    return best_answer([preference], shown)


def _number_repeats(votes: list[Judgement]) -> Iterator[Judgement]:
    """Repeats of one order counted, and how many orders a person saw of one comparison."""
    repeats: dict[tuple[object, ...], int] = defaultdict(int)
    orders: dict[tuple[str, str, OptionSet], set[tuple[str, ...]]] = defaultdict(set)
    for vote in votes:
        orders[vote.ask.item, vote.ask.judge, frozenset(vote.ask.shown)].add(vote.ask.shown)
    for vote in votes:
        ask = vote.ask
        at = (ask.item, ask.judge, ask.shown)
        seen = len(orders[ask.item, ask.judge, frozenset(ask.shown)])
        told = seen if ask.orders != ORDER_UNKNOWN else ORDER_UNKNOWN
        yield replace(vote, ask=replace(ask, repeat=repeats[at], orders=told))
        repeats[at] += 1
