"""Bradley–Terry leaderboards from each of the two orders of the answers alone, and from people's
votes."""

import pandas as pd

from metrics.estimation import row_selection
from metrics.ratings.battles import BATTLE_COLUMNS
from metrics.ratings.bradley_terry import Leaderboard, connected_leaderboards


def leaderboards_by_order(pairs: pd.DataFrame) -> tuple[Leaderboard | None, Leaderboard | None]:
    """Fit two leaderboards: one from the verdicts in the order that the plan lists first for each
    pair, one from the verdicts in the other order. Each is that of the largest group of contestants
    connected by battles (verdicts on two contestants). None for an order that was not judged.

    If no comparison has verdicts in both orders, the two orders contain different comparisons, so
    that a difference between them would be no effect of the order. The result is then one
    leaderboard fitted to all verdicts, and None."""
    columns = (*BATTLE_COLUMNS, "options", "comparison", "shown")
    listed = row_selection.first_listed_orders(pairs)  # unusable replies are in the plan too
    read = row_selection.select_picks(pairs)
    pairs = read[row_selection.columns_with_person_and_question(read, columns)]
    if not row_selection.complete_set_mask(read).any():
        return largest_leaderboard(pairs), None
    first = pairs["shown"].isin(listed)
    return largest_leaderboard(pairs[first]), largest_leaderboard(pairs[~first])


def people_leaderboard(frame: pd.DataFrame) -> Leaderboard | None:
    """Return the leaderboard from people's votes on pairs, in which every comparison counts once,
    by the mean of its votes, as in people's win rates; None without votes."""
    return largest_leaderboard(row_selection.mean_votes(frame), "probability")


def largest_leaderboard(
    pairs: pd.DataFrame, outcome: row_selection.OutcomeKind = "verdict"
) -> Leaderboard | None:
    """Return the leaderboard of the largest group of contestants connected by battles; None without
    battles between two contestants. `outcome` is that of `connected_leaderboards`."""
    boards = connected_leaderboards(pairs, outcome=outcome) if len(pairs) else []
    return boards[0] if boards and len(boards[0].names) > 1 else None
