"""How often does a study without any effect get a sentence that claims one?

Every kind of sentence made from numbers is read from the function that writes it, on studies drawn
by `null_studies`. At most 5 % of studies may get a false sentence of a kind, where a kind counts
once for a study, under all filters and on all cards together. Each study is drawn and stored once
for all kinds of sentences. `python -m tests.soak.test_null_sentences` prints the table of
docs/coverage.md.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.results.agreement.computed import load_agreement
from components.results.agreement.panels import agreement_headline
from components.results.bias.computed import (
    Bias,
    BiasCounts,
    bias_from_frame,
    count_selectable_model_sets,
)
from components.results.bias.flip_leans import flip_leans
from components.results.bias.many_options import position_preference_headline
from components.results.bias.option_tests import fit_option_models, slot_evenness
from components.results.bias.sentences import (
    bias_headline,
    consistency_by_chance,
    low_consistency_warning,
)
from components.results.cards.card_measures import SEED
from components.results.cards.report_card import ReportCard
from components.results.cards.sentence_rules import RULE_GROUPS, card_sentences
from components.results.contrasts.comparison import pair_sides as pair_with_filtered_side
from components.results.contrasts.panels import contrast_headline
from components.results.pass_fail.computed import PassFailResults
from components.results.pass_fail.panels import is_pass_rate_wrong
from components.results.ranking import tab as ranking_tab
from components.results.ranking.computed import load_ranking
from components.results.ranking.ranking_stability import compare_rankings_of_both_orders
from components.results.remedies import tab as remedies_tab
from evenhand.audit_cards import UnsavedRaters, UnsavedStudy
from metrics.agreement.judge_as_annotator import judges_as_annotators
from metrics.estimation.measures import GroupedFrame
from metrics.estimation.multiple_comparisons import simultaneous_interval
from metrics.estimation.row_selection import select_pairs
from metrics.labels.label_sections import MAX_ERRORS_P, PassFailResult
from metrics.labels.pass_fail import UNKNOWN, PassFailRows, equal_errors_p_value, pass_fail_rates
from metrics.labels.point_rules import compare_single_answer_rules_with_one_call
from metrics.labels.true_pass_rate import prediction_powered_rate, true_pass_rate
from metrics.position.order_tables import build_order_tables
from metrics.position.order_tests import item_sign_test, permutation_test
from metrics.position.position_measures import ACCURACY
from metrics.win_rates.own_family_excess import own_family_excess
from studies.domain import Estimate
from studies.store.store import Store
from tests.metrics.frames import build, rotated
from tests.metrics.labels.test_pass_fail import judged_alike
from tests.metrics.labels.test_points_coverage import ORDERS, frame_of
from tests.soak.null_studies import (
    COINS,
    EIGHT_JUDGES,
    EQUAL_MODELS,
    GUESSES,
    MISSING,
    MISSING_SECOND,
    NO_POSITION,
    PEOPLE,
    TIED_GUESSES,
    LeanScreen,
    NullStudy,
    screen,
)
from tests.voted_studies import save

STUDIES = int(os.environ.get("EVENHAND_SEEDS", "300"))
POSITION_RULES = {"by label", "by position", "one way", "rather", "order"}
PROVISO = "provided that repeats are independent"
"""A sentence with these words claims nothing about repeats that depend on each other."""
PEOPLE_RULES = {"above people", "below people"}
ACCURACY_RULES = {"below chance", "right"}


class StoredStudy(FilteredStudy):
    """A drawn study in a store, with its position measures computed once."""

    @cached_property
    def counts(self) -> BiasCounts:
        return BiasCounts(self.frame)

    @cached_property
    def bias(self) -> Bias:
        return Bias(self.counts)

    @cached_property
    def filters(self) -> list[Filter]:
        """No filter, and every category."""
        names = sorted(set(self.frame["category"].astype(str)))
        return [Filter(), *(Filter(category=one) for one in names)]


def stored(study: NullStudy, seed: int, store: Store) -> StoredStudy:
    """Save one drawn study in a store."""
    name = f"{study.name} {seed}"
    save(store, name, study.rows(seed), categories=study.category_of(), design=study.design())
    return StoredStudy(store, name)


def cards(filtered: FilteredStudy, group: int, rules: set[str]) -> bool:
    """Whether a card of any judge has a sentence by one of these rules."""
    raters = Raters(filtered)
    found = (ReportCard(raters, name) for name in raters.names)
    return any(card_sentences(card.facts, card.text_by_key)[group].rule in rules for card in found)


def excludes(one: Estimate, value: float) -> bool:
    return one.low is not None and one.high is not None and not one.low <= value <= one.high


# -- claims: each returns whether a study got a false sentence of its kind -------------------------
# Cards take long to compute. They are computed only if a necessary condition of the claim holds.


def position_preferred(view: StoredStudy) -> bool:
    return any(row.is_significant or row.leaning_categories for row in flip_leans(view.bias))


def position_preferred_under_a_filter(view: StoredStudy) -> bool:
    """Under any category, judge, both, or pair of models, or without a filter."""
    if position_preferred(view):
        return True
    frame = view.frame
    filters = [
        replace(one, judge=judge)
        for judge in ("all", *sorted(set(frame["judge"].astype(str))))
        for one in view.filters
    ]
    if any(row.is_significant for one in filters for row in flip_leans(Bias(view.counts, one))):
        return True
    models = sorted({name for shown in frame["shown"].unique() for name in shown.split("\x1f")})
    for both in combinations(models, 2):
        one = Filter(contestants=both)
        rows = one.apply(frame)
        tables = build_order_tables(select_pairs(rows), ["judge"]).values()
        if all(item_sign_test(table.flip_balance_by_item).p >= 0.05 for table in tables):
            continue
        counts = BiasCounts(rows, count_selectable_model_sets(frame, one))
        if any(row.is_significant for row in flip_leans(Bias(counts, one))):
            return True
    return False


def order_decides(view: StoredStudy) -> bool:
    return "order changes" in " ".join(bias_headline(view.bias))


def low_consistency(view: StoredStudy) -> bool:
    return bool(low_consistency_warning(view.bias))


def card_position(view: StoredStudy) -> bool:
    return _card_position(view, Filter())


def card_position_under_a_filter(view: StoredStudy) -> bool:
    """On any card, without a filter or in any category."""
    return any(_card_position(view, one) for one in view.filters)


def _card_position(view: StoredStudy, chosen: Filter) -> bool:
    """Without repeats and crossed labels, these sentences need a preferred position."""
    assert not (view.frame["repeat"] > 0).any() and view.frame["labels"].nunique() == 1
    if not any(row.p < 0.05 for row in flip_leans(Bias(view.counts, chosen))):
        return False
    return cards(FilteredStudy(view.store, view.name, chosen), 0, POSITION_RULES)


def card_accuracy(view: StoredStudy) -> bool:
    """The sentences need an accuracy whose interval excludes chance, before any adjustment."""
    found = ACCURACY.by_cell(GroupedFrame(view.frame, ["judge"])).values()
    return any(excludes(one, 0.5) for one in found) and cards(view, 1, ACCURACY_RULES)


def card_accuracy_with_ties(view: StoredStudy) -> bool:
    return cards(view, 1, ACCURACY_RULES)


def agrees_most(filtered: FilteredStudy) -> bool:
    return "most often" in agreement_headline(load_agreement(filtered))[0]


def voter_flagged(filtered: FilteredStudy) -> bool:
    return any(voter.flags for voter in load_agreement(filtered).voters)


def ranking_reversed(filtered: FilteredStudy) -> bool:
    return compare_rankings_of_both_orders(load_ranking(filtered)).answer == "No"


def card_people(view: StoredStudy) -> bool:
    """The sentences need a difference to a person that excludes 0, before any adjustment."""
    raters = Raters(view)
    found = judges_as_annotators(raters.frame, np.random.default_rng(SEED), rounds=1)
    return any(excludes(one.advantage, 0) for one in found) and cards(view, 1, PEOPLE_RULES)


def is_ahead(filtered: FilteredStudy) -> bool:
    title, lead = ranking_tab.headline(filtered)
    ahead = (" leads ", "ranks itself first", "won every battle", "; people put ")
    return any(words in title for words in ahead) or "would lead" in lead


def remedy_recommended(filtered: FilteredStudy) -> bool:
    title, lead = remedies_tab.headline(filtered)
    return not title.startswith("No remedy") or "gains agreement" in lead or "loses" in lead


def more_consistent(filtered: FilteredStudy) -> bool:
    pair = pair_with_filtered_side(filtered, "", "")
    title = contrast_headline(pair, "Behaviour")[0]
    return "more consistent" in title or "opposite" in title


# -- claims on frames: repeats and several options, which the small store does not have ------------


def repeats_show_an_order_effect(seed: int) -> bool:
    """Three repeats in both orders, pairs of different difficulty, no order effect."""
    draw, rows = np.random.default_rng([seed, 3]), []
    for k in range(24):
        for judge in range(3):
            p = draw.choice([0.5, 0.8, 0.95])
            for shown in ("xy", "yx"):
                for repeat in range(3):
                    name = "x" if draw.random() < p else "y"
                    rows.append({"item": f"q{k}", "judge": f"j{judge}", "shown": shown,
                                 "pick": shown.index(name), "repeat": repeat})  # fmt: skip
    bias = bias_from_frame(build(rows))
    added = bias.overall("order_effect")
    headline = added.low is not None and added.low > 0
    return headline or any(
        row.order_decides_most_pairs or row.is_significant for row in flip_leans(bias)
    )


def memory_shows_an_order_effect(seed: int) -> bool:
    """Three repeats in both orders, of which a repeat copies the one before it in 60 % of cases
    (a cache, or a low temperature); no order effect."""
    draw, rows = np.random.default_rng([seed, 7]), []
    for k in range(20):
        p = draw.choice([0.5, 0.7, 0.9])
        for judge in ("j0", "j1"):
            for shown in ("xy", "yx"):
                name = ""
                for repeat in range(3):
                    if not name or draw.random() > 0.6:
                        name = "x" if draw.random() < p else "y"
                    rows.append({"item": f"q{k}", "judge": judge, "shown": shown,
                                 "pick": shown.index(name), "repeat": repeat})  # fmt: skip
    raters = UnsavedRaters(UnsavedStudy("repeats", judgements=build(rows)), "design")
    found = (ReportCard(raters, name) for name in raters.names)
    first = [card_sentences(card.facts, card.text_by_key)[0] for card in found]
    return any(one.rule in POSITION_RULES and PROVISO not in one.text for one in first)


def remedy_without_signal(seed: int) -> bool:
    """Scores from 1 to 5 at random, in five orders of the options; 20 labelled answers."""
    draw, scored = np.random.default_rng([seed, 8]), []
    labels = {f"q{k}": {"m": float(draw.integers(1, 6))} for k in range(20)}
    for item in labels:
        scored += [(item, "m", order, float(draw.integers(1, 6))) for order in ORDERS]
    return (
        compare_single_answer_rules_with_one_call(frame_of(scored, labels))["j", "p"].advice
        is not None
    )


def errors_called_different(seed: int) -> bool:
    """Two models on whose answers the judge errs equally often; five verdicts on each answer."""
    p = equal_errors_p_value(judged_alike(np.random.default_rng([seed, 9]), 60, 5, 2.0))
    return p is not None and p < MAX_ERRORS_P


def four_options(seed: int) -> pd.DataFrame:
    """Four options in four rotations; a choice depends on content and noise only."""
    draw, rows = np.random.default_rng([seed, 4]), []
    for k in range(20):
        for judge in range(3):
            worth = np.exp(draw.normal(size=4))
            shows = rotated(f"q{k}", range(4), judge=f"j{judge}")
            for row in shows:
                weights = np.array([worth[int(name[1])] for name in row["shown"]])
                row["pick"] = int(draw.choice(4, p=weights / weights.sum()))
            rows += shows
    return build(rows)


def options_preferred(seed: int) -> bool:
    """A headline, or a mark “≠ even” in the matrix."""
    frame = four_options(seed)
    tests = (permutation_test(part, 4) for _, part in frame.groupby("judge", observed=True))
    if not any(test.p < 0.05 for test in tests):
        return False  # the headline and the marks rest on these tests
    bias, fitted = bias_from_frame(frame), fit_option_models(frame)
    title = position_preference_headline(bias, fitted)[0]
    marks = slot_evenness(frame, fitted, bias.order_test_count, bias.type_1_error_share).values()
    denied = title.startswith("No ") or "not significantly" in title
    said = "prefer" in title and not denied
    return said or any(one.text.startswith("≠") for one in marks)


def pass_rate_wrong(seed: int) -> bool:
    """Two judges with equal errors on good and bad answers, of which half are good: the observed
    pass rate is the true one."""
    draw, results = np.random.default_rng([seed, 6]), {}
    good = draw.random(400) < 0.5
    label = np.where(np.arange(400) < 100, good.astype(int), UNKNOWN)
    for judge in ("j0", "j1"):
        passed = draw.random(400) < np.where(good, 0.85, 0.15)
        rows = PassFailRows.from_values(passed.astype(int), label, np.arange(400))
        rates, powered = pass_fail_rates(rows), prediction_powered_rate(rows)
        results[judge, "p"] = PassFailResult(rates, true_pass_rate(rows, rates), powered, None)
    views = [PassFailResults(results, {}, {}, {}, tests=2),
             PassFailResults(dict(reversed(results.items())), {}, {}, {}, tests=2)]  # fmt: skip
    return any(is_pass_rate_wrong(view) for view in views)


def own_family_preferred(seed: int) -> bool:
    """Three judges with one view of quality; the models of two of them differ in strength."""
    draw, rows, family = np.random.default_rng([seed, 5]), [], {"g": "G", "c": "C", "v": "V"}
    strength = {"g": 0.9, "c": 0.0, "v": -0.9}
    for k in range(40):
        worth = {name: value + 0.8 * draw.normal() for name, value in strength.items()}
        for pair in combinations("gcv", 2):
            for judge in "GCN":
                for shown in (pair, pair[::-1]):
                    first = 1 / (1 + np.exp(1.2 * (worth[shown[1]] - worth[shown[0]])))
                    rows.append({"item": f"q{k}", "judge": f"j{judge}", "shown": shown,
                                 "pick": int(draw.random() > first), "family": judge,
                                 "families": tuple(family[x] for x in shown)})  # fmt: skip
    found = [one.excess for one in own_family_excess(build(rows)).values()]
    adjusted = [simultaneous_interval(one, len(found)) for one in found]
    return any(not one.low <= 0 <= one.high for one in adjusted)


@dataclass(frozen=True)
class NullGroup:
    """One kind of null study with the sentences that would be false about it."""

    study: NullStudy | str
    claims: dict[str, Callable[[Any], bool]]
    """Sentence -> whether a stored study (or, of a study without a store, a seed) gets it."""

    @property
    def name(self) -> str:
        return self.study if isinstance(self.study, str) else self.study.name

    def _may_hold(self, claim: Callable[[Any], bool], seed: int) -> bool:
        """Whether a necessary condition of a claim on position holds; other claims are computed."""
        assert isinstance(self.study, NullStudy)
        if claim not in (*POSITION_CLAIMS, low_consistency):
            return True
        found = _screened(self.study, seed)
        return found.may_be_inconsistent if claim is low_consistency else found.passes

    def false_sentences(self, seed: int, folder: Path) -> list[str]:
        """Draw one study and return the false sentences it gets."""
        if isinstance(self.study, str):
            return [sentence for sentence, claim in self.claims.items() if claim(seed)]
        claims = {s: claim for s, claim in self.claims.items() if self._may_hold(claim, seed)}
        if not claims:
            return []
        path = folder / f"{seed}.db"
        store = Store(path)
        try:
            view = stored(self.study, seed, store)
            return [sentence for sentence, claim in claims.items() if claim(view)]
        finally:
            store.close()
            path.unlink(missing_ok=True)


POSITION_CLAIMS = (
    position_preferred,
    position_preferred_under_a_filter,
    order_decides,
    card_position,
    card_position_under_a_filter,
)
"""Claims that need a significant preference for a position, as there are no repeats."""
PREFERS = "“prefers a position”, headline, rows and categories"
FILTERED = "“prefers a position”, without or under any filter"
DECIDES = "“the order changes the verdict on most pairs”"
CARD = "“toward the answer shown first”, “the order matters”, on any card"
FILTERED_CARD = "the same, without or under any category filter"
GROUPS = (
    NullGroup(COINS, {
        PREFERS: position_preferred, FILTERED: position_preferred_under_a_filter,
        DECIDES: order_decides, CARD: card_position, FILTERED_CARD: card_position_under_a_filter,
        "“low consistency”, below chance": low_consistency}),
    NullGroup(NO_POSITION, {
        PREFERS: position_preferred, FILTERED: position_preferred_under_a_filter,
        DECIDES: order_decides, CARD: card_position}),
    NullGroup(MISSING, {PREFERS: position_preferred}),
    NullGroup(MISSING_SECOND, {
        PREFERS: position_preferred, DECIDES: order_decides, CARD: card_position}),
    NullGroup("three repeats, no order effect", {
        "“the order changes the verdict”, “the order adds 5 points”, “prefers a position”":
            repeats_show_an_order_effect}),
    NullGroup("four options, no position effect", {
        "“prefers a position” of four, “≠ even”": options_preferred}),
    NullGroup(EQUAL_MODELS, {
        "“a leads b”, “b would lead”, “people put c above a”": is_ahead,
        "“a is above b in one order and below b in the other”": ranking_reversed}),
    NullGroup(EIGHT_JUDGES, {
        "“a is more consistent than b”, “opposite positions”": more_consistent}),
    NullGroup(PEOPLE, {
        "“more often”, “less often than a person”, on any card": card_people,
        "“agrees with people most often”": agrees_most,
        "a voter is flagged": voter_flagged}),
    NullGroup(GUESSES, {
        "the better answer found more often, or less often, than by chance, on any card":
            card_accuracy,
        "a remedy is recommended, “the usual rule gains agreement”": remedy_recommended}),
    NullGroup(TIED_GUESSES, {
        "the better answer found more often, or less often, than by chance, on any card":
            card_accuracy_with_ties}),
    NullGroup("repeats that copy the one before in 60 %, no order effect", {
        "“toward the answer shown first”, “the order matters”, on any card":
            memory_shows_an_order_effect}),
    NullGroup("scores at random", {
        "a remedy for scores is recommended": remedy_without_signal}),
    NullGroup("equal error rates, five verdicts an answer", {
        "“error rates differ between models”": errors_called_different}),
    NullGroup("strong own model, no bias", {
        "self-preference relative to outsiders excludes 0": own_family_preferred}),
    NullGroup("true pass rate = observed one", {
        "“the judge's pass rate is 4 points too high”": pass_rate_wrong}),
)  # fmt: skip


def false_shares(group: NullGroup, studies: int) -> dict[str, float]:
    """Sentence -> share of null studies that get it."""
    said = Counter[str]()
    with TemporaryDirectory() as folder:
        for seed in range(studies):
            said.update(group.false_sentences(seed, Path(folder)))
    return {sentence: said[sentence] / studies for sentence in group.claims}


@lru_cache(maxsize=1)
def _screened(study: NullStudy, seed: int) -> LeanScreen:
    return screen(study, study.rows(seed))


@pytest.mark.extra
@pytest.mark.parametrize("study", [COINS, NO_POSITION, MISSING_SECOND], ids=lambda one: one.name)
def test_the_screen_has_the_p_values_of_the_page(study, tmp_path):
    store = Store(tmp_path / "store.db")
    view = stored(study, 1, store)
    got = screen(study, study.rows(1))
    assert min(1, got.rows) == pytest.approx(min(row.p for row in flip_leans(view.bias)))
    by_category = [row.p for one in view.filters[1:] for row in flip_leans(Bias(view.counts, one))]
    assert min(1, got.categories) == pytest.approx(min(by_category))
    pairs = [Filter(contestants=both) for both in combinations("abc", 2)]
    counts = [BiasCounts(one.apply(view.frame), 3) for one in pairs]
    by_models = [row.p for one, few in zip(pairs, counts, strict=True)
                 for row in flip_leans(Bias(few, one))]  # fmt: skip
    assert min(1, got.models) == pytest.approx(min(by_models))
    same = view.bias.overall("consistency").value - consistency_by_chance(view.bias)
    assert got.consistency == pytest.approx(same, abs=0.02)
    store.close()


ALWAYS_FIRST = {"first": 6.0}
EFFECTS = {
    position_preferred: (COINS, ALWAYS_FIRST),
    position_preferred_under_a_filter: (COINS, ALWAYS_FIRST),
    order_decides: (NO_POSITION, ALWAYS_FIRST),
    card_position: (NO_POSITION, ALWAYS_FIRST),
    card_position_under_a_filter: (NO_POSITION, ALWAYS_FIRST),
    low_consistency: (COINS, ALWAYS_FIRST),
    is_ahead: (EQUAL_MODELS, {"lead": 2.0}),
    ranking_reversed: (EQUAL_MODELS, ALWAYS_FIRST),
    more_consistent: (EIGHT_JUDGES, {"sharp": 6.0, "coins": ("j1", "j2", "j3", "j4")}),
    card_people: (PEOPLE, {"sharp": 4.0, "coins": ("j0",)}),
    agrees_most: (PEOPLE, {"sharp": 4.0, "coins": ("j1", "j2")}),
    voter_flagged: (PEOPLE, {"sharp": 6.0, "ties": 0.0, "coins": ("v0",)}),
    card_accuracy: (GUESSES, {"lead": 2.0}),
    remedy_recommended: (GUESSES, {"lead": 1.0, "first": 1.0, "items": 100}),
    card_accuracy_with_ties: (TIED_GUESSES, {"lead": 2.0}),
}
"""Claim -> a null study, and what makes its sentence true."""


def test_every_claim_on_a_stored_study_has_its_effect():
    claims = {c for g in GROUPS if isinstance(g.study, NullStudy) for c in g.claims.values()}
    assert claims == set(EFFECTS)
    rules = {rule.name for group in RULE_GROUPS.values() for rule in group}
    assert rules >= POSITION_RULES | PEOPLE_RULES | ACCURACY_RULES


@pytest.mark.extra
@pytest.mark.parametrize("claim", EFFECTS, ids=lambda claim: claim.__name__)
def test_a_claim_is_seen_where_it_is_true(claim, store):
    """A sentence with new words would otherwise be counted as never said."""
    study, effect = EFFECTS[claim]
    view = stored(replace(study, **effect), 1, store)
    assert claim(view)


@pytest.mark.long
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_at_most_one_null_study_in_twenty_gets_a_false_sentence(group, capsys):
    got = false_shares(group, STUDIES)
    with capsys.disabled():
        print("", *rows(group, got), sep="\n", flush=True)
    most = 0.05 + 2.5 * (0.05 * 0.95 / STUDIES) ** 0.5
    assert {sentence: one for sentence, one in got.items() if one > most} == {}


def rows(group: NullGroup, got: dict[str, float]) -> list[str]:
    return [
        f"| {sentence} | {group.name} | {STUDIES} | {one:.3f} |" for sentence, one in got.items()
    ]


def table(part: str = "") -> Iterator[str]:
    """Yield the lines of the table, for null studies whose name contains `part`."""
    yield "| sentence | null study | studies | with a false one |"
    yield "|---|---|---|---|"
    for group in GROUPS:
        if part in group.name:
            yield from rows(group, false_shares(group, STUDIES))


if __name__ == "__main__":
    for text in table(*sys.argv[1:2]):
        print(text, flush=True)
