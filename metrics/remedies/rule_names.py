"""Titles, explanations and instructions of remedies, used by page, report and command line.

A rule decides a comparison, or gives the verdict on a single answer, from one or more verdicts. It
has an id, such as "single" (one call), "pool" (the verdicts of both orders added up) or
"repeats(3)".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from metrics.remedies.rule_sets import Rule
from studies.domain import Rater
from studies.spec.combine_rules import parse_remedy

NEEDS_REFERENCE: Final = " (the prompt needs reference answers)"
NUMBER_WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class RuleTexts:
    """Title of a rule, its explanation in one line, and the instruction to apply it."""

    title: str
    explanation: str
    imperative: str


_FIXED: Final = {
    "single": RuleTexts(
        "One call",
        "in a random order; the other rules are compared with this one",
        "Ask {judge} once",
    ),
    "agree": RuleTexts(
        "Both orders must agree",
        "undecided unless both name the same winner",
        "Ask {judge} in both orders and decide only if both agree",
    ),
    "pool": RuleTexts(
        "Both orders, added up",
        "a win and a tie count as a win; a win and a loss are undecided",
        "Ask {judge} in both orders and add up the two verdicts",
    ),
    "graded": RuleTexts(
        "Both orders, graded",
        "the mean score of both orders decides (from probabilities, margins or points)",
        "Ask {judge} in both orders and average the graded replies",
    ),
    "calibrated": RuleTexts(
        "One call, calibrated",
        "the score minus the position effect measured on other items decides",
        "Ask {judge} once and subtract its position effect",
    ),
    "rotations": RuleTexts(
        "All rotations",
        "the option chosen most often; ties are undecided",
        "Ask {judge} in all rotations and take the option chosen most often",
    ),
}


POINT_RULE_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "single": ("One call", "one order of the options; other rules are compared with this one"),
    "arrangements": (
        "All orders, combined",
        "majority (pass/fail) or mean (scores) of the verdicts in all orders",
    ),
    "expected": (
        "One call, expected score",
        "mean of the possible scores, weighted by the judge's probabilities",
    ),
    "expected-arrangements": (
        "All orders, probabilities averaged",
        "mean over all orders of the probability of a pass (pass/fail) or of the expected score "
        "(scores)",
    ),
    "repeats": (
        "Repeats, combined",
        "majority (pass/fail) or mean (scores) of repeated calls in one order",
    ),
    "threshold": (
        "Pass threshold over all calls, moved",
        "the mean probability of a pass over all calls on an answer (without probabilities, the "
        "share of its verdicts that pass) from which it passes is chosen on half of the labels; "
        "agreement is measured on the other half",
    ),
    "shift": (
        "Mean of all calls, shifted",
        "a constant, chosen on half of the labels, is added to the mean score of all calls on an "
        "answer; the distance is measured on the other half",
    ),
}
"""Rule for verdicts on single answers -> its title and explanation."""


def advised_rule_text(rule: str, calls: float, fitted: float | None = None) -> str:
    """Return the title of a rule for single answers, its threshold or constant (`fitted`), and the
    number of calls that it needs for an answer, in words for the middle of a sentence."""
    title, _ = POINT_RULE_TEXTS[rule]
    if fitted is not None:
        to = f"to {100 * fitted:.3g} %" if rule == "threshold" else f"by {fitted:+.2f}"
        title = f"{title} {to.replace('-', '−')}"
    text = f"on average {calls:.2f} calls" if calls % 1 else f"{calls:,.0f} call{'s'[calls == 1 :]}"
    return f"{title[0].lower()}{title[1:]}, {text} an answer"


def rule_texts(rule: Rule) -> RuleTexts:
    """Return the texts of a rule; its instruction may contain `{judge}`, which `rule_instruction`
    replaces by the name of the judge."""
    return rule_texts_of_id(rule.id, [judge for judge, _ in rule.members])


def rule_texts_of_id(rule_id: str, judges: Sequence[str]) -> RuleTexts:
    """Return title, explanation and instruction of the rule with the id `rule_id`. `judges` are
    named in the texts of rules that combine several judges; texts on one judge have "{judge}" in
    place of its name."""
    if rule_id in _FIXED:
        return _FIXED[rule_id]
    if rule_id.startswith("prompt:"):
        return _prompt_texts(rule_id.removeprefix("prompt:"))
    kind, value = _parse_id(rule_id)
    if kind == "margin":
        return RuleTexts(
            f"Both orders, graded, margin {value}",
            f"undecided where the mean score is below {value}",
            f"Ask {{judge}} in both orders and decide only if the mean score is at least {value}",
        )
    if kind.startswith("repeats"):
        return _repeat_texts(int(float(value)), both=kind.endswith("-both"))
    if kind == "ask-people":
        percent = f"{100 * float(value):g} %"
        return RuleTexts(
            f"Both orders, and people for {percent}",
            "one vote decides where the orders differ",
            f"Ask {{judge}} in both orders and send {percent} of the comparisons to people",
        )
    return _jury_texts(rule_id, judges)


def rule_kind(rule: Rule) -> str:
    """Return the kind of a remedy in the plural, such as "juries"; "both orders" for those that ask
    one judge with the same prompt in both."""
    named = {"prompt": "other prompts", "calibrated": "calibration", "repeats": "repeats"}
    kind = re.split(r"\W", rule.id)[0]
    return "juries" if len(rule.members) > 1 else named.get(kind, "both orders")


def rule_id_and_judges(key: str, judge: str) -> tuple[str, Sequence[str]]:
    """Return the id of a rule and its judges, from its key in the summary: the id and, for a jury
    (several judges that decide together), the judges. `judge` is the judge of a rule that is not a
    jury."""
    remedy = parse_remedy(key)
    return (remedy.id, remedy.judges) if remedy and remedy.is_jury else (key, [judge])


def rule_instruction(rule: Rule, raters: Sequence[Rater]) -> str:
    """Return the rule as an instruction: "Ask gpt-4 in both orders and …". It names its prompt if
    the `raters` of the study have several, because a rule is measured with one prompt only, and
    says if the prompt needs reference answers."""
    judge, prompt = rule.members[0]
    text = rule_texts(rule).imperative.format(judge=judge) + NEEDS_REFERENCE * rule.needs_reference
    if rule.id.startswith("prompt:") or not has_several_prompts(raters):
        return text
    return f"With the prompt {prompt}, {text[0].lower()}{text[1:]}"


def judges_text(rule: Rule, raters: Sequence[Rater]) -> str:
    """Return the names of a rule's judges, joined for a sentence. Their prompt is added if the
    study has several prompts (`raters` are its judges and prompts) and the rule's title does not
    name it; then, if so, that the prompt needs reference answers."""
    judges = join_names([judge for judge, _ in rule.members])
    named = [] if rule.id.startswith("prompt:") else raters
    return rater_text((judges, rule.members[0][1]), named) + NEEDS_REFERENCE * rule.needs_reference


def has_several_prompts(raters: Sequence[Rater]) -> bool:
    """Whether the judges of a study were asked with more than one prompt."""
    return len({prompt for _, prompt in raters}) > 1


def rater_text(rater: Rater, raters: Sequence[Rater]) -> str:
    """Return the name of a judge in a sentence, with its prompt if the `raters` have several."""
    judge, prompt = rater
    return f"{judge} with the prompt {prompt}" if has_several_prompts(raters) else judge


def parameter_of_rule_id(rule_id: str) -> float:
    """The number in the id of a rule: 3 of `repeats(3)-both`; ValueError if it has none."""
    return float(_parse_id(rule_id)[1])


def _parse_id(rule_id: str) -> tuple[str, str]:
    """Return a rule id without its number, and the number: "repeats-both" and "3" of
    `repeats(3)-both`; the whole id and an empty text if it has no number."""
    found = re.fullmatch(r"([\w-]+)\(([\d.]+)\)(-both)?", rule_id)
    return (found[1] + (found[3] or ""), found[2]) if found else (rule_id, "")


def _prompt_texts(name: str) -> RuleTexts:
    if name.endswith("+pool"):
        name = name.removesuffix("+pool")
        return RuleTexts(
            f"Prompt {name}, both orders",
            "another prompt of this study; both verdicts added up",
            f"Ask {{judge}} with the prompt {name} in both orders and add up the two verdicts",
        )
    return RuleTexts(
        f"Prompt {name}, one call",
        "another prompt of this study",
        f"Ask {{judge}} once with the prompt {name}",
    )


def _repeat_texts(calls: int, *, both: bool) -> RuleTexts:
    times = number_word(calls)
    if both:
        return RuleTexts(
            f"{times.capitalize()} calls in each order",
            f"majority of {number_word(2 * calls)} calls",
            f"Ask {{judge}} {times} times in each order and take the majority",
        )
    return RuleTexts(
        f"{times.capitalize()} calls in one order",
        f"majority of {times} calls",
        f"Ask {{judge}} {times} times in one order and take the majority",
    )


def _jury_texts(rule_id: str, judges: Sequence[str]) -> RuleTexts:
    panel, count = join_names(judges), number_word(len(judges))
    title = f"{count.capitalize()} judges"
    if rule_id == "round-robin":
        return RuleTexts(
            f"{title} take turns",
            f"{panel}, one judge per item",
            f"Let {panel} judge in turn, one judge per item",
        )
    if rule_id == "opposite":
        return RuleTexts(
            f"{title}, opposite orders",
            f"{judges[0]} sees one order, {judges[1]} the other",
            f"Ask {panel} once each, in opposite orders, and add up the verdicts",
        )
    if rule_id == "jury":
        return RuleTexts(
            f"{title}, one order each", panel, f"Ask {panel} once each and add up the verdicts"
        )
    return RuleTexts(
        f"{title}, both orders",
        f"{panel}; {number_word(2 * len(judges))} verdicts added up",
        f"Ask {panel} in both orders and add up the {number_word(2 * len(judges))} verdicts",
    )


def join_names(names: Sequence[str]) -> str:
    """Join names for a sentence: "a, b and c"."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def number_word(number: int) -> str:
    return NUMBER_WORDS[number] if 0 <= number < len(NUMBER_WORDS) else str(number)
