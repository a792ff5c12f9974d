"""Cases to learn from: comparisons or single answers whose right verdict is known (labelled), with
the judge's mistakes on them. They are shown as examples in a prompt, and described in a text for
the model that writes rules."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from judges.judge_errors import PlanError
from judges.models.simulation.simulated import verdict_sentence
from judges.rendering.messages import (
    PromptInputs,
    list_arrangement_labels,
    render_prompt,
    rubric_criteria,
    slot_labels,
)
from judges.rendering.prompt import Prompt
from judges.verdicts.point_readers import score_by_option
from judges.verdicts.verdict_formats import PASS_FAIL_FORMAT
from studies.domain import Item
from studies.frames.arrangement import ONE_STEP, parse_arrangement
from studies.people.study_labels import (
    PASS_FAIL,
    CaseKey,
    Label,
    LabelKind,
    LabelledAnswer,
    LabelledComparison,
    StudyLabels,
    item_and_contestants_key,
)
from studies.spec.study import Study
from studies.store.store import Store

PAIR_PROTOCOLS: Final = ("pairwise", "five-level")
MAX_CASES: Final = 12
"""Maximum number of mistakes that the rules' writer reads."""
CASE_CHARACTERS: Final = 600
"""Length to which the texts of a case are cut for the rules' writer."""
Turn = tuple[str, str]
"""Role and text of a message."""


@dataclass(frozen=True, slots=True)
class LabelledVerdicts:
    """Counts of a judge's verdicts on one comparison or answer whose right verdict is known: all
    (`calls`) and wrong ones (`wrong`). For a single answer, `total` is the sum of the scores
    given (pass 1, fail 0)."""

    calls: int = 0
    wrong: int = 0
    total: float = 0.0

    @property
    def mean_score(self) -> float:
        return self.total / max(self.calls, 1)


@dataclass(frozen=True, slots=True)
class LearnCase:
    """A comparison, or a single answer, whose right verdict is known (`label`) and from which a
    prompt may be improved; with the counts of the judge's verdicts on it."""

    item: Item
    label: Label
    verdicts: LabelledVerdicts = LabelledVerdicts()

    @property
    def mistakes(self) -> int:
        """Number of verdicts against the label; a score counts if it is more than one step of the
        scale off."""
        return self.verdicts.wrong

    @property
    def distance_from_label(self) -> float:
        """Distance of the mean score of one answer from its label; 0 for a comparison, or without
        verdicts."""
        if isinstance(self.label, LabelledComparison) or not self.verdicts.calls:
            return 0.0
        return abs(self.verdicts.mean_score - self.label.value)


def label_kind(prompt: Prompt) -> LabelKind:
    """Return the kind of labels that fit a prompt's verdicts: "pairs", "pass" (pass or fail) or
    "score". Raise PlanError for a prompt that neither compares two answers nor judges one."""
    if prompt.protocol in PAIR_PROTOCOLS:
        return "pairs"
    if prompt.protocol == "single":
        return "pass" if prompt.verdict == PASS_FAIL_FORMAT else "score"
    raise PlanError(
        f"prompt {prompt.name!r} neither compares two answers nor judges one; only such prompts "
        "can be improved from corrections"
    )


def list_learn_cases(
    items: Mapping[str, Item], labels: StudyLabels, judged: Mapping[CaseKey, LabelledVerdicts]
) -> list[LearnCase]:
    """List the labelled cases whose item is one of `items` (the learn items). Each case has the
    counts of the judge's verdicts on it from `judged`, or zeros if it has none there."""
    cases = [LearnCase(items[one.item], one) for one in labels.cases if one.item in items]
    return [
        replace(case, verdicts=judged.get(case.label.key, LabelledVerdicts())) for case in cases
    ]


def count_verdicts_by_case(
    store: Store, name: str, judge: str, prompt: str, labels: StudyLabels, step: float | None = None
) -> dict[CaseKey, LabelledVerdicts]:
    """Return case (a labelled comparison or single answer) -> counts of the verdicts that a judge
    with a prompt gave on it in the study `name`; cases without a verdict are left out. Wrong are
    another choice than the label's (a tie too), pass instead of fail or the reverse, and a score
    more than one `step` from the label. If `step` is None, it is the smallest distance between
    the scores that the request offered. Repeats made to measure noise are left out."""
    known = {one.key: one for one in labels.cases}
    found: dict[CaseKey, LabelledVerdicts] = {}
    for judgement in store.judgements(name):
        ask, verdict = judgement.ask, judgement.verdict
        key = item_and_contestants_key(ask)
        if key not in known or (ask.judge, ask.prompt) != (judge, prompt) or ask.noise:
            continue
        if key is None or not judgement.usable or verdict is None:
            continue
        label = known[key]
        if isinstance(label, LabelledComparison):
            if verdict.pick is None:
                continue
            picked = "tie" if verdict.pick == "tie" else ask.shown[verdict.pick]
            wrong, score = picked != label.winner, 0.0
        elif verdict.scores:
            score = verdict.scores[0]
            one_step = parse_arrangement(ask.labels).score_step if step is None else step
            wrong = _is_mistake(score, label, labels.kind, one_step)
        else:
            continue
        before = found.get(key, LabelledVerdicts())
        found[key] = LabelledVerdicts(before.calls + 1, before.wrong + wrong, before.total + score)
    return found


