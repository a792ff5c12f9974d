"""Drawer of one judge: choice of provider, embedded model or simulated judge; then settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from components.html.format import count, dollars
from components.html.markup import EMPTY, Markup, attributes, fill, join
from components.html.pieces import notice_html
from components.study.file.controls import drawer_head, form_button, form_part
from components.study.file.lenient_study import FormState, LenientStudy, judge_name
from components.study.form.judge_cards import test_result
from components.study.form.judge_settings import (
    EMBEDDED,
    OTHER_ADDRESS,
    address_rows,
    is_named_after_model,
    judge_address,
    judge_form,
    judge_kind,
    key_row,
    provider_of,
)
from components.study.plan.cost_preview import ForecastByJudge
from components.study.plan.public_checks import is_public
from judges.money.costs import listed_price
from judges.operations.check_judge import JudgeCheck
from judges.operations.list_models import LocalServer, ModelList
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
    (OTHER_ADDRESS, "Other address"),
)
MAX_ROWS: Final = 8
"""Number of models listed; the others are in an expandable part."""
LOCAL_SERVERS: Final = "@local"
"""Key under which `tested` (see `judge_drawer`) holds the model servers found on this machine."""
_SIMULATED_LABELS: Final = (
    ("even", "Even-handed"),
    ("first", "Favours the first answer"),
    ("long", "Favours longer answers"),
    ("chance", "Chance"),
)


def judge_drawer(
    study: LenientStudy,
    view: FormState,
    tested: Mapping[str, Any],
    numbers: ForecastByJudge | None = None,
) -> Markup:
    """HTML drawer of the judge that is opened in the form; empty while no judge is open. `tested`
    holds three kinds of results: of a judge's test call (under its name), the models at an address
    (under `models_key(address)`), and this machine's model servers (under LOCAL_SERVERS)."""
    place = int(view.judge) if view.judge.isdigit() else -1
    if view.panel != "judge" or not 0 <= place < len(study.judges):
        return form_part(seen=view.last_change)
    judge = study.judges[place]
    name = judge_name(judge)
    check: JudgeCheck | None = tested.get(name)
    parts = [
        drawer_head("Choose a judge"),
        _local_servers(judge, place, tested.get(LOCAL_SERVERS)),
        _providers(judge, place, tested),
        _section(
            "Built in",
            "runs on this machine, free; too small to judge reliably",
            _built_in(judge, place),
        ),
        _section(
            "Simulated",
            "simulated judges with a known bias, for testing a study",
            _simulated(place),
        ),
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


def models_key(address: str) -> str:
    """Key under which `tested` (see `judge_drawer`) holds the list of models of an address."""
    return f"@models {address}"


def _local_servers(judge: Mapping[str, Any], place: int, found: Any) -> Markup:
    """HTML list of the model servers on this machine with their models; empty on a public page."""
    if is_public():
        return EMPTY
    look = form_button(
        "Look again" if found is not None else "Look for Ollama, LM Studio, llama.cpp, vLLM",
        {"do": "find servers"}, kind="small", errand=True,
    )  # fmt: skip
    servers: Sequence[LocalServer] = found or ()
    listed = join(
        fill(
            '<p class="eh-small eh-mute">{}</p>{}',
            f"{server.preset.title}, {server.address}",
            _model_list([
                _model_row(model, "", {"do": "use judge", "judge": place,
                           "template": server.preset.name, "model": model},
                           judge.get(JUDGE.model.name) == model)
                for model in server.models
            ], keep=f"models {server.preset.name}"),
        )
        for server in servers
    )  # fmt: skip
    none = found is not None and not servers
    told = fill(
        '<p class="hint">{}</p>', "No model server on this machine answers on its usual port."
    )
    return _section("On this machine", "no listed price", listed + (told if none else EMPTY) + look)


def _model_list(rows: Sequence[Markup], keep: str) -> Markup:
    """HTML list of models: MAX_ROWS rows, the others in an expandable part. By the part's name
    `keep`, the browser keeps it open when the list is redrawn."""
    shown = fill('<div class="eh-models">{}</div>', join(rows[:MAX_ROWS]))
    if len(rows) <= MAX_ROWS:
        return shown
    return shown + fill(
        '<details class="eh-how" data-keep="{}"><summary>{}</summary>'
        '<div class="eh-models">{}</div></details>',
        keep,
        count(len(rows) - MAX_ROWS, "more model"),
        join(rows[MAX_ROWS:]),
    )


def _model_row(
    model: str, aside: str, action: Mapping[str, Any], on: bool, renames: str = ""
) -> Markup:
    """HTML row of a model that a click chooses. `renames`: judge that the click also renames to the
    model's name; the page then keeps the key typed for the judge."""
    made = attributes(
        {
            "type": "button",
            "class": "on" if on else None,
            "aria-pressed": str(on).lower(),
            "data-do": json.dumps(dict(action), ensure_ascii=False),
            "data-renames": renames or None,
        }
    )
    return fill("<button{} data-row><b>{}</b><span>{}</span></button>", made, model, aside)


def _providers(judge: Mapping[str, Any], place: int, tested: Mapping[str, Any]) -> Markup:
    chosen = provider_of(judge)
    tiles = join(_provider_tile(name, title, place, chosen) for name, title in PROVIDERS)
    return _section(
        "Providers",
        "API keys stay in memory and are never written to a file or link",
        fill('<div class="eh-tiles">{}</div>', tiles)
        + (_provider_models(judge, place, tested) if chosen else EMPTY),
    )


def _provider_tile(name: str, title: str, place: int, chosen: str) -> Markup:
    """HTML tile of a provider. The tile "Other address" moves the cursor to the address field, and
    keeps an address typed there before."""
    action = {"do": "use judge", "judge": place, "template": name}
    if name != OTHER_ADDRESS:
        return _tile(title, _tile_note(name), action, name == chosen)
    if chosen == OTHER_ADDRESS:
        action = {"do": "open judge", "judge": str(place)}
    field = f"judge.{place}.{JUDGE.base_url}"
    return _tile(title, _tile_note(name), action, name == chosen, focus=field)


def _provider_models(judge: Mapping[str, Any], place: int, tested: Mapping[str, Any]) -> Markup:
    """HTML of the chosen provider's key field and list of models, or of the button that requests
    the list. For "Other address" the fields for address and model come first; without an address
    there is no button."""
    address, name = judge_address(judge), judge_name(judge)
    key = key_row(f"judge.{place}", name, address)
    if provider_of(judge) == OTHER_ADDRESS:
        key = join([*address_rows(judge, f"judge.{place}", name), key])
    if not address:
        return fill('<div class="eh-kbox">{}</div>', key)
    found: ModelList | None = tested.get(models_key(address))
    ask = form_button(
        "Check the key and list the models", {"do": "models", "judge": place}, kind="small",
        errand=True,
    )  # fmt: skip
    if found is None:
        return fill('<div class="eh-kbox">{}{}</div>', key, ask)
    if found.error:
        told = notice_html("bad", "No list of models.", found.error)
        return fill('<div class="eh-kbox">{}{}{}</div>', key, told, ask)
    rows = [_listed_model(model, judge, place) for model in found.models]
    head = fill(
        '<p class="eh-small eh-mute">{}</p>',
        f"{count(len(rows), 'model')} from the provider; prices in dollars per million input / "
        "output tokens",
    )
    return fill('<div class="eh-kbox">{}{}{}</div>', key, head, _model_list(rows, keep="models"))


def _listed_model(model: str, judge: Mapping[str, Any], place: int) -> Markup:
    price = listed_price(model, judge_address(judge))
    aside = f"{price.input:g} / {price.output:g}" if price else ""
    action = {"set": f"judge.{place}.{JUDGE.model}", "to": model}
    current = judge.get(JUDGE.model.name)
    renames = judge_name(judge) if is_named_after_model(judge) else ""
    return _model_row(model, aside, action, current == model, renames)


def _tile_note(name: str) -> str:
    preset = provider_presets().get(name)
    if preset is None:
        return "OpenAI-compatible"
    return "on this machine" if preset.local else "needs a key"


def _tile(title: str, note: str, action: Mapping[str, Any], on: bool, *, focus: str = "") -> Markup:
    """HTML tile that a click chooses; `focus`: field that then gets the focus."""
    made = attributes(
        {
            "type": "button",
            "class": "on" if on else None,
            "aria-pressed": str(on).lower(),
            "data-do": json.dumps(dict(action)),
            "data-focus-field": focus or None,
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
