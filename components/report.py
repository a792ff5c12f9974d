"""A study as one HTML file that opens without a server or a network: findings, charts, method.

The charts are the page's own figures drawn by the page's own script; the numbers are those of
`python -m metrics`, which stand in the file as JSON too.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import plotly

from components import report_facts
from components.agreement import verified
from components.agreement import view as agreement_view
from components.agreement.data import agreement_in
from components.agreement.tables import show_coefficients, show_corrected
from components.bias import view as bias_view
from components.cards.view import show_card
from components.charts import Figure
from components.drawing.panels import brand, data_line, finding, notice, panel, wrap
from components.drawing.plain import grid
from components.format import NARROW, count, dollars, duration, safe, tokens
from components.ranking import view as ranking_view
from components.scene import Scene
from components.share import paper
from components.suspects.reported import suspects_panel
from components.voices import Voices, right_label
from metrics.summary import measure
from studies.errors import not_written
from studies.records import HUMAN_PREFIX
from studies.store import Store
from studies.study import dump
from studies.verified import checks_of

ASSETS: Final = Path(__file__).resolve().parent.parent / "assets"
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
"""The file may load nothing: what it shows is in it."""
MOST_CARDS: Final = 12
"""Report cards in one file: a study of more judges is read on the page."""

_DRAW: Final = """
for (const box of document.querySelectorAll('[data-figure]')) {
  const value = JSON.parse(document.getElementById(box.dataset.figure).textContent);
  evenhand.plot(box, {value}, () => {}, () => {}, '');
}
for (const mark of document.querySelectorAll('[data-select]')) mark.setAttribute('tabindex', '-1');
"""


def write_report(store: Store, study: str, path: Path) -> int:
    """Writes the report; returns its size in bytes."""
    html = report_html(store, study)
    half = path.with_name(path.name + ".part")
    try:
        half.write_text(html, encoding="utf-8")
        half.replace(path)
    except OSError as error:
        raise not_written(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            half.unlink()
    return path.stat().st_size


def report_html(store: Store, study: str) -> str:
    """The whole file."""
    scene = Scene(store, study)
    page = _Page()
    body = "".join(section(scene, page) for section in SECTIONS)
    plotly_js = (Path(plotly.__path__[0]) / "package_data" / "plotly.min.js").read_text("utf-8")
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{safe(study)} · Evenhand</title><style>{_read('style.css')}</style>"
        f"<style>{_fonts()}{_STYLE}</style><script>{plotly_js}</script></head>"
        f'<body class="gradio-container eh-report"><main>{body}</main>'
        f"{page.figures_html()}{_json_tag('metrics', numbers(scene))}"
        f"<script>{_read('page.js')}{_DRAW}</script></body></html>\n"
    )


def numbers(scene: Scene) -> dict[str, Any]:
    """What `python -m metrics --json` prints for this study."""
    combine, unreadable = scene.rule
    planned = scene.store.counts(scene.name, recorded=True).get("planned")
    checks = checks_of(scene.store, scene.name)
    return measure(
        scene.whole, planned=planned, combine=combine, unreadable=unreadable, checks=checks
    )


class _Page:
    """Collects the figures, so that each is one JSON block that the script draws."""

    def __init__(self) -> None:
        self.figures: list[Figure] = []

    def plot(self, figure: Figure | None) -> str:
        if figure is None:
            return wrap('<p class="eh-small eh-mute">No verdicts to draw.</p>')
        self.figures.append(figure)
        return (
            f'<div data-figure="figure-{len(self.figures)}">'
            '<div class="eh-plot" role="img"></div></div>'
        )

    def figures_html(self) -> str:
        return "".join(_json_tag(f"figure-{i}", f) for i, f in enumerate(self.figures, 1))


def _json_tag(name: str, value: Any) -> str:
    """JSON in a page: "<" is written as an escape, so that no text can close the tag."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


# ----------------------------------------------------------------------------------- sections


def _top(scene: Scene, page: _Page) -> str:
    first, last = report_facts.dates(scene.store, scene.name)
    made = time.strftime("%Y-%m-%d", time.gmtime())
    when = first if first == last else f"{first} to {last}"
    line = f"Replies of {when}. " if first else "When the replies came was not recorded. "
    line += f"Report made {made}."
    title, lead = bias_view.show_finding(scene.frame)
    return (
        f'<header class="eh-report-top">{brand()}<p class="eh-small eh-mute">{safe(line)}</p>'
        f"</header><h1>{safe(scene.name)}</h1>"
        + finding(title, lead)
        + bias_view.show_kpis(scene.frame, scene.failed, len(scene.machines), right_label(scene))
    )


