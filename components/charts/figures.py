"""Plotly figures as plain dicts, built from computed numbers without importing gradio or Plotly.

Colours are CSS variables ("var(--first)", "alpha(var(--c1), 0.13)"), which the page resolves again
when the theme changes. `narrow` holds layout changes for narrow charts, `summary` the text for
screen readers, `table` the numbers for CSV download. Texts from data pass through `escape_plot`;
`customdata`, `meta` and `table` are not escaped, since they are never drawn.
"""

from components.charts.elo_chart import elo_curve_figure as elo_curve_figure
from components.charts.figure_parts import MAX_POINTS as MAX_POINTS
from components.charts.figure_parts import Figure as Figure
from components.charts.run_charts import FirstSharePoint as FirstSharePoint
from components.charts.run_charts import live_first_share_figure as live_first_share_figure
from components.charts.run_charts import win_rate_figure as win_rate_figure
from components.charts.slot_histogram import SlotRow as SlotRow
from components.charts.slot_histogram import slot_histogram_figure as slot_histogram_figure
from components.html.palette import PALETTE_SIZE as PALETTE_SIZE
from components.html.palette import contestant_colour as contestant_colour
from components.html.palette import contestant_dash as contestant_dash
