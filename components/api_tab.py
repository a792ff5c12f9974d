"""The page's useful functions for programs: gradio_client, plain HTTP, or MCP with `--mcp`.

Each has a docstring, since that is what a client and a model that calls it are shown. Keys are not
taken here: a judge's key comes from the variable that its study names, for hosts the user allowed
it for. Where strangers share the page each takes a token besides: a secret of the caller's own, or
that of a link.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

import gradio as gr

from components.server.visitor_identity_tab import visitor_context
from components.study.plan.study_preview import plan_from_text
from judges.engine.engine import Engine
from judges.judge_errors import PlanError
from judges.models.embedded import EmbeddedUnavailable
from judges.models.weights import WeightsMissing
from judges.planning.plan import assign_owner, make_forecast, save_plan
from metrics.summary.summary import summarise_frame
from studies.errors import EvenhandError
from studies.exchange.injection_flags import InjectionFlags
from studies.people.verifications import current_checks
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import MIN_SECRET_CHARS
from studies.store.store import Store

_REPORTED_ERRORS = (EvenhandError, PlanError, WeightsMissing, EmbeddedUnavailable)


def build(store: Store, engine: Engine | None) -> None:
    """Inside the Blocks of the page. Without an engine nothing that asks is offered."""
    offered = [*read_functions(store), *(run_functions(store, engine) if engine else ())]
    for function in offered:
        told = _with_readable_errors(function)
        shared = _with_token(told, store) if isinstance(store, VisitorStore) else told
        gr.api(shared, api_name=function.__name__)


def read_functions(store: Store) -> tuple[Callable[..., Any], ...]:
    """What can be asked of a page that only shows."""

    def list_studies() -> list[dict]:
        """Lists the studies of this page: name, how many asks are planned and judged, whether it
        was recorded elsewhere."""
        return [
            {"name": line.name, "planned": line.planned, "judged": line.judged,
             "recorded": line.recorded}
            for line in store.studies()
        ]  # fmt: skip

    def study_metrics(study: str, by: str = "") -> dict:
        """Measures a study: Elo, Bradley-Terry, win rates, position bias, agreement and more, each
        number with its interval, n and method.

        Parameters:
            study: the study's name, as list_studies gives it
            by: none, or some of judge, prompt, category, with commas, to have every number again
                for each of them
        """
        spec = store.study(study)
        counts = store.counts(study, recorded=True)
        wanted = [name.strip() for name in by.split(",") if name.strip()]
        unknown = set(wanted) - {"judge", "prompt", "category"}
        if unknown:
            raise gr.Error(f"by: {', '.join(sorted(unknown))} is none of judge, prompt, category")
        return summarise_frame(
            store.frame(study), wanted, planned=counts.get("planned"),
            combine=spec.combine, unreadable=spec.unreadable, quick=len(wanted) > 0,  # type: ignore[arg-type]
            checks=current_checks(store, study),
        )  # fmt: skip

    def judgements(study: str, first: int = 0, count: int = 20) -> list[dict]:
        """Gives judgements of a study in plan order, replies included: who was asked what, in which
        order the answers were shown, what came back, how it was read, whether a text that was
        shown speaks to the judge.

        Parameters:
            study: the study's name
            first: where to begin, from 0
            count: how many, at most 200
        """
        store.study(study)
        rows = store.judgements(study, after=max(0, int(first)), limit=min(max(1, int(count)), 200))
        flags = InjectionFlags(store, study)
        return [flags.flagged_row(judgement) for judgement in rows]

    return list_studies, study_metrics, judgements


def run_functions(store: Store, engine: Engine) -> tuple[Callable[..., Any], ...]:
    """What asks judges, or says what asking would cost."""

    def plan_study(study_yaml: str) -> dict:
        """Plans a study without asking anybody: how many asks, tokens, dollars and seconds.

        Parameters:
            study_yaml: the text of a study file
        """
        told = make_forecast(plan_from_text(study_yaml, store.folder), store=store)
        return {
            "asks": told.asks, "noise": told.noise, "prompt_tokens": told.prompt_tokens,
            "completion_tokens": told.completion_tokens, "dollars": told.dollars,
            "seconds": told.seconds,
        }  # fmt: skip

    def run_study(study_yaml: str) -> dict:
        """Runs a study, or goes on with it: only what is missing is asked. Answers at once; ask
        run_status for how far it is. Judges' keys come from the variables their study names.

        Parameters:
            study_yaml: the text of a study file
        """
        plan = assign_owner(plan_from_text(study_yaml, store.folder), store)
        save_plan(plan, store)
        running = engine.active_run(plan.study.name)
        run = running or engine.start(plan, store)
        return {"run": run.id, **run_status(plan.study.name)}

    def run_status(study: str) -> dict:
        """Says how far the latest run of a study is: state, counts by status, spend, what it waits
        for.

        Parameters:
            study: the study's name
        """
        run = engine.latest_run(study)
        if run is None:
            return {"study": study, "state": "not started", "counts": store.counts(study)}
        seen = run.snapshot()
        return {
            "study": study, "state": seen.state, "reason": seen.reason,
            "counts": dict(seen.counts), "spent_usd": seen.spent, "eta_seconds": seen.eta,
            "waiting": list(seen.waiting),
        }  # fmt: skip

    def stop_run(study: str) -> dict:
        """Stops the run of a study; what it has is kept, and run_study goes on from there.

        Parameters:
            study: the study's name
        """
        run = engine.active_run(study)
        if run is not None:
            run.stop()
            run.wait(10)
        return run_status(study)

    return plan_study, run_study, run_status, stop_run


def _with_readable_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Our own errors reach the caller in their words; others stay in the log."""

    @wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        try:
            return function(*values, **named)
        except _REPORTED_ERRORS as error:
            raise gr.Error(str(error)) from None

    return call


_TOKEN_HELP = (
    f"token: a secret of your own making, at least {MIN_SECRET_CHARS} characters: what you run with it is "
    "reached with it alone. Or the token of a link that somebody shared: it reads that study. "
    "Without one, what everybody may see"
)


def _with_token(function: Callable[..., Any], store: VisitorStore) -> Callable[..., Any]:
    """The same function with a token as its last parameter, called as that visitor."""
    own = signature(function)
    last = Parameter("token", Parameter.POSITIONAL_OR_KEYWORD, default="", annotation=str)
    whole = own.replace(parameters=[*own.parameters.values(), last])

    @wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        given = whole.bind(*values, **named)
        token = given.arguments.pop("token", "")
        with visitor_context(token, token, store):
            return function(**given.arguments)

    words = (function.__doc__ or "").rstrip()
    head = "" if "Parameters:" in words else "\n\n        Parameters:"
    call.__doc__ = f"{words}{head}\n            {_TOKEN_HELP}\n        "
    call.__signature__ = whole  # type: ignore[attr-defined]
    call.__annotations__ = {**function.__annotations__, "token": str}
    call.takes_token = True  # type: ignore[attr-defined]
    return call
