"""The API for programs: gradio_client, plain HTTP, or MCP with `--mcp`.

The docstring of each API function is its documentation for clients and for models that call it. No
function takes an API key. A judge's key comes from the environment variable that its study names,
and is sent only to hosts that the user has allowed. In public mode each function also takes a
token: a secret chosen by the caller, or the token of a share link."""

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
from judges.models import embedded, weights
from judges.planning.forecast import forecast_plan
from judges.planning.plan import plan_for_current_visitor, save_plan
from metrics.summary.study_inputs import read_remedy_inputs, style_counts_of_study
from metrics.summary.summary import summarise_frame
from metrics.win_rates.counting_rules import counting_rule_of_remedy_or_same
from studies.errors import AccessDenied, EvenhandError, UnknownStudy
from studies.exchange.injection_flags import InjectionFlags
from studies.people.verifications import checks_of_answers
from studies.sharing.visitor_store import VisitorStore
from studies.sharing.visitors import MIN_SECRET_CHARS
from studies.store.store import Store

_REPORTED_ERRORS = (EvenhandError, PlanError, weights.WeightsMissing, embedded.EmbeddedUnavailable)


def register_api_functions(store: Store, engine: Engine | None) -> None:
    """Register the API functions on the page; without an engine, only those that read studies."""
    functions = [
        *make_reading_api_functions(store),
        *(make_run_api_functions(store, engine) if engine else ()),
    ]
    for function in functions:
        call = _with_readable_errors(function)
        call = _add_token_parameter(call, store) if isinstance(store, VisitorStore) else call
        gr.api(call, api_name=function.__name__)  # type: ignore[attr-defined]


def make_reading_api_functions(store: Store) -> tuple[Callable[..., Any], ...]:
    """The API functions that read studies; a read-only page has them too."""

    def list_studies() -> list[dict[str, Any]]:
        """Lists the studies of this page: name, planned calls, calls with a reply, and whether the
        replies were recorded elsewhere."""
        return [
            {
                "name": line.name,
                "planned": line.planned,
                "judged": line.judged,
                "recorded": line.recorded,
            }
            for line in store.studies()
        ]

    def study_metrics(study: str, by: str = "") -> dict[str, Any]:
        """Measures a study: Elo, Bradley-Terry, win rates, position bias, agreement and more, each
        number with its confidence interval, its sample size n and the method.

        Parameters:
            study: the study's name, as list_studies gives it
            by: empty, or one or more of judge, prompt, category, separated by commas: every number
                is also given for each group"""
        spec = store.study(study)
        wanted = [name.strip() for name in by.split(",") if name.strip()]
        unknown = set(wanted) - {"judge", "prompt", "category"}
        if unknown:
            raise gr.Error(
                f"by: cannot group by {', '.join(sorted(unknown))}; use judge, prompt or category"
            )
        return summarise_frame(
            store.frame(study),
            wanted,
            planned=store.count_asks_without_twins(study),
            combine=counting_rule_of_remedy_or_same(spec.combine),
            unreadable=spec.unreadable,  # type: ignore[arg-type]
            quick=len(wanted) > 0,
            checks=checks_of_answers(store, study),
            remedies=read_remedy_inputs(store, study),
            twins=store.frame(study, "only"),
            styles=style_counts_of_study(store, study),
        )

    def judgements(study: str, first: int = 0, count: int = 20) -> list[dict[str, Any]]:
        """Returns judgements of a study in plan order: judge, prompt, item, order of the answers,
        reply, verdict, and whether a shown text contains instructions to the judge (a possible
        prompt injection).

        Parameters:
            study: the study's name
            first: index of the first judgement, from 0
            count: number of judgements, at most 200
        """
        store.study(study)
        rows = store.judgements(study, first=max(0, int(first)), limit=min(max(1, int(count)), 200))
        flags = InjectionFlags(store, study)
        return [flags.judgement_row_with_flags(judgement) for judgement in rows]

    return list_studies, study_metrics, judgements


