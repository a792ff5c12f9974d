"""The plan of a study: its asks (planned calls: comparisons x prompts x judges) and their keys, the
hashes of what is sent."""

import hashlib
import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import judges.verdicts.verdict  # noqa: F401  registers the readers of replies
from judges.judge_errors import PlanError
from judges.models.interface import JudgeCall
from judges.models.weights import locate_weights, sha256_of
from judges.planning.plan_checks import check_plan, presentation_lister_for, skip_reason
from judges.rendering.messages import (
    PromptInputs,
    image_file_sha,
    list_arrangement_labels,
    render_prompt,
    replace_images_by_hash,
    rubric_criteria,
    slot_labels,
)
from judges.rendering.messages import image_url as image_url
from judges.rendering.prompt import (
    Prompt,
    add_versions_to_equal_names,
    canonical_json,
    load_prompt,
    parse_prompt,
)
from judges.twins.make_twins import add_twins
from studies.domain import UNRELATED, Ask, Item, Judgement, JudgeSpec
from studies.exchange.recorded_studies import recorded_verdicts_and_votes
from studies.people.item_votes import has_votes
from studies.sources.load import LoadedSource, image_folder, load_source
from studies.spec.presentations import Presentation, unrelated_answer
from studies.spec.study import DataSpec, Study, dump_study
from studies.store.queries.adapted_requests import is_key_of_call
from studies.store.rows import PromptText, RequestRecord
from studies.store.store import PlanChange, Store

PLAN_VERSION: Final = 2
"""Version of the planning rules, increased when they change; stored plans of older versions are
then made again."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A study with the items, prompts and images from which its asks (requests to judges) are
    rendered."""

    study: Study
    items: tuple[Item, ...]
    prompts: tuple[Prompt, ...]
    images: Path
    """The folder that image paths are relative to."""
    aspects: Mapping[str, str] = field(default_factory=dict)
    """Item -> aspects that the description of its images should cover; only in plans that describe
    images."""
    recorded: tuple[Judgement, ...] = ()
    """Verdicts contained in the data, stored in addition to those of the asks."""
    ignored_verdicts: int = 0
    """Number of verdicts in the data that the study does not use, because the data is a folder of
    shards; these can only be imported as a separate study."""
    salt: str = ""
    """Text, different for each visitor, that is hashed into the keys of calls to endpoints, so that
    replies paid for by one visitor are not reused for another. If empty, equal calls have equal
    keys."""
    stored_sha: str = ""
    """Hash of the stored plan from which this plan was read; empty for a new plan."""

    @property
    def judges_single_answers(self) -> bool:
        """Whether the plan has prompts, and all of them judge single answers."""
        return bool(self.prompts) and all(prompt.protocol == "single" for prompt in self.prompts)

    def judge(self, name: str) -> JudgeSpec:
        return next(judge for judge in self.study.judges if judge.name == name)

    def prompt(self, name: str) -> Prompt:
        return next(prompt for prompt in self.prompts if prompt.name == name)


@dataclass(frozen=True, slots=True)
class PlannedAsk:
    """One planned call of a judge: what identifies it (`ask`), the rendered request (`call`), and
    the record of this request for the store."""

    ask: Ask
    request: RequestRecord
    call: JudgeCall


LoadRecords = Callable[[DataSpec, Path], LoadedSource]
CheckSize = Callable[[Study, tuple[Item, ...], tuple[Prompt, ...]], None]


def make_plan(
    study: Study, load: LoadRecords = load_source, check_size: CheckSize | None = None
) -> Plan:
    """Load data and prompts of a study and check its plan; raise an error if they cannot be loaded,
    PlanError if the study cannot run.

    `load` is the function that loads the data. `check_size` is called before the checks and raises
    an error if there are too many calls.
    """
    loaded = load(study.data, study.folder).select_slice(study.data)
    study = replace(study, data=loaded.pin_revision(study.data))
    items = add_twins(study, loaded.items).items
    prompts = add_versions_to_equal_names(
        [load_prompt(name, study.folder) for name in study.prompts]
    )
    if study.protocol:
        prompts = tuple(p for p in prompts if p.protocol == study.protocol)
    if check_size is not None:
        check_size(study, items, prompts)
    check_plan(study, items, prompts)
    images = image_folder(study.data, study.folder)
    ignored = loaded.shards.rows if loaded.shards is not None else 0
    return Plan(
        study, items, prompts, images, recorded=tuple(loaded.judgements), ignored_verdicts=ignored
    )


