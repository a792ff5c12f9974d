"""What can go wrong with asking.

EvenhandError (studies.errors)
├── PromptError     a prompt file: unknown name, variable
│   └── UnknownFormat   a verdict format nobody knows
├── PlanError       a study that cannot be asked as it stands; raised before money is spent
│   ├── EndpointRefused a base URL that must not be asked from here
│   ├── KeyRefused      a typed key that is malformed, or was typed for another host
│   └── ConsentNeeded   a variable the user has not yet allowed for an endpoint
├── KeyExpired      a key that was typed, and forgotten after a while without use
└── JudgeStopped    a judge that cannot go on: wrong key, no such model, no quota
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
