"""Errors raised while planning a study or calling judges."""

from studies.errors import EvenhandError


class PromptError(EvenhandError):
    """Raised for a prompt, or criteria for it, that cannot be read, used or saved, for example
    because of an unknown variable."""


class UnknownFormat(PromptError):
    """Raised for a verdict format that does not exist, or that has too few labels for the
    answers."""


class PlanError(EvenhandError):
    """Raised for a study, or a command on it, that cannot be carried out as it is; the message
    names the necessary change."""


class EndpointRefused(PlanError):
    """Raised for a base URL that must not be called from here, or whose host has an address that
    must not be called."""


class KeyRefused(PlanError):
    """Raised for a typed key that is malformed, or was typed for another host."""


class ConsentNeeded(PlanError):
    """Raised if the user has not yet allowed an environment variable to be sent to an endpoint."""


class KeyExpired(EvenhandError):
    """Raised for a typed key that was deleted after a period without use."""


class JudgeStopped(EvenhandError):
    """Raised if a judge cannot continue: wrong key, no such model, no quota, or too many failures
    without a success."""
