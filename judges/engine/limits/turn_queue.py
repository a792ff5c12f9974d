"""Queue of waiting calls in which several runs take turns."""

from __future__ import annotations

import asyncio
from collections import deque


class TurnQueue:
    """Futures of waiting calls. The runs take turns, however many calls each has waiting; within a
    run, first come, first served."""

    def __init__(self) -> None:
        self._by_run: dict[object, deque[asyncio.Future[None]]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_run)

    def add(self, run: object) -> asyncio.Future[None]:
        future = asyncio.get_running_loop().create_future()
        self._by_run.setdefault(run, deque()).append(future)
        return future

    def wake_next(self) -> bool:
        """Wake the call whose turn it is; return False if that call was cancelled."""
        run = next(iter(self._by_run))
        waiting = self._by_run.pop(run)
        future = waiting.popleft()
        if waiting:
            self._by_run[run] = waiting  # now the last run
        if future.done():
            return False
        future.set_result(None)
        return True
