"""Notices of the Run tab: what happened, how often, the effect on the numbers, and at most one
button.

The kind of a notice is `calm` for information, `warn` for a problem that affects numbers or speed,
and `bad` for one that stops the work until the user acts. A click on the button sends {"do": …}, on
which `actions_tab.RunActions` acts."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from components.html.format import count, dollars, duration
from components.html.markup import EMPTY, Markup, join
from components.html.pieces import Action, notice_html
from components.run.run_facts import KEY_REASONS, RunFacts
from components.run.status_html import start_button_text
from judges.engine.snapshot import JudgeWait, RunSnapshot
from studies import settings
from studies.sharing.hub_backup import snapshot_repo_and_token as kept_elsewhere
from studies.store.store import Store

NOTICED_ATTEMPTS: Final = 3
"""Number of attempts at one call from which a notice on retries is shown."""
BUDGET_HEADROOM: Final = 1.25
"""Factor by which the remaining cost is multiplied to propose a higher budget, because a call in
flight counts at its maximum cost."""


READ_ONLY_TEXT: Final = (
    "Only the owner can run this study. To get a copy of your own, edit the study on the Study tab."
)


def study_notices_html(facts: RunFacts) -> Markup:
    """HTML of all notices on a study. A visitor who does not own it sees only that it is read-only,
    or nothing if its verdicts are recorded."""
    if not facts.owned:
        return (
            EMPTY
            if facts.has_recorded_verdicts
            else notice_html(
                "calm", "Read-only: this study belongs to another user.", READ_ONLY_TEXT
            )
        )
    return join(
        [
            *_key_consent_and_host_notices(facts),
            *_run_notices(facts),
            *_last_run_notices(facts),
            *_cost_notices(facts),
        ]
    )


def _key_consent_and_host_notices(facts: RunFacts) -> Iterator[str]:
    """Notices on keys: one for each environment variable that needs the user's consent, and one if
    keys for several hosts are missing (the Run tab has a field for one key only)."""
    for variable, origin in facts.unconfirmed:
        allow = {"do": "allow", "variable": variable, "origin": origin}
        yield notice_html(
            "warn", f"This study wants to send ${variable} to {origin}.",
            "Nothing is sent until you allow it. Allow it only if you trust that host with this "
            "key.",
            Action(f"Allow ${variable} for {origin}", allow),
        )  # fmt: skip
    if len(facts.key_origins) > 1:
        yield notice_html(
            "bad", f"API keys are needed for {len(facts.key_origins)} hosts.",
            f"{', '.join(facts.key_origins)}: edit the study on the Study tab and type each "
            "judge's key there.",
        )  # fmt: skip


def store_notices_html(store: Store) -> Markup:
    """HTML notices on the store: that its file was restored, if it was; and, on a Space, that files
    are lost at a restart. Empty without either."""
    if store.file_watch.notice:
        cause = _end_with_full_stop(store.file_watch.notice)
        text = f"{cause} Find out which program deletes the store."
        return notice_html("warn", "The store file was restored.", text) + _space_storage_notice()
    return _space_storage_notice()


def _space_storage_notice() -> Markup:
    """HTML notice that a Space loses its files at a restart, and whether the store has a backup;
    empty elsewhere."""
    if not settings.is_space():
        return EMPTY
    text = "A Hugging Face Space loses its files at every restart."
    if kept_elsewhere():
        text += (
            " The store is copied to a private dataset every few minutes, and restored when the "
            "Space starts."
        )
        return notice_html("calm", "The store is backed up outside this Space.", text)
    text += " This Space has no backup of the store: download what you need under Share."
    return notice_html("warn", "Temporary storage.", text)


def _run_notices(facts: RunFacts) -> Iterator[str]:
    snapshot = facts.snapshot
    if snapshot is None:
        return
    for judge, names in snapshot.dropped_reply_parameters:
        text = (
            f"{judge} refuses the setting {names}, so calls are sent without it. Their replies "
            "are marked, and stored apart from replies with this setting."
        )
        yield notice_html("calm", f"Calls are sent without {names}.", text)
    if facts.running and facts.paused and snapshot.reason:
        text = (
            f"{snapshot.reason}. Received replies are held in memory, and no further call is made "
            "until the store can be written."
        )
        yield notice_html(
            "bad", "The store cannot be written.", text, Action("Try again", {"do": "go"})
        )
    if facts.running and snapshot.state == "running":
        yield from (_rate_limit_notice(waits) for waits in _group_rate_limit_waits(snapshot.waits))
        others = (wait for wait in snapshot.waits if wait.kind != "cooling")
        yield from (
            _wait_notice(wait, snapshot) for wait in others if not is_wait_shown_in_one_line(wait)
        )
        if snapshot.reason:
            yield notice_html(
                "calm", "Stopping.", "Replies to calls already sent are still stored."
            )


def is_wait_shown_in_one_line(wait: JudgeWait) -> bool:
    """Whether the reason why a judge waits is shown in one line; if not, it gets a notice of its
    own. One line is enough if calls are slow, if fewer calls per second are made after a rate limit
    ("paced"), or if the retried calls had fewer than NOTICED_ATTEMPTS attempts."""
    return wait.kind in ("paced", "slow") or (
        wait.kind == "retry" and wait.max_attempts_made < NOTICED_ATTEMPTS
    )


def _wait_notice(wait: JudgeWait, snapshot: RunSnapshot) -> Markup:
    if wait.kind == "retry":
        leave = Action(f"Continue without {wait.judge}", {"do": "leave_out", "judge": wait.judge})
        text = f"{wait.judge}: {wait.why}. Calls are retried with growing delays; nothing is lost."
        return notice_html("warn", "Retrying.", text, leave if len(snapshot.judges) > 1 else None)
    if wait.kind == "elsewhere":
        text = (
            f"{wait.judge}: {wait.why}. The other run's replies count in this study too; no call "
            "is paid for twice."
        )
        return notice_html("calm", "Waiting for another run.", text)
    kind = "Budget reached." if wait.kind == "budget" else f"{wait.judge} was stopped."
    rest = "The other judges continue; the calls of this judge wait for the next run."
    return notice_html("bad", kind, f"{_end_with_full_stop(wait.why)} {rest}")


def _group_rate_limit_waits(waits: tuple[JudgeWait, ...]) -> list[list[JudgeWait]]:
    """The judges that pause because of a rate limit, in groups: judges of one endpoint share a rate
    limiter, and so a notice."""
    found: dict[int, list[JudgeWait]] = {}
    for wait in waits:
        if wait.kind == "cooling":
            found.setdefault(wait.limiter, []).append(wait)
    return list(found.values())


def _rate_limit_notice(waits: list[JudgeWait]) -> Markup:
    one = max(waits, key=lambda wait: wait.allowed_in_flight)  # judges may have limits of their own
    who = " and ".join(wait.judge for wait in waits)
    asks = sum(wait.asks for wait in waits)
    left = duration(max(1, round(one.seconds)))
    told = f"{count(asks, 'call')} continue" if asks else "calls continue"
    then = f"with at most {one.allowed_in_flight} calls at once"
    then += f" instead of {one.ceiling}" if one.allowed_in_flight < one.ceiling else ""
    text = (
        f"{who} returned HTTP 429 (too many requests). In **{left}**, {told} {then}. Waiting "
        "costs nothing."
    )
    fewer = max(1, one.allowed_in_flight // 2)
    lower = {"do": "at_most", "judge": one.judge, "calls": fewer}
    action = (
        Action(f"Continue with {fewer} at once", lower) if fewer < one.allowed_in_flight else None
    )
    return notice_html("warn", "Rate limit reached.", text, action)


def _last_run_notices(facts: RunFacts) -> Iterator[str]:
    last = facts.last
    if facts.running or last is None:
        return
    kept = f"{count(facts.reply_count, 'reply')} of {count(facts.planned, 'call')} are stored."
    start = (
        Action(start_button_text(facts.missing), {"do": "start"}) if facts.missing.asks else None
    )
    if last.state in ("running", "paused"):
        text = (
            f"In the other process, the run is {last.state}; {count(facts.reply_count)} of "
            f"{count(facts.planned)} calls are done. A run started here makes no call twice. "
            "Reopen this tab to update the numbers."
        )
        yield notice_html("calm", "Another process is running this study.", text)
    elif last.state == "interrupted" and facts.missing.asks:
        text = f"The process of the run ended. {kept} Missing: {count(facts.missing.asks, 'call')}."
        yield notice_html("warn", "The last run was interrupted.", text, start)
    elif "budget reached" in last.reason and facts.missing.asks:
        why = _end_with_full_stop(last.reason.removeprefix("budget reached: "))
        yield notice_html("bad", "Budget reached.", f"{why} {kept}", _higher_budget_action(facts))
    elif last.state == "failed":
        needs_key = any(words in last.reason for words in KEY_REASONS)
        text = f"{_end_with_full_stop(last.reason)} {kept}"
        if not needs_key:
            text += " Run it again, or change the judge on the Study tab, step 2."
        yield notice_html("bad", "The last run failed.", text, None if needs_key else start)
    elif last.state == "stopped" and facts.missing.asks:
        mine = last.reason == "stopped by you"
        title = "Stopped by you." if mine else "Stopped."
        why = "" if mine else f"{_end_with_full_stop(last.reason)} "
        text = f"{why}{kept} Missing: {count(facts.missing.asks, 'call')}."
        yield notice_html("calm", title, text, start)


def _higher_budget_action(facts: RunFacts) -> Action | None:
    """Button that starts a run with a budget high enough for the missing calls; None if their cost
    is unknown."""
    if facts.missing.dollars is None:
        return None
    budget = raised_budget(facts)
    words = (
        f"Raise the budget of this run to {dollars(budget)} and make "
        f"{count(facts.missing.asks, 'call')}"
    )
    return Action(words, {"do": "raise", "budget": budget})


def raised_budget(facts: RunFacts) -> float:
    whole = facts.spent + BUDGET_HEADROOM * (facts.missing.dollars or 0.0)
    return round(max(whole, 1.1 * (facts.budget or 0.0)) + 0.005, 2)


def _cost_notices(facts: RunFacts) -> Iterator[str]:
    snapshot = facts.snapshot if facts.running else None
    if facts.maybe_paid_twice:
        text = (
            f"{count(facts.maybe_paid_twice, 'call')} had been sent when the process was killed "
            "and are made again. If a call is billed both times, the total above contains only its "
            "second charge."
        )
        yield notice_html("calm", "Possibly paid twice.", text)
    if snapshot and snapshot.unknown_usage:
        text = (
            f"{count(snapshot.unknown_usage, 'call')} returned no token counts, so their cost is "
            "unknown. The total above leaves them out; the budget counts their maximum cost."
        )
        yield notice_html("warn", "Unknown token counts.", text)
    if snapshot and snapshot.unpriced:
        text = (
            f"{count(snapshot.unpriced, 'attempt')}, failed ones included, went to a judge without "
            "a price and are not in the total above. Set its price on the Study tab."
        )
        yield notice_html("warn", "Unknown price.", text)


def _end_with_full_stop(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def key_request_notice(facts: RunFacts) -> Markup:
    """HTML request to type a missing key, which says for which judges, and to which hosts it is
    sent; typed keys are kept in memory only."""
    who = " and ".join(facts.judges_without_key)
    text = (
        f"Keys are held in memory only, so type the key again. Waiting for "
        f"it: {count(facts.missing.asks, 'call')}; stored: {count(facts.reply_count, 'reply')}."
    )
    where = " and ".join(facts.key_origins)
    return notice_html("bad", f"A key is needed for {who}; the key is sent to {where} only.", text)


def parse_notice_click(data: object) -> Mapping[str, Any]:
    """The action that the browser sent for a button in a notice; empty if it is malformed."""
    return data if isinstance(data, Mapping) and isinstance(data.get("do"), str) else {}
