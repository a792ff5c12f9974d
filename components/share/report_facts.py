"""Facts on a study for its report: costs, unusable replies, prompts, dates, models, versions."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from judges.rendering.prompt import parse_prompt
from studies.store.queries.cost_queries import reply_times
from studies.store.store import Store

REPORTED_PACKAGES: Final = ("gradio", "plotly", "pandas", "numpy", "scipy", "openai", "datasets")


@dataclass(frozen=True, slots=True)
class PromptRecord:
    name: str
    version: int
    sha: str
    source: str
    yaml: str


def prompt_records(store: Store, study: str) -> list[PromptRecord]:
    """Every prompt with its text at the time of the run, empty if no text was recorded."""
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
    """Days of the first and the last reply of model judges; "" if no time was recorded."""
    first, last = reply_times(store, study)
    return _format_day(first), _format_day(last)


def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that computed the numbers."""
    found = {"python": platform.python_version()}
    for package in REPORTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _format_day(at: float | None) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at)) if at else ""
