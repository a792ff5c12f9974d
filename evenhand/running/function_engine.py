"""An engine whose runs may have judges that are Python functions."""

import hashlib
from collections.abc import Mapping

from evenhand.running.function_judge import FunctionJudge, FunctionModel
from judges.engine.engine import Engine, _SharedClient
from judges.engine.run import Run
from judges.engine.run_state import JudgeState, RunSettings
from judges.security.key_store import SecretKey
from studies.domain import JudgeSpec


class FunctionEngine(Engine):
    """An engine that also calls judges that are Python functions. `functions` maps the endpoint
    address that stands for such a judge to the function."""

    def __init__(self, functions: Mapping[str, FunctionJudge]) -> None:
        super().__init__()
        self._functions = functions

    def open_judge(
        self, run: Run, judge: JudgeSpec, typed: Mapping[str, SecretKey], settings: RunSettings
    ) -> JudgeState:
        made = self._functions.get(judge.endpoint)
        if made is not None:
            at = (judge.endpoint, hashlib.sha256(b"").hexdigest())
            model = FunctionModel(made.function, made.parallel)
            self._clients.setdefault(at, _SharedClient(model, set()))
        return super().open_judge(run, judge, typed, settings)
