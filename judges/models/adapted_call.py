"""Adapt a call to its endpoint: leave out the parameters that the endpoint refuses."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from judges.models.interface import JudgeCall
from studies.domain import JudgeSpec
from studies.spec.provider_presets import preset_for_url
from studies.store.queries.adapted_requests import REFUSABLE_PARAMETERS


def known_refusals(judge: JudgeSpec) -> set[str]:
    """Return the parameters that a judge's provider is known to refuse for the judge's model."""
    preset = preset_for_url(judge.endpoint) if judge.kind == "endpoint" else None
    return set() if preset is None else set(preset.refused_parameters(judge.model))


def drop_parameter(call: JudgeCall, parameter: str) -> JudgeCall | None:
    """Return the call without a parameter; None if the call does not have this parameter."""
    if parameter in call.stream_parameters:
        return replace(call, stream_refusals=call.stream_refusals | {parameter})
    values = dict(call.parameters)
    if parameter not in values:
        return None
    value = values.pop(parameter)
    if parameter == "max_tokens":
        values["max_completion_tokens"] = value  # its name for reasoning models
    return replace(call, parameters=values)


def missing_parameters(dropped: Collection[str]) -> list[str]:
    """Return the dropped parameters whose absence can change the reply. Streaming parameters
    cannot, and max_tokens is not missing: it is sent under its other name."""
    return sorted(set(dropped).intersection(REFUSABLE_PARAMETERS))
