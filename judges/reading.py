"""From a reply to a judgement: the one place where a label becomes a slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judges.models.answers import Answer, Call, top_as_text
from judges.prompt import Prompt
from judges.verdict import Reading, read, read_probabilities
from studies.records import Ask, Judgement, Status, Verdict


@dataclass(frozen=True, slots=True)
class Read:
    """A typed outcome: a verdict in shown slots, or why there is none."""

    status: Status
    verdict: Verdict | None
    rule: str
    detail: str = ""

    def judgement(self, ask: Ask, answer: Answer) -> Judgement:
        return Judgement(
            ask=ask,
            status=self.status,
            verdict=self.verdict,
            rule=self.rule,
            reply=answer.text or answer.refusal,
            reasoning=answer.reasoning,
            finish=answer.finish,
            usage=answer.usage,
            model=answer.model,
            detail=self.detail,
            top_logprobs=top_as_text(answer.top_logprobs),
        )


def read_answer(call: Call, answer: Answer, rule: str = "default") -> Read:
    """The outcome of a call: by label probabilities if they were asked for, else by its words."""
    if call.parameters.get("logprobs"):
        return read_labels(call.prompt, call.scene.labels, answer)
    return read_reply(call.prompt, call.scene.labels, answer, rule)


def read_reply(prompt: Prompt, labels: Sequence[str], answer: Answer, rule: str) -> Read:
    """Refusals, filters and empty replies are outcomes of their own, never ties."""
    if (told := _no_words(answer)) is not None:
        return told
    if not answer.text.strip():
        cut = answer.finish == "length"
        detail = "the reply ended before any text" if cut else "the reply is empty"
        return Read("truncated" if cut else "empty", None, "empty", detail)
    if prompt.verdict == "none":  # a description: its words are all there is to it
        cut = answer.finish == "length"
        return Read("truncated" if cut else "ok", None, "none", "cut off" if cut else "")
    return _typed(read(prompt.verdict, answer.text, len(labels), rule), labels, answer)


def _no_words(answer: Answer) -> Read | None:
    if answer.refusal:
        return Read("refusal", None, "refusal", answer.refusal)
    if answer.finish == "content_filter":
        return Read("filtered", None, "content_filter", "the provider filtered the reply")
    return None


def _typed(reading: Reading, labels: Sequence[str], answer: Answer) -> Read:
    if reading.verdict is not None:
        return Read("ok", in_slots(reading.verdict, labels), reading.rule)
    if reading.truncated or answer.finish == "length":
        return Read("truncated", None, reading.rule, "cut off before a verdict could be read")
    return Read("unreadable", None, reading.rule, reading.reason)


def read_labels(prompt: Prompt, labels: Sequence[str], answer: Answer) -> Read:
    """By what the judge was about to say: the labels' probabilities at its last token."""
    if (told := _no_words(answer)) is not None:
        return told
    if not answer.top_logprobs:
        empty = not answer.text.strip()
        detail = "the reply is empty" if empty else "the judge told no label probabilities"
        return Read("empty" if empty else "unsupported", None, "probabilities", detail)
    order = sorted(labels, key=lambda label: (len(label), label))
    reading = read_probabilities(order, answer.token_probabilities, prompt.format.ties)
    if reading.verdict is None:
        shares = Verdict(label_mass=reading.mass)
        detail = reading.reason or "the labels were unlikely"
        return Read("unreadable", shares, reading.rule, detail)
    return Read("ok", in_slots(reading.verdict, labels), reading.rule)


def in_slots(verdict: Verdict, labels: Sequence[str]) -> Verdict:
    """Label order (A, B, … or 1, 2, …) to the order shown, through what each slot was called."""
    order = sorted(labels, key=lambda label: (len(label), label))
    slot_of = [labels.index(label) for label in order]
    n = len(labels)

    def moved(values: tuple[float, ...]) -> tuple[float, ...]:
        if len(values) < n:
            return values
        by_slot = dict(zip(slot_of, values[:n], strict=True))
        return (*(by_slot[slot] for slot in range(n)), *values[n:])

    pick = verdict.pick
    return Verdict(
        pick=slot_of[pick] if isinstance(pick, int) else pick,
        margin=verdict.margin,
        scores=moved(verdict.scores),
        label_probabilities=moved(verdict.label_probabilities),
        label_mass=verdict.label_mass,
    )
