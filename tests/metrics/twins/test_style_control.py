"""Style control: a second solver, known coefficients, overlap, people beside, and the ranking."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit

from metrics.twins import style_control
from metrics.twins.style_control import (
    LEAST_ITEMS,
    NO_OVERLAP,
    NOT_VARIED,
    TOO_FEW_DIFFER,
    TOO_MANY,
    extract_style_data,
    fit_style,
    style_effects_on_judge,
    style_section,
)
from studies.texts.style_features import STYLE_FEATURES, count_style_marks
from tests.metrics.frames import build

MODELS = ("m1", "m2", "m3", "m4")
STRENGTH = dict(zip(MODELS, (0.6, 0.2, -0.2, -0.6), strict=True))


def simulated(items: int, gamma: float, seed: int, judge: str = "j") -> tuple[pd.DataFrame, dict]:
    """All pairs of four models on each item, both orders, by a judge with a weight of length; all
    counts vary independently of the models."""
    rng = np.random.default_rng(seed)
    styles = {
        f"q{k}": {m: tuple(int(n) for n in rng.integers(5, 60, 4)) for m in MODELS}
        for k in range(items)
    }
    rows = []
    gaps = [_gap(styles[f"q{k}"], a, b) for k in range(items) for a in MODELS for b in MODELS
            if a != b]  # fmt: skip
    scale = float(np.std(gaps))
    for k in range(items):
        for a in MODELS:
            for b in MODELS:
                if a != b:
                    style = gamma * _gap(styles[f"q{k}"], a, b) / scale
                    p = expit(STRENGTH[a] - STRENGTH[b] + style)
                    pick = int(rng.random() > p)
                    rows.append({"item": f"q{k}", "shown": (a, b), "pick": pick, "judge": judge})
    return build(rows), styles


def _gap(styles: dict, a: str, b: str) -> float:
    one, two = styles[a][0], styles[b][0]
    return (one - two) / (one + two)


def test_style_is_counted_without_code():
    text = "# Head\n\n- **one** two\n- three\n1. four\n\n```\n# no\n- no **no**\n```\n__five__ a*b"
    assert count_style_marks(text)[1:] == (1, 3, 2)
    assert count_style_marks("two words") == (2, 0, 0, 0)


def test_the_fit_equals_that_of_another_solver():
    """Oracle: maximum likelihood by a quasi-Newton method on the likelihood as written."""
    frame, styles = simulated(40, 0.5, 1)
    data = extract_style_data(frame, styles)
    fit = fit_style(data, range(4))
    style = data.styles / data.scale

    def loss(values):
        beta = np.append(values[:3], -values[:3].sum())
        eta = data.model_design @ beta + style @ values[3:]
        outcome = data.battles.outcome
        p = expit(eta)
        slope = data.model_design.T @ (p - outcome)
        gradient = np.r_[slope[:3] - slope[3], style.T @ (p - outcome)]
        return float(np.logaddexp(0, eta).sum() - outcome @ eta), gradient

    found = minimize(loss, np.zeros(7), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert fit.gamma == pytest.approx(found.x[3:], abs=1e-6)
    assert fit.beta[:3] == pytest.approx(found.x[:3], abs=1e-6)
    assert fit.beta.sum() == pytest.approx(0, abs=1e-12)


def test_weights_and_errors_equal_those_of_statsmodels():
    """Oracle: statsmodels' logit with clusters of items (`make_style_oracle.py`). Our variance has
    the factor G/(G − 1) of G items besides; differences of strengths are those to m1."""
    known = json.loads(Path(__file__).with_name("style_oracle.json").read_text())
    items = len(known["counts"])
    shown = [(k, a, b) for k in range(items) for a in MODELS for b in MODELS if a != b]
    styles = {
        f"q{k}": {m: tuple(one) for m, one in zip(MODELS, of, strict=True)}
        for k, of in enumerate(known["counts"])
    }
    rows = [
        {"item": f"q{k}", "shown": (a, b), "pick": 1 - int(won)}
        for (k, a, b), won in zip(shown, known["first_wins"], strict=True)
    ]
    data = extract_style_data(build(rows), styles)
    fit = fit_style(data, range(4))
    assert fit.beta[1:] - fit.beta[0] == pytest.approx(known["strengths_minus_m1"], abs=1e-6)
    assert fit.gamma == pytest.approx(known["weights"], abs=1e-6)
    own = np.concatenate([fit.influence[:, 1:4] - fit.influence[:, :1], fit.influence[:, 4:]], 1)
    errors = np.array(known["errors"])
    assert np.sqrt((own**2).sum(axis=0)) == pytest.approx(errors, abs=1e-6)
    shares = style_effects_on_judge(data)["coefficients"].values()
    half = [(one.high - one.low) / 2 for one in shares]
    t = stats.t.ppf(0.975, items - 1)
    assert half == pytest.approx(t * np.sqrt(items / (items - 1)) * errors[3:], abs=1e-6)


def test_known_weights_are_recovered_within_their_intervals():
    """A ridge of 1 would shrink .25; without one the truth is inside in about 95 %."""
    held = 0
    values = []
    for seed in range(40):
        frame, styles = simulated(40, 0.25, seed)
        one = style_effects_on_judge(extract_style_data(frame, styles))["coefficients"]["length"]
        values.append(one.value)
        held += one.low <= 0.25 <= one.high
    assert held >= 34 and np.mean(values) == pytest.approx(0.25, abs=0.04)


def test_weights_of_people_are_subtracted_on_the_same_comparisons():
    judged, styles = simulated(60, 0.8, 3)
    voted, _ = simulated(60, 0.2, 3, "human:ann")
    frame = pd.concat([judged.astype({"judge": str}), voted.astype({"judge": str})])
    frame = frame.astype({"judge": "category"}).reset_index(drop=True)
    got = style_section(frame, styles)
    assert set(got) == {"j"}
    minus = got["j"]["minus_people"]["length"]
    assert minus.low <= 0.6 <= minus.high and minus.low > 0
    assert set(got["j"]["coefficients"]) == set(STYLE_FEATURES)


def test_style_explains_a_ranking_that_only_style_makes():
    rng = np.random.default_rng(0)
    styles, rows = {}, []
    for k in range(80):  # longer models win because they are longer
        own = {m: (int(rng.integers(10, 60)) + 15 * n, 0, 0, 0) for n, m in enumerate(MODELS)}
        styles[f"q{k}"] = own
        for a in MODELS:
            for b in MODELS:
                if a != b:
                    pick = int(rng.random() > expit(3 * _gap(own, a, b)))
                    rows.append({"item": f"q{k}", "shown": (a, b), "pick": pick})
    got = style_effects_on_judge(extract_style_data(build(rows), styles))
    share = got["style_share"]
    assert share.low <= 1 <= share.high and share.value > 0.6
    spread = [
        np.ptp([one[when].value for one in got["ranking"].values()]) for when in ("before", "after")
    ]
    assert spread[1] < 0.5 * spread[0]
    assert got["coefficients"]["headings"].note == NOT_VARIED


def test_models_that_do_not_overlap_in_style_are_refused():
    frame, styles = simulated(20, 0.0, 2)
    fixed = {item: {m: (10 * (n + 1), 0, 0, 0) for n, m in enumerate(MODELS)} for item in styles}
    got = style_effects_on_judge(extract_style_data(frame, fixed))
    assert got["coefficients"]["length"].note == NO_OVERLAP and "ranking" not in got


@pytest.mark.parametrize(("items", "known"), [(4, False), (5, True)])
def test_a_feature_in_which_few_items_differ_has_no_weight(items, known):
    """Lists differ on 4 or 5 of 40 items; the t interval has the degrees of freedom of those."""
    frame, styles = simulated(40, 0.5, 2)
    for k in range(40):
        own = styles[f"q{k}"]
        lists = dict.fromkeys(MODELS, 3) if k >= items else {m: own[m][2] for m in MODELS}
        styles[f"q{k}"] = {m: (own[m][0], 0, lists[m], 0) for m in MODELS}
    found = style_effects_on_judge(extract_style_data(frame, styles))["coefficients"]
    assert (found["lists"].value is not None) is known and found["length"].items == 40
    assert known or found["lists"].note == TOO_FEW_DIFFER
    assert not known or found["lists"].items == 5


def test_too_few_items_and_missing_texts_give_a_reason():
    frame, styles = simulated(3, 0.0, 2)
    got = style_effects_on_judge(extract_style_data(frame, styles))
    assert (
        got["coefficients"]["length"].value is None
        and "items" in got["coefficients"]["length"].note
    )
    assert len(extract_style_data(frame, {}).battles) == 0 and style_section(frame, {}) == {}


def test_a_judge_that_follows_the_position_has_no_certain_weights_and_no_moves():
    _, styles = simulated(20, 0.0, 3)
    rows = [
        {"item": f"q{k}", "shown": shown, "pick": 0}
        for k in range(20)
        for shown in itertools.permutations(MODELS, 2)
    ]
    got = style_section(build(rows), styles)["j"]
    for one in got["coefficients"].values():
        assert one.value == pytest.approx(0, abs=1e-9)
        assert one.low is None and "no interval" in one.note
    assert {one["moved"] for one in got["ranking"].values()} == {0}
    assert got["style_share"].value is None and "equally strong" in got["style_share"].note


def test_too_many_verdicts_are_refused_with_the_reason(monkeypatch):
    frame, styles = simulated(6, 0.5, 1)
    data = extract_style_data(frame, styles)
    monkeypatch.setattr(style_control, "MAX_BATTLES", len(data.battles))
    assert style_effects_on_judge(data)["coefficients"]["length"].note != TOO_MANY
    monkeypatch.setattr(style_control, "MAX_BATTLES", len(data.battles) - 1)
    refused = style_effects_on_judge(data)
    assert {one.note for one in refused["coefficients"].values()} == {TOO_MANY}
    assert "ranking" not in refused


def test_weights_of_people_need_common_items_and_finite_fits(monkeypatch):
    """Only four common items; no overlap on the common ones; a fit that does not converge, and one
    that is too large."""
    judged, styles = simulated(12, 0.8, 3)
    data = extract_style_data(judged, styles)

    def minus(people_items: int = 12) -> dict:
        voted, _ = simulated(people_items, 0.2, 3)
        return style_control._coefficients_minus_people(
            data, extract_style_data(voted, styles), range(4)
        )

    assert set(minus()) == set(STYLE_FEATURES) == set(minus(LEAST_ITEMS))
    assert minus(LEAST_ITEMS - 1) == {}
    length = minus()["length"]
    people = extract_style_data(simulated(12, 0.2, 3)[0], styles)
    one, two = (fit_style(part, range(4), data.scale) for part in (data, people))
    assert length.value == pytest.approx(one.gamma[0] - two.gamma[0])
    assert length.n == len(data.battles)
    largest = max(np.abs(one.gamma).max(), np.abs(two.gamma).max())
    monkeypatch.setattr(style_control, "LARGEST_COEFFICIENT", largest)
    assert minus()
    monkeypatch.setattr(style_control, "LARGEST_COEFFICIENT", largest * 0.999)
    assert minus() == {}
    monkeypatch.undo()
    shares = [part.unexplained_share(k) for part in (data, people) for k in range(4)]
    monkeypatch.setattr(style_control, "LEAST_OVERLAP", min(shares))
    assert minus()
    monkeypatch.setattr(style_control, "LEAST_OVERLAP", min(shares) + 1e-9)
    assert minus() == {}
    monkeypatch.undo()

    def fail(*_, **__):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(style_control, "fit_style", fail)
    assert minus() == {}
