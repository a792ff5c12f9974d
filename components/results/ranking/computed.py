"""Ratings for the ranking panels, computed once per version of a study and filter.

The counting rule states how the verdicts in both orders become one outcome, and whether unusable
replies count as ties."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.filters import judge_rows_or_people_rows
from components.filtering.memo import memoise_by_study
from components.results.bias.sentences import NO_PREFERENCES
from metrics.estimation import row_selection
from metrics.ratings.bradley_terry import Leaderboard, connected_leaderboards
from metrics.ratings.online_elo import EloResult, compute_elo
from metrics.ratings.rating_by_order import leaderboards_by_order, people_leaderboard
from metrics.win_rates.win_rates import head_to_head, win_rate
from studies.domain import Estimate
from studies.lazy_values import cached_property

SEED: Final = 7
"""Fixed random seed of the Elo band, as in `metrics.summary.summary`: page and JSON agree."""
MAX_BAND_BATTLES: Final = 2_000_000
"""The Elo band uses (this number / battles) shuffled orders, at least 20 and at most 100."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ratings of a study: leaderboards from all verdicts (`boards`, one for each group of models
    that comparisons connect), from each order alone and from people's votes; win rates;
    head-to-heads; and the Elo curve."""

    boards: list[Leaderboard]
    win_rates: dict[str, Estimate] = field(default_factory=dict)
    head_to_heads: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    pairs: pd.DataFrame | None = None
    """Battles of the Elo curve, in plan order."""
    first_order: Leaderboard | None = None
    """Like `largest_group_leaderboard`, but only from verdicts in the order that the plan lists
    first for a pair; None without usable verdicts in this order. If no comparison has usable
    verdicts in both orders, it is computed from all verdicts, and `second_order` is None."""
    second_order: Leaderboard | None = None
    """Like `largest_group_leaderboard`, but only from verdicts in the other order of a pair; None
    without usable verdicts in this order."""
    people: Leaderboard | None = None
    judges: tuple[str, ...] = ()
    orders: int = 1
    """Largest number of orders in which a pair was to be judged; 0 if no order is recorded."""
    why_empty: str = "Ratings need pairwise comparisons."
    """Sentence on why there is no leaderboard; used only if `boards` is empty."""

    @cached_property
    def elo_curve(self) -> EloResult | None:
        """Elo ratings after each battle (comparison), and the range of the final ratings over
        shuffled orders of the items. Slow, so computed on first use; None without pairs."""
        if self.pairs is None:
            return None
        orders = int(np.clip(MAX_BAND_BATTLES // len(self.pairs), 20, 100))
        return compute_elo(self.pairs, rng=np.random.default_rng(SEED), rounds=0, orders=orders)

    @property
    def largest_group_leaderboard(self) -> Leaderboard | None:
        """Leaderboard of the largest group of models that comparisons connect; None if no two
        models were compared."""
        return self.boards[0] if self.boards and len(self.boards[0].names) > 1 else None

    @property
    def colour_index_by_model(self) -> dict[str, int]:
        """Model -> number of its colour; the models are numbered alphabetically, so that a model
        keeps its colour in all charts."""
        return {name: place for place, name in enumerate(sorted(self.win_rates))}


def compute_ranking(
    rows: pd.DataFrame, verdicts: pd.DataFrame | None = None, votes: pd.DataFrame | None = None
) -> Ranking:
    """Compute the ranking. `rows`: outcomes by the counting rule of the study or filter, which may
    combine both orders; `verdicts`: the single verdicts of the judges, for the leaderboards by
    order; `votes`: rows with people's votes."""
    pairs = select_pair_rows_of_judges_or_people(rows)
    if pairs.empty:
        return Ranking([], why_empty=_missing_outcomes_text(verdicts))
    single = None if verdicts is None else select_pair_rows_of_judges_or_people(verdicts)
    one, two = (None, None) if single is None else leaderboards_by_order(single)
    return Ranking(
        connected_leaderboards(pairs),
        win_rate(pairs),
        head_to_head(pairs),
        pairs,
        one,
        two,
        people_leaderboard(votes) if votes is not None else None,
        tuple(sorted(str(name) for name in pairs["judge"].unique())),
        1 if single is None else int(single["orders"].max()),
    )


def _missing_outcomes_text(verdicts: pd.DataFrame | None) -> str:
    """Sentence on why no pair has an outcome; `verdicts`: the single verdicts of the judges."""
    replies = None if verdicts is None else select_pair_rows_of_judges_or_people(verdicts)
    if replies is None or replies.empty:
        return Ranking.why_empty
    if row_selection.select_picks(replies).empty:
        return NO_PREFERENCES
    return "No pair has the usable verdicts that the counting rule needs."


def select_pair_rows_of_judges_or_people(frame: pd.DataFrame) -> pd.DataFrame:
    return row_selection.select_pairs(judge_rows_or_people_rows(frame))


@memoise_by_study
def load_ranking(filtered: FilteredStudy) -> Ranking:
    """The ranking of a filtered study, computed once per version of the study."""
    everyone = filtered.of_all_raters.frame
    return compute_ranking(filtered.counted_outcomes, filtered.measured_judge_rows, everyone)
