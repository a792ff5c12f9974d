"""The panel on the precision of a study: key figures, the curve, and purchases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from components.charts.svg_pieces import TOP, Canvas
from components.filtering.filtered_study import FilteredStudy
from components.results.wins.precision_panel import plan_leader_precision
from components.study.file.lenient_study import START_YAML, FormState
from components.study.file.yaml_edit import parse_yaml, put_value
from components.study.form_changes import apply_changes
from components.study.form_updates_tab import form_and_plan_updates
from components.study.plan.cost_preview import forecast_by_judge
from components.study.plan.study_preview import build_preview
from components.study.steps.planned_study import planned_study
from components.study.steps.power_panel import power_html, precision_text
from components.study.steps.purchase_options import best_option, purchase_options
from components.study.steps.width_curve import _half_width_ticks, curve_html
from judges.engine.engine import Engine
from judges.planning.plan import make_plan, save_plan
from studies.spec.study import parse_study
from studies.store.store import Store
from tests.page_words import says
from tests.studies.small_items import line, write_lines

SIMULATED = [{"name": "coin", "model": "simulated", "accuracy": 0.7, "seed": 3}]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.db")


def planned(text: str, store: Store, name: str = ""):
    look = build_preview(text, store.folder)
    return look, planned_study(look, look.plan, forecast_by_judge(look.plan, store), store, name)


def option(text: str, store: Store, facet: str, name: str = ""):
    look, found = planned(text, store, name)
    return next(one for one in purchase_options(found, look.lenient_study) if one.facet == facet)


@pytest.mark.parametrize("facet", ["item", "prompt", "repeat", "order"])
def test_add_changes_the_study_and_the_calls_it_names_are_those_of_the_new_plan(store, facet):
    text = put_value(START_YAML, ("noise_floor",), None)
    before = planned(text, store)[1]
    bought = option(text, store, facet)
    made, view = apply_changes(text, FormState(), [{"n": 1, **bought.change}], store.folder)
    assert not view.notice_html and made != text
    after = planned(made, store)[1]
    assert after.numbers.asks == before.numbers.asks + bought.calls
    assert after.width().half == pytest.approx(bought.width.half, rel=0.02)


def test_one_order_and_the_whole_file_are_written_as_such(store):
    bought = option(START_YAML, store, "order")
    made, _ = apply_changes(START_YAML, FormState(), [{"n": 1, **bought.change}], store.folder)
    assert parse_yaml(made)["orders"] == "one" and parse_yaml(made)["data"]["count"] == 24
    assert says(bought.warning, "position bias")
    small = put_value(START_YAML, ("data", "count"), 40)
    assert option(small, store, "item").change == {"set": "data.count", "to": "0"}  # 24 are left


def test_a_judge_is_chosen_in_the_drawer_and_a_used_up_file_is_replaced(store):
    bought = option(START_YAML, store, "judge")
    _, view = apply_changes(START_YAML, FormState(), [{"n": 1, **bought.change}], store.folder)
    assert view.panel == "judge" and view.judge == "1"
    whole = put_value(START_YAML, ("data", "count"), None)
    assert option(whole, store, "item").change is None
    look, found = planned(whole, store)
    assert 'data-press="#eh-upload"' in power_html(found, look.lenient_study, FormState())


def test_before_the_first_replies_only_the_gain_of_questions_is_certain(store):
    look, found = planned(START_YAML, store)
    options = purchase_options(found, look.lenient_study)
    assert best_option(options, found.width().half).facet == "item"
    assert {one.facet for one in options if one.assumed} == {"judge", "prompt", "repeat"}
    html = power_html(found, look.lenient_study, FormState())
    assert says(html, "assumed", "a correlation of 0.1") and html.count("at best") == 3
    assert "eh-srcbar" not in html


def test_stored_replies_replace_the_assumption(store):
    text = put_value(put_value(START_YAML, ("judges",), SIMULATED), ("data", "count"), 30)
    study = parse_study(text, "study.yaml", store.folder)
    plan = make_plan(study)
    save_plan(plan, store)
    Engine().start(plan, store).finished.wait(60)
    look, found = planned(text, store, study.name)
    assert found.measured is not None and found.stored == found.numbers.asks
    html = power_html(found, look.lenient_study, FormState())
    assert "eh-srcbar" in html and says(html, f"from {found.stored} stored replies")
    bars = [float(part) for part in re.findall(r"flex-grow: ([\d.]+)", html)]
    assert sum(bars) == pytest.approx(1, abs=0.02)
    assert found.call_price == 0  # all calls are stored: the price of further ones


def test_equal_verdicts_leave_the_assumption_and_the_study_is_shown(store):
    """The judge always picks the first answer: no variance was measured, and the form once failed
    on a width of 0."""
    first = [{"name": "first", "model": "simulated", "first_bias": 1, "seed": 3}]
    text = put_value(put_value(START_YAML, ("judges",), first), ("noise_floor",), 0.2)
    study = parse_study(text, "study.yaml", store.folder)
    save_plan(make_plan(study), store)
    Engine().start(make_plan(study), store).finished.wait(60)
    look, found = planned(text, store, study.name)
    stored = plan_leader_precision(FilteredStudy(store, study.name))
    assert stored is not None and stored.components.error_variance() == 0
    assert found.measured is None and found.width().half > 0.1
    assert "assumed" in power_html(found, look.lenient_study, FormState())


def test_the_axis_of_widths_is_never_a_single_value():
    for top in (0.0, 1e-12, 0.01, 0.3, 1.0):
        ticks = _half_width_ticks(top)
        assert 2 <= len(ticks) <= 6 and ticks[0] == 0 < ticks[-1] >= top
    assert Canvas(520, 300).vertical_scale(0.0, 0.0)(0.0) == TOP


def test_the_curve_falls_and_marks_the_plan(store):
    html = curve_html(planned(START_YAML, store)[1])
    heights = [float(y) for y in re.findall(r"[\d.]+,([\d.]+)", html.split("points=")[1])]
    assert heights[:10] == sorted(heights[:10])  # y grows downwards
    assert "± 21.0 now" in html and says(html, "halve", "four times")


def test_the_curve_leads_from_a_third_of_the_questions_to_beyond_four_times_as_many(store):
    """Of 12 questions: from 4 to 12 * 4 * 1.2 = 57.6, the right end of the axis at 504; the points
    at 12, 24 and 48 lie on it."""
    found = planned(START_YAML, store)[1]
    assert len(found.plan.items) == 12
    wide = curve_html(found).split("</svg>")[0]
    line = [float(x) for x in re.findall(r"([\d.]+),", re.findall(r'points="([^"]*)"', wide)[0])]
    places = [float(x) for x in re.findall(r'<circle class="[dq]" cx="([\d.]+)"', wide)]
    assert [*line[:: len(line) - 1], *places] == pytest.approx(
        [34 + 470 * n / 57.6 for n in (4, 57.6, 12, 24, 48)], abs=0.06
    )


def test_each_mark_of_the_curve_has_its_half_width_and_its_price(store):
    """Right above its point, the last one to the left of it; no price for the plan itself, nor in
    the narrow drawing."""
    found = planned(START_YAML, store)[1]
    for narrow, drawing in enumerate(curve_html(found).split("</svg>")[:2]):
        points = re.findall(r'<circle class="([dq])" cx="([\d.]+)" cy="([\d.]+)"', drawing)
        labels = re.findall(
            r'<text class="(n|b n)" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">(± [^<]*)<',
            drawing,
        )
        assert [point[0] for point in points] == ["d", "q", "q"]
        assert [(label[0], label[3]) for label in labels] == [
            ("b n", "start"), ("n", "start"), ("n", "end"),
        ]  # fmt: skip
        for (_, x, y), (_, left, base, anchor, text), times in zip(
            points, labels, (1, 2, 4), strict=True
        ):
            assert float(y) - float(base) == pytest.approx(14, abs=0.11)
            beside = 10 if anchor == "start" else 0
            assert float(left) - float(x) == pytest.approx(beside, abs=0.11)
            half = f"± {100 * found.width(items=12 * times).half:.1f}"
            assert text.startswith(half)
            assert text.endswith(" now") == (times == 1) and ("," in text) == (
                times > 1 and not narrow
            )


def test_the_form_shows_the_panel_and_hides_it_while_nothing_can_be_run(store):
    def shown(text: str) -> bool:
        made = form_and_plan_updates(text, FormState(), {}, "", store)
        return any('id="eh-power-fold"' in str(part) for part in made)

    assert shown(START_YAML)
    assert not shown(put_value(START_YAML, ("judges",), None))


def test_all_rotations_of_four_options_are_one_comparison(store):
    answers = {name: f"answer {name}" for name in "abcd"}
    lines = [line(f"q{k}", responses=answers) for k in range(100)]
    write_lines(store.folder / "four.jsonl", lines)
    text = (
        "name: four\ndata: {source: four.jsonl}\norders: rotations\nprompts: [brief-options]\n"
        "judges:\n- {name: coin, model: simulated, accuracy: 0.7, seed: 3}\n"
    )
    _, found = planned(text, store)
    assert found.numbers.asks == 400
    assert says(precision_text(found.plan, found.numbers), "flips", "± 10 points")
