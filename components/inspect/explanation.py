"""Short finding on a comparison: flipped, unusable, divided, scored, in one order, or
consistent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from components.html.format import count, number, slot_name
from components.html.pieces import UNUSABLE_RULE
from components.inspect.comparison_index import OrderVerdict
from components.inspect.load_comparison import ComparisonDetail
from studies.domain import BY_DESIGN, ERROR_STATUSES, USABLE_STATUSES, Item
from studies.frames.arrangement import parse_arrangement
from studies.frames.known_answers import best_answer, best_answers, better_answer


@dataclass(frozen=True, slots=True)
class Explanation:
    """Text of the notice above a comparison; `kind` sets its colour."""

    kind: Literal["warn", "bad", "calm"]
    title: str
    text: str


def explain_comparison(opened: ComparisonDetail) -> Explanation:
    """The notice on a comparison: its main finding (such as "Flipped."), the number of repeats
    without a verdict, and which answer is better by the design of the data or by people's votes."""
    finding = _main_finding(opened)
    human = known_answer_or_votes_text(opened.item, opened.line.model_names) if opened.item else ""
    repeats = len(opened.line.failed_repeats)
    lost = f"{count(repeats, 'repeat')} in the same order gave no verdict." if repeats else ""
    text = " ".join(part for part in (finding.text, lost, human) if part)
    return Explanation(finding.kind, finding.title, text)


def _main_finding(opened: ComparisonDetail) -> Explanation:
    orders = opened.line.verdicts
    failed = [order for order in orders if order.status not in USABLE_STATUSES]
    if failed and all(order.status in ERROR_STATUSES for order in failed):
        told = f"{count(len(failed))} of {count(len(orders), 'call')} failed, so there is no reply."
        return Explanation("warn", "Failed calls.", told)
    if failed:
        return Explanation("warn", "Unusable replies.", _failure_text(failed, orders))
    if any(order.is_divided for order in orders):
        return _divided_orders_finding(orders)
    if opened.flipped:
        return Explanation("warn", "Flipped.", _flip_text(orders))
    if all(order.pick is None for order in orders):
        if len(opened.line.model_names) == 1 and (given := _usable_scores(opened)):
            return _single_answer_finding(opened, given)
        return Explanation("calm", "Scored.", "The judge gave scores and picked no answer.")
    if len(orders) == 1:
        return Explanation(
            "calm", "One order.", f"{_single_order_text(orders[0])} No other order has a verdict."
        )
    if len({_picked_name(order) for order in orders}) > 1:  # no flip before all orders are judged
        return Explanation(
            "calm", "Not all orders.", f"{_outcomes_text(orders)} Some orders have no verdict yet."
        )
    return Explanation("calm", "Consistent.", _consistent_text(orders))


def _single_answer_finding(opened: ComparisonDetail, given: Sequence[float]) -> Explanation:
    """Notice on the verdicts about a single answer: passed, failed or scored, in how many replies,
    and what the answer's label says. `given`: the scores of the replies."""
    label, passes = opened.line.label, sum(score > 0 for score in given)
    told = f" The answer's label is {label_text(opened)}." if label is not None else ""
    if not _is_pass_fail(opened):
        texts = [score_text(score) for score in sorted(set(given))]
        each = f" in {count(len(given), 'reply')}" if len(given) > 1 else ""
        return Explanation("calm", "Scored.", f"The judge gave {' and '.join(texts)}{each}.{told}")
    if 0 < passes < len(given):
        text = f"The judge passed the answer in {count(passes)} of {count(len(given), 'reply')}."
        return Explanation("warn", "Replies disagree.", text + told)
    word = "passed" if passes else "failed"
    if label is not None and label != bool(passes):
        title = "False pass." if passes else "False fail."
        return Explanation("warn", title, f"The judge {word} the answer.{told}")
    return Explanation("calm", f"{word.capitalize()}.", f"The judge {word} the answer.{told}")


def _usable_scores(opened: ComparisonDetail) -> list[float]:
    """The first score (pass: 1, fail: 0) of each usable reply; of the comparison's row in the list
    if no reply is loaded."""
    replies = [one.judgement for order in opened.orders for one in (order.reply, *order.again)]
    given = [
        one.verdict.scores[0]
        for one in replies
        if one.usable and not one.ask.noise and one.verdict and one.verdict.scores
    ]
    return given or [order.scores[0] for order in opened.line.verdicts if order.scores]


def _is_pass_fail(opened: ComparisonDetail) -> bool:
    """Whether the replies pass or fail a single answer; False if no reply is loaded."""
    if not opened.orders or len(opened.line.model_names) > 1:
        return False
    return parse_arrangement(opened.orders[0].reply.judgement.ask.labels).is_pass_fail


def label_text(opened: ComparisonDetail) -> str:
    """The label of a single answer: "pass", "fail" or a score; empty without a label."""
    label = opened.line.label
    if label is None:
        return ""
    return ("pass" if label else "fail") if _is_pass_fail(opened) else score_text(label)


