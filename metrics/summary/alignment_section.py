"""Section `alignment` of the summary: new versions of a prompt, compared on labelled items that
they were not made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """The latest look for a judge and prompt: its candidates, the frame of their replies, and the
    tokens of a call by judge and prompt."""

    look: Look
    frame: pd.DataFrame
    tokens: Mapping[Cell, float] = field(default_factory=dict)


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
            results.append(LookResult(look, store.frame(study), mean_call_tokens(store, study)))
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
    return result, table, too_few_labels(0) if table is None else advise(table)


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
    tokens = result.tokens.get((result.look.judge, line.prompt))
    return found if tokens is None else {**found, "tokens": tokens}
