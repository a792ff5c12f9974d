"""Labels of a study's cases: the better of two answers, pass or fail, or the score of one answer.

A label is known by design (gold), else it is the verdict of people: more than half of the votes,
or the mean of their scores.

A case is a pair of answers to one item, or a single answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from studies.domain import (
    BY_DESIGN,
    FAIL,
    HUMAN_PREFIX,
    PASS,
    AnswerLabel,
    Ask,
    Item,
    Judgement,
    Preference,
)
from studies.frames.arrangement import parse_arrangement
from studies.frames.known_answers import better_answer, right_rubric_levels, right_verdicts
from studies.store.store import Store

LabelKind = Literal["pairs", "pass", "score"]
"""Verdict that a label is about: the better of two answers, pass or fail, or a score."""
PAIRS: Final = "pairs"
PASS_FAIL: Final = "pass"
SCORES: Final = "score"
CaseKey = tuple[str, ...]
"""An item and the contestants judged, in alphabetical order: two, or one for a single answer."""


@dataclass(frozen=True, slots=True)
class LabelledComparison:
    """Two answers to an item of which one, `winner`, is known to be better. `first` and `second`
    are the contestants in alphabetical order, not in the order shown. `votes` is the number of
    people who voted, 0 if the better answer is known by design."""

    item: str
    first: str
    second: str
    winner: str
    votes: int = 0

    @property
    def key(self) -> CaseKey:
        return self.item, self.first, self.second


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """One answer with its right verdict, `value`: 1 for pass, 0 for fail, or a score. `levels`
    has the right level of each criterion of a rubric. `votes` is the number of people who
    voted, 0 if the label comes from the data."""

    item: str
    contestant: str
    value: float
    votes: int = 0
    levels: tuple[tuple[str, float], ...] = ()

    @property
    def key(self) -> CaseKey:
        return self.item, self.contestant


Label = LabelledComparison | LabelledAnswer


@dataclass(frozen=True, slots=True)
class StudyLabels:
    """The labels of one kind in a study (`cases`), and the pairs or answers that got votes or
    pass/fail labels but no majority, and so have no label (`disputed`)."""

    cases: tuple[Label, ...]
    disputed: tuple[CaseKey, ...]
    kind: LabelKind = "pairs"

    @property
    def comparisons(self) -> tuple[LabelledComparison, ...]:
        return tuple(one for one in self.cases if isinstance(one, LabelledComparison))

    @property
    def answers(self) -> tuple[LabelledAnswer, ...]:
        return tuple(one for one in self.cases if isinstance(one, LabelledAnswer))

    @property
    def items(self) -> tuple[str, ...]:
        """Items with at least one label, in the order of `cases`."""
        return tuple(dict.fromkeys(one.item for one in self.cases))

    @property
    def why_unlabelled(self) -> str:
        """Text for the page: the reason why the cases of `disputed` have no label."""
        if self.kind == PAIRS:
            return "no answer preferred by more than half of the votes"
        return "labels that are half pass, half fail"

    def select_items(self, items: Iterable[str]) -> StudyLabels:
        """Return the labels of these items only; `disputed` is unchanged."""
        wanted = set(items)
        return replace(self, cases=tuple(one for one in self.cases if one.item in wanted))


def read_labels(store: Store, study: str, kind: LabelKind = "pairs") -> StudyLabels:
    """Return the labels of one kind in a study. If the right answer is known by design, it is
    the label; otherwise the votes of people decide."""
    items, asks, judgements = store.items(study), store.asks(study), store.judgements(study)
    if kind == PAIRS:
        return label_comparisons(items, asks, judgements)
    return label_answers(items, asks, judgements, kind)


def item_and_contestants_key(ask: Ask) -> CaseKey | None:
    """Return (item, contestants in alphabetical order) for a request about one answer or two
    different answers; None for any other request."""
    if len(set(ask.shown)) != len(ask.shown) or len(ask.shown) not in (1, 2):
        return None
    return ask.item, *sorted(ask.shown)


def label_comparisons(
    items: Mapping[str, Item], asks: Iterable[Ask], judgements: Iterable[Judgement]
) -> StudyLabels:
    """Return the labels of the pairs of answers that `asks` (requests to judges) or `judgements`
    compare: the better answer by design, else the choice of more than half of the voters. Only the
    first vote of a voter counts. A tie is no label."""
    votes: dict[CaseKey, dict[str, str]] = defaultdict(dict)
    pairs = {key: None for ask in asks if (key := _item_and_pair_key(ask)) and ask.item in items}
    for judgement in judgements:
        ask, verdict = judgement.ask, judgement.verdict
        key = _item_and_pair_key(ask)
        if key is None or ask.item not in items:
            continue
        pairs[key] = None  # recorded verdicts have no asks
        if not ask.judge.startswith(HUMAN_PREFIX):
            continue
        if judgement.usable and verdict is not None and verdict.pick is not None:
            picked = "tie" if verdict.pick == "tie" else ask.shown[verdict.pick]
            votes[key].setdefault(ask.judge, picked)  # a person's first vote counts
    found, disputed = [], []
    for key in pairs:
        item, first, second = key
        designed = [p for p in items[item].human if p.judge == BY_DESIGN]
        winner = better_answer(designed, first, second)
        if winner in (first, second):
            found.append(LabelledComparison(item, first, second, str(winner)))
        elif cast := votes.get(key):
            picked, most = Counter(cast.values()).most_common(1)[0]
            if 2 * most > len(cast) and picked != "tie":
                found.append(LabelledComparison(item, first, second, picked, len(cast)))
            else:
                disputed.append(key)
    return StudyLabels(tuple(found), tuple(disputed))


def _item_and_pair_key(ask: Ask) -> CaseKey | None:
    key = item_and_contestants_key(ask)
    return key if key is not None and len(key) == 3 else None


def label_answers(
    items: Mapping[str, Item], asks: Iterable[Ask], judgements: Iterable[Judgement], kind: LabelKind
) -> StudyLabels:
    """Return the labels of the single answers in `asks` (requests to judges) or `judgements`, by
    the same rules as the column `gold` of a frame: the label in the data, else the verdict by
    people's votes. `kind` is "pass" or "score".

    Votes cast under the names of two or more of the judges' prompts are taken for votes on single
    criteria, one per prompt, and do not count as labels of answers."""
    answers = {key: None for ask in asks if (key := _item_and_single_contestant_key(ask, items))}
    votes: dict[CaseKey, list[Judgement]] = defaultdict(list)
    judged, voted = set[str](), set[str]()
    for judgement in judgements:
        key = _item_and_single_contestant_key(judgement.ask, items)
        if key is None:
            continue
        answers[key] = None
        passes = parse_arrangement(judgement.ask.labels).is_pass_fail
        verdict = judgement.verdict
        if not judgement.ask.judge.startswith(HUMAN_PREFIX):
            judged.add(judgement.ask.prompt)
        elif judgement.usable and verdict and verdict.scores and passes == (kind == PASS_FAIL):
            voted.add(judgement.ask.prompt)
            votes[key].append(judgement)
    criteria = judged & voted if len(judged & voted) > 1 else set[str]()
    found, disputed = [], []
    for key in answers:
        label = _label_from_data(items[key[0]], key[1], kind)
        usable = (one for one in reversed(votes[key]) if one.ask.prompt not in criteria)
        cast = [*{one.ask.judge: one for one in usable}.values()][::-1]  # each person's first
        label = label or (_label_from_votes(key, cast, kind) if cast else None)
        if label is not None:
            found.append(label)
        elif cast or _has_pass_fail_labels(items[key[0]], key[1], kind):
            disputed.append(key)
    return StudyLabels(tuple(found), tuple(disputed), kind)


def _item_and_single_contestant_key(ask: Ask, items: Mapping[str, Item]) -> CaseKey | None:
    """Return the item and contestant of a request about one answer; None if it shows several
    answers, or one that is not in the data, such as a twin (a changed copy)."""
    item = items.get(ask.item)
    if item is None or len(ask.shown) != 1 or ask.shown[0] not in item.responses:
        return None
    return ask.item, ask.shown[0]


def _label_from_data(item: Item, contestant: str, kind: LabelKind) -> LabelledAnswer | None:
    """Return the label that the data gives an answer; None if it gives none of this kind, or as
    many of pass as of fail."""
    value = right_verdicts(item.labels).get(contestant)
    if value is None or isinstance(value, str) != (kind == PASS_FAIL):
        return None
    number = float(value == PASS) if isinstance(value, str) else value
    levels = tuple(right_rubric_levels(item.labels).get(contestant, {}).items())
    return LabelledAnswer(item.id, contestant, number, levels=levels if kind == SCORES else ())


def _has_pass_fail_labels(item: Item, contestant: str, kind: LabelKind) -> bool:
    """Whether `kind` is pass/fail and the answer of `contestant` has a label of this kind."""
    own = [one.value for one in item.labels if one.contestant == contestant]
    return kind == PASS_FAIL and any(value in (PASS, FAIL) for value in own)


def _label_from_votes(
    key: CaseKey, votes: list[Judgement], kind: LabelKind
) -> LabelledAnswer | None:
    """Return the label that people's votes give: the majority of pass and fail (None if they are
    even), or the mean of the scores and of each level of a rubric."""
    item, contestant = key
    given = [one.verdict.scores for one in votes if one.verdict is not None]
    mean = sum(scores[0] for scores in given) / len(given)
    if kind == PASS_FAIL:
        even = abs(mean - 0.5) < 1e-9
        return None if even else LabelledAnswer(item, contestant, float(mean > 0.5), len(votes))
    levels: dict[str, list[float]] = {}
    for one, scores in zip(votes, given, strict=True):
        criteria = parse_arrangement(one.ask.labels).criteria
        for name, level in zip(criteria, scores[1:], strict=False):
            levels.setdefault(name, []).append(level)
    means = tuple((name, sum(some) / len(some)) for name, some in levels.items())
    return LabelledAnswer(item, contestant, mean, len(votes), means)


def keep_only_labelled_answers(item: Item, labels: StudyLabels) -> Item:
    """Return the item with only its labelled answers. Their labels become known answers by
    design, also those that come from votes; the item's votes and checks are removed."""
    pairs = [one for one in labels.comparisons if one.item == item.id]
    answers = [one for one in labels.answers if one.item == item.id]
    names = {name for one in pairs for name in (one.first, one.second)}
    names |= {one.contestant for one in answers}
    known = tuple(Preference(BY_DESIGN, (one.first, one.second), one.winner) for one in pairs)
    right = tuple(
        AnswerLabel(one.contestant, _label_value(one, labels.kind), levels=one.levels)
        for one in answers
    )
    responses = {name: text for name, text in item.responses.items() if name in names}
    return replace(item, responses=responses, human=known, checks=(), labels=right)


def _label_value(label: LabelledAnswer, kind: LabelKind) -> float | Literal["pass", "fail"]:
    if kind != PASS_FAIL:
        return label.value
    return "pass" if label.value else "fail"
