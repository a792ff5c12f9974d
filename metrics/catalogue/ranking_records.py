"""Catalogue entries of the measures of models: win rates, ratings, and the papers' own scores."""

from typing import Final

from metrics.catalogue import record
from metrics.catalogue.position_records import equal_share

_SANDWICH: Final = (
    "Maximum likelihood, ties as half wins; interval: sandwich by items, or an exact limit if one "
    "side won every comparison."
)

_JURY: Final = "A judge chooses an answer that wins in all its orders, otherwise a tie."

record.declare_measures(
    "ranking", "model",
    ("win_rate", "Win rate", "verdicts that the model wins, ties counted half (1/N among N "
     "answers)", "`(wins + ties/N)/usable verdicts`, N = 2 for pairs. The chance level is 1/N. "
     "`protocol`: by the preset's rule for orders and unusable replies. "
     f"{record.SHARE_INTERVAL}", "win_rate.* protocol.win_rate.*"),
    ("against_reference", "Win rate against the reference answer", "head-to-heads with the "
     "reference answer that the model wins, of those that are decided", record.SHARE_INTERVAL,
     "protocol.leaderboard.*.against_reference"),
    ("win_rate_by_position", "Win rate by position", "verdicts that the model wins where it "
     "is shown first, and second, ties counted half", record.SHARE_INTERVAL,
     "win_rate_by_position.*.*"),
    ("win_rate_bounds", "Bounds of the win rate", "verdicts that the model wins if every "
     "missing verdict had gone the worst or the best way", "Manski bounds. Of a jury: every "
     "undecided comparison.",
     "bounds.* jury.bounds.*"),
    neutral=equal_share, better="high",
)  # fmt: skip
record.declare_measures(
    "ranking", "pair",
    ("head_to_head", "Head to head", "verdicts that one model wins against another, ties "
     "counted half", record.SHARE_INTERVAL, "head_to_head.*.* protocol.head_to_head.*.*"),
    neutral=0.5,
)  # fmt: skip
record.declare_measures(
    "ranking", "model",
    ("elo", "Online Elo", "rating after playing the verdicts one by one, in the order of the "
     "plan (K 4, start 1000)",
     "Band: range over shuffled orders. Interval: bootstrap by items.",
     "elo.* protocol.elo.*"),
    ("bradley_terry", "Bradley–Terry rating", "rating on the Elo scale that makes the observed "
     "verdicts most probable", f"{_SANDWICH} `arena_hard`: much better counts three times. "
     "`probability`: verdicts count by the probabilities of their labels.",
     "bradley_terry.* protocol.bradley_terry.* "
     "bradley_terry_by_order.*.* arena_hard.bradley_terry.* probability.bradley_terry.*"),
    unit="Elo", style="rating", neutral=1000.0, better="high",
)  # fmt: skip
record.declare_measures(
    "ranking", "pair",
    ("rating_gap", "Rating gap", "difference of two Bradley–Terry ratings", _SANDWICH, "gaps.*.*"),
    unit="Elo", style="rating", neutral=0.0,
)  # fmt: skip
record.declare_measures(
    "ranking", "model",
    ("tie_model", "Strength in a model with ties", "strength in the models of Davidson and of "
     "Rao and Kupper", "Maximum likelihood, a tie is an outcome of its own; interval: sandwich "
     "by items. `parameter`: Davidson's ν (0 without ties), Rao and Kupper's κ (1 without "
     "ties).",
     "tie_models.*.strength.* tie_models.*.parameter "
     "protocol.tie_models.*.strength.* protocol.tie_models.*.parameter"),
    unit="logit", style="logit",
)  # fmt: skip
record.declare_measures(
    "ranking", "model",
    ("probability_win_rate", "Win rate from probabilities", "verdicts that the model wins, "
     "each counted by the probabilities of its labels", "The probability of a tie is shared "
     "equally. Verdicts without probabilities count as they are. "
     f"{record.SHARE_INTERVAL}", "probability.win_rate.*"),
    neutral=0.5, better="high", needs=(record.PROBABILITIES,),
)  # fmt: skip
record.declare_measures(
    "ranking", "model",
    ("corrected_win_rate", "Win rate corrected by people", "people's votes that the model "
     "wins, estimated from all verdicts of the judges and the votes (prediction-powered)",
     "Each comparison counts once, by its mean verdict and its mean vote. `people`: by the votes "
     "alone; `judge`: by the verdicts alone. Votes on comparisons that were not drawn at random "
     f"are left out. {record.SHARE_INTERVAL}",
     "corrected.*.corrected corrected.*.people corrected.*.judge"),
    needs=(record.VOTES,),
)  # fmt: skip
record.declare_measures(
    "ranking", "model",
    ("jury_win_rate", "Win rate by the jury", "comparisons decided by the jury that the model "
     "wins, ties counted half", f"{_JURY} {record.SHARE_INTERVAL}", "jury.win_rate.*"),
    ("jury_coverage", "Comparisons decided by the jury", "comparisons on which more than half "
     "of all judges choose the same answer, or a tie", f"{_JURY} {record.SHARE_INTERVAL}",
     "jury.coverage"),
    needs=(record.THREE_JUDGES,),
)  # fmt: skip
record.declare_measures(
    "ranking", "study",
    ("effective_judges", "Effective judges", "number of independent judges that the jury is "
     "worth", "K/(1 + (K − 1)r), at most K, with r the mean correlation of two judges' errors "
     "where the better answers are known; else only the correlation of verdicts is said.",
     "jury.effective_judges remedies.juries.*.effective_votes"),
    unit="judges", style="decimal", needs=(record.SEVERAL_JUDGES,),
)  # fmt: skip
record.declare_measures(
    "ranking", "model",
    ("corrected_bias", "Judges minus people", "win rate by judges minus win rate by people, on "
     "the comparisons that both judged", "A comparison is one pair of answers to one item; it "
     f"counts once, however many votes it has. {record.T_INTERVAL}", "corrected.*.bias"),
    style="points", neutral=0.0, needs=(record.VOTES,),
)  # fmt: skip
record.declare_measures(
    "ranking", "model",
    ("reward", "Reward", "mean level of the verdicts against the baseline, −2 to 2, times 50",
     record.T_INTERVAL, "reward.* creation.*.*.reward"),
    ("factuality", "Visual factuality", "mean score for visual facts, 0 to 10", record.T_INTERVAL,
     "factuality.* creation.*.*.vfs creation.*.*.baseline_vfs"),
    ("rating", "Mean score", "mean of the scores that the judge gives the model's answers",
     record.T_INTERVAL, "ratings.**"),
    unit="score", style="decimal", better="high", needs=(record.PRESET,),
)  # fmt: skip
record.declare_measures(
    "ranking", "model",
    ("creation_win_rate", "Win rate against the baseline", "verdicts that the model wins "
     "against the baseline; a tie is no win", "As in Creation-MMBench. Chance level: (1 − "
     f"share of ties)/2. {record.SHARE_INTERVAL}", "creation.*.*.win_rate"),
    neutral=lambda _options, ties: (1 - ties) / 2, better="high", needs=(record.PRESET,),
)  # fmt: skip
