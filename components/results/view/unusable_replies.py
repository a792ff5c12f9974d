"""Explanation for a study whose replies contain no usable verdict: their number by status, the
expected form of a verdict, an example, and the actions that can help."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pandas as pd

from components.filtering.filtered_study import FilteredStudy
from components.filtering.memo import cache_in_filtered_study
from components.html.format import count, dollars, share
from components.html.markup import EMPTY, Markup, fill, join
from components.html.pieces import UNUSABLE_RULE
from components.html.tables.typed_columns import TypedColumn, record_column
from components.inspect.load_comparison import stored_prompt
from components.results.view.next_step_rows import NextStep
from components.results.view.unreadable_share import FORMAT_ADVICE, MANY_UNUSABLE, unreadable_share
from judges.engine.pending_asks import QuoteCache
from judges.rendering.messages import verdict_instruction
from metrics.catalogue.answer_records import UNUSABLE
from metrics.estimation import row_selection
from studies.domain import ERROR_STATUSES, STATUSES, Estimate, Judgement, Rater

MAX_EXAMPLE: Final = 160
"""Maximum characters of the example reply; of a longer reply, only the end is shown."""
SEARCHED_REPLIES: Final = 200
"""Number of the latest unusable replies among which the example is searched."""
CHECKED: Final = "the judge's address and key, and whether its server runs"
EMPTY_FILTERS: Final = ("No verdict passes the filters.", "Remove a filter to see verdicts.")
"""Headline and the sentence below it, if the study has verdicts but the filters leave none."""
EMPTY_STUDY: Final = ("There are no verdicts yet.", "Results appear here while the study runs.")
EXPLANATION_TITLE: Final = "Why there is no verdict"
PROMPT_ON_STUDY: Final = '#eh-judges [data-do*="show prompt"]'
"""CSS selector of the buttons on the Study tab that show a prompt."""


@dataclass(frozen=True)
class UnusableReplies:
    """Number of replies by status, for a study with replies of which none is usable."""

    by_status: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.by_status.values())

    @property
    def only_failed_calls(self) -> bool:
        """Whether no call got a reply, because all failed."""
        return ERROR_STATUSES.issuperset(self.by_status)

    @property
    def consequence(self) -> str:
        """Sentence below the headline: what unusable replies count for, or what to check."""
        failed = f"Failed calls have no reply. Check {CHECKED}."
        return failed if self.only_failed_calls else f"{UNUSABLE_RULE.capitalize()}."

    @property
    def sentence(self) -> str:
        """Sentence with the number of replies by status. It speaks of "calls" if some calls
        failed, and so have no reply."""
        if self.only_failed_calls:
            return f"No call got a reply: {count(self.total, 'call')} failed."
        noun = "calls" if self.by_status.get("error") else "replies"
        verb = "returned" if noun == "calls" else "contains"
        kinds = ", ".join(
            f"{count(self.by_status[status])} {status.replace('_', ' ')}"
            for status in STATUSES
            if self.by_status.get(status)
        )
        if self.total == 1:
            return f"The only {noun[:-1] if noun == 'calls' else 'reply'} is unusable: {kinds}."
        return f"None of the {count(self.total)} {noun} {verb} a usable verdict: {kinds}."


def find_if_all_unusable(filtered: FilteredStudy) -> UnusableReplies | None:
    """The unusable replies of a study; None if a reply is usable or if there are no replies."""
    replies = len(filtered.measured_judge_rows)
    if not replies or filtered.unusable_count < replies:
        return None
    found = filtered.measured_judge_rows["status"].astype(str).value_counts()
    return UnusableReplies({str(status): int(n) for status, n in found.items() if n})


@cache_in_filtered_study
def load_unusable_shares(filtered: FilteredStudy) -> dict[Rater, Estimate]:
    """(judge, prompt) -> share of its replies that are unusable."""
    groups = filtered.measured_judge_rows.groupby(["judge", "prompt"], observed=True)
    estimate = UNUSABLE.estimator.estimate
    return {(str(judge), str(prompt)): estimate(rows) for (judge, prompt), rows in groups}


def unusable_column(shares: Mapping[Rater, Estimate]) -> TypedColumn:
    """Table column of unusable replies, for a table whose rows have the pair (judge, prompt) as
    values."""
    return record_column(UNUSABLE, shares.get)


def unusable_share(rows: pd.DataFrame) -> float:
    return UNUSABLE.estimator.estimate(rows).value or 0.0


def put_format_advice_first_if_needed(
    filtered: FilteredStudy, rater: Rater | None, headline: tuple[str, str]
) -> tuple[str, str]:
    """Return a headline and the sentence below it. If many replies of `rater` cannot be read, the
    headline is the advice to change the verdict format, and the two texts of `headline` move to
    the sentence; otherwise they are unchanged. `rater`: judge and prompt; None means those with
    the largest share of unreadable replies."""
    groups = filtered.measured_judge_rows.groupby(["judge", "prompt"], observed=True)
    shares: dict[Rater, float] = {
        (str(judge), str(prompt)): unreadable_share(rows) for (judge, prompt), rows in groups
    }
    rater = rater or max(shares, key=lambda one: shares[one], default=("", ""))
    unreadable = shares.get(rater, 0.0)
    if unreadable < MANY_UNUSABLE:
        return headline
    prompt = f" to the prompt {rater[1]}" if len({prompt for _, prompt in shares}) > 1 else ""
    told = f"{share(unreadable, 0)} of the replies of {rater[0]}{prompt} cannot be read."
    return FORMAT_ADVICE, " ".join(filter(None, (told, *headline)))


def has_votes(filtered: FilteredStudy) -> bool:
    return bool(row_selection.people_mask(filtered.frame).any())


def explanation_html(filtered: FilteredStudy) -> Markup:
    """HTML that explains unusable replies by an example: the verdict format that the prompt asks
    for, if known, and the end of a reply without a verdict. If no unusable reply has text, the
    reason of the latest one, such as an error of the call. Empty if no unusable reply is found."""
    example = _find_unusable_reply(filtered)
    if example is None:
        return EMPTY
    ask = example.ask
    if example.status in ERROR_STATUSES:
        return fill("<p><b>Latest error of a call to {}:</b> {}</p>", ask.judge, example.detail)
    prompt = stored_prompt(filtered.store, ask.key)
    wanted = verdict_instruction(prompt, ask.labels) if prompt else ""
    lines = [(f"Verdict format of the prompt {ask.prompt}", wanted)] if wanted else []
    came, why = map(_shorten_to_end, (example.reply, example.detail))
    head = "Example of a reply by {}" if came or not why else "A call to {} gave no text"
    lines.append((head.format(ask.judge), came or why or "(empty)"))
    return join(fill("<p><b>{}:</b> {}</p>", name, text) for name, text in lines)


def _find_unusable_reply(filtered: FilteredStudy) -> Judgement | None:
    """The latest unusable reply that passes the filters of judge and prompt; one with text, if
    possible."""
    judges, prompts = (
        {str(v) for v in filtered.measured_judge_rows[c].unique()} for c in ("judge", "prompt")
    )
    latest = filtered.store.latest_judgements(filtered.name, SEARCHED_REPLIES, failures_only=True)
    found = [one for one in latest if one.ask.judge in judges and one.ask.prompt in prompts]
    return next((one for one in found if one.reply.strip()), found[0] if found else None)


def _shorten_to_end(text: str) -> str:
    """The end of a text, where a verdict is expected, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_EXAMPLE else f"… {line[-MAX_EXAMPLE:]}"


