"""Image descriptions: a judge with vision describes each item's images for judges without vision.

The descriptions become the items' `context`. The engine makes the calls as in any run, with leases,
retries, budget and ledger, and stored replies are reused. The result is a new items file; the
original is not changed.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from judges.engine.engine import Engine
from judges.engine.run import Run
from judges.engine.run_state import RunSettings
from judges.judge_errors import PlanError
from judges.planning.plan import Plan, plan_for_current_visitor, save_plan
from judges.rendering.messages import image_url
from judges.rendering.prompt import Prompt, load_prompt
from studies.domain import Item, JudgeSpec
from studies.files.items import dump_item
from studies.files.partial_files import replace_when_written
from studies.sources.load import image_folder, load_items, source_path
from studies.spec.study import Study
from studies.store.queries.run_costs import study_spending
from studies.store.store import Store

ASPECTS_PROMPT: Final = "creation-aspects"
"""Name of the prompt that asks, given the question alone, which aspects to describe."""

DESCRIBED_BY_KEY: Final = "context_by"
"""Name of the entry in an item's `meta` that names the describing judge and prompt. An existing
output file without this entry is not overwritten."""

_OPENED: Final = "<think>"
_CLOSED: Final = "</think>"


@dataclass(frozen=True, slots=True)
class DescribeResult:
    """Result of describing the images of a study: the output file, counts and failures."""

    out: Path | None
    """The new items file; None if nothing was described."""
    described: int
    without_images: int
    failed: Mapping[str, str]
    """Item -> reason why the item has no new description; an old description is kept."""
    dollars: float
    """Dollars spent on these descriptions and their aspects, earlier runs included."""
    reason: str = ""
    """Reason why the run ended early; empty if it did not."""


def describe_images_to_file(
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
    """Let a judge describe the images of a study's items, and write all items to the file `out`,
    with the descriptions as `context`; if no image was described, no file is written. PlanError,
    before any call, if `out` must not be overwritten or the judge, the prompt or the items do not
    fit.

    If the prompt needs a list of aspects to describe, a first run of `aspects_judge` (default:
    `judge`), which needs no vision, makes this list. `watch` is called with each run as it starts,
    and returns when the run has ended. `keys` is judge -> typed API key. Without `engine`, one is
    started and closed here.
    """
    _check_output_file(out, study)
    items = load_items(study.data, study.folder)
    describe_prompt = load_prompt(prompt, study.folder)
    _check_describable(study, judge, describe_prompt, items)
    own = engine is None
    engine = engine or Engine()
    try:
        needs = "aspects" in describe_prompt.variables
        prompts = [ASPECTS_PROMPT, describe_prompt.name] if needs else [describe_prompt.name]
        runs = _DescribeRuns(study, items, prompts, engine, store, keys or {}, settings, watch)
        aspects: dict[str, str] = {}
        if needs:
            reader = _find_judge(study, aspects_judge or judge)
            aspects = runs.run_and_collect_replies(
                reader, load_prompt(ASPECTS_PROMPT, study.folder)
            )
        texts = runs.run_and_collect_replies(_find_judge(study, judge), describe_prompt, aspects)
    finally:
        if own:
            engine.close()
    version = f"version {describe_prompt.version} ({describe_prompt.sha[:8]})"
    stamp = f"{judge}, {describe_prompt.name} {version}"
    folder = image_folder(study.data, study.folder)
    if texts:
        rows = [_dump_described_item(item, texts, stamp, folder, out.parent) for item in items]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        with replace_when_written(out) as partial:
            partial.write_text(lines, encoding="utf-8")
    return DescribeResult(
        out if texts else None,
        described=len(texts),
        without_images=sum(not item.images for item in items),
        failed=runs.failure_reasons(texts),
        dollars=runs.dollars_spent(),
        reason=runs.reason,
    )


def build_describe_plan(
    study: Study,
    judge: JudgeSpec,
    prompt: Prompt,
    items: list[Item],
    aspects: Mapping[str, str] | None = None,
    spent: float = 0.0,
) -> Plan:
    """Build the plan of asking one judge with one prompt about each item with images. `aspects` is
    item -> aspects to describe; if the prompt needs them, items without an entry are left out.
    `spent` dollars are deducted from the budget."""
    budget = None if study.budget_usd is None else max(0.0, study.budget_usd - spent)
    describe_study = Study(
        name=f"{study.name}: {prompt.name}",
        data=study.data,
        judges=(judge,),
        prompts=(prompt.name,),
        judge_sees="images",
        concurrency=study.concurrency,
        budget_usd=budget,
        folder=study.folder,
    )
    needs = "aspects" in prompt.variables
    described = tuple(
        replace(item, human=(), checks=())
        for item in items
        if item.images and (not needs or (aspects or {}).get(item.id))
    )
    folder = image_folder(study.data, study.folder)
    return Plan(describe_study, described, (prompt,), folder, dict(aspects or {}))


@dataclass(slots=True)
class _DescribeRuns:
    """The one or two runs in which a judge describes images (with aspects, the first run asks for
    the aspects to describe), with their total cost and failures."""

    study: Study
    items: list[Item]
    prompts: list[str]
    engine: Engine
    store: Store
    keys: Mapping[str, str]
    settings: RunSettings | None
    watch: Callable[[Run], object]
    failures: dict[str, str] = field(default_factory=dict)
    reason: str = ""

    def dollars_spent(self, besides: str = "") -> float:
        """Return the dollars spent by this and earlier runs, except on the prompt `besides`."""
        names = (f"{self.study.name}: {prompt}" for prompt in self.prompts if prompt != besides)
        return sum(
            study_spending(self.store, self.store.name_to_save_under(name)) for name in names
        )

    def run_and_collect_replies(
        self, judge: JudgeSpec, prompt: Prompt, aspects: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Ask the judge with the prompt about each item with images, and wait until the run ends.
        Return item -> reply, without reasoning blocks. `aspects` is item -> aspects to describe,
        for a prompt that needs them. Items without a usable reply are left out;
        `failure_reasons` returns the reasons."""
        spent = self.dollars_spent(besides=prompt.name)  # the run itself counts that on its prompt
        plan = build_describe_plan(self.study, judge, prompt, self.items, aspects, spent)
        if not plan.items:
            return {}
        plan = plan_for_current_visitor(plan, self.store)
        name = plan.study.name
        save_plan(plan, self.store)
        run = self.engine.start(plan, self.store, keys=self.keys, settings=self.settings)
        self.watch(run)
        run.wait()
        self.reason = self.reason or run.reason
        found = {}
        for judgement in self.store.judgements(name):
            if judgement.ask.prompt != prompt.name:
                continue
            text = remove_think_blocks(judgement.reply)
            if judgement.status == "ok" and text:
                found[judgement.ask.item] = text
            else:
                detail = judgement.detail or "its reply is empty"
                self.failures[judgement.ask.item] = f"{prompt.name}: {judgement.status}: {detail}"
        return found

    def failure_reasons(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return item -> reason, for each item that has images but no description in `texts`."""
        missing = [item.id for item in self.items if item.images and item.id not in texts]
        return {item: self.failures.get(item, "not called yet") for item in missing}


def remove_think_blocks(reply: str) -> str:
    """Return a reply without its <think>…</think> blocks. White space beside a removed block, and
    at both ends of the reply, is removed too. A block that is not closed is kept."""
    parts, end = [], 0
    while (start := reply.find(_OPENED, end)) >= 0 and (close := reply.find(_CLOSED, start)) >= 0:
        parts.append(reply[end:start])
        end = close + len(_CLOSED)
    return "".join(part.strip() for part in [*parts, reply[end:]])


def _check_describable(study: Study, judge: str, prompt: Prompt, items: list[Item]) -> None:
    if prompt.protocol != "describe" or prompt.name == ASPECTS_PROMPT:
        raise PlanError(f"prompt {prompt.name!r} does not describe images; use creation-describe")
    spec = _find_judge(study, judge)
    if not spec.vision:
        raise PlanError(
            f"judge {judge!r} has no vision; set vision: true if its model accepts images"
        )
    if spec.kind != "endpoint":
        raise PlanError(
            f"judge {judge!r} is {spec.kind}; choose an endpoint judge to describe images"
        )
    if not any(item.images for item in items):
        raise PlanError("no item of this slice has an image to describe; choose other items")


def _find_judge(study: Study, name: str) -> JudgeSpec:
    for judge in study.judges:
        if judge.name == name:
            return judge
    known = ", ".join(judge.name for judge in study.judges) or "none"
    raise PlanError(f"no judge named {name!r} in this study. Its judges: {known}")


def _check_output_file(out: Path, study: Study) -> None:
    """Raise PlanError if the output file is the original file, or an existing file that `describe`
    did not write."""
    if out.resolve() == source_path(study.data, study.folder).resolve():
        raise PlanError(f"{out} is the original items file; name a new file for the descriptions")
    if out.exists() and not _is_describe_output(out):
        raise PlanError(f"{out} exists and was not written by 'describe'; name another file")


def _is_describe_output(out: Path) -> bool:
    try:
        lines = out.read_text(encoding="utf-8").splitlines()
        return any(DESCRIBED_BY_KEY in json.loads(line).get("meta", {}) for line in lines)
    except (OSError, ValueError, AttributeError):
        return False


def _dump_described_item(
    item: Item, texts: Mapping[str, str], stamp: str, folder: Path, beside: Path
) -> dict[str, Any]:
    images = tuple(_relocate_image_path(image, folder, beside) for image in item.images)
    item = replace(item, images=images)
    if item.id in texts:
        meta = {**item.meta, DESCRIBED_BY_KEY: stamp}
        item = replace(item, context=texts[item.id], meta=meta)
    return dump_item(item)


def _relocate_image_path(image: str, folder: Path, beside: Path) -> str:
    """Convert an image's path relative to `folder` into one relative to `beside`, the folder of the
    new items file; into a data URL if the image lies outside `beside`. A URL stays unchanged."""
    if image.startswith(("https://", "data:")):
        return image
    path = (folder / image).resolve()
    if path.is_relative_to(beside.resolve()):
        return path.relative_to(beside.resolve()).as_posix()
    return image_url(image, folder)
