"""Catalogue entries of the measures computed from the texts of replies."""

from metrics.catalogue.record import SHARE_INTERVAL, declare
from metrics.estimation.measures import Measure, reply_fact_tally
from studies.frames.reply_facts import register_reply_fact
from studies.texts.self_contradiction import LEAST_CHARACTERS, self_contradiction

CONTRADICTS_ITSELF = "contradicts_itself"
"""Column of the frame: 1 for a reply that contradicts itself, nan where the rule does not apply."""

register_reply_fact(CONTRADICTS_ITSELF, LEAST_CHARACTERS)(self_contradiction)

SELF_CONTRADICTION = declare(
    key="self_contradiction",
    name="Self-contradiction",
    question="nudges",
    definition="replies with reasons whose reasons favour another answer than their verdict",
    how="By rule, over replies that name two answers, state a verdict, and say of an answer "
    "that it is better, right, worse or wrong. A reply counts if such statements favour other "
    f"answers only; its verdict is never read differently. {SHARE_INTERVAL}",
    paths=("position.*.*.self_contradiction", "position_pooled.self_contradiction"),
    better="low",
    measure=Measure(
        "self_contradiction", "share", reply_fact_tally(CONTRADICTS_ITSELF),
        empty="no replies whose reasons can be read",
    ),
    outlets=frozenset({"matrix", "card", "library", "paper"}),
)  # fmt: skip
