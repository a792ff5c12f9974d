"""Labelled items of a study in two parts: learn and hold-out.

New prompts may use items of *learn* only; *hold-out* shows which prompt is better. The parts are
drawn once, by a seed, and stored with the study. An item never changes its part; items labelled
later are added in the same proportion. A *look* is one comparison of prompts on the hold-out.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from studies.domain import QUESTION_META, Item
from studies.people.study_labels import LabelKind, StudyLabels, read_labels
from studies.spec.derived_names import RULES_MARK, candidate_study_name
from studies.store.queries.alignment_queries import read_label_split_text, write_label_split_text
from studies.store.store import Store

SEED: Final = 7
LEAST_HOLD_OUT: Final = 30
"""Minimum number of labelled items on the hold-out; with fewer, no prompt is recommended."""
LEAST_LEARN: Final = 10
"""Minimum number of labelled items left to learn from if the hold-out gets more than half of the
items."""


@dataclass(frozen=True, slots=True)
class CandidateRecord:
    """Record of a new version of a prompt (a candidate) that was tried on the hold-out. `learnt`
    has the ids of the items that its added text was made from. `writer` is the judge that
    wrote the added rules, "" if no judge did."""

    name: str
    kind: str
    sha: str
    learnt: tuple[str, ...] = ()
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """One comparison, on the hold-out items, of new versions of a prompt (`candidates`) with the
    prompt that the study has."""

    judge: str
    prompt: str
    candidates: tuple[CandidateRecord, ...]
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class LabelSplit:
    """The labelled items of a study in two parts, and the comparisons of prompts made on the
    hold-out so far (`looks`)."""

    seed: int
    learn: tuple[str, ...]
    hold_out: tuple[str, ...]
    looks: tuple[Look, ...] = ()

    def select_items(self, items: Iterable[str]) -> LabelSplit:
        """Return the split of some items only, such as those with labels of one kind."""
        wanted = set(items)
        learn, held = (
            tuple(one for one in part if one in wanted) for part in (self.learn, self.hold_out)
        )
        return replace(self, learn=learn, hold_out=held)

    @property
    def hold_out_items_still_needed(self) -> int:
        """Number of labelled items by which the hold-out is smaller than LEAST_HOLD_OUT, the number
        needed to recommend a prompt; 0 if it is large enough."""
        return max(0, LEAST_HOLD_OUT - len(self.hold_out))

    def last_prompt_comparison(self, judge: str, prompt: str) -> Look | None:
        """Return the latest look: the comparison, on the hold-out, of new versions of the prompt
        `prompt` of a judge with the study's own version. None if there was none."""
        own = [one for one in self.looks if (one.judge, one.prompt) == (judge, prompt)]
        return own[-1] if own else None


@dataclass(frozen=True, slots=True)
class PromptToImprove:
    """A prompt of the study `study` that another study was made to improve. `judge` is the judge
    called with the prompt; if the other study writes rules for the prompt, it is the judge
    that writes them."""

    study: str
    judge: str
    prompt: str


def find_prompt_improved_by(store: Store, study: str) -> PromptToImprove | None:
    """Return the prompt that `study` was made to improve, found by the study's name: either by
    trying new versions of the prompt, or by writing rules to be added to it. None for any
    other study."""
    for name in store.study_file_texts():
        if not study.startswith(f"{name}: ") or (split := stored_split(store, name)) is None:
            continue
        for one in split.looks:
            if study == candidate_study_name(name, one.judge, one.prompt):
                return PromptToImprove(name, one.judge, one.prompt)
        rules = f"{name}{RULES_MARK}"
        if study.startswith(rules):
            prompt, _, writer = study.removeprefix(rules).rpartition(" by ")
            return PromptToImprove(name, writer, prompt)
    return None


# ------------------------------------------------------------------------------ the split


