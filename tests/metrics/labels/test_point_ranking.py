"""Ranking of models by single answers: paired differences, ranks, corrected pass rates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metrics.estimation.row_selection import select_rows
from metrics.labels.pass_fail import UNKNOWN, PassFailRows
from metrics.labels.point_ranking import (
    BY_LABELS,
    OWN_LABELS_NOTE,
    SHARED_NOTE,
    PointRanking,
    _gap_of_rates,
    _true_pass_rate_of_model,
    model_rankings_by_rater,
    point_ranking_section,
)
from metrics.labels.true_pass_rate import is_by_labels
from studies.domain import Estimate
from studies.frames.frame import SEP, frame_from_rows

PASS_LABELS, SCALE = SEP.join(("fail", "pass")), SEP.join("12345")


def frame_of(
    rows: list[tuple[str, str, float | None]],
    labels: dict[tuple[str, str], object] | None = None,
    offered: str = SCALE,
) -> pd.DataFrame:
    """Frame of (item, model, score); None is an unusable reply."""
    made = [
        (k, item, "j", "p", who, offered, 0, False, 1, "ok" if score is not None else "unreadable",
         None, None, f"[{score}]" if score is not None else None, None, k)
        for k, (item, who, score) in enumerate(rows)
    ]  # fmt: skip
    facts: dict[str, dict[str, dict[str, object]]] = {}
    for (item, who), value in (labels or {}).items():
        facts.setdefault(item, {"labels": {}})["labels"][who] = value
    return frame_from_rows(made, facts, study="s")


def ranking_of(frame: pd.DataFrame) -> PointRanking:
    return model_rankings_by_rater(frame)["j", "p"]


def test_models_are_ranked_by_their_mean_score_on_the_same_items() -> None:
    rows = [(f"q{k}", who, score + (k % 2)) for k in range(20)
            for who, score in (("low", 1.0), ("high", 3.0), ("same", 3.0))]  # fmt: skip
    rows.append(("q0", "low", None))
    found = ranking_of(frame_of(rows))
    assert found.basis == "mean score"
    assert [one.name for one in found.models] == ["high", "same", "low"]
    high, same, low = found.models
    assert (high.value.value, low.value.value, low.value.n) == (3.5, 1.5, 20)
    assert low.lead is not None and low.lead.value == pytest.approx(2.0)
    # Every item has the same difference, so the interval excludes zero though scores vary by item.
    assert low.lead.low is not None and low.lead.low > 0
    assert high.ranks == same.ranks == (1, 2) and low.ranks == (3, 3)
    assert high.lead is None and high.true_rate is None


def test_pass_rates_are_corrected_with_the_labels_of_all_models() -> None:
    """Hand-worked: sensitivity 8/10 and specificity 7/10, observed 6/10 and 5/10, J 0.5."""
    rows, labels = [], {}
    for k in range(200):
        good = k % 20 < 10
        passed = k % 10 < 8 if good else k % 10 >= 7
        rows.append((f"l{k}", "x" if k % 40 < 20 else "y", float(passed)))
        labels[f"l{k}", "x" if k % 40 < 20 else "y"] = "pass" if good else "fail"
    for k in range(200):
        rows += [(f"q{k}", "x", float(k % 10 < 6)), (f"q{k}", "y", float(k % 10 < 5))]
    found = ranking_of(frame_of(rows, labels, PASS_LABELS))
    assert (found.basis, found.may_reverse_ranking) == ("true pass rate", False)
    by_name = {one.name: one for one in found.models}
    # Unlabelled: (0.6 + 0.7 − 1) / 0.5 = 0.6 and (0.5 + 0.7 − 1) / 0.5 = 0.4; labelled: 0.5.
    for name, corrected in (("x", 0.6), ("y", 0.4)):
        true = by_name[name].true_rate
        assert true is not None
        assert true.value == pytest.approx((200 * corrected + 100 * 0.5) / 300)
    assert [one.name for one in found.models] == ["x", "y"]


def test_without_labels_the_observed_pass_rate_ranks() -> None:
    rows = [(f"q{k}", who, float(k < n)) for k in range(40) for who, n in (("x", 30), ("y", 10))]
    found = ranking_of(frame_of(rows, offered=PASS_LABELS))
    assert found.basis == "observed pass rate"
    x, y = found.models
    assert (x.value.value, y.value.value) == (0.75, 0.25)
    assert x.true_rate is not None and x.true_rate.value is None and "label" in x.true_rate.note
    assert x.ranks == (1, 1) and y.ranks == (2, 2)


def judged_unequally(smooth_error: float) -> pd.DataFrame:
    """Two models with 70 % and 40 % good answers; 400 of 900 answers are labelled."""
    rng = np.random.default_rng(5)
    truth, errors = {"plain": 0.7, "smooth": 0.4}, {"plain": 0.1, "smooth": smooth_error}
    rows: list[tuple[str, str, float | None]] = []
    labels: dict[tuple[str, str], object] = {}
    for who in truth:
        for k in range(900):
            good = rng.random() < truth[who]
            passed = rng.random() < (0.95 if good else errors[who])
            rows.append((f"q{k}", who, float(passed)))
            if k < 400:
                labels[f"q{k}", who] = "pass" if good else "fail"
    return frame_of(rows, labels, PASS_LABELS)


def test_a_judge_that_errs_differently_by_model_does_not_reverse_their_order() -> None:
    """The judge passes 65 % of the bad answers of the smooth model, and 10 % of the other's. One
    correction for both would put the smooth model first; each model's own labels do not."""
    truth = {"plain": 0.7, "smooth": 0.4}
    found = ranking_of(judged_unequally(0.65))
    observed = {one.name: one.value.value for one in found.models}
    assert observed["smooth"] is not None and observed["plain"] is not None
    assert observed["smooth"] > observed["plain"], "the observed order is reversed"
    assert found.may_reverse_ranking and [one.name for one in found.models] == ["plain", "smooth"]
    for one in found.models:
        true = one.true_rate
        assert true is not None and true.low is not None and true.high is not None
        assert OWN_LABELS_NOTE in true.note
        assert true.low <= truth[one.name] <= true.high


