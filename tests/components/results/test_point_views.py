"""All views of studies that judge single answers, alone and beside comparisons."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import Filter
from components.filtering.raters import Raters
from components.results.overview.tab import render_card_or_judge_tables
from components.results.ranking.point_ranking_panel import single_answer_ranking_headline
from components.results.view_drawing import VIEWS, offered_views, render_view_uncached
from components.share.report import ReportFigures, report_sections
from judges.engine.engine import Engine
from judges.planning.plan import make_plan, save_plan
from metrics.catalogue.records import RECORDS
from metrics.labels.label_sections import pass_fail_section
from studies.domain import AnswerLabel, Ask, Item, Judgement, Verdict
from studies.exchange.recorded_studies import import_verdicts, save_recorded_study
from studies.sources.load import LoadedSource
from studies.spec.study import DataSpec, parse_study
from studies.store.store import Store
from tests.page_words import says
from tests.samples import sample

POINT_VIEWS = ("Summary", "Position", "Agreement", "Ranking", "Remedies")
"""Views of a study without comparisons."""
JUDGES = (
    "{name: keen, model: simulated, seed: 3, score_noise: 0.3, first_bias: 0.5, sensitivity: 0.9, "
    "specificity: 0.8}, {name: dull, model: simulated, seed: 4, score_noise: 1.5, "
    "sensitivity: 0.6, specificity: 0.6}"
)


def run_study(store: Store, folder: Path, name: str, prompts: str) -> None:
    text = (
        f"name: {name}\ndata: {{source: items.jsonl}}\njudges: [{JUDGES}]\n"
        f"prompts: [{prompts}]\noptions: rotations\n"
    )
    engine = Engine()
    try:
        plan = make_plan(parse_study(text, "test", folder))
        save_plan(plan, store)
        run = engine.start(plan, store)
        assert run.wait(120) and run.snapshot().state == "done"
    finally:
        engine.close()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("points")
    lines = []
    for k in range(30):
        good = {"okapi": k % 3 > 0, "tapir": k % 3 == 0}
        labels = [{"contestant": who, "value": "pass" if one else "fail"}
                  for who, one in good.items() if k < 20]  # fmt: skip
        lines.append({"id": f"q{k}", "instruction": f"question {k}",
                      "responses": {"okapi": f"answer {k}", "tapir": f"other {k}"},
                      "labels": labels, "category": "even" if k % 2 else "odd",
                      "human": [{"judge": "by-design", "shown": ["okapi", "tapir"],
                                 "picked": "okapi" if good["okapi"] else "tapir"}]})  # fmt: skip
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / "items.jsonl").write_text(text, encoding="utf-8")
    made = Store(folder / "store.db")
    run_study(made, folder, "passes", "pass-fail")
    run_study(made, folder, "scores", "score-scale")
    run_study(made, folder, "both", "pass-fail, score-scale, brief-letters")
    (folder / "plain.csv").write_text("verdict,label\npass,pass\nfail,\npass,\n", encoding="utf-8")
    import_verdicts(made, folder / "plain.csv", "plain")
    yield made
    draw.cache_clear()
    made.close()


def words_of(made: dict[str, object]) -> str:
    """The visible text of everything drawn."""
    parts = [str(value) for value in made.values() if not isinstance(value, bool | dict)]
    return unescape(re.sub(r"<[^>]+>", " ", " ".join(parts)))


@cache
def draw(store: Store, study: str, view: str, **chosen: str) -> dict[str, object]:
    filtered = FilteredStudy(store, study)
    controls = {}
    for name, control in VIEWS[view].controls.items():
        state = control.initial_state(filtered, None)
        controls[name] = state.value if state else control.start_value
        assert controls[name] is None or isinstance(controls[name], str | list), name
    return render_view_uncached(filtered, view, controls | chosen)


@pytest.mark.parametrize("study", ["passes", "scores", "plain"])
def test_panels_on_comparisons_are_hidden(store: Store, study: str) -> None:
    whole = FilteredStudy(store, study)
    assert offered_views(whole) == list(POINT_VIEWS)
    for view in ("Position", "Agreement", "Ranking", "Remedies"):
        made = draw(store, study, view)
        pairs = [name for name in made if name.endswith("_of_pairs")]
        assert pairs and not any(made[name] for name in pairs)
    made = draw(store, study, "Agreement")
    kinds = made["agreement_of_passes"], made["agreement_of_scores"]
    assert kinds == (study != "scores", study == "scores")


@pytest.mark.parametrize(
    "study", sample(["passes", "scores", "both", "plain"], "passes", "scores", "plain")
)
@pytest.mark.parametrize("view", POINT_VIEWS)
def test_shared_views_have_content(store: Store, study: str, view: str) -> None:
    text = words_of(draw(store, study, view))
    assert len(text) > 200
    for wrong in ("nan", "None", "No pairs here", "both orders(?! of the options)"):
        assert not re.search(wrong, text) or (study == "both" and wrong != "nan"), (wrong, text)


def test_models_are_ranked_by_their_corrected_pass_rate(store: Store) -> None:
    made = draw(store, "passes", "Ranking")
    assert made["ranking_of_pairs"] is False and made["point_ranking_panel"] is True
    assert says(str(made["finding"]), "okapi", "tapir")
    table = str(made["point_ranking"])
    assert table.index("okapi") < table.index("tapir") and "True pass rate" in table
    assert "keen · pass-fail" in table and "dull · pass-fail" in table
    scores = str(draw(store, "scores", "Ranking")["point_ranking"])
    assert "Mean score" in scores and "True pass rate" not in scores
    plain = draw(store, "plain", "Ranking")
    assert says(str(plain["finding"]), "one model", "were judged", "no ranking")
    assert says(str(plain["point_ranking"]), "one model", "were judged", "Agreement")


def test_remedies_of_points_are_compared_with_labels(store: Store) -> None:
    made = draw(store, "passes", "Remedies")
    assert made["remedies_of_pairs"] is False
    table = str(made["point_remedies"])
    assert RECORDS["point_right"].name in table
    assert "All orders, combined" in table and says(table, "pass rate", "without changing")
    assert "Not computed" in table and "judged 3 times" in table
    unlabelled = draw(store, "scores", "Remedies")
    assert says(str(unlabelled["finding"]), "need labels")
    assert "Vote" in str(unlabelled["point_remedies"])


def record(folder: Path, *verdicts: tuple[str, str, str, float | None]) -> FilteredStudy:
    """A study of verdicts (item, judge, model, 1.0 for a pass or None for an unreadable reply) on
    two items, of which the answers to `labelled` have labels; each is a category."""
    names = sorted({item for item, *_ in verdicts})
    items = [
        Item(
            item, item, {"x": "one", "y": "two"}, item,
            labels=tuple(AnswerLabel(who, "pass") for who in "xy" if item == "labelled"),
        )
        for item in names
    ]  # fmt: skip
    made = [
        Judgement(
            Ask("", item, judge, "check", (who,), ("pass", "fail"), orders=1),
            "unreadable" if value is None else "ok",
            None if value is None else Verdict(None, 1, (value,)),
            "recorded",
            "So it is.",
        )
        for item, judge, who, value in verdicts
    ]
    recorded = Store(folder / "recorded.db")
    source = LoadedSource(items, made, "table", "written by a test")
    save_recorded_study(recorded, "recorded", DataSpec(source="recorded.csv"), source)
    return FilteredStudy(recorded, "recorded")


def test_labels_that_are_hidden_or_meet_no_verdict_are_not_said_to_be_missing(tmp_path: Path):
    whole = record(tmp_path, ("labelled", "ada", "x", None), ("plain", "ada", "x", 1.0))
    plain = FilteredStudy(whole.store, "recorded", Filter(category="plain"))
    for filtered, told in ((whole, ("No usable", "with a label")), (plain, ("filters", "a label"))):
        for headline in (VIEWS["Agreement"].headline, VIEWS["Remedies"].headline):
            assert says(headline(filtered)[1], *told)
        for view, body in (("Agreement", "areas"), ("Remedies", "point_remedies")):
            made = render_view_uncached(filtered, view, VIEWS[view].initial_values(filtered))
            assert says(str(made[body]), *told)


def test_why_there_is_no_ranking_of_single_answers(tmp_path: Path) -> None:
    rows = [("plain", "ada", "x", 1.0), ("labelled", "ada", "x", 1.0), ("plain", "ada", "y", None)]
    lost = record(tmp_path, *rows)
    assert says(single_answer_ranking_headline(lost)[0], "No judge", "two models")
    alone = FilteredStudy(lost.store, "recorded", Filter(contestants=("x",)))
    assert says(single_answer_ranking_headline(alone)[0], "one model", "filters")
    (tmp_path / "more").mkdir()
    both = record(tmp_path / "more", *rows, *(("plain", "bob", who, 1.0) for who in "xy"))
    assert says(" ".join(single_answer_ranking_headline(both)), "x and y", "by bob")


def test_cards_speak_of_good_and_bad_answers(store: Store) -> None:
    def cards(study: str) -> str:
        judges = Raters(FilteredStudy(store, study)).names.values()
        table = str(draw(store, study, "Summary")["card"])
        assert all(" · ".join(cell) in table for cell in judges) and "eh-report" not in table
        chosen = [FilteredStudy(store, study, Filter(judge=one, prompt=two)) for one, two in judges]
        return " ".join(str(render_card_or_judge_tables(one)) for one in chosen)

    card = cards("passes")
    assert says(card, "passes", "good answers", "bad ones", "true pass rate", "observed")
    assert all(RECORDS[f"pass_fail.{key}"].name in card for key in ("sensitivity", "kappa"))
    assert RECORDS["option_order.changed"].name in card
    score = cards("scores")
    assert says(score, "mean score") and says(score, "order", "options")


def test_contrasts_compare_pass_rates(store: Store) -> None:
    made = str(draw(store, "passes", "Agreement", compare="dull")["kpis"])
    assert "Pass rate" in made and "Consistency" not in made
    scores = str(draw(store, "scores", "Agreement", compare="dull")["kpis"])
    assert says(scores, "Mean score", "scale")


@pytest.mark.extra
def test_pairs_and_points_in_one_study_have_both(store: Store) -> None:
    ranking = draw(store, "both", "Ranking")
    assert ranking["ranking_of_pairs"] is True and ranking["point_ranking_panel"] is True
    remedies = draw(store, "both", "Remedies")
    assert remedies["remedies_of_pairs"] is True and remedies["point_remedies_panel"] is True
    assert "pass-fail" in str(remedies["point_remedies"])
    assert "score-scale" not in str(remedies["rules"])
    for view in offered_views(FilteredStudy(store, "both")):
        assert "nan" not in words_of(draw(store, "both", view)).split(), view


def test_the_report_has_the_shared_views(store: Store) -> None:
    body = str(report_sections(FilteredStudy(store, "passes"), ReportFigures()))
    assert says(body, "Models", "single answers") and says(body, "Remedies", "single answers")
    assert says(body, "Report card") and "Leaderboard" not in body


def test_rates_are_also_given_by_model_and_category(store: Store) -> None:
    made = draw(store, "passes", "Agreement")
    assert made["pass_parts_panel"] is True
    table = str(made["pass_parts"])
    assert all(f">{name}<" in table for name in ("okapi", "tapir", "even", "odd"))
    assert draw(store, "plain", "Agreement")["pass_parts_panel"] is False
    values = pass_fail_section(store.frame("passes"))["keen"]["pass-fail"]
    assert set(values["by_contestant"]) == {"okapi", "tapir"}
    assert set(values["by_category"]) == {"even", "odd"}
    for parts in (values["by_contestant"], values["by_category"]):
        for cell, total in values["confusion"].items():
            assert sum(one["confusion"][cell] for one in parts.values()) == total
