"""Catalogue entries of the measures of a judge's correctness: agreement with known answers, with
people and with other judges, and the share of replies without a verdict."""

from functools import partial
from typing import Final

from metrics.agreement.majority_agreement import (
    agreement_with_people_measure,
    kappa_with_people_measure,
)
from metrics.catalogue.position_records import BEHAVIOUR, QUALITY, position_json_paths
from metrics.catalogue.record import (
    BOTH_ORDERS,
    JACKKNIFE_INTERVAL,
    KNOWN_ANSWERS,
    SEVERAL_JUDGES,
    SHARE_INTERVAL,
    T_INTERVAL,
    VOTES,
    declare,
    declare_measures,
)
from metrics.estimation.measures import GroupedFrame, Measure, MeasureTally, build_tally
from metrics.position import position_measures
from metrics.remedies.remedy_study import CALL_AGREEMENT, COMPARED_PART
from studies.domain import USABLE_STATUSES

PEOPLE_BEHIND: Final = {"unlike": "people"}

declare_agreement: Final = partial(declare, question="agreement")
_LEVELS: Final = (
    "Each verdict of a judge counts; `merged_`: the mean of both orders of a comparison. A person "
    "is compared with the other people."
)
_REPLACED: Final = f"Cases with a verdict of the judge and at least two votes. {T_INTERVAL}"
_WRONG: Final = f"A tie or an unusable reply is wrong; repeats are left out. {SHARE_INTERVAL}"


def random_choice_accuracy(options: int, ties: float) -> float:
    """Share of right verdicts of a judge that chooses at random among `options` answers, except for
    a share `ties` of ties."""
    return (1 - ties) / options


AGREEMENT: Final = declare_agreement(
    key="agreement",
    name="Agreement with people or known answers",
    short="Agreement",
    definition="comparisons that one call decides for the answer that most people prefer, or "
    "for the known better one; undecided counts half",
    how=f"On the comparisons {COMPARED_PART}; without any, on all. A judge and prompt with less "
    "than half of them is left out. The first call in each order counts. Most people: "
    f"more than half of the votes. {SHARE_INTERVAL}",
    paths=("remedies.rules.*.*.single.agreement",),
    neutral=0.5,
    better="high",
    needs=(KNOWN_ANSWERS,),
    measure=CALL_AGREEMENT,
    options="pairs",
    outlets=frozenset({"card", "library"}),
    families=(BEHAVIOUR, QUALITY),
    selection=PEOPLE_BEHIND,
)
TIES_AGREEMENT: Final = declare_agreement(
    key="agreement_with_ties",
    name="Agreement with people, ties included",
    definition="verdicts equal to the majority of people, ties included",
    how="Without a single most frequent vote, the majority is a tie. Chance level: 1/(N + 1), "
    f"for a judge that chooses among N positions and the tie. {SHARE_INTERVAL}",
    paths=("agreement.people.*.agreement",),
    neutral=lambda options, _ties: 1 / (options + 1),
    better="high",
    needs=(VOTES,),
    measure=agreement_with_people_measure(),
    options="many",
    outlets=frozenset({"card", "library"}),
    selection=PEOPLE_BEHIND,
    counts_verdicts=True,
)
DECISIVE_AGREEMENT: Final = declare_agreement(
    key="agreement_decisive",
    name="Agreement with people, without ties",
    definition="verdicts equal to the majority of people where neither is a tie",
    how=SHARE_INTERVAL,
    paths=("agreement.people.*.agreement_decisive",),
    neutral=lambda options, _ties: 1 / options,
    better="high",
    needs=(VOTES,),
    measure=agreement_with_people_measure("drop"),
    selection=PEOPLE_BEHIND,
    counts_verdicts=True,
)
KAPPA: Final = declare_agreement(
    key="people_kappa",
    name="κ with people",
    short="κ",
    definition="agreement with the majority of people, corrected for chance; 0 is the chance level",
    how=f"Cohen's κ over the positions and the tie. {JACKKNIFE_INTERVAL}",
    paths=("agreement.people.*.kappa",),
    unit="kappa",
    style="decimal",
    neutral=0.0,
    better="high",
    needs=(VOTES,),
    measure=kappa_with_people_measure(),
    families=(QUALITY,),
    selection=PEOPLE_BEHIND,
    counts_verdicts=True,
)
OTHER_JUDGES: Final = declare_agreement(
    key="other_judges",
    name="Agreement with other judges and prompts",
    definition="verdicts equal to those of other judges and prompts in the same order",
    how="Each verdict is compared with each of theirs on the same answers. Repeats count by "
    f"their most frequent verdict. {SHARE_INTERVAL}",
    paths=(),
    better="high",
    needs=(SEVERAL_JUDGES,),
    outlets=frozenset({"card"}),
    counts_verdicts=True,
)
ACCURACY: Final = declare_agreement(
    key="accuracy",
    name="Accuracy",
    definition="verdicts for the known better answer; a tie counts as wrong",
    how="True ties are left out; of three options or more, all unbeaten ones are right. Chance "
    "level: (1 − share of ties)/N, times k if k options are right. "
    f"{SHARE_INTERVAL}",
    paths=(*position_json_paths("accuracy"), "grade.*.*.accuracy"),
    neutral=random_choice_accuracy,
    better="high",
    needs=(KNOWN_ANSWERS,),
    measure=position_measures.ACCURACY,
    outlets=frozenset({"matrix", "card", "library", "gate"}),
    families=(BEHAVIOUR, QUALITY),
    counts_verdicts=True,
)
LEAD: Final = declare_agreement(
    key="accuracy_lead",
    name="Accuracy above chance",
    definition="accuracy minus that of a judge that ties as often and otherwise chooses at "
    "random, in points",
    how="Chance is (1 − t)/N with the share t of ties, times k if k options are right. For "
    "pairs the lead is half the difference of the shares of right and wrong verdicts. "
    "Interval: Student's t over items, at least as wide as that of the accuracy (a tie then counts "
    "as by chance).",
    paths=position_json_paths("accuracy_lead"),
    unit="difference of shares",
    style="points",
    neutral=0.0,
    better="high",
    needs=(KNOWN_ANSWERS,),
    measure=position_measures.ACCURACY_LEAD,
    counts_verdicts=True,
)


