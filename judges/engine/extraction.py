"""The extraction judge: it reads a verdict out of another judge's words, where no rule could.

Its asks are its own: keyed with `reads`, billed and stored, outside the plan and the frame.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from judges.judge_errors import PlanError
from judges.models.interface import JudgeCall
from judges.planning.plan import Plan, identity_of, key_of, parameters_of, render_call
from judges.rendering.prompt import Prompt, load_prompt, render_prompt
from studies.domain import Ask, Item, Judgement, JudgeSpec
from studies.store.rows import PromptText, RequestRecord
from studies.store.store import Store


@dataclass(frozen=True, slots=True)
class Extractor:
    """Who extracts in a study, and with which prompt after which."""

    plan: Plan
    judge: JudgeSpec
    prompts: Mapping[str, Prompt]
    """By the name of the prompt whose replies are read."""

    @classmethod
    def of(cls, plan: Plan) -> Extractor | None:
        """None if the study has no extraction judge, or no prompt that goes with one."""
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
                f"extraction: judge {study.extraction.name!r} is simulated and cannot read"
            )
        return cls(plan, study.extraction, prompts)

    def pending(self, store: Store, after: int, limit: int) -> list[tuple[int, Judgement]]:
        """Unreadable judgements that nobody has tried to extract from, as (seq, judgement)."""
        return store.unextracted_judgements(
            self.plan.study.name, sorted(self.prompts), after, limit
        )

    def includes(self, read: Judgement, items: Mapping[str, Item]) -> bool:
        """Whether a judgement is of an ask of this plan: the study may have been saved anew."""
        judges = {judge.name for judge in self.plan.study.judges}
        known = read.ask.item in items and read.ask.judge in judges
        return known and read.ask.prompt in self.prompts

    def ask(self, read: Judgement, items: Mapping[str, Item]) -> tuple[Ask, JudgeCall]:
        """The ask that looks for a verdict in the reply of another ask."""
        original = render_call(self.plan, read.ask, items)
        prompt = self.prompts[read.ask.prompt]
        scene = replace(original.inputs, reply=read.reply, images=())
        prefilled = self.judge.read == "probabilities"
        messages = render_prompt(prompt, scene, prefilled=prefilled)
        parameters = parameters_of(self.judge, prompt, len(scene.shown))
        call = JudgeCall("", self.judge, prompt, scene, messages, parameters)
        identity = identity_of(self.judge)
        key = key_of(identity, call, read.ask.repeat, reads=read.ask.key)
        ask = replace(
            read.ask, key=key, judge=self.judge.name, prompt=prompt.name, reads=read.ask.key
        )
        return ask, replace(call, key=key)

    def request_rows(self, call: JudgeCall) -> tuple[RequestRecord, PromptText]:
        """What the key stands for, and the prompt as it was."""
        prompt, parameters = call.prompt, json.dumps(dict(call.parameters), sort_keys=True)
        identity = identity_of(self.judge)
        return (
            RequestRecord(call.key, identity, self.judge.model, prompt.sha, parameters),
            PromptText(prompt.sha, prompt.name, prompt.version, prompt.yaml),
        )


def apply_extraction(read: Judgement, extraction: Judgement) -> Judgement | None:
    """The judgement as the extraction judge understood it; None if it found no verdict either."""
    if extraction.status != "ok":
        return None
    rule = f"extraction: {extraction.ask.judge}"
    return replace(read, status="extracted", verdict=extraction.verdict, rule=rule, detail="")
