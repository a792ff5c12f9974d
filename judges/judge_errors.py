"""Errors raised while planning a study or calling judges."""

from __future__ import annotations

from studies.errors import EvenhandError


class PromptError(EvenhandError):
    """A prompt, or criteria for it, that cannot be read, used or saved, for example because of an
    unknown variable."""


class UnknownFormat(PromptError):
    """A verdict format that does not exist."""


class PlanError(EvenhandError):
    """A study that cannot be run as it is; raised before money is spent."""


class EndpointRefused(PlanError):
    """A base URL that must not be called from here."""


class KeyRefused(PlanError):
    """A typed key that is malformed, or was typed for another host."""


class ConsentNeeded(PlanError):
    """A variable that the user has not yet allowed for an endpoint."""


class KeyExpired(EvenhandError):
    """A typed key that was deleted after a period without use."""


class JudgeStopped(EvenhandError):
    """A judge that cannot continue: wrong key, no such model, no quota."""
