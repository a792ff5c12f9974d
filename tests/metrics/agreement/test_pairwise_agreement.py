"""Agreement of two raters, of people among themselves, and of a judge as an annotator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.agreement import pairwise_agreement as c
from metrics.agreement.judge_as_annotator import judges_as_annotators
from metrics.estimation.contrasts import paired_contrasts
from metrics.estimation.measures import GroupedFrame
from metrics.estimation.rare_events import upper_limit_of_unseen_share
from metrics.estimation.row_selection import people_mask, select_rows
from metrics.position.position_term_measure import FIRST_IF_EQUAL, POSITION_TERM
from metrics.ratings.conditional_logit import verdict_t_quantile
from metrics.ratings.position_term import position_term
from metrics.summary.agreement_sections import rater_pair_agreement
from tests.metrics import reference_coefficients
from tests.metrics.frames import build, pair, patterns, prd
from tests.samples import ALL, sample

SAID = st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1)), min_size=4, max_size=40)


def vote(item: str, who: str, pick, shown: str = "xy"):
    return {
        "item": item, "judge": f"human:{who}", "prompt": "vote", "shown": shown, "pick": pick,
        "orders": 1,
    }  # fmt: skip


def votes(item: str, *picks):
    return [vote(item, who, pick) for who, pick in zip("abcdef", picks, strict=False)]


@given(SAID)
def test_kappa_and_alpha_are_those_of_the_plain_formulas(said):
    first, second = (np.array(side, np.int64) for side in zip(*said, strict=True))
    got = c.pair_agreement(first, second, np.arange(len(said)))
    assert got.share.value == pytest.approx((first == second).mean())
    for mine, theirs in (
        (got.kappa.value, reference_coefficients.cohen_kappa(first, second).kappa),
        (got.alpha.value, reference_coefficients.krippendorff_alpha([first, second])),
    ):
        assert (mine is None) == (theirs is None)
        assert mine is None or mine == pytest.approx(theirs, abs=1e-9)


@given(SAID)
def test_intervals_of_kappa_and_alpha_stay_within_their_range(said):
    """Both the t interval and the widened one with few disagreements once reached below −1."""
    first, second = (np.array(side, np.int64) for side in zip(*said, strict=True))
    got = c.pair_agreement(first, second, np.arange(len(said)) // 2)
    for one in (got.kappa, got.alpha, got.kappa_decisive):
        if one.value is not None:
            assert -1 <= one.value <= 1
        if one.low is not None:
            assert -1 <= one.low <= one.value <= one.high <= 1


def test_kappa_of_two_contrary_raters_ends_at_its_lowest_value():
    first, second = np.array([0, 1, 0, 1, 0]), np.array([1, 0, 1, 1, 1])
    assert c.pair_agreement(first, second, np.arange(5)).kappa.low == -1


@given(SAID)
def test_it_does_not_matter_who_is_called_the_first(said):
    a, b = (np.array(side, np.int64) for side in zip(*said, strict=True))
    item = np.arange(len(said)) // 2
    assert c.pair_agreement(a, b, item).kappa == c.pair_agreement(b, a, item).kappa
    assert c.pair_agreement(a, b, item).decisive == c.pair_agreement(b, a, item).decisive


def test_without_ties_counts_only_what_both_decided():
    # x x, x y, tie x, tie tie: 2 of 4 equal; both decided twice, 1 of 2 equal.
    got = c.pair_agreement(np.array([0, 0, -1, -1]), np.array([0, 1, 0, -1]), np.arange(4))
    assert (got.share.value, got.decisive.value, got.decisive.n) == (0.5, 0.5, 2)


def test_voices_that_always_say_one_thing_have_a_share_and_no_kappa():
    got = c.pair_agreement(np.zeros(5, np.int64), np.zeros(5, np.int64), np.arange(5))
    assert (got.share.value, got.kappa.value) == (1.0, None)
    assert got.kappa.note == c.CONSTANT_VERDICTS_NOTE


def test_judges_meet_on_the_same_order_and_people_in_its_slots():
    # j says x in both orders, k takes the first both times; people say x. j–k agree in order 1.
    rows = [*pair("q", 0, 1), *pair("q", 0, 0, judge="k"), *votes("q", 0, 0, 1)]
    table = c.agreement_matrix(build(rows))
    assert table["j"]["k"].share.value == 0.5
    assert table["j"][c.PEOPLE].share.value == 1.0
    assert table[c.PEOPLE]["k"].share.value == 0.5
    assert list(table) == [c.PEOPLE, "j", "k"]


def test_verdicts_with_different_prompts_are_compared_prompt_by_prompt():
    """With p1 both pick the first; with p2 j picks the second. People vote for x, shown first."""
    rows = [
        {"item": "q", "shown": ("x", "y"), "pick": pick, "judge": judge, "prompt": prompt}
        for judge, picks in (("j", (0, 1)), ("k", (0, 0)))
        for prompt, pick in zip(("p1", "p2"), picks, strict=True)
    ]
    table = rater_pair_agreement(build([*rows, *votes("q", 0, 0)]))
    assert (table["j"]["k"].share.value, table["j"]["k"].share.n) == (0.5, 2)
    assert table["j"][c.PEOPLE].share.value == 0.5 and table["k"][c.PEOPLE].share.value == 1


def test_people_vote_on_sides_of_their_own():
    # ann saw y first and took it, bob saw x first and took y: they agree.
    rows = [vote("q", "ann", 0, "yx"), vote("q", "bob", 1, "xy")]
    assert c.agreement_among_people(build(rows)).pair.share.value == 1.0


def test_people_among_themselves_by_hand():
    # q1: x x x, 3 of 3 pairs. q2: x x y, 1 of 3. q3: a single vote.
    rows = [*votes("q1", 0, 0, 0), *votes("q2", 0, 0, 1), *votes("q3", 0)]
    got = c.agreement_among_people(build(rows))
    assert (got.pair.share.value, got.pair.share.n) == (pytest.approx(4 / 6), 6)
    # Leave one out: q1 3 of 3. q2: x against {x, y}, a tie, no; the same again; y against x, no.
    assert (got.others.share.value, got.others.share.n) == (0.5, 6)
    assert (got.voters, got.cases, got.single_vote_cases) == (3, 3, 1)


def test_who_votes_twice_is_one_person():
    rows = [*votes("q", 0), vote("q", "a", 1, "yx")]
    assert c.agreement_among_people(build(rows)).pair.share.value is None


def test_a_judge_in_a_persons_place_by_hand():
    # q1 votes x x x: a person sides with 1 of the others. q2 votes x x y: (2·1)/(3·2) = 1/3.
    # j says x to both, in both orders: named by 1 and by 2/3 of the voters. 5/6 − 2/3 = 1/6.
    rows = [*votes("q1", 0, 0, 0), *votes("q2", 0, 0, 1)]
    for item in ("q1", "q2"):
        rows += [*pair(item, 0, 1), *pair(item, 0, 0, judge="k")]
    good, first = judges_as_annotators(build(rows), np.random.default_rng(1), rounds=50)
    assert (good.judge, good.with_judge.value) == ("j", pytest.approx(5 / 6))
    assert good.with_person.value == pytest.approx(2 / 3)
    assert good.advantage.value == pytest.approx(1 / 6)
    # k takes the first: x and y once each, (1 + 0)/2 and (2/3 + 1/3)/2. 1/2 − 2/3.
    assert first.advantage.value == pytest.approx(-1 / 6)
    assert (good.best, first.best) == (1.0, 0.0)


def test_a_person_in_a_persons_place_has_no_advantage_on_average():
    rng = np.random.default_rng(3)
    rows = []
    for k in range(300):
        drawn = rng.choice([0, 1], 4, p=[0.7, 0.3]).tolist()
        rows += votes(f"q{k}", *drawn[:3])
        rows.append({"item": f"q{k}", "shown": "xy", "pick": drawn[3], "orders": 1})
    (got,) = judges_as_annotators(build(rows), rng, rounds=1)
    assert got.advantage.low < 0 < got.advantage.high
    assert abs(got.advantage.value) < 0.05


def test_a_judge_without_a_case_of_two_votes_is_unknown_and_comes_last() -> None:
    """On q1, j agrees with 2 of 3 people, of whom two in six agree; q2 has a single vote."""
    rows = [*votes("q1", 0, 0, 1), *votes("q2", 0), *pair("q1", 0, 1), *pair("q2", 1, 0)]
    rows += pair("q2", 0, 1, judge="a")
    known, unknown = judges_as_annotators(build(rows), np.random.default_rng(1), rounds=2)
    assert (known.judge, unknown.judge, known.best, unknown.best) == ("j", "a", None, None)
    assert (known.with_judge.value, known.with_judge.n) == (pytest.approx(2 / 3), 1)
    assert known.advantage.value == pytest.approx(2 / 3 - 1 / 3)
    assert unknown.with_judge.value is None and unknown.advantage.note


def test_without_people_nobody_is_replaced_and_nothing_is_zero():
    (got,) = judges_as_annotators(build(pair("q", 0, 1)), np.random.default_rng(1), rounds=1)
    assert got.advantage.value is None and "two people" in got.advantage.note
    assert judges_as_annotators(build([]), np.random.default_rng(1)) == []
    assert c.agreement_matrix(build([])) == {}
    assert c.agreement_among_people(build([])).pair.share.value is None


def test_prd_is_as_its_page_says():
    frame = prd()
    table, persons = c.agreement_matrix(frame), c.agreement_among_people(frame)
    assert table["gpt-4"][c.PEOPLE].share.value == pytest.approx(0.643125, abs=1e-12)
    # 480 of 800 pairs have three votes: 1,440 pairs of votes; the other 320 have a single one.
    assert (persons.pair.share.n, persons.cases, persons.single_vote_cases) == (1440, 800, 320)
    assert persons.pair.share.value == pytest.approx(754 / 1440)
    assert judges_as_annotators(frame, np.random.default_rng(1), 200)[0].judge in (
        "gpt-4",
        "claude-v1",
    )


# -- the position term as a measure ----------------------------------------------------------------


def test_pseudo_values_have_the_term_and_its_standard_error():
    """The intervals differ by their t alone: the model knows how many verdicts an item holds."""
    frame = patterns({"AA": 12, "AB": 40, "BA": 30, "BB": 5, "CC": 6, "AC": 4, "BC": 3})
    mine, model = POSITION_TERM.estimate(frame), position_term(frame)
    assert mine.value == pytest.approx(model.value, abs=1e-9)
    mine_error = (mine.high - mine.low) / verdict_t_quantile(mine.items)
    model_error = (model.high - model.low) / verdict_t_quantile(model.items, model.n)
    assert mine_error == pytest.approx(model_error, abs=1e-6)
    share = FIRST_IF_EQUAL.estimate(frame).value
    assert share == pytest.approx(1 / (1 + np.exp(-model.value)))


def test_the_term_is_refused_where_place_and_content_are_one():
    frame = build([{"item": f"q{k}", "shown": "xy", "pick": 0, "orders": 1} for k in range(9)])
    got = POSITION_TERM.estimate(frame)
    assert got.value is None and "run both orders" in got.note


def test_the_term_enters_contrasts_on_real_records():
    frame = prd()
    frame = select_rows(frame, ~people_mask(frame))
    pairs = [(("gpt-4",), ("claude-v1",))]
    (got,) = paired_contrasts(frame, ["judge"], [POSITION_TERM], np.random.default_rng(1), pairs)
    each = POSITION_TERM.by_cell(GroupedFrame(frame, ["judge"]))
    assert got.raw.value == pytest.approx(each["gpt-4",].value - each["claude-v1",].value)
    assert got.raw.low > 1  # 0.71 + 0.69, and surely above 1


def test_alpha_gives_every_vote_the_same_weight():
    # 6 hard cases with 12 votes and 54 easy ones with 2: by pairs the hard ones have 88 %.
    draw = np.random.default_rng(1)
    rows, ratings = [], np.full((12, 60), np.nan)
    for case in range(60):
        share = 0.5 if case < 6 else draw.choice([0.05, 0.95])
        for voter in range(12 if case < 6 else 2):
            ratings[voter, case] = pick = int(draw.random() > share)
            rows.append(vote(f"q{case}", f"v{voter:02}", pick))
    got = c.agreement_among_people(build(rows)).pair.alpha
    assert got.value == pytest.approx(reference_coefficients.krippendorff_alpha(ratings))
    assert got.value == pytest.approx(0.525, abs=5e-4)


def test_alpha_among_the_people_of_prd_is_krippendorffs():
    assert c.agreement_among_people(prd()).pair.alpha.value == pytest.approx(0.17739, abs=1e-5)


def test_the_share_of_two_people_gives_every_vote_the_same_weight():
    # Case a: 4 votes, 2 : 2, a vote meets an equal one in 1/3. Case b: 2 equal votes.
    rows = [vote("a", f"v{k}", int(k < 2)) for k in range(4)]
    rows += [vote("b", "v0", 0), vote("b", "v1", 0)]
    got = c.agreement_among_people(build(rows)).pair
    assert got.share.value == pytest.approx((4 * (1 / 3) + 2 * 1) / 6)  # by pairs 3/7
    assert got.share.n == 7


@pytest.mark.parametrize(("error", "items"), sample([(0.05, 40), (0.1, 20)], (0.1, 20)))
def test_kappa_and_alpha_cover_with_few_disagreements(error, items):
    # Two raters who err rarely and independently: 4 disagreements on average.
    draw, item, covered = np.random.default_rng(8), np.arange(items), np.zeros(2)
    truth = 1 - 2 * error * (1 - error) / 0.5
    rounds = 300 if ALL else 120
    for _ in range(rounds):
        right = draw.integers(0, 2, items)
        first, second = (np.where(draw.random(items) < error, 1 - right, right) for _ in "12")
        got = c.pair_agreement(first, second, item)
        covered += [one.low <= truth <= one.high for one in (got.kappa, got.alpha)]
    assert (covered / rounds >= 0.93).all()  # .89 by the jackknife alone


def test_two_judges_are_compared_by_question_if_items_share_one():
    rows = [row for k in range(8) for row in pair(f"t{k}", 0, 1)]
    frame = build(rows + [{**row, "judge": "k"} for row in rows])
    question = [f"q{int(name[1]) // 2}" for name in frame["item"].astype(str)]
    got = c.agreement_matrix(frame.assign(question=pd.Categorical(question)))["j"]["k"]
    assert (got.share.n, got.share.items, got.kappa.items) == (16, 4, 4)


def test_equally_good_judges_share_the_first_place() -> None:
    # j and k give the same verdicts: each leads every round with half of it.
    rows = [*votes("q1", 0, 0, 0), *votes("q2", 0, 0, 1)]
    rows += [one for item in ("q1", "q2") for j in "jk" for one in pair(item, 0, 1, judge=j)]
    both = judges_as_annotators(build(rows), np.random.default_rng(1), rounds=20)
    assert [one.best for one in both] == [0.5, 0.5]


def test_perfect_agreement_may_hide_one_verdict_in_full_disagreement() -> None:
    """An unseen disagreement, at most Wilson's share of eight, costs κ 1/(1 − e): e is 5/8 of six
    equal verdicts for the first and two for the second, so 8/3."""
    said = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    got = c.pair_agreement(said, said, np.arange(8))
    unseen = upper_limit_of_unseen_share(8)
    for one in (got.kappa, got.alpha):
        assert (one.value, one.low) == pytest.approx((1, 1 - unseen * 8 / 3))