def _tally_unusable_replies(grouped: GroupedFrame) -> MeasureTally:
    failed = ~grouped.frame["status"].isin(list(USABLE_STATUSES))
    return build_tally(grouped.frame, failed, 1)


UNUSABLE: Final = declare_agreement(
    key="unusable",
    name="Unusable replies",
    definition="calls without a verdict: unreadable, empty, refused, truncated or failed",
    how=f"Repeats for the noise floor count too. {SHARE_INTERVAL} It reaches at least as far as "
    "without any unusable reply, where items count, not calls: those on an item may fail together.",
    paths=("counts.by_status",),
    better="low",
    measure=Measure("unusable", "share", _tally_unusable_replies, "failures"),
    outlets=frozenset({"card", "library", "gate"}),
    selection={"status": "failures"},
    counts_verdicts=True,
)

declare_measures(
    "agreement", "rater",
    ("people_kappa_decisive", "κ with people, without ties", "κ with the majority of "
     "people where neither is a tie", JACKKNIFE_INTERVAL, "agreement.people.*.kappa_decisive"),
    unit="kappa", style="decimal", neutral=0.0, better="high", needs=(VOTES,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("people_mae", "Distance from people", "mean absolute difference from the mean of "
     "people's votes, on levels −2 to 2", f"{_LEVELS} {T_INTERVAL}",
     "agreement.people.*.mae agreement.people.*.merged_mae agreement.always_tie.mae "
     "agreement.alignment.*.*.*.mae"),
    unit="levels", style="decimal", better="low", needs=(VOTES,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("within_one", "Within one level of people", "scores at most one level from the mean of "
     "people's votes", f"{_LEVELS} {SHARE_INTERVAL}", "agreement.people.*.within_one "
     "agreement.people.*.merged_within_one "
     "agreement.always_tie.consistency agreement.alignment.*.*.*.consistency"),
    better="high", needs=(VOTES,),
    also_known_as=("Consistency in Creation-MMBench (Fang et al. 2025)",),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("merged_agreement", "Agreement with people, orders merged", "comparisons whose two "
     "orders together give the verdict of the majority of people", "The same winner in both "
     f"orders is a win, anything else a tie. {SHARE_INTERVAL}", "agreement.merged_orders.*"),
    ("with_person", "Person with the other people", "other people who gave the same vote as a "
     "person, mean over people and cases", _REPLACED, "agreement.annotators.*.with_person"),
    ("with_judge", "Judge with the other people", "people other than the one it replaces who "
     "gave the same vote as the judge, mean over its verdicts and cases", _REPLACED,
     "agreement.annotators.*.with_judge"),
    better="high", needs=(VOTES,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("replacement_advantage", "Advantage over a person", "agreement of the judge with the "
     "other people minus that of the person it replaces", T_INTERVAL,
     "agreement.annotators.*.advantage"),
    style="points", neutral=0.0, better="high", needs=(VOTES,),
    also_known_as=("advantage probability of the alternative annotator test (Calderon et al. "
                   "2025), as a difference",),
)  # fmt: skip
declare_measures(
    "agreement", "study",
    ("one_person", "Agreement of one person", "votes for the answer that most of the other "
     "people prefer; a tie counts half", "Most: more than half of at least two other people; "
     f"cases without such an answer are left out. {SHARE_INTERVAL}",
     "agreement.among_people.one_person"),
    better="high", needs=(VOTES,),
)  # fmt: skip
for _path, _prefix, _who, _need, _counted in (
    ("agreement.pairs.*.*", "pair", "of two raters", SEVERAL_JUDGES, "Judges are compared with "
     "the same prompt in the same order, repeats by their most frequent verdict; `people` is the "
     "majority of people."),
    ("agreement.voter_pairs.*.*", "voter_pair", "of two voters", VOTES, "A person's first vote on "
     "a case counts."),
    ("agreement.among_people.*", "among_people", "among people", VOTES, "`pair`: two people, all "
     "votes weighted equally; `others`: a person and the majority of the others."),
):  # fmt: skip
    declare_measures(
        "agreement", "pair",
        (f"{_prefix}_share", f"Agreement {_who}", f"equal verdicts {_who} on the same answers",
         f"{_counted} {SHARE_INTERVAL}", f"{_path}.share"),
        (f"{_prefix}_decisive", f"Agreement {_who}, without ties",
         f"equal verdicts {_who} where neither is a tie", f"{_counted} {SHARE_INTERVAL}",
         f"{_path}.decisive"),
        better="high", needs=(_need,),
    )  # fmt: skip
    declare_measures(
        "agreement", "pair",
        (f"{_prefix}_kappa", f"κ {_who}", f"agreement {_who} corrected for chance (Cohen)",
         f"{_counted} {JACKKNIFE_INTERVAL}", f"{_path}.kappa"),
        (f"{_prefix}_kappa_decisive", f"κ {_who}, without ties",
         f"κ {_who} where neither is a tie", f"{_counted} {JACKKNIFE_INTERVAL}",
         f"{_path}.kappa_decisive"),
        (f"{_prefix}_alpha", f"α {_who}", f"agreement {_who} corrected for chance "
         "(Krippendorff)", f"{_counted} {JACKKNIFE_INTERVAL}", f"{_path}.alpha"),
        unit="kappa", style="decimal", neutral=0.0, better="high", needs=(_need,),
    )  # fmt: skip
declare_measures(
    "agreement", "pair",
    ("judge_pair", "Agreement of two judges", "equal verdicts of two judges on the same "
     "answers with the same prompt and order", "Repeats count by their most frequent verdict; "
     f"`people` is the majority of people. {SHARE_INTERVAL}", "agreement.judges.*.*"),
    better="high", needs=(SEVERAL_JUDGES,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("voter_first", "First-position share of a voter", "decisive votes for the answer shown "
     "first", "Votes on models that people always saw in one order are left out. "
     f"{SHARE_INTERVAL}", "agreement.voters.*.first"),
    ("voter_bias", "Position bias of a voter", "the way from chance to always first: "
     "(first − 1/N)/(1 − 1/N), with the voter's first-position share",
     "From the interval of the share.", "agreement.voters.*.bias"),
    ("voter_steady", "Consistency of a voter", "comparisons seen twice, swapped, with the "
     "same vote", SHARE_INTERVAL, "agreement.voters.*.steady"),
    ("voter_ties", "Ties of a voter", "votes that are ties", SHARE_INTERVAL,
     "agreement.voters.*.ties"),
    ("voter_others", "Agreement of a voter with the others", "other people who gave the same "
     "vote, mean over cases", SHARE_INTERVAL, "agreement.voters.*.others"),
    ("voter_skill", "Skill of a voter", "decisive votes that are right, estimated from "
     "pairwise agreement", JACKKNIFE_INTERVAL, "agreement.voters.*.skill"),
    needs=(VOTES,),
)  # fmt: skip
declare_measures(
    "agreement", "rater",
    ("average_of_orders", "Accuracy, mean of the orders", "calls in either order that name "
     "the known better answer", _WRONG, "accuracies.*.*.average_of_orders"),
    ("right_in_both_orders", "Accuracy in both orders", "comparisons with the known better "
     "answer in both orders", _WRONG, "accuracies.*.*.right_in_both_orders"),
    ("orders_merged", "Accuracy, orders merged", "comparisons with more right than wrong "
     "verdicts in the two orders", "A tie or an unusable reply is neither; repeats are left "
     f"out. {SHARE_INTERVAL}", "accuracies.*.*.orders_merged"),
    ("unusable_as_tie", "Accuracy, unusable replies as ties", "calls that name the known "
     "better answer; a tie or an unusable reply counts half", "Repeats are left out. "
     f"{SHARE_INTERVAL}", "accuracies.*.*.unusable_as_tie"),
    better="high", needs=(KNOWN_ANSWERS, BOTH_ORDERS),
)  # fmt: skip
