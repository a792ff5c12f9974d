"""Requirements on every built-in prompt file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from judges.rendering.template import VARIABLES
from judges.verdicts.verdict_formats import FORMATS
from tests.samples import each

FOLDER = Path(__file__).parents[3] / "judges" / "prompts"
PROMPTS: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.yaml")
}
# Names of published prompts: study files and other people's scripts use them.
NAMES = (
    "visit-reference-free",
    "visit-reference-backed",
    "visit-extraction",
    "grade-simple",
    "grade-criteria",
    "grade-debias",
    "grade-points",
    "creation-subjective",
    "creation-factuality",
    "creation-factuality-truth",
    "creation-describe",
    "creation-describe-query",
    "creation-aspects",
    "mt-bench-pair",
    "mt-bench-single",
    "arena-hard",
    "label-probability",
)
PROTOCOLS = {
    "pairwise", "choice", "five-level", "factuality", "single", "describe", "extraction",
}  # fmt: skip
PAIRS = {"pairwise", "five-level", "factuality"}


def messages(prompt: dict[str, Any]) -> list[tuple[str, str]]:
    return [(role, text) for message in prompt["messages"] for role, text in message.items()]


def text_of(prompt: dict[str, Any]) -> str:
    return "\n".join(text for _, text in messages(prompt))


def variables(prompt: dict[str, Any]) -> set[str]:
    return set(re.findall(r"\$([a-z_]+)", text_of(prompt)))


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_that_the_protocols_name_is_there(name: str) -> None:
    assert name in PROMPTS


every_prompt = each("name", sorted(PROMPTS))


@every_prompt
def test_a_prompt_has_the_fields_of_the_schema_and_no_others(name: str) -> None:
    prompt = PROMPTS[name]
    wanted = {"name", "version", "source", "protocol", "messages", "verdict"}
    assert wanted <= set(prompt) <= wanted | {"extraction", "criteria", "scale"}
    assert prompt["name"] == name
    assert prompt["version"] == 1
    assert prompt["protocol"] in PROTOCOLS
    assert prompt["verdict"] in FORMATS


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_names_the_paper_it_follows(name: str) -> None:
    assert re.search(r"\(.+, 20\d\d\)", PROMPTS[name]["source"])


@every_prompt
def test_messages_are_single_and_begin_with_the_system(name: str) -> None:
    prompt = PROMPTS[name]
    assert all(len(message) == 1 for message in prompt["messages"])
    roles = [role for role, _ in messages(prompt)]
    assert set(roles) <= {"system", "user", "assistant"}
    assert roles[-1] == "user"


@every_prompt
def test_a_prompt_uses_only_variables_that_exist(name: str) -> None:
    assert variables(PROMPTS[name]) <= set(VARIABLES)


@every_prompt
def test_a_prompt_never_spells_out_a_placeholder_that_a_small_model_would_copy(name: str) -> None:
    assert not re.search(r"(Response|Option|Answer:) [XYk]\b|\[\[[VXx]\]\]", text_of(PROMPTS[name]))


@every_prompt
def test_a_judging_prompt_asks_for_its_verdict_format(name: str) -> None:
    prompt = PROMPTS[name]
    if prompt["protocol"] not in {"describe", "extraction"}:
        assert "closing" in variables(prompt)


@every_prompt
def test_a_pair_prompt_can_be_crossed_and_shows_the_first_answer_first(name: str) -> None:
    prompt = PROMPTS[name]
    if prompt["protocol"] not in PAIRS:
        return
    text = text_of(prompt)
    places = [text.index(v) for v in ("$label_first", "$first", "$label_second", "$second")]
    assert places == sorted(places)


@every_prompt
def test_a_fence_that_opens_also_closes(name: str) -> None:
    for _, text in messages(PROMPTS[name]):
        assert text.count("<<$fence") == text.count("$fence>>")


@pytest.mark.parametrize("name", ["visit-reference-free", "visit-reference-backed"])
def test_a_visit_conversation_has_four_messages_and_an_extraction_judge(name: str) -> None:
    prompt = PROMPTS[name]
    assert [role for role, _ in messages(prompt)] == ["system", "user", "assistant", "user"]
    assert prompt["verdict"] == "overall-response"
    assert PROMPTS[prompt["extraction"]]["protocol"] == "extraction"
    assert ("reference" in variables(prompt)) == (name == "visit-reference-backed")


def test_visit_inputs_come_in_the_order_of_the_paper() -> None:
    last = messages(PROMPTS["visit-reference-backed"])[-1][1]
    order = ["Image context", "Instruction", "High quality reference", "$first", "$second"]
    places = [last.index(part) for part in order]
    assert places == sorted(places)


def test_the_extraction_judge_sees_the_reply_and_answers_final_answer_or_unknown() -> None:
    prompt = PROMPTS["visit-extraction"]
    assert prompt["verdict"] == "final-answer"
    assert "reply" in variables(prompt)
    assert all(
        part in text_of(prompt) for part in ("Final Answer: A", "Final Answer: B", "Unknown")
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("grade-")])
def test_a_grade_score_question_has_the_brackets_of_the_paper(name: str) -> None:
    question = messages(PROMPTS[name])[-1][1]
    parts = ["[User Instruction]", "$instruction", "[\\User Instruction]", "$options"]
    places = [question.index(part) for part in parts]
    assert places == sorted(places)
    assert PROMPTS[name]["verdict"] == "selection-option"


def test_grade_score_prompts_ask_for_what_sets_them_apart() -> None:
    assert "Evaluation:" in text_of(PROMPTS["grade-criteria"])
    assert "Grading:" in text_of(PROMPTS["grade-points"])
    assert "Beware of position" in text_of(PROMPTS["grade-debias"])
    assert "Beware of position" not in text_of(PROMPTS["grade-points"])


def test_creation_criteria_stand_between_the_two_responses() -> None:
    question = messages(PROMPTS["creation-subjective"])[-1][1]
    parts = ["$query", "$first", "$criteria_subjective", "$second"]
    places = [question.index(part) for part in parts]
    assert places == sorted(places)


def test_no_images_are_sent_for_factuality_and_only_one_variant_knows_the_truth() -> None:
    plain, truth = PROMPTS["creation-factuality"], PROMPTS["creation-factuality-truth"]
    assert not {"images", "query"} & (variables(plain) | variables(truth))
    assert variables(truth) - variables(plain) == {"ground_truth"}


def test_the_query_specific_description_adds_the_aspects_and_never_the_question() -> None:
    generic, specific = PROMPTS["creation-describe"], PROMPTS["creation-describe-query"]
    assert variables(specific) - variables(generic) == {"aspects"}
    assert "instruction" not in variables(specific)
    assert "images" not in variables(PROMPTS["creation-aspects"])