def _bias(scene: Scene, page: _Page) -> str:
    frame = scene.frame
    return (
        panel(f"Consistency by {_rows(scene)} and category", bias_view.SUBTITLES["Consistency"],
               bias_view.show_matrix(frame, "Consistency"))
        + panel("Which slot is chosen", "% of decisive verdicts, 95 % CI",
                 page.plot(bias_view.show_slots(frame)))
        + panel("Which way verdicts flip", "pairs whose verdict changed with the order",
                 bias_view.show_flips(frame))
    )  # fmt: skip


def _rows(scene: Scene) -> str:
    return "judge" if scene.machines["judge"].nunique() > 1 else "prompt"


def _ranking(scene: Scene, page: _Page) -> str:
    rows = scene.outcomes
    if not (rows["options"] == 2).any():
        return ""
    return (
        finding(*ranking_view.show_ranking_finding(rows))
        + panel("Leaderboard", "Bradley–Terry on the Elo scale, ties as half a win; 95 % CI",
                 ranking_view.show_leaderboard(rows))
        + panel("Elo as battles come in", "one order; band: 95 % of shuffled orders; dotted: "
                 "Bradley–Terry; K 4",
                 page.plot(ranking_view.show_elo(rows)))
        + panel("Head-to-head", "row beats column, %, ties as half",
                 ranking_view.show_head_to_head(rows))
    )  # fmt: skip


def _agreement(scene: Scene, page: _Page) -> str:
    """Who agrees with whom; where people voted, how far judges side with them."""
    data = agreement_in(scene)
    people = data.voices.has_people
    if not data.judges or (len(data.judges) < 2 and not people):
        return ""
    made = finding(*agreement_view.show_finding(data))
    told = f"Cohen's κ over first, second, tie; 95{NARROW}% CI"
    made += panel("Who agrees with whom", told, agreement_view.show_matrix(data, "κ"))
    if people:
        told = f"each judge against the people's majority; 95{NARROW}% CI"
        made += panel("Agreement with people", told, show_coefficients(data))
        told = f"%, 95{NARROW}% CI by items; many verdicts, few votes"
        made += panel("Win rates, corrected by people", told, show_corrected(data))
    return made


def _verified(scene: Scene, page: _Page) -> str:
    """What people verified, where they did."""
    found = verified.seen(agreement_in(scene))
    if not found.any:
        return ""
    return panel("Verified answers", verified.told(found), verified.show_verified(found))


def _cards(scene: Scene, page: _Page) -> str:
    """One card a judge and prompt, as on the page."""
    voices = Voices(scene)
    heard = list(voices.heard)
    cards = "".join(
        f'<section class="eh-panel eh-sheet">{show_card(voices, name)}</section>'
        for name in heard[:MOST_CARDS]
    )
    left = len(heard) - MOST_CARDS
    more = wrap(f"<p>{count(left, 'card')} more on the page.</p>") if left > 0 else ""
    return cards + more


def _tables(scene: Scene, page: _Page) -> str:
    made = []
    for table in paper.tables(scene).values():
        copies = _drawer("LaTeX", paper.latex(table)) + _drawer("Markdown", paper.markdown(table))
        made.append(panel(table.name, table.caption, grid(table.head, table.rows) + copies))
    return "".join(made)


def _method(scene: Scene, page: _Page) -> str:
    text = wrap(f"<p>{safe(paper.methods(scene))}</p>")
    again = _drawer("The same numbers again", paper.command(scene))
    return panel("Method", "generated from the study and its replies", text + again)


def _replies(scene: Scene, page: _Page) -> str:
    """What failed, what it cost: on paper as on screen."""
    store, name = scene.store, scene.name
    bad = report_facts.failures(store, name)
    lost = grid(
        ("Status", "Judge", "n", "For example"),
        [(f.status, f.judge, count(f.n), f.example) for f in bad],
    )
    models = report_facts.models(store, name)
    cost = grid(
        ("Judge", "Model as reported", "Replies", "Tokens in", "Tokens out", "Dollars", "Time"),
        [
            (s.judge, ", ".join(models.get(s.judge, [])), count(s.replies),
             _told(s.prompt_tokens, tokens), _told(s.completion_tokens, tokens),
             "not recorded" if s.dollars is None else dollars(s.dollars),
             _told(s.seconds, duration))
            for s in report_facts.spends(store, name)
            if not s.judge.startswith(HUMAN_PREFIX)
        ],
    )  # fmt: skip
    none = notice("calm", "Every reply could be read.")
    return panel("Replies that are no evidence", "kept and counted, never scored",
                  lost if bad else none) + panel("What it cost", "", cost)  # fmt: skip


