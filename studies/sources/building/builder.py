"""Builder to which format readers add the items, votes and verdicts of a data source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from studies.domain import (
    BY_DESIGN,
    HUMAN_PREFIX,
    PASS_FAIL_OPTIONS,
    QUESTION_META,
    AnswerCheck,
    AnswerLabel,
    Ask,
    Item,
    Judgement,
    Preference,
    Status,
    Usage,
)
from studies.errors import SourceError
from studies.sources.building.item_draft import ItemDraft, check_contestant_name, finish_item
from studies.sources.building.recorded_verdict import (
    ORDER_UNKNOWN,
    VOTE_PROMPT,
    Pick,
    ReplyReading,
    RereadCounts,
    has_judge_reply,
    make_verdict,
    slot_labels,
    sort_by_name,
    verdict_as_shown,
)
from studies.sources.join import JoinReport

if TYPE_CHECKING:
    from studies.files.shards import ShardContents


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
        self.unknown_order = 0
        self.needs_reading = False
        """Whether the file has replies but no verdicts; verdicts are then read from replies."""
        self.labels_recorded = True
        """Whether label A in the replies means the first contestant that the file lists."""
        self.shards: ShardContents | None = None
        """Summary of verdicts in shards; to save memory, the verdicts are read only when the study
        is saved."""

    def add_item(
        self,
        id: str,
        instruction: str,
        responses: Mapping[str, str] | None = None,
        *,
        where: str = "",
        **facts: Any,
    ) -> str:
        """Add an item, or add its answers to an earlier item with the same id and question; return
        the item's id."""
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

    def add_preference(
        self,
        item: str,
        judge: str,
        picked: str | None,
        shown: Sequence[str] | None = None,
        margin: int | None = None,
        ranks: Mapping[str, int] | None = None,
    ) -> None:
        """Add a preference by a person or by the design of the data."""
        chosen = margin if margin is not None else 0 if picked == "tie" else 1
        order = tuple(shown) if shown is not None else None
        self._drafts[item].human.append(Preference(judge, order, picked, chosen, ranks or {}))

    def add_better_answer(
        self, item: str, names: Sequence[str], pick: Pick, source: str = BY_DESIGN
    ) -> None:
        """Add which of the answers of `names` is better by design, or by the label of the people
        `source`: `pick` is its index or "tie". Nothing is added if `pick` is None or `source` has
        chosen among these answers already."""
        draft, compared = self._drafts[item], tuple(sorted(names))
        known = {
            draft.compared.get(index)
            for index, vote in enumerate(draft.human)
            if vote.judge == source
        }
        if pick is None or compared in known:
            return
        self.add_preference(item, source, "tie" if pick == "tie" else names[pick])
        draft.compared[len(draft.human) - 1] = compared

    def has_preference(self, item: str, judge: str) -> bool:
        return any(vote.judge == judge for vote in self._drafts[item].human)

    def add_person_verdict(
        self,
        item: str,
        name: str,
        shown: Sequence[str],
        pick: Pick,
        *,
        known: bool = True,
        margin: int | None = None,
        reply: str = "",
        time: float = 0.0,
    ) -> None:
        """Add a person's vote, both as a preference of the item and as a judgement."""
        picked = shown[pick] if isinstance(pick, int) else pick
        if picked is not None:
            self.add_preference(item, name, picked, shown if known else None, margin)
            draft = self._drafts[item]
            draft.compared[len(draft.human) - 1] = tuple(sorted(shown))
        self.add_verdict(
            item,
            HUMAN_PREFIX + name,
            VOTE_PROMPT,
            shown,
            pick,
            known=known,
            margin=margin,
            reply=reply,
            time=time,
        )

    def skip_self_comparison(self, names: Sequence[str], where: str) -> bool:
        """Return whether a row compares a model with itself; the caller leaves such rows out, and a
        note gives their number."""
        same = names[0] == names[1]
        if same:
            self._self_comparisons.append((names[0], where))
        return same

    def all_notes(self) -> list[str]:
        """Return the format reader's notes, and notes on rows left out and on items that share a
        question."""
        return [*self._self_comparison_notes(), *self.notes, *self._question_notes()]

    def _self_comparison_notes(self) -> list[str]:
        if not self._self_comparisons:
            return []
        name, where = self._self_comparisons[0]
        count = len(self._self_comparisons)
        return [
            f"{count:,} rows left out: a model compared with itself ({name!r}, first in {where})"
        ]

    def _question_notes(self) -> list[str]:
        shared = self._shared_questions()
        count = len(self._drafts)
        questions = len(
            {
                draft.facts.get("meta", {}).get(QUESTION_META, shared.get(id, id))
                for id, draft in self._drafts.items()
            }
        )
        if questions == count:
            return []
        return [
            f"{count:,} items are about {questions:,} questions: items with the same question "
            "(other turns, or other answers under the same names) count as one in every interval"
        ]

    def add_check(self, item: str, check: AnswerCheck) -> None:
        self._drafts[item].checks.append(check)

    def add_label(self, item: str, label: AnswerLabel) -> None:
        """Add the right verdict on an answer; the same label given twice counts once."""
        if label not in self._drafts[item].labels:
            self._drafts[item].labels.append(label)

    def add_pass_fail(
        self, item: str, judge: str, prompt: str, contestant: str, passed: bool | None, **more: Any
    ) -> None:
        """Add a pass/fail verdict on one answer; `passed` is None for an unusable reply."""
        scores = () if passed is None else (float(passed),)
        self.add_verdict(
            item, judge, prompt, (contestant,), None,
            scores=scores, labels=PASS_FAIL_OPTIONS, **more,
        )  # fmt: skip

    def add_verdict(
        self,
        item: str,
        judge: str,
        prompt: str,
        shown: Sequence[str],
        pick: Pick,
        *,
        known: bool = True,
        status: Status | None = None,
        margin: int | None = None,
        scores: Sequence[float] = (),
        probabilities: Sequence[float] = (),
        reply: str = "",
        rule: str = "recorded",
        model: str = "",
        cost: float | None = None,
        time: float = 0.0,
        usage: Usage | None = None,
        detail: str = "",
        labels: tuple[str, ...] = (),
    ) -> None:
        """Add a recorded judgement; without a pick and without scores it is an unusable reply, not
        a tie.

        `known=False` means that the file does not record the order; the contestants are then sorted
        by name. `labels` are the options of a verdict on one answer, by default the labels of the
        slots.
        """
        names, chosen = tuple(shown), pick
        score_values, label_probabilities = tuple(scores), tuple(probabilities)
        if not known:
            _, _, label_probabilities = sort_by_name(names, pick, label_probabilities)
            names, chosen, score_values = sort_by_name(names, pick, score_values)
            self.unknown_order += 1
        readable = chosen is not None or bool(score_values)
        self._listed.append(tuple(shown))
        self._judgements.append(
            Judgement(
                ask=self._ask(item, judge, prompt, names, known, labels),
                status=status or ("ok" if readable else "unreadable"),
                verdict=make_verdict(chosen, margin, score_values, label_probabilities)
                if readable
                else None,
                rule=rule if readable else "",
                reply=reply,
                usage=usage or Usage(),
                cost=cost,
                model=model,
                time=time,
                detail=detail,
            )
        )

    def reply_samples(self, count: int = 200) -> list[tuple[str, int]]:
        """Return the first replies of judges, each with the number of answers it judges."""
        found = ((j.reply, len(j.ask.shown)) for j in self._judgements if has_judge_reply(j))
        return list(islice(found, count))

    def reread_verdicts(self, read: Callable[[str, int], ReplyReading]) -> RereadCounts:
        """Replace the judges' verdicts by those that `read` finds in their replies.

        A reply without a readable verdict is unusable, even if the file records a verdict for it.
        """
        counts = RereadCounts()
        for index, judgement in enumerate(self._judgements):
            if not has_judge_reply(judgement):
                continue
            found = read(judgement.reply, len(judgement.ask.shown))
            verdict = verdict_as_shown(found.verdict, self._listed[index], judgement.ask)
            counts.replies += 1
            counts.read += verdict is not None
            before = judgement.verdict
            counts.changed += before is not None and (
                verdict is None or (before.pick, before.scores) != (verdict.pick, verdict.scores)
            )
            self._judgements[index] = replace(
                judgement,
                status="ok" if verdict else "unreadable",
                verdict=verdict,
                rule=found.rule if verdict else "",
                detail="" if verdict else found.reason,
            )
        return counts

    def _ask(
        self,
        item: str,
        judge: str,
        prompt: str,
        names: tuple[str, ...],
        known: bool,
        options: tuple[str, ...],
    ) -> Ask:
        at = (item, judge, prompt, names, options)
        repeat = self._repeats[at]
        self._repeats[at] += 1
        if known:
            self._known_orders[(item, judge, prompt, *sorted(names))].add(names)
        orders = 1 if known else ORDER_UNKNOWN
        labels = options or slot_labels(len(names))
        return Ask("", item, judge, prompt, names, labels, repeat, orders=orders)

    def items(self) -> list[Item]:
        shared = self._shared_questions()
        return self._ready + [finish_item(draft, shared) for draft in self._drafts.values()]

    def _shared_questions(self) -> dict[str, str]:
        """Return, for items that share a question, item id -> id of the first of these items.

        Variants of an item (`q1`, `q1~2`) share a question if their instructions are equal.
        """
        shared: dict[str, str] = {}
        for variants in self._variants.values():
            asked: dict[str, list[str]] = defaultdict(list)
            for variant in variants:
                asked[self._drafts[variant].instruction].append(variant)
            for instruction, ids in asked.items():
                if instruction and len(ids) > 1:
                    shared |= dict.fromkeys(ids, ids[0])
        return shared

    def judgements(self) -> list[Judgement]:
        """Return all judgements; `Ask.orders` is the number of orders in which the file has the
        comparison."""
        return self._recorded + [self._with_orders(judgement) for judgement in self._judgements]

    def _with_orders(self, judgement: Judgement) -> Judgement:
        ask = judgement.ask
        if ask.orders == ORDER_UNKNOWN:
            return judgement
        orders = self._known_orders[(ask.item, ask.judge, ask.prompt, *sorted(ask.shown))]
        if len(orders) == ask.orders:  # avoid copies: copying 100,000 verdicts takes seconds
            return judgement
        return replace(judgement, ask=replace(ask, orders=len(orders)))
