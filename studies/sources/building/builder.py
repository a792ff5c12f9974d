"""Builder to which format readers add the items, votes and verdicts of a data source."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from studies import domain
from studies.domain import BY_DESIGN, HUMAN_PREFIX, QUESTION_META, Ask, Item, Judgement, Preference
from studies.errors import SourceError
from studies.files.items import check_contestant_name
from studies.sources.building import recorded_verdict
from studies.sources.building.recorded_verdict import ORDER_UNKNOWN, Pick, RereadCounts
from studies.sources.join import JoinReport
from studies.texts.counts import count

if TYPE_CHECKING:
    from studies.files.shards import ShardContents

PERSON_NAME: Final = re.compile(
    r"(human|arena[_ -]?user|expert|author|annotator|worker|voter|crowd|rater|user)"
    r"([_: ]?\d|[_:]|s?$)",
    re.IGNORECASE,
)
"""Pattern of judge names in data files that stand for people, such as `annotator_1`."""


@dataclass(slots=True)
class ItemDraft:
    """An unfinished item, to which answers, votes, checks and labels are added."""

    id: str
    instruction: str
    responses: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    human: list[Preference] = field(default_factory=list)
    compared: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Index of a vote in `human` -> contestants that the vote compared."""
    checks: list[domain.AnswerCheck] = field(default_factory=list)
    labels: list[domain.AnswerLabel] = field(default_factory=list)

    def finish(self, shared_questions: Mapping[str, str]) -> Item:
        """Return the finished item. `shared_questions` maps the id of each item that shares its
        question with others to the id of the first of them."""
        facts = dict(self.facts)
        if self.id in shared_questions and QUESTION_META not in facts.get("meta", {}):
            facts["meta"] = {**facts.get("meta", {}), QUESTION_META: shared_questions[self.id]}
        facts["human"] = tuple(map(self._vote_limited_to_compared_answers, range(len(self.human))))
        facts |= {"checks": tuple(self.checks), "labels": tuple(self.labels)}
        return Item(self.id, self.instruction, self.responses, **facts)

    def _vote_limited_to_compared_answers(self, index: int) -> Preference:
        """Return vote number `index` of the item, changed if necessary so that it counts only for
        the answers that it compared.

        A pick of unknown order would count as a win over all answers of the item. Such a vote
        becomes a ranking of the answers compared, unless these are all answers of an item with
        texts."""
        vote, names = self.human[index], self.compared.get(index, ())
        answers = {*self.responses, *(name for one in self.compared.values() for name in one)}
        if vote.shown is not None or not names or (self.responses and answers <= set(names)):
            return vote
        best = names if vote.picked == "tie" else (vote.picked,)
        return replace(vote, picked=None, ranks={name: 1 if name in best else 2 for name in names})


