"""Section `remedies` of the summary: rules by judge and prompt, juries, recommendations.

A rule decides a comparison from one or more stored verdicts. A jury is several judges that decide
together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from metrics.error_models.certified_share import certify_share_of_raters
from metrics.estimation.intervals import unknown_estimate
from metrics.remedies.budget_plan import BudgetPlan, plan_budget
from metrics.remedies.changed_comparisons import rule_key
from metrics.remedies.effective_votes import effective_votes
from metrics.remedies.known_winners import WinnerSource
from metrics.remedies.order_identity import count_order_patterns
from metrics.remedies.recommendation import Recommendation
from metrics.remedies.remedy_study import MAX_SELECTED, SEED, RemedyStudy, build_remedy_study
from metrics.remedies.rotation_rules import rotation_rule_tables
from metrics.remedies.rule_table import RuleEstimate
from studies.domain import Rater

Json = dict[str, Any]


@dataclass(frozen=True)
class RemedyInputs:
    """Facts that the remedies of a study need and its frame does not contain.

    `judges` lists the judges in their order, `source` is the source of the better answers (by
    design, or people). `juries` lists juries to compute besides the default ones. `prices` has
    dollars and `tokens` has tokens per call, by judge and prompt. `with_reference` has the prompts
    that show a reference answer.
    """

    judges: tuple[str, ...] = ()
    source: WinnerSource | None = None
    juries: tuple[tuple[str, ...], ...] = ()
    prices: Mapping[Rater, float] = field(default_factory=dict)
    tokens: Mapping[Rater, float] = field(default_factory=dict)
    with_reference: frozenset[str] = frozenset()


def study_of_inputs(frame: pd.DataFrame, inputs: RemedyInputs) -> RemedyStudy:
    """Build the remedies of a frame with the facts of `inputs`."""
    study = build_remedy_study(frame, inputs.judges, inputs.source)
    return replace(study, grid=replace(study.grid, with_reference=inputs.with_reference))


def remedy_section(
    frame: pd.DataFrame, inputs: RemedyInputs, study: RemedyStudy | None = None
) -> Json:
    """Build the section `remedies` as nested dictionaries of estimates: facts on the comparisons
    ("truth"), "rules" -> judge -> prompt -> rule -> estimates, juries, recommendations and, where
    they can be computed, further parts. Empty if no comparison with a known better answer has all
    the verdicts it needs. ValueError for a jury with an unknown judge or fewer than two judges.
    `study` has the remedies of the frame, if already computed."""
    study = study or study_of_inputs(frame, inputs)
    _check_juries(inputs.juries, study)
    rotated = rotation_rule_tables(frame, np.random.default_rng(SEED))
    if not study.grid.size and not rotated:
        return {}
    make = partial(_rater_rules_as_json, study, inputs)
    rules = _by_rater(study, make) if study.grid.size else {}
    for (judge, prompt), table in rotated.items():
        lines = {one.rule.id: _rule_estimate_as_json(one, inputs) for one in table}
        rules.setdefault(judge, {}).setdefault(prompt, {}).update(lines)
    section: Json = {"truth": _comparison_facts(study), "rules": rules}
    if not study.grid.size:
        return section
    section["identity"] = _by_rater(study, partial(_order_patterns_as_json, study))
    if study.grid.size <= MAX_SELECTED:
        section["risk"] = _by_rater(study, study.risk_curve)
    section["certified"] = _by_rater(study, lambda one: certify_share_of_raters(study.grid, [one]))
    section["juries"] = _juries_section(study, inputs)
    advice = _by_rater(study, lambda one: recommendation_as_json(study.advice(one)))
    section["recommendations"] = advice
    best = study.best_rater_index()  # the judge whose single calls have the highest agreement
    judge, prompt = ("", "") if best is None else study.raters[best]
    section["recommendation"] = advice.get(judge, {}).get(prompt, {})
    if (plan := plan_budget(study, inputs.prices)) is not None:
        section["plan"] = _budget_plan_as_json(plan)
    return section


def _budget_plan_as_json(plan: BudgetPlan) -> Json:
    """Convert the plan for a budget to JSON types: its steps from the cheapest to the dearest."""
    steps = []
    for step in plan.steps:
        values: Json = {
            "rule": step.rule.id,
            "judges": [judge for judge, _ in step.rule.members],
            plan.currency: round(step.cost, 8),
            "agreement": step.agreement,
        }
        steps.append(values if step.gain is None else {**values, "gain": step.gain})
    return {"currency": plan.currency, "steps": steps, "unpriced": list(plan.unpriced)}


def _comparison_facts(study: RemedyStudy) -> Json:
    """Return the source of the better answers, the numbers of comparisons used and left out, and
    the judges left out."""
    found: Json = {
        "source": study.grid.source,
        "comparisons": study.grid.size,
        "left_out": dict(study.left_out),
    }
    if study.incomplete_raters:
        found["judges_left_out"] = ["/".join(rater) for rater in study.incomplete_raters]
    return found


def _rater_rules_as_json(study: RemedyStudy, inputs: RemedyInputs, rater: int) -> Json:
    """Return key of a rule (`rule_key`: its id and, for a jury, the judges) -> its estimates, for
    the rules that the page shows for one rater."""
    table = study.estimate_rules_of_rater(rater)
    return {rule_key(one.rule): _rule_estimate_as_json(one, inputs) for one in table}


def _rule_estimate_as_json(line: RuleEstimate, inputs: RemedyInputs) -> Json:
    """Convert the estimates of one rule (a line of the table of remedies) to a JSON object."""
    found: Json = {
        "calls": round(line.rule.calls_per_comparison, 4),
        "agreement": line.agreement,
        "decided": line.decided,
        "right_when_decided": line.right_when_decided,
        "difference": line.difference or unknown_estimate("the baseline", "share"),
        "adjusted": line.adjusted or unknown_estimate("the baseline", "share"),
        "changed": line.changed,
    }
    if line.rule.votes:
        found["votes"] = line.rule.votes
    for name, costs in (("dollars", inputs.prices), ("tokens", inputs.tokens)):
        cost = rule_cost(line, costs)
        if cost is not None:
            found[name] = cost
    return found


def rule_cost(estimate: RuleEstimate, costs: Mapping[Rater, float]) -> float | None:
    """Cost of a rule per comparison, in the unit of `costs` (dollars or tokens of a call, by judge
    and prompt); None if the cost of one of the rule's judges is unknown."""
    if not all(rater in costs for rater in estimate.rule.calls):
        return None
    return sum(costs[rater] * calls for rater, calls in estimate.rule.calls.items())


