"""Section `alignment` of the summary: new versions of a prompt (candidates), compared on labelled
items that they were not made from (the hold-out).

A look is one such comparison.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from metrics.summary.alignment import candidate_table, learn_mistakes
from metrics.summary.alignment.prompt_advice import PromptAdvice, advice_for_few_labels, advise
from metrics.summary.alignment.side_effects import TWIN_KEY, verdict_kind_of
from metrics.twins.twin_effects import TwinEffect, twin_effects
from metrics.twins.twin_sentence import effects_of_irrelevant_changes
from studies.domain import Rater
from studies.people.label_split import LabelSplit, Look, stored_split
from studies.people.study_labels import LabelKind, StudyLabels, read_labels
from studies.spec.derived_names import candidate_study_name
from studies.store.queries.judge_spending import mean_call_tokens
from studies.store.store import Store

Json = dict[str, Any]


@dataclass(frozen=True)
class LookResult:
    """The latest look (comparison of candidates on the hold-out) for a judge and prompt: its
    candidates, the frame of their replies, the tokens of a call by judge and prompt, the effects of
    twins (answers with one change that should not matter) by prompt, largest first, and the frame
    of the verdicts on twins."""

    look: Look
    frame: pd.DataFrame
    tokens: Mapping[Rater, float] = field(default_factory=dict)
    twins: Mapping[str, Sequence[TwinEffect]] = field(default_factory=dict)
    twin_frame: pd.DataFrame | None = None

    @property
    def kind(self) -> LabelKind:
        """Kind of the verdicts: comparisons, pass or fail, or scores."""
        return verdict_kind_of(self.frame)

    def call_count(self, prompt: str) -> int:
        """Number of calls with a prompt on the hold-out, without those on twins."""
        return int((self.frame["prompt"].astype(str) == prompt).sum())

    def call_tokens(self, prompt: str) -> float | None:
        """Mean tokens of a call with a prompt; None if the judge did not report them."""
        return self.tokens.get((self.look.judge, prompt))


@dataclass(frozen=True)
class AlignmentInputs:
    """The stored split of a study's labelled items into learn and hold-out, its labels by kind
    (comparisons, pass or fail, scores), and the latest look (comparison of candidates on the
    hold-out) for each judge and prompt."""

    split: LabelSplit
    labels: Mapping[LabelKind, StudyLabels]
    results: tuple[LookResult, ...] = ()

    def split_of(self, kind: LabelKind) -> LabelSplit:
        """Return the split of the items that have labels of one kind. If no stored look (comparison
        of candidates on the hold-out) has verdicts of this kind, return the split of all items."""
        return (
            self.split.select_items(self.labels[kind].items) if kind in self.labels else self.split
        )


def read_alignment_inputs(store: Store, name: str) -> AlignmentInputs | None:
    """Read the split of a study and, for each judge and prompt, the latest look (comparison of
    candidates on the hold-out) whose replies are stored; None if its labelled items were not
    split."""
    split = stored_split(store, name)
    if split is None:
        return None
    last = {(one.judge, one.prompt): one for one in split.looks}
    present = set(store.study_file_texts())
    results = []
    for (judge, prompt), look in last.items():
        study = candidate_study_name(name, judge, prompt)
        if study in present:
            frame, tokens = store.frame(study), mean_call_tokens(store, study)
            twins = store.frame(study, "only")
            found = twin_effects(twins, frame)
            by_prompt = {
                name: effects_of_irrelevant_changes([one for one in found if one.prompt == name])
                for name in {one.prompt for one in found}
            }
            results.append(LookResult(look, frame, tokens, by_prompt, twins if found else None))
    kinds = dict.fromkeys(one.kind for one in results)
    labels = {kind: read_labels(store, name, kind) for kind in kinds}
    return AlignmentInputs(split, labels, tuple(results))


def compare_latest_candidates(
    inputs: AlignmentInputs, judge: str, prompt: str
) -> tuple[LookResult, candidate_table.CandidateTable | None, PromptAdvice] | None:
    """Return the latest look (comparison on the hold-out) for a judge and prompt, the table that
    compares its candidates, and the recommendation; None without a look whose replies are stored.
    The table is None if today's prompt has too few usable replies."""
    found = [o for o in inputs.results if (o.look.judge, o.look.prompt) == (judge, prompt)]
    if not found:
        return None
    result = found[0]
    names = [one.name for one in result.look.candidates]
    today = prompt.partition("@")[0]  # the candidates' study has one version of the prompt
    table = candidate_table.compare_candidates(
        result.frame, judge, today, names, len(inputs.split.looks), result.twin_frame
    )
    return result, table, advice_for_few_labels(0) if table is None else advise(table)


def alignment_section(frame: pd.DataFrame, inputs: AlignmentInputs) -> Json:
    """Build the section `alignment`: "split" (numbers of items, and of comparisons on the hold-out
    so far), and "judges" -> judge -> prompt -> recommendation, candidates, and mistakes on the
    learn items. `frame` is that of the study itself."""
    split = inputs.split
    judges: Json = {}
    for one in inputs.results:
        judge, prompt = one.look.judge, one.look.prompt
        found = compare_latest_candidates(inputs, judge, prompt)
        assert found is not None
        _, table, advice = found
        values: Json = {"recommendation": advice}
        if table is not None:
            values["items"] = table.items
            values["candidates"] = {
                line.prompt: candidate_as_json(line, one) for line in table.lines
            }
        learn = inputs.labels[one.kind].select_items(split.learn)
        if (mistakes := learn_mistakes.judge_mistakes(frame, judge, prompt, learn)) is not None:
            values["mistakes"] = mistakes.as_json()
        judges.setdefault(judge, {})[prompt] = values
    return {
        "split": {
            "seed": split.seed,
            "learn": len(split.learn),
            "hold_out": len(split.hold_out),
            "looks": len(split.looks),
            "missing": split.hold_out_items_still_needed,
            "disputed": sum(len(one.disputed) for one in inputs.labels.values()),
        },
        "judges": judges,
    }


def candidate_as_json(line: candidate_table.CandidateLine, result: LookResult) -> Json:
    """Convert a row of the table of candidates (one prompt) to a JSON object; `result` is the
    comparison on the hold-out that the row belongs to."""
    kinds = {one.name: one.kind for one in result.look.candidates}
    found: Json = {
        "kind": kinds.get(line.prompt, "today"),
        "status": line.status,
        "calls": result.call_count(line.prompt),
        "agreement": line.agreement,
        **line.effects,
        "worse": list(line.worsened_effects),
        "better": list(line.improved_effects),
    }
    if line.difference is not None:
        moved = {key: one.change for key, one in line.changes.items()}
        own = {key: one for key, one in moved.items() if not key.startswith(TWIN_KEY)}
        found |= {"difference": line.difference, "changes": own}
        if len(own) < len(moved):
            found["twin_changes"] = {
                key.removeprefix(TWIN_KEY): moved[key] for key in moved if key not in own
            }
    if twins := result.twins.get(line.prompt):
        found["twins"] = {one.family: one.adjusted for one in twins}
    tokens = result.call_tokens(line.prompt)
    return found if tokens is None else {**found, "tokens": tokens}
