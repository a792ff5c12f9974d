"""Texts of "How is this computed?" in the Protocol view: formulas and resampling methods."""

from __future__ import annotations

from typing import Final

HOW_COMPUTED: Final = {
    "board": (
        "After each battle of models a and b, in plan order, the rating of a changes by `4 (S − "
        "E)`. S is the result (win 1, tie ½, loss 0); `E = 1/(1 + 10^((Rb − Ra)/400))` is the "
        "result expected from the ratings Ra and Rb; all ratings start at 1000. Intervals: 200 "
        "bootstrap draws of the items. “Elo range if items are shuffled”: 95\u202f% range over "
        "random "
        "orders of the same items. Win rate against the reference: wins / head-to-heads other "
        "than ties, "
        "Wilson interval at the effective n. Ranking shows Bradley–Terry ratings, which do not "
        "depend on the order of the items."
    ),
    "cost": (
        "A head-to-head is one pair of answers to one item in all its orders and repeats, without "
        "noise-floor repeats. Dollars: the stored cost of each call, plus the extraction "
        "cost divided equally among the head-to-heads; interval: Student's t, items as clusters. A "
        "call without a price has unknown cost and does not count as free."
    ),
    "extraction": (
        "The parsing rule of the prompt reads each reply. If this rule finds no verdict, the "
        "extraction judge reads the reply. Replies that neither can read have no verdict. "
        "If such replies are counted as ties, only the measures change, not the stored records."
    ),
    "skills": (
        "`(wins + ties/2) / head-to-heads` per skill, both orders combined as stated under “Active "
        "rules”. Intervals: Wilson at the effective n of the items. Cells with fewer than five "
        "items are not coloured."
    ),
    "heatmap": (
        "Per item, over its N rotations: entropy of the chosen positions, divided by log2 N; "
        "choice = share of the most chosen option; grade G = harmonic mean of the two. Then the "
        "mean over items; interval: Student's t, items as clusters. Chance grade: the mean over "
        "all Nᴺ outcomes of random choices. Above chance, summed over items: `Σ(G − chance(N)) "
        "/ Σ(1 − chance(N))`. Items with an unusable reply in one of their rotations are left "
        "out. If there are any, a table below gives the result of the code of "
        "Grade Score's authors."
    ),
    "unrelated": (
        "N is the number of options. Only at equal N (`unrelated: replace`) does the "
        "difference of Grade Scores measure the effect of the unrelated option. With one more "
        "option N grows, and the same behaviour gives another score. Differences are paired by "
        "item; intervals are adjusted for all judges and prompts simultaneously (max-t)."
    ),
    "reading": (
        "Stored replies are parsed again, without new calls. `default`: the option after the last "
        "`Selection:` line. `gradelab`: the first “Selection” anywhere, then the first `Option k`."
    ),
    "points": (
        "Only replies that graded every option before selecting are used. A selection contradicts "
        "its grades if another option got a higher grade; a shared top grade is no contradiction."
    ),
    "levels": (
        "MB, B, W, MW: counts of much better, better, worse, much worse. “Usable”: number "
        "of usable verdicts, both orders pooled. VFS: visual factuality score. `Reward = "
        "(100 MB + 50 B − 50 W − 100 MW) / usable`, `Win rate = (MB + B) / usable`. "
        "Unusable replies are left out. VFS is an item's mean over its usable "
        "orders, then the mean over items. Intervals: Student's t with items as clusters for "
        "Reward and VFS; Wilson at the effective n of the items for Win rate."
    ),
    "alignment": (
        "J is the judge's score from −2 to 2, P the mean score of the people. Mean absolute error: "
        "`MAE = mean |J − P|`. “Consistency” in the paper: share of items with `|J − P| ≤ 1`. With "
        "both orders, J is the mean of the two scores, if both are usable. Each person is compared "
        "with the mean of the others. With several models, their items are pooled."
    ),
    "wins": (
        "`(wins + ties/2) / all pairs`. A game is one order of a pair; the two games of a pair "
        "are combined as stated under “Active rules”. Pairs with an unusable reply in a game are "
        "left out. Interval: Wilson at the effective n of the items."
    ),
    "conflicts": (
        "A pair is in conflict if its two games have different results: different winners, or "
        "a win and a tie. “First position won both” means that the answer shown first "
        "won both games, although the answers were swapped."
    ),
    "single": (
        "The mean over items of each model's mean rating; interval: Student's t, items as clusters."
    ),
    "five_labels": (
        "The table counts each of the five levels, from much better to much worse. Ratings: "
        "Bradley–Terry on the Elo scale. Arena-Hard's code counts `>>` (much better) three "
        "times, which makes its intervals too narrow."
    ),
    "redundancy": (
        "Spearman's rank correlation and R² (squared Pearson) between this study's scores and the "
        "other benchmarks' scores of the same models. Intervals: bootstrap over models; unreliable "
        "with fewer than ten models."
    ),
}