def _by_rater(study: RemedyStudy, build: Callable[[int], Any]) -> Json:
    """Return judge -> prompt -> result of `build`, which is called with the index of each rater of
    a study."""
    found: Json = {}
    for rater, (judge, prompt) in enumerate(study.raters):
        found.setdefault(judge, {})[prompt] = build(rater)
    return found


def _order_patterns_as_json(study: RemedyStudy, rater: int) -> Json:
    """Return the numbers of comparisons with each pattern of verdicts in the two orders, and the
    gain from adding up both orders."""
    patterns = count_order_patterns(study.grid, rater)
    return {**vars(patterns), "gain": patterns.gain}


def _juries_section(study: RemedyStudy, inputs: RemedyInputs) -> Json:
    """Return the measures of each jury, a group of judges that vote with the same prompt, under the
    names of its judges joined by " + ". If the judges form a jury with several prompts, the name of
    the prompt follows in brackets from the second one on."""
    found: Json = {}
    for prompt in dict.fromkeys(name for _, name in study.raters):
        panel = study.raters_with_prompt(prompt)
        named = _named_juries(study, panel, inputs)
        for raters, picked in [*_default_juries(study, panel), *named]:
            name = " + ".join(study.raters[rater][0] for rater in raters)
            key = name if name not in found else f"{name} ({prompt})"
            found[key] = _jury_as_json(study, raters, picked, inputs)
    return found


def _default_juries(study: RemedyStudy, panel: Sequence[int]) -> list[tuple[list[int], bool]]:
    """List the juries computed by default, as (raters, whether the members were selected by
    agreement): all judges in `panel` and, if these are more than three, the three with the highest
    agreement. Empty if there are fewer than two judges."""
    juries = [(list(panel), False)] if len(panel) > 1 else []
    if len(panel) > 3:
        juries.append((study.raters_by_agreement(panel)[:3], True))
    return juries


def _named_juries(
    study: RemedyStudy, panel: Sequence[int], inputs: RemedyInputs
) -> list[tuple[list[int], bool]]:
    """List the juries of `inputs` whose members are all in `panel`, as (raters, False)."""
    place = {study.raters[rater][0]: rater for rater in panel}
    return [
        ([place[name] for name in jury], False)
        for jury in inputs.juries
        if all(name in place for name in jury)
    ]


def _check_juries(juries: Sequence[Sequence[str]], study: RemedyStudy) -> None:
    """Raise ValueError for a jury with an unknown judge, or with fewer than two judges."""
    known = {judge for judge, _ in study.raters}
    for jury in juries:
        unknown = [name for name in jury if name not in known]
        if unknown or len(set(jury)) < 2:
            problem = f"no judge named {unknown[0]!r}" if unknown else "a jury needs two judges"
            raise ValueError(
                f"--jury {','.join(jury)}: {problem}; known: {', '.join(sorted(known))}"
            )


def _jury_as_json(
    study: RemedyStudy, raters: Sequence[int], picked: bool, inputs: RemedyInputs
) -> Json:
    """Return the measures of a jury: the judge with whose single call it is compared, whether its
    members were selected by agreement (`picked`), the estimates of its rules, its effective votes
    and, unless `picked`, its certified share."""
    table = study.estimate_rules_of_jury(raters)
    found: Json = {"baseline": table[0].rule.members[0][0], "picked": picked}
    found |= {one.rule.id: _rule_estimate_as_json(one, inputs) for one in table[1:]}
    if not picked:  # else it would be certified with the labels that chose it
        found["certified"] = certify_share_of_raters(study.grid, raters)
    return {**found, "effective_votes": effective_votes(study.grid, raters)}


def recommendation_as_json(advice: Recommendation) -> Json:
    """Convert a recommendation to JSON types; `rule` is null if none was shown to help."""
    found: Json = {"rule": None, "judge": advice.judge, "prompt": advice.prompt}
    if advice.chosen:
        rule = advice.chosen.rule
        found |= {
            "rule": rule.id,
            "judges": [judge for judge, _ in rule.members],
            "calls": round(rule.calls_per_comparison, 4),
            "gain": advice.chosen.gain,
        }
    return {**found, "sentence": advice.sentence}
