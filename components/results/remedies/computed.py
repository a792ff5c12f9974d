"""Numbers of the view Remedies: how often each rule (a way to get a verdict from one or more
calls, such as "both orders must agree") is right, the recommended rule, the risk-coverage
curve, prices."""

from collections.abc import Collection
from dataclasses import dataclass

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import ALL_CHOICE
from components.filtering.memo import memoise_by_study
from components.filtering.raters import load_remedies_of_all_raters
from metrics.remedies.budget_plan import BudgetPlan, plan_budget
from metrics.remedies.order_identity import OrderPatterns, count_order_patterns
from metrics.remedies.recommendation import PriceGain, Recommendation, interval_is_above_zero
from metrics.remedies.remedy_study import RemedyStudy, build_remedy_study
from metrics.remedies.risk_coverage import CoveragePoint
from metrics.remedies.rule_names import join_names, rater_text
from metrics.remedies.rule_table import RuleEstimate
from metrics.summary.remedy_section import RemedyInputs, rule_cost
from metrics.summary.study_inputs import read_remedy_inputs
from studies.lazy_values import cached_property
from studies.spec.derived_names import PILOT_MARK
from studies.store.store import Store


@dataclass(frozen=True, eq=False)
class PilotRule:
    """A rule that a pilot (a small study made to test a remedy) measured: its estimate on the
    pilot's verdicts, and the pilot's prices (`inputs`). `kind`: the tested remedy, such as
    "repeats"."""

    kind: str
    estimate: RuleEstimate
    inputs: RemedyInputs