def make_run_api_functions(store: Store, engine: Engine) -> tuple[Callable[..., Any], ...]:
    """The API functions that run studies or forecast their cost."""

    def plan_study(study_yaml: str) -> dict[str, Any]:
        """Plans a study without calling a judge: number of calls, tokens, dollars and seconds.

        Parameters:
            study_yaml: the text of a study file
        """
        forecast = forecast_plan(plan_from_text(study_yaml, store.folder), store=store)
        return {
            "asks": forecast.asks,
            "noise": forecast.noise,
            "prompt_tokens": forecast.prompt_tokens,
            "completion_tokens": forecast.completion_tokens,
            "cached_tokens": forecast.cached_tokens,
            "dollars": forecast.dollars,
            "seconds": forecast.seconds,
        }

    def run_study(study_yaml: str) -> dict[str, Any]:
        """Starts or resumes a study; only calls without a stored reply are made. Returns at once;
        call run_status for the progress. API keys are read from the environment variables that the
        study file names.

        Parameters:
            study_yaml: the text of a study file"""
        plan = plan_for_current_visitor(plan_from_text(study_yaml, store.folder), store)
        save_plan(plan, store)
        run = engine.find_or_start_run(plan.study.name, lambda: engine.start(plan, store))
        return {"run": run.id, **run_status(plan.study.name)}

    def run_status(study: str) -> dict[str, Any]:
        """Returns the progress of a study's latest run: state, number of calls by status, dollars
        spent, seconds left, and why calls wait. If no run was started since the server's start, the
        state is "not started".

        Parameters:
            study: the study's name"""
        run = engine.latest_run(study)
        if run is None:
            return {"study": study, "state": "not started", "counts": store.status_counts(study)}
        seen = run.snapshot()
        return {
            "study": study,
            "state": seen.state,
            "reason": seen.reason,
            "counts": dict(seen.counts),
            "spent_usd": seen.spent,
            "eta_seconds": seen.eta,
            "waiting": list(seen.wait_texts),
        }

    def stop_run(study: str) -> dict[str, Any]:
        """Stops the run of a study; its replies stay stored, and run_study resumes it.

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
    """Wrap a function of the API: errors that users can understand (`_REPORTED_ERRORS`) are raised
    again as gr.Error, whose message the caller of the API gets; all other errors pass unchanged."""

    @wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        try:
            return function(*values, **named)
        except _REPORTED_ERRORS as error:
            raise gr.Error(str(error)) from None

    return call


NO_TOKEN = (
    f"this call has no token: pass `token`, a secret of at least {MIN_SECRET_CHARS} characters "
    "that you choose, or the token of a share link, as its last argument"
)
_TOKEN_HELP = (
    f"token: a secret you choose, at least {MIN_SECRET_CHARS} characters. A study run with a "
    "token can only be opened with the same token. The token of a shared link gives read access "
    "to its study. Without a token, only studies open to every visitor can be opened"
)


def _add_token_parameter(function: Callable[..., Any], store: VisitorStore) -> Callable[..., Any]:
    """Return the function of the API with `token` as a further, last parameter. A call runs as the
    visitor with this token, so it reaches only the studies that this visitor may open."""
    own = signature(function)
    last = Parameter("token", Parameter.POSITIONAL_OR_KEYWORD, default="", annotation=str)
    whole = own.replace(parameters=[*own.parameters.values(), last])

    @wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        given = whole.bind(*values, **named)
        token = given.arguments.pop("token", "")
        try:
            with visitor_context(token, token, store):
                return function(**given.arguments)
        except gr.Error as error:
            refused = isinstance(error.__context__, AccessDenied | UnknownStudy)
            if refused and len(str(token)) < MIN_SECRET_CHARS:
                error.message = f"{NO_TOKEN} ({error.message})"
            raise

    words = (function.__doc__ or "").rstrip()
    head = "" if "Parameters:" in words else "\n\n        Parameters:"
    call.__doc__ = f"{words}{head}\n            {_TOKEN_HELP}\n        "
    call.__signature__ = whole  # type: ignore[attr-defined]
    call.__annotations__ = {**function.__annotations__, "token": str}
    call.takes_token = True  # type: ignore[attr-defined]
    return call
