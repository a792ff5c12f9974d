"""HTML parts of a panel, re-exported: small pieces, forest cells, forest tables, run progress."""

from __future__ import annotations

from components.html.pieces import STATUS_GLYPHS as STATUS_GLYPHS
from components.html.pieces import Action as Action
from components.html.pieces import Kpi as Kpi
from components.html.pieces import LegendMark as LegendMark
from components.html.pieces import brand_html as brand_html
from components.html.pieces import button_html as button_html
from components.html.pieces import data_note as data_note
from components.html.pieces import empty_state as empty_state
from components.html.pieces import failures_title as failures_title
from components.html.pieces import finding_html as finding_html
from components.html.pieces import how_computed as how_computed
from components.html.pieces import kpi_strip as kpi_strip
from components.html.pieces import legend_entry as legend_entry
from components.html.pieces import no_difference_badge as no_difference_badge
from components.html.pieces import notice_html as notice_html
from components.html.pieces import panel_heading as panel_heading
from components.html.pieces import panel_html as panel_html
from components.html.pieces import paragraph as paragraph
from components.html.pieces import run_pill as run_pill
from components.html.pieces import simulated_note as simulated_note
from components.html.pieces import status_badge as status_badge
from components.html.pieces import verdict_chip as verdict_chip
from components.html.pieces import wrap as wrap
from components.html.run_progress import ReplyRow as ReplyRow
from components.html.run_progress import last_replies_html as last_replies_html
from components.html.run_progress import progress_bar as progress_bar
from components.html.tables.forest_cells import Axis as Axis
from components.html.tables.forest_cells import axis_html as axis_html
from components.html.tables.forest_cells import forest_html as forest_html
from components.html.tables.forest_cells import value_html as value_html
from components.html.tables.forest_tables import FlipRow as FlipRow
from components.html.tables.forest_tables import LeaderRow as LeaderRow
from components.html.tables.forest_tables import contestant_swatch as contestant_swatch
from components.html.tables.forest_tables import fit_rating_axis as fit_rating_axis
from components.html.tables.forest_tables import flips_table as flips_table
from components.html.tables.forest_tables import leaderboard_table as leaderboard_table
