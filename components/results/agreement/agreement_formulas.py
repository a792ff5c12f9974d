"""Texts of the view Agreement: how its numbers are computed, subtitles, legend."""

from typing import Final

from components.html.format import NARROW_SPACE
from components.html.markup import Markup
from metrics.people import voter_flags as flags

REPLACEMENT_SUBTITLE: Final = (
    "share of the other voters who agree with the judge, minus share who agree with the person it "
    f"replaces, in points; 95{NARROW_SPACE}% CI by items"
)
CORRECTED_SUBTITLE: Final = (
    f"win rate in %, 95{NARROW_SPACE}% CI by items; judges' verdicts corrected by people's votes"
)
CORRECTED_KEYS: Final = Markup(
    '<div class="eh-row eh-keys"><span class="eh-key"><i class="hollow"></i>judges alone</span>'
    '<span class="eh-key"><i class="diamond"></i>people alone</span>'
    '<span class="eh-key"><i class="dot"></i>corrected</span></div>'
)
HOW_MATRIX: Final = (
    "Verdicts are compared separately in each order; if a call was repeated, its most "
    "frequent verdict counts. `κ = (same − expected) / (1 − expected)`: “same” is the share "
    "of equal verdicts. “Expected” is the share that chance gives, from how often each rater "
    "gives each verdict. People's verdict is their most frequent vote, or a tie if several "
    "are most frequent. Cells without colour mean full agreement. Intervals: Wilson at the "
    "effective n for shares, otherwise jackknife over items. Click a cell to open the pairs on "
    "which the two raters disagree."
)
HOW_MERGED_ORDERS: Final = (
    "One order: every verdict counts separately. Both orders: one verdict per pair; an answer "
    "wins if it wins in both orders, otherwise the pair is a tie. Differences are paired by item. "
    "Chance, in the hover card of a row: random choices with as many ties as the judge has."
)
HOW_COEFFICIENTS: Final = (
    "Same verdict: both choose first, both choose second, or both choose tie. Without ties: pairs "
    "on which neither chooses tie. Krippendorff's `α = 1 − (n − 1)·observed / expected` for n "
    "verdicts: “observed” counts the disagreements on the same comparison, “expected” those among "
    "all n verdicts; all disagreements have equal weight.\n\nTwo people: all pairs of votes on the "
    "same comparison. A person and the others: each vote is compared with the most frequent "
    "of the other votes (a tie if several are)."
)
COEFFICIENTS_NOTE: Final = (
    "People's majority: the most frequent vote, a tie if several are. Both orders: an answer wins "
    "if it wins in both, otherwise the pair is a tie; scores are the mean of the two. Scores: win "
    "1, tie 0, loss −1 (“much better”: 2, −2). MAE: mean distance of a rater's score from the mean "
    "score of people (for a person, of the others). Within 1 (Creation-MMBench's Consistency): % "
    "of scores at a distance of at most 1."
)
HOW_VOTERS: Final = (
    "First-position share: share of decisive votes for the answer shown first, where the order is "
    "known, without models that were always shown in one order. Between two answers, 50 % means no "
    "preference if each pair was seen in both orders or the order was random, as on the Vote tab. "
    "Same when swapped: share of equal votes "
    "where one person saw the same answers in both orders. Agrees with others: share of the other "
    "voters on the same pair who agree with this person. Others' agreement: how often these other "
    "voters agree with each other; without an interval, as the test below compares it with “Agrees "
    "with others”. Skill: probability of a correct decisive vote, estimated from the agreement if "
    "people err independently (one-coin model).\n\nA voter is flagged if agreement "
    f"with the others, or consistency when swapped, is at least {100 * flags.MIN_GAP:.0f} points "
    "below that of the others (Fisher's exact test). A voter is also flagged if one position is "
    f"chosen at least {100 * flags.MIN_LEAN:.0f} points more often than expected from the others' "
    f"votes (exact binomial test). The tests use a level of {100 * flags.SIGNIFICANCE_LEVEL:.0f} % "
    f"after Holm's adjustment over all people and need at least {flags.MIN_VOTES} votes. A third "
    f"reason for a flag: most timed votes were faster than {flags.MAX_READING_SPEED:.0f} "
    "characters a second. Votes of flagged voters are still counted."
)
VERIFICATION_TITLE: Final = "Verified answers: do they follow the instruction?"
HOW_VERIFIED: Final = (
    "One verification: one person's latest check of one model's answer. “Follow the "
    "instruction” and “harmful” are shares of all verifications, faults are shares of those "
    "that say no; Wilson intervals at the effective n, items as clusters. Two people: every two "
    "verifications of one answer; `κ` with chance agreement from the pooled shares of yes and "
    "no. `α = 1 − (n − 1)·unequal / (yes·no)`: of n verifications, “yes” and “no” count the two "
    "results, “unequal” the disagreements on one answer. Intervals: jackknife over items.\n\n"
    "An answer passes if most of its verifiers say that it follows the instruction, and fails if "
    "most say no; with equal numbers it is not used. Judges are measured on pairs of one answer "
    "that passes and one that fails, each order separately. The measure "
    "is the share of decisive verdicts for the answer that passes; chance is 50 %. Ties are "
    "counted separately. Click a number to open its comparisons."
)
HOW_REPLACEMENT: Final = (
    "The judge replaces each voter in turn. The judge's agreement with the remaining voters "
    "is compared with that of the replaced voter on the same pairs: `judge − person`. "
    "Interval: by items; the sentence on the best one is adjusted for all. "
    "Best: share of bootstrap samples of the items in which this judge "
    "has the highest difference."
)
HOW_DISTANCES: Final = (
    "J: a judge's score from −2 to 2 (−1 to 1 if verdicts have no levels), averaged over both "
    "orders where both were judged. P: the mean score of people; for a person, the mean of the "
    "other people. `MAE = mean |J − P|`, `Consistency = share of |J − P| ≤ 1` (Creation-MMBench "
    "F.2). Averaging two orders pulls J toward 0, which alone can reduce the distance. For "
    "comparison, “always tie” is a judge that only gives ties."
)
HOW_MAJORITY: Final = (
    "The majority of people is here the answer that more than half of the votes on a comparison "
    "prefer (elsewhere in this view: the most frequent vote); comparisons without one are left "
    "out, as are those that a judge lacks in one order. Credit of one call: right 1, undecided ½, "
    "wrong 0; mean over both orders. Interval: Wilson at the effective number of items. One "
    "person: the same credit of a vote, against the answer that more than half of at least two "
    "other people prefer. In a study without votes, verdicts are compared with the known better "
    "answers."
)
HOW_CORRECTED: Final = (
    "Prediction-powered (PPI++): the win rate by people, plus λ × (win rate by judges on the pairs "
    "without votes − win rate by judges on the pairs with votes). The weight λ is chosen so that "
    "the interval is narrowest. Unbiased for any judge if the pairs with votes are a random sample "
    "of all. “Votes worth”: without judges, an interval of the same width needs this many times "
    "the votes."
)
