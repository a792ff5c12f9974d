"""A study as a question and a sentence: the head of the form."""

from __future__ import annotations

from components.format import count
from components.study.bench import Bench
from components.study.data import upload_name
from components.study.sheet import Sheet
from studies.comparisons import contestants_of

_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def question(sheet: Sheet) -> str:
    """What the study asks, from what is in it."""
    where = data_name(sheet)
    judges = [str(judge.get("name") or judge.get("model") or "judge") for judge in sheet.judges]
    if len(judges) > 1:
        return f"Which judge is even-handed on {where}?"
    if len(sheet.prompts) > 1 and judges:
        return f"Which prompt makes {judges[0]} even-handed on {where}?"
    return f"Is {judges[0]} even-handed on {where}?" if judges else f"Who judges {where}?"


def data_name(sheet: Sheet) -> str:
    source = sheet.source
    if source == "probe":
        return "the probe set"
    if source.startswith("hub:"):
        return source[4:].partition("@")[0]
    return upload_name(source)


def lead(bench: Bench) -> str:
    """Items, pairings, orders, judges, prompts: what is multiplied."""
    sheet = bench.sheet
    parts = [count(len(bench.items), "item")] if bench.items else []
    plan = bench.plan
    if plan is not None:
        kinds = {prompt.protocol for prompt in plan.prompts}
        players = len(contestants_of(plan.study, plan.items))
        if "choice" in kinds:
            parts.append(f"up to {small(players)} options")
        if kinds - {"choice", "single"}:
            parts.append(_pairing(plan.study.pairing, players))
            parts.append("both orders" if plan.study.pair_orders == "both" else "one order")
    parts.append(_many(len(sheet.judges), "judge"))
    parts.append(_many(len(sheet.prompts), "prompt"))
    told = ", ".join(parts)
    return f"{told[:1].upper()}{told[1:]}. Nothing is asked until you press Run."


def _pairing(pairing: str, players: int) -> str:
    if pairing == "baseline":
        return f"{small(players)} models against the baseline"
    if pairing == "new":
        return "one new model against drawn opponents"
    pairs = players * (players - 1) // 2
    return f"{_many(pairs, 'pairing')} of {small(players)} models"


def _many(number: int, noun: str) -> str:
    return f"{small(number)} {noun}{'' if number == 1 else 's'}"


def small(number: int) -> str:
    return _SMALL[number] if number < len(_SMALL) else count(number)
