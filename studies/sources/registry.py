"""Registry of the supported source formats, with their detection and reader functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from studies.files.tables import SourceTable
from studies.sources.building.builder import SourceBuilder
from studies.sources.building.open_source import OpenSource
from studies.sources.formats import (
    alpaca_eval,
    any_table,
    arena,
    arena_hard,
    auto_j,
    autoarena,
    checked_verdicts,
    creation_mmbench,
    deepeval,
    inspect_log,
    judgebench,
    kaggle,
    langfuse,
    langsmith,
    llm_comparator,
    llmbar,
    mt_bench,
    oasst,
    own_flat_rows,
    own_judgements,
    own_shards,
    own_votes,
    pandalm,
    phoenix,
    prd,
    preference,
    promptfoo,
    visit_battles,
    visit_bench,
)


def _matches_no_folder(folder: Path) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class SourceFormat:
    """A file format of items or verdicts.

    `matches_table` and `matches_folder` return the reason for a match, or "" if there is no match.
    """

    name: str
    description: str
    matches_table: Callable[[SourceTable], str]
    read: Callable[[OpenSource], SourceBuilder]
    matches_folder: Callable[[Path], str] = _matches_no_folder


SOURCE_FORMATS: Final[dict[str, SourceFormat]] = {
    source_format.name: source_format
    for source_format in (
        SourceFormat(
            "evenhand",
            "Evenhand's items",
            own_judgements.matches_items_table,
            own_judgements.read_items,
        ),
        SourceFormat(
            "evenhand-judgements",
            "Evenhand's judgements, as exported",
            own_judgements.matches_judgements_table,
            own_judgements.read_judgements,
        ),
        SourceFormat(
            "evenhand-csv",
            "Evenhand's flat table of judgements, as exported",
            own_flat_rows.matches_table,
            own_flat_rows.read,
        ),
        SourceFormat(
            "evenhand-votes",
            "people's votes, exported from Evenhand",
            own_votes.matches_table,
            own_votes.read,
        ),
        SourceFormat(
            "evenhand-shards",
            "a folder of Parquet files with judgements, exported from Evenhand",
            own_shards.matches_table,
            own_shards.read,
            own_shards.matches_folder,
        ),
        SourceFormat(
            "visit-bench",
            "VisIT-Bench questions with one answer file per model",
            visit_bench.matches_table,
            visit_bench.read,
            visit_bench.matches_folder,
        ),
        SourceFormat(
            "visit-battles",
            "VisIT-Bench's human preferences and battles",
            visit_battles.matches_table,
            visit_battles.read,
        ),
        SourceFormat(
            "auto-j",
            "Auto-J's test set and judges' outputs",
            auto_j.matches_table,
            auto_j.read,
            auto_j.matches_folder,
        ),
        SourceFormat("oasst", "OpenAssistant's ranked replies", oasst.matches_table, oasst.read),
        SourceFormat(
            "creation-mmbench",
            "Creation-MMBench questions with criteria",
            creation_mmbench.matches_table,
            creation_mmbench.read,
        ),
        SourceFormat("arena", "Arena battles", arena.matches_table, arena.read),
        SourceFormat(
            "mt-bench",
            "MT-Bench files",
            mt_bench.matches_table,
            mt_bench.read,
            mt_bench.matches_folder,
        ),
        SourceFormat(
            "arena-hard", "Arena-Hard judgements", arena_hard.matches_table, arena_hard.read
        ),
        SourceFormat(
            "alpaca-eval",
            "AlpacaEval outputs or annotations",
            alpaca_eval.matches_table,
            alpaca_eval.read,
        ),
        SourceFormat(
            "llmbar",
            "LLMBar items and results",
            llmbar.matches_table,
            llmbar.read,
            llmbar.matches_folder,
        ),
        SourceFormat(
            "llm-comparator",
            "LLM Comparator's JSON",
            llm_comparator.matches_table,
            llm_comparator.read,
        ),
        SourceFormat(
            "autoarena",
            "AutoArena answers or head-to-heads",
            autoarena.matches_table,
            autoarena.read,
        ),
        SourceFormat("evalica", "Evalica's battles", arena.matches_sides_table, arena.read_sides),
        SourceFormat(
            "judgebench",
            "JudgeBench pairs and judgments",
            judgebench.matches_table,
            judgebench.read,
        ),
        SourceFormat(
            "preference",
            "a preference set: prompt, chosen, rejected",
            preference.matches_table,
            preference.read,
        ),
        SourceFormat(
            "pandalm", "PandaLM's test set and results", pandalm.matches_table, pandalm.read
        ),
        SourceFormat(
            "verdict-label",
            "verdicts on single answers beside their labels: verdict, label",
            checked_verdicts.matches_table,
            checked_verdicts.read,
        ),
        SourceFormat("kaggle", "LMSYS's Kaggle set", kaggle.matches_table, kaggle.read),
        SourceFormat(
            "prd",
            "PRD's prompts, judgements and votes",
            prd.matches_table,
            prd.read,
            prd.matches_folder,
        ),
        SourceFormat(
            "inspect",
            "logs of Inspect",
            inspect_log.matches_table,
            inspect_log.read,
            inspect_log.matches_folder,
        ),
        SourceFormat("promptfoo", "results of promptfoo", promptfoo.matches_table, promptfoo.read),
        SourceFormat("deepeval", "test runs of DeepEval", deepeval.matches_table, deepeval.read),
        SourceFormat(
            "langfuse",
            "scores exported from Langfuse",
            langfuse.matches_table,
            langfuse.read,
        ),
        SourceFormat(
            "phoenix",
            "evaluations exported from Phoenix",
            phoenix.matches_table,
            phoenix.read,
        ),
        SourceFormat(
            "langsmith",
            "feedback exported from LangSmith",
            langsmith.matches_table,
            langsmith.read,
        ),
        SourceFormat(
            "table",
            "any table, with its columns mapped",
            any_table.matches_table,
            any_table.read,
        ),
    )
}
