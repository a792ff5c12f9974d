"""Cards of drawn judges: chance with ties in one function, and advice taken from the remedies."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from components.results.bias.bias_matrix import bias_matrix_html
from components.results.bias.computed import bias_from_frame, load_bias
from components.results.bias.option_tests import (
    adjusted_option_p_values,
    load_option_models_of_all_raters,
)
from components.results.bias.panels import flip_directions_html, position_bias_kpis_html
from components.results.bias.sentences import bias_headline
from components.results.cards.measure_table import card_measures
from components.results.cards.point_card import PointCard
from components.results.cards.report_card import ReportCard
from components.results.cards.sentence_rules import CardSentence, card_sentences
from components.results.remedies.point_remedies_panel import _headline_of_rater
from evenhand.audit_cards import UnsavedRaters, UnsavedStudy
from metrics.catalogue.record import CHANCE
from metrics.catalogue.records import RECORDS
from metrics.labels.point_rules import compare_single_answer_rules_with_one_call
from metrics.remedies.remedy_study import build_remedy_study
from studies.domain import Estimate
from studies.frames.arrangement import Arrangement, rotations
from tests.metrics.frames import build, pair, rotated
from tests.metrics.labels.test_point_measures import frame_of
from tests.metrics.position.test_accuracy_lead import judges_with_ties
from tests.page_words import says


def cards_of(frame: pd.DataFrame) -> dict[str, ReportCard]:
    raters = UnsavedRaters(UnsavedStudy("s", judgements=frame), "design")
    return {rater: ReportCard(raters, rater) for rater in raters.filtered_rater_names}


def sentences_of(card: ReportCard) -> list[CardSentence]:
    return card_sentences(card.facts, card.text_by_key)


def test_card_key_figure_and_legend_have_the_same_chance():
    frame = judges_with_ties(1, 40, 0.3, 0.8)
    (card,) = cards_of(frame).values()
    bias = load_bias(UnsavedStudy("s", judgements=frame))
    ties = (frame["pick"] == -1).mean()
    chance = card.facts["chance_right"]
    assert chance == pytest.approx((1 - ties) / 2) == bias.accuracy_by_chance
    drawn = {line.label: line.chance for line in card_measures(card)}
    assert drawn["Accuracy"] == chance
    text = f"chance {100 * chance:.0f} %"
    assert text != "chance 50 %"
    assert text in position_bias_kpis_html(bias).replace("\u202f", " ")
    assert text in bias_matrix_html(bias, "Accuracy").replace("\u202f", " ")
    assert CHANCE in position_bias_kpis_html(bias) and CHANCE in bias_matrix_html(bias, "Accuracy")


def test_a_coin_and_a_judge_with_many_ties_are_told_right_minus_wrong():
    (coin,) = cards_of(judges_with_ties(1, 60, 0.3, 0.5)).values()
    told = sentences_of(coin)[1]
    assert told.rule == "near chance"
    assert says(told.text, "right in", "wrong in", "tie", "right − wrong", "points [")
    (sharp,) = cards_of(judges_with_ties(1, 60, 0.5, 0.95)).values()
    assert sentences_of(sharp)[1].rule == "right"


def test_advice_is_that_of_the_remedies():
    # Two judges with a strong preference for the first position; ties make adding up worthwhile.
    draw = np.random.default_rng(8)
    rows = []
    for k in range(80):
        better = int(draw.integers(2))
        for judge, ties in (("a", 0.5), ("b", 0.0)):
            picks: list[object] = []
            for order in range(2):
                slot = 0 if draw.random() < 0.4 else better ^ order
                picks.append("tie" if draw.random() < ties else slot)
            rows += pair(f"q{k}", *picks, judge=judge, better="xy"[better])
    frame = build(rows)
    study = build_remedy_study(frame)
    for name, card in cards_of(frame).items():
        assert card.facts["lean_p"] < 0.05
        advice = study.advice(study.rater_index(name))
        told = sentences_of(card)[2]
        assert told.text == advice.sentence
        assert told.rule == ("remedy" if advice.chosen else "no remedy")


def scoring_judge(scores: tuple[int, int] | None) -> list[dict[str, object]]:
    """Replies that score both answers to six items, in both orders, and pick none; x is better.
    `scores`: those of x and of y; None for replies that cannot be read."""
    status = "ok" if scores else "unreadable"
    both = None if scores is None else (scores, scores[::-1])
    return [
        {**row, "scores": both and both[k], "status": status, "prompt": "creation-factuality"}
        for item in range(6)
        for k, row in enumerate(pair(f"q{item}", None, None, better="x"))
    ]


def test_a_prompt_that_only_scores_is_not_reported_as_unreadable():
    (card,) = cards_of(build(scoring_judge((8, 5)))).values()
    facts = card.facts
    assert (facts["read"], facts["scored"], facts["sets"]) == (12, 12, None)
    assert (facts["items"], facts["agreement"], facts["unreadable"]) == (6, 1.0, 0.0)
    first, second, advice = sentences_of(card)
    assert (first.rule, second.rule, advice.rule) == ("scores", "scores", "no remedy")
    assert says(first.text, "picks none") and says(second.text, "**100")
    notes = {line.record.key: line.estimate.note for line in card_measures(card)}
    assert says(notes["consistency"], "picks no answer")
    (silent,) = cards_of(build(scoring_judge(None))).values()
    assert sentences_of(silent)[0].rule == "silent"
    # Beside a prompt that picks answers, it has no line on flips; unread pairs still have one.
    picks = [row for k in range(6) for row in pair(f"q{k}", 0, 0, prompt="choice")]
    lost = [row for k in range(6) for row in pair(f"q{k}", None, 0, prompt="lost")]
    shown = flip_directions_html(bias_from_frame(build([*scoring_judge((8, 5)), *picks, *lost])))
    assert "creation-factuality" not in shown
    assert says(shown, "choice") and says(shown, "None of 6", "both orders")


def repeating_judge(copy: float, items: int, seed: int) -> pd.DataFrame:
    """Verdicts without an order effect, three in each order; a repeat copies the one before it with
    probability `copy`."""
    draw = np.random.default_rng([97, items, seed])
    rows = []
    for k in range(items):
        easy = draw.random()
        for shown in ("xy", "yx"):
            pick = 0
            for repeat in range(3):
                if not repeat or draw.random() >= copy:
                    pick = shown.index("x" if draw.random() < 0.5 + easy / 2 else "y")
                rows.append({"item": f"q{k}", "shown": shown, "pick": pick, "repeat": repeat})
    return build(rows)


def rules_said(copy: float, items: int, studies: int) -> list[str]:
    cards = (cards_of(repeating_judge(copy, items, seed))["j"] for seed in range(studies))
    return [sentences_of(card)[0].rule for card in cards]


def test_repeats_with_a_memory_do_not_show_an_order_effect():
    said = rules_said(0.6, 120, 4)
    assert said.count("memory") >= 3 and "order" not in rules_said(0.0, 120, 4)
    frame = repeating_judge(0.6, 120, 0)
    headline, _ = bias_headline(load_bias(UnsavedStudy("s", judgements=frame)))
    assert says(headline, "flips", "a mere repeat changes", "provided", "repeats are independent")


@pytest.mark.extra
def test_most_repeats_with_a_memory_are_found():
    assert rules_said(0.6, 120, 40).count("order") <= 2
    independent = rules_said(0.0, 60, 40)
    assert independent.count("order") + independent.count("memory") <= 5


def test_the_p_value_of_a_position_among_options_is_that_of_the_view_position():
    """By the card of a judge of three options, whose calls are made once, or four times with equal
    replies: repeats of a call add no evidence."""
    rng = np.random.default_rng(3)
    rows = [row for k in range(20) for row in rotated(f"q{k}", rng.choice(3, 3, p=(0.5, 0.3, 0.2)))]
    found = []
    for repeats in (1, 4):
        frame = build(row | {"repeat": n} for row in rows for n in range(repeats))
        (card,) = cards_of(frame).values()
        study = UnsavedStudy("s", judgements=frame)
        (p,) = adjusted_option_p_values(
            load_bias(study), load_option_models_of_all_raters(study)
        ).values()
        (line,) = (one for one in card_measures(card) if "Position term" in one.label)
        assert f"p = .{round(1000 * p):03d}" in line.description
        found.append(p)
    assert 0.001 < found[0] < 1 and found[0] == found[1]


@pytest.mark.parametrize(("items", "rule"), [(20, "rather"), (10, "few, one way")])
def test_among_four_options_the_card_gives_the_share_of_the_position_chosen_most(items, rule):
    """Two of four choices for each item are for the fourth position: 50 %, an even share is 25 %.
    Flips among four options have no direction, so nothing is said on where they go."""
    (card,) = cards_of(
        build([row for k in range(items) for row in rotated(f"q{k}", [3, 3, 0, 1])])
    ).values()
    said = card_sentences(card.facts, card.text_by_key)[0]
    assert said.rule == rule and card.facts["lopsided"] is None
    assert says(said.text, "prefers a position:", "shown fourth", "50\u202f%", "even", "25\u202f%")
    assert not says(said.text, "flips go")
    (term,) = (one.label for one in card_measures(card) if "Position term" in one.label)
    assert term.endswith(": fourth position")


def test_a_label_counts_once_however_often_its_answer_is_judged():
    """20 answers, each scored by both arrangements of the scale and once more as a noise-floor
    repeat; one label has no usable verdict, one answer no label."""
    up, down = (Arrangement(one) for one in (("1", "2", "3", "4"), ("4", "3", "2", "1")))
    rows = [
        (f"q{k}", "m", one, None if k == 20 else [float(1 + k % 4)], noise)
        for k in range(22)
        for one, noise in ((up, False), (down, False), (down, True))
    ]
    card = PointCard(frame_of(rows, {f"q{k}": float(1 + k % 4) for k in range(21)}))
    assert card._label_count == 20
    assert says(card._advice_sentence, "Label more", "20 labels")
    assert PointCard(frame_of(rows))._label_count == 0
    told = " ".join(PointCard(frame_of(rows)).sentences)
    assert says(told, "1 to 4", "no answer has", "score as label") and says(told, "Give scores")


def test_a_judge_that_scores_too_high_is_corrected_and_one_that_is_right_is_not():
    def card(error: float) -> PointCard:
        scale = Arrangement(("1", "2", "3", "4", "5"))
        labels = {f"q{k}": float(1 + k % 4) for k in range(120)}
        rows = [
            (item, "m", scale, [label + error + (k % 5 == 0) * (1 - error)], False)
            for k, (item, label) in enumerate(labels.items())
        ]
        return PointCard(frame_of(rows, labels))

    assert says(card(1.0)._advice_sentence, "mean of all", "1 call", "Remedies")
    assert says(card(0.0)._advice_sentence, "No remedy")


def test_the_card_gives_the_advice_of_the_view_remedies():
    """Scores one above, one below and at the label in three orders: their mean is the label."""
    scales = [Arrangement(one) for one in rotations(("1", "2", "3", "4", "5"))][:3]
    labels = {f"q{k}": float(2 + k % 3) for k in range(48)}
    rows = [
        (item, "m", scale, [label + step], False)
        for item, label in labels.items()
        for scale, step in zip(scales, (-1, 0, 1), strict=True)
    ]
    card = PointCard(frame_of(rows, labels))
    (remedies,) = compare_single_answer_rules_with_one_call(card.rows).values()
    assert (remedies.advice.rule, remedies.advice.calls) == ("arrangements", 3)
    assert says(card._advice_sentence, "all orders, combined", "3 calls", "Remedies")
    title, _ = _headline_of_rater("j", remedies, "")
    assert title.removeprefix("Use for j: ")[:-1] in card._advice_sentence


def test_the_pass_rate_of_answers_with_labels_is_not_called_a_correction():
    """160 answers: 120 of them have a label, then all."""
    offered = Arrangement(("fail", "pass"))
    rows = [(f"q{k}", "m", offered, [float((k % 2) ^ (k % 13 == 0))], False) for k in range(160)]

    def card(labels: int) -> PointCard:
        given = {f"q{k}": ("fail", "pass")[k % 2] for k in range(labels)}
        return PointCard(frame_of(rows, given, scale=("fail", "pass")))

    for labels, corrected in ((120, True), (160, False)):
        found = card(labels)
        assert says(found._advice_sentence, "corrected") is corrected
        assert says(found._advice_sentence, "labels'") is not corrected
        (words,) = (words for name, words, *_ in found.measures if name == "True pass rate")
        assert says(words, "corrected") is corrected
    assert says(card(160)._order_sentence, "different orders", "unknown")
    assert "one order" not in card(160)._order_sentence
    told = card(160).how_computed_text
    assert says(told, "160 replies", "by item.") and "core" not in told, "passes are no scores"


@pytest.mark.parametrize("scale", [("1", "2", "3", "4"), ("fail", "pass")])
def test_unusable_replies_are_in_the_sentences_on_single_answers(scale):
    """20 answers, of which the last ten, or the last one, have no usable verdict."""

    def told(usable: int) -> str:
        values = [[float(k % 2 + (len(scale) > 2))] if k < usable else None for k in range(20)]
        rows = [(f"q{k}", "m", Arrangement(scale), value, False) for k, value in enumerate(values)]
        return " ".join(PointCard(frame_of(rows, scale=scale)).sentences)

    assert says(told(10), "50", "unusable") and not says(told(20), "unusable")


def test_a_card_of_single_answers_shows_the_share_of_unusable_replies():
    """2 of 8 replies have no verdict; those of noise-floor repeats do not count."""
    scale = Arrangement(("1", "2", "3"))
    rows = [(f"q{k}", "m", scale, None if k < 2 else [2.0], False) for k in range(8)]
    card = PointCard(frame_of([*rows, ("q7", "m", scale, None, True)]))
    measures = {name: value for name, _, value, _ in card.measures}
    assert (measures["Unusable replies"].value, measures["Unusable replies"].n) == (0.25, 8)
    assert measures["Mean score"].value == 2
    assert RECORDS["scores.spearman"].name not in measures


@pytest.mark.parametrize(("first_place", "shown"), [(False, False), (True, True)])
def test_the_card_claims_an_order_effect_only_above_the_noise(first_place: bool, shown: bool):
    """Two verdicts in each of two orders. By chance: half of both differ; else by place only."""
    up, down = (Arrangement(one) for one in (("1", "2"), ("2", "1")))
    by_chance = {up: [[1.0], [2.0]], down: [[1.0], [2.0]]}
    by_place = {up: [[1.0], [1.0]], down: [[2.0], [2.0]]}
    rows = [
        (f"q{k}", "m", one, (by_place if first_place else by_chance)[one][(k + again) % 2], False)
        for k in range(40)
        for one in (up, down)
        for again in range(2)
    ]
    card = PointCard(frame_of(rows))
    told = card._order_sentence
    assert says(told, "another order", "options", "repeats differ")
    assert says(told, "no effect", "options is shown") is not shown
    # The effect of another order, shown or not, leaves what is said of this one as it is.
    for of_criteria in (False, True):
        overall = SimpleNamespace(changed=Estimate(0.57))
        effect = SimpleNamespace(overall=overall, is_shown=of_criteria)
        vars(card)["criteria_order_effect"] = effect
        denied = [w for w, is_shown in (("options", shown), ("criteria", of_criteria))
                  if not is_shown]  # fmt: skip
        told = card._order_sentence
        assert says(told, "57", "criteria")
        assert says(told, "no effect", f"{' or '.join(denied)} is shown") is bool(denied)
