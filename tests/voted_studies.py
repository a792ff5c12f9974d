"""Small recorded studies with people in them: verdicts in, a study in a real store out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from studies.domain import Ask, Item, Judgement, JudgeSpec, Preference, Usage, Verdict
from studies.spec.study import DataSpec, Study
from studies.store.store import Store

PICKS = {"x": "x", "y": "y", "=": "tie", "?": None}


@dataclass
class Sheet:
    """What is to be recorded; `both("q1", "judge", "xy")` says x when x is first, then y."""

    name: str
    rows: list[tuple[str, str, str, tuple[str, ...], Any, int]] = field(default_factory=list)

    def both(self, item: str, judge: str, said: str, prompt: str = "p") -> Sheet:
        for shown, word in zip((("x", "y"), ("y", "x")), said, strict=True):
            self.rows.append((item, judge, prompt, shown, PICKS[word], 2))
        return self

    def once(self, item: str, judge: str, said: str, prompt: str = "p") -> Sheet:
        self.rows.append((item, judge, prompt, ("x", "y"), PICKS[said], 1))
        return self

    def votes(self, item: str, **said: str) -> Sheet:
        """One vote a person: votes("q1", ann="x", bob="=")."""
        for who, word in said.items():
            self.rows.append((item, f"human:{who}", "vote", ("x", "y"), PICKS[word], 1))
        return self

    def save(self, store: Store, **study: Any) -> str:
        save(store, self.name, self.rows, **study)
        return self.name


def save(
    store: Store,
    name: str,
    rows: Iterable[tuple[str, str, str, tuple[str, ...], Any, int]],
    *,
    categories: Mapping[str, str] | None = None,
    design: Mapping[str, str] | None = None,
    known_by: str = "by-design",
    families: Mapping[str, str] | None = None,
    judge_families: Mapping[str, str] | None = None,
    data: DataSpec | None = None,
    judge_sees: str = "context",
    usage: Usage | None = None,
    cost: float | None = None,
    seconds: float = 0.0,
) -> None:
    rows = list(rows)
    asked = list(dict.fromkeys(item for item, *_ in rows))
    contestants = sorted({who for *_, shown, _, _ in rows for who in shown})
    items = [
        Item(
            item, f"question {item}", {who: f"{who} says {item}" for who in contestants},
            (categories or {}).get(item, "all of them"),
            human=(Preference(known_by, None, design[item]),) if design else (),
        )
        for item in asked
    ]  # fmt: skip
    judges = sorted({judge for _, judge, *_ in rows if not judge.startswith("human:")})
    specs = tuple(
        JudgeSpec(one, one, "http://127.0.0.1:9/v1", family=(judge_families or {}).get(one, ""))
        for one in judges
    )
    study = Study(
        name, data or DataSpec(), judges=specs, families=families or {}, judge_sees=judge_sees
    )
    recorded = [
        _judgement(name, *row, usage=usage or Usage(), cost=cost, seconds=seconds) for row in rows
    ]
    store.save_study(study, items, (), plan_sha=name, recorded=recorded, only_recorded=True)


def _judgement(
    study: str, item: str, judge: str, prompt: str, shown: tuple[str, ...], picked: str | None,
    orders: int, **more: Any,
) -> Judgement:  # fmt: skip
    labels = tuple("ABCDEFGH"[: len(shown)])
    key = "/".join([study, item, judge, prompt, *shown])
    ask = Ask(key, item, judge, prompt, shown, labels, orders=orders)
    if picked is None:
        return Judgement(ask, "unreadable", None, reply="hm", **more)
    verdict = Verdict("tie", 0) if picked == "tie" else Verdict(shown.index(picked), 1)
    return Judgement(ask, "ok", verdict, reply=f"I prefer {picked}", **more)


def six_items(name: str = "voted") -> Sheet:
    """Three voters and two judges on six pairs, so small that every number can be done by hand.

    q0 to q3: all three vote x. q4: x, x, y. q5: x, y, tie, which has no mode: a tie.
    `good` says what the majority says, in both orders; `first` takes whatever stands first.
    """
    sheet = Sheet(name)
    for k in range(6):
        item = f"q{k}"
        votes = ("x", "x", "x") if k < 4 else ("x", "x", "y") if k == 4 else ("x", "y", "=")
        sheet.votes(item, **dict(zip(("ann", "bob", "cat"), votes, strict=True)))
        sheet.both(item, "good", "xx" if k < 5 else "==").both(item, "first", "xy")
    return sheet
