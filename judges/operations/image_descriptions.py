"""Descriptions of images by a judge that sees, for judges that do not: they fill `context`.

A describe run is a run like any other: leases, retries, budget and ledger are the engine's, and
what is in its store is not asked again. Its result is a new items file, never the old one changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from judges.engine.engine import Engine
from judges.engine.run import Run
from judges.engine.run_costs import study_spending
from judges.engine.run_state import RunSettings
from judges.judge_errors import PlanError
from judges.planning.plan import Plan, assign_owner, save_plan
from judges.rendering.image_urls import image_url
from judges.rendering.prompt import Prompt, load_prompt
from studies.domain import Item, JudgeSpec
from studies.files.items import dump_item
from studies.sources.load import image_folder, load_items, source_path
from studies.spec.study import Study
from studies.store.store import Store

ASPECTS_PROMPT: Final = "creation-aspects"
"""The prompt that says, from the question alone, what a description is to attend to."""

DESCRIBED_BY_KEY: Final = "context_by"
"""In an item's meta: who described it, with which prompt. Only a file that has it is replaced."""

_OPENED: Final = "<think>"
_CLOSED: Final = "</think>"


@dataclass(frozen=True, slots=True)
class DescribeResult:
    """What a describe run wrote."""

    out: Path | None
    """The new items file; None if nothing was described."""
    described: int
    without_images: int
    failed: Mapping[str, str]
    """By item, why it has no new description; it keeps what it had."""
    dollars: float
    reason: str = ""
    """Why the run ended early, if it did."""


def write_descriptions(
    study: Study,
    judge: str,
    prompt: str,
    out: Path,
    store: Store,
    *,
    aspects_judge: str = "",
    engine: Engine | None = None,
    keys: Mapping[str, str] | None = None,
    settings: RunSettings | None = None,
    watch: Callable[[Run], object] = Run.wait,
) -> DescribeResult:
    """Describes the images of a study's slice and writes its items with the new `context`.

    Returns when all is done; `watch` is called with each run as it starts (one, or two where the
    prompt wants aspects) and returns when it has ended. `aspects_judge` may be a judge that reads
    only; without it `judge` names the aspects too.
    """
    _check_output_file(out, study)
    items = load_items(study.data, study.folder)
    asked = load_prompt(prompt, study.folder)
    _check_describable(study, judge, asked, items)
    own = engine is None
    engine = engine or Engine()
    try:
        doing = _DescribeRuns(study, items, engine, store, keys or {}, settings, watch)
        aspects: dict[str, str] = {}
        if "aspects" in asked.variables:
            named = _find_judge(study, aspects_judge or judge)
            aspects = doing.collect_replies(named, load_prompt(ASPECTS_PROMPT, study.folder))
        done = doing.collect_replies(_find_judge(study, judge), asked, aspects)
    finally:
        if own:
            engine.close()
    stamp = f"{judge}, {asked.name} version {asked.version} ({asked.sha[:8]})"
    folder = image_folder(study.data, study.folder)
    if done:
        _write_rows(out, [_described_row(item, done, stamp, folder, out.parent) for item in items])
    return DescribeResult(
        out if done else None,
        described=len(done),
        without_images=sum(not item.images for item in items),
        failed=doing.failed(done),
        dollars=doing.spent,
        reason=doing.reason,
    )


def build_describe_plan(
    study: Study, judge: JudgeSpec, prompt: Prompt, items: list[Item],
    aspects: Mapping[str, str] | None = None, spent: float = 0.0,
) -> Plan:  # fmt: skip
    """The asks of one describe prompt, for a forecast or a run; only items with images have any."""
    budget = None if study.budget_usd is None else max(0.0, study.budget_usd - spent)
    asking = Study(
        name=f"{study.name}: {prompt.name}",
        data=study.data,
        judges=(judge,),
        prompts=(prompt.name,),
        judge_sees="images",
        concurrency=study.concurrency,
        budget_usd=budget,
        folder=study.folder,
    )
    seen = tuple(replace(item, human=(), checks=()) for item in items if item.images)
    if "aspects" in prompt.variables:
        seen = tuple(item for item in seen if (aspects or {}).get(item.id))
    folder = image_folder(study.data, study.folder)
    return Plan(asking, seen, (prompt,), folder, dict(aspects or {}))


