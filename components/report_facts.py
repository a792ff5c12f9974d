"""The plain facts of a study that a report has to state: who, when, how much, what failed."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from judges.prompt import parse_prompt
from studies.records import EVIDENCE, HUMAN_PREFIX
from studies.store import Store

PACKAGES: Final = ("gradio", "plotly", "pandas", "numpy", "scipy", "openai", "datasets")


@dataclass(frozen=True, slots=True)
class Spend:
    """What one judge cost: replies, tokens, dollars where a price is known, seconds."""

    judge: str
    replies: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Failure:
    """One kind of reply that is no evidence, with an example."""

    status: str
    judge: str
    n: int
    example: str


@dataclass(frozen=True, slots=True)
class PromptFact:
    name: str
    version: int
    sha: str
    source: str
    yaml: str


_OF_STUDY: Final = "p.study=(SELECT id FROM studies WHERE name=?)"


def spends(store: Store, study: str) -> list[Spend]:
    rows = store.read(
        "SELECT p.judge, count(*), sum(coalesce(j.prompt_tokens, 0)), "
        "sum(coalesce(j.completion_tokens, 0)), sum(j.cost), sum(j.seconds) "
        f"FROM plan p JOIN judgements j USING(key) WHERE {_OF_STUDY} GROUP BY p.judge "
        "ORDER BY p.judge",
        (study,),
    )
    return [Spend(*row) for row in rows]


def failures(store: Store, study: str) -> list[Failure]:
    """By judge and kind, most frequent first."""
    readable = ",".join(f"'{status}'" for status in sorted(EVIDENCE))
    rows = store.read(
        "SELECT j.status, p.judge, count(*), max(substr(CASE WHEN r.detail != '' THEN r.detail "
        "ELSE r.reply END, 1, 200)) FROM plan p JOIN judgements j USING(key) "
        f"JOIN replies r USING(key) WHERE {_OF_STUDY} AND j.status NOT IN ({readable}) "
        "GROUP BY j.status, p.judge ORDER BY count(*) DESC",
        (study,),
    )
    return [Failure(*row) for row in rows]


def prompts(store: Store, study: str) -> list[PromptFact]:
    """Every prompt with the words it had when it was asked; recorded ones may have no words."""
    spec = store.study(study)
    found = []
    for name in spec.prompts:
        text = store.prompt_of(study, name) or store.recorded_prompt(study, name)
        if text is None:
            found.append(PromptFact(name, 0, "", "", ""))
            continue
        prompt = parse_prompt(text, name)
        found.append(PromptFact(name, prompt.version, prompt.sha, prompt.source, text))
    return found


def dates(store: Store, study: str) -> tuple[str, str]:
    """The days of the judges' first and last reply; empty where no time was recorded. A vote of
    today says nothing about replies of last year."""
    first, last = store.read(
        "SELECT min(nullif(j.time, 0)), max(j.time) FROM plan p JOIN judgements j USING(key) "
        f"WHERE {_OF_STUDY} AND substr(p.judge, 1, ?) != ?",
        (study, len(HUMAN_PREFIX), HUMAN_PREFIX),
    ).fetchone()
    return _day(first), _day(last)


def models(store: Store, study: str) -> dict[str, list[str]]:
    """The model ids that answered, as they were reported, by judge."""
    rows = store.read(
        f"SELECT DISTINCT p.judge, j.model FROM plan p JOIN judgements j USING(key) "
        f"WHERE {_OF_STUDY} AND j.model != '' ORDER BY p.judge, j.model",
        (study,),
    )
    found: dict[str, list[str]] = {}
    for judge, model in rows:
        found.setdefault(judge, []).append(model)
    return found


def versions() -> dict[str, str]:
    """What made the numbers."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _day(at: float | None) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at)) if at else ""
