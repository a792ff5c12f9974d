"""Descriptions for judges that cannot see: who writes them, with which prompt, at what price."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from components.format import count, dollars, safe
from components.study.bench import Bench
from components.study.fields import choose, press, row, sub_head
from components.study.sheet import View
from judges.describe import describe_plan
from judges.plan import forecast
from judges.prompt import load_prompt
from studies.errors import EvenhandError
from studies.records import JudgeSpec

PROMPTS: Final = (
    ("creation-describe", "in general"),
    ("creation-describe-query", "with an eye on the question"),
)


def describe_form(bench: Bench, view: View) -> str:
    """A button with its price, where the slice has images; nothing where it has none."""
    seen = [item for item in bench.items if item.images]
    if not seen:
        return ""
    without = sum(not any(item.context) for item in seen)
    head = sub_head("Descriptions", f"{count(len(seen) - without)} of {count(len(seen))} have one")
    judges = [judge for judge in _judges(bench) if judge.vision and judge.kind == "endpoint"]
    if not judges:
        told = (
            "A judge that reads only needs a description of each image. Add an endpoint that can "
            "see (tick Vision) and it can write them."
        )
        return f'{head}<p class="hint">{safe(told)}</p>'
    judge = next((one for one in judges if one.name == view.describer), judges[0])
    prompt = view.describing or PROMPTS[0][0]
    names = [(one.name, one.name) for one in judges]
    button = press(
        f"Describe {count(len(seen), 'item')}, {_price(bench, judge, prompt)}",
        {"do": "describe", "judge": judge.name, "prompt": prompt}, errand=True,
    )  # fmt: skip
    return (
        head
        + row("By", choose("describer", names, judge.name), to="describer")
        + row("How", choose("describing", PROMPTS, prompt), to="describing",
              hint="the study goes on with a new items file; the old one stays as it is")
        + f'<div class="eh-row">{button}</div>'
    )  # fmt: skip


def _judges(bench: Bench) -> tuple[JudgeSpec, ...]:
    return bench.plan.study.judges if bench.plan else ()


def _price(bench: Bench, judge: JudgeSpec, prompt: str) -> str:
    assert bench.plan is not None  # there are judges only where there is a plan
    try:
        asked = load_prompt(prompt, bench.sheet.folder)
        texts: dict[str, str] = {}
        if "aspects" in asked.variables:  # written by a first run of asks about as long
            texts = dict.fromkeys((item.id for item in bench.items), "aspects")
        items = list(bench.items)
        plan = describe_plan(bench.plan.study, judge, asked, items, texts)
        some = replace(plan, items=plan.items[:20])
        told: Any = forecast(some)
    except EvenhandError:
        return dollars(None)
    scale = len(plan.items) / max(1, len(some.items)) * (2 if texts else 1)
    return dollars(None if told.dollars is None else told.dollars * scale)
