"""Plotly figures as plain dicts, built from computed numbers without importing gradio or Plotly.

Colours are CSS variables ("var(--first)", "alpha(var(--c1), 0.13)"), which the page resolves again
when the theme changes. `narrow` holds layout changes for narrow charts, `summary` the text for
screen readers, `table` the numbers for CSV download. Texts from data pass through `escape_plot`;
`customdata`, `meta` and `table` are not escaped, since they are never drawn.
"""

from components.charts.elo_chart import elo_curve_figure
from components.charts.figure_parts import MAX_POINTS, Figure
from components.charts.run_charts import SharePoint, live_share_figure, win_rate_figure
from components.charts.slot_histogram import SlotRow, slot_histogram_figure
from components.html.palette import PALETTE_SIZE, contestant_colour, contestant_dash

__all__ = [
    "MAX_POINTS",
    "PALETTE_SIZE",
    "Figure",
    "SharePoint",
    "SlotRow",
    "contestant_colour",
    "contestant_dash",
    "elo_curve_figure",
    "live_share_figure",
    "slot_histogram_figure",
    "win_rate_figure",
]