class _DescribeRuns:
    """The runs of one describing, one after another."""

    def __init__(
        self, study: Study, items: list[Item], engine: Engine, store: Store,
        keys: Mapping[str, str], settings: RunSettings | None, watch: Callable[[Run], object],
    ) -> None:  # fmt: skip
        self._study, self._items, self._engine, self._store = study, items, engine, store
        self._keys, self._settings, self._watch = keys, settings, watch
        self._why: dict[str, str] = {}
        self.spent = 0.0
        self.reason = ""

    def collect_replies(
        self, judge: JudgeSpec, prompt: Prompt, aspects: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """What the judge said about each item; what it did not is in `failed`."""
        plan = build_describe_plan(self._study, judge, prompt, self._items, aspects, self.spent)
        if not plan.items:
            return {}
        plan = assign_owner(plan, self._store)
        name = plan.study.name
        save_plan(plan, self._store)
        run = self._engine.start(plan, self._store, keys=self._keys, settings=self._settings)
        self._watch(run)
        run.wait()
        self.reason = self.reason or run.reason
        self.spent += study_spending(self._store, name)
        found = {}
        for judgement in self._store.judgements(name):
            if judgement.ask.prompt != prompt.name:
                continue
            text = without_thoughts(judgement.reply)
            if judgement.status == "ok" and text:
                found[judgement.ask.item] = text
            else:
                told = judgement.detail or "its reply is empty"
                self._why[judgement.ask.item] = f"{prompt.name}: {judgement.status}: {told}"
        return found

    def failed(self, done: Mapping[str, str]) -> dict[str, str]:
        left = [item.id for item in self._items if item.images and item.id not in done]
        return {item: self._why.get(item, "not asked yet") for item in left}


def without_thoughts(reply: str) -> str:
    """A reply without its closed <think> blocks and the white space around them.

    By `find`, in one pass: a regular expression with white space on both sides takes time that
    grows with the square of a run of spaces.
    """
    parts, end = [], 0
    while (start := reply.find(_OPENED, end)) >= 0 and (close := reply.find(_CLOSED, start)) >= 0:
        parts.append(reply[end:start])
        end = close + len(_CLOSED)
    return "".join(part.strip() for part in [*parts, reply[end:]])


def _check_describable(study: Study, judge: str, prompt: Prompt, items: list[Item]) -> None:
    if prompt.protocol != "describe" or prompt.name == ASPECTS_PROMPT:
        raise PlanError(f"prompt {prompt.name!r} does not describe images; take creation-describe")
    spec = _find_judge(study, judge)
    if not spec.vision:
        raise PlanError(f"judge {judge!r} cannot see: give it vision: true if its model can")
    if spec.kind != "endpoint":
        raise PlanError(f"judge {judge!r} is {spec.kind}; only an endpoint can describe images")
    if not any(item.images for item in items):
        raise PlanError("no item of this slice has an image to describe")


def _find_judge(study: Study, name: str) -> JudgeSpec:
    for judge in study.judges:
        if judge.name == name:
            return judge
    known = ", ".join(judge.name for judge in study.judges) or "none"
    raise PlanError(f"no judge named {name!r} in this study. Its judges: {known}")


def _check_output_file(out: Path, study: Study) -> None:
    """A new file, or one that an earlier describing wrote: never the original."""
    if out.resolve() == source_path(study.data, study.folder).resolve():
        raise PlanError(f"{out} is the original; descriptions go into a new file")
    if out.exists() and not _is_describe_output(out):
        raise PlanError(f"{out} exists and was not written by 'describe'; name another file")


def _is_describe_output(out: Path) -> bool:
    try:
        lines = out.read_text(encoding="utf-8").splitlines()
        return any(DESCRIBED_BY_KEY in json.loads(line).get("meta", {}) for line in lines)
    except (OSError, ValueError, AttributeError):
        return False


def _described_row(
    item: Item, texts: Mapping[str, str], stamp: str, folder: Path, beside: Path
) -> dict[str, Any]:
    images = tuple(_relocate_image(image, folder, beside) for image in item.images)
    if item.id not in texts:
        return dump_item(replace(item, images=images))
    meta = {**item.meta, DESCRIBED_BY_KEY: stamp}
    return dump_item(replace(item, images=images, context=texts[item.id], meta=meta))


def _relocate_image(image: str, folder: Path, beside: Path) -> str:
    """An image as the new file can name it: beside it or below, else inside it as a data URL."""
    if image.startswith(("https://", "data:")):
        return image
    path = (folder / image).resolve()
    if path.is_relative_to(beside.resolve()):
        return path.relative_to(beside.resolve()).as_posix()
    return image_url(image, folder)


def _write_rows(out: Path, lines: list[dict[str, Any]]) -> None:
    """Whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f".{out.name}.{os.getpid()}")
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    partial.write_text(text, encoding="utf-8")
    partial.replace(out)
