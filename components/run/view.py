"""What the Run tab says about a study: the finding, the bar, the numbers, the last replies."""

from __future__ import annotations

import time
from typing import Final

from components.drawing.panels import (
    Kpi,
    ReplyRow,
    finding,
    kpi_strip,
    last_replies,
    progress_bar,
    wrap,
)
from components.format import NARROW, count, dollars, duration, interval, safe, share
from components.live import MOST, Picture
from components.run.facts import Facts
from judges.pending import Quote
from judges.runs import Snapshot
from studies.records import EVIDENCE, STATUSES
from studies.store import Store

REPLIES: Final = ("All", "Failures only")


def start_words(left: Quote) -> str:
    """A button names its price."""
    return f"Run {count(left.asks, 'ask')}, {dollars(left.dollars)}"


def retry_words(failed: Quote) -> str:
    return f"Ask the {count(failed.asks)} that failed again, {dollars(failed.dollars)}"


def show_finding(facts: Facts) -> str:
    if facts.recorded:
        return finding(facts.name, "Recorded: nothing to ask. Results shows what it holds.")
    title = f"{facts.name}: {count(facts.done)} of {count(facts.planned)} asked"
    if facts.on and (seconds := _longest_wait(facts.snapshot)):
        title += f", waiting for {duration(max(1, round(seconds)))}"
    return finding(title, _lead(facts))


def _longest_wait(snapshot: Snapshot | None) -> float:
    waits = snapshot.waits if snapshot and snapshot.state == "running" else ()
    return max((wait.seconds for wait in waits), default=0.0)


def _lead(facts: Facts) -> str:
    if facts.paused:
        return f"Paused: no new call. Answers in flight are still stored.{_pause_limit(facts)}"
    if facts.on:
        if _longest_wait(facts.snapshot):
            return "The endpoint asked us to slow down. Nothing is lost, nothing is asked twice."
        return "It goes on if you close this page."
    if facts.missing.asks:
        return "Only what is missing is asked."
    return "All asked. A second run makes no call."


def _pause_limit(facts: Facts) -> str:
    """Where others wait for a place, a pause does not last for ever."""
    longest = facts.snapshot.longest_pause if facts.snapshot else None
    if longest is None:
        return ""
    return f" A run paused for {duration(longest)} is stopped; its answers stay."


def show_progress(facts: Facts) -> str:
    """Ink for evidence, a colour for what is not, hatched for what waits to go again."""
    snapshot, counts = facts.snapshot, facts.counts
    waiting = sum(wait.asks for wait in snapshot.waits) if snapshot and facts.on else 0
    by_status = {status: counts[status] for status in STATUSES if counts.get(status)}
    bar = progress_bar(by_status, facts.planned, waiting=waiting)
    return bar + _reasons(snapshot if facts.on else None)


def _reasons(snapshot: Snapshot | None) -> str:
    """Why it waits, in a line that is always there: nothing moves when it comes and goes."""
    if snapshot is None:
        return ""
    told = "; ".join(snapshot.waiting) or (
        "no limit reached, nothing to retry" if snapshot.rate else "starting"
    )
    if snapshot.state == "paused":
        told = snapshot.reason or "paused by you"
    return wrap(f'<p class="eh-small eh-mute eh-reasons">{safe(told)}</p>')


def show_kpis(facts: Facts, picture: Picture) -> str:
    numbers = [_rate(facts), _left(facts), _spent(facts), _not_evidence(facts)]
    return kpi_strip([*numbers, _first(facts, picture)]) + _from_now_on(facts)


def _from_now_on(facts: Facts) -> str:
    """A study too large to be followed from its first verdict says what its charts leave out."""
    if facts.planned <= MOST:
        return ""
    told = (
        f"A study of {count(facts.planned)} verdicts, too many to draw here: see Results."
        if facts.recorded
        else f"A study of {count(facts.planned)} asks: the first-slot share and the charts here "
        "count only what has come since this tab was first opened on it. Results counts everything."
    )
    return wrap(f'<p class="eh-small eh-mute">{safe(told)}</p>')


def _rate(facts: Facts) -> Kpi:
    snapshot = facts.snapshot
    if snapshot is None or not facts.on:
        return Kpi("Rate", "–", note="no run is on")
    waiting = sum(wait.asks for wait in snapshot.waits)
    note = f"{count(snapshot.in_flight)} at once"
    note += f"; {count(waiting)} waiting to go again" if waiting else ""
    if not snapshot.rate:
        return Kpi("Rate", "–", note=note if snapshot.state == "running" else snapshot.state)
    per_second = snapshot.rate >= 1
    value = snapshot.rate if per_second else 60 * snapshot.rate
    return Kpi("Rate", f"{value:.1f}", "asks/s" if per_second else "asks/min", note)


