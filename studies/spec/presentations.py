"""Presentations of a study: which answers are shown together, in which order, and how often.

All random choices are seeded, so that the same study gives the same presentations.

A twin is a copy of an answer with one change that should not matter.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from studies.domain import REFERENCE, UNRELATED, Item
from studies.errors import StudyError
from studies.frames.known_answers import better_answer
from studies.spec.study import Study
from studies.texts.twin_families import split_twin_name


@dataclass(frozen=True, slots=True)
class Presentation:
    """Answers to one item in the order in which a judge sees them. `crossed` states that their
    labels are reversed: of two answers, the first is labelled B. `repeat` counts from 0.
    `noise` marks an extra repeat, which measures how often a judge changes its verdict on an
    identical request (noise floor). `orders` is the number of orders in which the study shows
    these answers."""

    item: Item
    shown: tuple[str, ...]
    crossed: bool
    repeat: int
    noise: bool
    orders: int
    unrelated_item: Item | None = None


def resolve_contestants(study: Study, items: Sequence[Item]) -> list[str]:
    """Return the contestants of a study (by default all in the data). StudyError if one of them,
    the baseline (the model that all others are compared with) or the new model has no answer in the
    data, or if `@reference` is to be compared and no item has a reference answer."""
    found = sorted({name for item in items for name in item.responses})
    wanted = list(study.contestants) or found
    for name in [*wanted, study.baseline, study.new]:
        if name and name != REFERENCE and name not in found:
            raise StudyError(f"no model named {name!r} in the data. Found: {', '.join(found)}")
    if is_reference_judged(study) and not any(_has_answer(item, REFERENCE) for item in items):
        raise StudyError(
            "@reference is to be compared, but no item of this slice has a reference answer. "
            "Choose "
            "another baseline or other items."
        )
    return wanted


def is_reference_judged(study: Study) -> bool:
    """Whether the reference answer is one of the answers to be judged, so that prompts must not
    also show it as the reference."""
    named = study.contestants if study.pairing == "all" else (*study.contestants, study.baseline)
    return REFERENCE in named


def pair_presentations(study: Study, items: Sequence[Item]) -> Iterator[Presentation]:
    """Yield, item by item, each pair of answers that the study compares, in both orders or one
    drawn order, with repeats; then the item's comparisons that show a twin."""
    names = resolve_contestants(study, items)
    reference_items = (
        _draw_items_against_baseline(study, items) if study.pairing == "new" else frozenset()
    )
    targets = draw_twin_targets(study, items)
    for item in items:
        for pair in _pairs_of_item(study, item, names, reference_items):
            orders: list[tuple[str, ...]] = [pair, pair[::-1]]
            if study.pair_orders == "one":
                orders = [_draw_pair_order(study, item, pair)]
            crossed = study.labels == "crossed" and _should_swap_labels(study, item.id, pair)
            yield from _repeat_presentations(study, item, orders, crossed, None)
        yield from _twin_presentations(study, item, targets.get(item.id, ()))


def all_answers_presentations(study: Study, items: Sequence[Item]) -> Iterator[Presentation]:
    """Yield all answers to an item together, in the orders that the study sets, with repeats. If
    the study has the unrelated option (an answer to another question), it is among them. Items
    with fewer than two answers are left out."""
    names = resolve_contestants(study, items)
    unrelated_items = _UnrelatedItems(study, items) if study.unrelated != "none" else None
    for item in items:
        options = tuple(name for name in names if _has_answer(item, name))
        unrelated = None
        if unrelated_items and len(options) >= 2:
            options, unrelated = _add_unrelated(study, item, options), unrelated_items.draw(item)
        if len(options) >= 2:
            crossed = study.labels == "crossed" and _should_swap_labels(study, item.id, options)
            orders = orders_of_options(
                options, study.option_orders, _seeded_random(study, item.id, "order")
            )
            yield from _repeat_presentations(study, item, orders, crossed, unrelated)


def single_presentations(study: Study, items: Sequence[Item]) -> Iterator[Presentation]:
    """Yield each answer alone, for prompts that judge one answer, as often as the study repeats
    it; and likewise each twin (a changed copy) of those answers that were drawn to get twins."""
    names, targets = resolve_contestants(study, items), draw_twin_targets(study, items)
    for item in items:
        for name in names:
            if _has_answer(item, name):
                yield from _repeat_presentations(study, item, [(name,)], False, None)
        for target in targets.get(item.id, ()):
            for name in _list_twins_of_answer(item, target.answer):
                yield from _repeat_presentations(study, item, [(name,)], False, None)


@dataclass(frozen=True, slots=True)
class TwinTarget:
    """An answer that gets twins (copies with one change). In the design "substitution", a twin
    replaces the answer in the comparison `pair`. In the design "duel", a twin is compared with
    the answer itself, and `pair` is empty."""

    answer: str
    pair: tuple[str, ...] = ()


