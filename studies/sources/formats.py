"""The formats that can be read: what each looks like, and who reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from studies.sources import (
    alpaca_eval,
    arena,
    arena_hard,
    autoarena,
    creation_mmbench,
    evenhand,
    judgebench,
    kaggle,
    llm_comparator,
    llmbar,
    mapped,
    mt_bench,
    oasst,
    pandalm,
    prd,
    preference,
    shard_folder,
    visit_bench,
    vote_table,
)
from studies.sources.gather import Gathering, Opened
from studies.sources.tables import Table


def _no_folder(folder: Path) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Format:
    """One way in which people keep items or verdicts.

    `sees` and `holds` say why a table (or a folder) looks like it, and nothing where it does not.
    """

    name: str
    told: str
    sees: Callable[[Table], str]
    read: Callable[[Opened], Gathering]
    holds: Callable[[Path], str] = _no_folder


FORMATS: Final[dict[str, Format]] = {
    form.name: form
    for form in (
        Format("evenhand", "Evenhand's items", evenhand.sees_items, evenhand.read_items),
        Format(
            "evenhand-judgements",
            "Evenhand's judgements, as exported",
            evenhand.sees_judgements,
            evenhand.read_judgements,
        ),
        Format("evenhand-votes", "Evenhand's votes by people, as exported", vote_table.sees,
               vote_table.read),
        Format(
            "evenhand-shards",
            "a folder of Evenhand's judgements as Parquet",
            shard_folder.sees,
            shard_folder.read,
            shard_folder.holds,
        ),
        Format(
            "visit-bench",
            "VisIT-Bench questions with one answer file per model",
            visit_bench.sees,
            visit_bench.read,
            visit_bench.holds,
        ),
        Format("oasst", "OpenAssistant's ranked replies", oasst.sees, oasst.read),
        Format(
            "creation-mmbench",
            "Creation-MMBench questions with criteria",
            creation_mmbench.sees,
            creation_mmbench.read,
        ),
        Format("arena", "Arena battles", arena.sees, arena.read),
        Format("mt-bench", "MT-Bench files", mt_bench.sees, mt_bench.read, mt_bench.holds),
        Format("arena-hard", "Arena-Hard judgements", arena_hard.sees, arena_hard.read),
        Format("alpaca-eval", "AlpacaEval outputs or annotations", alpaca_eval.sees,
               alpaca_eval.read),
        Format("llmbar", "LLMBar items and results", llmbar.sees, llmbar.read, llmbar.holds),
        Format("llm-comparator", "LLM Comparator's JSON", llm_comparator.sees,
               llm_comparator.read),
        Format("autoarena", "AutoArena answers or head-to-heads", autoarena.sees, autoarena.read),
        Format("evalica", "Evalica's battles", arena.sees_sides, arena.read_sides),
        Format("judgebench", "JudgeBench pairs and judgments", judgebench.sees, judgebench.read),
        Format("preference", "a preference set: prompt, chosen, rejected", preference.sees,
               preference.read),
        Format("pandalm", "PandaLM's test set and results", pandalm.sees, pandalm.read),
        Format("kaggle", "LMSYS's Kaggle set", kaggle.sees, kaggle.read),
        Format("prd", "PRD's prompts, judgements and votes", prd.sees, prd.read, prd.holds),
        Format("table", "any table, by data.mapping", mapped.sees, mapped.read),
    )
}  # fmt: skip