def repair_steps(
    filtered: FilteredStudy, unusable: UnusableReplies, *, on_run: bool, may_run: bool = True
) -> list[NextStep]:
    """Rows of next steps for unusable replies: read them; change the prompt (if all calls failed,
    check the judge); ask again. Only the row for reading, if no call can be made again or if
    the reader may not run the study (`may_run` is False). The button of the row "ask again"
    starts the calls if the page shows the Run tab (`on_run`); otherwise it opens that tab."""
    store, name, failed = filtered.store, filtered.name, unusable.only_failed_calls
    read = NextStep(
        "See the failed calls" if failed else "Read the replies",
        f"each with the prompt as sent, and {'its error' if failed else 'why it has no verdict'}",
        unusable_link_label(filtered),
        {"data-select": json.dumps({"status": "failures"})},
    )
    runs = failed and bool(store.status_counts(name).get("pending"))  # Run repeats failed calls too
    missing, retried = QuoteCache(store).quotes_for_run_and_retry(name)
    again = missing if runs else retried
    if not again.asks or not may_run:
        return [read]
    change = NextStep(
        "Change the prompt",
        "a changed prompt makes new calls; the unusable replies stay stored",
        "Edit prompt",
        {"data-tab": "study", "data-to": PROMPT_ON_STUDY},
    )
    told = "the same calls with the same prompt; the replies may be unusable again"
    if failed:
        change = NextStep("Check the judge", CHECKED, "Study", {"data-tab": "study"})
        told = "all calls without a reply"
    opens = {"data-click": "#eh-start" if runs else "#eh-retry"} if on_run else {"data-tab": "run"}
    calls = count(again.asks, "call")
    ask = NextStep(
        "Run" if runs else "Ask again",
        told + ("" if on_run else "; the button opens Run, where the calls are started"),
        f"{f'Run {calls}' if runs else f'Ask {calls} again'}, {dollars(again.dollars)}",
        opens,
    )
    return [change, ask, read] if failed else [read, change, ask]


def unusable_link_label(filtered: FilteredStudy) -> str:
    """Label of a link to the unusable replies (calls, if some failed) that pass the filters, with
    the number of comparisons that Inspect lists: "Open 95 replies of 64 comparisons"."""
    rows = filtered.measured_judge_rows
    rows = row_selection.select_rows(rows, ~row_selection.usable_status_mask(rows))
    listed = row_selection.group_codes(rows, row_selection.COMPARISON_KEY)[1]
    units = "answer" if (rows["options"] == 1).all() else "comparison"
    opened = count(len(rows), row_selection.reply_noun(rows))
    return f"Open {opened} of {count(listed, units)}"
