"""HTML of an audit for notebooks and reports: a card for each judge, in the colours of the page,
with a chart of the confidence intervals. All names and sentences are escaped, so that no text of
a study is run as code."""

import re
from functools import cache
from html import escape
from typing import Final

from components.html.format import interval, number, share
from evenhand.audit_cards import JudgeCard
from studies.domain import Estimate
from studies.sources.load import ASSETS_FOLDER

CHART_WIDTH: Final = 160
_STYLE: Final = """<style>
.evenhand-audit {TOKENS font-family: var(--sans); color: var(--ink); max-width: 56rem; }
.evenhand-audit section { background: var(--surface); border: 1px solid var(--line);
 border-radius: 12px; padding: 16px 24px; margin: 16px 0; }
.evenhand-audit h4 { margin: 0 0 8px; font-size: 18px; }
.evenhand-audit p { margin: 0 0 12px; max-width: 44rem; }
.evenhand-audit table { border-collapse: collapse; width: 100%; font-size: 14px; }
.evenhand-audit th, .evenhand-audit td { border-top: 1px solid var(--line); padding: 6px 8px;
 text-align: left; background: var(--surface); color: var(--ink); }
.evenhand-audit td.num { text-align: right; white-space: nowrap;
 font-variant-numeric: tabular-nums; }
.evenhand-audit .mute { color: var(--ink-3); }
</style>"""


def audit_html(title: str, cards: list[str], notes: list[str]) -> str:
    """Return the HTML of an audit: its title, the cards of its judges and its notes, with their
    style. `cards` are HTML; `title` and `notes` are plain texts."""
    said = "".join(f'<p class="mute">{escape(note)}</p>' for note in notes)
    style = _STYLE.replace("TOKENS", _page_style_variables())
    return (
        f'<div class="evenhand-audit">{style}<h3>{escape(title)}</h3>{"".join(cards)}{said}</div>'
    )


def card_html(title: str, card: JudgeCard) -> str:
    """Return the HTML of the card of one judge with one prompt: its sentences, and a table of its
    measures, with a chart of each share."""
    rows = "".join(_measure_row_html(label, one) for label, one in card.measures.items())
    head = "<th>Measure</th><th>Value, 95 % CI</th><th>0 to 100 %</th><th>n</th>"
    return (
        f"<section><h4>{escape(title)}</h4><p>{escape(' '.join(card.sentences))}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _measure_row_html(label: str, estimate: Estimate) -> str:
    is_share = estimate.unit == "share"
    percent = is_share or estimate.unit == "difference of shares"
    value = share(estimate.value) if percent else number(estimate.value, 2)
    ends = interval(estimate, 1, scale=100) if percent else interval(estimate, 2)
    chart = _interval_svg(estimate) if is_share else ""
    note = f' <span class="mute">{escape(estimate.note)}</span>' if estimate.note else ""
    return (
        f'<tr><th>{escape(label)}{note}</th><td class="num"><b>{value}</b> {ends}</td>'
        f'<td>{chart}</td><td class="num">{number(estimate.n)}</td></tr>'
    )


def _interval_svg(estimate: Estimate) -> str:
    """Return an SVG of a share: a line for its interval and a dot for its value, on a track from 0
    to 1."""
    value, low, high = (
        round(CHART_WIDTH * min(max(x, 0.0), 1.0), 1)
        for x in (
            estimate.value or 0.0,
            (estimate.value if estimate.low is None else estimate.low) or 0.0,
            (estimate.value if estimate.high is None else estimate.high) or 0.0,
        )
    )
    return (
        f'<svg width="{CHART_WIDTH + 12}" height="16" viewBox="-6 0 {CHART_WIDTH + 12} 16" '
        f'role="img" aria-label="{share(estimate.value)} {interval(estimate, 1, scale=100)}">'
        f'<line x1="0" x2="{CHART_WIDTH}" y1="8" y2="8" stroke="var(--line)"/>'
        f'<line x1="{low}" x2="{high}" y1="8" y2="8" stroke="var(--first-mid)" stroke-width="4"/>'
        f'<circle cx="{value}" cy="8" r="4" fill="var(--first)"/></svg>'
    )


@cache
def _page_style_variables() -> str:
    """Return the CSS variables of the page's light colours and font, read from its style sheet."""
    text = (ASSETS_FOLDER / "style.css").read_text(encoding="utf-8").partition(".dark")[0]
    names = ("sans", "surface", "line", "ink", "ink-3", "first", "first-mid")
    found = (re.search(rf"--{name}: ([^;]+);", text) for name in names)
    return " ".join(f"--{name}: {one[1]};" for name, one in zip(names, found, strict=True) if one)
