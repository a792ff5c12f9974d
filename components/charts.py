"""Figures as plain dicts from finished numbers: no data access, no gradio, no Plotly import.

Colours are CSS variables ("var(--first)", "alpha(var(--c1), 0.13)"); the page resolves them and
draws again when the theme changes. `narrow` holds layout changes for boxes under 480 px; `summary`
is read to those who cannot see the plot; `table` is what a reader downloads as CSV. Text from data
goes through `safe_plot`; `customdata`, `meta` and `table` stay raw: they are never drawn.
"""

from components.drawing.elo_chart import elo_curve
from components.drawing.forest_chart import ForestRow, forest, win_rates
from components.drawing.live_chart import SharePoint, live_share
from components.drawing.marks import MOST_POINTS, Figure
from components.drawing.palette import PALETTE, contestant_colour, contestant_dash
from components.drawing.slots import SlotRow, slot_histogram

__all__ = [
    "MOST_POINTS",
    "PALETTE",
    "Figure",
    "ForestRow",
    "SharePoint",
    "SlotRow",
    "contestant_colour",
    "contestant_dash",
    "elo_curve",
    "forest",
    "live_share",
    "slot_histogram",
    "win_rates",
]
