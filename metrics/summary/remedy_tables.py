"""Plain-text tables of the section `remedies`, for the terminal."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from metrics.remedies.rule_names import rule_id_and_judges, rule_texts_of_id

Json = dict[str, Any]

MINUS: Final = "−"
HEADINGS: Final = (
    "rule", "calls", "agreement", "to one call (adjusted)", "decided", "right when decided"
)  # fmt: skip
WIDTHS: Final = (38, 7, 23, 27, 10, 20)


def render_remedies(section: Json) -> Iterator[str]:
    """Yield the lines of the section: the numbers of comparisons, the recommendation, the plan for
    a budget, a table for each judge and prompt, and one for each jury (several judges that decide
    together)."""
    facts = section["truth"]
    left_out = ", ".join(f"{count:,} {why}" for why, count in facts["left_out"].items())
    yield f"{facts['comparisons']:,} comparisons with {facts['source']} (left out: {left_out})"
    for name in facts.get("judges_left_out", ()):
        yield f"left out, because both orders exist on less than half of the comparisons: {name}"
    if "recommendation" in section:
        yield section["recommendation"]["sentence"]
    if "plan" in section:
        yield from _budget_plan_lines(section["plan"])
    for judge, prompts in section["rules"].items():
        for prompt, rules in prompts.items():
            yield f"\n{judge} / {prompt}"
            yield _pad_cells(HEADINGS)
            for key, line in rules.items():
                yield _format_rule_row(*rule_id_and_judges(key, judge), line)
            if found := section.get("certified", {}).get(judge, {}).get(prompt):
                yield _format_certificate(found)
    for name, jury in section.get("juries", {}).items():
        chosen = " (chosen: highest agreement in this study)" if jury["picked"] else ""
        yield f"\n{name}{chosen}, against one call of {jury['baseline']}"
        yield _pad_cells(HEADINGS)
        lines = {
            id: line for id, line in jury.items() if isinstance(line, dict) and "calls" in line
        }
        yield from (_format_rule_row(id, name.split(" + "), line) for id, line in lines.items())
        yield f"effective votes {_format_estimate(jury['effective_votes'], 2)}"
        if "certified" in jury:
            yield _format_certificate(jury["certified"])


def _format_certificate(found: Json) -> str:
    """Return the line on the share of comparisons that a judge or jury may decide without people,
    and on the error that is certified for them."""
    share, error = found["share"], found["error"]
    claim = f"an error of at most {found['alpha']:.0%} (confidence {1 - found['delta']:.0%})"
    if share["value"] is None:
        return f"share to decide alone with {claim}: – ({share['note']})"
    return (
        f"may decide {_format_estimate(share)} alone with {claim}: margin {found['margin']:g}, "
        f"error {_format_estimate(error)}"
    )


def _budget_plan_lines(plan: Json) -> Iterator[str]:
    """Yield the lines of the plan for a budget: the best rule of any judge at each cost per
    comparison, the cheapest first."""
    yield f"\nbest rule by {plan['currency']} per comparison, on items not used to choose it"
    for step in plan["steps"]:
        title = rule_texts_of_id(step["rule"], step["judges"]).title
        cost = f"{step[plan['currency']]:g}"
        agreement = _format_estimate(step["agreement"])
        yield f"{cost:>10}  {agreement}  {title}: {', '.join(step['judges'])}"
    if plan["unpriced"]:
        yield f"left out, price unknown: {', '.join(plan['unpriced'])}"


def _format_rule_row(rule_id: str, judges: Sequence[str], line: Json) -> str:
    """Return the line of a rule; the judges of a jury and a note follow in brackets."""
    cells = (
        rule_texts_of_id(rule_id, judges).title,
        f"{line['calls']:g}",
        _format_estimate(line["agreement"]),
        _format_estimate(line["adjusted"], signed=True)
        if line["adjusted"]["value"] is not None
        else "",
        _format_estimate(line["decided"], interval=False),
        _format_estimate(line["right_when_decided"], interval=False),
    )
    jury = " + ".join(judges) if len(judges) > 1 else ""
    notes = "; ".join(filter(None, (jury, line["agreement"]["note"])))
    return _pad_cells(cells) + (f"  ({notes})" if notes else "")


def _pad_cells(cells: tuple[str, ...]) -> str:
    first, *rest = cells
    padded = [f"{text:>{width}}" for text, width in zip(rest, WIDTHS[1:], strict=True)]
    return f"{first:<{WIDTHS[0]}}{''.join(padded)}"


def _format_estimate(
    estimate: Json, digits: int = 3, *, signed: bool = False, interval: bool = True
) -> str:
    if estimate["value"] is None:
        return "–"
    sign = "+" if signed else ""
    text = f"{estimate['value']:{sign}.{digits}f}"
    if interval and estimate["low"] is not None:
        text += f" [{estimate['low']:{sign}.{digits}f}, {estimate['high']:{sign}.{digits}f}]"
    return text.replace("-", MINUS)
