"""Checks of a study in public mode: it must not use files, environment variables or addresses of
the server.

A visitor writes the study file, so every path in it is untrusted. Allowed data sources are uploads,
the built-in probe set, the Hub, and the folder that the server's EVENHAND_RECORDS names.
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path, PurePath
from typing import Final

from components.server.access import current_access
from judges.judge_errors import PlanError
from judges.money.host_key import load_host_key_settings
from judges.planning.plan_checks import presentation_lister_for
from judges.rendering.prompt import Prompt
from judges.security.endpoint_rules import check_url
from studies.domain import Item, JudgeSpec
from studies.errors import StudyError
from studies.files.read_limits import MEGABYTE, current_limits
from studies.files.upload_names import UPLOADS_FOLDER
from studies.settings import is_public as is_public
from studies.sources import hub, load
from studies.spec.records_folder import RECORDS_VARIABLE
from studies.spec.study import DataSpec, Study

ALLOWED_PREFIXES: Final = ("hub:", f"{UPLOADS_FOLDER}/", f"${{{RECORDS_VARIABLE}}}/")
PROMPTS_PREFIX: Final = "prompts/"

MAX_TIMEOUT_SECONDS: Final = 600.0
MAX_ATTEMPTS: Final = 8
"""MAX_TIMEOUT_SECONDS and MAX_ATTEMPTS: limits on each call of a judge in public mode."""


def check_data_source(spec: DataSpec, folder: Path) -> None:
    """In public mode, raise StudyError for a data source that would read a file of the server;
    uploads are in `folder`."""
    if not is_public():
        return
    for name in (spec.source, *spec.parts, *spec.files.values()):
        parts = PurePath(name).parts
        # A pattern, or the folder of uploads itself, would name files that were not uploaded here.
        inside = ".." not in parts and len(parts) > 1 and not set(name) & set("*?[")
        inside = inside or name.startswith(hub.HUB_PREFIX)
        if name.startswith(f"{UPLOADS_FOLDER}/"):
            inside = inside and not _has_symbolic_link(folder, name)
        if name not in load.BUILT_IN_SOURCES and not (name.startswith(ALLOWED_PREFIXES) and inside):
            raise StudyError(
                f"data.source: {name!r} is a file of the machine that runs this page; upload "
                "your file, or name a dataset of the Hub"
            )


def _has_symbolic_link(folder: Path, name: str) -> bool:
    """Whether the file or folder `name` is reached from `folder` over a symbolic link, or is a
    folder that contains one."""
    path = folder / name
    on_the_way = path.resolve() != folder.resolve() / name
    return on_the_way or any(inner.is_symlink() for inner in path.glob("**/*"))


def check_prompts_and_judges(study: Study) -> None:
    """In public mode, raise an error if a study uses prompt files, addresses or key variables of
    the server, has too many models, judges or prompts, or has judges with long time limits or many
    attempts."""
    if not is_public():
        return
    for name in study.prompts:
        path = PurePath(name)
        own = name.startswith(PROMPTS_PREFIX) and ".." not in path.parts
        if path.suffix and (not own or _has_symbolic_link(study.folder, name)):
            raise StudyError(
                f"prompts: {name!r} is a file of this server; write the prompt in the editor"
            )
    asked = len(study.judges) * max(1, len(study.prompts))
    current_limits().check_participants(len(study.contestants or ()), asked, study.name)
    judges = [*study.judges, *([study.extraction] if study.extraction else [])]
    for judge in judges:
        if judge.api_key_env and (why := _key_refusal_reason(study, judge)):
            raise StudyError(f"judge {judge.name!r}: {why}")
        if judge.kind == "endpoint":
            check_url(judge.endpoint)
            _check_time_and_attempts(judge)


def _check_time_and_attempts(judge: JudgeSpec) -> None:
    """Raise StudyError for long time limits or many attempts, which could hold connections for
    hours."""
    longest = max(judge.timeout_s, judge.idle_s, judge.connect_s)
    if longest > MAX_TIMEOUT_SECONDS or judge.max_attempts > MAX_ATTEMPTS:
        raise StudyError(
            f"judge {judge.name!r}: a public page accepts timeout_s up to "
            f"{MAX_TIMEOUT_SECONDS:g} and max_attempts up to {MAX_ATTEMPTS}"
        )


def _key_refusal_reason(study: Study, judge: JudgeSpec) -> str:
    """Reason why a study may not use the environment variable that it names for a key, or ""."""
    lent = load_host_key_settings()
    if lent is None:
        return (
            "api_key_env names an environment variable of the server, which a public page does "
            "not read; type your key instead"
        )
    return lent.refusal_reason(judge, images=study.judge_sees == "images")


def check_ask_count(study: Study, items: Sequence[Item], prompts: Sequence[Prompt]) -> None:
    """On a public page, raise PlanError if the study needs more calls than the page accepts; the
    error states about how many it needs."""
    most = current_access().asks
    if most is None:
        return
    asked = 0.0
    each = max(1, len(study.judges))
    for prompt in prompts:
        asked += each * _count_calls_per_judge(study, items, prompt, most // each + 1)
    if asked > most:
        raise PlanError(
            f"this study needs about {_round_estimate(asked):,} calls ({len(items):,} items, "
            f"{len(study.judges)} judges, {len(prompts)} prompts, all pairs and orders, "
            f"{study.repeats} repeats). A public page accepts at most {most:,} calls: choose fewer "
            "items (data.count) or models"
        )


def _count_calls_per_judge(
    study: Study, items: Sequence[Item], prompt: Prompt, enough: int
) -> float:
    """Number of calls of one judge with one prompt. Counting stops at `enough` calls; the number is
    then extrapolated from the items counted so far."""
    seen = [s.item.id for s in islice(presentation_lister_for(prompt)(study, items), enough)]
    if len(seen) < enough:
        return len(seen)
    whole = [item for item in seen if item != seen[-1]]  # the last one is cut off
    return max(float(enough), len(whole) * len(items) / max(1, len(set(whole))))


def _round_estimate(value: float) -> int:
    """Round an estimate to two significant digits."""
    digits = len(str(int(value)))
    return int(round(value, 2 - digits)) if digits > 2 else int(value)


def check_upload_space(folder: Path, size: int) -> None:
    """Raise StudyError if an upload of `size` bytes would exceed the visitor's storage."""
    most = current_access().upload_bytes
    if most is None:
        return
    kept = sum(path.lstat().st_size for path in folder.rglob("*")) if folder.is_dir() else 0
    if kept + size > most:
        raise StudyError(
            f"your files would take {(kept + size) / MEGABYTE:,.0f} MB, but the limit is "
            f"{most / MEGABYTE:,.0f} MB. Run Evenhand on your own machine, or wait: "
            "unused files are deleted after a week"
        )