@dataclass(frozen=True, eq=False)
class RemedyResults:
    """All numbers that the view shows for one judge and prompt of a study."""

    filtered: FilteredStudy
    study: RemedyStudy
    inputs: RemedyInputs
    rater: int | None
    """Index of the judge and prompt in `study.raters`; None if no better answer is known, or no
    judge passes the filters."""

    @property
    def judge(self) -> str:
        return self.study.raters[self.rater][0] if self.rater is not None else ""

    @property
    def prompt(self) -> str:
        return self.study.raters[self.rater][1] if self.rater is not None else ""

    @property
    def rater_text(self) -> str:
        """Name of the judge in a sentence, with its prompt if the study has several."""
        return rater_text((self.judge, self.prompt), self.study.raters)

    @property
    def winner_source(self) -> str:
        """Words for where the better answers are known from: "the majority of people" or "the
        known better answers"."""
        people = self.is_winner_from_people
        return "the majority of people" if people else "the known better answers"

    @property
    def comparison_count(self) -> int:
        """Number of comparisons with a known better answer on which rules are compared."""
        return self.study.grid.size

    @property
    def is_winner_from_people(self) -> bool:
        """Whether the better answers are those that the majority of people chose."""
        return self.study.grid.source != "known answers"

    @cached_property
    def rule_estimates(self) -> list[RuleEstimate]:
        """Estimates of all rules: first the rules computed on all comparisons, then those on fewer
        comparisons; in each of the two groups, rules that use people's votes come last."""
        lines = self.study.estimate_rules_of_rater(self.rater) if self.rater is not None else []
        return sorted(lines, key=lambda one: (not one.complete, bool(one.rule.votes)))

    @property
    def pilot_rules(self) -> list[PilotRule]:
        """Rules that pilots of this study measured for this judge, except those that
        `rule_estimates` already has on all comparisons. Computed each time, since pilots may
        get more verdicts."""
        known = {line.rule.id for line in self.rule_estimates if line.complete}
        start, found = f"{self.filtered.name}{PILOT_MARK}", []
        for name in pilot_study_names(self.filtered.store, self.filtered.name):
            tables, inputs = _pilot_estimates(FilteredStudy(self.filtered.store, name))
            lines = [one for one in tables.get(self.judge, []) if one.rule.id not in known]
            found += [PilotRule(name.removeprefix(start), one, inputs) for one in lines]
        return found

    @cached_property
    def advice(self) -> Recommendation | None:
        if self.rater is None:
            return None
        return self.study.advice(self.rater)

    @cached_property
    def next_better_costlier_rule(self) -> PriceGain | None:
        """The cheapest rule that costs more calls than the recommended one and is better: its
        gain over one call, on held-out items, is larger by more than 0.5 points. None if there
        is none."""
        chosen = self.advice.chosen if self.advice else None
        if chosen is None or self.advice is None:
            return None
        later = (one for one in self.advice.prices if one.price > chosen.price)
        return next((one for one in later if _gain_value(one) > _gain_value(chosen) + 0.005), None)

    @cached_property
    def budget_plan(self) -> BudgetPlan | None:
        """The rules worth their cost, from the rules of all judges, the cheapest first: each agrees
        significantly more often than the rule before it. None if no better answer is known."""
        return plan_budget(self.study, self.inputs.prices)

    @property
    def all_comparison_count(self) -> int:
        """Number of comparisons of the study, including those without a known better answer."""
        return self.study.grid.size + sum(self.study.left_out.values())

    @cached_property
    def one_call_estimates(self) -> list[RuleEstimate]:
        """Estimates of the rule "one call", for this judge and then for every other judge with the
        same prompt."""
        return self.study.estimate_single_calls(self.rater) if self.rater is not None else []

    @property
    def better_judge_one_call(self) -> RuleEstimate | None:
        """The rule "one call" of the judge with the highest agreement, if it is significantly above
        that of the judge shown; else None."""
        best = max(self.one_call_estimates, key=_agreement_value, default=None)
        return best if best and interval_is_above_zero(best.adjusted) else None

    @cached_property
    def order_patterns(self) -> OrderPatterns | None:
        return count_order_patterns(self.study.grid, self.rater) if self.rater is not None else None

    @cached_property
    def risk_curve(self) -> tuple[list[CoveragePoint], str]:
        """(points of the risk-coverage curve, its caption); ([], "") without a judge to show.

        A comparison counts as decided if the winner leads by more than a margin, in graded
        scores if they are stored, otherwise in votes. The margin grows from point to point,
        so that ever fewer comparisons are decided."""
        if self.rater is None:
            return [], ""
        points = self.study.risk_curve(self.rater)
        if self.study.has_graded_curve(self.rater):
            return points, (
                "a comparison is decided if the mean score of both orders exceeds a margin; the "
                "margin grows along the curve from right to left"
            )
        panel = self.study.jury_of_risk_curve(self.rater)
        if len(panel) < 2:
            caption = (
                "at the right end of the curve, a win in one order and a tie in the other count as "
                "a win; at the left end, both orders must name the same winner"
            )
            return points, caption
        names = join_names([self.study.raters[rater][0] for rater in panel])
        return points, (
            f"{names} in both orders give {2 * len(panel)} votes; along the curve from right to "
            f"left, a winner needs a lead of 1, 2, … {2 * len(panel)} votes; without it, the "
            "comparison is undecided"
        )

    @property
    def missing_rules(self) -> dict[str, str]:
        """Title of a rule or group of rules -> reason why it cannot be computed from stored
        replies."""
        known = {line.rule.id.partition("(")[0] for line in self.rule_estimates}
        found: dict[str, str] = {}
        if "graded" not in known:
            found["Rules that need graded replies, such as “One call, calibrated”"] = (
                "no probabilities, margins or scores are stored"
            )
        if "repeats" not in known:
            found["Repeats"] = "no comparison was judged three times in the same order"
        if "ask-people" not in known:
            found["Both orders, plus votes of people on some of the comparisons"] = (
                "no votes of people are stored; collect them on the Vote tab"
                if self.study.grid.votes is None
                else "too few comparisons have votes; collect more on the Vote tab"
            )
        if len(self.one_call_estimates) < 2:
            found["Juries"] = "no other judge compared the answers with this prompt"
        elif self.rater is not None and (
            better := self.study.raters_by_agreement(
                set(self.study.raters_with_prompt(self.prompt))
                - {self.rater, *self.study.jury_partners(self.rater)}
            )
        ):
            names = join_names([self.study.raters[rater][0] for rater in better])
            found[f"Juries with {names}"] = (
                f"one call of each agrees with {self.winner_source} significantly more often than "
                f"one call of {self.judge}; use one of them instead"
            )
        return found

    def rule_dollars_per_thousand(self, rule: RuleEstimate) -> float | None:
        """Dollars per 1,000 comparisons under a rule; None if a price is unknown."""
        return dollars_per_thousand_comparisons(rule, self.inputs)

    @property
    def _called_raters(self) -> list[tuple[str, str]]:
        """Each (judge, prompt) whose calls a rule in `rule_estimates` needs."""
        every = (rater for line in self.rule_estimates for rater in line.rule.calls)
        return list(dict.fromkeys(every))

    @property
    def unpriced_judges(self) -> list[str]:
        """Judges that a rule in `rule_estimates` calls and whose price is unknown."""
        called = dict.fromkeys(judge for judge, _ in self._called_raters)
        return [judge for judge in called if not self._has_price(judge)]

    def price_hint(self, judges: Collection[str]) -> str:
        """Sentence on how to get costs for `judges`, whose price is unknown: set the price on the
        Study tab or, if no token counts are stored, multiply the calls by a price per call."""
        if any(judge in judges for judge, _ in self.inputs.tokens):
            return "Set the price in Study, step “Judge and prompt”."
        return "No token counts are stored: multiply the number of calls by your price per call."

    @property
    def no_dollars_reason(self) -> str:
        """Reason why rules cannot be compared in dollars; "" if they can."""
        if unknown := self.unpriced_judges:
            named = join_names(unknown) if len(unknown) < 4 else f"{len(unknown)} judges"
            return f"no price is known for {named}"
        if not any(self.inputs.prices.get(rater) for rater in self._called_raters):
            return "these judges are local and cost nothing"
        return ""

    def _has_price(self, judge: str) -> bool:
        return all(rater in self.inputs.prices for rater in self.study.raters if rater[0] == judge)

    @property
    def can_compare_in_dollars(self) -> bool:
        """Whether rules can be compared in dollars."""
        return bool(self.rule_estimates) and not self.no_dollars_reason

    def pareto_frontier(self, by_dollars: bool) -> list[RuleEstimate]:
        """Pareto frontier, cheapest rule first: the rules whose agreement is higher than that of
        every other rule that costs the same or less, in dollars (`by_dollars`) or calls. Rules on
        fewer comparisons and rules with people's votes are left out."""
        lines = [line for line in self.rule_estimates if line.complete and not line.rule.votes]
        lines.sort(key=lambda one: (self.rule_price(one, by_dollars), -_agreement_value(one)))
        best: list[RuleEstimate] = []
        for line in lines:
            if not best or _agreement_value(line) > _agreement_value(best[-1]):
                best.append(line)
        return best

    def rule_price(self, rule: RuleEstimate, by_dollars: bool) -> float:
        """Price of a rule: with `by_dollars`, dollars per 1,000 comparisons (0 if unknown), else
        calls per comparison."""
        if not by_dollars:
            return rule.rule.calls_per_comparison
        return self.rule_dollars_per_thousand(rule) or 0.0


