"""Pilots: small studies for remedies that stored replies cannot test; their calls and price."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE
from components.html.format import count, dollars
from components.results.remedies.computed import RemedyResults, load_remedies
from judges.money.costs import MILLION, price_of
from judges.planning.forecast import CHARACTERS_PER_TOKEN
from studies.domain import REFERENCE, JudgeSpec
from studies.frames.frame import SEP
from studies.spec.derived_names import PILOT_MARK
from studies.spec.study import Study, dump_study

PILOT_ITEMS: Final = 40
REPEATS: Final = 3
WARNING_PROMPT: Final = "brief-warning"
EXAMPLES_PROMPT: Final = "brief-examples"
REFERENCE_PROMPT: Final = "brief-reference"
DESCRIBE_PROMPT: Final = "brief-describe"
PROBABILITY_PROMPT: Final = "label-probability"
DESCRIPTION_TOKENS: Final = 200
"""Assumed tokens of a description that a judge writes before its verdict, to price a pilot."""
DESCRIPTION_LIMIT: Final = 1024
"""`max_tokens` of a judge is raised to this number if its replies begin with a description, so that
they are not cut off before the verdict."""
EMBEDDED: Final = JudgeSpec(name="embedded", model="embedded", read="probabilities")


@dataclass(frozen=True)
class Pilot:
    """A small study that tests a remedy before it is used. `kind`: the remedy, such as "repeats";
    `calls`: number of its calls; `cost`: their price in dollars, None if unknown; `local`:
    whether all its judges run on this machine, so that it is free."""

    kind: str
    title: str
    detail: str
    calls: int
    cost: float | None
    local: bool
    study: Study

    @property
    def price_text(self) -> str:
        """Text with the number of calls and the dollars, shown before any call is made."""
        if self.local:
            return f"{count(self.calls, 'call')}, free (local)"
        known = dollars(self.cost) if self.cost is not None else "price unknown"
        return f"{count(self.calls, 'call')}, {known}"

    @property
    def yaml(self) -> str:
        """The text of the pilot's study file."""
        return dump_study(self.study)


def offered_pilots(results: RemedyResults) -> list[Pilot]:
    """Pilots of the remedies that neither the stored replies nor an earlier pilot can test, for the
    judge shown."""
    done = {one.kind for one in results.pilot_rules}
    found = _make_pilots(results) if results.rater is not None else ()
    return [pilot for pilot in found if pilot.kind not in done]


def pilot_study_text(filtered: FilteredStudy, kind: str) -> str:
    """Text of the study file of the pilot for the remedy `kind`, such as "repeats"; "" if no such
    pilot is offered."""
    found = offered_pilots(load_remedies(filtered)) if kind else []
    return next((pilot.yaml for pilot in found if pilot.kind == kind), "")


def _make_pilots(results: RemedyResults) -> Iterator[Pilot]:
    study, judge = results.filtered.study, _judge_spec(results)
    grid, rater = results.study.grid, results.rater
    graded = any(line.rule.id == "graded" for line in results.rule_estimates)
    if not graded and judge.read != "probabilities":
        spec = replace(judge, read="probabilities")
        prompt = PROBABILITY_PROMPT
        yield _build_pilot(
            results, "probabilities", "Token probabilities, both orders",
            "published: combining the probabilities of both orders raised the accuracy of small "
            "judges from 56.7 % to 73.1 % (arXiv 2503.03064)",
            replace(study, judges=(spec,), prompts=(prompt,)), 2,
        )  # fmt: skip
    if (
        grid.repeats is None
        or rater is None
        or not any(
            line.rule.id.startswith("repeats") and line.complete for line in results.rule_estimates
        )
    ):
        spec = replace(judge, temperature=judge.temperature or 1.0)
        changed = replace(study, judges=(spec,), prompts=_choose_pilot_prompt(results))
        yield _build_pilot(
            results, "repeats", "Three repeats in both orders",
            "the majority of six calls decides, at a temperature above 0",
            changed, 2 * REPEATS, repeats=REPEATS,
        )  # fmt: skip
    yield from _prompt_pilots(results, study, judge)
    if len({name for name, _ in results.study.raters}) < 2 and judge.kind != "embedded":
        changed = replace(study, judges=(judge, EMBEDDED), prompts=_choose_pilot_prompt(results))
        detail = (
            "published: the majority of nine judges was worth about two independent judges "
            "(arXiv 2605.29800)"
        )
        yield _build_pilot(
            results, "jury", "A second judge: Evenhand's built-in model", detail, changed, 4
        )


