"""Choices among N options: positions, labels and an unrelated option, on frames built by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.html.scales import CONSISTENCY_SCALE, scale_for_many_options
from components.results.bias import tab as bias_tab
from components.results.bias.bias_matrix import BY_PROMPT, LAYOUTS, bias_matrix_html
from components.results.bias.computed import bias_from_frame, load_bias
from components.results.bias.flip_leans import flip_leans
from components.results.bias.many_options import position_preference_headline, show_slot_effects
from components.results.bias.option_tests import fit_option_models
from components.results.bias.pair_tests import (
    ENTROPY_BAND_HEAD,
    OPTION_TEST_NAMES,
    option_test_rows,
    order_tests_html,
)
from components.results.bias.panels import (
    chosen_slot_histogram,
    position_bias_kpis_html,
    show_slot_and_label_shares,
    slot_or_label_preference_sentence,
)
from components.results.bias.tab import slots_heading
from components.results.bias.unrelated_contrast import unrelated_option_effects
from components.study.plan import demo_studies
from metrics.__main__ import render_tables
from metrics.estimation.entropy import normalised_entropy
from metrics.position.position_measures import consistency
from metrics.summary.summary import summarise_frame
from studies.domain import Estimate
from tests.metrics.frames import build, pair, rotated
from tests.page_words import says

NAMES = ("a", "b", "c", "d")


def chosen(judge: str, slot: object, items: int = 12) -> list[dict[str, object]]:
    """A judge's picks over the rotations of each item; `slot` of (item, trial)."""
    rows = []
    for item in range(items):
        rows += rotated(f"q{item}", [slot(item, trial) for trial in range(4)], judge=judge)
    return rows


@pytest.fixture(scope="module")
def frame():
    """`first` always takes the first place; `steady` always the option o0, which wanders."""
    return build(
        [
            *chosen("first", lambda item, trial: 0),
            *chosen("steady", lambda item, trial: (trial + 1) % 4),
        ]
    )


@pytest.fixture(scope="module")
def bias_of_frame(frame):
    return bias_from_frame(frame)


@pytest.fixture(scope="module")
def fitted(frame):
    return fit_option_models(frame)


def test_the_matrix_shows_grades_with_the_coin_beside_them(bias_of_frame):
    html = bias_matrix_html(bias_of_frame, "Grade")
    # First place always: its entropy is 0 and so is the harmonic mean; steady: 1 and 1.
    assert says(html, "best 1.00", "chance 0.57", "lowest 0.00")
    assert html.index("steady") < html.index("first")
    assert (
        "Grade 0.00 [0.00, 0.24]; mean of an item&#x27;s entropy 0.00 [0.00, 0.24], choice" in html
    )
    assert "Grade 1.00 [0.76, 1.00]; mean of an item&#x27;s entropy 1.00 [0.76, 1.00]" in html


def test_the_colours_of_a_matrix_among_n_options_begin_at_their_chance_level(bias_of_frame):
    consistency, accuracy, first = (
        bias_matrix_html(bias_of_frame, name).replace("\u202f", " ")
        for name in ("Consistency", "Accuracy", "First-position share")
    )
    # Among 4 options in 4 rotations: 1/4 cubed = 1.6 %.
    assert says(consistency, "best 100 %") and says(consistency, "chance 2 %", "lowest 0 %")
    assert says(accuracy, "chance at N = 4: 25 %")
    assert says(first, "no colour", "25 %") and "50 %" not in first
    pairs = build([row for k in range(6) for row in pair(f"p{k}", 0, 1)])
    plain = bias_matrix_html(bias_from_frame(pairs), "Consistency").replace("\u202f", " ")
    assert says(plain, "100 %")


def test_a_scale_for_n_options_keeps_its_multiple_of_chance():
    assert scale_for_many_options(CONSISTENCY_SCALE, 0.5).full == CONSISTENCY_SCALE.full
    three = scale_for_many_options(CONSISTENCY_SCALE, 1 / 9)
    assert (three.css_class(1.0), three.css_class(1 / 18)) == ("b0", "b20")
    assert three.css_class(0.25) != "b20", "25 % of three options is more than chance"


def test_the_consistency_of_each_row_stands_beside_its_entropy(frame, bias_of_frame):
    for layout in LAYOUTS:
        html = bias_matrix_html(bias_of_frame, "Position entropy", layout)
        wide = html.split("</table>")[0]
        assert says(wide, "Consistency")
        for judge in ("first", "steady"):
            one = consistency(frame[frame["judge"] == judge])
            shown = f"<b>{100 * one.value:.0f}</b><small>{100 * one.low:.0f}–{100 * one.high:.0f}<"
            row = next(part for part in wide.split("<tr>") if f">{judge}</th>" in part)
            assert f'<td class="plain"><span data-tip="Consistency: {judge}' in row and shown in row
        assert html.count('class="plain"') == 4  # the table for phones has it too
    assert "Consistency" not in bias_matrix_html(bias_of_frame, "Grade")
    pairs = bias_from_frame(build([row for k in range(6) for row in pair(f"p{k}", 0, 1)]))
    assert says(bias_matrix_html(pairs, "Position entropy"), "Consistency")


