"""Catalogue entries of the measures of what influences a judge besides the order of the answers:
their length, and the judge's own model family."""

from typing import Final

from metrics.catalogue.position_records import BEHAVIOUR
from metrics.catalogue.record import (
    FAMILIES,
    JACKKNIFE_INTERVAL,
    LENGTHS,
    SHARE_INTERVAL,
    VOTES,
    declare,
    declare_measures,
)
from metrics.win_rates.length_effects import LONGER_SHARE

_SELF_PREFERENCE: Final = ("self-preference", "self-enhancement bias")

LONGER: Final = declare(
    key="longer",
    name="Share of verdicts for the longer answer",
    short="Longer",
    question="nudges",
    definition="verdicts for the longer answer, ties and answers of equal length left out",
    how="Length in characters. Comparisons without a verdict in all planned orders are left "
    "out too. `longer_of_equal`: the same, where both answers are "
    f"known to be equally good. {SHARE_INTERVAL}",
    paths=("length.longer", "length.longer_of_equal"),
    neutral=0.5,
    needs=(LENGTHS,),
    measure=LONGER_SHARE,
    options="pairs",
    outlets=frozenset({"card"}),
    families=(BEHAVIOUR,),
    counts_verdicts=True,
    also_known_as=("verbosity bias", "length bias"),
)
OWN_FAMILY: Final = "own_family_outsiders"
"""Key of the measure that a card shows for a judge whose family wrote answers."""
declare_measures(
    "nudges", "study",
    ("length_odds", "Odds ratio of length", "factor on the odds of winning if an answer is "
     "twice as long as the other", "Logistic regression on log₂ of the length ratio, ties as "
     "half wins; sandwich by items. Unknown unless 5 % of the verdicts are on answers of which one "
     "is 1.4 times as long as the other.",
     "length.judges.odds_ratio people_length.odds_ratio"),
    unit="odds ratio", style="decimal", neutral=1.0, needs=(LENGTHS,),
)  # fmt: skip
declare_measures(
    "nudges", "model",
    ("length_bins", "Win rate by length difference", "verdicts that answers in a bin of the "
     "length ratio win, ties counted half", "Each verdict counts for both of its answers; answers "
     "of about equal length are left out. "
     f"{SHARE_INTERVAL}", "length.judges.bins.[].win_rate people_length.bins.[].win_rate"),
    neutral=0.5, needs=(LENGTHS,),
)  # fmt: skip
declare_measures(
    "nudges", "model",
    ("length_controlled", "Win rate at equal length", "verdicts that a model would win against "
     "the baseline (without one, the model with the highest win rate) if both answers were equally "
     "long", "Logistic regression on tanh of the "
     "length difference, ties as half wins; sandwich by items, not narrower "
     "than that of the observed rate; Wilson if all verdicts are the same. Unknown if the answers "
     "of one model are as long as the other's, or longer, on fewer than 5 items or 10 % of them.",
     "length.controlled.*"),
    neutral=0.5, needs=(LENGTHS,),
    also_known_as=("length-controlled win rate (AlpacaEval 2), in its simplest form",),
)  # fmt: skip
declare_measures(
    "nudges", "rater",
    ("own_family_people", "Own-family excess over people", "agreement with people where they "
     "prefer the judge's own model family, minus that where they prefer the other answer",
     "People: their majority, ties left out. A tie of the judge is no agreement. "
     f"{JACKKNIFE_INTERVAL}",
     "self_preference.against_people.**"),
    style="points", neutral=0.0, needs=(FAMILIES, VOTES), also_known_as=_SELF_PREFERENCE,
)  # fmt: skip
declare_measures(
    "nudges", "rater",
    (OWN_FAMILY, "Own-family excess over other judges", "win rate that a judge "
     "gives its own model family minus that of judges of other families",
     "On the same items; ties count half, all other judges the same. `own`, `others`: the two "
     "win rates. `bounds`: all that missing verdicts allow. `people_excess`: own-family excess "
     f"over people minus that of the other judges. {JACKKNIFE_INTERVAL}",
     "self_preference.against_outsiders.**"),
    style="points", neutral=0.0, needs=(FAMILIES,), outlets=frozenset({"card"}),
    also_known_as=_SELF_PREFERENCE,
)  # fmt: skip
declare_measures(
    "nudges", "study",
    ("own_family_term", "Own-family term", "log-odds that a verdict gains if judge and answer "
     "are of one model family", "Rating model of all judges; sandwich by items.",
     "self_preference.term"),
    unit="logit", style="logit", neutral=0.0, needs=(FAMILIES,),
)  # fmt: skip
