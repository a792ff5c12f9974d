"""Outcome of a reply: its verdict, or the reason why there is none. Labels (A, B) are converted to
the positions in which the answers were shown; no other module does this.

Also here: the extraction judge, a second model that reads the verdict from replies that no
parsing rule could read. Each reading is a call of its own; its key includes the key of the call
whose reply is read (`reads`), so that it belongs to this reply. These calls are billed and
stored, but are not part of the plan or of the table that measures read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from judges.judge_errors import PlanError
from judges.models.interface import (
    JudgeCall,
    JudgeReply,
    TokenCandidates,
    candidate_probabilities,
    dump_logprobs,
)
from judges.planning.plan import Plan, call_key_of, identity_of, render_call, request_parameters
from judges.rendering.messages import render_prompt
from judges.rendering.prompt import Prompt, load_prompt
from judges.verdicts import verdict as verdict_parsing
from judges.verdicts.point_readers import score_by_option
from studies.domain import Ask, Item, Judgement, JudgeSpec, Status, Verdict
from studies.frames.arrangement import parse_arrangement
from studies.store.rows import PromptText, RequestRecord
from studies.store.store import Store


@dataclass(frozen=True, slots=True)
class ReplyOutcome:
    """The status of a reply, with the verdict read from it (a choice between answers is given as
    the position shown) or, if the reply is unusable, the reason (`detail`)."""

    status: Status
    verdict: Verdict | None
    rule: str
    detail: str = ""
    level_logprobs: tuple[TokenCandidates, ...] = ()
    """For a rubric: for each criterion, the candidate tokens at the place of its score (level) in
    the reply, with log-probabilities."""

    def build_judgement(self, ask: Ask, answer: JudgeReply) -> Judgement:
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
            top_logprobs=dump_logprobs(self.level_logprobs or answer.top_logprobs),
        )


def read_outcome(call: JudgeCall, answer: JudgeReply, rule: str = "default") -> ReplyOutcome:
    """Parse a reply: by its label probabilities if the call requested them, else by its text.
    `rule`: the study's setting `reading`, which chooses the parsing rule of texts."""
    if call.parameters.get("logprobs"):
        return read_label_probabilities(call.prompt, call.inputs.labels, answer)
    return read_reply_text(call.prompt, call.inputs.labels, answer, rule)


def read_reply_text(
    prompt: Prompt, labels: Sequence[str], answer: JudgeReply, rule: str
) -> ReplyOutcome:
    """Read the verdict from the text of a reply, by the parsing rule `rule`. Without a verdict, the
    status gives the reason: refusal, filtered, empty, truncated or unreadable. A complete reply
    to a prompt that asks for no verdict has the status "ok". `labels` are the names that the
    prompt gave to the answers, in the order shown; for a verdict on one answer, the options and
    criteria that it offered."""
    if (refusal := _refused_or_filtered_outcome(answer)) is not None:
        return refusal
    if not answer.text.strip():
        cut = answer.finish == "length"
        detail = "the reply ended before any text" if cut else "the reply is empty"
        return ReplyOutcome("truncated" if cut else "empty", None, "empty", detail)
    if prompt.verdict == "none":  # a description has no verdict to parse
        cut = answer.finish == "length"
        return ReplyOutcome("truncated" if cut else "ok", None, "none", "cut off" if cut else "")
    read = verdict_parsing.parse_verdict(
        prompt.verdict, answer.text, len(labels), rule, prompt.options, labels
    )
    if read.verdict is not None:
        shown = verdict_by_slot(read.verdict, () if prompt.options else labels)
        return ReplyOutcome("ok", shown, read.rule)
    if read.truncated or answer.finish == "length":
        detail = "cut off before a verdict could be read"
        return ReplyOutcome("truncated", None, read.rule, detail)
    return ReplyOutcome("unreadable", None, read.rule, read.reason)


def _refused_or_filtered_outcome(answer: JudgeReply) -> ReplyOutcome | None:
    if answer.refusal:
        return ReplyOutcome("refusal", None, "refusal", answer.refusal)
    if answer.finish == "content_filter":
        return ReplyOutcome("filtered", None, "content_filter", "the provider filtered the reply")
    return None


