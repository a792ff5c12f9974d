"""Judges that are Python functions `messages -> text`, synchronous or asynchronous."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, overload
from urllib.parse import quote

from studies.domain import JudgeSpec
from studies.errors import StudyError

if TYPE_CHECKING:
    from judges.models.interface import JudgeCall, JudgeReply

Messages = list[dict[str, Any]]
ReplyFunction = Callable[[Messages], str | Awaitable[str]]

FUNCTION_ADDRESS: Final = "http://function.invalid/"
"""Start of the endpoint address of a judge that is a function. Its host name cannot exist, so that
the page cannot call the address by mistake."""


@dataclass(frozen=True)
class FunctionJudge:
    """A Python function used as a judge. Its stored replies are reused as long as `name` is the
    same, even if the code of the function has changed."""

    name: str
    function: ReplyFunction
    parallel: int = 8
    """Maximum number of calls in flight."""
    family: str = ""

    def __call__(self, messages: Messages) -> str | Awaitable[str]:
        return self.function(messages)

    @property
    def spec(self) -> JudgeSpec:
        """The settings of the judge as a study file would have them, without key, price and request
        parameters. Its endpoint is an address that cannot exist."""
        return JudgeSpec(
            self.name,
            self.name,
            endpoint=FUNCTION_ADDRESS + quote(self.name, safe=""),
            family=self.family,
            temperature=None,
            max_attempts=2,
        )


@overload
def judge(
    function: ReplyFunction, *, name: str = "", parallel: int = 8, family: str = ""
) -> FunctionJudge: ...


@overload
def judge(
    function: None = None, *, name: str = "", parallel: int = 8, family: str = ""
) -> Callable[[ReplyFunction], FunctionJudge]: ...


def judge(
    function: ReplyFunction | None = None, *, name: str = "", parallel: int = 8, family: str = ""
) -> FunctionJudge | Callable[[ReplyFunction], FunctionJudge]:
    """Make a judge of a function that takes chat messages and returns the reply; also usable as a
    decorator. If the function changes, give it a new `name`: stored replies are reused as long as
    the name is the same. A function without a name of its own (a lambda) needs `name`, else
    StudyError is raised. `parallel` is the maximum number of calls in flight, `family` the model
    family of the judge."""
    if function is None:
        return lambda given: judge(given, name=name, parallel=parallel, family=family)
    found = name or getattr(function, "__name__", "")
    if not found or found == "<lambda>":
        raise StudyError("a judge needs a name: judge(function, name='…')")
    return FunctionJudge(found, function, parallel, family)


class FunctionModel:
    """Client of a judge that is a function; the function runs in a thread or, if it is
    asynchronous, in the engine's event loop."""

    def __init__(self, function: ReplyFunction, ceiling: int) -> None:
        self._function = function
        self.ceiling = max(ceiling, 1)

    async def complete(self, call: JudgeCall) -> JudgeReply:
        from judges.models.interface import JudgeReply

        if inspect.iscoroutinefunction(self._function):
            text = await self._function(call.messages)
        else:
            text = await asyncio.to_thread(self._function, call.messages)
            if inspect.isawaitable(text):
                text = await text
        if not isinstance(text, str):
            raise TypeError(f"the function of this judge returned {type(text).__name__}, not text")
        return JudgeReply(text, finish="stop", model=call.judge.model)

    async def close(self) -> None:
        return None


JudgeLike = FunctionJudge | JudgeSpec | Mapping[str, Any] | ReplyFunction


def collect_judges(
    judges: Iterable[JudgeLike],
) -> tuple[tuple[JudgeSpec, ...], dict[str, FunctionJudge]]:
    """Return (settings of all judges, endpoint address -> judge for those that are functions). A
    judge is given as a function, as settings, or as a dictionary with the keys of a judge in a
    study file."""
    from studies.spec.judge_spec import parse_judge

    specs: list[JudgeSpec] = []
    functions: dict[str, FunctionJudge] = {}
    for place, one in enumerate(judges):
        if isinstance(one, JudgeSpec):
            specs.append(one)
        elif isinstance(one, Mapping):
            specs.append(parse_judge(dict(one), f"judges[{place}]"))
        else:
            made = one if isinstance(one, FunctionJudge) else judge(one)
            functions[made.spec.endpoint] = made
            specs.append(made.spec)
    return tuple(specs), functions
