"""Decisions after a failed call: how long its ask waits, and when the judge is stopped."""

from __future__ import annotations

from typing import Final

from judges.engine.run_state import JudgeState, RunState
from judges.judge_errors import JudgeStopped
from judges.models.failures import CallFailure

MAX_BACKOFF_SECONDS: Final = 30.0
STOP_AFTER_FAILURES: Final = 5
"""Number of failures after which a judge is stopped: the same permanent error while no call has
succeeded, or consecutive asks that failed in every attempt. Its other asks stay pending."""
_REFUSAL_REASONS: Final = ("bad request", "no images", "no logprobs")


def retry_delay(
    fault: CallFailure, run_state: RunState, state: JudgeState, attempts_made: int
) -> float:
    """Return the seconds before the next attempt at the call. 0 if a rate limit makes all calls
    wait, because the limiter then delays this call too."""
    if fault.rate_limited and state.limiter.holds_refused_calls:
        return 0.0
    if fault.wait:
        return fault.wait * (1 + run_state.rng.random() / 10)
    return _backoff_seconds(run_state, attempts_made)


def _backoff_seconds(run_state: RunState, attempts_made: int) -> float:
    """Return the seconds before the next attempt: the wait doubles with each attempt and has a
    random part, so that workers do not retry at the same moment."""
    doubled = run_state.settings.first_backoff * 2 ** (attempts_made - 1)
    return float(min(MAX_BACKOFF_SECONDS, doubled) * (0.5 + run_state.rng.random() / 2))


def stop_if_hopeless(fault: CallFailure, state: JudgeState, attempts_made: int) -> None:
    """Raise JudgeStopped if further calls of the judge would fail in the same way."""
    if fault.action == "stop":
        raise JudgeStopped(fault.detail)
    if state.successes == 0 and _is_permanent(fault, attempts_made):
        refusal = f"{fault.reason}: {fault.detail}"
        state.refusals[refusal] += 1
        if state.refusals[refusal] >= STOP_AFTER_FAILURES:
            raise JudgeStopped(f"{fault.detail} ({STOP_AFTER_FAILURES} failures, no success)")


def _is_permanent(fault: CallFailure, attempts_made: int) -> bool:
    """Whether a retry cannot succeed. A server that cannot be reached may be starting, so it gets
    three attempts."""
    return fault.reason in _REFUSAL_REASONS or (
        fault.reason == "unreachable" and attempts_made >= 3
    )


def count_failure(fault: CallFailure, state: JudgeState, attempts_made: int) -> None:
    """Count an ask that failed in every attempt; raise JudgeStopped after several such asks in a
    row."""
    if fault.action != "retry":
        return
    state.failed_in_a_row += 1
    if state.failed_in_a_row >= STOP_AFTER_FAILURES:
        raise JudgeStopped(
            f"{fault.reason}: {fault.detail} ({STOP_AFTER_FAILURES} calls in a row failed, "
            f"{attempts_made} attempts each)"
        )
