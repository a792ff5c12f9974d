"""The judges in the form: a card for each, and the drawer in which one is chosen and set."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from components.html import pieces, run_progress, templates
from components.html.format import dollars
from components.html.markup import EMPTY, Markup, join
from components.study.file import judge_entries as entries
from components.study.file.controls import controls
from components.study.file.judge_entries import OTHER_ADDRESS, judge_address, judge_name
from components.study.file.lenient_study import FormState, LenientStudy
from components.study.form.form_rows import address_and_model_rows, judge_form, typed_key_row
from components.study.plan.cost_preview import ForecastByJudge
from judges.money.costs import listed_price
from judges.operations.check_judge import JudgeCheck
from judges.operations.list_models import LocalServer, ModelList
from studies.settings import is_public
from studies.spec.keys import EXTRACTION, JUDGE, PRICE, SIMULATION, STUDY
from studies.spec.provider_presets import provider_presets

html: Final = templates.macros("study/form/judges.html")
PROVIDERS: Final = {
    "openai": "OpenAI",
    "anthropic": "Anthropic",
    "google": "Google",
    "openrouter": "OpenRouter",
    "huggingface": "Hugging Face",
    "mistral": "Mistral",
    "ollama": "Ollama",
    "vllm": "vLLM",
    OTHER_ADDRESS: "Other address",
}
LOCAL_SERVERS: Final = "@local"
"""Key under which `tested` (see `open_judge_drawer`) holds the model servers found on this
machine."""
_SIMULATED_LABELS: Final = {
    "even": "Even-handed",
    "first": "Favours the first answer",
    "long": "Favours longer answers",
    "chance": "Chance",
}


def judge_cards(study: LenientStudy, tested: Mapping[str, JudgeCheck]) -> Markup:
    """HTML of the study's judges, one box each, and the button that adds a judge. `tested`: see
    `open_judge_drawer`."""
    checks = [tested.get(entries.judge_test_key(judge)) for judge in study.judges]
    cards = [
        {
            "name": judge_name(judge),
            "host": provider_title(judge),
            "text": _judge_text(judge),
            "url": judge_address(judge) if entries.judge_kind(judge) == entries.ENDPOINT else None,
            "variable": entries.judge_key_variable(judge),
            "cost": f"{_price_text(judge)}{' · sees images' * bool(judge.get(JUDGE.vision.name))}",
            "keyless": entries.needs_typed_key(judge),
            "result": test_result_html(check) if check else None,
        }
        for judge, check in zip(study.judges, checks, strict=True)
    ]
    return html.cards(cards, pieces.status_badge("error"))


def provider_title(judge: Mapping[str, Any]) -> str:
    """Name of a judge's provider; "built in", "simulated" or "other address" if it has none."""
    kind = entries.judge_kind(judge)
    if kind != entries.ENDPOINT:
        return {entries.EMBEDDED: "built in", entries.SIMULATED: "simulated"}[kind]
    presets = provider_presets()
    if named := presets.get(str(judge.get(JUDGE.provider.name))):
        return named.title
    url = judge_address(judge)
    return next((one.title for one in presets.values() if one.serves(url)), "other address")


def _judge_text(judge: Mapping[str, Any]) -> str:
    """The judge in words: its model and host, or "embedded" or "simulated" with main settings."""
    kind = entries.judge_kind(judge)
    if kind == entries.EMBEDDED:
        read = "reply text" if judge.get(JUDGE.read.name) == "text" else "label probabilities"
        return f"embedded · {read} · on this machine, free"
    if kind == entries.SIMULATED:
        settings = [
            f"{key.name.replace('_', ' ')} {judge[key.name]}"
            for key in SIMULATION
            if key != SIMULATION.slot_weights
            and judge.get(key.name) is not None
            and (judge[key.name] != 0 or entries.simulation_setting_default(key))
        ]
        return f"simulated · {', '.join(settings) or 'no bias, always correct'}"
    host = urlsplit(judge_address(judge)).netloc or "no address"
    return f"{judge.get(JUDGE.model.name) or 'no model'} at {host}"


def _price_text(judge: Mapping[str, Any]) -> str:
    price = judge.get(JUDGE.price.name)
    if isinstance(price, Mapping):
        try:
            sent, back = (float(price.get(k) or 0) for k in (PRICE.input.name, PRICE.output.name))
        except (TypeError, ValueError):
            return "price unknown"
        if not sent and not back:
            return "free"
    else:
        known = listed_price(str(judge.get(JUDGE.model.name)), judge_address(judge))
        if known is None:
            return "price unknown"
        sent, back = known.input, known.output
    return f"{dollars(sent)} per million input tokens, {dollars(back)} per million output tokens"


def test_result_html(check: JudgeCheck) -> Markup:
    """HTML result of a judge's test call: status, duration, the rule that read the verdict, the
    reply's end or the error, and the probabilities of the labels if they are known."""
    end, read, verdict = run_progress.reply_ending(check.reply, 220), check.read, check.read.verdict
    text = f"{check.seconds:.1f} s"
    text += f", parsed by the rule {read.rule}" if read.rule and read.status == "ok" else ""
    text += ": " + (f"“{end}”" if end else read.detail or "no reply")
    if verdict is not None and verdict.label_probabilities:
        text += f" ({', '.join(f'{p:.2f}' for p in verdict.label_probabilities)})"
    return html.test_result(pieces.status_badge(read.status), text, read.detail if end else "")


