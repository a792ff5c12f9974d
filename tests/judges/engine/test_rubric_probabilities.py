"""Probabilities of rubric levels: read at the level of each criterion, stored, expected levels."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from judges.engine.outcome import read_label_probabilities
from judges.judge_errors import PlanError
from judges.models.chat_completion import parse_completion
from judges.models.interface import parse_last_token_logprobs, parse_level_logprobs
from judges.operations.check_judge import reread_and_store_verdicts
from judges.planning.plan import asks_of, make_plan
from judges.rendering.prompt import load_prompt, parse_prompt
from judges.verdicts.verdict import rubric_level_token_indices
from metrics.labels.label_sections import scores_section
from metrics.labels.scores.score_distribution import score_distribution_section
from studies.frames.arrangement import Arrangement
from studies.spec.study import parse_study, study_from_mapping
from studies.store.store import Store
from tests.judge_server import JudgeServer
from tests.judge_server.asked import Asked
from tests.judges.engine.test_asking_points import run, study_text
from tests.judges.engine.test_asking_rubrics import NAMES, write_scored_items
from tests.judges.small_studies import endpoint, judgements, run_through

LABELS = Arrangement(("1", "2", "3"), (), NAMES).labels


def token(text: str, **shares: float) -> dict:
    """One entry of the log-probabilities of a reply; `shares`: probabilities of levels, as n1=…."""
    top = [{"token": f" {name[1:]}", "logprob": math.log(share)} for name, share in shares.items()]
    return {"token": text, "logprob": -0.1, "top_logprobs": top}


def body(*tokens: dict, finish: str = "stop") -> bytes:
    text = "".join(one["token"] for one in tokens)
    choice = {
        "message": {"content": text}, "finish_reason": finish, "logprobs": {"content": tokens},
    }  # fmt: skip
    return json.dumps({"choices": [choice], "model": "m"}).encode()


RUBRIC = (
    token("It holds.\n"), token("Correct"), token("ness"), token(":"),
    token(" 3", n3=0.6, n2=0.3, n1=0.1), token("\n**"), token("Completeness"), token("**:"),
    token(" 1", n1=0.2, n2=0.7, n3=0.1), token("\nClarity:"), token(" 2", n2=0.4, n1=0.1, n3=0.3),
    token("\n"),
)  # fmt: skip


def test_the_most_probable_level_of_each_criterion_counts() -> None:
    outcome = read_label_probabilities(
        load_prompt("rubric"), LABELS, parse_completion(body(*RUBRIC))
    )
    assert (outcome.status, outcome.rule) == ("ok", "probabilities")
    verdict = outcome.verdict
    assert verdict is not None
    # Completeness was written as 1, but 2 has the most probability.
    assert verdict.scores == pytest.approx((7 / 3, 3, 2, 2))
    shares = [0.1, 0.3, 0.6, 0.2, 0.7, 0.1, 0.125, 0.5, 0.375]
    assert verdict.label_probabilities == pytest.approx(shares)
    assert verdict.label_mass == pytest.approx(0.8), "the smallest mass of a criterion"


def test_the_probabilities_follow_the_order_of_the_scale_and_of_the_request() -> None:
    """Options and criteria in another order, with letters: the verdict is the same."""
    offered = Arrangement(("3", "1", "2"), ("A", "B", "C"), NAMES[::-1])
    tokens = (
        token("Clarity:"), token(" A", nA=0.5, nB=0.2, nC=0.3),
        token("\nCompleteness:"), token(" B", nB=0.9, nA=0.1),
        token("\nCorrectness:"), token(" C", nC=0.8, nB=0.1, nA=0.1),
    )  # fmt: skip
    reply = parse_completion(body(*tokens))
    outcome = read_label_probabilities(load_prompt("rubric"), offered.labels, reply)
    assert outcome.verdict is not None
    assert outcome.verdict.scores == pytest.approx((2, 3, 1, 2))
    assert outcome.verdict.label_probabilities == pytest.approx(
        [0.2, 0.3, 0.5, 0.9, 0.0, 0.1, 0.1, 0.8, 0.1]
    )


@pytest.mark.parametrize(
    ("tokens", "finish", "status"),
    [
        (RUBRIC[:-2], "stop", "unreadable"),  # no level for Clarity
        (RUBRIC[:-2], "length", "truncated"),
        ((*RUBRIC[:-2], token(" 2", n1=0.2, n2=0.2)), "stop", "unreadable"),  # too little mass
        ((*RUBRIC[:-2], token(" 2", n1=0.4, n2=0.4)), "stop", "unreadable"),  # equally probable
        ((*RUBRIC[:-2], token(" 2 points", n2=0.9)), "stop", "unreadable"),  # not a token alone
        ((token("Both are fine."), token(".")), "stop", "unreadable"),
    ],
)
def test_a_rubric_without_a_level_is_unusable_and_has_no_score(tokens, finish, status) -> None:
    reply = parse_completion(body(*tokens, finish=finish))
    outcome = read_label_probabilities(load_prompt("rubric"), LABELS, reply)
    assert outcome.status == status
    assert not (outcome.verdict and outcome.verdict.scores)


def test_a_reply_without_logprobs_is_unsupported() -> None:
    text = b'{"choices": [{"message": {"content": "Correctness: 3"}, "finish_reason": "stop"}]}'
    outcome = read_label_probabilities(load_prompt("rubric"), LABELS, parse_completion(text))
    assert outcome.status == "unsupported"
    last = replace(parse_completion(body(*RUBRIC)), tokens=())  # as from a cluster
    outcome = read_label_probabilities(load_prompt("rubric"), LABELS, last)
    assert outcome.status == "unsupported" and "read: text" in outcome.detail


def test_levels_are_found_whatever_the_tokens() -> None:
    offered = Arrangement(("1", "2", "3"), (), ("Tone", "Length"))
    assert rubric_level_token_indices(["Tone: ", "2", "\nLength:", " 3"], "123", offered) == [1, 3]
    assert (
        rubric_level_token_indices(["Tone:", " 2", "\n", "Length:", " 3", "/3"], "123", offered)
        is None
    )
    assert rubric_level_token_indices(["T", "one", ": 2"], "123", offered) is None


def test_expected_levels_and_scores_are_those_of_the_stored_probabilities(tmp_path: Path) -> None:
    write_scored_items(tmp_path)
    judge = ", score_noise: 0, read: probabilities, unreadable_rate: 0.1"
    text = study_text("rubric", judge, "options: rotations\ncriteria_order: rotations\n")
    store = run(tmp_path, text)
    frame = store.frame("s")
    usable = (frame["status"] == "ok").to_numpy()
    assert usable.any() and not usable.all()
    assert frame.loc[~usable, "expected"].isna().all()
    rows = frame[usable]
    levels = rows[[f"expected_level_{k}" for k in range(3)]].to_numpy(np.float64)
    assert rows["expected"].to_numpy() == pytest.approx(levels.mean(axis=1), abs=1e-5)
    assert rows["score_0"].to_numpy() == pytest.approx(rows["gold"].to_numpy())
    assert ((levels >= 1) & (levels <= 3)).all()
    by_key = {one.ask.key: one for one in store.judgements("s") if one.status == "ok"}
    checked = 0
    for one in by_key.values():
        shares = np.asarray(one.verdict.label_probabilities).reshape(3, 3)
        assert shares.sum(axis=1) == pytest.approx(np.ones(3))
        assert shares.argmax(axis=1) + 1 == pytest.approx(one.verdict.scores[1:])
        checked += 1
    assert checked == usable.sum()
    found = score_distribution_section(frame)["sim"]["rubric"]
    assert set(found["criteria"]) == set(NAMES)
    mean = np.mean([one["expected"].value for one in found["criteria"].values()])
    assert found["expected"].value == pytest.approx(mean, abs=1e-5)
    assert "expected" in scores_section(frame)["sim"]["rubric"]
    again = reread_and_store_verdicts(store, "s")
    assert again.read == usable.sum() and not again.changed
    store.close()


def test_an_endpoint_is_asked_for_the_log_probabilities_of_the_whole_reply(
    tmp_path: Path, store: Store
) -> None:
    write_scored_items(tmp_path, 3)
    reply = "Correctness: 3\nCompleteness: 2\nClarity: 1"
    bodies: list[dict] = []

    def answer(asked: Asked) -> str:
        bodies.append(dict(asked.body))
        return reply

    with JudgeServer(behaviour=answer) as server:
        values = {
            "name": "small", "data": {"source": str(tmp_path / "items.jsonl")},
            "judges": [{**endpoint(server.base_url), "read": "probabilities"}],
            "prompts": ["rubric"],
        }  # fmt: skip
        run_through(make_plan(study_from_mapping(values, folder=tmp_path)), store)
    sent = bodies[0]
    assert sent["logprobs"] is True and sent["top_logprobs"] == 20 and sent["max_tokens"] > 100
    made = judgements(store)
    assert len(made) == 3 and {one.status for one in made} == {"ok"}
    for one in made:
        assert one.rule == "probabilities" and one.verdict.scores == pytest.approx((2, 3, 2, 1))
        assert len(one.verdict.label_probabilities) == 9
        assert len(parse_level_logprobs(one.top_logprobs)) == 3
        assert parse_last_token_logprobs(one.top_logprobs) == ()


def test_levels_of_several_characters_have_no_probabilities(tmp_path: Path) -> None:
    named = load_prompt("rubric").yaml.replace("[1, 2, 3]", "[poor, fair, good]")
    assert not parse_prompt(named).has_single_token_levels()
    (tmp_path / "named.yaml").write_text(named, encoding="utf-8")
    write_scored_items(tmp_path, 1)
    study = parse_study(study_text("named.yaml", ", read: probabilities"), "t", tmp_path)
    with pytest.raises(PlanError, match="single-token"):
        list(asks_of(make_plan(study)))
    lettered = study_text("named.yaml", ", read: probabilities", "options: crossed\n")
    assert list(asks_of(make_plan(parse_study(lettered, "t", tmp_path))))