def _told(value: float, words: Callable[[float], str]) -> str:
    return words(value) if value else "not recorded"


def _suspects(scene: Scene, page: _Page) -> str:
    return suspects_panel(scene)


def _study(scene: Scene, page: _Page) -> str:
    drawers = [_drawer("study.yaml", dump(scene.study))]
    for prompt in report_facts.prompts(scene.store, scene.name):
        told = f"{prompt.name}, version {prompt.version}, sha {prompt.sha[:12]}"
        text = prompt.yaml or "The words of this prompt were not recorded."
        drawers.append(_drawer(told if prompt.yaml else prompt.name, text))
    made_with = ", ".join(f"{name} {text}" for name, text in report_facts.versions().items())
    drawers.append(_drawer("Versions", made_with))
    return panel("Study file, prompts, versions", "what to keep beside the numbers",
                  "".join(drawers))  # fmt: skip


def _data(scene: Scene, page: _Page) -> str:
    simulated = [judge.name for judge in scene.study.judges if judge.kind == "simulated"]
    told = f"{len(scene.frame):,} judgements of {scene.name}."
    if simulated:
        told += f" Simulated judges, with known parameters: {', '.join(simulated)}."
    return data_line(told)


SECTIONS: Final[tuple[Callable[[Scene, _Page], str], ...]] = (
    _top, _bias, _ranking, _agreement, _verified, _cards, _tables, _method, _suspects, _replies,
    _study, _data,
)  # fmt: skip


def _drawer(title: str, text: str) -> str:
    return wrap(
        f'<details class="eh-how"><summary>{safe(title)}</summary><pre>{safe(text)}</pre></details>'
    )


def _fonts() -> str:
    """Plex as Gradio ships it, inside the file; where it is not there, the reader's own font."""
    found = importlib.util.find_spec("gradio")
    folders = (found.submodule_search_locations or []) if found else []
    faces = []
    for folder in folders:
        for family, weight, name in _FACES:
            font = Path(folder) / "templates/frontend/static/fonts" / name
            if font.is_file():
                data = base64.b64encode(font.read_bytes()).decode()
                faces.append(
                    f'@font-face{{font-family:"{family}";font-weight:{weight};'
                    f'src:url("data:font/woff2;base64,{data}") format("woff2")}}'
                )
    return "".join(faces)


_FACES: Final = (
    ("IBM Plex Sans", 400, "IBMPlexSans/IBMPlexSans-Regular.woff2"),
    ("IBM Plex Sans", 700, "IBMPlexSans/IBMPlexSans-Bold.woff2"),
    ("IBM Plex Mono", 400, "IBMPlexMono/IBMPlexMono-Regular.woff2"),
)


def _read(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


_STYLE: Final = """
body.eh-report { background: var(--page); color: var(--ink); margin: 0; }
body.eh-report { font: 16px/1.5 var(--sans); }
.eh-report main { max-width: 1100px; margin: 0 auto; padding: 24px 16px 48px; }
.eh-report .eh-panel { margin: 16px 0; }
.eh-report .eh-tbl-box { overflow-x: auto; }
.eh-report .eh + .eh > .eh-tbl-box { margin-top: 20px; }
.eh-report-top { display: flex; flex-wrap: wrap; gap: 16px; }
.eh-report-top { justify-content: space-between; align-items: center; }
.eh-report main > h1 { font-size: 28px; margin: 16px 0; }
.eh-report .eh-finding { margin-bottom: 16px; }
.eh-report pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 14px/1.5 var(--mono); }
.eh-report .op { display: none; }
.eh-report [data-select] { cursor: default; pointer-events: none; }
.eh-report [data-select][data-tip] { pointer-events: auto; }
.eh-report .eh-link[data-select], .eh-report button.eh-val { text-decoration: none; }
.eh-report .eh-card.flip .eh-link { display: none; }
@media (max-width: 760px) {
  .eh-report .eh-heat col.lab { width: 68px; } .eh-report .eh-heat td b { font-size: 14px; }
  .eh-report .eh-heat th { overflow-wrap: normal; letter-spacing: -.01em; }
}
@media print { .eh-report details > * { display: block; } .eh-panel { break-inside: avoid; } }
"""
