"""Status of a study on the Run tab: headline, progress bar, key figures, latest replies."""

import time
from typing import Final

from components.html.format import (
    NARROW_SPACE,
    count,
    dollars,
    duration,
    interval,
    share,
    spaced_ci,
    tokens,
)
from components.html.markup import EMPTY, Markup, fill
from components.html.pieces import Kpi, failures_title, finding_html, kpi_strip, share_kpi, wrap
from components.html.run_progress import ReplyRow, last_replies_html, progress_bar
from components.run.live_figures import MAX_FOLLOWED_ASKS, LiveFigures
from components.run.run_facts import RunFacts
from judges.engine.pending_asks import CostQuote
from judges.engine.snapshot import RunSnapshot
from metrics.catalogue.position_records import FLIPS
from studies.domain import ERROR_STATUSES, STATUSES, USABLE_STATUSES
from studies.store.store import Store

REPLY_SCOPES: Final = ("All", "Unusable only")


def start_button_text(left: CostQuote) -> str:
    """Label of the start button, with the number of calls and the price."""
    return f"Run {count(left.asks, 'call')}, {dollars(left.dollars)}"


def retry_button_text(facts: RunFacts) -> str:
    asks, price = facts.failed
    if facts.retry_includes_unreadable:
        return f"Ask {count(asks, 'call')} again, {dollars(price)}"
    return f"Retry {count(asks, 'failed call')}, {dollars(price)}"


def run_headline_html(facts: RunFacts, study_headline: str = "") -> Markup:
    """HTML headline of the tab: the progress, or `study_headline` once every call has been made;
    for recorded verdicts, that there are no calls to make."""
    if facts.has_recorded_verdicts:
        return finding_html(
            facts.name,
            "This study has recorded verdicts, so there are no calls to make. See Results.",
        )
    if not facts.planned:
        state = "the calls are being prepared" if facts.running else "no calls are planned yet"
        return finding_html(f"{facts.name}: {state}", "")
    title = f"{facts.name}: {count(facts.reply_count)} of {count(facts.planned)} calls done"
    if facts.complete and study_headline:
        return finding_html(study_headline, f"{title}. {_run_state_text(facts)}")
    if facts.running and (seconds := _longest_wait(facts.snapshot)):
        title += f", waiting for {duration(max(1, round(seconds)))}"
    return finding_html(title, _run_state_text(facts))


def _longest_wait(snapshot: RunSnapshot | None) -> float:
    waits = snapshot.waits if snapshot and snapshot.state == "running" else ()
    return max((wait.seconds for wait in waits), default=0.0)


def _run_state_text(facts: RunFacts) -> str:
    if facts.paused:
        return (
            f"The run is paused: no new calls are made. Replies to calls already sent are still "
            f"stored.{_pause_limit_sentence(facts)}"
        )
    if facts.running:
        if _longest_wait(facts.snapshot):
            return "The judge's endpoint limits the rate of calls. No call is lost or made twice."
        return "The run continues if you close this page."
    if facts.missing.asks:
        return "A run makes only the calls whose replies are not stored yet."
    return "All replies are stored; another run makes no calls."


def _pause_limit_sentence(facts: RunFacts) -> str:
    """Sentence on the longest pause allowed on a public page; "" if there is no limit."""
    longest = facts.snapshot.longest_pause if facts.snapshot else None
    if longest is None:
        return ""
    return f" A run that stays paused for {duration(longest)} is stopped; its replies are kept."


def progress_bar_html(facts: RunFacts) -> Markup:
    """HTML progress bar by status (hatched: calls that wait for a retry), and why calls wait."""
    snapshot, counts = facts.snapshot, facts.counts
    waiting = sum(wait.asks for wait in snapshot.waits) if snapshot and facts.running else 0
    by_status = {status: counts[status] for status in STATUSES if counts.get(status)}
    bar = progress_bar(by_status, facts.planned, waiting=waiting)
    return bar + _wait_reasons(snapshot if facts.running else None)


def _wait_reasons(snapshot: RunSnapshot | None) -> Markup:
    """HTML line on why calls wait. It is shown during the whole run, even if no call waits, so that
    the page does not jump."""
    if snapshot is None:
        return EMPTY
    told = "; ".join(snapshot.wait_texts) or (
        "no call waits for a rate limit or for a retry" if snapshot.rate else "starting"
    )
    if snapshot.state == "paused":
        told = snapshot.reason or "paused by you"
    return wrap(fill('<p class="eh-small eh-mute eh-reasons">{}</p>', told))