def _is_mistake(score: float, label: LabelledAnswer, kind: LabelKind, step: float) -> bool:
    """Whether a verdict contradicts its label: pass instead of fail or the reverse, or a score more
    than one `step` of the scale away."""
    if kind == PASS_FAIL:
        return (score >= 0.5) != (label.value >= 0.5)
    return abs(score - label.value) > step * ONE_STEP


# ------------------------------------------------------------------------------ the writer's text


def describe_mistaken_cases(cases: Sequence[LearnCase], kind: LabelKind) -> str:
    """Return a text on cases in which a judge made mistakes, at most MAX_CASES: question, answers,
    right verdict and the judge's verdict. A model writes rules from it. `kind` is the kind of the
    labels: "pairs", "pass" or "score"."""
    parts = []
    for number, case in enumerate(cases[:MAX_CASES], 1):
        lines = [f"Case {number}", f"Question: {_shorten_case_text(case.item.instruction)}"]
        parts.append("\n".join([*lines, *_describe_case(case, kind)]))
    return "\n\n".join(parts)


def _describe_case(case: LearnCase, kind: LabelKind) -> list[str]:
    one = case.label
    if isinstance(one, LabelledComparison):
        answers = [
            f"Answer {place}: {_shorten_case_text(case.item.answer(name))}"
            for place, name in enumerate((one.first, one.second), 1)
        ]
        right = 1 if one.winner == one.first else 2
        calls = f"{case.mistakes} of {case.verdicts.calls} calls"
        return [
            *answers,
            f"Right verdict: answer {right} is better. The judge said otherwise in {calls}.",
        ]
    answer = f"Answer: {_shorten_case_text(case.item.answer(one.contestant))}"
    if kind == PASS_FAIL:
        verdict, said = ("pass", "fail") if one.value else ("fail", "pass")
        return [answer, f"Right verdict: {verdict}. The judge said {said}."]
    return [answer, f"Right score: {one.value:g}. The judge's score: {case.verdicts.mean_score:g}."]


def _shorten_case_text(text: str) -> str:
    return text if len(text) <= CASE_CHARACTERS else f"{text[:CASE_CHARACTERS]} …"


# ------------------------------------------------------------------------------ examples


def choose_examples(
    cases: Sequence[LearnCase], count: int, seed: int, prompt: Prompt | None = None
) -> list[LearnCase]:
    """Choose at most `count` labelled cases as examples for a prompt, at most one for each item.

    The possible labels (first or second answer better; pass and fail; the scores) take turns.
    Among comparisons with the same label, those with the most mistakes of the judge come first;
    single answers with the same label alternate between mistakes and right verdicts. Left out
    are cases with images, because only text is added to a prompt, and, if `prompt` is a rubric,
    cases without labels for its criteria. `seed` decides the order of otherwise equal cases."""
    usable = [
        case for case in cases if not case.item.images and _has_known_right_reply(case, prompt)
    ]
    random.Random(f"examples:{seed}").shuffle(usable)
    usable.sort(key=lambda case: (-case.mistakes, -case.distance_from_label))
    groups: dict[float, list[LearnCase]] = {}
    seen: set[str] = set()
    for case in usable:
        if case.item.id not in seen:
            seen.add(case.item.id)
            groups.setdefault(_label_group_number(case, prompt), []).append(case)
    waiting = [
        _alternate_right_wrong(groups[level]) for level in _alternate_low_and_high(sorted(groups))
    ]
    chosen: list[LearnCase] = []
    while len(chosen) < count and any(waiting):
        places = [(len(chosen) + k) % len(waiting) for k in range(len(waiting))]
        chosen.append(next(waiting[place] for place in places if waiting[place]).pop(0))
    return chosen


def _has_known_right_reply(case: LearnCase, prompt: Prompt | None) -> bool:
    """Whether the right reply to a case is known: always, except for a rubric whose criteria have
    no labels in this case."""
    if isinstance(case.label, LabelledComparison) or prompt is None or not prompt.rubric:
        return True
    return bool(case.label.levels)


def _label_group_number(case: LearnCase, prompt: Prompt | None) -> float:
    """Return a number for the label of a case, so that equal labels form a group. For a comparison:
    0 if the first answer is better, else 1. For one answer: the prompt's option (or grade) that
    is nearest to the label, as a score; for a prompt without options, the nearest whole number."""
    one = case.label
    if isinstance(one, LabelledComparison):
        return int(one.winner == one.second)
    levels = [*score_by_option(prompt.options).values()] if prompt and prompt.options else []
    if prompt and prompt.verdict == "grade-letter":
        levels = [0.0, 0.5, 1.0]
    return min(levels, key=lambda level: abs(level - one.value), default=round(one.value))


