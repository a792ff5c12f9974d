"""A store as large as wanted, written in bulk: rows as a run leaves them, verdicts drawn."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np

from studies.frames.frame import SEP
from studies.spec.study import dump_study, parse_study
from studies.store import database

NAME = "big"
MODELS = [f"model-{n}" for n in range(5)]
JUDGES = [f"judge-{n}" for n in range(5)]
PROMPTS = ["brief-letters", "brief-numbers"]
CATEGORIES = ["coding", "writing", "maths", "science", "roleplay", "history", "format", "visual"]
REPLY = (
    "Both answers are helpful; the first is more precise. " * 12 + "Overall, Response A is better."
)
A_ITEM = len(MODELS) * (len(MODELS) - 1) * len(JUDGES) * len(PROMPTS)
"""Judgements of one item: every ordered pair, by every judge, with every prompt."""


def write(path: Path, judgements: int, *, texts: bool = True) -> int:
    """About that many judgements; returns how many. Replies are of an ordinary length."""
    items = max(1, round(judgements / A_ITEM))
    database.prepare_store(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous=OFF")
    with connection:
        connection.execute(
            "INSERT INTO studies(id, name, yaml, plan_sha, recorded, created, updated) "
            "VALUES (1, ?, ?, 'bench', 0, 0, 0)",
            (NAME, _study()),
        )
        connection.executemany("INSERT INTO items VALUES (?,?,?)", map(_item, range(items)))
        connection.executemany(
            "INSERT INTO study_items VALUES (1,?,?,?)",
            ((n, f"q{n}", f"sha{n}") for n in range(items)),
        )
        connection.executemany(
            "INSERT INTO plan VALUES (1,?,?,?,?,?,?,?,0,0,2,NULL,'live')", _plan(items)
        )
        connection.executemany(
            "INSERT INTO judgements(key, status, pick, margin, rule, finish, cached_tokens, "
            "cache_write, seconds, model, time) VALUES (?,?,?,1,'','stop',0,0,0.5,'m',0)",
            _judged(items),
        )
        if texts:
            connection.executemany(
                "INSERT INTO replies(key, reply, reasoning, detail) VALUES (?,?,'','')",
                ((f"k{n}", REPLY) for n in range(items * A_ITEM)),
            )
    connection.close()
    return items * A_ITEM


def _study() -> str:
    judges = "".join(f"  - {{name: {name}, model: simulated}}\n" for name in JUDGES)
    text = f"name: {NAME}\ndata: {{source: probe}}\njudges:\n{judges}prompts: {PROMPTS}\n"
    return dump_study(parse_study(text))


def _item(n: int) -> tuple[str, str, str]:
    whole = {
        "id": f"q{n}",
        "instruction": f"Question {n}?",
        "responses": dict.fromkeys(MODELS, "x"),
    }
    category = CATEGORIES[n % len(CATEGORIES)]
    lengths = dict.fromkeys(MODELS, 400)
    narrow = {"category": category, "lengths": lengths, "human": [], "suspects": []}
    return f"sha{n}", json.dumps({**whole, "category": category}), json.dumps(narrow)


def _plan(items: int) -> Iterator[tuple[object, ...]]:
    pairs = [SEP.join(pair) for pair in permutations(MODELS, 2)]
    labels, position = SEP.join("AB"), 0
    for n in range(items):
        for judge in JUDGES:
            for prompt in PROMPTS:
                for shown in pairs:
                    yield position, f"k{position}", f"q{n}", judge, prompt, shown, labels
                    position += 1


def _judged(items: int) -> Iterator[tuple[object, ...]]:
    """The first shown is a little liked, model-0 is best; one reply in a hundred is unreadable."""
    rng = np.random.default_rng(7)
    strength = np.linspace(1, -1, len(MODELS))
    pairs = np.array(list(permutations(range(len(MODELS)), 2)))
    lean = np.linspace(-0.6, 1.2, len(JUDGES)).repeat(len(PROMPTS) * len(pairs))
    gap = np.tile(strength[pairs[:, 0]] - strength[pairs[:, 1]], len(JUDGES) * len(PROMPTS))
    chance = 1 / (1 + np.exp(-(gap + lean)))
    for n in range(items):
        second = (rng.random(A_ITEM) > chance).astype(int).tolist()
        fails = (rng.random(A_ITEM) < 0.01).tolist()
        start = n * A_ITEM
        for place, (pick, failed) in enumerate(zip(second, fails, strict=True)):
            yield (f"k{start + place}", "unreadable" if failed else "ok", None if failed else pick)
