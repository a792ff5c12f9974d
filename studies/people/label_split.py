"""Labelled comparisons of a study, and their items in two parts: learn and hold-out.

New prompts may use items of *learn* only; *hold-out* shows which prompt is better. The parts are
drawn once, by a seed, and stored with the study. An item never changes its part; items labelled
later are added in the same proportion. A *look* is one comparison of prompts on the hold-out.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from studies.domain import (
    BY_DESIGN,
    HUMAN_PREFIX,
    QUESTION_META,
    Ask,
    Item,
    Judgement,
    Preference,
)
from studies.frames.truth import better_answer
from studies.store.queries.alignment_queries import read_alignment, write_alignment
from studies.store.store import Store

PairKey = tuple[str, str, str]
"""An item and two contestants, in alphabetical order."""
SEED: Final = 7
LEAST_HOLD_OUT: Final = 30
"""Number of labelled items on the hold-out below which no prompt is recommended."""
LEAST_LEARN: Final = 10
"""Number of labelled items left to learn from before the hold-out gets more than half."""


@dataclass(frozen=True, slots=True)
class LabelledComparison:
    """Two answers to an item of which one is known to be better; `first` is the contestant whose
    name sorts first. `votes` is the number of people who voted, 0 for an answer known by design."""

    item: str
    first: str
    second: str
    winner: str
    votes: int = 0


@dataclass(frozen=True, slots=True)
class StudyLabels:
    """The labelled comparisons of a study, and those on which people voted without a majority."""

    comparisons: tuple[LabelledComparison, ...]
    disputed: tuple[PairKey, ...]
    """Item and both contestants of each comparison whose votes have no majority."""

    @property
    def items(self) -> tuple[str, ...]:
        """Items with at least one labelled comparison, in the order of the study."""
        return tuple(dict.fromkeys(one.item for one in self.comparisons))

    def on(self, items: Iterable[str]) -> tuple[LabelledComparison, ...]:
        """Return the labelled comparisons of some items."""
        wanted = set(items)
        return tuple(one for one in self.comparisons if one.item in wanted)


@dataclass(frozen=True, slots=True)
class CandidateRecord:
    """A new version of a prompt that was asked on the hold-out. `learnt` are the items that its
    block was made from; `writer` is the judge that wrote its rules, if any."""

    name: str
    kind: str
    sha: str
    learnt: tuple[str, ...] = ()
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """One comparison of candidates with today's prompt on the hold-out."""

    judge: str
    prompt: str
    candidates: tuple[CandidateRecord, ...]
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class LabelSplit:
    """The labelled items of a study in two parts, and the looks at the hold-out so far."""

    seed: int
    learn: tuple[str, ...]
    hold_out: tuple[str, ...]
    looks: tuple[Look, ...] = ()

    @property
    def missing(self) -> int:
        """Number of labelled items that the hold-out lacks for a recommendation."""
        return max(0, LEAST_HOLD_OUT - len(self.hold_out))

    def last_look(self, judge: str, prompt: str) -> Look | None:
        """Return the latest look for a judge and prompt; None if there was none."""
        own = [one for one in self.looks if (one.judge, one.prompt) == (judge, prompt)]
        return own[-1] if own else None


def candidate_study(name: str, judge: str, prompt: str) -> str:
    """Return the name of the stored study with the replies to the candidates."""
    return f"{name}: {prompt} improved for {judge}"


def writer_study(name: str, prompt: str, writer: str) -> str:
    """Return the name of the stored study with the writer's rules for a prompt."""
    return f"{name}: rules for {prompt} by {writer}"


def improved_study(store: Store, study: str) -> str:
    """Return the study whose prompt the calls of `study` improve; empty for any other study."""
    for name in store.study_files():
        if study.startswith(f"{name}: ") and (split := stored_split(store, name)) is not None:
            looked = {candidate_study(name, one.judge, one.prompt) for one in split.looks}
            if study in looked or study.startswith(f"{name}: rules for "):
                return name
    return ""


# ------------------------------------------------------------------------------ labels


def read_labels(store: Store, name: str) -> StudyLabels:
    """List the comparisons of two answers whose better answer is known: by design, else by more
    than half of the votes."""
    return label_comparisons(store.items(name), store.asks(name), store.judgements(name))


def pair_key(ask: Ask) -> PairKey | None:
    """Return the item and both contestants of an ask, in alphabetical order; None if it does not
    compare two different answers."""
    if len(ask.shown) != 2 or ask.shown[0] == ask.shown[1]:
        return None
    first, second = sorted(ask.shown)
    return ask.item, first, second


