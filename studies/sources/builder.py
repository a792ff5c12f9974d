"""Items and verdicts while a file is read: every format puts what it finds into a Gathering."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from studies.domain import (
    HUMAN_PREFIX,
    AnswerCheck,
    Ask,
    Item,
    Judgement,
    Preference,
    Status,
    Usage,
    Verdict,
)
from studies.errors import SourceError
from studies.files.tables import SourceTable, read_table
from studies.sources.join import JoinReport
from studies.spec.records_folder import check_source_variable, expand_source
from studies.spec.study import DataSpec

if TYPE_CHECKING:
    from studies.files.shards import ShardContents

Pick = int | Literal["tie"] | None

ORDER_NOT_RECORDED: Final = "the file does not record which answer was shown first"
ORDER_UNKNOWN: Final = 0
"""`Ask.orders` of a verdict whose order is not known: no measure of position may read it."""

VOTE_PROMPT: Final = "vote"
"""The prompt of a human judgement: people are asked on a form, not by a prompt."""

POSITION_METRICS: Final = (
    "first_share", "entropy", "consistency", "conflict", "hard_flips", "soft_flips", "chance",
    "kappa", "primacy", "recency", "fairness", "position_term", "noise_floor", "stability", "grade",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A source as a format gets it: a file that is read already, or a folder."""

    spec: DataSpec
    path: Path
    folder: Path
    """Where `data.files` are relative to."""
    table: SourceTable | None = None

    def read_other_file(self, path: str) -> SourceTable:
        """A further file of the source, as `data.files` names it."""
        check_source_variable(path)
        return read_table(self.folder / expand_source(path))

    @property
    def rows(self) -> SourceTable:
        if self.table is None:
            raise SourceError(f"{self.path.name}: expected a file, found a folder")
        return self.table


@dataclass
class _ItemDraft:
    """An item while its answers come together."""

    id: str
    instruction: str
    responses: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    human: list[Preference] = field(default_factory=list)
    checks: list[AnswerCheck] = field(default_factory=list)


class SourceBuilder:
    """Collects items, votes and verdicts; the same question met again adds its answers.

    A question or an answer that differs from the one already there under the same name makes a
    further item (`q1~2`): a verdict on another text is a verdict on another comparison.
    """

    def __init__(self, items: Sequence[Item] = (), judgements: Sequence[Judgement] = ()) -> None:
        self._ready = list(items)
        self._recorded = list(judgements)
        self._drafts: dict[str, _ItemDraft] = {}
        self._variants: dict[str, list[str]] = defaultdict(list)
        self._judgements: list[Judgement] = []
        self._known_orders: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
        self._repeats: dict[tuple[Any, ...], int] = defaultdict(int)
        self.split_items: set[str] = set()
        """Items that are a question met before, with another answer under the same name."""
        self.notes: list[str] = []
        self.join: JoinReport | None = None
        self.unknown_order = 0
        self.shards: ShardContents | None = None
        """Verdicts that stay in their files until a study is saved: too many to hold."""

    def add_item(
        self,
        id: str,
        instruction: str,
        responses: Mapping[str, str] | None = None,
        *,
        where: str = "",
        **facts: Any,
    ) -> str:
        """The id under which this question with these answers is kept."""
        if not id:
            raise SourceError(f"{where}: the question has no id")
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
        kept = {name: value for name, value in facts.items() if value}
        self._drafts[variant] = _ItemDraft(variant, instruction, answers, kept)
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
        """What a person, or the design of the data, prefers."""
        chosen = margin if margin is not None else 0 if picked == "tie" else 1
        order = tuple(shown) if shown is not None else None
        self._drafts[item].human.append(Preference(judge, order, picked, chosen, ranks or {}))

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
        """A vote that a file of verdicts holds: a preference of its item, and a judgement in the
        order of the file."""
        picked = shown[pick] if isinstance(pick, int) else pick
        if picked is not None:
            self.add_preference(item, name, picked, shown if known else None, margin)
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

    def add_check(self, item: str, check: AnswerCheck) -> None:
        self._drafts[item].checks.append(check)

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
    ) -> None:
        """One recorded judgement. Without a pick and without scores it is a failure, never a tie.

        `known=False`: the order is not in the file; then names stand in alphabetical order.
        """
        names, chosen = tuple(shown), pick
        points, likely = tuple(scores), tuple(probabilities)
        if not known:
            _, _, likely = sort_by_name(names, pick, likely)
            names, chosen, points = sort_by_name(names, pick, points)
            self.unknown_order += 1
        readable = chosen is not None or bool(points)
        self._judgements.append(
            Judgement(
                ask=self._ask(item, judge, prompt, names, known),
                status=status or ("ok" if readable else "unreadable"),
                verdict=_make_verdict(chosen, margin, points, likely) if readable else None,
                rule=rule if readable else "",
                reply=reply,
                usage=usage or Usage(),
                cost=cost,
                model=model,
                time=time,
                detail=detail,
            )
        )

    def _ask(self, item: str, judge: str, prompt: str, names: tuple[str, ...], known: bool) -> Ask:
        at = (item, judge, prompt, names)
        repeat = self._repeats[at]
        self._repeats[at] += 1
        if known:
            self._known_orders[(item, judge, prompt, *sorted(names))].add(names)
        return Ask("", item, judge, prompt, names, slot_labels(len(names)), repeat,
                   orders=1 if known else ORDER_UNKNOWN)  # fmt: skip

    def items(self) -> list[Item]:
        return self._ready + [
            Item(
                id=draft.id,
                instruction=draft.instruction,
                responses=draft.responses,
                human=tuple(draft.human),
                checks=tuple(draft.checks),
                **draft.facts,
            )
            for draft in self._drafts.values()
        ]

    def judgements(self) -> list[Judgement]:
        """The verdicts; how many orders a comparison was shown in is known only now."""
        return self._recorded + [
            replace(made, ask=self._with_orders(made.ask)) for made in self._judgements
        ]

    def _with_orders(self, ask: Ask) -> Ask:
        if ask.orders == ORDER_UNKNOWN:
            return ask
        orders = self._known_orders[(ask.item, ask.judge, ask.prompt, *sorted(ask.shown))]
        return replace(ask, orders=len(orders))


def sort_by_name(
    names: tuple[str, ...], pick: Pick, scores: tuple[float, ...]
) -> tuple[tuple[str, ...], Pick, tuple[float, ...]]:
    """The same verdict with the contestants in alphabetical order, where no order is known."""
    places = sorted(range(len(names)), key=lambda k: names[k])
    moved = places.index(pick) if isinstance(pick, int) else pick
    turned = tuple(scores[k] for k in places) if len(scores) == len(names) else scores
    return tuple(names[k] for k in places), moved, turned


def _make_verdict(
    pick: Pick, margin: int | None, scores: tuple[float, ...], likely: tuple[float, ...]
) -> Verdict:
    chosen = margin if margin is not None else 0 if pick == "tie" else 1
    return Verdict(pick, chosen, scores, likely)


def slot_labels(n: int) -> tuple[str, ...]:
    """Letters for a pair or a single answer, numbers for more."""
    return tuple("AB"[:n]) if n <= 2 else tuple(str(k) for k in range(1, n + 1))


def check_contestant_name(name: str, where: str) -> None:
    """A contestant's name must be one that the store can keep and a verdict can mean."""
    control = any(character < " " or character == "\x7f" for character in name)
    if not name.strip() or name == "tie" or name.startswith("@") or control:
        raise SourceError(
            f"{where}: contestant {name!r}: names are not empty, are not 'tie', do not begin "
            "with '@' (reserved) and hold no control characters"
        )
