"""What the Share drawer says: exports, the table as it will be printed, a methods paragraph."""

from __future__ import annotations

from components.filtering.filtered_study import FilteredStudy
from components.html.format import count, escape
from components.html.panel import wrap
from components.share import paper_text
from components.share.citations import bibtex


def show_link() -> str:
    """The link of this view; the script fills it in, since only the browser knows the address."""
    return wrap(
        '<section class="eh-share-part"><h3>Link</h3>'
        '<p class="eh-small">Shows exactly this view. Holds no key and no raw text.</p>'
        '<div class="eh-link-row"><code id="eh-link"></code>'
        '<button type="button" class="eh-btn primary" id="eh-copy-link">Copy link</button></div>'
        '<label class="eh-small"><input type="checkbox" class="eh-check" id="eh-link-filters" '
        "checked> "
        "with filters</label></section>"
    )


def show_exports(scene: FilteredStudy) -> str:
    rows = count(len(scene.unfiltered_frame), "judgement")
    return wrap(
        f'<h3>Export</h3><p class="eh-small">{rows} with their replies, whatever the filters. '
        "A chart has its own PNG, SVG and CSV at its corner.</p>"
    )


def show_paper_table(scene: FilteredStudy, name: str) -> str:
    """One table three ways: as printed, LaTeX, Markdown."""
    found = paper_text.paper_tables(scene)
    table = found.get(name) or next(iter(found.values()), None)
    if table is None:
        return wrap('<p class="eh-small">No readable verdict yet: no table.</p>')
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    printed = (
        f'<div class="eh-tbl-box"><table class="eh-tbl plain"><thead><tr>{head}</tr></thead>'
        f'<tbody>{body}</tbody></table></div><p class="eh-small">{escape(table.caption)}</p>'
    )
    return wrap(
        printed,
        _copy_box("LaTeX", paper_text.latex_table(table)),
        _copy_box("Markdown", paper_text.markdown_table(table)),
    )


def show_methods(scene: FilteredStudy) -> str:
    """Methods, the command behind the numbers, whom to cite."""
    pairs = bool((scene.machines["options"] == 2).any())
    cite = bibtex(scene.study.preset, pairs=pairs)
    parts = [
        f"<h3>Methods paragraph</h3><p>{escape(paper_text.methods_paragraph(scene))}</p>",
        _copy_box("Copy the paragraph", paper_text.methods_paragraph(scene)),
        _copy_box(
            "The same numbers again", paper_text.metrics_command(scene, scene.store.path.name)
        ),
    ]
    parts += [_copy_box("BibTeX", cite)] if cite else []
    return wrap('<section class="eh-share-part">', *parts, "</section>")


def _copy_box(title: str, text: str) -> str:
    return (
        f'<details class="eh-how" data-keep="{escape(title)}"><summary>{escape(title)}</summary>'
        '<button type="button" class="eh-btn small" data-copy="pre">Copy</button>'
        f'<pre class="eh-code">{escape(text)}</pre></details>'
    )
