"""How each panel of the protocol view is computed: two sentences, the formula, the resampling."""

from __future__ import annotations

from typing import Final

HOW_COMPUTED: Final = {
    "board": (
        "`R += 4 (S − E)`, `E = 1/(1 + 10^((Rb − Ra)/400))`, start 1000, battle by battle in plan "
        "order; a tie scores ½. Intervals: 200 draws of the items. “Over orders” is what other "
        "orders of the same items give. Win rate against the reference: wins / decisive "
        "head-to-heads, Wilson at the effective n. The headline rating of this page is "
        "Bradley–Terry, under Ranking: it does not depend on the order."
    ),
    "cost": (
        "A head-to-head is one pair of answers to one item in all its orders and repeats, noise "
        "floor left out. Dollars are what the store has for each call, extraction shared out "
        "evenly; item-cluster t. A call without a price is unknown, not free."
    ),
    "extraction": (
        "A reply is read by the rule of its format. Where that finds nothing, the extraction judge "
        "is asked for the verdict in it. What is left has none: whether it counts as a tie is a "
        "rule of the measure, never of the record."
    ),
    "skills": (
        "`(wins + ties/2) / head-to-heads` of each skill, both orders merged by the rule in force. "
        "Wilson at the effective n of the items; below five items a cell is not coloured."
    ),
    "heatmap": (
        "Per item, over its N rotations: entropy `H(slots) / log2 N`, choice = share of the most "
        "chosen option, grade = their harmonic mean; then the mean over items, item-cluster t. A "
        "coin's grade is the mean over all Nᴺ outcomes. Chance-corrected: "
        "`Σ(G − coin(N)) / Σ(1 − coin(N))`. Items with an unread trial are left out and counted; "
        "where there are any, what the authors' code makes of them stands beneath."
    ),
    "unrelated": (
        "Only at equal N (`unrelated: replace`) is the difference the option's own: with one more "
        "option N grows, and a judge that behaves the same scores differently. Paired by item; "
        "intervals adjusted for all judges and prompts at once (max-t)."
    ),
    "reading": (
        "Stored replies are read again, nothing is asked. `default`: the option after the last "
        "`Selection:` line. `gradelab`: the first “Selection” anywhere, then the first `Option k`."
    ),
    "points": (
        "Replies that graded every option before selecting. A selection contradicts its grades if "
        "another option got a higher one; a shared top grade contradicts nobody."
    ),
    "levels": (
        "`Reward = (100 MB + 50 B − 50 W − 100 MW) / readable`, `Win rate = (MB + B) / readable`, "
        "both orders pooled; failures are left out and shown. VFS: an item's mean over its "
        "readable orders, then over items. Reward and VFS: item-cluster t; Win rate: Wilson at the "
        "effective n of the items."
    ),
    "alignment": (
        "J is the judge's score −2 to 2, P the mean of the people's: `MAE = mean |J − P|`, "
        "Consistency = share of `|J − P| ≤ 1`. Both orders: J is their mean, both read. A person "
        "is held against the mean of the others. Several models: items pooled."
    ),
    "wins": (
        "`(wins + ties/2) / all`, the two games of a pair merged by the rule in force; pairs with "
        "an unread game are dropped. Wilson at the effective n of the items."
    ),
    "conflicts": (
        "A pair is in conflict if its two games do not mirror each other. First both times: the "
        "answer shown first won both games, whichever it was."
    ),
    "single": "The mean over items of each model's mean rating, item-cluster t.",
    "five_labels": (
        "Counts of the labels by place. Ratings: Bradley–Terry on the Elo scale; Arena-Hard's code "
        "counts `>>` three times, which makes intervals look surer than the data are."
    ),
    "redundancy": (
        "Spearman's rank correlation and R² (squared Pearson) between this study's scores and the "
        "other benchmarks' scores of the same models. Intervals: bootstrap over models, rough "
        "below ten of them."
    ),
}