def read_label_probabilities(
    prompt: Prompt, labels: Sequence[str], answer: JudgeReply
) -> ReplyOutcome:
    """Read the verdict from the probabilities that the judge gave each label at the reply's last
    token (for a rubric: each level at the token of its criterion). If the judge returned no
    probabilities, the status is "unsupported", or "empty" for a reply without text; if they give no
    verdict, it is "unreadable". A refused or filtered reply has the status "refusal" or
    "filtered"."""
    if (refusal := _refused_or_filtered_outcome(answer)) is not None:
        return refusal
    if not (answer.top_logprobs or answer.tokens or answer.level_logprobs):
        empty = not answer.text.strip()
        detail = "the reply is empty" if empty else "the judge returned no label probabilities"
        return ReplyOutcome("empty" if empty else "unsupported", None, "probabilities", detail)
    if prompt.rubric:
        return _read_rubric_levels(prompt, labels, answer)
    if prompt.options:
        values, offered = score_by_option(prompt.options), parse_arrangement(tuple(labels))
        read = verdict_parsing.read_option_probabilities(
            values, offered, answer.token_probabilities
        )
        return _outcome_of_probabilities(read)
    order = sorted(labels, key=lambda label: (len(label), label))
    read = verdict_parsing.read_most_probable_label(
        order, answer.token_probabilities, prompt.format.ties
    )
    if read.verdict is not None:
        read = replace(read, verdict=verdict_by_slot(read.verdict, labels))
    return _outcome_of_probabilities(read)


def _outcome_of_probabilities(
    read: verdict_parsing.ParsedVerdict, levels: tuple[TokenCandidates, ...] = ()
) -> ReplyOutcome:
    if read.verdict is not None:
        return ReplyOutcome("ok", read.verdict, read.rule, level_logprobs=levels)
    shares = Verdict(label_mass=read.mass)
    return ReplyOutcome("unreadable", shares, read.rule, read.reason, levels)


def _read_rubric_levels(prompt: Prompt, labels: Sequence[str], answer: JudgeReply) -> ReplyOutcome:
    """Read a rubric: the most probable level (score) of each criterion, by the probabilities at the
    token of the reply that states this level. The status is "unsupported" if the judge returned the
    probabilities of its last token only, "truncated" or "unreadable" if a level is missing."""
    offered = parse_arrangement(tuple(labels))
    levels = answer.level_logprobs
    if not levels and not answer.tokens:
        detail = "the judge returned the probabilities of its last token only; set read: text"
        return ReplyOutcome("unsupported", None, "probabilities", detail)
    if not levels:
        texts = [token.text for token in answer.tokens]
        places = verdict_parsing.rubric_level_token_indices(texts, prompt.options, offered)
        if places is None:
            cut = answer.finish == "length"
            detail = "a criterion has no level that is a token of its own"
            return ReplyOutcome("truncated" if cut else "unreadable", None, "probabilities", detail)
        levels = tuple(answer.tokens[place].candidates for place in places)
    found = [candidate_probabilities(one) for one in levels]
    read = verdict_parsing.read_level_probabilities(score_by_option(prompt.options), offered, found)
    return _outcome_of_probabilities(read, levels)


def verdict_by_slot(verdict: Verdict, labels: Sequence[str]) -> Verdict:
    """Convert choice, scores and probabilities from label order (A, B, …) to the order shown: if
    the labels shown are (B, A), the choice A becomes 1, the second position. Without `labels`
    nothing changes."""
    if not labels:
        return verdict
    order = sorted(labels, key=lambda label: (len(label), label))
    slot_of = [labels.index(label) for label in order]
    n = len(labels)

    def to_slot_order(values: tuple[float, ...]) -> tuple[float, ...]:
        if len(values) < n:
            return values
        by_slot = dict(zip(slot_of, values[:n], strict=True))
        return (*(by_slot[slot] for slot in range(n)), *values[n:])

    pick = verdict.pick
    return Verdict(
        pick=slot_of[pick] if isinstance(pick, int) else pick,
        margin=verdict.margin,
        scores=to_slot_order(verdict.scores),
        label_probabilities=to_slot_order(verdict.label_probabilities),
        label_mass=verdict.label_mass,
    )