def dollars_per_thousand_comparisons(rule: RuleEstimate, inputs: RemedyInputs) -> float | None:
    """Dollars for 1,000 comparisons by the rule, at the prices in `inputs`; None if the price of a
    call that the rule needs is unknown."""
    one = rule_cost(rule, inputs.prices)
    return None if one is None else 1000 * one


def _gain_value(price_gain: PriceGain) -> float:
    return price_gain.gain.value or 0.0


def _agreement_value(rule: RuleEstimate) -> float:
    return rule.agreement.value or 0.0


@memoise_by_study
def load_remedies(filtered: FilteredStudy) -> RemedyResults:
    """Compute the remedies of a filtered study for one judge and prompt: the one whose single calls
    agree most often with the better answers; if the filters exclude this one, the first that passes
    them. The other judges still count as members of juries (several judges that decide together).
    """
    (study, inputs), shown = load_remedies_of_all_raters(filtered), filtered.filter
    rater = _choose_shown_rater(study, shown.judge, shown.prompt)
    return RemedyResults(filtered, study, inputs, rater)


def _choose_shown_rater(study: RemedyStudy, judge: str, prompt: str) -> int | None:
    if not study.grid.size:
        return None
    fitting = [
        k
        for k, (name, words) in enumerate(study.raters)
        if judge in (ALL_CHOICE, name) and prompt in (ALL_CHOICE, words)
    ]
    best = study.best_rater_index()
    return best if best in fitting else fitting[0] if fitting else None


def pilot_study_names(store: Store, name: str) -> list[str]:
    start = f"{name}{PILOT_MARK}"
    return [one.name for one in store.studies() if one.name.startswith(start)]


@memoise_by_study
def _pilot_estimates(pilot: FilteredStudy) -> tuple[dict[str, list[RuleEstimate]], RemedyInputs]:
    """(judge -> estimates of its rules in the pilot study, the pilot's prices and token
    counts). The estimates are on verdicts with the first prompt of the pilot's study file; if the
    judge has none with this prompt, on its verdicts with another prompt."""
    inputs = read_remedy_inputs(pilot.store, pilot.name)
    study = build_remedy_study(pilot.whole_frame_by_person, inputs.judges, inputs.source)
    judges = dict.fromkeys(judge for judge, _ in study.raters) if study.grid.size else {}
    used, tables = "".join(pilot.study.prompts[:1]), {}
    for judge in judges:
        rater = study.rater_index(judge, used)
        rater = study.rater_index(judge) if rater is None else rater
        if rater is not None:
            tables[judge] = study.estimate_rules_of_rater(rater)
    return tables, inputs
