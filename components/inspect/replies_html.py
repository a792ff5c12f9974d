"""HTML of the judge's replies to each order, with the verdict in a box of its position's colour."""

from collections.abc import Sequence

from components.html.format import count, number
from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import status_badge, verdict_chip
from components.inspect.html_parts import MAX_TEXT, html, text_html
from components.inspect.load_comparison import ComparisonDetail, InspectedReply, OrderReplies
from judges.verdicts.reply_cleaning import split_reasoning
from studies.domain import Judgement
from studies.frames.arrangement import parse_arrangement
from studies.texts.self_contradiction import self_contradiction


def replies_html(opened: ComparisonDetail) -> Markup:
    n = len(opened.orders)
    titles = {1: "Judge's reply", 2: "Judge's replies in both orders"}
    cards = (_order_card(order, i) for i, order in enumerate(opened.orders, 1))
    title = titles.get(n, f"Judge's replies in {n} orders")
    if n > 1 and len(opened.orders[0].shown) == 1:
        title = f"Judge's replies in {n} arrangements"
    return html.section(title) + html.columns(cards)


def _order_card(order: OrderReplies, place: int) -> Markup:
    judgement = order.reply.judgement
    read = judgement.usable and judgement.verdict is not None
    mark = verdict_chip(judgement.verdict.pick) if read and judgement.verdict else ""
    mark = mark if read else status_badge(judgement.status)
    parts = (
        _outcome_html(judgement),
        _probability_bars(judgement),
        _reply_html(order.reply),
        _call_note(judgement),
        _contradiction_note(judgement),
        _reasoning_drawer(order.reply),
        _repeats_html(order.again),
    )
    return html.order_card(place, _shown_order(judgement), mark, parts)


def _shown_order(judgement: Judgement) -> Markup:
    """HTML of what the judge was shown, in order: the models and, if labels do not follow their
    usual order (A first), each one's label. If a single answer was judged: its model, then the
    options and criteria of the verdict."""
    ask = judgement.ask
    if len(ask.shown) == 1 and len(ask.labels) > 1:
        offered = parse_arrangement(ask.labels)
        criteria = f"; criteria {', '.join(offered.criteria)}" if offered.criteria else ""
        return fill("{}, options {}{}", ask.shown[0], ", ".join(offered.option_labels), criteria)
    crossed = list(ask.labels) != sorted(ask.labels, key=lambda label: (len(label), label))
    names = [
        f"{who} (labelled {label})" if crossed else who
        for who, label in zip(ask.shown, ask.labels, strict=False)
    ]
    return join(names or ask.shown, ", then ")


def _outcome_html(judgement: Judgement) -> Markup:
    verdict, shown = judgement.verdict, judgement.ask.shown
    if not judgement.usable or verdict is None:
        detail = f": {judgement.detail}" if judgement.detail else ""
        return fill('<p class="eh-small out">no verdict{}</p>', detail)
    offered = parse_arrangement(judgement.ask.labels)
    if len(shown) == 1 and offered.is_pass_fail:
        word = "passed" if verdict.scores and verdict.scores[0] else "failed"
        return fill('<p class="eh-small out">{} <b>{}</b></p>', word, shown[0])
    if verdict.pick is None:
        scores = zip(shown, verdict.scores, strict=False)
        listed = join((fill("{} <b>{}</b>", who, number(score, 1)) for who, score in scores), ", ")
        levels = zip(offered.criteria, verdict.scores[1:], strict=False)
        named = ", ".join(f"{name} {number(level, 1)}" for name, level in levels)
        return fill(
            '<p class="eh-small out">scored {}{}</p>', listed, f": {named}" if named else ""
        )
    if verdict.pick == "tie":
        return Markup('<p class="eh-small out">gave a <b>tie</b></p>')
    much = " by far" if verdict.margin > 1 else ""
    return fill('<p class="eh-small out">picked <b>{}</b>{}</p>', shown[verdict.pick], much)


def _probability_bars(judgement: Judgement) -> Markup:
    """HTML bars of the probability of each label or option, in the colours of the positions; empty
    without probabilities."""
    verdict, ask = judgement.verdict, judgement.ask
    if verdict is None or not verdict.label_probabilities:
        return EMPTY
    names, labels = ask.shown, ask.labels
    if len(names) == 1:  # probabilities of the options, from the lowest to the highest
        names = tuple(_option_names(labels))
        labels = tuple(str(place) for place in range(1, len(names) + 1))
    rows = zip(names, labels, verdict.label_probabilities, strict=False)
    return html.probability_bars(rows, verdict.label_mass)


