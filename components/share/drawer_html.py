"""HTML of the Share drawer: link, exports, tables for a paper, methods paragraph."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count
from components.html.markup import Markup, fill
from components.html.panel import wrap
from components.html.tables.table import Table
from components.share import paper_text
from components.share.citations import bibtex


def show_link() -> Markup:
    """HTML of the link to this view; the page's script fills in the address."""
    return wrap(
        Markup(
            '<section class="eh-share-part"><h3>Link</h3>'
            '<p class="eh-small">Opens exactly this view. Contains no keys and no texts.</p>'
            '<div class="eh-link-row"><code id="eh-link"></code>'
            '<button type="button" class="eh-btn primary" id="eh-copy-link">Copy link</button>'
            "</div>"
            '<label class="eh-small"><input type="checkbox" class="eh-check" id="eh-link-filters" '
            "checked> with filters</label></section>"
        )
    )


def show_exports(filtered: FilteredStudy) -> Markup:
    rows = count(len(filtered.unfiltered_frame), "judgement")
    return wrap(
        fill(
            '<h3>Export</h3><p class="eh-small">All {} with their replies; the filters do not '
            "apply. Each chart has its own PNG, SVG and CSV download.</p>",
            rows,
        )
    )


def show_paper_table(filtered: FilteredStudy, name: str) -> Markup:
    """HTML of one table as it would be printed, with its LaTeX and Markdown text."""
    found = paper_text.paper_tables(filtered)
    table = found.get(name) or next(iter(found.values()), None)
    if table is None:
        return wrap(Markup('<p class="eh-small">No table: there are no verdicts yet.</p>'))
    printed = Table(table.head, table.rows, "eh-tbl plain").html()
    printed += fill('<p class="eh-small">{}</p>', table.caption)
    return wrap(
        printed,
        _copy_box("LaTeX", paper_text.latex_table(table)),
        _copy_box("Markdown", paper_text.markdown_table(table)),
    )


def show_methods(filtered: FilteredStudy) -> Markup:
    """HTML of the methods paragraph, the command that prints the numbers, and BibTeX entries."""
    pairs = bool((filtered.machines["options"] == 2).any())
    cite = bibtex(filtered.study.preset, pairs=pairs)
    parts = [
        fill("<h3>Methods paragraph</h3><p>{}</p>", paper_text.methods_paragraph(filtered)),
        _copy_box("Copy the paragraph", paper_text.methods_paragraph(filtered)),
        _copy_box(
            "Command that computes the numbers of this page",
            paper_text.metrics_command(filtered, filtered.store.path.name),
        ),
    ]
    parts += [_copy_box("BibTeX", cite)] if cite else []
    return wrap(Markup('<section class="eh-share-part">'), *parts, Markup("</section>"))


def _copy_box(title: str, text: str) -> Markup:
    return fill(
        '<details class="eh-how" data-keep="{}"><summary>{}</summary>'
        '<button type="button" class="eh-btn small" data-copy="pre">Copy</button>'
        '<pre class="eh-code">{}</pre></details>',
        title,
        title,
        text,
    )