def draw_twin_targets(study: Study, items: Sequence[Item]) -> dict[str, list[TwinTarget]]:
    """Return item -> the answers drawn to get twins (copies with one change); empty if the study
    has no twins. In the design "duel", answers are drawn. In the design "substitution", pairs
    of the study are drawn, and of each pair the answer that a twin replaces. The draws are
    seeded by `data.seed`. StudyError if `twins.answers` names a model that the study does not
    have."""
    twins = study.twins
    if twins is None:
        return {}
    names = resolve_contestants(study, items)
    allowed = set(twins.answers or names)
    if unknown := sorted(allowed - set(names)):
        raise StudyError(
            f"twins.answers: no model named {unknown[0]!r} in this study. Its models: "
            f"{', '.join(names)}"
        )
    chosen = sorted(item.id for item in items)
    if twins.items:
        count = min(twins.items, len(chosen))
        chosen = _seeded_random(study, "twin items").sample(chosen, count)
    wanted, found = set(chosen), {}
    reference_items = (
        _draw_items_against_baseline(study, items) if study.pairing == "new" else frozenset()
    )
    for item in items:
        if item.id not in wanted:
            continue
        if twins.design == "duel":
            options = [TwinTarget(n) for n in names if n in allowed and _has_answer(item, n)]
        else:
            pairs = _pairs_of_item(study, item, names, reference_items)
            options = [TwinTarget(n, pair) for pair in pairs for n in pair if n in allowed]
        rng = _seeded_random(study, item.id, "twins")
        rng.shuffle(options)
        once = {one.pair or one.answer: one for one in options}
        found[item.id] = list(once.values())[: twins.per_item]
    return found


def _twin_presentations(
    study: Study, item: Item, targets: Sequence[TwinTarget]
) -> Iterator[Presentation]:
    """Yield the comparisons of an item that show a twin, a copy of an answer with one change: a
    twin against its answer in both orders, or a pair with one answer replaced by its twin, in
    the orders and labels of that pair."""
    for target in targets:
        for name in _list_twins_of_answer(item, target.answer):
            pair: tuple[str, ...] = (target.answer, name)
            if target.pair:
                pair = tuple(name if one == target.answer else one for one in target.pair)
            base = target.pair or pair
            orders = [pair, pair[::-1]]
            if target.pair and study.pair_orders == "one":
                first = _draw_pair_order(study, item, target.pair)
                orders = [pair if first == target.pair else pair[::-1]]
            crossed = study.labels == "crossed" and _should_swap_labels(study, item.id, base)
            for shown in orders:
                for repeat in range(study.repeats):
                    yield Presentation(item, shown, crossed, repeat, False, len(orders), None)


def _list_twins_of_answer(item: Item, answer: str) -> list[str]:
    return [name for name in item.twins if split_twin_name(name)[0] == answer]


def orders_of_options(
    options: tuple[str, ...], orders: str, rng: random.Random
) -> list[tuple[str, ...]]:
    """Return the orders in which the answers `options` are shown together; `orders` is the setting
    of the study file.

    `one`: an order drawn by `rng`; `all`: all permutations (StudyError for more than four answers);
    `rotations`: all rotations, given order last; `williams`: Latin squares in which each option
    directly follows each other option equally often.
    """
    n = len(options)
    if orders == "one":
        return [tuple(rng.sample(options, n))]
    if orders == "all":
        if n > 4:
            raise StudyError(
                f"orders: all is for at most 4 options, not {n}; use orders: rotations"
            )
        return list(itertools.permutations(options))
    if orders == "williams":
        return [tuple(options[i] for i in row) for row in _williams_square(n)]
    return [options[n - k :] + options[: n - k] for k in range(1, n + 1)]