def run_kpis_html(facts: RunFacts, figures: LiveFigures) -> Markup:
    first = _speed_or_flips_kpi(facts, figures)
    repeated = facts.complete and figures.repeats.value is not None
    same_order = "" if figures.judges_single_answers else " in the same order"
    second = (
        share_kpi("Changed on a repeat", figures.repeats, after=f" calls repeated{same_order}")
        if repeated
        else _time_left_kpi(facts)
    )
    cost = _finished_study_cost_kpi(facts) if facts.complete else _spent_kpi(facts)
    last = (
        _pass_rate_or_score_kpi(facts, figures)
        if figures.judges_single_answers
        else _first_slot_share_kpi(facts, figures)
    )
    strip = kpi_strip([first, second, cost, _unusable_replies_kpi(facts), last])
    return strip + (early_stop_note(figures) if facts.running else EMPTY) + _large_study_note(facts)


def _large_study_note(facts: RunFacts) -> Markup:
    """HTML note for a study with more than MAX_FOLLOWED_ASKS calls: that this tab counts only
    replies since it was opened or, for recorded verdicts, draws none. Empty for other studies."""
    if facts.planned <= MAX_FOLLOWED_ASKS:
        return EMPTY
    told = (
        f"This study has {count(facts.planned)} verdicts, too many to draw here: see Results."
        if facts.has_recorded_verdicts
        else f"This study has {count(facts.planned)} calls. The numbers and charts here count "
        "only replies since this tab was opened. The Results tab counts all replies."
    )
    return wrap(fill('<p class="eh-small eh-mute">{}</p>', told))


def _speed_or_flips_kpi(facts: RunFacts, figures: LiveFigures) -> Kpi:
    """Key figure: the speed of the active run; a dash if there is none or it is not measured yet.
    Once all calls are made, instead the share of comparisons whose verdict changes with the order,
    if it is known."""
    snapshot = facts.snapshot
    if facts.complete and figures.changed.value is not None:
        return share_kpi(FLIPS.name, figures.changed)
    if snapshot is None or not facts.running:
        return Kpi("Speed", "–", note="no active run")
    waiting = sum(wait.asks for wait in snapshot.waits)
    note = f"{count(snapshot.in_flight, 'call')} at once"
    note += f"; {count(waiting)} waiting for a retry" if waiting else ""
    if not snapshot.rate:
        return Kpi("Speed", "–", note=note if snapshot.state == "running" else snapshot.state)
    per_second = snapshot.rate >= 1
    value = snapshot.rate if per_second else 60 * snapshot.rate
    return Kpi("Speed", f"{value:.1f}", "calls/s" if per_second else "calls/min", note)


def _time_left_kpi(facts: RunFacts) -> Kpi:
    """Key figure: the time left of the active run (a dash if it is unknown); without an active run,
    the duration of the last one."""
    snapshot = facts.snapshot
    if snapshot is None or not facts.running:
        return _last_run_kpi(facts)
    started = f"started {_clock_time(snapshot.started)}"
    if snapshot.eta is None:
        so_far = duration(time.time() - snapshot.started)
        return Kpi("Time left", "–", note=f"{started}, {so_far} so far")
    ends = _clock_time(time.time() + snapshot.eta)
    return Kpi("Time left", duration(snapshot.eta), note=f"{started}, ends about {ends}")


def _last_run_kpi(facts: RunFacts) -> Kpi:
    """Key figure on the duration and end of the last run, shown while no run is active; a dash if
    there was none or its end is not recorded."""
    last = facts.last
    if last is None:
        return Kpi("Last run", "–", note="not started")
    if last.ended is None:
        return Kpi("Last run", "–", note=f"{last.state}, started {_clock_time(last.started)}")
    return Kpi(
        "Last run",
        duration(last.ended - last.started),
        note=f"{last.state} {_clock_time(last.ended)}",
    )


