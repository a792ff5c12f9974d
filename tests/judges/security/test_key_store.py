"""API keys: kept in memory for a limited time, never stored, logged or printed."""

from __future__ import annotations

import base64
import copy
import gc
import io
import json
import logging
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.__main__ import main
from judges.judge_errors import KeyExpired, KeyRefused, PlanError
from judges.models.clients import find_api_key
from judges.operations.check_judge import check_judge
from judges.planning.plan import save_plan
from judges.security.key_consents import Consents, KeyDestination
from judges.security.key_store import (
    EXPIRED_MESSAGE,
    KEY_MASK,
    RedactingStream,
    SecretKey,
    active_keys,
    install_redaction,
    key_forms,
    key_idle_seconds,
    make_expiring_secret_key,
    mask_keys_in_output,
    redact_keys,
    redact_record,
)
from studies.domain import JudgeSpec
from studies.errors import SettingError
from tests.attacks.attack_list import MODES
from tests.attacks.attack_log import attempt, current_mode, in_mode
from tests.canary_forms import CANARY, encoded
from tests.growth import count_calls
from tests.judge_server import Fault, JudgeServer, always, say
from tests.judges.small_studies import QUICK, endpoint, engine, judgements, study_plan
from tests.judges.small_studies import run_through as run_plan
from tests.page_words import pattern
from tests.samples import sample
from tests.waiting import until

LEAK = "a typed key leaks"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_key_is_held_as_long_as_it_is_used_and_forgotten_when_it_is_not():
    clock = Clock()
    key = SecretKey(CANARY, idle=60, clock=clock)
    for clock.now in (30.0, 80.0, 130.0):
        assert key.read_and_keep_alive() == CANARY
    clock.now = 190.0
    with pytest.raises(KeyExpired, match=pattern("1 minutes without use")):
        key.read_and_keep_alive()
    clock.now = 0.0  # and it does not come back
    assert key.expire_if_idle() and key.forms_of_whole_key() == ()


def test_how_long_is_the_owner_s_to_say(monkeypatch):
    assert key_idle_seconds() == 60 * 30
    monkeypatch.setenv("EVENHAND_KEY_MINUTES", "5")
    assert key_idle_seconds() == 300
    monkeypatch.setenv("EVENHAND_KEY_MINUTES", "for ever")
    with pytest.raises(SettingError, match=pattern("EVENHAND_KEY_MINUTES", "ever', not", "number")):
        key_idle_seconds()


def test_blanks_around_a_pasted_key_are_not_sent():
    assert make_expiring_secret_key(f" {CANARY}\r\n").read_and_keep_alive() == CANARY


def test_a_held_key_shows_itself_in_no_repr_no_copy_and_no_pickle():
    key = SecretKey(CANARY)
    assert CANARY not in f"{key} {key!r} {[key]} {json.dumps(str(key))}"
    assert not hasattr(key, "__dict__")
    for write in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            write(key)


@pytest.mark.parametrize("form", encoded(""))
@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
def test_no_form_of_a_held_key_is_in_a_message(form, before, each_mode):
    key = SecretKey(CANARY)
    with attempt(LEAK, each_mode, f"{form} after {before!r}"):
        told = redact_keys(f"the server said: {encoded(CANARY, before, '!')[form]} (401)")
        assert KEY_MASK in told and told.endswith("(401)")
        for shown in encoded(CANARY).values():
            assert shown.strip("…=") not in told
        assert not any(CANARY[k : k + 8] in told for k in range(len(CANARY) - 7))
    key.discard()
    assert redact_keys(CANARY) == CANARY  # no longer active, and unlike any provider's key


def base64_part(key: bytes, shift: int) -> str:
    """The characters that the base64 of a text with the key has in common with all others with the
    key at the same offset, modulo 3."""
    after = -(shift + len(key)) % 3
    coded = [
        base64.b64encode(before * shift + key + behind * after).decode()
        for before in (b"\0", b"\xff") for behind in (b"\0", b"\xff")
    ]  # fmt: skip
    return "".join(one[0] for one in zip(*coded, strict=True) if len(set(one)) == 1)