def score_text(score: float) -> str:
    """A score, with one decimal unless it is a whole number."""
    return number(score, 0 if score % 1 == 0 else 1)


def _failure_text(failed: Sequence[OrderVerdict], orders: Sequence[OrderVerdict]) -> str:
    kinds = Counter(order.status.replace("_", " ") for order in failed)
    named = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
    which = "The judge's reply gave no verdict"
    if len(orders) > 1:
        which = f"{count(len(failed))} of the judge's {count(len(orders), 'reply')} gave no verdict"
    return f"{which} ({named}). {UNUSABLE_RULE.capitalize()}."


def _divided_orders_finding(orders: Sequence[OrderVerdict]) -> Explanation:
    """Notice on a comparison in which an order is divided: its repeats gave different verdicts, and
    none is most frequent. The title is "Flipped." if the other orders have different verdicts."""
    agreed = [order for order in orders if not order.is_divided]
    where = "The"
    if len(orders) > 1:
        where = f"In {count(len(orders) - len(agreed))} of {count(len(orders), 'order')} the"
    text = (
        f"{where} repeats disagree and no verdict is most frequent; Consistency counts such an "
        "order as a tie."
    )
    if len({_picked_name(order) for order in agreed}) > 1:
        return Explanation("warn", "Flipped.", f"{_outcomes_text(agreed)} {text}")
    return Explanation("warn", "Repeats disagree.", text)


def _flip_text(orders: Sequence[OrderVerdict]) -> str:
    first, *_, second = orders
    if len(orders) > 2 or len(first.shown) > 2:
        return _outcomes_text(orders)
    if first.pick == second.pick:
        return (
            f"The judge chose {_picked_answer_phrase(first)} in both orders, although the answers "
            "were swapped."
        )
    decided = first if isinstance(first.pick, int) else second
    shown = f"{_picked_name(decided)} when shown {_picked_slot_ordinal(decided)}"
    return f"The judge chose {shown}, and gave a tie when the answers were swapped."


def _outcomes_text(orders: Sequence[OrderVerdict]) -> str:
    chosen = {_picked_name(order) for order in orders}
    return f"The judge reached {len(chosen)} different outcomes in {len(orders)} orders."


def _consistent_text(orders: Sequence[OrderVerdict]) -> str:
    each = "both orders" if len(orders) == 2 else f"all {len(orders)} orders"
    if orders[0].pick == "tie":
        return f"The judge called the comparison a tie in {each}."
    return f"The judge chose {_picked_name(orders[0])} in {each}."


def _single_order_text(order: OrderVerdict) -> str:
    if order.pick == "tie":
        return "The judge called the comparison a tie."
    return f"The judge chose {_picked_name(order)}, shown {_picked_slot_ordinal(order)}."


def _picked_name(order: OrderVerdict) -> str:
    return order.shown[order.pick] if isinstance(order.pick, int) else "a tie"


def _picked_answer_phrase(order: OrderVerdict) -> str:
    return f"the answer shown {_picked_slot_ordinal(order)}"


def _picked_slot_ordinal(order: OrderVerdict) -> str:
    words = ("first", "second", "third")
    slot = order.pick if isinstance(order.pick, int) else 0
    return words[slot] if slot < len(words) else slot_name(slot)


def known_answer_or_votes_text(item: Item | None, names: Sequence[str]) -> str:
    """Text that says which answer is better by the design of the data, else how people voted on
    these answers; empty without either. `names`: the models of the answers."""
    if item is None or len(names) < 2 or not item.human:
        return ""
    design = any(p.judge == BY_DESIGN for p in item.human)
    if design or len(names) > 2:
        return _best_answer_text(item, names, "By design" if design else "By the people's votes")
    votes = (better_answer([preference], names[0], names[1]) for preference in item.human)
    counts = Counter(vote for vote in votes if vote is not None)
    if not counts:
        return ""
    total = sum(counts.values())
    if total == 1:
        (who,) = counts
        return f"The one person who voted {'chose a tie' if who == 'tie' else f'chose {who}'}."
    parts = [f"{n} for {'a tie' if who == 'tie' else who}" for who, n in counts.most_common()]
    return f"{count(total)} people voted: {', '.join(parts)}."


def _best_answer_text(item: Item, names: Sequence[str], by: str) -> str:
    winner = best_answer(item.human, names)
    if winner is None:
        return ""
    if len(best := best_answers(item.human, names)) > 1:
        return (
            f"{by} {' and '.join(best)} are the best answers and equally good: choosing any of "
            "them is right."
        )
    if winner == "tie":
        equal = "the two answers are equally good"
        return f"{by} {equal if len(names) == 2 else 'no answer is best'}."
    return f"{by} {winner} is the {'better' if len(names) == 2 else 'best'} answer."
