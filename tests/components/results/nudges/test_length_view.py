"""Length in the view Nudges: headline and panels agree on whether it can be measured."""

from __future__ import annotations

import pytest

from components.filtering.filtered_study import FilteredStudy
from components.results.nudges import tab
from studies.exchange.recorded_studies import import_verdicts
from tests.page_words import says


@pytest.mark.parametrize(("other", "measured"), [("b says", False), ("b says more", True)])
def test_answers_of_equal_length_have_neither_headline_nor_panels(other, measured, store):
    lines = ["question_id,prompt,model_a,model_b,answer_a,answer_b,judge,winner"]
    for k in range(12):  # "a" wins 8 of 12, in both orders
        sides = [("a", f"a says {k}"), ("b", f"{other} {k}")]
        for (x, said), (y, answer) in (sides, sides[::-1]):
            lines.append(f"q{k},Why {k}?,{x},{y},{said},{answer},j,{'a' if k < 8 else 'b'}")
    path = store.path.with_name("table.csv")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    import_verdicts(store, path, "s")
    filtered = FilteredStudy(store, "s")
    title, lead = tab.headline(filtered)
    assert says(f"{title} {lead}", "33") is measured and says(lead, "different") is not measured
    drawn = [tab.render_length_effect(filtered), tab.render_length_controlled(filtered)]
    assert [one is not None for one in drawn] == [measured, measured]
