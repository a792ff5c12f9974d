"""External pair formats, each from a few rows with the pitfalls of the real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metrics.win_rates.win_rates import win_rate
from studies.domain import Preference
from studies.errors import SourceError
from studies.exchange.recorded_studies import import_verdicts
from studies.sources.building.recorded_verdict import ORDER_NOT_RECORDED
from studies.sources.load import load_source
from studies.spec.study import DataSpec
from studies.store.store import Store
from tests.page_words import pattern, says
from tests.studies.sources.source_files import jsonl, loaded, said, table, verdicts


def talk(*texts: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[k % 2], "content": t} for k, t in enumerate(texts)]


def whole(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


# ---- battles ---------------------------------------------------------------------------------


def test_arena_battles_keep_their_order_and_know_people_from_machines(tmp_path: Path) -> None:
    def battle(winner: str, judge: str, turn: int = 1) -> dict[str, Any]:
        return {"question_id": 81, "model_a": "x", "model_b": "y", "winner": winner,
                "judge": judge, "turn": turn, "conversation_a": talk("q1", "x1", "q2", "x2"),
                "conversation_b": talk("q1", "y1", "q2", "y2")}  # fmt: skip

    rows = [
        battle("model_a", "expert_3"),
        battle("tie (bothbad)", "gpt4_pair"),
        battle("model_b", "gpt4_pair", turn=2),
    ]
    found = loaded(jsonl(tmp_path / "b.jsonl", rows))
    assert verdicts(found) == [
        ("human:expert_3", "x > y", "x"),
        ("gpt4_pair", "x > y", "tie"),
        ("gpt4_pair", "x > y", "y"),
    ]
    one, two = found.items
    assert (one.id, one.instruction, dict(one.responses)) == ("81", "q1", {"x": "x1", "y": "y1"})
    assert one.human == (Preference("expert_3", ("x", "y"), "x"),)
    assert two.id == "81-turn-2" and two.instruction == "Turn 1: q1\n\nTurn 2: q2"
    assert two.responses["y"] == "Turn 1: y1\n\nTurn 2: y2"
    assert found.order_known and not found.disabled_metrics


def test_battles_without_texts_are_verdicts_only(tmp_path: Path) -> None:
    rows = [{"model_a": "x", "model_b": "y", "winner": w, "category_tag": "maths"} for w in
            ("model_a", "both_bad", "")]  # fmt: skip
    found = loaded(table(tmp_path / "b.csv", rows))
    assert [said(j) for j in found.judgements] == ["x", "tie", "unreadable"]
    assert len({j.ask.item for j in found.judgements}) == 3  # each row is its own item
    assert found.items[0].category == "maths" and not found.items[0].responses


def test_a_winner_nobody_knows_is_an_error_that_names_its_line(tmp_path: Path) -> None:
    rows = [{"model_a": "x", "model_b": "y", "winner": w} for w in ("model_a", "modelb")]
    with pytest.raises(SourceError, match=pattern("b.csv", "3", "'winner'", "'modelb'")):
        loaded(table(tmp_path / "b.csv", rows))


def test_evalica_s_sides_and_workers(tmp_path: Path) -> None:
    rows = [{"prompt": "8", "worker": w, "left": "x", "right": "y", "winner": v}
            for w, v in (("5", "left"), ("6", "tie"), ("5", "right"))]  # fmt: skip
    found = loaded(table(tmp_path / "e.csv", rows))
    assert verdicts(found) == [
        ("human:5", "x > y", "x"),
        ("human:6", "x > y", "tie"),
        ("human:5", "x > y", "y"),  # asked again: a repeat of the same order
    ]
    assert [j.ask.repeat for j in found.judgements] == [0, 0, 1]
    assert [item.id for item in found.items] == ["8"]


def test_autoarena_does_not_record_its_shuffle(tmp_path: Path) -> None:
    rows = [{"model_a": "y", "model_b": "x", "prompt": "why?", "response_a": "ry",
             "response_b": "rx", "winner": w} for w in ("A", "-", "B")]  # fmt: skip
    found = loaded(table(tmp_path / "h.csv", rows))
    # No order is known: names stand in alphabetical order, and the winner stays who it was.
    assert verdicts(found) == [
        ("recorded", "x > y", "y"),
        ("recorded", "x > y", "tie"),
        ("recorded", "x > y", "x"),
    ]
    assert {j.ask.orders for j in found.judgements} == {0}
    assert not found.order_known and found.disabled_metrics["first_share"] == ORDER_NOT_RECORDED
    assert "win_rate" not in found.disabled_metrics and len(found.items) == 1


def test_autoarena_s_answers_join_on_the_prompt(tmp_path: Path) -> None:
    mine = table(tmp_path / "model-x.csv", [{"prompt": p, "response": f"x {p}"} for p in "ab"])
    table(tmp_path / "other.csv", [{"prompt": "a", "response": "y a"}])
    found = loaded(mine, files={"model-y": "other.csv"})
    assert [dict(i.responses) for i in found.items] == [
        {"model-x": "x a", "model-y": "y a"},
        {"model-x": "x b"},
    ]
    assert found.join is not None and [file.missing for file in found.join.files] == [0, 1]


# ---- MT-Bench --------------------------------------------------------------------------------


def pair(winners: tuple[str, str], replies: tuple[str, str] = ("a", "b")) -> dict[str, Any]:
    return {"question_id": 81, "model_1": "x", "model_2": "y", "judge": ["gpt-4", "pair-v2"],
            "g1_winner": winners[0], "g2_winner": winners[1], "g1_judgment": replies[0],
            "g2_judgment": replies[1], "turn": 1, "tstamp": 1690000000.5}  # fmt: skip


def test_mt_bench_s_second_game_is_already_un_swapped(tmp_path: Path) -> None:
    # model_1 won both games: shown first in game 1, second in game 2.
    found = loaded(jsonl(tmp_path / "gpt-4_pair.jsonl", [pair(("model_1", "model_1"))]))
    first, second = found.judgements
    assert (first.ask.shown, first.verdict and first.verdict.pick) == (("x", "y"), 0)
    assert (second.ask.shown, second.verdict and second.verdict.pick) == (("y", "x"), 1)
    assert first.ask.orders == 2 and (first.ask.judge, first.ask.prompt) == ("gpt-4", "pair-v2")
    assert first.time == 1690000000.5


def test_mt_bench_s_errors_are_failures_and_never_ties(tmp_path: Path) -> None:
    rows = [pair(("error", "tie"), ("no verdict in here", "[[C]]")),
            pair(("error", "model_2"), ("$ERROR$", "[[A]]"))]  # fmt: skip
    found = loaded(jsonl(tmp_path / "gpt-4_pair.jsonl", rows))
    assert [said(j) for j in found.judgements] == ["unreadable", "tie", "error", "y"]
    assert found.judgements[2].reply == ""


def test_mt_bench_s_single_ratings_and_their_minus_one(tmp_path: Path) -> None:
    rows = [{"question_id": 81, "model": "x", "judge": ["gpt-4", "single-v1"], "score": s,
             "judgment": f"[[{s}]]", "turn": 2} for s in (7.5, -1)]  # fmt: skip
    found = loaded(jsonl(tmp_path / "gpt-4_single.jsonl", rows))
    assert [said(j) for j in found.judgements] == ["scores (7.5,)", "unreadable"]
    assert found.judgements[0].ask.item == "081-turn-2"


def test_a_fastchat_folder_has_questions_answers_and_verdicts(tmp_path: Path) -> None:
    jsonl(tmp_path / "question.jsonl", [{"question_id": 81, "category": "writing",
          "turns": ["one?", "two?"], "reference": ["r1", "r2"]}])  # fmt: skip
    for model in "xy":
        choices = [{"index": 0, "turns": [f"{model}1", f"{model}2"]}]
        row = {"question_id": 81, "model_id": model, "choices": choices}
        jsonl(tmp_path / "model_answer" / f"{model}.jsonl", [row])
    jsonl(tmp_path / "model_judgment" / "gpt-4_pair.jsonl", [pair(("model_1", "tie"))])
    found = load_source(DataSpec("."), tmp_path)
    assert found.format == "mt-bench" and "files of answers (2)" in found.format_reason
    one, two = found.items
    assert (one.id, one.category, one.reference) == ("081", "writing", "r1")
    assert dict(one.responses) == {"x": "x1", "y": "y1"}
    assert two.responses["x"] == "Turn 1: x1\n\nTurn 2: x2" and two.reference == "r2"
    assert [said(j) for j in found.judgements] == ["x", "tie"]


def test_two_answers_of_one_model_to_one_question_are_refused(tmp_path: Path) -> None:
    rows = [{"question_id": 1, "model_id": "x", "choices": [{"turns": [t]}]} for t in "ab"]
    with pytest.raises(SourceError, match=pattern("2", "question 1; keep")):
        loaded(jsonl(tmp_path / "a.jsonl", rows))


# ---- Arena-Hard, AlpacaEval, LLMBar ------------------------------------------------------------


def test_arena_hard_shows_the_baseline_first_in_game_0(tmp_path: Path) -> None:
    games = [{"score": "B>>A", "judgment": "r0"}, {"score": "A=B", "judgment": {"answer": "r1"}}]
    rows = [
        {"uid": "u1", "category": "hard", "judge": "j", "model": "m", "baseline": "base",
         "games": games},
        {"uid": "u2", "category": "hard", "judge": "j", "model": "m", "baseline": "base",
         "games": [None, {"score": None, "judgment": "cannot say"}]},
    ]  # fmt: skip
    jsonl(tmp_path / "question.jsonl", [{"uid": "u1", "prompt": "why?"}])
    jsonl(tmp_path / "m.jsonl", [{"uid": "u1", "model": "m", "messages": talk("why?", "so")}])
    files = {"questions": "question.jsonl", "m": "m.jsonl"}
    found = loaded(jsonl(tmp_path / "j.jsonl", rows), files=files)
    assert verdicts(found) == [
        ("j", "base > m", "m"),
        ("j", "m > base", "tie"),
        ("j", "base > m", "error"),
        ("j", "m > base", "unreadable"),
    ]
    verdict = found.judgements[0].verdict
    assert verdict is not None and verdict.margin == 2
    assert found.judgements[1].reply == "r1"
    assert found.items[0].instruction == "why?" and found.items[0].responses == {"m": "so"}


def annotation(preference: float | None, **more: Any) -> dict[str, Any]:
    return {"instruction": "why?", "output_1": "z says", "generator_1": "z", "output_2": "b says",
            "generator_2": "b", "annotator": "gpt4", "preference": preference,
            "price_per_example": 0.01, **more}  # fmt: skip


def test_alpaca_eval_s_preference_from_1_to_2(tmp_path: Path) -> None:
    values = [1, 2, 1.5, 0, None, 1.2, 1.9999]
    found = loaded(whole(tmp_path / "a.json", [annotation(value) for value in values]))
    # 1 the first is better, 2 the second, 1.5 and the old 0 ties, null a failure.
    assert [said(j) for j in found.judgements] == ["z", "b", "tie", "tie", "unreadable", "z", "b"]
    assert not found.order_known and {j.ask.shown for j in found.judgements} == {("b", "z")}
    assert found.judgements[0].cost == 0.01
    with pytest.raises(SourceError, match=pattern("1", "'preference': expected 1", "2")):
        loaded(whole(tmp_path / "b.json", [annotation(2.5)]))


def test_alpaca_eval_s_weighted_preferences_keep_their_probabilities(
    tmp_path: Path, store: Store
) -> None:
    path = whole(tmp_path / "a.json", [annotation(value) for value in (1.2, 1.9, 2)])
    found = import_verdicts(store, path, "mine")
    # b is output_2 and stands first in the alphabet: its probabilities are preference - 1.
    likely = [j.verdict.label_probabilities for j in found.judgements if j.verdict]
    assert likely == [pytest.approx(p) for p in ((0.2, 0.8), (0.9, 0.1), (1.0, 0.0))]
    rates = win_rate(store.frame("mine"), outcome="probability")
    assert rates["b"].value == pytest.approx((0.2 + 0.9 + 1) / 3, abs=1e-6)
    assert win_rate(store.frame("mine"))["b"].value == pytest.approx(2 / 3)


def test_alpaca_eval_s_people_are_numbered(tmp_path: Path) -> None:
    rows = [annotation(1, annotator="", annotator_index=k) for k in (4, 9)]
    found = loaded(whole(tmp_path / "a.json", rows))
    assert [j.ask.judge for j in found.judgements] == ["human:4", "human:9"]
    assert [p.shown for p in found.items[0].human] == [None, None]


def test_alpaca_eval_s_outputs_join_on_the_instruction(tmp_path: Path) -> None:
    def outputs(name: str, *asked: str) -> Path:
        rows = [{"instruction": q, "output": f"{name} {q}", "generator": name} for q in asked]
        return whole(tmp_path / f"{name}.json", rows)

    outputs("y", "b")
    found = loaded(outputs("x", "a", "b"), files={"y": "y.json"})
    assert [dict(i.responses) for i in found.items] == [{"x": "x a"}, {"x": "x b", "y": "y b"}]
    assert found.join is not None
    assert [(file.matched, file.missing) for file in found.join.files] == [(1, 1)]


def test_llmbar_takes_the_last_step_and_knows_that_winner_is_un_swapped(tmp_path: Path) -> None:
    def step(plain: str | None, swapped: str | None) -> dict[str, Any]:
        return {"swap = False": {"completion": ["r", "stop"], "winner": plain},
                "swap = True": {"completion": ["s", "stop"], "winner": swapped}}  # fmt: skip

    rows = [{"input": "why?", "output_1": "a", "output_2": "b", "label": 2,
             "results": [step("1", "1"), step("2", None)]}]  # fmt: skip
    folder = tmp_path / "Manual" / "GPT-4" / "CoT"
    folder.mkdir(parents=True)
    found = loaded(whole(folder / "result.json", rows))
    assert verdicts(found) == [
        ("GPT-4", "output_1 > output_2", "output_2"),
        ("GPT-4", "output_2 > output_1", "unreadable"),
    ]
    assert found.judgements[0].ask.prompt == "CoT" and found.items[0].category == "Manual"
    assert found.items[0].human == (Preference("by-design", None, "output_2"),)
    dotted = loaded(whole(tmp_path / "gpt-4.1.json", rows))
    assert {one.ask.judge for one in dotted.judgements} == {"gpt-4.1"}
    # The same questions again beside the results: one item, one label.
    whole(tmp_path / "Manual" / "dataset.json", [{k: rows[0][k] for k in list(rows[0])[:4]}])
    both = load_source(DataSpec("Manual"), tmp_path)
    assert len(both.items) == 1 and len(both.items[0].human) == 1 and len(both.judgements) == 2


# ---- LLM Comparator, JudgeBench, preference sets, PandaLM, Kaggle, PRD ---------------------------


def test_llm_comparator_s_scores_are_positive_for_a_and_un_flipped(tmp_path: Path) -> None:
    ratings = [
        {"score": 1.5, "is_flipped": False, "rationale": "much better"},
        {"score": 1.0, "is_flipped": True, "rationale": "better"},
        {"score": -0.2, "is_flipped": True, "rater": "gpt-4"},
    ]
    example = {"input_text": "why?", "tags": ["maths"], "output_text_a": "sa",
               "output_text_b": "sb", "score": 0.8}  # fmt: skip
    data = {"metadata": {}, "models": [{"name": "a"}, {"name": "b"}],
            "examples": [{**example, "individual_rater_scores": ratings},
                         {**example, "input_text": "how?", "score": -1}]}  # fmt: skip
    found = loaded(whole(tmp_path / "c.json", data))
    assert verdicts(found) == [
        ("llm-comparator", "a > b", "a"),
        ("llm-comparator", "b > a", "a"),  # flipped: b was shown first, and a won all the same
        ("gpt-4", "b > a", "tie"),
        ("llm-comparator", "a > b", "b"),  # an average: its order is not known
    ]
    assert [j.ask.orders for j in found.judgements] == [2, 2, 1, 0]
    assert [j.verdict.margin for j in found.judgements if j.verdict] == [2, 1, 0, 1]
    assert not found.order_known and not found.disabled_metrics
    assert f"1 of 4 verdicts: {ORDER_NOT_RECORDED}" in found.notes


def test_judgebench_s_second_decision_is_in_the_labels_it_was_shown(tmp_path: Path) -> None:
    def judged(*decisions: str | None) -> dict[str, Any]:
        games = [{"judgment": {"response": "r"}, "decision": d} for d in decisions]
        return {"pair_id": "-".join(map(str, decisions)), "source": "mmlu", "question": "why?",
                "response_model": "gpt-4o", "response_A": "a", "response_B": "b", "label": "A>B",
                "judge_name": "arena_hard", "judgments": games}  # fmt: skip

    found = loaded(jsonl(tmp_path / "j.jsonl", [judged("A>B", "B>A"), judged("A=B", None)]))
    assert verdicts(found) == [
        ("arena_hard", "response_A > response_B", "response_A"),
        ("arena_hard", "response_B > response_A", "response_A"),  # B>A of (B, A): A won
        ("arena_hard", "response_A > response_B", "tie"),
        ("arena_hard", "response_B > response_A", "unreadable"),
    ]
    assert found.items[0].human == (Preference("by-design", None, "response_A"),)


def test_a_preference_set_with_several_rejected_has_n_options(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt": "why?", "chosen": "yes", "rejected": "no", "subset": "chat"},
        {"prompt": "how?", "chosen": ["so"], "rejected": ["a", "b", "c"], "subset": "chat"},
        {"prompt": talk("hi"), "chosen": talk("hi", "hello"), "rejected": talk("hi", "go away")},
    ]
    items = loaded(jsonl(tmp_path / "p.jsonl", rows)).items
    assert dict(items[0].responses) == {"chosen": "yes", "rejected": "no"}
    assert list(items[1].responses) == ["chosen", "rejected-1", "rejected-2", "rejected-3"]
    assert dict(items[2].responses) == {"chosen": "hello", "rejected": "go away"}
    assert {p.judge for item in items for p in item.human} == {"by-design"}
    assert items[0].category == "chat" and items[1].human[0].picked == "chosen"


def test_two_transcripts_share_their_question(tmp_path: Path) -> None:
    start = "\n\nHuman: hi\n\nAssistant: yes?\n\nHuman: why?"
    row = {"chosen": f"{start}\n\nAssistant: so", "rejected": f"{start}\n\nAssistant: no"}
    (item,) = loaded(jsonl(tmp_path / "p.jsonl", [row])).items
    assert item.instruction == start.strip()
    assert dict(item.responses) == {"chosen": "so", "rejected": "no"}
    other = {"chosen": "a\n\nAssistant: so", "rejected": "b\n\nAssistant: no"}
    with pytest.raises(SourceError, match=pattern("p.jsonl, line 1: no column")):
        loaded(jsonl(tmp_path / "p.jsonl", [other]))


def test_pandalm_s_garbage_is_a_failure(tmp_path: Path) -> None:
    row = {"idx": 5, "instruction": "sum up", "input": "a text", "response1": "r1",
           "response2": "r2", "annotator1": 1, "annotator2": 0, "annotator3": 2,
           "cmp_key": "opt_llama"}  # fmt: skip
    rows = [{**row, "idx": k, "pandalm_result": r} for k, r in enumerate(["1", "Tie", "garbage"])]
    found = loaded(whole(tmp_path / "p.json", rows))
    machine = [v for v in verdicts(found) if v[0] == "pandalm"]
    assert machine == [
        ("pandalm", "opt > llama", "opt"),
        ("pandalm", "opt > llama", "tie"),
        ("pandalm", "opt > llama", "unreadable"),
    ]
    assert [said(j) for j in found.judgements[:3]] == ["opt", "tie", "llama"]
    assert [j.ask.orders for j in found.judgements[:4]] == [0, 0, 0, 1]
    assert found.items[0].instruction == "sum up\n\na text"


def test_kaggle_s_winner_is_one_of_three_columns(tmp_path: Path) -> None:
    def row(*hot: int) -> dict[str, Any]:
        names = ("winner_model_a", "winner_model_b", "winner_tie")
        return {"id": "".join(map(str, hot)), "model_a": "x", "model_b": "y",
                "prompt": '["q1", "q2"]', "response_a": '["a1", null]', "response_b": '["b1","b2"]',
                **dict(zip(names, hot, strict=True))}  # fmt: skip

    found = loaded(table(tmp_path / "k.csv", [row(1, 0, 0), row(0, 0, 1)]))
    assert verdicts(found) == [("human:arena", "x > y", "x"), ("human:arena", "x > y", "tie")]
    assert found.items[0].responses["y"] == "Turn 1: b1\n\nTurn 2: b2"
    with pytest.raises(SourceError, match=pattern("k.csv, line 2: exactly", "winner_model_a")):
        loaded(table(tmp_path / "k.csv", [row(1, 1, 0)]))


def test_prd_s_empty_reply_with_a_verdict_counts_and_is_noted(tmp_path: Path) -> None:
    jsonl(tmp_path / "prompts.jsonl", [{"prompt_id": "p", "prompt": "why?", "category": "generic",
          "responses": {"x": "sx", "y": "sy"}}])  # fmt: skip
    jsonl(tmp_path / "judgements.jsonl", [
        {"prompt_id": "p", "judge": "j", "first": "x", "second": "y", "verdict": "tie", "raw": ""},
        {"prompt_id": "p", "judge": "j", "first": "y", "second": "x", "verdict": "first",
         "raw": "y it is", "template": "brief"}])  # fmt: skip
    jsonl(tmp_path / "human_votes.jsonl", [{"prompt_id": "p", "annotator": "vote1", "first": "x",
          "second": "y", "verdict": "second"}])  # fmt: skip
    found = load_source(DataSpec("."), tmp_path)
    assert verdicts(found) == [
        ("human:vote1", "x > y", "y"),
        ("j", "x > y", "tie"),
        ("j", "y > x", "y"),
    ]
    assert says(found.notes, "1 verdict", "empty reply", "recorded")
    assert found.items[0].human == (Preference("vote1", ("x", "y"), "y"),)
    assert [j.ask.prompt for j in found.judgements] == ["vote", "prd", "brief"]


# ---- what all of them share ----------------------------------------------------------------------


def test_the_same_question_with_another_answer_is_another_item(tmp_path: Path) -> None:
    rows = [{"model_a": "x", "model_b": "y", "winner": "model_a", "question_id": "q",
             "question": "why?", "response_a": text, "response_b": "sy"}
            for text in ("one", "one", "two")]  # fmt: skip
    found = loaded(table(tmp_path / "b.csv", rows))
    assert [j.ask.item for j in found.judgements] == ["q", "q", "q~2"]
    assert [item.responses["x"] for item in found.items] == ["one", "two"]


def test_a_contestant_s_name_must_be_one_that_can_win(tmp_path: Path) -> None:
    for name in ("tie", "@reference"):
        rows = [{"left": name, "right": "y", "winner": "left", "question": "why?"}]
        with pytest.raises(SourceError, match=rf"e.csv, line 2: model '{name}'"):
            loaded(table(tmp_path / "e.csv", rows))


def test_the_same_id_over_another_question_is_another_item(tmp_path: Path) -> None:
    rows = [{"left": "x", "right": "y", "winner": "left", "question_id": "1", "question": q}
            for q in ("why?", "how?", "why?")]  # fmt: skip
    found = loaded(table(tmp_path / "e.csv", rows))
    assert [j.ask.item for j in found.judgements] == ["1", "1~2", "1"]