def draw_split(
    items: Mapping[str, Item], labelled: Sequence[str], stored: LabelSplit | None, seed: int = SEED
) -> LabelSplit:
    """Divide the labelled items into learn and hold-out. Items of the split `stored` keep their
    part, and items that share a question are in the same part. `labelled` are ids of `items`;
    `seed` has no effect if `stored` is given.

    The hold-out gets half of the items. If it would then have fewer than LEAST_HOLD_OUT, it
    gets more, as long as LEAST_LEARN items remain to learn from."""
    split = stored or LabelSplit(seed, (), ())
    side = {question_id_of(items, one): "learn" for one in split.learn}
    side |= {question_id_of(items, one): "hold_out" for one in split.hold_out}
    known = {*split.learn, *split.hold_out}
    new = [one for one in labelled if one not in known]
    own = split.select_items(labelled)
    questions = sorted({question_id_of(items, one) for one in new} - set(side))
    random.Random(f"labels:{split.seed}:{len(known)}").shuffle(questions)
    count = len(own.learn) + len(own.hold_out) + len(new)
    wanted = max((count + 1) // 2, min(LEAST_HOLD_OUT, count - LEAST_LEARN))
    sizes = Counter(question_id_of(items, one) for one in new)
    held = len(own.hold_out) + sum(sizes[one] for one in sizes if side.get(one) == "hold_out")
    for question in questions:
        side[question] = "hold_out" if held < wanted else "learn"
        held += sizes[question] if side[question] == "hold_out" else 0
    parts = {
        part: tuple(one for one in new if side[question_id_of(items, one)] == part)
        for part in ("learn", "hold_out")
    }
    return replace(
        split, learn=split.learn + parts["learn"], hold_out=split.hold_out + parts["hold_out"]
    )


def question_id_of(items: Mapping[str, Item], item: str) -> str:
    """Return the id of an item's question, which all items on this question have; the item's own id
    if it states none."""
    return (items[item].meta.get(QUESTION_META) if item in items else None) or item


def stored_split(store: Store, study: str) -> LabelSplit | None:
    """Return the stored split of a study; None if its labelled items were not split yet."""
    text = read_label_split_text(store, study)
    return None if text is None else _parse_stored_split(json.loads(text))


def load_labels_and_extend_split(
    store: Store, study: str, seed: int = SEED, kind: LabelKind = "pairs"
) -> tuple[StudyLabels, LabelSplit]:
    """Return the study's labels of one kind, and the items that have such labels, divided into
    learn and hold-out. Labelled items that are not yet in the stored split are added to it;
    the result is stored if the visitor owns the study. `seed` is used only for the first
    split of a study."""
    labels = read_labels(store, study, kind)
    before = stored_split(store, study)
    split = draw_split(store.items(study), labels.items, before, seed)
    if split != before and store.owns(study):
        write_label_split_text(store, study, json.dumps(asdict(split), ensure_ascii=False))
    return labels, split.select_items(labels.items)


def record_prompt_comparison(
    store: Store, study: str, look: Look, *, replaces_unseen: bool = False
) -> LabelSplit:
    """Store a look (a comparison of prompts on the hold-out) before its candidates are asked;
    return the split that contains it. Nothing is stored if the latest look for this judge and
    prompt has the same candidates. With `replaces_unseen`, the new look takes the place of the
    latest one, for use if the candidates of that look got no reply."""
    split = stored_split(store, study)
    assert split is not None  # the candidates were made from its part learn
    last = split.last_prompt_comparison(look.judge, look.prompt)
    if last is not None and {c.sha for c in last.candidates} == {c.sha for c in look.candidates}:
        return split
    looks = tuple(one for one in split.looks if not (replaces_unseen and one is last))
    split = replace(split, looks=(*looks, replace(look, time=look.time or time.time())))
    write_label_split_text(store, study, json.dumps(asdict(split), ensure_ascii=False))
    return split


def _parse_stored_split(values: Mapping[str, Any]) -> LabelSplit:
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
