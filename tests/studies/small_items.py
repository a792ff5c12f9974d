"""Small items, files and judgements for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from studies.domain import Ask, Item, Judgement, Preference, Verdict
from studies.spec.study import Study
from studies.store.rows import RequestRecord


def item(id: str = "q1", contestants: str | Iterable[str] = "xy", **more: Any) -> Item:
    """Contestants answer with their own name, so that a text says whose it is."""
    responses = {name: f"{name} answers {id}" for name in contestants}
    return Item(id=id, instruction=f"question {id}", responses=responses, **more)


def prefers(picked: str, *shown: str, judge: str = "by-design") -> Preference:
    return Preference(judge, shown or None, picked, margin=0 if picked == "tie" else 1)


def study(**values: Any) -> Study:
    return Study(name="small", **values)


def write_lines(path: Path, lines: Iterable[Mapping[str, Any] | str]) -> Path:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def line(id: str = "q1", **more: Any) -> dict[str, Any]:
    """A native item as a file holds it."""
    return {"id": id, "instruction": "why?", "responses": {"x": "so", "y": "thus"}, **more}


def ask(key: str, item: str = "q1", shown: str = "xy", **more: Any) -> Ask:
    names = tuple(shown)
    labels = tuple("ABCDEFGH"[: len(names)])
    values = {"judge": "j", "prompt": "p", "orders": 2, **more}
    return Ask(key=key, item=item, shown=names, labels=labels, **values)


def planned(*asks: Ask) -> list[tuple[Ask, RequestRecord]]:
    return [(a, RequestRecord(a.key, "http://127.0.0.1/v1", "model", "sha", "{}")) for a in asks]


def judged(of: Ask, pick: int | str | None = 0, **more: Any) -> Judgement:
    verdict = None if pick is None else Verdict(pick, 0 if pick == "tie" else 1)  # type: ignore[arg-type]
    values = {
        "status": "unreadable" if pick is None else "ok",
        "reply": f"reply to {of.key}",
        **more,
    }
    return Judgement(of, verdict=verdict, **values)
