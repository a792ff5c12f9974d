"""Evenhand as a library: read or build a study, audit its judges, rate contestants, run judges.

    import evenhand as eh
    eh.audit(eh.study(table, item="q", first="a", second="b", winner="w", judge="j"))

Every name is loaded on first use, so that the import itself needs no other package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from evenhand.auditing.twin_table import twins as twins
    from evenhand.judge_audit import JudgeAudit as JudgeAudit
    from evenhand.judge_audit import audit as audit
    from evenhand.nightly.gate_check import gate as gate
    from evenhand.page_views import report as report
    from evenhand.page_views import show as show
    from evenhand.rating_frames import bradley_terry as bradley_terry
    from evenhand.rating_frames import elo as elo
    from evenhand.remedy_rates import remedies as remedies
    from evenhand.running.function_judge import judge as judge
    from evenhand.running.prompt_alignment import align as align
    from evenhand.running.study_runs import run as run
    from evenhand.study_table import JudgedStudy as JudgedStudy
    from evenhand.study_table import read as read
    from evenhand.study_table import study as study

__version__: Final = "0.1.0"

_MODULES: Final = {
    "JudgeAudit": "judge_audit",
    "JudgedStudy": "study_table",
    "align": "running.prompt_alignment",
    "audit": "judge_audit",
    "bradley_terry": "rating_frames",
    "elo": "rating_frames",
    "gate": "nightly.gate_check",
    "judge": "running.function_judge",
    "read": "study_table",
    "remedies": "remedy_rates",
    "report": "page_views",
    "run": "running.study_runs",
    "show": "page_views",
    "study": "study_table",
    "twins": "auditing.twin_table",
}
__all__ = (
    "JudgeAudit", "JudgedStudy", "align", "audit", "bradley_terry", "elo", "gate", "judge",
    "read", "remedies", "report", "run", "show", "study", "twins",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