@dataclass(frozen=True, slots=True)
class Extractor:
    """The extraction judge of a study, a second model that reads verdicts from replies that no
    parsing rule could read; with the extraction prompts that the study's prompts name."""

    plan: Plan
    judge: JudgeSpec
    prompts: Mapping[str, Prompt]
    """Extraction prompts by the name of the judging prompt whose replies they read."""

    @classmethod
    def from_plan(cls, plan: Plan) -> Extractor | None:
        """Build the extractor of a plan; None if the study has no extraction judge or no prompt has
        an extraction prompt. PlanError if the extraction judge is simulated."""
        study = plan.study
        prompts = {
            prompt.name: load_prompt(prompt.extraction, study.folder)
            for prompt in plan.prompts
            if prompt.extraction
        }
        if study.extraction is None or not prompts:
            return None
        if study.extraction.kind == "simulated":
            raise PlanError(
                f"extraction: judge {study.extraction.name!r} is simulated and cannot read "
                "replies; name an endpoint or the embedded judge"
            )
        return cls(plan, study.extraction, prompts)

    def judgements_awaiting_extraction(
        self, store: Store, after: int, limit: int
    ) -> list[tuple[int, Judgement]]:
        """Return the next unreadable replies that the extraction judge has still to read, at most
        `limit`, each as (sequence number in the store, judgement); only those with a number
        above `after`. Left out are replies to prompts without an extraction prompt, and replies
        it has read already; a failed attempt (status "error") does not count as read."""
        return store.judgements_awaiting_extraction(
            self.plan.study.name, sorted(self.prompts), after, limit
        )

    def is_still_planned(self, judgement: Judgement, items: Mapping[str, Item]) -> bool:
        """Whether the run's plan has the item, judge and prompt of a judgement. It lacks them if
        the study was saved with another plan during the run."""
        judges = {judge.name for judge in self.plan.study.judges}
        ask = judgement.ask
        return ask.item in items and ask.judge in judges and ask.prompt in self.prompts

    def build_ask_and_call(
        self, unreadable: Judgement, items: Mapping[str, Item]
    ) -> tuple[Ask, JudgeCall]:
        """Build the call in which the extraction judge reads an unreadable reply; return the
        planned call (`Ask`, as the store keeps it) and the rendered request. `items` is item id
        -> item."""
        original = render_call(self.plan, unreadable.ask, items)
        prompt = self.prompts[unreadable.ask.prompt]
        inputs = replace(original.inputs, reply=unreadable.reply, images=())
        prefilled = self.judge.read == "probabilities"
        messages = render_prompt(prompt, inputs, prefilled=prefilled)
        parameters = request_parameters(self.judge, prompt, len(inputs.shown))
        call = JudgeCall("", self.judge, prompt, inputs, messages, parameters)
        identity = identity_of(self.judge)
        key = call_key_of(identity, call, unreadable.ask.repeat, reads=unreadable.ask.key)
        ask = replace(
            unreadable.ask,
            key=key,
            judge=self.judge.name,
            prompt=prompt.name,
            reads=unreadable.ask.key,
        )
        return ask, replace(call, key=key)

    def build_request_rows(self, call: JudgeCall) -> tuple[RequestRecord, PromptText]:
        """Build the rows that the store keeps of an extraction: its request, and the text of its
        prompt."""
        prompt, parameters = call.prompt, json.dumps(dict(call.parameters), sort_keys=True)
        identity = identity_of(self.judge)
        return (
            RequestRecord(call.key, identity, self.judge.model, prompt.sha, parameters),
            PromptText(prompt.sha, prompt.name, prompt.version, prompt.yaml),
        )


def apply_extraction(unreadable: Judgement, extraction: Judgement) -> Judgement | None:
    """Return the judgement `unreadable` with the verdict that the extraction judge read from its
    reply (`extraction`); None if the extraction judge found no verdict."""
    if extraction.status != "ok":
        return None
    rule = f"extraction: {extraction.ask.judge}"
    return replace(unreadable, status="extracted", verdict=extraction.verdict, rule=rule, detail="")