def _clock_time(at: float) -> str:
    """The local time of day of a timestamp, with the date if it is not today."""
    then, now = time.localtime(at), time.localtime()
    return time.strftime("%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)


def _spent_kpi(facts: RunFacts) -> Kpi:
    """Key figure of dollars spent, with the budget (if set) and the expected total."""
    snapshot = facts.snapshot if facts.running else None
    end = _expected_total_dollars(facts)
    notes = []
    if end and (facts.running or (facts.budget and facts.missing.asks)):
        notes.append(f"about {dollars(end)} at the end")
    if facts.unpriced:
        notes.append(f"{count(facts.unpriced, 'attempt')} at an unknown price")
    if snapshot and snapshot.unknown_usage:
        notes.append(f"{count(snapshot.unknown_usage, 'call')} without token counts")
    if facts.maybe_paid_twice:
        notes.append(f"{count(facts.maybe_paid_twice)} possibly paid twice")
    notes = notes or ([] if facts.budget else ["no budget set"])
    return _cost_kpi("Spent", facts, notes, end)


def _finished_study_cost_kpi(facts: RunFacts) -> Kpi:
    """Key figure of the cost of a finished study, with the forecast, the calls, the tokens and the
    duration of the last run."""
    notes, forecast, made = [], facts.forecast, facts.made
    if forecast is not None and forecast.dollars:
        notes.append(f"forecast {dollars(forecast.dollars)} for {count(forecast.asks, 'call')}")
    if made.calls:
        notes.append(f"{count(made.calls, 'attempt')}, {tokens(made.tokens)} tokens")
    if facts.last is not None and facts.last.ended is not None:
        notes.append(f"last run {duration(facts.last.ended - facts.last.started)}")
    if facts.unpriced:
        notes.append(f"{count(facts.unpriced, 'attempt')} at an unknown price")
    if facts.maybe_paid_twice:
        notes.append(f"{count(facts.maybe_paid_twice)} possibly paid twice")
    notes = notes or ([] if facts.budget else ["no call was made"])
    return _cost_kpi("Cost", facts, notes, forecast.dollars if forecast else None)


def _cost_kpi(label: str, facts: RunFacts, notes: list[str], expected: float | None) -> Kpi:
    """Key figure of dollars spent, with `notes` below. If a budget is set, also a bar with the
    spent and the `expected` part of it."""
    spent, note = _spent_text(facts), "; ".join(notes)
    if not facts.budget:
        return Kpi(label, spent, note=note)
    meter = (facts.spent / facts.budget, (expected or facts.spent) / facts.budget)
    return Kpi(label, spent, f"of {dollars(facts.budget)}", note, meter=meter)


def _spent_text(facts: RunFacts) -> str:
    """Dollars spent, as text. If none are recorded: "unknown" if calls had an unknown price or no
    token counts; "free" if the expected cost is 0 and no budget is set; else "$0"."""
    snapshot = facts.snapshot if facts.running else None
    if facts.spent:
        return dollars(facts.spent)
    if facts.unpriced or (snapshot and snapshot.unknown_usage):
        return "unknown"
    expected = snapshot.expected_dollars if snapshot else facts.missing.dollars
    return dollars(0) if expected == 0 and not facts.budget else "$0"


def _expected_total_dollars(facts: RunFacts) -> float | None:
    """Expected dollars of the study once all calls are made; None if unknown."""
    if facts.snapshot is not None and facts.running:
        expected = facts.snapshot.expected_dollars
        return None if expected is None else facts.snapshot.spent_before + expected
    return None if facts.missing.dollars is None else facts.spent + facts.missing.dollars


def _unusable_replies_kpi(facts: RunFacts) -> Kpi:
    counts = facts.counts
    kinds = [status for status in STATUSES if status not in USABLE_STATUSES and counts.get(status)]
    failures = sum(counts[status] for status in kinds)
    if not failures:
        note = "every reply has a verdict" if facts.reply_count else "no replies yet"
        return Kpi("Unusable replies", "0", f"of {count(facts.calls_made)}", note)
    told = ", ".join(f"{count(counts[status])} {status.replace('_', ' ')}" for status in kinds)
    note = f"{share(failures / max(1, facts.calls_made))}: {told}"
    if facts.complete and facts.offers_retry:
        failed = facts.failed
        note += f"; asking again: {count(failed.asks, 'call')}, {dollars(failed.dollars)}"
    link = f"Open {count(failures, 'call' if ERROR_STATUSES.intersection(kinds) else 'reply')}"
    return Kpi(
        failures_title(kinds), count(failures), f"of {count(facts.calls_made)}", note,
        link=link, select={"status": "failures"},
    )  # fmt: skip


def _first_slot_share_kpi(facts: RunFacts, figures: LiveFigures) -> Kpi:
    estimate = figures.share
    if estimate.value is None:
        note = estimate.note or "no item has verdicts in all orders yet"
        note = _no_drawn_replies_reason(facts, figures) or note
        return Kpi("Verdicts for the answer shown first", "–", note=note)
    bounds = interval(estimate, 1, scale=100)
    note = f"{bounds}, n {count(estimate.n)}; ".removeprefix(", ")
    note += f"{share(1 / figures.options, 0)} is even"
    note += "; do not use this interval to decide when to stop" if facts.running else ""
    return Kpi("Verdicts for the answer shown first", share(estimate.value, 1), note=note)


def _no_drawn_replies_reason(facts: RunFacts, figures: LiveFigures) -> str:
    """Why no reply is drawn although some are stored: they were recorded, or came before this tab
    was opened on a large study; "" otherwise."""
    if figures.rows or not facts.reply_count:
        return ""
    return "see Results" if facts.has_recorded_verdicts else "no verdict since this tab was opened"


def _pass_rate_or_score_kpi(facts: RunFacts, figures: LiveFigures) -> Kpi:
    """Key figure of the pass rate or the mean score of single answers."""
    name, estimate = figures.of_answers
    if estimate.value is None:
        note = _no_drawn_replies_reason(facts, figures) or estimate.note or "no usable verdict yet"
        return Kpi(name, "–", note=note)
    note = f"{interval(estimate, 1, scale=100)}, n {count(estimate.n)}".removeprefix(", ")
    note += "; do not use this interval to decide when to stop" if facts.running else ""
    return Kpi(name, share(estimate.value, 1), note=note)


def early_stop_note(figures: LiveFigures) -> Markup:
    """HTML note on whether the run may be stopped early. It looks at items whose verdicts favour
    one of the first two positions, and at the share of them that favours the first. The run may be
    stopped once the interval of this share, which is valid at every moment of a run, excludes 50 %.
    Empty without such items."""
    votes = figures.sequence
    if votes.value is None or votes.low is None or votes.high is None:
        return EMPTY
    inside = votes.low <= 0.5 <= votes.high
    stop = "You may stop the run when" if inside else "You may stop the run now:"
    text = (
        f"Of {count(votes.n, 'item')} whose verdicts favour one position, {share(votes.value, 1)}"
        f"{spaced_ci(votes, 1, scale=100)} favour the first. This interval is valid at any time "
        f"of the run. {stop} the interval excludes {share(0.5, 0)}."
    )
    return wrap(fill('<p class="eh-small" id="eh-live-stop">{}</p>', text))


def latest_replies_html(store: Store, name: str, scope: str) -> Markup:
    latest = store.latest_judgements(name, 8, failures_only=scope == REPLY_SCOPES[1])
    if not latest:
        none = "No unusable replies." if scope == REPLY_SCOPES[1] else "No replies yet."
        return wrap(fill('<p class="eh-small eh-mute">{}</p>', none))
    judges = {spec.name for spec in store.study(name).judges} | {j.ask.judge for j in latest}
    questions = store.questions(name, {j.ask.item for j in latest})
    return last_replies_html(
        [
            ReplyRow(
                j.status,
                j.verdict.pick if j.verdict and j.usable else None,
                j.ask.shown,
                j.reply or j.detail,
                {"key": j.ask.key},
                j.ask.judge if len(judges) > 1 else "",
                questions.get(j.ask.item, ""),
            )
            for j in latest
        ]
    )


LIVE_CHARTS: Final = (
    (
        "Verdicts for the answer shown first",
        f"% of verdicts, ties left out; 95{NARROW_SPACE}% CI, not to be used to decide when "
        "to stop the run",
        "eh-live-share",
    ),
    ("Elo", "Elo rating after each verdict, in the order of arrival; K-factor 4", "eh-live-elo"),
    (
        "Win rate",
        "mean over complete items of the % of comparisons won on the item (a tie is half a win); "
        f"95{NARROW_SPACE}% bounds, valid at any time of the run",
        "eh-live-wins",
    ),
)
"""Title, subtitle and element id of each live chart."""