@pytest.mark.parametrize("key", ["abcd", "ab+d/%é", "abcdefgh", "a~c?efghi", "a/b+c~?><:", "é" * 9])
def test_the_forms_of_a_key_are_those_in_which_a_text_may_contain_it(key):
    """Oracle: what all texts with the key have in common."""
    raw = key.encode()
    percent = "".join(f"%{byte:02X}" if byte > 127 or chr(byte) in "%+?><:" else chr(byte)
                      for byte in raw)  # fmt: skip
    wanted = {key, percent, percent.replace("/", "%2F"), key.replace("é", "\\xe9")}
    if len(key) >= 8:
        wanted |= {raw.hex(), raw.hex().upper()}
        for shift in range(3):
            part = base64_part(raw, shift)
            wanted |= {part, part.replace("+", "-").replace("/", "_")}
    forms = key_forms(key)
    assert set(forms) == wanted and len(forms) == len(wanted)
    assert [len(form) for form in forms] == sorted(map(len, forms), reverse=True)
    assert key_forms(key[:3]) == ()


@pytest.mark.parametrize(
    ("key", "text", "masked"),
    [
        ("wxyzv", "a wxyzv b", "a … b"),
        ("wxyzv", "a xyzv wxyz b", "a xyzv wxyz b"),  # a key of few letters only as a whole
        ("wxyzvuts", "a wxyzvut xyzvuts b", "a wxyzvut xyzvuts b"),
        ("wxyzvutsr", "a wxyzvuts b xyzvutsr b", "a … b … b"),
        ("wxyzvutsr", "xyzvutsr", "…"),
    ],
)
def test_the_parts_of_a_key_have_eight_characters(key, text, masked):
    assert SecretKey(key).redact(text) == masked.replace("…", KEY_MASK)


TEXTS = st.text(alphabet=st.characters(codec="ascii", categories=("L", "N", "P")), max_size=40)


@pytest.mark.parametrize("mode", MODES)
@given(st.text("abcdefgh0123456789-_+/=.", min_size=8, max_size=60), TEXTS, TEXTS)
def test_whatever_surrounds_a_key_eight_of_its_characters_never_remain(mode, key, before, after):
    kept = SecretKey(key)
    with in_mode(mode), attempt(LEAK, mode, (before, key, after)):
        told = redact_keys(before + key + after)
        assert not any(key[k : k + 8] in told for k in range(len(key) - 7))
    kept.discard()


def test_a_part_of_a_key_is_masked_in_a_text_with_more_characters_than_the_key_has_parts():
    key = SecretKey(CANARY)
    part, page = CANARY[3:-3], "a page of text " * 1_000
    assert len(page) > len(key._pieces)
    with attempt(LEAK, current_mode(), part):
        assert redact_keys(page + part + page) == page + KEY_MASK + page
    assert key.redact(page) == page
    key.discard()


def test_a_message_without_a_key_is_left_alone():
    key = SecretKey(CANARY)
    told = "HTTP 500: the server had an error while processing your request; q17, 0.1234, key"
    assert redact_keys(told) == told
    assert not key.expire_if_idle()


def test_what_looks_like_a_key_goes_though_nobody_holds_it():
    for shown in ("sk-proj-************wxyz", "Bearer abc", "hf_abcdefgh", "AIzaSyA-1234567890"):
        with attempt(LEAK, current_mode(), shown):
            assert redact_keys(f"Incorrect API key provided: {shown}.").count(KEY_MASK) == 1


def test_lent_keys_are_known_within_the_block_and_not_after_it():
    with mask_keys_in_output([CANARY]):
        assert redact_keys(f"token {CANARY} refused") == f"token {KEY_MASK} refused"
        lent = [key for key in active_keys() if CANARY in key.forms_of_whole_key()]
    assert lent and all(key.expire_if_idle() for key in lent), "also if somebody holds them"
    assert all(
        key.expire_if_idle() or CANARY not in key.forms_of_whole_key() for key in active_keys()
    )


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("k" * 513, "has 513 characters, and a key has at most 512"),
        (f"{CANARY} {CANARY}", "white space or a control character inside"),
        (f"{CANARY}\n{CANARY}", "white space or a control character inside"),
        (f"{CANARY}\0", "white space or a control character inside"),
    ],
)
def test_what_cannot_be_a_key_is_refused_without_being_repeated(key, why, tmp_path, store):
    with pytest.raises(KeyRefused, match=why) as refused:
        make_expiring_secret_key(key)
    assert key[:8] not in str(refused.value)
    with JudgeServer() as server, engine() as asking:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=2)
        save_plan(plan, store)
        with pytest.raises(KeyRefused, match=why):
            asking.start(plan, store, keys={"judge": key})
        assert server.bill.totals.calls == 0