def test_a_model_whose_answers_all_have_labels_is_not_called_corrected() -> None:
    """Errors differ between the models. If all answers have labels nothing is corrected; if those
    of one have, only the other's rate is."""
    frame = judged_unequally(0.65)
    labelled = frame["item"].astype(str).isin([f"q{k}" for k in range(400)])
    whole = ranking_of(select_rows(frame, labelled.to_numpy()))
    assert whole.may_reverse_ranking and whole.basis == BY_LABELS
    assert not any(OWN_LABELS_NOTE in one.true_rate.note for one in whole.models)
    smooth_only = labelled | (frame["first"] == "smooth")
    found = ranking_of(select_rows(frame, smooth_only.to_numpy()))
    true = {one.name: one.true_rate for one in found.models}
    assert not found.is_by_labels and OWN_LABELS_NOTE in true["smooth"].note
    assert is_by_labels(true["plain"]) and not is_by_labels(true["smooth"])
    assert true["plain"].note == ""
    assert not is_by_labels(Estimate(None))


def test_where_a_model_cannot_be_corrected_the_observed_order_is_marked() -> None:
    """The judge hardly tells good from bad answers of the smooth model: its rate is refused."""
    found = ranking_of(judged_unequally(0.85))
    assert (found.basis, found.may_reverse_ranking) == ("observed pass rate", True)
    smooth = next(one for one in found.models if one.name == "smooth")
    assert smooth.true_rate is not None and smooth.true_rate.value is None


def test_the_section_lists_models_best_first_and_needs_two() -> None:
    rows = [(f"q{k}", who, score + (k % 2)) for k in range(20)
            for who, score in (("low", 1.0), ("high", 3.0))]  # fmt: skip
    got = point_ranking_section(frame_of(rows))["j"]["p"]
    assert got["basis"] == "mean score" and got["errors_differ"] is False
    assert list(got["models"]) == ["high", "low"]
    high, low = got["models"].values()
    assert (high["value"].value, high["ranks"]) == (3.5, [1, 1]) and "behind_first" not in high
    assert (low["behind_first"].value, low["ranks"]) == (2.0, [2, 2])
    assert point_ranking_section(frame_of([one for one in rows if one[1] == "low"])) == {}


def test_a_model_whose_answers_are_all_labelled_is_ranked_by_its_labels() -> None:
    """x: 9 of 12 good, y: 3 of 12. The judge errs on the first two good answers of x."""
    rows, labels = [], {}
    for who, good in (("x", 9), ("y", 3)):
        for k in range(12):
            labels[f"q{k}", who] = "pass" if k < good else "fail"
            rows.append((f"q{k}", who, float(k < good and not (who == "x" and k < 2))))
    found = ranking_of(frame_of(rows, labels, PASS_LABELS))
    assert found.basis == BY_LABELS
    assert {one.name: (one.true_rate.value, one.value.value) for one in found.models} == {
        "x": (0.75, pytest.approx(7 / 12)), "y": (0.25, 0.25),
    }  # fmt: skip


def test_limits_of_a_difference_add_up_in_squares_also_at_zero() -> None:
    first = Estimate(0.1, 0.0, 0.3, 20, 10, "share")
    second = Estimate(0.6, 0.4, 0.7, 30, 12, "share")
    got = _gap_of_rates(first, second)
    assert got.value == pytest.approx(-0.5) and (got.n, got.items, got.level) == (50, 10, 0.95)
    assert got.low == pytest.approx(-0.5 - np.hypot(0.1, 0.1))
    assert got.high == pytest.approx(-0.5 + np.hypot(0.2, 0.2))
    unlimited = _gap_of_rates(first, replace(second, low=None))
    assert (unlimited.value, unlimited.low) == (pytest.approx(-0.5), None)
    assert _gap_of_rates(first, replace(second, value=None)).value is None


def test_a_model_without_labels_is_corrected_with_those_of_the_others() -> None:
    """Of ten good answers nine passed, of ten bad ones three; of the model's ten, six passed:
    (.6 + .7 − 1) / (.9 + .7 − 1) = .5. Labelled answers count by their label alone."""
    labelled = PassFailRows.from_values(
        [1] * 9 + [0] + [1] * 3 + [0] * 7, [1] * 10 + [0] * 10, range(20)
    )
    own = PassFailRows.from_values([1] * 6 + [0] * 4, [UNKNOWN] * 10, range(20, 30))
    found = _true_pass_rate_of_model(own, labelled, "")
    assert found.value == pytest.approx(0.5) and found.note.endswith(SHARED_NOTE)
    assert _true_pass_rate_of_model(labelled, labelled, "blind").value == 0.5
    refused = _true_pass_rate_of_model(own, labelled, "blind")
    assert (refused.value, refused.note) == (None, "blind")
    both = PassFailRows.from_values(
        [1] * 6 + [0] * 4 + [1, 1], [UNKNOWN] * 10 + [1, 0], range(20, 32)
    )
    mixed = _true_pass_rate_of_model(both, labelled, "")
    assert mixed.value == pytest.approx((2 * 0.5 + 10 * 0.5) / 12)
    good = PassFailRows.from_values(
        [1] * 6 + [0] * 4 + [0] * 5, [UNKNOWN] * 10 + [1] * 5, range(15)
    )
    assert _true_pass_rate_of_model(good, labelled, "").value == pytest.approx((5 + 5) / 15)
