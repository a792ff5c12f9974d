"""Texts of the People view: how its numbers are computed, subtitles, legend."""

from __future__ import annotations

from typing import Final

from components.html.format import NARROW_SPACE
from components.html.markup import Markup
from metrics.people import voter_flags as flags

REPLACEMENT_SUBTITLE: Final = (
    "agreement with the other voters in points, judge minus the person it replaces; "
    f"95{NARROW_SPACE}% CI by items"
)
CORRECTED_SUBTITLE: Final = (
    f"%, 95{NARROW_SPACE}% CI by items; judges' many verdicts corrected by people's few votes"
)
CORRECTED_KEYS: Final = Markup(
    '<div class="eh-row eh-keys"><span class="eh-key"><i class="hollow"></i>judges alone</span>'
    '<span class="eh-key"><i class="diamond"></i>people alone</span>'
    '<span class="eh-key"><i class="dot"></i>corrected</span></div>'
)
HOW_MATRIX: Final = (
    "Verdicts are compared separately in each order; of repeats the most frequent verdict counts. "
    "`κ = (same − expected) / (1 − expected)`: share of equal verdicts, and the share expected by "
    "chance from how often each rater gives each verdict. People: majority of the votes; without "
    "one, a tie. No colour: full agreement. Intervals: jackknife over items; for shares Wilson at "
    "the effective n. Click a cell to open the pairs on which the two disagree."
)
HOW_MERGED_ORDERS: Final = (
    "One order: every verdict counts separately. Both orders: one verdict per pair; a win needs "
    "both orders, otherwise a tie. Differences are paired by item. Chance is 1/3 if ties are as "
    "likely as either answer."
)
HOW_COEFFICIENTS: Final = (
    "Same verdict: both choose first, second or tie. Without ties: pairs on which neither chooses "
    "tie. `α = 1 − (n − 1)·observed / expected`, from the observed and expected disagreements of n "
    "verdicts without ranking them. Two people: every two votes on one pair. A person, the others: "
    "each vote against the majority of the other votes; without a majority, a tie. MAE (mean "
    "absolute error) and “within 1” (Creation-MMBench's Consistency): distance of a person's score "
    "from the mean of the others. Both orders: a win needs both, otherwise a tie; for MAE the mean "
    "of the two scores."
)
HOW_VOTERS: Final = (
    "First position: share of decisive votes for the answer shown first, where the order is known; "
    "even is 50 % for pairs. Same when swapped: comparisons shown to one person twice, answers "
    "swapped. With the others: share of the other voters on the same pair who agree with this "
    "person. Those others: their agreement with each other. Accuracy: probability of a correct "
    "vote, estimated from the agreement if people err independently (one-coin model).\n\n"
    "Flagged: agreement with the others, or consistency when swapped, at least "
    f"{100 * flags.MIN_GAP:.0f} points below that of the others (Fisher's exact test). Also: one "
    f"position chosen at least {100 * flags.MIN_LEAN:.0f} points more often than expected from the "
    f"others' votes (exact binomial test). Tests at {100 * flags.SIGNIFICANCE_LEVEL:.0f} % after "
    f"Holm's adjustment over all people, from {flags.MIN_VOTES} votes on. Also: most timed votes "
    f"faster than {flags.MAX_READING_SPEED:.0f} characters a second. No flagged voter is removed."
)
VERIFICATION_TITLE: Final = "Verified answers: do they follow the instruction?"
HOW_VERIFIED: Final = (
    "One verification: one person's latest check of one model's answer. “Follow it” and “harmful” "
    "are shares of all verifications, faults are shares of those that say no; Wilson intervals at "
    "the effective n, items as clusters. Two people: every two verifications of one answer; `κ` "
    "with chance agreement from the pooled shares of yes and no, "
    "`α = 1 − (n − 1)·disagreeing / (yes·no)` over all n verifications; jackknife over items.\n\n"
    "An answer passes if most of its verifiers say that it follows the instruction, and fails if "
    "most say no; with equal numbers it is not used. Judges: pairs of one answer that passes and "
    "one that fails, each order separately. Shown is the share of decisive verdicts for the "
    "answer that passes; chance is 50 %. Ties are counted separately. A number opens its "
    "comparisons."
)
HOW_REPLACEMENT: Final = (
    "The judge replaces each voter in turn. The agreement of the judge with the *remaining* voters "
    "is compared with that of the replaced voter: `judge − person`, on the same pairs, interval by "
    "items. Best: share of bootstrap samples of the items in which this judge leads."
)
HOW_DISTANCES: Final = (
    "J: a judge's score from −2 to 2, averaged over both orders where both were judged. P: the "
    "mean score of people; for a person, the mean of the *other* people. `MAE = mean |J − P|`, "
    "`Consistency = share of |J − P| ≤ 1` (Creation-MMBench F.2). Averaging two orders pulls J "
    "toward 0, which alone reduces the distance: compare with “always tie”, a judge that only "
    "gives ties."
)
HOW_CATEGORIES: Final = (
    "Share of a judge's verdicts that equal the people's majority, ties counted. Without votes, "
    "but with a better answer known by design: the share of correct verdicts."
)
HOW_CORRECTED: Final = (
    "Prediction-powered: the people's mean, minus the judges' mean on the same pairs, plus the "
    "judges' mean on all other pairs, with the weight that gives the narrowest interval (PPI++). "
    "Unbiased for any judge if the pairs with votes are a random sample of all. Votes worth: "
    "factor by which the number of votes would have to grow for the same width without judges."
)
