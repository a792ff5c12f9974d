"""The split of uncertainty on the page: noise between repeats, and the effect of the order."""

from __future__ import annotations

import re

from components.results.bias.computed import bias_from_frame
from components.results.bias.panels import order_share_of_entropy_html
from metrics.estimation.entropy import split_entropy_by_order
from tests.metrics.frames import build, pair
from tests.page_words import says


def split_text(rows: list) -> str:
    frame = build(rows)
    split = {("j", "p"): split_entropy_by_order(frame)}
    html = order_share_of_entropy_html(bias_from_frame(frame), split)
    return re.sub(r"<[^>]+>", "", html).replace("\u202f", " ")


def test_a_judge_of_one_position_is_uncertain_by_the_order_alone():
    # The first slot in every repeat: 1 bit over both orders, none within an order.
    rows = [row for k in range(2) for q in "ab" for row in pair(q, 0, 0, repeat=k)]
    assert says(split_text(rows), "j 100", "1.00 bits")


def test_noise_within_both_orders_is_not_the_order():
    # Each order: x once, y once. All of the 1 bit is noise.
    rows = [row for q in "ab" for row in pair(q, 0, 0) + pair(q, 1, 1, repeat=1)]
    assert says(split_text(rows), "j 0", "1.00 bits")


def test_without_repeats_there_is_no_sentence():
    assert split_text(pair("q", 0, 0)) == ""
