"""A loopback judge server for tests and benchmarks: OpenAI's chat protocol, faults, its own bill.

with JudgeServer(behaviour=judge("longer"), rules=[first_attempt(Fault("server_error"))]) as server:
    ...  # base_url=server.base_url; afterwards server.bill.totals, server.bill.paid_twice

with JudgeProcess("--latency", "0.05") as server:
    ...  # in a process of its own, for kill tests; with "--bench" one prepared answer, no faults
"""

from .asked import Asked
from .behaviour import Reply, by_substring, judge, say
from .bill import Bill, Call, Prices
from .faults import (
    KINDS,
    Fault,
    Rule,
    always,
    at,
    containing,
    first_attempt,
    script,
    script_per_key,
    sometimes,
    transient_fault_rules,
)
from .limiter import Cooldown, Limiter
from .process import JudgeProcess
from .running import JudgeServer
from .settings import Settings
from .tokens import NoCache, PrefixCache, Usage

__all__ = [
    "KINDS",
    "Asked",
    "Bill",
    "Call",
    "Cooldown",
    "Fault",
    "JudgeProcess",
    "JudgeServer",
    "Limiter",
    "NoCache",
    "PrefixCache",
    "Prices",
    "Reply",
    "Rule",
    "Settings",
    "Usage",
    "always",
    "at",
    "by_substring",
    "containing",
    "first_attempt",
    "judge",
    "say",
    "script",
    "script_per_key",
    "sometimes",
    "transient_fault_rules",
]