class SourceBuilder:
    """Collector of items, votes and verdicts; answers given under the same item id are merged.

    If the question, or a contestant's answer, differs from the text given earlier under this id, a
    new item is started (`q1~2`): a verdict on a different text is a different comparison.
    """

    def __init__(self, items: Sequence[Item] = (), judgements: Sequence[Judgement] = ()) -> None:
        self._ready = list(items)
        self._recorded = list(judgements)
        self._drafts: dict[str, ItemDraft] = {}
        self._variants: dict[str, list[str]] = defaultdict(list)
        self._judgements: list[Judgement] = []
        self._listed: list[tuple[str, ...]] = []
        """Contestants of each judgement in the order in which the file lists them; the first has
        label A."""
        self._known_orders: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
        self._repeats: dict[tuple[Any, ...], int] = defaultdict(int)
        self.split_items: set[str] = set()
        """Ids of items, such as `q1~2`, whose question or answers differ from those of an earlier
        item under the same id."""
        self.notes: list[str] = []
        self._self_comparisons: list[tuple[str, str]] = []
        self.join: JoinReport | None = None
        self.unknown_order = sum(judgement.ask.orders == ORDER_UNKNOWN for judgement in judgements)
        self.needs_reading = False
        """Whether the file has replies but no verdicts; verdicts are then read from replies."""
        self.reply_format = ""
        """Verdict format of the replies; empty if the format of the file does not determine it."""
        self.labels_recorded = True
        """Whether label A in the replies means the first contestant that the file lists."""
        self.shards: ShardContents | None = None
        """Summary of verdicts in shards; to save memory, the verdicts are read only when the study
        is saved."""

    # ---- items -------------------------------------------------------------------------------

    def add_item(
        self,
        id: str,
        instruction: str,
        responses: Mapping[str, str] | None = None,
        *,
        where: str = "",
        **facts: Any,
    ) -> str:
        """Add an item, or add its answers to an earlier item with the same id, question and texts;
        return the item's id, which has a suffix (`q1~2`) if an earlier item has other texts.

        `facts` are further fields of a new item, such as its category. SourceError, whose message
        begins with `where`, for an empty id or an invalid name of a contestant.
        """
        if not id:
            raise SourceError(f"{where}: the question has no id; fill the column or remove the row")
        answers = {name: text for name, text in (responses or {}).items() if text}
        for name in responses or {}:
            check_contestant_name(name, where)
        for variant in self._variants[id]:
            draft = self._drafts[variant]
            if instruction and draft.instruction not in ("", instruction):
                continue
            if all(draft.responses.get(name, text) == text for name, text in answers.items()):
                draft.responses |= answers
                draft.instruction = draft.instruction or instruction
                return variant
        variant = id
        if self._variants[id]:
            variant = f"{id}~{len(self._variants[id]) + 1}"
            self.split_items.add(variant)
        self._variants[id].append(variant)
        filled = {name: value for name, value in facts.items() if value}
        self._drafts[variant] = ItemDraft(variant, instruction, answers, filled)
        return variant

    def add_preference(self, item: str, judge: str, picked: str | None, **facts: Any) -> None:
        """Add a preference to an item. `judge` is the person's name, or BY_DESIGN if the
        data states which answer is better. `picked` is a contestant, "tie", or None for
        a ranking. `facts` are the order `shown`, the `margin` and the `ranks`; the margin
        is by default 0 for a tie, else 1."""
        facts = {"shown": None, "margin": 0 if picked == "tie" else 1} | facts
        self._drafts[item].human.append(Preference(judge, picked=picked, **facts))

    def add_better_answer(
        self, item: str, names: Sequence[str], pick: Pick, source: str = BY_DESIGN
    ) -> None:
        """Add to an item which of the answers of the contestants `names` is better: `pick` is an
        index of `names`, or "tie". `source` states who says so: BY_DESIGN, or a name for the
        people. Nothing is added if `pick` is None, or if `source` has already decided among these
        answers."""
        draft, compared = self._drafts[item], tuple(sorted(names))
        votes = enumerate(draft.human)
        known = {draft.compared.get(index) for index, vote in votes if vote.judge == source}
        if pick is not None and compared not in known:
            self.add_preference(item, source, "tie" if pick == "tie" else names[pick])
            draft.compared[len(draft.human) - 1] = compared

    def add_check(self, item: str, check: domain.AnswerCheck) -> None:
        self._drafts[item].checks.append(check)

    def add_label(self, item: str, label: domain.AnswerLabel) -> None:
        """Add the right verdict on an answer; the same label given twice counts once."""
        if label not in self._drafts[item].labels:
            self._drafts[item].labels.append(label)

    def items(self) -> list[Item]:
        shared = self._first_item_with_same_question()
        return self._ready + [draft.finish(shared) for draft in self._drafts.values()]

    def _first_item_with_same_question(self) -> dict[str, str]:
        """Return item id -> id of the first item with the same question, for items that share one.

        Variants of an item (`q1`, `q1~2`) share a question if their instructions are equal."""
        shared: dict[str, str] = {}
        for variants in self._variants.values():
            asked: dict[str, list[str]] = defaultdict(list)
            for variant in variants:
                asked[self._drafts[variant].instruction].append(variant)
            for instruction, ids in asked.items():
                if instruction and len(ids) > 1:
                    shared |= dict.fromkeys(ids, ids[0])
        return shared

    # ---- verdicts ----------------------------------------------------------------------------

    def note_if_self_comparison(self, names: Sequence[str], where: str) -> bool:
        """Return whether a row compares a model with itself; `names` are its two models. The caller
        then leaves the row out. A note of the import states how many such rows there are, and the
        place `where` of the first."""
        same = names[0] == names[1]
        if same:
            self._self_comparisons.append((names[0], where))
        return same

    def add_verdict(
        self,
        item: str,
        judge: str,
        prompt: str,
        shown: Sequence[str],
        pick: Pick,
        *,
        known: bool = True,
        status: domain.Status | None = None,
        margin: int | None = None,
        scores: Sequence[float] = (),
        probabilities: Sequence[float] = (),
        labels: tuple[str, ...] = (),
        **facts: Any,
    ) -> None:
        """Add a recorded judgement; without a pick and without scores it is an unusable reply, not
        a tie. `pick` is an index of `shown`, "tie" or None.

        `known=False` means that the file does not record the order; the contestants are then sorted
        by name. `labels` are the options of a verdict on one answer, by default the labels of the
        slots. The margin is by default 0 for a tie, else 1; the status "ok" or, for an unusable
        reply, "unreadable". `facts` are further fields of the judgement, such as its reply.
        """
        names, chosen, values, likely = tuple(shown), pick, tuple(scores), tuple(probabilities)
        self._listed.append(names)
        if not known:
            likely = recorded_verdict.sort_by_name(names, pick, likely)[2]
            names, chosen, values = recorded_verdict.sort_by_name(names, pick, values)
            self.unknown_order += 1
        size = margin if margin is not None else 0 if pick == "tie" else 1
        usable = chosen is not None or bool(values)
        verdict = domain.Verdict(chosen, size, values, likely) if usable else None
        at = (item, judge, prompt, names, labels)
        options = labels or recorded_verdict.slot_labels(len(names))
        orders, repeat = 1 if known else ORDER_UNKNOWN, self._repeats[at]
        ask = Ask("", item, judge, prompt, names, options, repeat, orders=orders)
        self._repeats[at] += 1
        if known:
            self._known_orders[(item, judge, prompt, *sorted(names))].add(names)
        status = status or ("ok" if verdict else "unreadable")
        rule = "recorded" if verdict else ""
        self._judgements.append(Judgement(ask, status, verdict, rule=rule, **facts))

    def add_person_verdict(
        self,
        item: str,
        name: str,
        shown: Sequence[str],
        pick: Pick,
        *,
        known: bool = True,
        margin: int | None = None,
        **facts: Any,
    ) -> None:
        """Add the vote of the person `name`, both as a preference of the item (unless `pick` is
        None) and as a judgement; `shown`, `pick`, `known`, `margin` and `facts` are as in
        `add_verdict`."""
        picked = shown[pick] if isinstance(pick, int) else pick
        if picked is not None:
            order = {"shown": tuple(shown)} if known else {}
            size = {} if margin is None else {"margin": margin}
            self.add_preference(item, name, picked, **order, **size)
            draft = self._drafts[item]
            draft.compared[len(draft.human) - 1] = tuple(sorted(shown))
        judge, prompt = HUMAN_PREFIX + name, recorded_verdict.VOTE_PROMPT
        self.add_verdict(item, judge, prompt, shown, pick, known=known, margin=margin, **facts)

    def add_verdict_or_vote(
        self, item: str, judge: str, prompt: str, shown: Sequence[str], pick: Pick, **facts: Any
    ) -> None:
        """Add a judge's verdict or, if the judge's name stands for a person, a person's vote. Of a
        vote only order, pick, margin, reply, scores and time are kept. The arguments are those of
        `add_verdict`."""
        if judge.startswith(HUMAN_PREFIX) or PERSON_NAME.match(judge):
            kept = {name: facts[name] for name in _VOTE_FACTS if name in facts}
            self.add_person_verdict(item, judge.removeprefix(HUMAN_PREFIX), shown, pick, **kept)
        else:
            self.add_verdict(item, judge, prompt, shown, pick, **facts)

    def add_rating(
        self, item: str, judge: str, prompt: str, contestant: str, score: float | None, **facts: Any
    ) -> None:
        """Add the score of one answer, by a judge with a prompt; `score` is None for an unusable
        reply. `facts` are further arguments of `add_verdict`."""
        scores = () if score is None else (float(score),)
        self.add_verdict(item, judge, prompt, (contestant,), None, scores=scores, **facts)

    def reply_samples(self, count: int = 200) -> list[tuple[str, int]]:
        """Return the first `count` replies of judges, each with the number of answers it judges."""
        judged = filter(recorded_verdict.has_judge_reply, self._judgements)
        return [(one.reply, len(one.ask.shown)) for one in islice(judged, count)]

    def reread_verdicts(
        self, read: Callable[[str, int], recorded_verdict.VerdictReading]
    ) -> RereadCounts:
        """Replace the judges' verdicts by those read from their replies; return counts. `read` is
        called with a reply and the number of answers it judges, and returns the verdict.

        A reply without a readable verdict is unusable, even if the file records a verdict for it.
        Votes, and verdicts without a reply, stay as they are."""
        counts = RereadCounts()
        for index, one in enumerate(self._judgements):
            if not recorded_verdict.has_judge_reply(one):
                continue
            found, before = read(one.reply, len(one.ask.shown)), one.verdict
            listed = self._listed[index]
            verdict = recorded_verdict.reorder_verdict(found.verdict, listed, one.ask)
            counts.replies += 1
            counts.read += verdict is not None
            counts.changed += before is not None and (
                verdict is None or (before.pick, before.scores) != (verdict.pick, verdict.scores)
            )
            self._judgements[index] = (
                replace(one, status="ok", verdict=verdict, rule=found.rule, detail="")
                if verdict
                else replace(one, status="unreadable", verdict=None, rule="", detail=found.reason)
            )
        return counts

    def judgements(self) -> list[Judgement]:
        """Return all judgements. Their `Ask.orders` is set to the number of orders in which
        the file has the comparison, or 0 if the file does not record the order."""
        return self._recorded + [self._set_order_count(judgement) for judgement in self._judgements]

    def _set_order_count(self, judgement: Judgement) -> Judgement:
        ask = judgement.ask
        if ask.orders == ORDER_UNKNOWN:
            return judgement
        orders = self._known_orders[(ask.item, ask.judge, ask.prompt, *sorted(ask.shown))]
        if len(orders) == ask.orders:  # avoid copies: copying 100,000 verdicts takes seconds
            return judgement
        return replace(judgement, ask=replace(ask, orders=len(orders)))

    def all_notes(self) -> list[str]:
        """Return the format reader's notes, and notes on rows left out and on items that share a
        question."""
        notes = list(self.notes)
        if self._self_comparisons:
            name, where = self._self_comparisons[0]
            rows = f"{count(len(self._self_comparisons), 'row')} left out"
            notes.insert(0, f"{rows}: a model compared with itself ({name!r}, first in {where})")
        shared, drafts = self._first_item_with_same_question(), self._drafts.items()
        questions = {
            draft.facts.get("meta", {}).get(QUESTION_META, shared.get(id, id))
            for id, draft in drafts
        }
        if len(questions) != len(drafts):
            notes.append(
                f"{len(drafts):,} items are about {count(len(questions), 'question')}: items with "
                "the same question (other turns, or other answers under the same names) count as "
                "one in every interval"
            )
        return notes


_VOTE_FACTS: Final = ("known", "margin", "reply", "scores", "time")