def label_comparisons(
    items: Mapping[str, Item], asks: Iterable[Ask], judgements: Iterable[Judgement]
) -> StudyLabels:
    """Label the pairs of answers that judges are asked about or people voted on."""
    votes: dict[PairKey, dict[str, str]] = defaultdict(dict)
    pairs = {key: None for ask in asks if (key := pair_key(ask)) and ask.item in items}
    for judgement in judgements:
        ask, verdict = judgement.ask, judgement.verdict
        key = pair_key(ask)
        if key is None or ask.item not in items:
            continue
        pairs[key] = None  # recorded verdicts have no asks
        if not ask.judge.startswith(HUMAN_PREFIX):
            continue
        if judgement.readable and verdict is not None and verdict.pick is not None:
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


def with_known_answers(item: Item, labels: Sequence[LabelledComparison]) -> Item:
    """Return an item with the labelled answers only, and their labels as known answers."""
    own = [one for one in labels if one.item == item.id]
    names = {name for one in own for name in (one.first, one.second)}
    known = tuple(Preference(BY_DESIGN, (one.first, one.second), one.winner) for one in own)
    responses = {name: text for name, text in item.responses.items() if name in names}
    return replace(item, responses=responses, human=known, checks=())


# ------------------------------------------------------------------------------ the split


def draw_split(
    items: Mapping[str, Item], labelled: Sequence[str], stored: LabelSplit | None, seed: int = SEED
) -> LabelSplit:
    """Put every labelled item into one part. Items of a stored split keep their part; items that
    share a question are in the same part.

    The hold-out gets half of the items, and more than half if it would otherwise have fewer than
    LEAST_HOLD_OUT while LEAST_LEARN remain to learn from.
    """
    split = stored or LabelSplit(seed, (), ())
    side = {question_of(items, one): "learn" for one in split.learn}
    side |= {question_of(items, one): "hold_out" for one in split.hold_out}
    known = {*split.learn, *split.hold_out}
    new = [one for one in labelled if one not in known]
    questions = sorted({question_of(items, one) for one in new} - set(side))
    random.Random(f"labels:{split.seed}:{len(known)}").shuffle(questions)
    count = len(known) + len(new)
    wanted = max((count + 1) // 2, min(LEAST_HOLD_OUT, count - LEAST_LEARN))
    sizes = Counter(question_of(items, one) for one in new)
    held = len(split.hold_out) + sum(sizes[one] for one in sizes if side.get(one) == "hold_out")
    for question in questions:
        side[question] = "hold_out" if held < wanted else "learn"
        held += sizes[question] if side[question] == "hold_out" else 0
    parts = {
        part: tuple(one for one in new if side[question_of(items, one)] == part)
        for part in ("learn", "hold_out")
    }
    return replace(
        split, learn=split.learn + parts["learn"], hold_out=split.hold_out + parts["hold_out"]
    )


def question_of(items: Mapping[str, Item], item: str) -> str:
    """Return the id that items of one question share; without one, the item's own id."""
    return (items[item].meta.get(QUESTION_META) if item in items else None) or item


def stored_split(store: Store, name: str) -> LabelSplit | None:
    """Return the stored split of a study; None if its labelled items were not split yet."""
    text = read_alignment(store, name)
    return None if text is None else _split_from(json.loads(text))


def split_labels(store: Store, name: str, seed: int = SEED) -> tuple[StudyLabels, LabelSplit]:
    """Read the labels of a study, and store its split with all labelled items."""
    items = store.items(name)
    labels = label_comparisons(items, store.asks(name), store.judgements(name))
    before = stored_split(store, name)
    split = draw_split(items, labels.items, before, seed)
    if split != before and store.owns(name):
        write_alignment(store, name, json.dumps(asdict(split), ensure_ascii=False))
    return labels, split


def record_look(
    store: Store, name: str, look: Look, *, replaces_unseen: bool = False
) -> LabelSplit:
    """Store a look at the hold-out before its candidates are asked. The same candidates as in the
    latest look for this judge and prompt are no new look; with `replaces_unseen`, the latest look
    got no reply and is replaced."""
    split = stored_split(store, name)
    assert split is not None  # the candidates were made from its part learn
    last = split.last_look(look.judge, look.prompt)
    if last is not None and {c.sha for c in last.candidates} == {c.sha for c in look.candidates}:
        return split
    looks = tuple(one for one in split.looks if not (replaces_unseen and one is last))
    split = replace(split, looks=(*looks, replace(look, time=look.time or time.time())))
    write_alignment(store, name, json.dumps(asdict(split), ensure_ascii=False))
    return split


def _split_from(values: Mapping[str, Any]) -> LabelSplit:
    looks = tuple(
        Look(
            one["judge"],
            one["prompt"],
            tuple(
                CandidateRecord(**{**c, "learnt": tuple(c["learnt"])}) for c in one["candidates"]
            ),
            one["time"],
        )
        for one in values["looks"]
    )
    return LabelSplit(values["seed"], tuple(values["learn"]), tuple(values["hold_out"]), looks)
