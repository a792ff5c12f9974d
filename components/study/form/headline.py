"""Heading of the form: the study's question, and a summary in one sentence."""

from __future__ import annotations

from components.html.format import count
from components.study.file.lenient_study import LenientStudy, judge_name
from components.study.form.data_source import original_file_name
from components.study.plan.study_preview import StudyPreview
from studies.spec.presentations import resolve_contestants

_NUMBER_WORDS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip


def study_question(study: LenientStudy) -> str:
    """The question that the study answers, worded by its numbers of judges and prompts."""
    where = data_name(study)
    judges = [judge_name(judge) for judge in study.judges]
    if len(judges) > 1:
        return f"Which judge is even-handed on {where}?"
    if len(study.prompts) > 1 and judges:
        return f"Which prompt makes {judges[0]} even-handed on {where}?"
    return f"Is {judges[0]} even-handed on {where}?" if judges else f"No judge selected for {where}"


def data_name(study: LenientStudy) -> str:
    source = study.source
    if source == "probe":
        return "the probe set"
    if source.startswith("hub:"):
        return source[4:].partition("@")[0]
    return original_file_name(source)


def study_summary(preview: StudyPreview) -> str:
    """Sentence with the numbers of items, pairs, orders, judges and prompts, whose product is the
    number of calls."""
    study = preview.lenient_study
    parts = [count(len(preview.items), "item")] if preview.items else []
    plan = preview.plan
    if plan is not None:
        kinds = {prompt.protocol for prompt in plan.prompts}
        players = len(resolve_contestants(plan.study, plan.items))
        if "choice" in kinds:
            parts.append(f"up to {number_word(players)} options")
        if kinds - {"choice", "single"}:
            parts.append(_pairing_text(plan.study.pairing, players))
            parts.append("both orders" if plan.study.pair_orders == "both" else "one order")
    parts.append(_count_text(len(study.judges), "judge"))
    parts.append(_count_text(len(study.prompts), "prompt"))
    listed = ", ".join(parts)
    return f"{listed[:1].upper()}{listed[1:]}. No call is made until you press Run."


def _pairing_text(pairing: str, players: int) -> str:
    if pairing == "baseline":
        return f"{number_word(players)} models against the baseline"
    if pairing == "new":
        return "one new model against random opponents"
    pairs = players * (players - 1) // 2
    return f"{_count_text(pairs, 'pair')} of {number_word(players)} models"


def _count_text(number: int, noun: str) -> str:
    return f"{number_word(number)} {noun}{'' if number == 1 else 's'}"


def number_word(number: int) -> str:
    return _NUMBER_WORDS[number] if number < len(_NUMBER_WORDS) else count(number)
