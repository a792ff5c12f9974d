"""Catalogue entries of the measures of order and position."""

from functools import partial
from typing import Final

from metrics.catalogue.record import (
    BOTH_ORDERS,
    JACKKNIFE_INTERVAL,
    KNOWN_ORDER,
    PLANNED_REPEATS,
    PROBABILITIES,
    REPEATS,
    SHARE_INTERVAL,
    T_INTERVAL,
    declare,
)
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from metrics.position import position_measures as measures
from metrics.position import position_tallies
from metrics.position.label_effect import LABEL_EFFECT, SLOT_EFFECT
from metrics.position.order_effect import ORDER_EFFECT
from metrics.position.position_term_measure import FIRST_IF_EQUAL, POSITION_TERM

BEHAVIOUR: Final = "Behaviour"
POSITION: Final = "Position"
QUALITY: Final = "Quality"
FLIPS_BEHIND: Final = {"flipped": True}

declare_of_position: Final = partial(declare, question="position")
declare_of_both_orders: Final = partial(declare_of_position, needs=(BOTH_ORDERS,))


def position_json_paths(key: str) -> tuple[str, str]:
    """Return the two places of a measure in the JSON: its path in the section by judge and prompt,
    and its path in the section for all judges together."""
    return f"position.*.*.{key}", f"position_pooled.{key}"


def chance_consistency(options: int, ties: float) -> float:
    """Probability that random choices, of which a share `ties` are ties, give the same verdict in
    as many orders as there are options."""
    return ties**options + options * ((1 - ties) / options) ** options


def equal_share(options: int, _ties: float) -> float:
    return 1 / options


CONSISTENCY: Final = declare_of_both_orders(
    key="consistency",
    name="Consistency",
    definition="comparisons with the same verdict in every order",
    how="A comparison is consistent if its verdict is the same in all planned orders: always "
    "the same answer, or always a tie. Repeats of an order count by their most frequent "
    "verdict; an order without one counts as a tie. `Consistency = consistent comparisons / "
    f"comparisons judged in all orders`. {SHARE_INTERVAL} `consistency_bounds`: lowest and "
    "highest value if comparisons with a missing verdict are counted too.",
    paths=(*position_json_paths("consistency"), "position.*.*.consistency_bounds"),
    neutral=chance_consistency,
    better="high",
    measure=measures.CONSISTENCY,
    outlets=frozenset({"matrix", "card", "library", "paper", "gate"}),
    families=(BEHAVIOUR, POSITION, QUALITY),
    selection=FLIPS_BEHIND,
    also_known_as=("Position Consistency (Shi et al. 2024)", "1 − flip rate"),
)
FIRST_SHARE: Final = declare_of_position(
    key="first_share",
    name="First-position share",
    short="First",
    definition="verdicts for the answer shown first, ties left out",
    how="`first / decisive verdicts` of comparisons judged in all orders, in which each answer "
    "is shown first equally often. All decisive verdicts count if no comparison has several "
    f"orders. {SHARE_INTERVAL} `first_share_bounds`: lowest and highest share that unusable "
    "replies allow, incomplete comparisons included.",
    paths=(*position_json_paths("first_share"), "position.*.*.first_share_bounds"),
    neutral=equal_share,
    needs=(KNOWN_ORDER,),
    measure=measures.FIRST_SHARE,
    outlets=frozenset({"matrix", "card", "library", "paper"}),
    families=(BEHAVIOUR, POSITION),
    selection={"slot": 0},
    counts_verdicts=True,
    also_known_as=("Primacy share", "Position Bias Rate"),
)
TERM_SHARE: Final = declare_of_both_orders(
    key="first_if_equal",
    name="First position among equals",
    definition="verdicts that the answer shown first would win against an equally good one",
    how="σ(γ) of the position term. Interval: Student's t over items.",
    paths=(),
    neutral=0.5,
    measure=FIRST_IF_EQUAL,
    options="pairs",
    families=(POSITION,),
)


def _tally_primacy_minus_recency(grouped: GroupedFrame) -> MeasureTally:
    made = position_tallies.fairness_tally(grouped)
    return build_tally(made.rows, -made.sums[:, 0], made.sums[:, -1])