def test_without_comparisons_in_every_order_there_is_no_column_of_consistency():
    rows = build([pair(f"p{k}", 0, 1)[0] for k in range(6)])
    assert "in every order, %" not in bias_matrix_html(bias_from_frame(rows), "Position entropy")


def test_the_share_of_the_first_position_stands_beside_an_even_share(frame):
    pairs = build([row for k in range(6) for row in pair(f"p{k}", 0, 1)])
    for rows, even in ((frame, "even 25\u202f%"), (pairs, "even 50\u202f%")):
        assert says(position_bias_kpis_html(bias_from_frame(rows)), "First-position", even)
    mixed = build(
        [*chosen("first", lambda *_: 0), *(row for k in range(6) for row in pair(f"p{k}", 0, 1))]
    )
    assert says(
        position_bias_kpis_html(bias_from_frame(mixed)), "First-position", "even 25 to 50\u202f%"
    )
    assert all(row.lean is None for row in flip_leans(bias_from_frame(mixed)))


def test_a_measure_for_pairs_alone_falls_back_to_the_entropy(bias_of_frame):
    assert bias_matrix_html(bias_of_frame, "Lean") == bias_matrix_html(
        bias_of_frame, "Position entropy"
    )


def test_who_prefers_a_place_is_counted_and_named(bias_of_frame, fitted):
    bias = bias_of_frame
    title, lead = position_preference_headline(bias, fitted)
    assert title == (
        "One of two judges prefers a position. first picks the first of 4 positions in "
        "100\u202f% of its choices (p < .001, adjusted, permutation test of all positions)."
    )
    assert "25\u202f% of its choices" in lead


def test_a_steady_judge_alone_prefers_no_place(frame):
    steady = frame[frame["judge"] == "steady"]
    title, _ = position_preference_headline(bias_from_frame(steady), fit_option_models(steady))
    assert says(title, "This judge does", "not significantly prefer", "100\u202f%.")


def test_with_too_few_items_no_preference_for_a_place_is_denied():
    """Two of the 24 arrangements of each item: 4/24^2 = .007, which .05 exceeds by the part of the
    error rate (.79) and the 6 judges: .053. With three items it is .002."""

    def told(items: int, judges: int) -> str:
        rows = build([row for k in range(judges) for row in chosen(f"j{k}", lambda *_: 0, items)])
        return position_preference_headline(bias_from_frame(rows), fit_option_models(rows))[0]

    assert says(told(2, 6), "too few items") and not says(told(2, 6), "no judge")
    assert says(told(2, 5), "prefer a position") and says(told(3, 6), "prefer a position")
    mixed = build(
        [*chosen("few", lambda *_: 0, 1), *chosen("steady", lambda item, trial: (trial + 1) % 4)]
    )
    title, _ = position_preference_headline(bias_from_frame(mixed), fit_option_models(mixed))
    assert says(title, "No judge", "one has", "too few items")


def test_the_test_of_options_is_a_permutation_test(bias_of_frame, fitted):
    bias = bias_of_frame
    rows = {row.name: row for row in option_test_rows(fitted, bias)}
    # All 48 picks on one place: of the 24 arrangements of each of 12 items one does that for each
    # of the four places, so p = 4/24^12.
    assert rows["first"].tests["permutation"].p == pytest.approx(4 / 24**12, rel=1e-6)
    assert rows["steady"].tests["permutation"].p == 1
    # steady takes one option of an item in all its trials: whatever is exchanged, each slot is
    # taken once, entropy 1. first takes each option once: exchanged, they spread over the slots.
    assert rows["steady"].counts_text == "1.000 : 1.000 to 1.000"
    low, high = (float(end) for end in rows["first"].counts_text.split(" : ")[1].split(" to "))
    assert rows["first"].counts_text.startswith("0.000 : ") and 0.9 < low < high <= 1
    html = order_tests_html(list(rows.values()), OPTION_TEST_NAMES, ENTROPY_BAND_HEAD, "Choices")
    assert "Permutation" in html


