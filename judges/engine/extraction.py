"""The extraction judge: a model that reads the verdict from replies that no parsing rule could
read.

The key of an extraction ask includes the key of the ask whose reply it reads (`reads`). Extraction
asks are billed and stored, but belong neither to the plan nor to the judgement frame.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from judges.judge_errors import PlanError
from judges.models.interface import JudgeCall
from judges.planning.plan import Plan, identity_of, key_of, parameters_of, render_call
from judges.rendering.messages import render_prompt
from judges.rendering.prompt import Prompt, load_prompt
from studies.domain import Ask, Item, Judgement, JudgeSpec
from studies.store.rows import PromptText, RequestRecord
from studies.store.store import Store


@dataclass(frozen=True, slots=True)
class Extractor:
    """The extraction judge of a study, and the extraction prompt for each judging prompt."""

    plan: Plan
    judge: JudgeSpec
    prompts: Mapping[str, Prompt]
    """Extraction prompts by the name of the judging prompt whose replies they read."""

    @classmethod
    def of(cls, plan: Plan) -> Extractor | None:
        """Build the extractor of a plan; None if the study has no extraction judge or no prompt has
        an extraction prompt."""
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

    def pending(self, store: Store, after: int, limit: int) -> list[tuple[int, Judgement]]:
        """Return the next `limit` unreadable judgements (sequence number, judgement) that no
        extraction was tried for; their sequence numbers are above `after`."""
        return store.unextracted_judgements(
            self.plan.study.name, sorted(self.prompts), after, limit
        )

    def includes(self, read: Judgement, items: Mapping[str, Item]) -> bool:
        """Whether the run's plan has the item, judge and prompt of a judgement. It lacks them if
        the study was saved with another plan during the run."""
        judges = {judge.name for judge in self.plan.study.judges}
        planned = read.ask.item in items and read.ask.judge in judges
        return planned and read.ask.prompt in self.prompts

    def ask(self, read: Judgement, items: Mapping[str, Item]) -> tuple[Ask, JudgeCall]:
        """Build the ask that extracts the verdict from an unreadable reply."""
        original = render_call(self.plan, read.ask, items)
        prompt = self.prompts[read.ask.prompt]
        inputs = replace(original.inputs, reply=read.reply, images=())
        prefilled = self.judge.read == "probabilities"
        messages = render_prompt(prompt, inputs, prefilled=prefilled)
        parameters = parameters_of(self.judge, prompt, len(inputs.shown))
        call = JudgeCall("", self.judge, prompt, inputs, messages, parameters)
        identity = identity_of(self.judge)
        key = key_of(identity, call, read.ask.repeat, reads=read.ask.key)
        ask = replace(
            read.ask, key=key, judge=self.judge.name, prompt=prompt.name, reads=read.ask.key
        )
        return ask, replace(call, key=key)

    def request_rows(self, call: JudgeCall) -> tuple[RequestRecord, PromptText]:
        """Return what is stored about an extraction: its request, and the text of its prompt."""
        prompt, parameters = call.prompt, json.dumps(dict(call.parameters), sort_keys=True)
        identity = identity_of(self.judge)
        return (
            RequestRecord(call.key, identity, self.judge.model, prompt.sha, parameters),
            PromptText(prompt.sha, prompt.name, prompt.version, prompt.yaml),
        )


def apply_extraction(read: Judgement, extraction: Judgement) -> Judgement | None:
    """Return the judgement with the extracted verdict; None if the extraction found no verdict."""
    if extraction.status != "ok":
        return None
    rule = f"extraction: {extraction.ask.judge}"
    return replace(read, status="extracted", verdict=extraction.verdict, rule=rule, detail="")
