"""Facts of a study for its report: costs, unusable replies, prompts, dates, models, versions."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from judges.rendering.prompt import parse_prompt
from studies.domain import HUMAN_PREFIX, USABLE_STATUSES
from studies.store.store import Store

REPORTED_PACKAGES: Final = ("gradio", "plotly", "pandas", "numpy", "scipy", "openai", "datasets")


@dataclass(frozen=True, slots=True)
class JudgeCost:
    """The costs of one judge: replies, tokens, dollars (None without a price), seconds."""

    judge: str
    replies: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class FailureCount:
    """The number of unusable replies of one status and judge, with an example."""

    status: str
    judge: str
    n: int
    example: str


@dataclass(frozen=True, slots=True)
class PromptRecord:
    name: str
    version: int
    sha: str
    source: str
    yaml: str


_STUDY_CONDITION: Final = "p.study=(SELECT id FROM studies WHERE name=?)"


def judge_costs(store: Store, study: str) -> list[JudgeCost]:
    rows = store.read(
        "SELECT p.judge, count(*), sum(coalesce(j.prompt_tokens, 0)), "
        "sum(coalesce(j.completion_tokens, 0)), sum(j.cost), sum(j.seconds) "
        f"FROM plan p JOIN judgements j USING(key) WHERE {_STUDY_CONDITION} GROUP BY p.judge "
        "ORDER BY p.judge",
        (study,),
    )
    return [JudgeCost(*row) for row in rows]


def failure_counts(store: Store, study: str) -> list[FailureCount]:
    """Unusable replies by judge and status, the most frequent first."""
    readable = ",".join(f"'{status}'" for status in sorted(USABLE_STATUSES))
    rows = store.read(
        "SELECT j.status, p.judge, count(*), max(substr(CASE WHEN r.detail != '' THEN r.detail "
        "ELSE r.reply END, 1, 200)) FROM plan p JOIN judgements j USING(key) "
        f"JOIN replies r USING(key) WHERE {_STUDY_CONDITION} AND j.status NOT IN ({readable}) "
        "GROUP BY j.status, p.judge ORDER BY count(*) DESC",
        (study,),
    )
    return [FailureCount(*row) for row in rows]


def prompt_records(store: Store, study: str) -> list[PromptRecord]:
    """Every prompt with its text at the time of the run; recorded studies may lack the text."""
    spec = store.study(study)
    found = []
    for name in spec.prompts:
        text = store.prompt_of(study, name) or store.recorded_prompt(study, name)
        if text is None:
            found.append(PromptRecord(name, 0, "", "", ""))
            continue
        prompt = parse_prompt(text, name)
        found.append(PromptRecord(name, prompt.version, prompt.sha, prompt.source, text))
    return found


def reply_dates(store: Store, study: str) -> tuple[str, str]:
    """The days of the model judges' first and last reply, empty where no time was recorded; the
    dates of votes by people are left out."""
    first, last = store.read(
        "SELECT min(nullif(j.time, 0)), max(j.time) FROM plan p JOIN judgements j USING(key) "
        f"WHERE {_STUDY_CONDITION} AND substr(p.judge, 1, ?) != ?",
        (study, len(HUMAN_PREFIX), HUMAN_PREFIX),
    ).fetchone()
    return _format_day(first), _format_day(last)


def reported_models(store: Store, study: str) -> dict[str, list[str]]:
    """Judge -> model identifiers as reported in its replies."""
    rows = store.read(
        f"SELECT DISTINCT p.judge, j.model FROM plan p JOIN judgements j USING(key) "
        f"WHERE {_STUDY_CONDITION} AND j.model != '' ORDER BY p.judge, j.model",
        (study,),
    )
    found: dict[str, list[str]] = {}
    for judge, model in rows:
        found.setdefault(judge, []).append(model)
    return found


def package_versions() -> dict[str, str]:
    """The versions of Python and of the packages that computed the numbers."""
    found = {"python": platform.python_version()}
    for package in REPORTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _format_day(at: float | None) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at)) if at else ""
