"""The drawer of one judge: providers, the built-in model, simulated judges, then its settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from components.html.format import count, dollars
from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.study.file.controls import drawer_head, form_button, form_part
from components.study.file.lenient_study import FormState, LenientStudy, judge_name
from components.study.form.judge_cards import test_result
from components.study.form.judge_settings import (
    EMBEDDED,
    SIMULATED,
    judge_address,
    judge_form,
    judge_kind,
)
from components.study.plan.cost_preview import ForecastByJudge
from judges.operations.check_judge import JudgeCheck
from studies.spec.keys import JUDGE
from studies.spec.provider_presets import provider_presets

PROVIDERS: Final = (
    ("openai", "OpenAI"),
    ("anthropic", "Anthropic"),
    ("google", "Google"),
    ("openrouter", "OpenRouter"),
    ("huggingface", "Hugging Face"),
    ("mistral", "Mistral"),
    ("ollama", "Ollama"),
    ("vllm", "vLLM"),
    ("endpoint", "Other address"),
)
_SIMULATED_LABELS: Final = (
    ("even", "Even-handed"),
    ("first", "Favours the first"),
    ("long", "Favours length"),
    ("chance", "Chance"),
)


def judge_drawer(
    study: LenientStudy,
    view: FormState,
    tested: Mapping[str, JudgeCheck],
    numbers: ForecastByJudge | None = None,
) -> Markup:
    """The drawer of the judge that the form names; empty while it is closed."""
    place = int(view.judge) if view.judge.isdigit() else -1
    if view.panel != "judge" or not 0 <= place < len(study.judges):
        return form_part(seen=view.last_change)
    judge = study.judges[place]
    name = judge_name(judge)
    check = tested.get(name)
    parts = [
        drawer_head("Choose a judge"),
        _providers(judge, place),
        _section(
            "Built in", "on this machine, free; too small to rank models", _built_in(judge, place)
        ),
        _section("Simulated", "known bias, for testing a plan", _simulated(place)),
        _section(f"Settings of {name}", "", judge_form(judge, f"judge.{place}", name)),
        fill('<div class="eh-jc">{}</div>', test_result(check)) if check else EMPTY,
        _footer(name, numbers),
    ]
    body = fill(
        '<aside class="eh-drawer on" role="dialog" aria-label="Choose a judge">{}</aside>',
        join(parts),
    )
    return form_part(body, seen=view.last_change)


def _section(title: str, aside: str, body: Markup) -> Markup:
    return fill(
        '<section><div class="eh-dsub"><h3>{}</h3><span>{}</span></div>{}</section>',
        title,
        aside,
        body,
    )


def _providers(judge: Mapping[str, Any], place: int) -> Markup:
    chosen = _provider_of(judge)
    tiles = join(
        _tile(title, _tile_note(name), {"do": "use judge", "judge": place, "template": name},
              name == chosen)
        for name, title in PROVIDERS
    )  # fmt: skip
    return _section(
        "Providers",
        "keys stay in memory, in no file or link",
        fill('<div class="eh-tiles">{}</div>', tiles),
    )


def _provider_of(judge: Mapping[str, Any]) -> str:
    if judge_kind(judge) in (EMBEDDED, SIMULATED):
        return ""
    if named := str(judge.get(JUDGE.provider.name) or ""):
        return named
    url = judge_address(judge)
    known = (name for name, preset in provider_presets().items() if preset.serves(url))
    return next(known, "endpoint")


def _tile_note(name: str) -> str:
    preset = provider_presets().get(name)
    if preset is None:
        return "OpenAI-compatible"
    return "on this machine" if preset.local else "needs a key"


def _tile(title: str, note: str, action: Mapping[str, Any], on: bool) -> Markup:
    made = attributes(
        {
            "type": "button",
            "class": "on" if on else None,
            "aria-pressed": str(on).lower(),
            "data-do": json.dumps(dict(action)),
        }
    )
    return fill("<button{}><b>{}</b>{}</button>", made, title, note)


def _built_in(judge: Mapping[str, Any], place: int) -> Markup:
    on = judge_kind(judge) == EMBEDDED
    action = {"do": "use judge", "judge": place, "template": EMBEDDED}
    return fill(
        '<div class="eh-tiles one">{}</div>', _tile("SmolLM2-135M", "0.3 GB, built in", action, on)
    )


def _simulated(place: int) -> Markup:
    return fill(
        '<div class="eh-row">{}</div>',
        join(
            form_button(
                words, {"do": "use judge", "judge": place, "template": template}, kind="pill"
            )
            for template, words in _SIMULATED_LABELS
        ),
    )


def _footer(name: str, numbers: ForecastByJudge | None) -> Markup:
    told = ""
    if numbers is not None and (mine := numbers.by_judge.get(name)):
        told = f"This study: {count(mine.asks, 'call')}, {dollars(mine.dollars)}"
    test = form_button(
        "Test: 1 call", {"do": "test", "judge": name}, errand=True, label=f"Test {name}: 1 call"
    )
    use = fill(
        '<button type="button" class="eh-btn primary" data-do="{}">{}</button>',
        json.dumps({"do": "close"}),
        f"Use {name}",
    )
    return fill(
        '<div class="ft"><span class="eh-small eh-mute">{}</span>{}{}</div>', told, test, use
    )