def test_the_longest_key_is_taken():
    assert make_expiring_secret_key(f" {'k' * 512} ").read_and_keep_alive() == "k" * 512


def test_a_line_is_cleaned_as_fast_whatever_the_length_of_a_variable(monkeypatch):
    monkeypatch.setenv("LONG_TOKEN", "".join(f"{n:05x}" for n in range(1638)))
    consents = Consents(frozenset({KeyDestination("LONG_TOKEN", "http://127.0.0.1:9")}))
    spec = JudgeSpec("j", "m", "http://127.0.0.1:9/v1", api_key_env="LONG_TOKEN")
    key = find_api_key(spec, {}, consents)
    line = "GET /queue/data HTTP/1.1 200 OK, 0.0123 s, nothing in this line is a part of it"
    assert redact_keys(line) == line
    short, long = (SecretKey("".join(f"{n:05x}" for n in range(count))) for count in (80, 1638))
    costs = [count_calls(lambda key=key: key.redact(line)) for key in (short, long)]
    assert costs[0] == costs[1]
    short.discard()
    long.discard()
    assert redact_keys(f"it was {key.read_and_keep_alive()[100:140]}!") == f"it was {KEY_MASK}!"
    monkeypatch.setenv("LONG_TOKEN", "k" * 100_000)
    with pytest.raises(PlanError, match="LONG_TOKEN has 100,000 characters"):
        find_api_key(spec, {}, consents)


# ---- with a run ----------------------------------------------------------------------------


def held_canaries() -> int:
    gc.collect()
    return sum(CANARY in key.forms_of_whole_key() for key in active_keys())


def test_a_key_lives_with_its_run_and_is_gone_when_the_run_ends(tmp_path, store):
    with JudgeServer(latency=0.05) as server, engine() as asking:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=20, concurrency=2)
        run = start(asking, plan, store)
        until(lambda: server.books()["totals"]["calls"] > 2)
        assert held_canaries() == 1  # the client's; the run itself holds none any more
        assert CANARY not in repr(vars(run)) + repr(run.snapshot())
        run.stop()
        assert run.wait(120)
        assert held_canaries() == 0


def start(asking, plan, store):
    save_plan(plan, store)
    return asking.start(plan, store, keys={"judge": CANARY}, settings=QUICK)


def test_a_paused_run_forgets_its_key_says_so_and_goes_on_when_it_is_typed_again(
    tmp_path, store, monkeypatch
):
    monkeypatch.setenv("EVENHAND_KEY_MINUTES", "0.01")  # 0.6 seconds
    with JudgeServer(latency=0.02) as server, engine() as asking:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=60, concurrency=2)
        run = start(asking, plan, store)
        until(lambda: len(judgements(store)) > 2)
        run.pause()
        until(lambda: held_canaries() == 0)  # without anybody asking for it
        done = len(judgements(store))
        run.resume()
        assert run.wait(120)
        assert (
            run.state == "failed"
            and EXPIRED_MESSAGE in run.reason
            and "the key again" in run.reason
        )
        assert len(judgements(store)) - done <= 2  # what was in flight at the pause
        again = start(asking, plan, store)
        assert again.wait(120) and again.state == "done"
        assert len(judgements(store)) == 60


