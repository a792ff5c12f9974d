"""Small recorded studies with what ordinary ones lack, for the frozen pages.

Pairs: an answer that never loses and one that only ties, two groups of models that never met, a
judge that can hardly be read, one that saw one order only, one with three items, people who
disagree, verdicts of unknown order, probabilities of labels, noise-floor repeats, and answers that
people verified. Single answers: a judge that passes everything, one that gives one score to all,
one that scores too high, and few labels. Options: three answers of which one is unrelated.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from studies.domain import (
    UNRELATED,
    AnswerCheck,
    AnswerLabel,
    Ask,
    Item,
    Judgement,
    Preference,
    Usage,
    Verdict,
)
from studies.exchange.recorded_studies import save_recorded_study
from studies.sources.load import LoadedSource
from studies.spec.study import DataSpec
from studies.store.store import Store

NAME, SINGLE, OPTIONS = "awkward", "awkward single answers", "awkward options"
STRENGTH = {"ant": 9.0, "bee": 1.0, "cat": 0.5, "dog": 0.5, "eel": 1.0, "fox": 0.0}
PAIRS = (("ant", "bee"), ("ant", "cat"), ("bee", "cat"), ("cat", "dog"), ("eel", "fox"))
PASSES = ("pass", "fail")
FAULTS = ("unreadable", "truncated", "empty", "refusal", "error")
WORDS = ("The", "answer", "is", "clear,", "since", "each", "step", "follows", "and", "is", "right")


def _items(rng: Random) -> list[Item]:
    items = []
    for number in range(26):
        answers = {
            name: " ".join(WORDS[: 3 + (number + place) % 9]) + "." * (place % 2)
            for place, name in enumerate(STRENGTH)
        }
        votes = [
            Preference(f"human:{who}", pair, rng.choice([*pair, "tie"]))
            for who in ("ann", "bo")
            for pair in PAIRS[:3]
            if number < 14
        ]
        design = [Preference("by-design", None, "bee" if number % 4 else "cat")]
        checks = (AnswerCheck("human:ann", "bee", number % 3 > 0, "wrong", number % 5 == 0),)
        items.append(
            Item(
                f"q{number}", f"question {number}?", answers,
                category=("maths", "letters", "")[number % 3],
                human=(*votes, *(design if number % 2 else ())),
                checks=checks if number < 9 else (),
            )
        )  # fmt: skip
    return items


def _verdict(pair: tuple[str, str], first_bias: float, rng: Random) -> Verdict:
    if "dog" in pair:
        return Verdict("tie", 0)
    odds = STRENGTH[pair[0]] - STRENGTH[pair[1]] + first_bias
    share = 0.5 + max(-0.5, min(0.5, odds / 4))
    pick = 0 if rng.random() < share else 1
    return Verdict(pick, rng.choice((1, 2)), (), (share, 1 - share), 0.97)


def _judgements(rng: Random) -> Iterator[Judgement]:
    plans = (  # judge, prompt, items, orders, repeats, preference for the first, share unread
        ("keen", "brief", 26, 2, 1, 0.4, 0.0),
        ("keen", "long", 26, 2, 2, 2.0, 0.1),
        ("mute", "brief", 20, 2, 1, 0.0, 0.7),
        ("once", "brief", 20, 1, 1, 1.0, 0.0),
        ("few", "brief", 3, 2, 1, 0.0, 0.0),
        ("whence", "brief", 12, 0, 1, 0.0, 0.0),
    )
    for judge, prompt, items, orders, repeats, first_bias, unread in plans:
        for number in range(items):
            for pair in PAIRS:
                shown = [pair, pair[::-1]][: max(orders, 1)]
                for order in shown:
                    for repeat in range(repeats + (number < 4 and judge == "keen")):
                        ask = Ask(
                            "", f"q{number}", judge, prompt, order, ("A", "B"), repeat,
                            noise=repeat >= repeats, orders=orders,
                        )  # fmt: skip
                        facts = {"usage": Usage(100 + number, 20), "seconds": 0.5, "model": "m-1"}
                        if rng.random() < unread:
                            yield Judgement(ask, FAULTS[number % 5], detail="none", **facts)  # type: ignore[arg-type]
                            continue
                        found = _verdict(order, first_bias, rng)
                        named = "tie" if found.pick == "tie" else "AB"[found.pick or 0]
                        reply = f"{' '.join(WORDS)}. Is it not so? [[{named}]]"
                        yield Judgement(ask, "ok", found, "recorded", reply, **facts)  # type: ignore[arg-type]


def _single_answers(rng: Random) -> tuple[list[Item], list[Judgement]]:
    """Pass/fail and scores from 1 to 5, in both orders of the options, of two models' answers;
    labels of a third of them."""
    items, judgements = [], []
    scale = ("1", "2", "3", "4", "5")
    for number in range(24):
        labels = [
            AnswerLabel(who, value)
            for who, value in (("ant", 1.0 + number % 5), ("bee", "fail" if number % 4 else "pass"))
            if number % 3 == 0
        ]
        answers = {name: " ".join(WORDS[: 3 + number % 7]) for name in ("ant", "bee")}
        category = ("maths", "letters")[number % 2]
        items.append(
            Item(f"q{number}", f"question {number}?", answers, category, labels=tuple(labels))
        )
        for judge in ("kind", "flat", "high", "mute"):
            for who in ("ant", "bee"):
                for options in (scale, scale[::-1]) if who == "ant" else (PASSES, PASSES[::-1]):
                    prompt = "score" if who == "ant" else "check"
                    ask = Ask("", f"q{number}", judge, prompt, (who,), options, orders=2)
                    right = float(1 + number % 5) if who == "ant" else float(number % 4 == 0)
                    given = {
                        "kind": 1.0 if who == "bee" else right,
                        "flat": 3.0 if who == "ant" else float(rng.random() < 0.5),
                        "high": min(5.0, right + 1) if who == "ant" else right,
                        "mute": right,
                    }[judge]
                    lost = judge == "mute" and rng.random() < 0.6
                    verdict = None if lost else Verdict(None, 1, (given,))
                    status = "unreadable" if lost else "ok"
                    judgements.append(Judgement(ask, status, verdict, "recorded", "So it is."))
    return items, judgements


def _options(rng: Random) -> tuple[list[Item], list[Judgement]]:
    """Three answers, one of them to another question, in all rotations; one judge prefers the last
    position, one reads two of three orders."""
    items, judgements = [], []
    for number in range(12):
        answers = {name: " ".join(WORDS[: 3 + number % 7]) for name in ("ant", "bee")}
        design = (Preference("by-design", None, "ant"),)
        items.append(Item(f"q{number}", f"question {number}?", answers, human=design))
        shown = ("ant", "bee", UNRELATED)
        for judge in ("last", "lame"):
            for turn in range(3):
                order = (*shown[turn:], *shown[:turn])
                ask = Ask(
                    "", f"q{number}", judge, "pick", order, ("A", "B", "C"), orders=3,
                    unrelated_item=f"q{(number + 1) % 12}",
                )  # fmt: skip
                if judge == "lame" and turn == number % 3:
                    judgements.append(Judgement(ask, "refusal", detail="declined"))
                    continue
                pick = 2 if judge == "last" and rng.random() < 0.7 else order.index("ant")
                judgements.append(Judgement(ask, "ok", Verdict(pick), "recorded", "[[x]]"))
    return items, judgements


def save_awkward_studies(store: Store) -> None:
    rng = Random(5)
    pairs = _items(rng), list(_judgements(rng))
    studies = {NAME: pairs, SINGLE: _single_answers(rng), OPTIONS: _options(rng)}
    for name, (items, judgements) in studies.items():
        loaded = LoadedSource(items, judgements, "table", "written by a test")
        save_recorded_study(store, name, DataSpec(source="awkward.csv"), loaded)