def _option_names(labels: tuple[str, ...]) -> list[str]:
    """Options of a verdict on one answer, sorted from the lowest score to the highest. `labels`:
    the options in the order shown. Options without scores are named "level 1", "level 2", …
    instead."""
    offered = parse_arrangement(labels)
    if not offered.option_scores:
        return [f"level {rank + 1}" for rank in range(len(offered.options))]
    ranked = sorted(zip(offered.option_scores, offered.options, strict=True))
    return [option for _, option in ranked]


def _reply_html(reply: InspectedReply) -> Markup:
    judgement = reply.judgement
    if not judgement.reply.strip():
        return fill('<div class="eh-txt reply">{}</div>', html.missing(_no_reply_text(judgement)))
    return fill('<div class="eh-txt reply" dir="auto">{}</div>', _highlight_verdict(reply))


def _no_reply_text(judgement: Judgement) -> str:
    if judgement.usable:
        return "The reply was not recorded, only its verdict."
    return "The reply is empty."


def _highlight_verdict(reply: InspectedReply) -> Markup:
    """HTML of the reply without its reasoning part; the verdict, if its place is known, is in a box
    of the chosen position's colour."""
    (_, text), span, verdict = _split_off_reasoning(reply), reply.span, reply.judgement.verdict
    if span is not None:
        skipped = len(reply.judgement.reply) - len(text)
        span = span[0] - skipped, span[1] - skipped
    if span is None or verdict is None or span[1] > MAX_TEXT:
        return text_html(text)
    pick = verdict.pick
    slot = {0: "first", 1: "second"}.get(pick, "tie") if isinstance(pick, int) else "tie"
    before, marker, after = text[: span[0]], text[span[0] : span[1]], text[span[1] :]
    return fill('{}<span class="eh-vd {}">{}</span>{}', before, slot, marker, text_html(after))


def _call_note(judgement: Judgement) -> Markup:
    """HTML note on a readable reply, for example on parameters that were left out of its call;
    empty if there is nothing to note."""
    if not (judgement.usable and judgement.detail):
        return EMPTY
    return fill('<p class="eh-small eh-mute">{}</p>', judgement.detail)


def _contradiction_note(judgement: Judgement) -> Markup:
    """HTML note on a reply whose reasons favour another answer than its verdict; empty for any
    other reply, and for an unusable one."""
    if not judgement.usable or self_contradiction(judgement.reply) != 1:
        return EMPTY
    return Markup(
        '<p class="eh-small"><b>Contradicts itself:</b> the reasons favour another answer than the '
        "verdict. The verdict counts as it was given.</p>"
    )


def _split_off_reasoning(reply: InspectedReply) -> tuple[str, str]:
    """Split a reply into (reasoning, rest) at the tags that enclose reasoning; only older stores
    have such replies. If the verdict was read from the reasoning, return ("", whole reply)."""
    tagged, text = split_reasoning(reply.judgement.reply)
    start = len(reply.judgement.reply) - len(text)
    if reply.span is not None and reply.span[0] < start:
        return "", reply.judgement.reply
    return tagged, text


def _reasoning_drawer(reply: InspectedReply) -> Markup:
    parts = (reply.judgement.reasoning, _split_off_reasoning(reply)[0])
    reasoning = "\n\n".join(part for part in parts if part.strip())
    if not reasoning:
        return EMPTY
    text = fill('<div class="eh-txt reply" dir="auto">{}</div>', text_html(reasoning))
    return html.drawer("The judge's reasoning (not used for the verdict)", text, "soft")


def _repeats_html(replies: Sequence[InspectedReply]) -> Markup:
    """HTML of the repeats in one order: their verdicts, and replies in an expandable part; empty
    without repeats."""
    if not replies:
        return EMPTY
    chips = join(_verdict_or_status(one.judgement) for one in replies)
    bodies = join(_reply_html(one) for one in replies)
    head = fill('<p class="eh-row eh-small again">repeats of this order {}</p>', chips)
    return head + html.drawer(count(len(replies), "more reply"), bodies, "soft")


def _verdict_or_status(judgement: Judgement) -> Markup:
    if judgement.usable and judgement.verdict is not None:
        return verdict_chip(judgement.verdict.pick)
    return status_badge(judgement.status)