def test_page_and_json_have_the_same_p_value_which_is_at_most_the_smallest_of_the_draws():
    """Seven options are too many to list: with 9,999 draws, p is at most 1/10,000. For 12 judges
    and 0.79 of the error rate it is 12/7,900 = .0015, rounded up."""
    judges = [f"j{k}" for k in range(12)]
    frame = build([r for j in judges for k in range(4) for r in rotated(f"q{k}", [0] * 7, judge=j)])
    fitted, bias = fit_option_models(frame), bias_from_frame(frame)
    (by_prompt,) = summarise_frame(frame, quick=True)["position"]["j3"].values()
    told = by_prompt["tests"]["permutation_7"]
    # What is tested are the four comparisons, not the 28 choices.
    assert {row.n for row in option_test_rows(fitted, bias)} == {4}
    assert says(by_prompt["position_term"]["note"], "on a pair")
    assert fitted[3].permutation.p == told["p"] == pytest.approx(1 / 10_000)
    assert told["adjusted"] == pytest.approx(12 / 7_900)
    assert says(position_preference_headline(bias, fitted)[0], "p ≤ .002, adjusted")
    rows = option_test_rows(fitted, bias)
    assert "≤ .002" in order_tests_html(rows, OPTION_TEST_NAMES, ENTROPY_BAND_HEAD, "")
    assert any("p ≤ 0.0001" in line for line in render_tables({"position": by_prompt["tests"]}))


def test_what_a_place_is_worth_is_a_share_among_equals():
    # Half of the picks go to the first place, the others to any: among equals it gets .5 + .5/4.
    rng = np.random.default_rng(5)

    def slot(item, trial):
        return 0 if rng.random() < 0.5 else int(rng.integers(4))

    frame = build(chosen("half", slot, items=150))
    rows = fit_option_models(frame)
    first = rows[0].model.share_if_equal[4][0]
    assert first.low < 0.625 < first.high
    html = show_slot_effects(rows, bias_from_frame(frame))
    assert "25\u202f%, an even share" in html
    assert "logits" in html


def test_a_label_that_is_chosen_more_often_has_an_effect_of_its_own():
    """Labels crossed with positions: `names` takes the label B with odds 7 to 1 against each other
    label, which is 3/4 of log 7 = 1.46 logits above the mean of the four; `any` takes any."""
    rng = np.random.default_rng(3)

    def rows(judge: str, odds: float) -> list[dict[str, object]]:
        made = []
        for item in range(60):
            for turn, row in enumerate(rotated(f"q{item}", range(4), judge=judge)):
                labels = [*"ABCD"[(item + turn) % 4 :], *"ABCD"[: (item + turn) % 4]]
                weights = np.array([odds if label == "B" else 1.0 for label in labels])
                pick = int(rng.choice(4, p=weights / weights.sum()))
                made.append({**row, "labels": labels, "pick": pick})
        return made

    crossed = build([*rows("names", 7.0), *rows("any", 1.0)])
    fitted = {row.judge: row for row in fit_option_models(crossed)}
    best = fitted["names"].model.labels["B"]
    assert best.low < 0.75 * np.log(7) < best.high
    html = show_slot_effects(list(fitted.values()), bias_from_frame(crossed))
    assert says(html, "names prefers", "label “B”", f"(+{best.value:.2f}")
    assert says(html, "any does not", "significantly prefer")
    assert not says(html, "cannot be separated")


def test_without_rotations_or_choices_nothing_is_said_on_positions():
    once = build([rotated(f"q{k}", [0] * 4)[0] for k in range(6)])
    title, lead = position_preference_headline(bias_from_frame(once), fit_option_models(once))
    assert says(title, "No item", "all rotations") and "%" not in lead
    unread = build([row for k in range(6) for row in rotated(f"q{k}", [None] * 4)])
    html = show_slot_effects(fit_option_models(unread), bias_from_frame(unread))
    assert says(html, "cannot be estimated")
    assert fit_option_models(unread)[0].model.note[1:] in html
    assert says(show_slot_effects((), bias_from_frame(unread)), "No stored reply")


def test_a_matrix_of_few_items_names_the_chance_score_at_its_end():
    few = build(chosen("first", lambda *_: 0, items=2))
    assert says(bias_matrix_html(bias_from_frame(few), "Grade"), "chance at N = 4:", "0.57")


def test_slots_of_many_rows_are_pooled_by_judge():
    rows = []
    for prompt in range(7):
        rows += [{**row, "prompt": f"p{prompt}"} for row in chosen("j", lambda i, t: 0, items=2)]
    figure = chosen_slot_histogram(bias_from_frame(build(rows)))
    assert {line[0] for line in figure["table"]["rows"]} == {"j"}