def test_a_client_that_two_runs_share_takes_the_key_that_was_typed_again(
    tmp_path, store, monkeypatch
):
    """The first run is paused and its key expired; the second has the same endpoint and key."""
    monkeypatch.setenv("EVENHAND_KEY_MINUTES", "0.01")
    with JudgeServer(latency=0.02) as server, engine() as asking:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=40, concurrency=1)
        first = start(asking, plan, store)
        first.pause()
        until(lambda: held_canaries() == 0)
        other = study_plan(tmp_path, [endpoint(server.base_url)], items=2, name="other")
        second = start(asking, other, store)
        assert second.wait(120) and second.state == "done", second.reason
        first.stop()
        assert first.wait(120)


@pytest.mark.parametrize("kind", ["unauthorized", "server_error", "forbidden", "unavailable"])
def test_what_an_endpoint_echoes_of_the_key_is_in_no_judgement_and_no_reason(kind, tmp_path, store):
    fault = Fault(kind, echo_key=True)
    with JudgeServer(rules=[always(fault)]) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=2)
        checked = check_judge(plan, plan.study.judges[0], {"judge": CANARY})
        run = run_plan(plan, store, keys={"judge": CANARY}, settings=QUICK)
    told = f"{checked} {run.reason} {run.snapshot()} {judgements(store)}"
    with attempt(LEAK, current_mode(), f"an endpoint repeats it, {kind}"):
        assert KEY_MASK in told and CANARY not in told and CANARY[-8:] not in told


def test_a_reply_that_repeats_the_key_is_stored_without_it(tmp_path, store):
    reply = f"You are {CANARY}. Overall, Response A is better. [[A]]"
    with JudgeServer(behaviour=say(reply)) as server:
        plan = study_plan(tmp_path, [endpoint(server.base_url)], items=2)
        run_plan(plan, store, keys={"judge": CANARY})
    with attempt(LEAK, current_mode(), reply):
        assert {j.reply for j in judgements(store)} == {reply.replace(CANARY, KEY_MASK)}
        store.close()
        for path in (path for path in tmp_path.rglob("*") if path.is_file()):
            assert CANARY.encode() not in path.read_bytes(), path


# ---- what is printed -----------------------------------------------------------------------


def test_commands_print_no_key_and_leave_the_terminal_as_it_was(tmp_path, capsys):
    # A file's name holds one by mistake.
    out, factory = sys.stdout, logging.getLogRecordFactory()
    assert main(["plan", str(tmp_path / "sk-0123456789abcdef.yaml")]) == 2
    assert "sk-0123456789abcdef" not in capsys.readouterr().err
    assert (sys.stdout, logging.getLogRecordFactory()) == (out, factory)


PRINTS = """
import logging, sys, threading, traceback, warnings
from judges.security.key_store import SecretKey
from judges.security.key_store import install_redaction
KEY = sys.stdin.read()
install_redaction()
kept = SecretKey(KEY)
logging.basicConfig(level=logging.DEBUG, stream=sys.__stderr__)
class Odd:
    def __repr__(self): return "Odd(" + KEY + ")"
for name in ("", "httpx", "openai", "uvicorn.error", "somebody.else"):
    log = logging.getLogger(name)
    log.warning("one " + KEY)
    log.error("two %s of %d: %r", KEY, 7, Odd())
    log.info("three %(key)s", {"key": KEY})
    try:
        raise ValueError("four " + KEY)
    except ValueError as error:
        log.exception("five %s", error, stack_info=True)
        traceback.print_exc()
own = logging.getLogger("own"); own.propagate = False
own.addHandler(logging.StreamHandler(sys.__stdout__)); own.error("six %s", KEY)
access = logging.getLogger("uvicorn.access")
access.warning('%s - "%s %s HTTP/%s" %d', "127.0.0.1:1", "GET", "/?key=" + KEY, "1.1", 200)
warnings.warn("seven " + KEY)
print("eight", KEY, {"key": KEY})
sys.stdout.writelines(["nine " + KEY])
thread = threading.Thread(target=lambda: {}[KEY]); thread.start(); thread.join()
raise SystemExit("ten " + KEY) if "exit" in sys.argv else RuntimeError("ten " + KEY)
"""