def asks_of(plan: Plan, identities: Mapping[str, str] | None = None) -> Iterator[PlannedAsk]:
    """Yield all planned calls of a study, in the order in which they are made. Items come in a
    random order (fixed by the study's seed), each with all judges and all prompts that do not
    skip it. The judgements of an unfinished run are therefore a random sample of the items.

    `identities` is judge -> text that identifies the judge (see `identity_of`), for judges where
    it is known from records; for the others it is computed."""
    items = list(plan.items)
    random.Random(f"plan:{plan.study.data.seed}").shuffle(items)
    kinds = dict.fromkeys(presentation_lister_for(prompt) for prompt in plan.prompts)
    presentations = {kind: _group_by_item(kind(plan.study, items)) for kind in kinds}
    identities = {
        j.name: (identities or {}).get(j.name) or identity_of(j, plan.study.families)
        for j in plan.study.judges
    }
    prompts_for = {
        item.id: [p for p in plan.prompts if not skip_reason(p, item, plan.prompts)]
        for item in items
    }
    parameters: dict[tuple[object, ...], dict[str, Any]] = {}
    for item in items:
        for judge in plan.study.judges:
            for prompt in prompts_for[item.id]:
                for presentation in presentations[presentation_lister_for(prompt)].get(item.id, ()):
                    identity = identities[judge.name]
                    count = len(presentation.shown)
                    for offered in _add_labels(plan.study, prompt, presentation):
                        labels = offered.labels if prompt.options else ()
                        at = (judge.name, prompt.name, count, labels)
                        if at not in parameters:
                            parameters[at] = request_parameters(judge, prompt, count, labels)
                        yield _plan_ask(plan, judge, prompt, offered, identity, parameters[at])


class _LabelledPresentation(NamedTuple):
    """Answers in the order shown, with the labels of the request (such as A and B), and in how many
    orders the same answers are shown (`orders`). For a verdict on one answer, the labels are the
    options and criteria that are offered, and `orders` counts the orders of these."""

    presentation: Presentation
    labels: tuple[str, ...]
    orders: int


def _add_labels(
    study: Study, prompt: Prompt, presentation: Presentation
) -> list[_LabelledPresentation]:
    """Return the calls to make for these answers in this order, each with its labels: one call or,
    for a verdict on one answer, one for each order of options and criteria that the study asks
    for."""
    if not prompt.options:
        labels = slot_labels(prompt, len(presentation.shown), presentation.crossed)
        return [_LabelledPresentation(presentation, labels, presentation.orders)]
    found = list_arrangement_labels(prompt, study.options, study.criteria_order, study.criteria)
    return [_LabelledPresentation(presentation, labels, len(found)) for labels in found]


def _group_by_item(presentations: Iterator[Presentation]) -> dict[str, list[Presentation]]:
    found: dict[str, list[Presentation]] = {}
    for presentation in presentations:
        found.setdefault(presentation.item.id, []).append(presentation)
    return found


def render_call(plan: Plan, ask: Ask, items: Mapping[str, Item]) -> JudgeCall:
    """Render the request of a stored ask again, from its item and prompt."""
    judge, prompt = plan.judge(ask.judge), plan.prompt(ask.prompt)
    unrelated = items.get(ask.unrelated_item or "")
    parameters = request_parameters(judge, prompt, len(ask.shown), ask.labels)
    item = items[ask.item]
    call = _render_request(plan, judge, prompt, item, ask.shown, ask.labels, unrelated, parameters)
    return replace(call, key=ask.key)


def plan_includes(plan: Plan, ask: Ask, items: Mapping[str, Item]) -> bool:
    """Whether this plan would send the same request for a stored ask (planned call). Parameters
    that the endpoint refused are not compared.

    A study may be saved with another plan during a run. The run must then not make calls of the
    new plan with its old texts, because the replies would be stored under wrong keys."""
    judges = {judge.name for judge in plan.study.judges}
    prompts = {prompt.name for prompt in plan.prompts}
    if ask.item not in items or ask.judge not in judges or ask.prompt not in prompts:
        return False
    return _is_request_of(plan, ask, render_call(plan, ask, items))


def render_call_to_send(plan: Plan, ask: Ask, items: Mapping[str, Item]) -> JudgeCall:
    """Render the request of a stored ask to send it; PlanError if an image was replaced after the
    study was saved, because the reply would be stored as one about the old image."""
    call = render_call(plan, ask, items)
    if call.inputs.images and not _is_request_of(plan, ask, call):
        raise PlanError(
            f"an image of item {ask.item!r} has changed since the study was saved; save the study "
            "again (Run on the Study tab, or python -m judges run with the study file)"
        )
    return call


def _is_request_of(plan: Plan, ask: Ask, call: JudgeCall) -> bool:
    identity = identity_of(call.judge, plan.study.families)
    key = call_key_of(identity, call, ask.repeat, salt=_salt_of_judge(plan, call.judge))
    return is_key_of_call(ask.key, key)


