"""Queue of waiting calls in which several runs take turns."""

import asyncio
from collections import deque
from typing import Final

MAX_REMEMBERED_RUNS: Final = 256


class TurnQueue:
    """Futures of waiting calls. The run whose last turn is longest ago is next, however many calls
    each run has waiting; within a run, first come, first served."""

    def __init__(self) -> None:
        self._by_run: dict[object, deque[asyncio.Future[None]]] = {}
        self._last_turns: dict[object, int] = {}
        """Run -> number of its last turn, the latest turn last."""
        self._turns = 0

    def __bool__(self) -> bool:
        return bool(self._by_run)

    def add(self, run: object) -> asyncio.Future[None]:
        future = asyncio.get_running_loop().create_future()
        self._by_run.setdefault(run, deque()).append(future)
        return future

    def record_turn(self, run: object) -> None:
        """Record that a call of this run has had its turn, whether or not it waited."""
        self._turns += 1
        self._last_turns.pop(run, None)
        self._last_turns[run] = self._turns
        if len(self._last_turns) > MAX_REMEMBERED_RUNS:
            del self._last_turns[next(iter(self._last_turns))]

    def wake_next(self) -> bool:
        """Wake the call whose turn it is; return False if that call was cancelled."""
        run = min(self._by_run, key=lambda one: self._last_turns.get(one, 0))
        waiting = self._by_run[run]
        future = waiting.popleft()
        if not waiting:
            del self._by_run[run]
        if future.done():
            return False
        self.record_turn(run)
        future.set_result(None)
        return True
