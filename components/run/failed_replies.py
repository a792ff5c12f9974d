"""Unusable replies and failed attempts on the Run tab: number by kind, an example of each, and
effect on the numbers."""

from typing import Final

import pandas as pd

from components.filtering.filters import judge_rows_or_people_rows
from components.html import pieces, templates
from components.html.format import count, share
from components.html.markup import EMPTY, Markup, join
from components.run.run_facts import RunFacts
from metrics.position.position_measures import consistency
from metrics.win_rates.counting_rules import NO_VERDICT_STATUSES, outcome_rows
from studies.domain import ERROR_STATUSES, STATUSES, USABLE_STATUSES, Judgement, Status
from studies.store.store import Store

html: Final = templates.macros("run/run.html")
MAX_UNREADABLE_SHARE: Final = 0.05
"""Share of unusable replies above which a notice is shown."""


def failed_replies_html(store: Store, facts: RunFacts) -> Markup:
    """HTML panel on what went wrong: the unusable replies by status, each with its number of calls,
    an example and links; and the failed attempts of the run, by judge and reason. If no run is
    active and many replies gave no verdict, a warning comes first. Empty if nothing went wrong."""
    kinds = [s for s in STATUSES if s not in USABLE_STATUSES and facts.counts.get(s)]
    retried = facts.snapshot.failures if facts.snapshot else ()
    if not kinds and not retried:
        return EMPTY
    parts = [
        pieces.panel_heading(
            pieces.failures_title(kinds), f"the latest of each kind; {pieces.UNUSABLE_RULE}"
        )
    ]
    parts += [unreadable_replies_notice_html(store, facts)] if not facts.running else []
    latest = store.latest_judgements(facts.name, 200, failures_only=True) if kinds else []
    rows = []
    for status in kinds:
        example = next((j for j in latest if j.status == status), None)
        rows.append(unusable_replies_row_html(status, facts.counts[status], example))
    parts += [pieces.wrap(html.failures(rows))] if rows else []
    parts += [pieces.wrap(html.failed_attempts(retried))] if retried else []
    return pieces.wrap(html.panel(parts))


def unusable_replies_row_html(
    status: Status,
    asks: int,
    example: Judgement | None,
    *,
    link_example: bool = True,
    link_all: bool = True,
) -> Markup:
    """HTML of one kind of unusable replies: a badge with the status and the number of calls
    (`asks`), then judge, prompt, detail and last part of the reply of `example`. `link_example`
    adds a link that opens the example in Inspect, and `link_all` another one to all replies of this
    status; without `link_example` there is no link at all."""
    who = f"{example.ask.judge}, {example.ask.prompt}" if example else ""
    said = dict.fromkeys((example.detail, example.reply[-200:])) if example else ()
    told = ": ".join(filter(None, said))
    shown = [("Example", {"key": example.ask.key})] if link_example and example else []
    opens = f"Open {count(asks, 'call' if status in ERROR_STATUSES else 'reply')}"
    shown += [(opens, {"status": status})] if link_example and link_all else []
    links = join(pieces.button_html(pieces.Action(*one), small=True) for one in shown)
    badge = pieces.status_badge(status, asks)
    return html.failure(badge, who, told[:400], " ".join(told.split()), links)


def unreadable_replies_notice_html(store: Store, facts: RunFacts) -> Markup:
    """HTML notice if more than 5 % of the calls made returned a reply without a verdict: how many,
    how the consistency would change if they counted as ties, and a link to read them. Calls that
    failed without a reply do not count among them. Empty otherwise."""
    unusable = sum(facts.counts.get(status, 0) for status in NO_VERDICT_STATUSES)
    if unusable <= MAX_UNREADABLE_SHARE * max(1, facts.calls_made):
        return EMPTY
    rate = share(unusable / max(1, facts.calls_made))
    effect = consistency_if_ties_text(store.frame(facts.name))
    text = (
        f"{rate} of {count(facts.calls_made, 'call')} gave an unusable reply. These enter no "
        f"measure, unless the preset counts them as ties{effect}."
    )
    read = pieces.Action(f"Read {count(unusable, 'reply')}", {"status": "failures"})
    return pieces.notice_html("warn", f"{count(unusable, 'reply')} gave no verdict.", text, read)


def consistency_if_ties_text(frame: pd.DataFrame) -> str:
    """Clause that compares the consistency (share of comparisons with the same verdict in every
    order) with its value if unusable replies counted as ties; "" if one of the two is unknown."""
    rows = judge_rows_or_people_rows(frame)
    now, ties = consistency(rows), consistency(outcome_rows(rows, "pooled", "tie"))
    if now.value is None or ties.value is None:
        return ""
    return (
        f"; if they counted as ties, the consistency would be {share(ties.value)} instead of "
        f"{share(now.value)}"
    )
