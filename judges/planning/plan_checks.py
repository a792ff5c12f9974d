"""Checks of a study before its plan is made, so that errors are raised before any call is paid.
Also decides which items a prompt skips, because they lack a field that it needs, such as
criteria."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from judges.judge_errors import PlanError
from judges.models.simulation import simulated, simulated_scores
from judges.rendering.messages import list_arrangement_labels
from judges.rendering.prompt import Prompt
from studies.domain import Item, JudgeSpec
from studies.spec import keys, presentations, provider_presets
from studies.spec.study import Study, preset_differences

_REQUIRED_FIELDS: Final[Mapping[str, tuple[str, Callable[[Item], str]]]] = {
    "criteria_subjective": ("subjective criteria", lambda i: i.criteria.get("subjective", "")),
    "criteria_factuality": ("factuality criteria", lambda i: i.criteria.get("factuality", "")),
    "ground_truth": ("ground truth", lambda item: item.ground_truth),
    "reference": ("reference", lambda item: item.reference),
}
"""Variable of a prompt -> (name of the field for messages, function that reads the field of an
item); a prompt with this variable skips items in which the field is empty."""


@dataclass(frozen=True, slots=True)
class SkippedItems:
    """Number of items that a prompt skips for one reason."""

    prompt: str
    items: int
    why: str


def skip_reason(prompt: Prompt, item: Item, prompts: Sequence[Prompt]) -> str:
    """Return the reason why a prompt skips an item; "" if it does not skip it.

    A prompt skips items that lack a field it shows. A prompt that does not show the right answer
    (ground truth) also skips the items that have one, if another of `prompts` with the same task
    (`protocol`) shows it, as in Creation-MMBench."""
    if prompt.protocol == "describe":
        return "" if item.images or "images" not in prompt.variables else "no images"
    for variable, (name, value) in _REQUIRED_FIELDS.items():
        if variable in prompt.variables and not value(item).strip():
            return f"no {name}"
    if item.ground_truth.strip() and "ground_truth" not in prompt.variables:
        for other in prompts:
            if other.protocol == prompt.protocol and "ground_truth" in other.variables:
                return f"with a ground truth, the prompt {other.name} is used instead"
    return ""


def skipped_items(prompts: Sequence[Prompt], items: Sequence[Item]) -> tuple[SkippedItems, ...]:
    """Count the items that a plan skips, by prompt and reason, to be shown before the run."""
    found: dict[tuple[str, str], int] = {}
    for prompt in prompts:
        for item in items:
            if why := skip_reason(prompt, item, prompts):
                found[prompt.name, why] = found.get((prompt.name, why), 0) + 1
    return tuple(SkippedItems(prompt, count, why) for (prompt, why), count in found.items())


_PAIR_PROTOCOLS: Final = ("pairwise", "five-level", "factuality")

PresentationLister = Callable[[Study, Sequence[Item]], Iterator[presentations.Presentation]]


def presentation_lister_for(prompt: Prompt) -> PresentationLister:
    """Return the function that lists which answers to an item are shown together and in which
    order, for the task of the prompt (`protocol`): pairs of answers, all answers, single
    answers, or no answer (image descriptions)."""
    if prompt.protocol in _PAIR_PROTOCOLS:
        return presentations.pair_presentations
    if prompt.protocol == "describe":
        return _list_presentations_without_answers
    return (
        presentations.all_answers_presentations
        if prompt.protocol == "choice"
        else presentations.single_presentations
    )


def _list_presentations_without_answers(
    _: Study, items: Sequence[Item]
) -> Iterator[presentations.Presentation]:
    for item in items:
        yield presentations.Presentation(item, (), False, 0, False, 1)


def check_plan(study: Study, items: Sequence[Item], prompts: Sequence[Prompt]) -> None:
    """Raise PlanError for a study that cannot run; the message names the necessary change."""
    if not study.judges:
        raise PlanError("the study names no judge; add one under 'judges'")
    if not prompts and study.prompts:
        raise PlanError(
            f"none of the study's prompts has the protocol {study.protocol}; add a prompt with "
            "this protocol, or remove 'protocol'"
        )
    if not prompts:
        raise PlanError("the study names no prompt; add one under 'prompts'")
    names = [prompt.name for prompt in prompts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PlanError(
            f"two prompts are named {twice[0]!r}; give each file its own 'name' or 'version'"
        )
    _check_images(study, prompts)
    for prompt in prompts:
        _check_prompt(study, prompt)
        for judge in study.judges:
            _check_judge_fits_prompt(study, judge, prompt)
    _check_has_answers(study, items, prompts)


def _check_prompt(study: Study, prompt: Prompt) -> None:
    if prompt.protocol == "single":  # criteria that the prompt cannot use are an error
        list_arrangement_labels(prompt, study.options, study.criteria_order, study.criteria)
    if prompt.protocol in ("describe", "extraction"):
        raise PlanError(
            f"prompt {prompt.name!r} has the protocol {prompt.protocol} and gives no verdict; "
            "choose another prompt"
        )
    if (
        study.labels == "crossed"
        and prompt.protocol != "single"
        and not prompt.supports_crossed_labels
    ):
        raise PlanError(
            "labels: crossed needs $first, $second, $label_first and $label_second; prompt "
            f"{prompt.name!r} does not use all of them; use labels: plain or another prompt"
        )
    if "reference" in prompt.variables and presentations.is_reference_judged(study):
        raise PlanError(
            f"prompt {prompt.name!r} shows the judge the reference, but @reference is one of the "
            "compared models; remove @reference, or choose a prompt without $reference"
        )


def _check_has_answers(study: Study, items: Sequence[Item], prompts: Sequence[Prompt]) -> None:
    """Raise PlanError if every prompt skips every item, or if a prompt uses items, but none of them
    has the answers that the prompt shows."""
    eligible = {p.name: {i.id for i in items if not skip_reason(p, i, prompts)} for p in prompts}
    for prompt in prompts:
        shows, used = presentation_lister_for(prompt), eligible[prompt.name]
        if used and not any(one.item.id in used for one in shows(study, items)):
            wanted = "one of" if shows is presentations.single_presentations else "at least two of"
            raise PlanError(
                f"prompt {prompt.name!r} has nothing to judge: no item of this slice that it uses "
                f"has answers by {wanted} the study's models; change the slice or 'contestants'"
            )
    if not any(eligible.values()):
        prompt = prompts[0]
        reason = skip_reason(prompt, items[0], prompts)
        raise PlanError(
            f"prompt {prompt.name!r} cannot be used: {reason} in any item; choose another prompt "
            "or other items"
        )


def _check_images(study: Study, prompts: Sequence[Prompt]) -> None:
    """Raise PlanError if the study sets `judge_sees: images` but no judge has vision or no prompt
    shows images.

    Two exceptions hold if the setting comes from a preset (the settings of a published
    protocol): prompts need not show images, and no judge needs vision if all are embedded or
    simulated, because those get the description of the image instead."""
    if study.judge_sees != "images":
        return
    by_preset = study.preset and str(keys.STUDY.judge_sees) not in {
        d.key for d in preset_differences(study)
    }
    local = all(judge.kind != "endpoint" for judge in study.judges)
    if not any(judge.vision for judge in study.judges) and not (by_preset and local):
        raise PlanError(
            "judge_sees: images, but no judge has vision: true; set it for a judge that accepts "
            "images, or set judge_sees: context"
        )
    if not any(prompt.shows_images for prompt in prompts) and not by_preset:
        raise PlanError(
            "judge_sees: images, but no prompt of the study shows $images; add one, or set "
            "judge_sees: context"
        )


def _has_single_token_labels(study: Study, prompt: Prompt) -> bool:
    if not prompt.options:
        return bool(prompt.format.prefill)
    labels = list_arrangement_labels(prompt, study.options)[0]
    return prompt.prefill_for(1, labels) is not None or prompt.has_single_token_levels(labels)


def _check_judge_fits_prompt(study: Study, judge: JudgeSpec, prompt: Prompt) -> None:
    preset = provider_presets.preset_for_url(judge.endpoint) if judge.kind == "endpoint" else None
    if judge.read == "probabilities" and preset and not preset.returns_logprobs(judge.model):
        raise PlanError(
            f"judge {judge.name!r} reads label probabilities, but {preset.title} returns none for "
            f"{judge.model}; set read: text"
        )
    if judge.kind == "embedded" and prompt.rubric:
        return  # its rubric levels are read from the text, which a grammar forces
    if judge.read == "probabilities" and not _has_single_token_labels(study, prompt):
        if judge.kind == "embedded" and prompt.format.grammar:
            return
        raise PlanError(
            f"judge {judge.name!r} reads label probabilities, but the verdict format "
            f"{prompt.verdict!r} of prompt {prompt.name!r} has no single-token labels; set "
            "read: text or choose another prompt"
        )
    if judge.kind == "simulated" and prompt.verdict not in simulated.SIMULATED_FORMATS:
        raise PlanError(
            f"judge {judge.name!r} is simulated and cannot write the verdict format "
            f"{prompt.verdict!r} of prompt {prompt.name!r}; it can write "
            f"{', '.join(simulated.SIMULATED_FORMATS)}"
        )
    picks = prompt.verdict not in simulated_scores.SCORING_FORMATS
    if judge.simulation.get("tie_rate") and picks and not prompt.format.ties:
        raise PlanError(
            f"judge {judge.name!r} has a tie_rate, but prompt {prompt.name!r} offers no tie; "
            "remove tie_rate or choose another prompt"
        )