def _left(facts: Facts) -> Kpi:
    snapshot = facts.snapshot
    if snapshot is None or not facts.on:
        return _took(facts)
    started = f"started {_clock(snapshot.started)}"
    if snapshot.eta is None:
        so_far = duration(time.time() - snapshot.started)
        return Kpi("Left", "–", note=f"{started}, {so_far} so far")
    ends = _clock(time.time() + snapshot.eta)
    return Kpi("Left", duration(snapshot.eta), note=f"{started}, ends about {ends}")


def _took(facts: Facts) -> Kpi:
    """When nothing runs: how long the last run took."""
    last = facts.last
    if last is None:
        return Kpi("Last run", "–", note="not started")
    if last.ended is None:
        return Kpi("Last run", "–", note=f"{last.state}, started {_clock(last.started)}")
    return Kpi(
        "Last run", duration(last.ended - last.started), note=f"{last.state} {_clock(last.ended)}"
    )


def _clock(at: float) -> str:
    """The time, with the day if it is not today."""
    then, now = time.localtime(at), time.localtime()
    return time.strftime("%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)


def _spent(facts: Facts) -> Kpi:
    """Against the budget, with the forecast in grey behind it."""
    snapshot = facts.snapshot if facts.on else None
    end = _at_the_end(facts)
    notes = []
    if end and (facts.on or (facts.budget and facts.missing.asks)):
        notes.append(f"about {dollars(end)} at the end")
    if snapshot and snapshot.unpriced:
        notes.append(f"{count(snapshot.unpriced, 'call')} at an unknown price")
    if snapshot and snapshot.untold:
        notes.append(f"{count(snapshot.untold, 'call')} did not tell what they used")
    if facts.doubtful:
        notes.append(f"{count(facts.doubtful)} possibly paid twice")
    if not facts.budget:
        return Kpi("Spent", _so_far(facts), note="; ".join(notes) or "no budget set")
    meter = (facts.spent / facts.budget, (end or facts.spent) / facts.budget)
    unit = f"of {dollars(facts.budget)}"
    return Kpi("Spent", _so_far(facts), unit, "; ".join(notes), meter=meter)


def _so_far(facts: Facts) -> str:
    """Nothing spent is $0, unless asking costs nothing at all."""
    free = facts.spent == 0 and (facts.on or facts.missing.dollars == 0) and not facts.budget
    return dollars(facts.spent) if facts.spent or free else "$0"


def _at_the_end(facts: Facts) -> float | None:
    """Dollars of the study when all is asked."""
    if facts.snapshot is not None and facts.on:
        expected = facts.snapshot.expected
        return None if expected is None else facts.snapshot.spent_before + expected
    return None if facts.missing.dollars is None else facts.spent + facts.missing.dollars


def _not_evidence(facts: Facts) -> Kpi:
    counts = facts.counts
    kinds = [status for status in STATUSES if status not in EVIDENCE and counts.get(status)]
    failures = sum(counts[status] for status in kinds)
    if not failures:
        note = "every reply was read" if facts.done else "nothing asked yet"
        return Kpi("Not evidence", "0", f"of {count(facts.done)}", note)
    told = ", ".join(f"{count(counts[status])} {status.replace('_', ' ')}" for status in kinds)
    rate = share(failures / max(1, facts.done))
    return Kpi(
        "Not evidence", count(failures), f"of {count(facts.done)}", f"{rate}: {told}",
        link=f"Open {count(failures)}", select={"status": "failures"},
    )  # fmt: skip


def _first(facts: Facts, picture: Picture) -> Kpi:
    estimate = picture.share
    if estimate.value is None:
        note = estimate.note or "nothing read in all orders yet"
        if facts.done and not picture.rows:
            note = "see Results" if facts.recorded else "no verdict since this tab was opened"
        return Kpi("First-slot share", "–", note=note)
    bounds = interval(estimate, 1, scale=100)
    note = f"{bounds}, n {count(estimate.n)}; even is {share(1 / picture.options, 0)}"
    return Kpi("First-slot share", share(estimate.value, 1), note=note)


def show_replies(store: Store, name: str, which: str) -> str:
    latest = store.latest(name, 8, failures_only=which == REPLIES[1])
    if not latest:
        none = "No failures." if which == REPLIES[1] else "No replies yet."
        return wrap(f'<p class="eh-small eh-mute">{none}</p>')
    judges = {spec.name for spec in store.study(name).judges} | {j.ask.judge for j in latest}
    return last_replies(
        [
            ReplyRow(
                j.status,
                j.verdict.pick if j.verdict and j.readable else None,
                j.ask.shown,
                j.reply or j.detail,
                {"key": j.ask.key},
                j.ask.judge if len(judges) > 1 else "",
            )
            for j in latest
        ]
    )


CHARTS: Final = (
    ("First-slot share", f"decisive verdicts, 95{NARROW}% CI; do not stop on it", "eh-live-share"),
    ("Elo", "in the order of arrival, K 4", "eh-live-elo"),
    ("Win rate", f"%, 95{NARROW}% CI, ties as half", "eh-live-wins"),
)
"""Title, subtitle and id of the figures that move."""