def _alternate_low_and_high(levels: list[float]) -> list[float]:
    """Order levels as lowest, highest, second lowest, …, so that few examples span the scale."""
    ends = zip(levels, reversed(levels), strict=True)
    return list(dict.fromkeys(level for pair in ends for level in pair))


def _alternate_right_wrong(cases: list[LearnCase]) -> list[LearnCase]:
    """Alternate mistakes and right verdicts on single answers, a mistake first. A list of
    comparisons is returned as it is, because each comparison is shown in both orders anyway."""
    if any(isinstance(case.label, LabelledComparison) for case in cases):
        return cases
    sides = [c for c in cases if c.mistakes], [c for c in cases if not c.mistakes]
    mixed = [case for pair in zip(*sides, strict=False) for case in pair]
    return mixed + [case for side in sides for case in side[len(mixed) // 2 :]]


def example_messages(
    prompt: Prompt,
    cases: Sequence[LearnCase],
    *,
    prefilled: bool = False,
    study: Study | None = None,
) -> list[Turn]:
    """Turn each case into an example: a request in the words of the prompt, and the right verdict
    as its reply. Return all messages as (role, text).

    Comparisons are shown twice: first all of them, by turns with the better answer first and
    second, then all again in the other order. A single answer is shown once; the orders of
    options and criteria that `study` asks for take turns. `prefilled`: the start of the judge's
    replies is given in advance, up to the label."""
    found = []
    for round_ in (0, 1):
        for place, case in enumerate(cases):
            if isinstance(case.label, LabelledComparison):
                found.append(_build_pair_example(prompt, case, (place + round_) % 2 == 1, study))
            elif round_ == 0:
                found.append(_build_answer_example(prompt, case, place, study))
    turns = []
    for inputs, verdict in found:
        messages = render_prompt(prompt, inputs, prefilled=prefilled)
        question = [m["content"] for m in messages if m["role"] == "user"][-1]
        turns += [("user", question), ("assistant", verdict)]
    return turns


def _build_pair_example(
    prompt: Prompt, case: LearnCase, turned: bool, study: Study | None
) -> tuple[PromptInputs, str]:
    """Build an example of a comparison: the values for the prompt, and the right verdict as text.
    The better answer is shown first, or second if `turned`."""
    one = case.label
    assert isinstance(one, LabelledComparison)
    loser = one.first if one.winner == one.second else one.second
    shown = (loser, one.winner) if turned else (one.winner, loser)
    labels = slot_labels(prompt, 2, crossed=False)
    answers = tuple(case.item.answer(name) for name in shown)
    right = labels[shown.index(one.winner)]
    criteria = study.criteria if study else ""
    inputs = PromptInputs(case.item, shown, answers, labels, criteria=criteria)
    # Without the explanation that a simulated judge writes on a second line.
    return inputs, verdict_sentence(prompt.format.name, right, labels).partition("\n")[0]


def _build_answer_example(
    prompt: Prompt, case: LearnCase, place: int, study: Study | None
) -> tuple[PromptInputs, str]:
    """Build an example of judging a single answer: the values for the prompt, and the right
    verdict. `place` is the number of the example; it decides which of the orders of options and
    criteria that the study asks for is used."""
    one = case.label
    assert isinstance(one, LabelledAnswer)
    criteria = study.criteria if study else ""
    labels = slot_labels(prompt, 1, crossed=False)
    if study is not None and prompt.options:
        offered = list_arrangement_labels(prompt, study.options, study.criteria_order, criteria)
        labels = offered[place % len(offered)]
    inputs = PromptInputs(
        case.item,
        (one.contestant,),
        (case.item.answer(one.contestant),),
        labels,
        criteria=criteria,
        rubric=tuple(rubric_criteria(prompt, criteria).items()),
    )
    return inputs, write_right_reply(prompt, labels, one)


def write_right_reply(prompt: Prompt, labels: tuple[str, ...], label: LabelledAnswer) -> str:
    """Write the right verdict on one answer in the form that the prompt asks for; for a score
    between two options, the nearer option. A rubric gets one line for each criterion; a criterion
    without a label gets the score of the answer."""
    if not prompt.options:
        return _SCORE_LINES[prompt.verdict](label.value)
    offered = parse_arrangement(labels)
    names = dict(zip(offered.options, offered.names_in_reply, strict=True))
    values = score_by_option(prompt.options)

    def nearest_option_name(value: float) -> str:
        return names[min(values, key=lambda option: abs(values[option] - value))]

    if prompt.rubric:
        levels = dict(label.levels)
        return "\n".join(
            f"{name}: {nearest_option_name(levels.get(name, label.value))}"
            for name in offered.criteria
        )
    if prompt.verdict == PASS_FAIL_FORMAT:
        return f"Verdict: {nearest_option_name(label.value).upper()}"
    return f"Score: {nearest_option_name(label.value)}"


_SCORE_LINES: Final = {
    "rating": lambda value: f"Rating: [[{value:g}]]",
    "result-n": lambda value: f"[RESULT] {round(value)}",
    "grade-letter": lambda value: f"GRADE: {'C' if value > 0.75 else 'P' if value > 0.25 else 'I'}",
}
"""Verdict format with scores -> function that writes a score."""
