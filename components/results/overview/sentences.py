"""Sentences of the Overview: the effect of swapping the answers, and the agreement with people."""

from __future__ import annotations

from components.html.format import join_names, share
from components.results.agreement.computed import Agreement
from components.results.agreement.panels import agreement_finding
from components.results.bias.computed import Bias
from components.results.bias.flip_leans import flip_leans
from components.results.bias.sentences import bias_finding, repeat_clause


def swap_sentence(bias: Bias) -> str:
    """Sentence on the verdicts changed by a swap, and on judges that decide by position."""
    rows = [row for row in flip_leans(bias) if row.pairs] if bias.options == 2 else []
    if not bias.calls or not rows:
        return bias_finding(bias)[0]
    rate = share(sum(row.flips for row in rows) / sum(row.pairs for row in rows), 0)
    by_position = [row.name for row in rows if row.order_decides and row.flips_one_way]
    repeat = repeat_clause(bias)
    if not by_position:
        return f"{rate} of comparisons flip when the answers are swapped{repeat}."
    verb = "decides" if len(by_position) == 1 else "decide"
    return (
        f"{rate} of comparisons flip when the answers are swapped{repeat}; "
        f"{join_names(by_position)} {verb} mostly by position."
    )


def people_sentence(data: Agreement) -> str:
    """Sentence on the judges closest to people, with the agreement of two people if it is known."""
    title, _ = agreement_finding(data)
    pair = data.among_voters.pair.share.value if data.raters.has_people else None
    return (
        f"{title} Two people who vote on the same pair agree in {share(pair, 0)} of cases."
        if pair is not None and data.judges
        else title
    )
