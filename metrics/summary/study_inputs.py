"""Facts on a stored study that its summary needs besides the frame: order of judges, source of the
better answers, prices, and style of the answers."""

from collections.abc import Sequence
from typing import Final

from metrics.remedies.known_winners import DESIGN, PEOPLE, WinnerSource
from metrics.summary.remedy_section import RemedyInputs
from studies.domain import BY_DESIGN, Rater
from studies.store.queries import judge_spending
from studies.store.store import Store
from studies.texts.style_features import Styles, count_style_marks_by_answer

TOKENS_PER_PRICE: Final = 1e6
"""Number of tokens that a price refers to (one million)."""


def read_remedy_inputs(
    store: Store, name: str, juries: Sequence[tuple[str, ...]] = ()
) -> RemedyInputs:
    """Read from the store the facts that the remedies of a study need besides its frame: judges,
    source of the better answers, mean dollars and tokens per call, and the prompts that show a
    reference answer. `juries`: juries (several
    judges that decide together) to compute besides the default ones."""
    judges = tuple(judge.name for judge in store.study(name).judges)
    return RemedyInputs(
        judges,
        stored_winner_source(store, name),
        tuple(juries),
        {**_dollars_per_call(store, name), **judge_spending.mean_call_dollars(store, name)},
        judge_spending.mean_call_tokens(store, name),
        store.prompts_with_reference(name),
    )


def style_counts_of_study(store: Store, name: str) -> Styles:
    """Return item -> contestant -> style counts of the answers of a stored study; computed again
    only after the study was changed."""
    return store.memoised(
        name, ("styles",), lambda: count_style_marks_by_answer(store.items(name).values())
    )


def _dollars_per_call(store: Store, name: str) -> dict[Rater, float]:
    """Return (judge, prompt) -> dollars of a call, from the judge's price in the study file and the
    mean tokens of its calls. Judges without a price, or without known tokens, are left out."""
    prices = {judge.name: judge.price for judge in store.study(name).judges if judge.price}
    if not prices:
        return {}
    found: dict[Rater, float] = {}
    for rater, (prompt, completion) in judge_spending.mean_prompt_and_reply_tokens(
        store, name
    ).items():
        if price := prices.get(rater[0]):
            found[rater] = (prompt * price.input + completion * price.output) / TOKENS_PER_PRICE
    return found


def stored_winner_source(store: Store, name: str) -> WinnerSource | None:
    """Return the source of the better answers stored with a study: DESIGN or PEOPLE; None if none
    are stored."""
    items = store.item_facts(name).values()
    sources = {judge for facts in items for judge, *_ in facts["human"]}
    if not sources:
        return None
    return DESIGN if BY_DESIGN in sources else PEOPLE
