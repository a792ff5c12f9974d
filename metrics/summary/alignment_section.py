"""Section `alignment` of the summary: new versions of a prompt, compared on labelled items that
they were not made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from metrics.remedies.alignment.candidate_table import (
    CandidateLine,
    CandidateTable,
    compare_candidates,
)
from metrics.remedies.alignment.learn_mistakes import judge_mistakes
from metrics.remedies.alignment.prompt_advice import PromptAdvice, advise, too_few_labels
from metrics.remedies.order_grid import Cell
from metrics.twins.twin_effects import SHOWN, TwinEffect, twin_effects
from metrics.twins.twin_sentence import moving_effects, points
from studies.people.label_split import (
    LabelSplit,
    Look,
    StudyLabels,
    candidate_study,
    read_labels,
    stored_split,
)
from studies.store.queries.judge_spending import mean_call_tokens
from studies.store.store import Store

Json = dict[str, Any]


@dataclass(frozen=True)
class LookResult:
    """The latest look for a judge and prompt: its candidates, the frame of their replies, the
    tokens of a call by judge and prompt, and the effects of twins by prompt, largest first."""

    look: Look
    frame: pd.DataFrame
    tokens: Mapping[Cell, float] = field(default_factory=dict)
    twins: Mapping[str, Sequence[TwinEffect]] = field(default_factory=dict)

    def call_tokens(self, prompt: str) -> float | None:
        """Mean tokens of a call with a prompt; None if the judge did not report them."""
        return self.tokens.get((self.look.judge, prompt))


@dataclass(frozen=True)
class AlignmentInputs:
    """The stored split of a study's labelled items, its labels and its looks."""

    split: LabelSplit
    labels: StudyLabels
    results: tuple[LookResult, ...] = ()


def read_alignment_inputs(store: Store, name: str) -> AlignmentInputs | None:
    """Read the split and the looks of a study; None if its labelled items were not split."""
    split = stored_split(store, name)
    if split is None:
        return None
    last = {(one.judge, one.prompt): one for one in split.looks}
    present = set(store.study_files())
    results = []
    for (judge, prompt), look in last.items():
        study = candidate_study(name, judge, prompt)
        if study in present:
            frame, tokens = store.frame(study), mean_call_tokens(store, study)
            found = twin_effects(store.frame(study, "only"), frame)
            by_prompt = {
                name: moving_effects([one for one in found if one.prompt == name])
                for name in {one.prompt for one in found}
            }
            results.append(LookResult(look, frame, tokens, by_prompt))
    return AlignmentInputs(split, read_labels(store, name), tuple(results))


def candidate_result(
    inputs: AlignmentInputs, judge: str, prompt: str
) -> tuple[LookResult, CandidateTable | None, PromptAdvice] | None:
    """Compare the candidates of the latest look for a judge and prompt; None without a look. The
    table is None if no comparison has usable replies in both orders."""
    found = [o for o in inputs.results if (o.look.judge, o.look.prompt) == (judge, prompt)]
    if not found:
        return None
    result = found[0]
    names = [one.name for one in result.look.candidates]
    today = prompt.partition("@")[0]  # the candidates' study has one version of the prompt
    table = compare_candidates(result.frame, judge, today, names, len(inputs.split.looks))
    if table is None:
        return result, table, too_few_labels(0)
    advice = advise(table)
    if advice.prompt is not None and (moved := _new_twin_effects(result, today, advice.prompt)):
        advice = replace(advice, others=" ".join(filter(None, (moved, advice.others))))
    return result, table, advice


def _new_twin_effects(result: LookResult, today: str, prompt: str) -> str:
    """Sentence on the twins that move the judge with a prompt and are not shown to move it with
    today's prompt; empty if there are none."""

    def shown(name: str) -> dict[str, TwinEffect]:
        return {one.family: one for one in result.twins.get(name, ()) if one.finding == SHOWN}

    before = shown(today)
    new = [one for family, one in shown(prompt).items() if family not in before]
    if not new:
        return ""
    named = ", ".join(f"{one.family} ({points(one.adjusted)})" for one in new[:3])
    return f"With it, twins move the judge that are not shown to move it today: {named}."


def alignment_section(frame: pd.DataFrame, inputs: AlignmentInputs) -> Json:
    """Build the section `alignment` as nested dictionaries of estimates."""
    split = inputs.split
    learn = inputs.labels.on(split.learn)
    judges: Json = {}
    for one in inputs.results:
        judge, prompt = one.look.judge, one.look.prompt
        found = candidate_result(inputs, judge, prompt)
        assert found is not None
        _, table, advice = found
        values: Json = {"recommendation": advice}
        if table is not None:
            values["items"] = table.items
            values["candidates"] = {line.prompt: candidate_data(line, one) for line in table.lines}
        if (mistakes := judge_mistakes(frame, judge, prompt, learn)) is not None:
            values["mistakes"] = mistakes
        judges.setdefault(judge, {})[prompt] = values
    return {
        "split": {
            "seed": split.seed,
            "learn": len(split.learn),
            "hold_out": len(split.hold_out),
            "looks": len(split.looks),
            "missing": split.missing,
            "disputed": len(inputs.labels.disputed),
        },
        "judges": judges,
    }


def candidate_data(line: CandidateLine, result: LookResult) -> Json:
    """Convert a line of the table to JSON types."""
    kinds = {one.name: one.kind for one in result.look.candidates}
    found: Json = {
        "kind": kinds.get(line.prompt, "today"),
        "status": line.status,
        "agreement": line.agreement,
        **line.effects,
        "worse": list(line.worse),
        "better": list(line.better),
    }
    if line.difference is not None:
        found |= {"difference": line.difference, "changes": line.changes}
    if twins := result.twins.get(line.prompt):
        found["twins"] = {one.family: one.adjusted for one in twins}
    tokens = result.call_tokens(line.prompt)
    return found if tokens is None else {**found, "tokens": tokens}