LEAN: Final = declare_of_both_orders(
    key="lean",
    name="Lean",
    definition="flips toward the answer shown first minus flips toward the second, in % of pairs",
    how="`Lean = (flips toward first − flips toward second) / pairs`; preference fairness "
    "times −1. Interval: Student's t over items.",
    paths=(),
    style="points",
    neutral=0.0,
    measure=Measure(
        "lean", "share", _tally_primacy_minus_recency, "mean", (-1, 1), measures.NO_PAIRS_NOTE
    ),
    options="pairs",
    outlets=frozenset({"matrix"}),
    families=(BEHAVIOUR, POSITION),
    selection=FLIPS_BEHIND,
    also_known_as=("Preference Fairness, with the other sign (Shi et al. 2024)",),
)
HARD_FLIPS: Final = declare_of_both_orders(
    key="hard_flips",
    name="Hard flips",
    definition="comparisons that different answers win in different orders",
    paths=position_json_paths("hard_flips"),
    better="low",
    measure=measures.HARD_FLIPS,
    families=(BEHAVIOUR, POSITION),
    selection=FLIPS_BEHIND,
    how=SHARE_INTERVAL,
)
SOFT_FLIPS: Final = declare_of_both_orders(
    key="soft_flips",
    name="Soft flips",
    definition="comparisons with one winner in some orders and a tie in the others",
    paths=position_json_paths("soft_flips"),
    better="low",
    measure=measures.SOFT_FLIPS,
    families=(POSITION,),
    selection=FLIPS_BEHIND,
    how=SHARE_INTERVAL,
)
TERM: Final = declare_of_both_orders(
    key="position_term",
    name="Position term",
    definition="log-odds advantage of being shown first, for equally good answers",
    how="The γ of `logit P(first wins) = θ_first − θ_second + γ`, so that a strong answer "
    "shown first does not count as bias. Interval: sandwich standard error by items.",
    paths=("position.*.*.position_term",),
    unit="logit",
    style="logit",
    neutral=0.0,
    measure=POSITION_TERM,
    options="pairs",
    outlets=frozenset({"matrix", "card"}),
)
ENTROPY: Final = declare_of_position(
    key="entropy",
    name="Position entropy",
    short="Entropy",
    definition="entropy of the chosen position divided by log₂ N (N positions); 1 means no "
    "preferred position",
    how="Maximum likelihood from the verdicts that the first-position share counts; mean "
    "weighted by verdicts if N differs. The entropy varies little and shows no direction (62 % "
    "first is 0.96), so read it together with the consistency. "
    "Interval: jackknife over items; of two positions, from that of the first-position share.",
    paths=(*position_json_paths("entropy"), "grade.*.*.pooled_entropy"),
    unit="bits/log2 N",
    style="decimal",
    neutral=1.0,
    better="high",
    needs=(KNOWN_ORDER,),
    measure=measures.SLOT_ENTROPY,
    outlets=frozenset({"matrix", "card", "paper"}),
    families=(POSITION,),
    counts_verdicts=True,
    also_known_as=("Position entropy (Grade Score, Iourovitski 2024)",),
)
TIES: Final = declare_of_position(
    key="tie_rate",
    name="Ties",
    definition="verdicts that are ties",
    paths=position_json_paths("tie_rate"),
    measure=measures.TIE_RATE,
    outlets=frozenset({"library"}),
    families=(BEHAVIOUR,),
    selection={"slot": -1},
    counts_verdicts=True,
    how=f"Comparisons without a verdict in all planned orders are left out. {SHARE_INTERVAL}",
)
NOISE_FLOOR: Final = declare_of_position(
    key="noise_floor",
    name="Changes on a repeat",
    short="Noise",
    definition="verdicts that change when repeated in the same order",
    how="Share of pairs of repeats that differ, mean over the repeated orders. Repeats made "
    f"for this purpose enter no win rate, rating or position share. {SHARE_INTERVAL}",
    paths=position_json_paths("noise_floor"),
    better="low",
    needs=(REPEATS,),
    measure=measures.NOISE_FLOOR,
    outlets=frozenset({"library", "paper"}),
    families=(POSITION,),
    selection={"noise": True},
    also_known_as=("noise floor",),
)
FLIPS: Final = declare_of_both_orders(
    key="conflict",
    name="Flips",
    definition="comparisons whose verdict is not the same in every order",
    how=f"`Flips = 1 − consistency`. {SHARE_INTERVAL}",
    paths=position_json_paths("conflict"),
    better="low",
    measure=measures.CONFLICT,
    outlets=frozenset({"library"}),
    selection=FLIPS_BEHIND,
    also_known_as=("flip rate", "Conflict Rate", "swap inconsistency"),
)
EXPECTED_CONSISTENCY: Final = declare_of_both_orders(
    key="expected_consistency",
    name="Consistency expected from own shares",
    definition="comparisons in which verdicts drawn at random, with the judge's own shares of "
    "positions and ties, are the same in every order",
    how="For a pair: t² + 2·f·s from the shares of ties (t), first (f) and second (s). "
    "Comparisons of N options in N orders count; if N differs, those of the smallest N. The page "
    "compares consistency with another number: that of random verdicts without a preference for a "
    "position, ½ for pairs without ties. Interval: jackknife over items.",
    paths=position_json_paths("expected_consistency"),
    measure=measures.EXPECTED_CONSISTENCY,
)
CONSISTENCY_KAPPA: Final = declare_of_both_orders(
    key="kappa",
    name="Consistency above chance, κ",
    short="κ",
    definition="(consistency − c)/(1 − c), with the consistency c expected from own shares",
    paths=position_json_paths("kappa"),
    unit="kappa",
    style="decimal",
    neutral=0.0,
    better="high",
    measure=measures.CONSISTENCY_KAPPA,
    how=f"On the comparisons of “{EXPECTED_CONSISTENCY.name}”. {JACKKNIFE_INTERVAL}",
)
STABILITY: Final = declare_of_position(
    key="stability",
    name="Stability of repeats",
    definition="repeats of one order that give its most frequent verdict, mean over orders",
    paths=position_json_paths("stability"),
    better="high",
    needs=(PLANNED_REPEATS,),
    measure=measures.STABILITY,
    how=f"Noise-floor repeats are left out. {SHARE_INTERVAL}",
    also_known_as=("Repetition Stability (Shi et al. 2024)",),
)
EFFECT: Final = declare_of_position(
    key="order_effect",
    name="Order effect",
    definition="disagreement of single replies between orders minus disagreement of repeats "
    "in the same order",
    how="0 without an effect of the order, if repeats are independent replies. With three "
    "repeats or more the card compares repeats further apart with consecutive ones: if these "
    "differ less often, repeats depend on each other, and no effect is claimed. Interval: "
    "Student's t over items.",
    paths=position_json_paths("order_effect"),
    unit="difference of shares",
    style="points",
    neutral=0.0,
    better="low",
    needs=(BOTH_ORDERS, REPEATS),
    measure=ORDER_EFFECT,
    outlets=frozenset({"library"}),
)
PRIMACY: Final = declare_of_both_orders(
    key="primacy",
    name="Flips toward the first position",
    definition="pairs that flip toward the answer shown first",
    paths=position_json_paths("primacy"),
    measure=measures.PRIMACY,
    options="pairs",
    selection={"flipped": True, "toward": "first"},
    how=SHARE_INTERVAL,
    also_known_as=("Primacy count, as a share (Shi et al. 2024)",),
)
RECENCY: Final = declare_of_both_orders(
    key="recency",
    name="Flips toward the second position",
    definition="pairs that flip toward the answer shown second",
    paths=position_json_paths("recency"),
    measure=measures.RECENCY,
    options="pairs",
    selection={"flipped": True, "toward": "second"},
    how=SHARE_INTERVAL,
    also_known_as=("Recency count, as a share (Shi et al. 2024)",),
)
FAIRNESS: Final = declare_of_both_orders(
    key="fairness",
    name="Recency minus primacy",
    definition="flips toward the second position minus flips toward the first, in % of pairs",
    paths=position_json_paths("fairness"),
    unit="recency − primacy",
    style="points",
    neutral=0.0,
    measure=measures.FAIRNESS,
    options="pairs",
    how=T_INTERVAL,
    also_known_as=("Preference Fairness (Shi et al. 2024)",),
)
SLOT: Final = declare_of_both_orders(
    key="slot_effect",
    name="Effect of the position",
    definition="decisive verdicts for the first position, whatever its label",
    how="With labels crossed: `(f + g)/2`, where f and g are the shares of the first position "
    "labelled A and labelled B. Interval: jackknife over items.",
    paths=("position.*.*.slot_effect",),
    neutral=0.5,
    measure=SLOT_EFFECT,
    options="pairs",
)
LABEL: Final = declare_of_both_orders(
    key="label_effect",
    name="Effect of the label",
    definition="decisive verdicts for the first label, whatever its position",
    how="With labels crossed: `(f + 1 − g)/2`. Interval: jackknife over items.",
    paths=("position.*.*.label_effect",),
    neutral=0.5,
    measure=LABEL_EFFECT,
    options="pairs",
)
for _part, _words, _mean, _term in (
    ("position", "of the first position", "mean", "(ℓ₁ + ℓ₂)/2"),
    ("content", "of the content", "mean absolute", "(ℓ₁ − ℓ₂)/2"),
):
    declare_of_position(
        key=f"logit_{_part}",
        name=f"Log-odds {_words}",
        definition=f"{_mean} log-odds {_words}, from the probabilities of the labels in both "
        "orders",
        how=f"`{_term}`, with ℓ₁ and ℓ₂ the log-odds of the answer shown first in the two "
        f"orders. The probability of a tie is left out. {T_INTERVAL}",
        paths=(f"position.*.*.logit_{_part}",),
        unit="logit",
        style="logit",
        neutral=0.0 if _part == "position" else None,
        needs=(BOTH_ORDERS, PROBABILITIES),
    )
for _part, _words in (
    ("total", "outcomes"),
    ("noise", "outcomes within one order"),
    ("order", "outcomes that the order explains"),
):
    declare_of_position(
        key=f"entropy_{_part}",
        name=f"Entropy of {_words}",
        definition=f"entropy of the {_words}, in bits, for comparisons repeated in every order",
        how="Total = noise + order; noise is a mean over orders, weighted by their verdicts. "
        "With few repeats the part of the order is too high. "
        "Noise-floor repeats are left out. Interval: Student's t over items.",
        paths=(f"position.*.*.entropy_{_part}",),
        unit="bits",
        style="decimal",
        neutral=0.0 if _part == "order" else None,
        needs=(BOTH_ORDERS, PLANNED_REPEATS),
    )
