"""The form of the Study tab as plain values: to a study file and its plan in words. No gradio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from components.format import count, dollars, duration, safe, tokens
from components.panels import Kpi, kpi_strip, notice, wrap
from judges.plan import Forecast, Plan, asks_of, forecast, make_plan
from judges.prompt import known_prompts, load_prompt
from studies.comparisons import coverage
from studies.sources.load import load_all
from studies.store import Store
from studies.study import DataSpec, Study, dump, from_mapping, parse

SOURCES: Final = ("Built-in probe set", "A JSONL file")
JUDGES: Final = ("Embedded model", "Simulated judge", "OpenAI-compatible endpoint")


@dataclass(frozen=True, slots=True)
class Form:
    """Everything a reader can set without writing YAML."""

    name: str = "My study"
    source: str = SOURCES[0]
    file: str = ""
    categories: tuple[str, ...] = ()
    contestants: tuple[str, ...] = ("flawed", "precise")
    items: int = 12
    seed: int = 7
    judges: tuple[str, ...] = (JUDGES[0],)
    first_bias: float = 0.3
    accuracy: float = 0.8
    base_url: str = ""
    model: str = ""
    price_in: float = 0.0
    price_out: float = 0.0
    prompts: tuple[str, ...] = ("brief-letters",)
    orders: str = "both"
    labels: str = "plain"
    repeats: int = 1
    noise_floor: float = 0.2
    budget: float = 0.0


def study_yaml(form: Form) -> str:
    """The study file that says what the form says."""
    return dump(from_mapping(_mapping(form), "form"))


def _mapping(form: Form) -> dict[str, Any]:
    data: dict[str, Any] = {
        "source": "probe" if form.source == SOURCES[0] else form.file or "probe"
    }
    if form.categories:
        data["categories"] = list(form.categories)
    if form.items:
        data |= {"count": int(form.items), "seed": int(form.seed)}
    values: dict[str, Any] = {
        "name": form.name.strip() or "My study",
        "data": data,
        "contestants": list(form.contestants),
        "judges": [_judge(form, kind) for kind in form.judges],
        "prompts": list(form.prompts),
        "labels": form.labels,
        "repeats": int(form.repeats),
        "noise_floor": float(form.noise_floor),
    }
    if form.orders != "both":
        values["orders"] = form.orders
    if form.budget:
        values["budget_usd"] = float(form.budget)
    return values


def _judge(form: Form, kind: str) -> dict[str, Any]:
    if kind == JUDGES[0]:
        return {"name": "embedded", "model": "embedded"}
    if kind == JUDGES[1]:
        return {
            "name": "simulated", "model": "simulated", "first_bias": float(form.first_bias),
            "accuracy": float(form.accuracy), "seed": int(form.seed),
        }  # fmt: skip
    judge: dict[str, Any] = {
        "name": form.model or "endpoint",
        "model": form.model or "model",
        "base_url": form.base_url or "http://127.0.0.1:8000/v1",
    }
    if form.price_in or form.price_out:
        judge["price"] = {"input": float(form.price_in), "output": float(form.price_out)}
    return judge


def step_head(number: int, title: str) -> str:
    """The head of a column of the form, with its number."""
    head = f'<h2><span class="eh-step">{number}</span>{safe(title)}</h2>'
    return wrap(f'<header class="eh-head"><div>{head}</div></header>')


def planned(yaml_text: str, folder: Path) -> Plan:
    return make_plan(parse(yaml_text, "study.yaml", folder))


def show_plan(plan: Plan, store: Store | None = None) -> tuple[str, str]:
    """The plan strip and the words on the Run button: calls, tokens, dollars, minutes."""
    told = forecast(plan, store=store)
    strip = kpi_strip(
        [
            Kpi("Asks", count(told.asks), note=_asks_note(told)),
            Kpi("Tokens", tokens(told.prompt_tokens + told.completion_tokens),
                note=f"{tokens(told.prompt_tokens)} in, {tokens(told.completion_tokens)} out"),
            Kpi("Dollars", dollars(told.dollars), note=_budget_note(plan.study)),
            Kpi("Time", f"about {duration(told.seconds)}", note=_time_note(plan.study)),
        ]
    )  # fmt: skip
    price = dollars(told.dollars)
    return strip, f"Run {count(told.asks)} asks, {price}"


def _asks_note(told: Forecast) -> str:
    return f"{count(told.asks - told.noise)} + {count(told.noise)} for the noise floor"


def _budget_note(study: Study) -> str:
    if study.budget_usd is not None:
        return f"stops before {dollars(study.budget_usd)}"
    kinds = {judge.kind for judge in study.judges}
    return "no budget set" if "endpoint" in kinds else "on this machine"


def _time_note(study: Study) -> str:
    names = ", ".join(judge.name for judge in study.judges)
    return f"{names}; judges are asked side by side"


def show_coverage(plan: Plan) -> str:
    """Who answered how many of the items: said before a cent is spent."""
    found = coverage(plan.study, plan.items)
    total = len(plan.items)
    rows = "".join(
        f"<tr><td>{safe(name)}</td><td class='eh-num'>{n}</td>"
        f"<td class='eh-num'>{total - n or '0'}</td></tr>"
        for name, n in found.items()
    )
    head = (
        "<tr><th>contestant</th><th class='eh-num'>found</th><th class='eh-num'>missing</th></tr>"
    )
    table = f"<table class='eh-tbl plain'><thead>{head}</thead><tbody>{rows}</tbody></table>"
    missing = [name for name, n in found.items() if n < total]
    told = ""
    if missing:
        text = f"{', '.join(missing)}: comparisons on those items are not asked."
        told = notice("warn", "Some answers are missing.", text)
    return wrap(table) + told


def show_item(plan: Plan) -> str:
    item = plan.items[0]
    words = item.instruction if len(item.instruction) < 320 else item.instruction[:320] + " …"
    return wrap(
        f"<p class='eh-small'><b>One of the {len(plan.items)}</b> "
        f"<span class='eh-mute'>{safe(item.id)} · {safe(item.category)}</span></p>"
        f"<p class='eh-small'>{safe(words)}</p>"
    )


def show_prompt(plan: Plan) -> str:
    """The first ask exactly as sent."""
    first = next(asks_of(plan), None)
    if first is None:
        return notice("warn", "Nothing to ask.", "No comparison is left in this slice.")
    messages = "".join(
        f"<div class='eh-msg'><b>{safe(m['role'])}</b><pre>{safe(_text(m['content']))}</pre></div>"
        for m in first.call.messages
    )
    ask = first.ask
    shown = ", then ".join(
        f"{name} as {label}" for name, label in zip(ask.shown, ask.labels, strict=True)
    )
    told = f"{ask.prompt} on item {ask.item}: {shown}"
    return wrap(f"<p class='eh-small eh-mute'>{safe(told)}</p>{messages}")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "[image]") for part in content)


def source_facts(source: str, file: str, folder: Path) -> tuple[list[str], list[str], int]:
    """Categories, contestants and size of a source, for the choices of the form."""
    spec = DataSpec(source="probe" if source == SOURCES[0] or not file else file)
    items = load_all(spec, folder)
    categories = sorted({item.category for item in items if item.category})
    contestants = sorted({name for item in items for name in item.responses})
    return categories, contestants, len(items)


def prompt_choices(protocols: Sequence[str] = ("pairwise", "choice")) -> list[tuple[str, str]]:
    """Prompts that can be asked from this form, with what they are."""
    found = []
    for name in known_prompts():
        prompt = load_prompt(name)
        if prompt.protocol in protocols:
            found.append((f"{name} · {prompt.protocol}, {prompt.verdict}", name))
    return found
