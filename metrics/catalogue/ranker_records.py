"""Catalogue entries of the measures of a judge as a ranker of models, and of the stability of a
ranking."""

from typing import Final

from metrics.catalogue.record import VOTES_OR_ANSWERS, declare_measures

_REFERENCE: Final = (
    "Reference: votes by people, else the known better answers. Interval: bootstrap by items."
)
_SOURCE: Final = "JuStRank (Gera et al. 2024)"

declare_measures(
    "ranking", "rater",
    ("ranking_tau", "Ranking τ", "Kendall's τ-b of the judge's ranking of models with that of "
     "people or of the known better answers",
     f"Both rankings by Bradley–Terry, in which every pair of models counts once. {_REFERENCE}",
     "ranker.*.*.tau"),
    unit="τ", style="decimal", neutral=0.0, better="high", needs=(VOTES_OR_ANSWERS,),
)  # fmt: skip
declare_measures(
    "ranking", "rater",
    ("decisiveness", "Decisiveness", "α of the symmetric beta distribution function that maps "
     "the reference's win rates of pairs of models to the judge's; above 1 the judge "
     "exaggerates differences between models",
     "Least squares over the pairs; unknown if every reference win rate is 0, ½ or 1. "
     f"{_REFERENCE}",
     "ranker.*.*.decisiveness"),
    unit="α", style="decimal", neutral=1.0, needs=(VOTES_OR_ANSWERS,), also_known_as=(_SOURCE,),
)  # fmt: skip
declare_measures(
    "ranking", "rater",
    ("model_bias_spread", "Bias toward models", "standard deviation over models of the "
     "judge's bias toward each", f"See bias toward a model. {_REFERENCE}",
     "ranker.*.*.bias_spread"),
    style="points", better="low", needs=(VOTES_OR_ANSWERS,), also_known_as=(_SOURCE,),
)  # fmt: skip
declare_measures(
    "ranking", "model",
    ("model_bias", "Bias toward a model", "mean over opponents of the judge's win rate minus "
     "the one that its decisiveness predicts from the reference", _REFERENCE,
     "ranker.*.*.bias.*"),
    style="points", neutral=0.0, needs=(VOTES_OR_ANSWERS,), also_known_as=(_SOURCE,),
)  # fmt: skip
declare_measures(
    "ranking", "study",
    ("ranking_cycles", "Cycles among models", "triples of models of which each beats the next "
     "more often than not", "Of all triples whose three pairs were compared.",
     "first_place.cycles first_place.triples protocol.first_place.cycles "
     "protocol.first_place.triples"),
    ("first_in_halves", "First in random halves", "random halves of the items, of 50, in which "
     "the leading model alone is first", "By win rate; seeded.",
     "first_place.first.halves_first protocol.first_place.first.halves_first"),
    ("deciding_verdicts", "Verdicts that decide first place", "fewest verdicts whose change "
     "puts another model above the leading one", "By win rate; exact.",
     "first_place.first.verdicts protocol.first_place.first.verdicts"),
    ("multiverse_places", "Places under other choices", "best and worst place of a model over "
     "all combinations of tie rule, order, prompt and baseline", "By win rate.",
     "first_place.multiverse.*.* protocol.first_place.multiverse.*.*"),
    unit="count", style="decimal",
)  # fmt: skip
