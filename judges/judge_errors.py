"""Errors raised while planning a study or calling judges.

EvenhandError (studies.errors)
├── PromptError         a prompt file that cannot be used, such as an unknown name or variable
│   └── UnknownFormat   a verdict format that does not exist
├── PlanError           a study that cannot be run as it is; raised before money is spent
│   ├── EndpointRefused a base URL that must not be called from here
│   ├── KeyRefused      a typed key that is malformed, or was typed for another host
│   └── ConsentNeeded   a variable the user has not yet allowed for an endpoint
├── KeyExpired          a typed key that was deleted after a period without use
└── JudgeStopped        a judge that cannot continue: wrong key, no such model, no quota
"""

from __future__ import annotations

from studies.errors import EvenhandError


class PromptError(EvenhandError):
    pass


class UnknownFormat(PromptError):
    pass


class PlanError(EvenhandError):
    pass


class EndpointRefused(PlanError):
    pass


class KeyRefused(PlanError):
    pass


class ConsentNeeded(PlanError):
    pass


class KeyExpired(EvenhandError):
    pass


class JudgeStopped(EvenhandError):
    pass