def _williams_square(n: int) -> list[list[int]]:
    """Return orders of the numbers 0 to n - 1 in which each number directly follows each other one
    equally often: n orders, or 2n if n is odd."""
    zigzag = [(i + 1) // 2 if i % 2 else (n - i // 2) % n for i in range(n)]
    square = [[(step + row) % n for step in zigzag] for row in range(n)]
    return square if n % 2 == 0 else square + [row[::-1] for row in square]


def _has_answer(item: Item, name: str) -> bool:
    text = item.reference if name == REFERENCE else item.responses.get(name, "")
    return bool(text.strip())


def _pairs_of_item(
    study: Study, item: Item, names: list[str], reference_items: frozenset[str]
) -> list[tuple[str, str]]:
    """Return the pairs of an item's answers that the study's `pairing` compares. If `pairing`
    needs the baseline or the new contestant, and it has no answer, there are none. On the
    items `reference_items`, the new contestant is compared with the baseline too. `names` are
    the study's contestants."""
    present = [name for name in names if _has_answer(item, name)]
    if study.pairing == "all":
        return list(itertools.combinations(present, 2))
    if study.pairing == "baseline":
        if not _has_answer(item, study.baseline):
            return []
        return [(study.baseline, name) for name in present if name != study.baseline]
    return _new_contestant_pairs(study, item, present, reference_items)


def _draw_items_against_baseline(study: Study, items: Sequence[Item]) -> frozenset[str]:
    """Return the ids of the items, drawn by the study's seed, on which the newly added contestant
    is compared with the baseline too, not only with another contestant."""
    ids = sorted(
        i.id for i in items if _has_answer(i, study.baseline) and _has_answer(i, study.new)
    )
    count = min(study.reference_games, len(ids))
    return frozenset(_seeded_random(study, "reference games").sample(ids, count))


def _new_contestant_pairs(
    study: Study, item: Item, present: list[str], reference_items: frozenset[str]
) -> list[tuple[str, str]]:
    """Return the pairs of the newly added contestant: with one opponent (not the baseline) drawn at
    random and, if the item is in `reference_items`, also with the baseline. Empty if the new
    contestant has no answer. `present` are the contestants that have an answer."""
    if not _has_answer(item, study.new):
        return []
    others = sorted(name for name in present if name not in (study.new, study.baseline))
    pairs = (
        [(study.new, _seeded_random(study, item.id, "opponent").choice(others))] if others else []
    )
    return [*pairs, (study.new, study.baseline)] if item.id in reference_items else pairs


def _draw_pair_order(study: Study, item: Item, pair: tuple[str, ...]) -> tuple[str, ...]:
    """Return the order, drawn by the study's seed, of a pair that is shown in one order only."""
    both = sorted([pair, pair[::-1]])
    return _seeded_random(study, item.id, *sorted(pair), "order").choice(both)


def _repeat_presentations(
    study: Study,
    item: Item,
    orders: Sequence[tuple[str, ...]],
    crossed: bool,
    unrelated: Item | None,
) -> Iterator[Presentation]:
    """Yield each of the `orders` as often as the study repeats it, and a randomly drawn share of
    them once more, for the noise floor. `crossed` states that labels are swapped. `unrelated`
    is the item whose answer is the unrelated option; None without this option."""
    for shown in orders:
        for repeat in range(study.repeats):
            yield Presentation(item, shown, crossed, repeat, False, len(orders), unrelated)
        if (
            study.noise_floor
            and _seeded_random(study, item.id, *shown, "noise").random() < study.noise_floor
        ):
            yield Presentation(item, shown, crossed, study.repeats, True, len(orders), unrelated)


class _UnrelatedItems:
    """Items from which the unrelated option (an answer to another question) is drawn."""

    def __init__(self, study: Study, items: Sequence[Item]) -> None:
        self._study = study
        self._items = sorted(
            (item for item in items if _answering_contestants(item)), key=lambda item: item.id
        )
        self._place = {item.id: index for index, item in enumerate(self._items)}
        if len(self._items) < 2:
            raise StudyError(
                f"unrelated: {study.unrelated} needs an answer to another item, but this slice "
                "has only one item; take more items, or set unrelated: none"
            )

    def draw(self, item: Item) -> Item:
        """Draw an item other than the given one, always the same for the same study and item."""
        index = _seeded_random(self._study, item.id, "unrelated").randrange(len(self._items) - 1)
        return self._items[index + (index >= self._place[item.id])]


def _add_unrelated(study: Study, item: Item, options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the answers to be shown, with the unrelated option (an answer to another question)
    put first.

    With `unrelated: replace`, the worst-ranked answer is dropped, so that the number of
    options stays the same."""
    worst = _find_worst_ranked(item, options) if study.unrelated == "replace" else None
    return (UNRELATED, *(name for name in options if name != worst))


def unrelated_answer(item: Item, other_item: Item) -> str:
    """Return the answer to `other_item` that is shown as @unrelated beside the answers to `item`.

    The contestant whose answer is shown is drawn at random, seeded by the ids of the two items
    only, so that a stored request can be rendered without its study.
    """
    name = random.Random(f"{item.id}\x1f{other_item.id}").choice(_answering_contestants(other_item))
    return other_item.responses[name]


def _answering_contestants(item: Item) -> list[str]:
    return sorted(name for name, text in item.responses.items() if text.strip())


def _find_worst_ranked(item: Item, options: tuple[str, ...]) -> str:
    """Return the option beaten by the largest number of other options, by votes or by design; of
    several such options, the last. StudyError if the better answer of a pair is unknown."""
    beaten = dict.fromkeys(options, 0)
    winners = {
        pair: better_answer(item.human, *pair) for pair in itertools.combinations(options, 2)
    }
    if None in winners.values():
        raise StudyError(
            f"unrelated: replace drops the worst-ranked answer, but item {item.id!r} has answers "
            "without a ranking; use unrelated: add"
        )
    for (x, y), winner in winners.items():
        if winner != "tie":
            beaten[y if winner == x else x] += 1
    return max(reversed(options), key=lambda name: beaten[name])


def _should_swap_labels(study: Study, item: str, names: Sequence[str]) -> bool:
    """Draw with probability ½ whether the labels of a comparison are swapped in all its orders:
    the first answer shown is then labelled B, the second A."""
    return _seeded_random(study, item, *sorted(names), "labels").random() < 0.5


def _seeded_random(study: Study, *parts: str) -> random.Random:
    """Return a random generator seeded by `data.seed` and the purpose of the draw, so that draws
    for different purposes are independent."""
    return random.Random("\x1f".join([str(study.data.seed), *parts]))