def test_slot_and_label_are_told_apart_only_where_labels_were_crossed():
    def rows(judge, take):
        made = []
        for n in range(20):
            labels = ("A", "B") if n % 2 else ("B", "A")
            made += pair(f"q{n}", *(take(labels),) * 2, judge=judge, labels=labels)
        return made

    crossed = build([*rows("place", lambda _: 0), *rows("name", lambda labels: labels.index("A"))])
    html = show_slot_and_label_shares(bias_from_frame(crossed))
    assert says(html, "favours", "<b>position</b>: first")
    assert says(html, "favours", "<b>label</b>")
    few = crossed[crossed["item"].isin(["q0", "q1"])]
    assert says(show_slot_and_label_shares(bias_from_frame(few)), "No preference", "10 points")
    some = (
        slot_or_label_preference_sentence(  # an interval without 50 %, but a smaller distance to it
            Estimate(0.54, 0.51, 0.56), Estimate(0.46, 0.44, 0.49), ["A", "B"], True, 1
        )
    )
    assert says(some, "No", "10 points")
    known = Estimate(0.7, 0.6, 0.8)
    # Not called a preference if the sign test on the flips, or a wider interval, does not show it.
    even = Estimate(0.5, 0.4, 0.6, 50, 50)
    rather = slot_or_label_preference_sentence(known, even, ["A", "B"], False, 1)
    assert says(rather, "Not adjusted", "position (first)") and "favours" not in rather
    label = replace(known, n=50, items=50)
    assert says(
        slot_or_label_preference_sentence(even, label, ["A", "B"], False, 1), "favours", "label"
    )
    assert says(
        slot_or_label_preference_sentence(even, label, ["A", "B"], True, 1000), "Not adjusted"
    )
    assert slot_or_label_preference_sentence(known, Estimate(None), ["A", "B"], True, 1) == ""
    assert slot_or_label_preference_sentence(Estimate(None), known, ["A", "B"], True, 1) == ""
    plain = build([row for n in range(20) for row in pair(f"q{n}", 0, 0)])
    assert show_slot_and_label_shares(bias_from_frame(plain)) is None


def with_unrelated(judge: str, pick: int) -> list[dict[str, object]]:
    """Rotations in which the last option is the unrelated one."""
    names = [*NAMES[:3], "@unrelated"]
    turned = [names[-k:] + names[:-k] for k in range(1, 4)] + [names]
    return [
        {"item": f"q{n}", "shown": shown, "pick": pick, "prompt": "choice", "judge": judge}
        for n in range(8)
        for shown in turned
    ]


def without(judge: str, pick: int, size: int = 4) -> list[dict[str, object]]:
    rows = []
    for n in range(8):
        rows += [{**row, "judge": judge} for row in rotated(f"q{n}", [pick] * size)]
    return rows


def test_the_unrelated_option_is_compared_at_equal_n_only():
    found = unrelated_option_effects(build(without("j", 0)), build(with_unrelated("j", 0)))
    assert not isinstance(found, str)
    (one,) = found
    # Always the first place, with and without: both grades 0, and it takes each option in turn.
    assert (one.contrast.left_value, one.contrast.right_value) == (0.0, 0.0)
    assert one.chosen.value == pytest.approx(0.25)
    told = unrelated_option_effects(build(without("j", 0, size=3)), build(with_unrelated("j", 0)))
    assert says(told, "different numbers", "options")
    assert "neither does" in unrelated_option_effects(
        build(without("j", 0)), build(without("j", 0))
    )
    assert "in common" in unrelated_option_effects(
        build(without("i", 0)), build(with_unrelated("j", 0))
    )


def test_the_legend_of_positions_names_all_positions_and_the_even_share(frame):
    pairs = build([row for k in range(6) for row in pair(f"p{k}", 0, 1)])
    three = build([row for k in range(6) for row in rotated(f"q{k}", [0, 1, 2])])
    told = [slots_heading(bias_from_frame(rows)) for rows in (pairs, three, frame)]
    assert says(told[0], "2nd", "even") and "3rd" not in told[0] and "1/" not in told[0]
    assert says(told[1], "2nd", "3rd<", "1/3") and says(told[2], "2nd", "3rd to 4th", "1/4")


def test_the_pooled_entropy_is_said_to_hide_opposite_preferences(demo_store):
    """Two prompts with opposite preferences are even together: the mean of .5 and .5 is no such
    preference, yet the entropy of 3 : 1 and 1 : 3 pooled is 1."""
    apart = [normalised_entropy(np.array(one)) for one in ([3, 1], [1, 3])]
    assert max(apart) < 0.82 and normalised_entropy(np.array([4, 4])) == pytest.approx(1)
    shown = FilteredStudy(demo_store, demo_studies.OPTIONS_STUDY)
    made = bias_tab.render_matrix(shown, "Position entropy", BY_PROMPT)
    assert says(made.heading, "pools the prompts", "opposite preferences")
    one = FilteredStudy(demo_store, demo_studies.OPTIONS_STUDY, Filter(prompt=prompts(shown)[0]))
    assert not says(bias_tab.render_matrix(one, "Position entropy", BY_PROMPT).heading, "pools")


def prompts(shown: FilteredStudy) -> list[str]:
    return sorted({prompt for _, prompt in load_bias(shown).names})