def save_plan(plan: Plan, store: Store) -> PlanChange:
    """Save a study with its plan, unless the same plan is stored already; return the numbers of
    calls kept, dropped and added."""
    sha = plan_sha(plan)
    if store.plan_sha(plan.study.name) == sha:
        return PlanChange(store.status_counts(plan.study.name)["planned"], 0, 0)
    asks = [(planned.ask, planned.request) for planned in asks_of(plan)]
    texts = [PromptText(p.sha, p.name, p.version, p.yaml) for p in plan.prompts]
    recorded = recorded_verdicts_and_votes(
        store, plan.study, plan.items, plan.recorded, tuple(ask for ask, _ in asks)
    )
    return store.save_study(plan.study, plan.items, asks, texts, plan_sha=sha, recorded=recorded)


def count_replies_dropped_by_plan(plan: Plan, store: Store) -> int:
    """Count the calls with a stored reply that would no longer belong to the study if this plan
    replaced the stored plan of the same name."""
    name = plan.study.name
    if store.plan_sha(name) == plan_sha(plan):
        return 0
    answered = store.answered_keys(name)
    return len(answered - {planned.ask.key for planned in asks_of(plan)}) if answered else 0


def find_free_study_name(store: Store, name: str) -> str:
    """Return the name if no study in the store has it, else the name with the first free number
    from 2 on."""
    taken = {line.name for line in store.studies()}
    numbered = (f"{name} {number}" for number in itertools.count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def plan_for_current_visitor(plan: Plan, store: Store) -> Plan:
    """Return the plan for the current visitor: with the name under which the visitor saves the
    study, and the salt (a text hashed into the keys of its calls, different for each visitor)."""
    name = store.name_to_save_under(plan.study.name)
    return replace(plan, study=replace(plan.study, name=name), salt=store.salt)


def plan_sha(plan: Plan) -> str:
    """Return a hash that changes when anything changes that determines the calls: the study, its
    items, their twins (changed copies of answers) and aspects, the images that judges see, the
    prompts, the identities of the judges (`identity_of`), recorded verdicts, and the version of
    the rules by which plans are made."""
    shown = plan.items if any(_sees_images(plan, judge) for judge in plan.study.judges) else ()
    parts = [
        str(PLAN_VERSION),
        dump_study(replace(plan.study, preset="")),  # presets may change with a release
        *(repr(item) for item in plan.items),
        *(image_file_sha(path, plan.images) for item in shown for path in item.images),
        *(prompt.sha for prompt in plan.prompts),
        *(repr(prompt.format) for prompt in plan.prompts),  # its closing instruction is sent too
        *(identity_of(judge) for judge in plan.study.judges),
        *(repr((j.ask, j.status, j.verdict)) for j in plan.recorded),
        *([canonical_json(dict(plan.aspects))] if plan.aspects else []),
        *(canonical_json(dict(item.twins)) for item in plan.items if item.twins),
        *(["votes"] if has_votes(plan.items) else []),
    ]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def identity_of(judge: JudgeSpec, families: Mapping[str, str] | None = None) -> str:
    """Return the text that stands for the judge in the keys of its calls: the address of an
    endpoint, the settings of a simulated judge, or the hash of the weights of the embedded judge
    (which runs on this machine; WeightsMissing if it has no such weights). `families` is model
    -> model family; it is used only for simulated judges that prefer their own family."""
    if judge.kind == "embedded":
        return f"embedded:{sha256_of(locate_weights(judge.weights))}"
    if judge.kind == "simulated":
        settings = dict(judge.simulation)
        if settings.get("self_preference"):  # its verdicts then depend on the families
            settings |= {"family": judge.family, "families": dict(families or {})}
        return f"simulated:{canonical_json(settings)}"
    return judge.endpoint


def request_parameters(
    judge: JudgeSpec, prompt: Prompt, n_options: int, labels: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the parameters of a request besides model and messages, such as `max_tokens`.
    `n_options` is the number of answers shown. `labels` are the options and criteria offered;
    they are needed only for a verdict on one answer."""
    values: dict[str, Any] = {}
    if judge.kind != "simulated":
        values["max_tokens"] = judge.max_tokens
        for name in ("temperature", "top_p", "seed", "reasoning_effort"):
            if (value := getattr(judge, name)) is not None:
                values[name] = value
    if judge.read == "probabilities" and prompt.prefill_for(n_options, labels) is not None:
        values |= {"max_tokens": 1, "logprobs": True, "top_logprobs": 20}
    elif (
        judge.read == "probabilities"
        and judge.kind != "embedded"  # its replies to rubrics follow a grammar
        and prompt.has_single_token_levels(labels)
    ):
        values |= {"logprobs": True, "top_logprobs": 20}
    elif judge.kind == "embedded" and (grammar := prompt.grammar_for(n_options, labels)):
        values |= {"grammar": grammar, "max_tokens": 256 if prompt.rubric else 64}
    return values | dict(judge.extra_body)


def _plan_ask(
    plan: Plan,
    judge: JudgeSpec,
    prompt: Prompt,
    offered: _LabelledPresentation,
    identity: str,
    parameters: dict[str, Any],
) -> PlannedAsk:
    presentation, labels, orders = offered
    other = presentation.unrelated_item
    call = _render_request(
        plan, judge, prompt, presentation.item, presentation.shown, labels, other, parameters
    )
    key = call_key_of(identity, call, presentation.repeat, salt=_salt_of_judge(plan, judge))
    ask = Ask(
        key=key,
        item=presentation.item.id,
        judge=judge.name,
        prompt=prompt.name,
        shown=presentation.shown,
        labels=labels,
        repeat=presentation.repeat,
        noise=presentation.noise,
        unrelated_item=other.id if other else None,
        orders=orders,
    )
    request = RequestRecord(key, identity, judge.model, prompt.sha, canonical_json(parameters))
    return PlannedAsk(ask, request, replace(call, key=key))


def _sees_images(plan: Plan, judge: JudgeSpec) -> bool:
    return plan.study.judge_sees == "images" and judge.vision


def _salt_of_judge(plan: Plan, judge: JudgeSpec) -> str:
    return plan.salt if judge.kind == "endpoint" else ""


def call_key_of(
    identity: str, call: JudgeCall, repeat: int, *, reads: str | None = None, salt: str = ""
) -> str:
    """Return the key of a call: a hash of its request and the number of its repeat, the same on
    every machine. `identity`: the text that stands for the judge (see `identity_of`). `reads`:
    if the call extracts a verdict from the reply to another call, the key of that call. `salt`: a
    text, different for each visitor, that keeps the keys of visitors apart."""
    messages = call.messages
    if "fence" in call.prompt.variables:
        prefilled = call.judge.read == "probabilities"
        messages = render_prompt(call.prompt, call.inputs, prefilled=prefilled, for_key=True)
    request = {
        "endpoint": identity,
        "model": call.judge.model,
        "messages": replace_images_by_hash(messages) if call.inputs.images else messages,
        "parameters": dict(call.parameters),
        "shown": call.inputs.shown,
        "labels": call.inputs.labels,
        "repeat": repeat,
        "prompt": call.prompt.sha,
    }
    if reads is not None:
        request["reads"] = reads
    if salt:
        request["salt"] = salt
    return hashlib.sha256(canonical_json(request).encode()).hexdigest()[:40]


def _render_request(
    plan: Plan,
    judge: JudgeSpec,
    prompt: Prompt,
    item: Item,
    shown: tuple[str, ...],
    labels: tuple[str, ...],
    unrelated: Item | None,
    parameters: dict[str, Any],
) -> JudgeCall:
    """Build the request of a call, still without its key. `shown` are the models whose answers are
    shown, in order. If one of them is the unrelated answer, it is taken from the item
    `unrelated`."""
    answers = tuple(
        unrelated_answer(item, unrelated) if name == UNRELATED and unrelated else item.answer(name)
        for name in shown
    )
    shown_images = item.images if _sees_images(plan, judge) else ()
    images = tuple(image_url(path, plan.images) for path in shown_images)
    criteria, aspects = plan.study.criteria, plan.aspects.get(item.id, "")
    rubric = tuple(rubric_criteria(prompt, criteria).items())
    inputs = PromptInputs(item, shown, answers, labels, images, "", aspects, criteria, rubric)
    messages = render_prompt(prompt, inputs, prefilled=judge.read == "probabilities")
    return JudgeCall("", judge, prompt, inputs, messages, parameters)


def load_stored_plan(store: Store, name: str) -> Plan:
    """Load a saved study with its items and prompts from the store, without its study file."""
    while True:  # the study may be saved again between two queries
        sha = store.plan_sha(name)
        plan = replace(_read_plan_once(store, name), stored_sha=sha)
        if store.plan_sha(name) == sha:
            return plan


def _read_plan_once(store: Store, name: str) -> Plan:
    study = store.study(name)
    items = tuple(store.items(name).values())
    prompts = add_versions_to_equal_names(
        [parse_prompt(text, name) for text in store.planned_prompt_texts(name)]
    )
    folder = image_folder(study.data, store.folder_of(name))
    return Plan(study, items, prompts, folder, salt=store.salt_of(name))