def _prompt_pilots(results: RemedyResults, study: Study, judge: JudgeSpec) -> Iterator[Pilot]:
    """Pilots that compare the study's prompt with another prompt, such as one with examples."""
    length = _mean_reference_length(results)
    describing = replace(judge, read="text", max_tokens=max(judge.max_tokens, DESCRIPTION_LIMIT))
    for kind, prompt, title, detail, spec, extra in (
        ("examples", EXAMPLES_PROMPT, "Worked examples in the prompt",
         "published: examples raised gpt-4's consistency from 65.0 % to 77.5 %, at four times the "
         "price (arXiv 2306.05685)", judge, (0.0, 0.0)),
        ("warning", WARNING_PROMPT, "Another prompt: brief-warning",
         "the prompt warns against position bias; measured with one call and with both orders",
         judge, (0.0, 0.0)),
        ("reference", REFERENCE_PROMPT, "A reference answer in the prompt",
         "the judge compares both answers with the reference answer of the item",
         judge, (length / CHARACTERS_PER_TOKEN, 0.0)),
        ("describe", DESCRIBE_PROMPT, "Describe first, then decide",
         "the judge describes the question and both answers before its verdict, in a longer reply",
         describing, (0.0, float(DESCRIPTION_TOKENS))),
    ):  # fmt: skip
        if prompt in study.prompts or (prompt == REFERENCE_PROMPT and not length):
            continue
        changed = replace(study, judges=(spec,), prompts=(*_choose_pilot_prompt(results), prompt))
        calls_each = 2 * len(changed.prompts)
        yield _build_pilot(results, kind, title, detail, changed, calls_each, extra_tokens=extra)


def _mean_reference_length(results: RemedyResults) -> float:
    """Mean number of characters of the items' reference answers. 0 if an item has none, or if the
    reference answers are themselves compared in the study."""
    if REFERENCE in _most_compared_pair(results):
        return 0.0
    facts = results.filtered.store.item_facts(results.filtered.name).values()
    lengths = [one["lengths"].get(REFERENCE, 0) for one in facts]
    return sum(lengths) / len(lengths) if lengths and all(lengths) else 0.0


def _build_pilot(
    results: RemedyResults,
    kind: str,
    title: str,
    detail: str,
    study: Study,
    calls_each: int,
    repeats: int = 1,
    extra_tokens: tuple[float, float] = (0.0, 0.0),
) -> Pilot:
    """Build a pilot for the remedy `kind`. `study`: the study, with the judges and prompts
    of the pilot; `calls_each`: number of calls for each item, repeats included; `repeats`:
    times that each call is made. `extra_tokens`: additional (input, output) tokens of each call
    with the pilot's new prompt, which half of the calls have."""
    items = min(PILOT_ITEMS, len(set(results.study.grid.items.tolist())))
    small = replace(
        study,
        name=f"{results.filtered.name}{PILOT_MARK}{kind}",
        data=replace(study.data, count=items, per={}),
        contestants=_most_compared_pair(results),
        twins=None,
        pairing="all",
        orders="",
        repeats=repeats,
        noise_floor=0.0,
        preset="",
        combine="pooled",
    )
    calls = items * calls_each
    local = all(judge.kind != "endpoint" for judge in small.judges)
    price = results.inputs.prices.get((results.judge, results.prompt))
    cost = None
    if price is not None:
        own = calls / len(small.judges)  # a second judge is Evenhand's own model, which is free
        cost = own * price + calls / 2 * _token_dollars(small.judges[0], extra_tokens)
    return Pilot(kind, title, detail, calls, cost, local, small)


def _token_dollars(judge: JudgeSpec, tokens: tuple[float, float]) -> float:
    """Price in dollars of a number of (input, output) tokens of this judge; 0 without a price
    per token."""
    price = price_of(judge)
    return (tokens[0] * price.input + tokens[1] * price.output) / MILLION if price else 0.0


def _choose_pilot_prompt(results: RemedyResults) -> tuple[str, ...]:
    """The prompt that a pilot uses, as a tuple with one name: the prompt shown; if the study file
    does not name it, the first prompt of the study file, or a built-in one if it names none."""
    known = results.filtered.study.prompts
    return (results.prompt,) if results.prompt in known else known[:1] or ("brief-letters",)


def _judge_spec(results: RemedyResults) -> JudgeSpec:
    """The judge as specified in the study file; for recorded verdicts, a specification with the
    same name that the user has to complete."""
    known = {judge.name: judge for judge in results.filtered.study.judges}
    return known.get(results.judge) or JudgeSpec(name=results.judge, model=results.judge)


def _most_compared_pair(results: RemedyResults) -> tuple[str, ...]:
    """The pair of models compared most often, so that the pilot has one comparison per item."""
    chosen = replace(results.filtered.filter, judge=ALL_CHOICE, prompt=ALL_CHOICE)
    frame = chosen.apply(results.filtered.whole_frame_by_person)  # the frame of the compared rules
    pairs = frame["comparison"].iloc[results.study.grid.row]
    (most, _), *_ = Counter(map(str, pairs)).most_common(1)
    return tuple(most.split(SEP))