@pytest.mark.parametrize("end", sample(["exit", "raise"], "raise"))
def test_nothing_that_is_logged_warned_raised_or_printed_shows_a_held_key(end, each_mode):
    done = subprocess.run(
        [sys.executable, "-c", PRINTS, end], input=CANARY, capture_output=True, text=True,
        cwd=Path(__file__).parents[3], check=False,
    )  # fmt: skip
    told = done.stdout + done.stderr
    words = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    for word in words:
        assert word in told, told
    assert 'GET /?key=[key] HTTP/1.1" 200' in told and "of 7:" in told
    with attempt(LEAK, each_mode, *(f"message {word}" for word in words)):
        for form, shown in encoded(CANARY).items():
            assert shown.strip("…=") not in told, form


def test_an_object_that_shows_a_key_only_in_its_repr_is_masked_in_a_log():
    class Client:
        def __str__(self) -> str:
            return "a client"

        def __repr__(self) -> str:
            return f"Client(key={CANARY!r})"

    key = SecretKey(CANARY)
    record = logging.LogRecord("a", logging.INFO, "a.py", 1, "sent by %r", (Client(),), None)
    assert CANARY in record.getMessage(), "a fair test"
    assert CANARY not in redact_record(record).getMessage()
    key.discard()


class FullDisk(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        self.write("")


def log_record(message: object, *args: object, exc_info: object = None) -> logging.LogRecord:
    return logging.LogRecord("n", logging.INFO, "f", 1, message, args, exc_info)  # type: ignore[arg-type]


def test_a_record_is_masked_in_each_part_and_else_left_as_it_is():
    key, number = SecretKey(CANARY), SecretKey("12345678")
    said = redact_record(log_record("a " + CANARY))
    assert said.getMessage() == "a " + KEY_MASK and said.args == ()
    kept = object()
    said = redact_record(log_record("%s %d %s %s %s", CANARY, 12345678, 0.5, None, kept))
    assert said.args == (KEY_MASK, 12345678, 0.5, None, kept), "numbers stay numbers"
    said = redact_record(log_record("%(key)s %(n)d", {"key": CANARY, "n": 7}))
    assert said.getMessage() == f"{KEY_MASK} 7"
    try:
        raise ValueError(CANARY)
    except ValueError:
        said = redact_record(log_record("a", exc_info=sys.exc_info()))
    assert said.exc_info is None
    assert said.exc_text is not None and said.exc_text.endswith(f"ValueError: {KEY_MASK}")
    nothing = redact_record(log_record("a", exc_info=(None, None, None)))
    assert nothing.exc_info == (None, None, None) and nothing.exc_text is None
    said = log_record("a")
    said.stack_info = "b " + CANARY
    assert redact_record(said).stack_info == "b " + KEY_MASK
    key.discard()
    number.discard()


def test_masking_is_undone_where_it_began():
    before = logging.getLogRecordFactory(), sys.stdout, sys.stderr
    undo = install_redaction()
    try:
        with mask_keys_in_output([CANARY]):
            made = logging.getLogRecordFactory()("n", logging.INFO, "f", 1, CANARY, (), None)
            assert made.getMessage() == KEY_MASK
        assert isinstance(sys.stdout, RedactingStream) and isinstance(sys.stderr, RedactingStream)
    finally:
        undo()
    assert (logging.getLogRecordFactory(), sys.stdout, sys.stderr) == before


def test_a_stream_that_masks_keys_writes_and_flushes_the_one_behind_it() -> None:
    class Paper(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    paper = Paper()
    stream, key = RedactingStream(paper), SecretKey(CANARY)
    assert stream.write(f"a {CANARY}\n") == len(CANARY) + 3
    stream.writelines(["b\n", f"{CANARY} c\n"])
    stream.flush()
    assert paper.getvalue() == f"a {KEY_MASK}\nb\n{KEY_MASK} c\n"
    assert paper.flushed == 1 and stream.writable()
    key.discard()


def test_a_log_that_cannot_be_written_stops_a_command_and_no_server() -> None:
    server, command = RedactingStream(FullDisk(), lossy=True), RedactingStream(FullDisk())
    assert server.write("abc") == 3
    server.flush()
    with pytest.raises(OSError, match="No space"):
        command.write("abc")
