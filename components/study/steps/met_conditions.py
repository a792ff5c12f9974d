"""Conditions of a run that are met: questions read, judges set up, prompts chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from components.html.format import count
from components.study.file.lenient_study import LenientStudy, judge_name
from components.study.form.judge_settings import needs_typed_key
from components.study.plan.study_preview import StudyPreview
from components.study.steps.blockers import endpoint_blockers


@dataclass(frozen=True, slots=True)
class MetCondition:
    """One condition that is met; `key_of`: judge whose typed key meets it. Only the browser has
    typed keys, so it shows such a condition once the key is typed."""

    text: str
    key_of: str = ""


def met_conditions(preview: StudyPreview) -> list[MetCondition]:
    """All conditions of a run that the study meets, in the order of the steps."""
    study = preview.lenient_study
    if study.parse_error:
        return []
    return [*_data_met(preview), *_judges_met(study), *_prompts_met(preview)]


def _data_met(preview: StudyPreview) -> list[MetCondition]:
    if preview.data_error or not preview.items:
        return []
    return [MetCondition(f"{count(len(preview.items), 'question')} read")]


def _judges_met(study: LenientStudy) -> list[MetCondition]:
    complete = [judge for judge in study.judges if not endpoint_blockers(judge, "")]
    keyless = [judge_name(judge) for judge in complete if needs_typed_key(judge)]
    ready = [name for name in map(judge_name, complete) if name not in keyless]
    made = [MetCondition(f"{_named(ready, 'judge')} set up")] if ready else []
    return [*made, *(MetCondition(f"{name} has a key", key_of=name) for name in keyless)]


def _prompts_met(preview: StudyPreview) -> list[MetCondition]:
    """The prompts of the study; a plan exists only if each prompt could be filled from the data."""
    prompts = preview.lenient_study.prompts
    if not prompts:
        return []
    if preview.plan is None:
        return [MetCondition(f"{_named(prompts, 'prompt')} chosen")]
    verb = "fits" if len(prompts) == 1 else "fit"
    return [MetCondition(f"{_named(prompts, 'prompt')} {verb} the data")]


def _named(names: Sequence[str], noun: str) -> str:
    return f"{noun} {names[0]}" if len(names) == 1 else count(len(names), noun)
