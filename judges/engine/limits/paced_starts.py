"""Start times under a rate limit, shared by the processes that use one store."""

import contextlib
from collections.abc import Iterator
from typing import Final

from judges.engine.limits import pace_file, rate_estimate

STALE_SECONDS: Final = 600.0
"""Age in seconds above which shared values are ignored."""


class PacedStarts:
    """Reserves the start times of calls to an endpoint, so that they keep to the estimated rate and
    wait for the end of a cool-down (the wait after a refusal).

    Each process reserves one start time at a time. The processes therefore make equally many calls,
    at equal intervals.
    """

    def __init__(self, record: pace_file.RateRecord | None = None) -> None:
        self.estimate = rate_estimate.RateEstimate()
        self.cooldown_start = -1.0
        """Start of the latest cool-down in which all calls had to wait."""
        self.cooldown_end = 0.0
        self._next_start = 0.0
        self._reserved: float | None = None
        self._after_reserved = 0.0
        self._refusals = 0.0
        """Number of refused calls (HTTP 429); each makes all reserved start times invalid."""
        self._reserved_after = 0.0
        self._record = record
        self._changes = 0

    def load_shared_changes(self, now: float) -> None:
        """Load the shared values if another process has changed them in the last STALE_SECONDS."""
        if self._record is not None and self._record.change_count != self._changes:
            with self._record.lock() as locked:
                if locked:
                    self._load_shared_values(now)

    def reserve_next_start(self, now: float) -> float:
        """Return the time at which this process may start its next call; the time is reserved, so
        that no other process uses it. Until the reserved time is used or becomes invalid, the
        method returns the same time again. 0 if there is no rate limit."""
        if self.estimate.rate is None:
            return 0.0
        if not self._is_reserved():
            with self._change_shared_values(now):
                if self.estimate.rate is None:  # lifted by another process
                    return 0.0
                self._reserve_start(now, 1 / self.estimate.rate)
        assert self._reserved is not None
        return self._reserved

    def _is_reserved(self) -> bool:
        """Whether this process has reserved a start time that is still valid: no call was refused
        since, and the time is not within a cool-down."""
        if self._reserved is None or self._reserved < self.cooldown_end:
            return False
        return self._reserved_after == self._refusals

    def _reserve_start(self, now: float, gap: float) -> None:
        """Reserve the next free start time for this process; the next free time is then `gap`
        seconds later. If this process's earlier reservation was the latest of all processes, its
        time is free again and may be given out a second time."""
        if self._reserved is not None and self._next_start == self._after_reserved:
            self._next_start = self._reserved
        self._reserved = max(now, self._next_start, self.cooldown_end)
        self._next_start = self._after_reserved = self._reserved + gap
        self._reserved_after = self._refusals

    def record_start(self, now: float) -> None:
        """Record that a call starts at `now`, which uses up the reserved start time. If that was
        the latest time reserved by any process, the next free start time is 1/rate seconds from
        now."""
        self.estimate.start_measuring(now)
        if self.estimate.rate is not None:
            with self._change_shared_values(now):
                is_last = self._next_start == self._after_reserved
                if self.estimate.rate is not None and is_last:
                    self._next_start = now + 1 / self.estimate.rate
        self._reserved = None

    def record_success(self, now: float) -> None:
        if self.estimate.rate is None:
            self.estimate.record_success(now)
            return
        with self._change_shared_values(now):
            self.estimate.record_success(now)

    def record_refusal(self, now: float, guessed_rate: float, wait: float = 0.0) -> None:
        """Adapt the rate to a refusal (see RateEstimate.record_refusal), and hold the calls of all
        processes for `wait` seconds. `guessed_rate` is the rate assumed while no rate was
        measured."""
        with self._change_shared_values(now):
            self.estimate.record_refusal(now, guessed_rate, wait=wait)
            self.cooldown_end = max(self.cooldown_end, now + wait)
            self._refusals += 1
            if self.estimate.rate is not None:
                self._next_start = now + 1 / self.estimate.rate

    def close(self) -> None:
        if self._record is not None:
            self._record.close()
            self._record = None

    @contextlib.contextmanager
    def _change_shared_values(self, now: float) -> Iterator[None]:
        """Lock the shared values, load them, let the caller change them, and store them again. If
        the file cannot be locked, or another endpoint uses the place in it, only the values of this
        process change."""
        if self._record is None:
            yield
            return
        with self._record.lock() as locked:
            if locked:
                self._load_shared_values(now)
            yield
            if locked and self._record.may_be_written(now - STALE_SECONDS):
                times = (now, self.cooldown_start, self.cooldown_end, self._next_start)
                self._record.write((*times, self._refusals, *self.estimate.to_numbers()))
                self._changes = self._record.change_count

    def _load_shared_values(self, now: float) -> None:
        assert self._record is not None
        if self._record.change_count in (0, self._changes):
            return
        self._changes = self._record.change_count
        updated, start, end, next_start, refusals, *values = self._record.read()
        if not now - STALE_SECONDS <= updated <= now + 1:  # old, or from before a restart
            return
        self.cooldown_start = max(self.cooldown_start, start)
        self.cooldown_end, self._next_start = max(self.cooldown_end, end), next_start
        self._refusals = refusals
        self.estimate.set_from_numbers(values)
