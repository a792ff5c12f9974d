"""A study as a question and a sentence: the head of the form."""

from __future__ import annotations

from components.html.format import count
from components.study.file.lenient_study import LenientStudy
from components.study.form.data_source import original_file_name
from components.study.plan.study_preview import StudyPreview
from studies.spec.presentations import resolve_contestants

_NUMBER_WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
)


def study_question(sheet: LenientStudy) -> str:
    """What the study asks, from what is in it."""
    where = data_name(sheet)
    judges = [str(judge.get("name") or judge.get("model") or "judge") for judge in sheet.judges]
    if len(judges) > 1:
        return f"Which judge is even-handed on {where}?"
    if len(sheet.prompts) > 1 and judges:
        return f"Which prompt makes {judges[0]} even-handed on {where}?"
    return f"Is {judges[0]} even-handed on {where}?" if judges else f"Who judges {where}?"


def data_name(sheet: LenientStudy) -> str:
    source = sheet.source
    if source == "probe":
        return "the probe set"
    if source.startswith("hub:"):
        return source[4:].partition("@")[0]
    return original_file_name(source)


def study_summary(bench: StudyPreview) -> str:
    """Items, pairings, orders, judges, prompts: what is multiplied."""
    sheet = bench.lenient_study
    parts = [count(len(bench.items), "item")] if bench.items else []
    plan = bench.plan
    if plan is not None:
        kinds = {prompt.protocol for prompt in plan.prompts}
        players = len(resolve_contestants(plan.study, plan.items))
        if "choice" in kinds:
            parts.append(f"up to {number_word(players)} options")
        if kinds - {"choice", "single"}:
            parts.append(_pairing_text(plan.study.pairing, players))
            parts.append("both orders" if plan.study.pair_orders == "both" else "one order")
    parts.append(_count_text(len(sheet.judges), "judge"))
    parts.append(_count_text(len(sheet.prompts), "prompt"))
    told = ", ".join(parts)
    return f"{told[:1].upper()}{told[1:]}. Nothing is asked until you press Run."


def _pairing_text(pairing: str, players: int) -> str:
    if pairing == "baseline":
        return f"{number_word(players)} models against the baseline"
    if pairing == "new":
        return "one new model against drawn opponents"
    pairs = players * (players - 1) // 2
    return f"{_count_text(pairs, 'pairing')} of {number_word(players)} models"


def _count_text(number: int, noun: str) -> str:
    return f"{number_word(number)} {noun}{'' if number == 1 else 's'}"


def number_word(number: int) -> str:
    return _NUMBER_WORDS[number] if number < len(_NUMBER_WORDS) else count(number)