def extraction_settings_html(study: LenientStudy) -> Markup:
    """HTML menu of the extraction judge, which reads verdicts from replies that no rule can read;
    below it the settings of that judge, if it is none of the study's judges."""
    entry = study.value_in_file(*EXTRACTION.judge)
    own = isinstance(entry, Mapping)
    names = [str(judge.get(JUDGE.name.name, "")) for judge in study.judges]
    options = [("", "none"), *((name, name) for name in names), ("@own", "another judge")]
    menu = controls.select_menu(str(EXTRACTION.judge), options, "@own" if own else str(entry or ""))
    below = (
        judge_form(dict(entry), STUDY.extraction.name, str(entry.get(JUDGE.name.name, "")))
        if own
        else EMPTY
    )
    return html.extraction(STUDY.extraction.rule, menu, EXTRACTION.judge, below)


# --------------------------------------------------------------------------------- drawer


def open_judge_drawer(
    study: LenientStudy,
    state: FormState,
    tested: Mapping[str, Any],
    numbers: ForecastByJudge | None = None,
) -> Markup:
    """HTML drawer with the settings of the judge that is open in the form; empty while none is
    open.

    `tested` maps keys to three kinds of results: `judge_test_key(judge)` to the result of a
    judge's test call, `model_list_key(address)` to the models at an address, and LOCAL_SERVERS
    to the model servers found on this machine. `numbers`: forecast of each judge's calls; None
    without a plan."""
    index = int(state.judge) if state.judge.isdigit() else -1
    if state.panel != "judge" or not 0 <= index < len(study.judges):
        return controls.form_part(seen=state.last_change)
    judge = study.judges[index]
    name, check = judge_name(judge), tested.get(entries.judge_test_key(judge))
    body = html.drawer(
        judge,
        index,
        name,
        local=not is_public(),
        servers=_list_local_models(judge, index, tested.get(LOCAL_SERVERS)),
        tiles=_list_providers(),
        provider=entries.provider_of(judge),
        chosen=_provider_models(judge, index, tested) if entries.provider_of(judge) else EMPTY,
        simulated=_SIMULATED_LABELS,
        settings=judge_form(judge, f"judge.{index}", name),
        result=test_result_html(check) if check else None,
        forecast=numbers.by_judge.get(name) if numbers else None,
    )
    return controls.form_part(body, seen=state.last_change)


def model_list_key(address: str) -> str:
    """Key under which `tested` (see `open_judge_drawer`) holds the list of models of an address."""
    return f"@models {address}"


def _list_local_models(
    judge: Mapping[str, Any], index: int, servers: Sequence[LocalServer] | None
) -> list[tuple[str, str, list[Any]]] | None:
    """For each model server found on this machine: its title; the name of its list in the form,
    such as "models ollama"; and its models, each with the click that chooses it for the judge
    number `index` (from 0). None before a search."""
    if servers is None:
        return None
    current = judge.get(JUDGE.model.name)
    listed: list[tuple[str, str, list[Any]]] = []
    for server in servers:
        use = {"do": "use judge", "judge": index, "template": server.preset.name}
        models = [(one, "", {**use, "model": one}, one == current) for one in server.models]
        title = f"{server.preset.title}, {server.address}"
        listed.append((title, f"models {server.preset.name}", models))
    return listed


def _list_providers() -> list[tuple[str, str, str]]:
    """Name, title and note of each provider."""
    presets = provider_presets()
    notes = {name: "on this machine" if p.local else "needs a key" for name, p in presets.items()}
    return [(name, PROVIDERS[name], notes.get(name, "OpenAI-compatible")) for name in PROVIDERS]


def _provider_models(judge: Mapping[str, Any], index: int, tested: Mapping[str, Any]) -> Markup:
    """HTML of the chosen provider's key field and list of models, or of the button that requests
    the list. For "Other address" the fields for address and model come first; without an address
    there is no button. `index`: number of the judge, from 0; `tested`: see `open_judge_drawer`."""
    address, name = judge_address(judge), judge_name(judge)
    rows: Sequence[Markup] = [typed_key_row(f"judge.{index}", name, address)]
    if entries.provider_of(judge) == OTHER_ADDRESS:
        rows = [*address_and_model_rows(judge, f"judge.{index}", name), *rows]
    found: ModelList | None = tested.get(model_list_key(address)) if address else None
    models = error = None
    if found and found.error:
        error = pieces.notice_html("bad", "No list of models.", found.error)
    elif found:
        prices = [(model, listed_price(model, address)) for model in found.models]
        models = [
            (model, f"{price.input:g} / {price.output:g}" if price else "",
             {"set": f"judge.{index}.{JUDGE.model}", "to": model},
             judge.get(JUDGE.model.name) == model)
            for model, price in prices
        ]  # fmt: skip
    renames = name if entries.is_named_after_model(judge) else ""
    return html.provider_box(index, join(rows), address, error, models, renames)
