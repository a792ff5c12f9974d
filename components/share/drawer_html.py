"""HTML of the Share drawer: link, exports, tables for a paper, methods paragraph."""

from typing import Final

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count
from components.html.markup import Markup, fill
from components.html.pieces import paragraph, wrap
from components.html.tables.table import Table
from components.html.templates import macros
from components.share import paper_text
from components.share.citations import bibtex
from metrics.estimation.row_selection import people_mask
from studies.exchange.export import EXPORT_FORMATS

TEMPLATE: Final = "share/share.html"
REPORT_NAME: Final = "report.html"
BOARD_NAME: Final = "board.zip"
EXPORT_LABELS: Final = {
    "jsonl": "JSONL",
    "parquet": "Parquet",
    "csv": "CSV",
    "arena": "Arena battles",
    "mt-bench": "MT-Bench pairs",
    "llm-comparator": "LLM Comparator",
    "alpaca-eval": "AlpacaEval leaderboard",
    "votes": "Votes",
    "items": "Items",
    "yaml": "study.yaml",
}


def link_to_view_html() -> Markup:
    """HTML of the link to this view; the page's script fills in the address."""
    return wrap(macros(TEMPLATE).link())


def export_buttons_html(filtered: FilteredStudy) -> Markup:
    """HTML of the buttons that make a file: one for each export format, the report, the board."""
    votes = int(people_mask(filtered.whole_frame_by_person).sum())
    calls = len(filtered.whole_frame_by_person) - votes
    sizes = [count(calls, "judgement")] if calls or not votes else []
    rows = " and ".join([*sizes, *([count(votes, "vote")] if votes else [])])
    formats = {name: EXPORT_LABELS.get(name, name) for name in EXPORT_FORMATS}
    return wrap(macros(TEMPLATE).exports(rows, formats, REPORT_NAME, BOARD_NAME))


def paper_table_html(filtered: FilteredStudy, name: str) -> Markup:
    """HTML of a table as it would be printed, with its LaTeX and Markdown text: the table `name`
    or, if there is none of this name, the first table. If the study has no table, a note."""
    found = paper_text.paper_tables(filtered)
    table = found.get(name) or next(iter(found.values()), None)
    if table is None:
        return paragraph("No table: there are no verdicts yet.", "eh-small")
    printed = Table(table.head, table.rows, "eh-tbl plain").html()
    copy_box = macros(TEMPLATE).copy_box
    return wrap(
        printed + fill('<p class="eh-small">{}</p>', table.caption),
        copy_box("LaTeX", paper_text.latex_table(table)),
        copy_box("Markdown", paper_text.markdown_table(table)),
    )


def methods_html(filtered: FilteredStudy) -> Markup:
    """HTML of the methods paragraph, the command that prints the numbers, and BibTeX entries."""
    pairs = bool((filtered.measured_judge_rows["options"] == 2).any())
    text = paper_text.methods_paragraph(filtered)
    title = paper_text.metrics_command_title(filtered, "the numbers of this page")
    titled = title, paper_text.metrics_command(filtered)
    citations = bibtex(filtered.study.preset, pairs=pairs)
    return wrap(macros(TEMPLATE).methods(text, titled, citations))
