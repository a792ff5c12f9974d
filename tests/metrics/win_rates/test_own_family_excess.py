"""Self-preference relative to outsiders, and precision plans of win rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from metrics.estimation.planning.variance_components import VarianceComponents
from metrics.remedies.effective_votes import effective_votes
from metrics.remedies.remedy_study import build_remedy_study
from metrics.win_rates.jury import effective_judges, verdict_correlation
from metrics.win_rates.own_family_excess import own_family_excess
from metrics.win_rates.precision_plan import _narrowing_by_doubling, precision_plan
from tests.metrics.frames import build, pair, prd
from tests.samples import ALL

FAMILY = {"g": "G", "c": "C", "v": "V"}
STRENGTH = {"g": 0.9, "c": 0.0, "v": -0.9}


def panel(seed: int, bias: float = 0.0, items: int = 60, unread: float = 0.0):
    """Three judges with one view of quality; `bias` is what each adds to its own family."""
    draw = np.random.default_rng(seed)
    rows = []
    for k in range(items):
        noise = {name: 0.8 * draw.normal() for name in FAMILY}
        for a, b in (("g", "c"), ("g", "v"), ("c", "v")):
            gap = STRENGTH[a] - STRENGTH[b] + noise[a] - noise[b]
            voters = {"human:0": "", "jG": "G", "jC": "C", "jN": "N"}
            for judge, family in voters.items():
                own = bias * ((FAMILY[a] == family) - (FAMILY[b] == family))
                for x, y in ((a, b), (b, a)) if family else ((a, b),):
                    logit = 1.2 * (gap + own) * (1 if x == a else -1)
                    lost = bool(family) and draw.random() < unread
                    rows.append({
                        "item": f"q{k}", "judge": judge, "shown": (x, y), "family": family,
                        "families": (FAMILY[x], FAMILY[y]), "orders": 2 if family else 1,
                        "pick": None if lost else int(draw.random() > expit(logit)),
                    })  # fmt: skip
    return build(rows)


def test_a_judge_of_a_strong_family_without_self_preference_has_none():
    excluded, panels = 0, 20 if ALL else 8
    for seed in range(panels):
        got = own_family_excess(panel(seed))
        assert set(got) == {"jG", "jC"}
        excluded += sum(
            not one.low <= 0 <= one.high
            for judge in got.values()
            for one in (judge.excess, judge.people_excess)
        )
    assert excluded <= 9 * panels / 20  # 4 intervals each; of 80, 4 expected


def test_self_preference_is_found():
    got = own_family_excess(panel(1, bias=1.0))
    assert got["jG"].excess.low > 0 and got["jC"].excess.low > 0


def test_prd_relative_to_people_and_to_the_other_judges():
    frame = prd()
    for column, names in (("family", "judge"), ("family_0", "first"), ("family_1", "second")):
        said = frame[names].astype(str)
        frame = frame.assign(**{column: pd.Categorical(said.where(~said.str.startswith("human:")))})
    got = {name: one.people_excess for name, one in own_family_excess(frame).items()}
    for name, expected in (
        ("gpt-4", (0.266, 0.176, 0.357)),
        ("bard", (0.122, 0.041, 0.202)),
        ("claude-v1", (0.008, -0.087, 0.103)),
    ):
        one = got[name]
        assert (one.value, one.low, one.high) == pytest.approx(expected, abs=6e-4)


def test_missing_verdicts_widen_the_bounds():
    whole, part = (own_family_excess(panel(2, unread=share))["jG"] for share in (0.0, 0.1))
    assert whole.bounds.low == whole.bounds.high == pytest.approx(whole.excess.value)
    assert part.bounds.low < part.excess.value < part.bounds.high
    assert part.bounds.low <= whole.excess.value <= part.bounds.high


def test_an_outsider_without_a_common_item_is_left_out():
    frame = panel(1, bias=1.0)
    late = frame["item"].astype(str).str[1:].astype(int) >= 50
    apart = frame[(frame["judge"] == "jC") & late | (frame["judge"] == "jG") & ~late
                  | ~frame["judge"].isin(["jC", "jG"])]  # fmt: skip
    expected = own_family_excess(apart[apart["judge"] != "jC"])["jG"]
    got = own_family_excess(apart)["jG"]
    assert got.excess.low > 0
    assert (got.excess, got.people_excess) == (expected.excess, expected.people_excess)
    assert (got.bounds.low, got.bounds.high) == (expected.bounds.low, expected.bounds.high)


def test_items_that_only_the_judge_or_only_outsiders_saw_change_nothing():
    """The first 40 items are common; of the others the judge saw 10, the outsiders 10."""
    frame = panel(1, bias=1.0)
    number = frame["item"].astype(str).str[1:].astype(int)
    common = own_family_excess(frame[number < 40])["jG"]
    own = (frame["judge"] == "jG") & (number < 50)
    others = (frame["judge"] != "jG") & ((number < 40) | (number >= 50))
    got = own_family_excess(frame[own | others])["jG"]
    assert got.excess == common.excess and got.excess.items == 40


def judged(item: str, judge: str, family: str, pick, people=None):
    """One verdict on g against c, by people too if `people` is a slot."""
    row = {"item": item, "shown": "gc", "families": "GC", "orders": 1}
    votes = [] if people is None else [{"judge": "human:a", "family": "", "pick": people}]
    return [row | one for one in (*votes, {"judge": judge, "family": family, "pick": pick})]


def test_the_excess_is_the_rate_of_the_judge_minus_the_mean_rate_of_the_others():
    """Of four items g wins 3 with its own judge, 1 and 2 with the others: 3/4 − 3/8."""
    picks = {"jG": "0001", "jC": "0111", "jN": "0011"}
    rows = [row for judge, slots in picks.items() for k, slot in enumerate(slots)
            for row in judged(f"q{k}", judge, judge[1], int(slot))]  # fmt: skip
    got = own_family_excess(build(rows))["jG"]
    assert (got.own.value, got.others.value, got.excess.value) == (0.75, 0.375, 0.375)
    assert got.own.low < 0.75 < got.own.high and got.others.low < 0.375 < got.others.high
    assert got.own.low >= 0 and got.others.low >= 0


def test_an_outsider_must_see_both_sides_of_the_votes():
    """People prefer g on four items, c on four. jG agrees on 3 and on 1 (3/4 − 1/4), jN on 2 and 2
    (0). jC saw only items of the first kind, so that its preference for g is unknown."""
    picks = {"jG": "00010001", "jN": "00110011", "jC": "0001"}
    rows = [row for judge, slots in picks.items() for k, slot in enumerate(slots)
            for row in judged(f"q{k}", judge, judge[1], int(slot),
                              k // 4 if judge == "jG" else None)]  # fmt: skip
    got = own_family_excess(build(rows))["jG"].people_excess
    assert (got.value, got.n) == (0.5, 8)


def test_without_an_outsider_there_is_no_excess():
    rows = pair("q", 0, 1, family="f", families=("f", "g"))
    (got,) = own_family_excess(build(rows)).values()
    assert got.excess.value is None and "another family" in got.excess.note


# -- what to buy next ------------------------------------------------------------------------------


def repeated_study(noise: float, seed: int = 5, items: int = 40):
    """One judge, items that differ, every call made three times."""
    draw = np.random.default_rng(seed)
    rows = []
    for k in range(items):
        better = draw.random() < 0.6
        for shown in ("xy", "yx"):
            for repeat in range(3):
                x_wins = better ^ (draw.random() < noise)
                slot = shown.index("x" if x_wins else "y")
                rows.append({"item": f"q{k}", "shown": shown, "pick": slot, "repeat": repeat})
    return build(rows)


def test_more_items_always_narrow_by_29_percent_and_repeats_by_their_noise():
    steady, noisy = (precision_plan(repeated_study(noise), "x") for noise in (0.02, 0.45))
    assert steady.narrowing["item"] == pytest.approx(1 - 0.5**0.5)
    assert steady.narrowing["repeat"] < 0.03 < noisy.narrowing["repeat"]
    assert steady.repeat_known and set(steady.narrowing) == {"item", "repeat"}


def test_without_repeats_the_gain_of_repeats_is_an_upper_limit():
    rows = [row for k in range(12) for row in pair(f"q{k}", k % 2, 1 - k % 3 // 2)]
    plan = precision_plan(build(rows), "x")
    assert not plan.repeat_known and plan.narrowing["repeat"] > 0


def test_items_without_every_judge_and_order_are_left_out():
    rows = [row for k in range(12) for row in pair(f"q{k}", k % 2, 1, judge="a")]
    rows += [row for k in range(8) for row in pair(f"q{k}", 0, k % 2, judge="b")]
    assert precision_plan(build(rows), "x").items == 8
    assert precision_plan(build(rows[:8]), "x") is None
    assert precision_plan(build(rows), "nobody") is None


def jury_frame(correct: float, *, shared: bool, known: bool = True, items: int = 300):
    """Three judges that name the better answer x or y in both orders with probability `correct`,
    with one error for all of them (`shared`) or an error each."""
    draw = np.random.default_rng(1)
    rows = []
    for k in range(items):
        better, common = "xy"[k % 2], draw.random() < correct
        for judge in "abc":
            right = common if shared else draw.random() < correct
            slot = int((better == "x") != right)
            more = {"better": better} if known else {}
            rows += pair(f"q{k}", slot, 1 - slot, judge=judge, **more)
    return build(rows)


def test_equal_judges_are_worth_one_and_independent_errors_all():
    assert effective_judges(jury_frame(0.8, shared=True)).value == pytest.approx(1.0)
    for correct in (0.5, 0.8, 0.92):
        frame = jury_frame(correct, shared=False)
        worth, study = effective_judges(frame), build_remedy_study(frame)
        assert worth == effective_votes(study.grid, range(3)), "one function"
        assert 2.5 < worth.value <= 3 and worth.low < worth.value <= worth.high <= 3
        # Judges that are mostly right agree, although they share no error.
        assert verdict_correlation(frame) == pytest.approx((2 * correct - 1) ** 2, abs=0.12)


def test_without_known_answers_only_the_correlation_of_verdicts_is_known():
    frame = jury_frame(0.92, shared=False, known=False)
    assert effective_judges(frame) is None and 0.6 < verdict_correlation(frame) < 0.85
    assert effective_judges(build(pair("q", 0, 1))) is None
    assert verdict_correlation(build(pair("q", 0, 1))) is None


def test_only_what_was_measured_more_than_once_is_doubled() -> None:
    """ITEM 0.1/50, judge 0.04/100: doubling the judges leaves 0.1/50 + 0.04/200."""
    item, judge = frozenset(["item"]), frozenset(["item", "judge"])
    counts = {"item": 50, "judge": 2, "prompt": 1, "order": 2}
    found = _narrowing_by_doubling(VarianceComponents(counts, {item: 0.1, judge: 0.04}, 0.0, 2.0))
    assert list(found) == ["item", "judge", "repeat"]
    assert found["item"] == pytest.approx(1 - 0.5**0.5)
    assert found["judge"] == pytest.approx(1 - (0.0022 / 0.0024) ** 0.5)
    assert found["repeat"] == 0
    prompts = VarianceComponents({**counts, "judge": 1, "prompt": 2}, {item: 0.1}, 0.0, 2.0)
    assert list(_narrowing_by_doubling(prompts)) == ["item", "prompt", "repeat"]


def test_without_families_there_is_no_excess() -> None:
    frame = panel(1, items=8)
    assert set(own_family_excess(frame)) == {"jG", "jC"}
    assert own_family_excess(frame.drop(columns="family_1")) == {}
