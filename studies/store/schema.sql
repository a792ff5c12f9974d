-- Tables of a store. Texts are in tables of their own, so that the tables of numbers stay small.

CREATE TABLE studies (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    yaml      TEXT NOT NULL,
    plan_sha  TEXT NOT NULL DEFAULT '',      -- hash of study, data and prompts
    recorded  INTEGER NOT NULL DEFAULT 0,    -- 1: imported verdicts only, no calls
    created   REAL NOT NULL,
    updated   REAL NOT NULL,
    owner     TEXT NOT NULL DEFAULT ''       -- hash of the secret of the visitor who made it; '' has no owner
) STRICT;

CREATE TABLE shares (                         -- links that allow reading a study, not running it
    token   TEXT PRIMARY KEY,                 -- hash of the token in the link
    study   INTEGER NOT NULL REFERENCES studies(id) ON DELETE CASCADE,
    created REAL NOT NULL,
    votes   INTEGER NOT NULL DEFAULT 0        -- 1: the link allows voting too
) STRICT, WITHOUT ROWID;

CREATE TABLE items (                          -- by content hash; studies share equal items
    sha    TEXT PRIMARY KEY,
    json   TEXT NOT NULL,
    narrow TEXT NOT NULL                      -- category, answer lengths, preferences: the facts in frames
) STRICT, WITHOUT ROWID;

CREATE TABLE study_items (
    study    INTEGER NOT NULL REFERENCES studies(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    item     TEXT NOT NULL,
    sha      TEXT NOT NULL REFERENCES items(sha),
    PRIMARY KEY (study, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE prompts (
    sha     TEXT PRIMARY KEY,
    name    TEXT NOT NULL,
    version INTEGER NOT NULL,
    yaml    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (                       -- the request that a call's key hashes; no path, no API key
    key        TEXT PRIMARY KEY,
    endpoint   TEXT NOT NULL,
    model      TEXT NOT NULL,
    prompt_sha TEXT NOT NULL,
    parameters TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE adapted_requests (               -- calls sent without parameters that the endpoint refused
    key     TEXT PRIMARY KEY,                 -- the planned key
    adapted TEXT NOT NULL,                    -- the key under which the reply is stored
    without TEXT NOT NULL                     -- the parameters left out, comma-separated
) STRICT, WITHOUT ROWID;
CREATE INDEX adapted_requests_by_adapted ON adapted_requests(adapted);

CREATE TABLE plan (                           -- the asks of a study, in plan order
    study          INTEGER NOT NULL REFERENCES studies(id) ON DELETE CASCADE,
    position       INTEGER NOT NULL,
    key            TEXT NOT NULL,
    item           TEXT NOT NULL,
    judge          TEXT NOT NULL,
    prompt         TEXT NOT NULL,
    shown          TEXT NOT NULL,             -- contestants joined by U+001F, in the order shown
    labels         TEXT NOT NULL,
    repeat         INTEGER NOT NULL,
    noise          INTEGER NOT NULL,
    orders         INTEGER NOT NULL,
    unrelated_item TEXT,
    origin         TEXT NOT NULL,             -- live | recorded
    PRIMARY KEY (study, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX plan_by_key ON plan(key);

CREATE TABLE judgements (                     -- seq: sequence number, raised by every write
    seq               INTEGER PRIMARY KEY AUTOINCREMENT,
    key               TEXT NOT NULL UNIQUE,
    status            TEXT NOT NULL,
    pick              INTEGER,                -- shown slot, -1 tie, null none
    margin            INTEGER,
    scores            TEXT,
    probabilities     TEXT,
    mass              REAL,
    rule              TEXT NOT NULL,
    finish            TEXT NOT NULL,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    cached_tokens     INTEGER NOT NULL,
    cache_write       INTEGER NOT NULL,
    cost              REAL,                   -- dollars, all attempts; null: the price is not known
    seconds           REAL NOT NULL,
    model             TEXT NOT NULL,          -- the id the provider reported
    time              REAL NOT NULL
) STRICT;

CREATE TABLE replies (
    key       TEXT PRIMARY KEY,
    reply     TEXT NOT NULL,
    reasoning TEXT NOT NULL,
    detail    TEXT NOT NULL,
    top       TEXT                            -- [[token, log-probability], …] at the last token, if reported
) STRICT, WITHOUT ROWID;

CREATE TABLE extractions (                    -- asks that read the verdict from another ask's reply
    key    TEXT PRIMARY KEY,
    reads  TEXT NOT NULL,
    judge  TEXT NOT NULL,
    prompt TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX extractions_by_reads ON extractions(reads);

CREATE TABLE attempts (                       -- a start record before each call, its outcome after
    id                INTEGER PRIMARY KEY,
    key               TEXT NOT NULL,
    owner             TEXT NOT NULL,
    started           REAL NOT NULL,
    ended             REAL,
    outcome           TEXT,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    cached_tokens     INTEGER,
    cache_write       INTEGER,
    cost              REAL,
    reasoning_tokens  INTEGER                 -- part of the completion tokens
) STRICT;
CREATE INDEX attempts_by_key ON attempts(key);
CREATE INDEX attempts_open ON attempts(owner) WHERE ended IS NULL;

CREATE TABLE leases (                         -- asks reserved by a run; valid while its lock file is held
    key   TEXT PRIMARY KEY,
    owner TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    id      TEXT PRIMARY KEY,
    study   TEXT NOT NULL,
    owner   TEXT NOT NULL,
    state   TEXT NOT NULL,                    -- running | paused | stopped | done | failed
    reason  TEXT NOT NULL,
    started REAL NOT NULL,
    ended   REAL
) STRICT, WITHOUT ROWID;

CREATE TABLE ballots (                        -- comparisons and answers shown to voters
    study    INTEGER NOT NULL REFERENCES studies(id) ON DELETE CASCADE,
    voter    TEXT NOT NULL,                   -- human:<name>; '' in the row with the study's voting rules
    position INTEGER NOT NULL,
    item     TEXT NOT NULL,
    shown    TEXT NOT NULL,                   -- contestants joined by U+001F, in the order shown
    mode     TEXT NOT NULL,                   -- pair | levels | options | verify
    chosen   TEXT NOT NULL,                   -- why chosen: random | flipped | split | repeat
    state    TEXT NOT NULL,                   -- open | voted | skipped
    key      TEXT,                            -- key of the judgement that stores the vote
    answer   TEXT,                            -- answer check of a verification, as JSON
    comment  TEXT NOT NULL DEFAULT '',
    seen     REAL,
    done     REAL,
    PRIMARY KEY (study, voter, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE alignments (                     -- labelled items in two parts, and the prompts compared on one
    study INTEGER PRIMARY KEY REFERENCES studies(id) ON DELETE CASCADE,
    json  TEXT NOT NULL                       -- seed, learn, hold_out, looks
) STRICT;

CREATE TABLE allowance (                      -- cost of calls paid with this Space's key
    id       INTEGER PRIMARY KEY,
    day      TEXT NOT NULL,                   -- UTC
    visitor  TEXT NOT NULL,                   -- hash of the visitor's secret
    run      TEXT NOT NULL,
    reserved REAL NOT NULL,                   -- maximum cost in dollars
    spent    REAL                             -- null: unknown, so the maximum counts
) STRICT;
CREATE INDEX allowance_by_day ON allowance(day);
CREATE INDEX allowance_by_run ON allowance(run);
