"""What the Share drawer says: exports, the table as it will be printed, a methods paragraph."""

from __future__ import annotations

from components.drawing.panels import wrap
from components.format import count, safe
from components.scene import Scene
from components.share import paper
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


def show_exports(scene: Scene) -> str:
    rows = count(len(scene.whole), "judgement")
    return wrap(
        f'<h3>Export</h3><p class="eh-small">{rows} with their replies, whatever the filters. '
        "A chart has its own PNG, SVG and CSV at its corner.</p>"
    )


def show_paper(scene: Scene, name: str) -> str:
    """One table three ways: as printed, LaTeX, Markdown."""
    found = paper.tables(scene)
    table = found.get(name) or next(iter(found.values()), None)
    if table is None:
        return wrap('<p class="eh-small">No readable verdict yet: no table.</p>')
    head = "".join(f"<th>{safe(cell)}</th>" for cell in table.head)
    body = "".join(
        "<tr>" + "".join(f"<td>{safe(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    printed = (
        f'<div class="eh-tbl-box"><table class="eh-tbl plain"><thead><tr>{head}</tr></thead>'
        f'<tbody>{body}</tbody></table></div><p class="eh-small">{safe(table.caption)}</p>'
    )
    return wrap(
        printed, _copied("LaTeX", paper.latex(table)), _copied("Markdown", paper.markdown(table))
    )


def show_words(scene: Scene) -> str:
    """Methods, the command behind the numbers, whom to cite."""
    pairs = bool((scene.machines["options"] == 2).any())
    cite = bibtex(scene.study.preset, pairs=pairs)
    parts = [
        f"<h3>Methods paragraph</h3><p>{safe(paper.methods(scene))}</p>",
        _copied("Copy the paragraph", paper.methods(scene)),
        _copied("The same numbers again", paper.command(scene, scene.store.path.name)),
    ]
    parts += [_copied("BibTeX", cite)] if cite else []
    return wrap('<section class="eh-share-part">', *parts, "</section>")


def _copied(title: str, text: str) -> str:
    return (
        f'<details class="eh-how" data-keep="{safe(title)}"><summary>{safe(title)}</summary>'
        '<button type="button" class="eh-btn small" data-copy="pre">Copy</button>'
        f'<pre class="eh-code">{safe(text)}</pre></details>'
    )
