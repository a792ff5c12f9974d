"""Import of MT-Bench's judge_prompts.jsonl: prompts, and reasons for rejected lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from judges.__main__ import main
from judges.judge_errors import PromptError
from judges.rendering.prompt import load_prompt
from judges.rendering.prompt_library import PromptImport, preview_prompt, read_judge_prompts
from judges.verdicts.verdict import parse_verdict
from studies.domain import Item

# The keys, names and output formats are FastChat's; the words are ours.
PAIR = {
    "name": "pair-v2",
    "type": "pairwise",
    "system_prompt": "Compare. End with [[A]], [[B]], or [[C]] for a tie.",
    "prompt_template": "[Question]\n{question}\n\n[A]\n{answer_a}\n[End]\n\n[B]\n{answer_b}\n[End]",
    "description": "for general questions",
    "category": "general",
    "output_format": "[[A]]",
}
SINGLE = {
    "name": "single-math-v1",
    "type": "single",
    "system_prompt": "",
    "prompt_template": "Q: {question}\nReference: {ref_answer_1}\nAnswer: {answer}\nRate: {{1}}",
    "description": "",
    "category": "math",
    "output_format": "[[rating]]",
}
TURNS = PAIR | {
    "name": "pair-v2-multi-turn",
    "prompt_template": "{question_1} {answer_a_1} {answer_b_1} {question_2} {answer_a_2}",
}
ITEM = Item("q1", "why {answer_b}?", {"x": "so", "y": "thus"}, reference="ideal")


def imported(folder: Path, *lines: dict[str, Any] | str) -> PromptImport:
    path = folder / "judge_prompts.jsonl"
    written = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(written), encoding="utf-8")
    return read_judge_prompts(path)


def test_a_pairwise_prompt_keeps_its_words_and_shows_both_answers(tmp_path: Path) -> None:
    (prompt,) = imported(tmp_path, PAIR).prompts
    assert (prompt.name, prompt.protocol, prompt.verdict) == ("pair-v2", "pairwise", "mt-bench")
    system, user = preview_prompt(prompt, ITEM)
    assert system["content"] == PAIR["system_prompt"]
    wanted = "[Question]\nwhy {answer_b}?\n\n[A]\nso\n[End]\n\n[B]\nthus\n[End]"
    assert user["content"] == wanted


def test_a_single_prompt_rates_one_answer_with_the_reference(tmp_path: Path) -> None:
    (prompt,) = imported(tmp_path, SINGLE).prompts
    assert (prompt.protocol, prompt.verdict) == ("single", "rating")
    (user,) = preview_prompt(prompt, ITEM)
    assert user["content"] == "Q: why {answer_b}?\nReference: ideal\nAnswer: so\nRate: {1}"
    verdict = parse_verdict(prompt.verdict, "Rating: [[7]]").verdict
    assert verdict is not None and verdict.scores == (7.0,)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"prompt_template": "{question} {answer_c}"}, "unknown variable {answer_c}"),
        ({"type": "triple"}, "type 'triple' is not one of pairwise, single"),
        ({"output_format": "JSON"}, "output_format 'json' is not one of [[a]]"),
        ({"output_format": "[[rating]]"}, "rating does not go with protocol: pairwise"),
        ({"prompt_template": "{question"}, "prompt_template: expected '}'"),
        ({"prompt_template": "{question} costs $much"}, "unknown variable $much"),
        ({"prompt_template": ""}, "needs a 'name' and a 'prompt_template'"),
        ({"system_prompt": ["a"]}, "field 'system_prompt': expected text"),
    ],
)
def test_a_line_that_does_not_fit_is_named_with_its_reason(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    found = imported(tmp_path, PAIR | change, SINGLE)
    assert [prompt.name for prompt in found.prompts] == ["single-math-v1"]
    ((name, reason),) = found.rejected
    assert name == "pair-v2" and told in reason


def test_prompts_of_several_turns_are_refused_and_not_bent(tmp_path: Path) -> None:
    found = imported(tmp_path, TURNS, "not json", "[1]")
    assert found.prompts == ()
    assert "{question_1} is one turn of several" in found.rejected[0][1]
    assert [name for name, _ in found.rejected[1:]] == ["line 2", "line 3"]


def test_a_file_without_prompts_says_so(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="no prompts in it"):
        imported(tmp_path, "")
    with pytest.raises(PromptError, match="cannot read"):
        read_judge_prompts(tmp_path / "none.jsonl")


def test_the_command_writes_a_folder_of_prompts_and_counts_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path, PAIR, SINGLE, TURNS)
    file, folder = str(tmp_path / "judge_prompts.jsonl"), tmp_path / "mine"
    assert main(["import-prompts", file, str(folder)]) == 0
    told = capsys.readouterr()
    assert "pair-v2, version 1" in told.out
    assert "pair-v2-multi-turn: {question_1}" in told.err
    assert load_prompt("pair-v2-v1.yaml", folder).verdict == "mt-bench"
    assert main(["import-prompts", file, str(folder)]) == 0
    assert len(list(folder.iterdir())) == 2
    imported(tmp_path, PAIR | {"system_prompt": "Compare well."})
    assert main(["import-prompts", file, str(folder)]) == 0
    assert load_prompt("pair-v2-v2.yaml", folder).messages[0] == ("system", "Compare well.")
    imported(tmp_path, TURNS)
    assert main(["import-prompts", file, str(folder)]) == 1
