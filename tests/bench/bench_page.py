"""The page in a real browser: live lag, a filter, a million judgements, weight, first content.

Peers are the same numbers on gr.Plot and gr.Dataframe, in the same browser, one after the other.
EVENHAND_BENCH_QUICK=1 writes fewer judgements and watches shorter, and says so.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from components.server.fair_turns import IDLE_SECONDS
from components.study.plan.demo_studies import LARGER_STUDY
from tests.bench import big_store
from tests.ui.conftest import BROWSERS, QUIET, ROOT, open_fold
from tests.waiting import free_port

SHORT = os.environ.get("EVENHAND_BENCH_QUICK") == "1"
WATCH = 12 if SHORT else 30
IDLE_WATCH = 20 if SHORT else 60
MILLION = 200_000 if SHORT else 1_000_000
ROUNDS = 5
"""As many judges as the store has: no filter is asked for twice, so nothing drawn is kept."""
PASSES = 3
SUMMARY = "#eh-over-judges table"
FINDINGS = f"#eh-loading .content table, {SUMMARY}"
"""The table of judges of Summary, on the loading screen or in the page with its controls."""
BIAS_VIEW = "view=Position"
LAG = """seconds => new Promise(done => {
  // Finished is the last change of a plot before its next figure: gr.Plot draws each one twice, and
  // into a new element. Plots are told apart by their place.
  const known = [], lags = [], until = performance.now() + 1000 * seconds;
  const stampOf = (plot) => [...plot.querySelectorAll('.annotation-text')]
    .map(node => node.textContent).find(text => /^\\d{13}$/.test(text));
  let changed = new Set();
  const everything = {subtree: true, childList: true, attributes: true, characterData: true};
  new MutationObserver(changes => changes.forEach(({target}) => changed.add(target)))
    .observe(document.body, everything);
  const look = () => {
    const touched = [...changed];
    changed = new Set();
    [...document.querySelectorAll('.js-plotly-plot')].forEach((plot, place) => {
      const stamp = stampOf(plot), before = known[place];
      if (!stamp) return;
      if (stamp !== before?.stamp) {
        if (before && !before.first) lags.push(before.at - Number(before.stamp));
        known[place] = {stamp, at: Date.now(), first: !before};
      } else if (touched.some(node => plot.contains(node))) before.at = Date.now();
    });
    performance.now() < until ? requestAnimationFrame(look) : done(lags);
  };
  look();
})"""


@contextmanager
def process(*arguments: str, port: int) -> Iterator[subprocess.Popen[str]]:
    env = {**os.environ, "GRADIO_ANALYTICS_ENABLED": "False", "PYTHONUNBUFFERED": "1"}
    log = Path(tempfile.mkstemp(suffix=".log")[1])
    with log.open("w") as out:
        started = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        started.log = log  # type: ignore[attr-defined]
        try:
            _wait(f"http://127.0.0.1:{port}", started, log)
            yield started
        finally:
            started.terminate()
            started.wait(60)


def _wait(url: str, started: subprocess.Popen[str], log: Path) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        if started.poll() is not None:
            raise RuntimeError(log.read_text())
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"{url} did not come up")


def page_of(browser: Browser, url: str) -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    page.goto(url)
    return page


# ------------------------------------------------------------------------------ live lag


def live_lag(browser: Browser, kind: str) -> list[float]:
    """Milliseconds from the moment a figure was made to the frame that shows it."""
    port = free_port()
    with process("-m", "tests.bench.page_peer", "live", kind, str(port), port=port):
        page = page_of(browser, f"http://127.0.0.1:{port}")
        page.wait_for_selector(".js-plotly-plot .annotation-text")
        page.wait_for_timeout(3000)
        lags: list[float] = page.evaluate(LAG, WATCH / PASSES)
        page.context.close()
    return lags


def report_lag(browser: Browser) -> None:
    lags: dict[str, list[float]] = {"ours": [], "timer": [], "generator": []}
    for _ in range(PASSES):  # in turns: a busy minute of the machine hits all three
        for kind, values in lags.items():
            values += live_lag(browser, kind)
    p50 = {kind: statistics.median(values) for kind, values in lags.items()}
    for kind, word in (("ours", "PlotlyView, Timer"), ("timer", "gr.Plot, Timer"),
                       ("generator", "gr.Plot, generator")):  # fmt: skip
        values = sorted(lags[kind])
        p95 = values[int(0.95 * (len(values) - 1))]
        drawn = len(values) / 3 / WATCH
        print(f"lag        {word:20s} p50 {p50[kind]:6.0f} ms   p95 {p95:6.0f} ms   "
              f"{drawn:.1f} updates/s")  # fmt: skip
    print(f"           ratio to the generator {p50['ours'] / p50['generator']:.2f} (bar 0.45), "
          f"to the Timer {p50['ours'] / p50['timer']:.2f} (bar 0.70)")  # fmt: skip


# -------------------------------------------------------------------------------- filter

OURS = """({old, prompt}) => new Promise(done => {
  const began = performance.now(), plot = () => document.querySelector('#eh-slots .eh-plot');
  const state = () => [document.querySelector('#eh-matrix .eh-heat-box')?.dataset.heat,
                       plot()?.getAttribute('aria-label')].join('|');
  const look = () => state().split('|').every((part, i) => part !== old[i])
    ? requestAnimationFrame(() => done(performance.now() - began)) : requestAnimationFrame(look);
  look();
})"""
PEER = """judge => new Promise(done => {
  const began = performance.now();
  const names = (id) => [...document.querySelectorAll(`#${id} .js-plotly-plot .ytick text`)]
    .map(node => node.textContent).join();
  const rows = (id) => document.querySelectorAll(`#${id} tbody tr`).length;
  const right = () => document.querySelector('#done textarea, #done input')?.value === judge
    && names('matrix').split(',').every(name => judge === 'all' || name.startsWith('brief'))
    && rows('flips') > 0 && rows('tests') > 0;
  const look = () => right() ? requestAnimationFrame(() => done(performance.now() - began))
    : requestAnimationFrame(look);
  look();
})"""


def ours_filter(browser: Browser, store: Path) -> tuple[list[float], list[float]]:
    """(milliseconds from choosing a judge to finished charts, milliseconds in Python)."""
    port = free_port()
    with process("-m", "tests.bench.timed_app", str(port), str(store), port=port) as started:
        query = f"?tab=results&study={big_store.NAME}&{BIAS_VIEW}"
        page = page_of(browser, f"http://127.0.0.1:{port}/{query}")
        open_fold(page, "Which position is chosen")
        page.wait_for_selector("#eh-slots .main-svg")
        page.wait_for_timeout(2000)
        times = []
        for number in range(ROUNDS):
            old = page.evaluate(
                "() => [document.querySelector('#eh-matrix .eh-heat-box').dataset.heat,"
                " document.querySelector('#eh-slots .eh-plot').getAttribute('aria-label')]"
            )
            _choose(page, "#eh-filter-judge", f"judge-{number}")
            times.append(page.evaluate(OURS, {"old": old, "prompt": ""}))
            page.wait_for_timeout(300)
        page.context.close()
        return times, _python(started)


def peer_filter(browser: Browser, store: Path) -> tuple[list[float], list[float]]:
    port = free_port()
    arguments = ("-m", "tests.bench.page_peer", "filter", "peer", str(port), str(store))
    with process(*arguments, port=port) as started:
        page = page_of(browser, f"http://127.0.0.1:{port}")
        page.evaluate(PEER, "all")
        page.wait_for_timeout(2000)
        times = []
        for number in range(ROUNDS):
            judge = f"judge-{number}"
            _choose(page, "#judge", judge)
            times.append(page.evaluate(PEER, judge))
            page.wait_for_timeout(300)
        page.context.close()
        return times, _python(started)


def _choose(page: Page, box: str, name: str) -> None:
    """Opened before the clock starts; the click that chooses is the last thing before it does."""
    page.locator(f"{box} input").click()
    option = page.get_by_role("option", name=name, exact=True)
    option.wait_for()
    option.dispatch_event("mousedown")


def _python(started: Any) -> list[float]:
    lines = re.findall(r"^python ([\d.]+)$", started.log.read_text(), re.MULTILINE)
    return [float(value) for value in lines[-ROUNDS:]]


def report_filter(browser: Browser, folder: Path) -> None:
    store = folder / "hundred.db"
    n = big_store.write(store, 100_000, texts=False)
    copy = folder / "peer.db"
    shutil.copy(store, copy)
    ours: list[float] = []
    peer: list[float] = []
    ours_python: list[float] = []
    peer_python: list[float] = []
    for _ in range(PASSES):  # in turns, as above
        for times, python, (took, worked) in (
            (ours, ours_python, ours_filter(browser, store)),
            (peer, peer_python, peer_filter(browser, copy)),
        ):
            times += took
            python += worked
    a, b = statistics.median(ours), statistics.median(peer)
    share = statistics.median(ours_python) / a
    print(f"filter     {n:,} judgements to finished charts: {a:.0f} ms, gr.Plot {b:.0f} ms, "
          f"ratio {a / b:.2f} (bar 0.50)")  # fmt: skip
    print(f"           of that Python {statistics.median(ours_python):.0f} ms, {share:.0%} "
          f"(bar 20 %); in the peer {statistics.median(peer_python):.0f} ms")  # fmt: skip


# ------------------------------------------------------------------------------- a million


def seconds_until(browser: Browser, url: str, selector: str) -> tuple[float, Page]:
    """Seconds from the request of a page in a new browser session to its visible content."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(60_000)
    began = time.monotonic()
    page.goto(url, wait_until="commit")
    page.locator(selector).first.wait_for()
    return time.monotonic() - began, page


def report_million(browser: Browser, folder: Path) -> None:
    """The Summary of a large study: opened for the first time, again, and after a restart."""
    store = folder / "million.db"
    n = big_store.write(store, MILLION)
    size = store.stat().st_size / 1e9
    first, again, controls, filtered, peak = _open_large(browser, store)
    restarted, *_ = _open_large(browser, store)
    print(f"large      {n:,} judgements ({size:.1f} GB on disk, replies included)")
    print(f"           opens in {first:.1f} s (bar 10), again in {again:.1f} s (bar 2), "
          f"after a restart in {restarted:.1f} s")  # fmt: skip
    print(f"           its controls again in {controls:.1f} s")
    print(f"           filters in {filtered:.2f} s, peak memory {peak:.2f} GB (bar 1.5)")


def _open_large(browser: Browser, store: Path) -> tuple[float, float, float, float, float]:
    """Seconds until a first and a second visit to one process show the findings, until the second
    shows the controls, seconds of a filter, and the peak GB."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/?tab=results&study={big_store.NAME}"
    command = ("app.py", "--port", str(port), "--store", str(store))
    with process(*command, port=port) as started:
        first, page = seconds_until(browser, url, SUMMARY)
        page.context.close()
        again, page = seconds_until(browser, url, FINDINGS)
        began = time.monotonic() - again
        page.locator(SUMMARY).first.wait_for()
        controls = time.monotonic() - began
        page.context.close()
        _, page = seconds_until(browser, f"{url}&{BIAS_VIEW}", "#eh-matrix .eh-heat-box")
        old = page.locator("#eh-matrix .eh-heat-box").first.get_attribute("data-heat")
        began = time.monotonic()
        _choose(page, "#eh-filter-judge", "judge-1")
        page.wait_for_function(
            "old => document.querySelector('#eh-matrix .eh-heat-box').dataset.heat !== old", arg=old
        )
        filtered = time.monotonic() - began
        status = Path(f"/proc/{started.pid}/status").read_text()
        page.context.close()
    peak = int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1e6  # type: ignore[union-attr]
    return first, again, controls, filtered, peak


RATIO_BARS = {"Home, seen": 1.4, "Home, ready": 1.4, "Results, seen": 1.8, "Results, ready": 1.8}
"""Page -> most times the seconds of an empty Gradio page; seen: all of it can be read, ready: also
clicked."""
MAX_COMPONENTS = 250


def report_first_content(browser: Browser, folder: Path) -> None:
    """Seconds to the first content, of Home, of the demo's Results and of an empty Gradio page, and
    their ratios to the empty page; the number of components that the page starts with."""
    ours, peer = free_port(), free_port()
    app = ("app.py", "--port", str(ours), "--store", str(folder / "first.db"))
    empty = ("-m", "tests.bench.page_peer", "empty", "peer", str(peer))
    opened = urllib.parse.urlencode({"tab": "results", "study": LARGER_STUDY})
    results = f"http://127.0.0.1:{ours}/?{opened}"
    pages = (
        ("first words", f"http://127.0.0.1:{ours}/", "#eh-loading h1, #eh-home-title h1"),
        ("Home, seen", f"http://127.0.0.1:{ours}/", ".eh-thumb"),
        ("Home, ready", f"http://127.0.0.1:{ours}/", "#eh-home-examples .eh-thumb"),
        ("Results, seen", results, FINDINGS),
        ("Results, ready", results, SUMMARY),
        ("empty Gradio", f"http://127.0.0.1:{peer}/", "button"),
    )
    with process(*app, port=ours), process(*empty, port=peer):
        took: dict[str, list[float]] = {name: [] for name, *_ in pages}
        for passed in range(PASSES + 1):  # the first pass warms the servers
            for name, url, selector in pages:
                seconds, page = seconds_until(browser, url, selector)
                page.context.close()
                if passed:
                    took[name].append(seconds)
        with urllib.request.urlopen(f"http://127.0.0.1:{ours}/config", timeout=60) as answer:
            components = len(json.load(answer)["components"])
    medians = {name: statistics.median(values) for name, values in took.items()}
    for name, seconds in medians.items():
        ratio = seconds / medians["empty Gradio"]
        bar = f" (bar {RATIO_BARS[name]})" if name in RATIO_BARS else ""
        print(f"content    {name:14s} {seconds:.2f} s, {ratio:.1f} times the empty page{bar}")
    print(f"content    {components} components at the start (bar {MAX_COMPONENTS})")


# ---------------------------------------------------------------------------------- weight


def report_weight(browser: Browser, folder: Path) -> None:
    """Bytes on the wire until Results stands with its plots, nothing cached."""
    port = free_port()
    with process("app.py", "--port", str(port), "--store", str(folder / "new.db"), port=port):
        for name, query, shown in (
            ("first screen", "", "#eh-first-finding h1"),
            ("Results", "?tab=results&view=Ranking", "#eh-elo .main-svg"),
        ):
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            page = context.new_page()
            page.set_default_timeout(60_000)
            session = context.new_cdp_session(page)
            session.send("Network.enable")
            sizes: list[float] = []
            hosts: set[str] = set()
            session.on(
                "Network.loadingFinished", lambda e, s=sizes: s.append(e["encodedDataLength"])
            )
            page.on("request", lambda r, h=hosts: h.add(r.url.split("/")[2]))
            page.goto(f"http://127.0.0.1:{port}/{query}")
            page.wait_for_selector(shown)
            page.wait_for_timeout(4000)
            others = {host for host in hosts if host and not host.startswith("127.0.0.1")}
            print(f"weight     {name:12s} {sum(sizes) / 1e6:.2f} MB in {len(sizes)} requests "
                  f"(bar 2.5), other hosts asked: {len(others)}")  # fmt: skip
            context.close()


# ---------------------------------------------------------------------------------- idle


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report_idle(folder: Path) -> None:
    """Processor time of the app and of an empty Gradio page without visitors, side by side."""
    ours, peer = free_port(), free_port()
    app = ("app.py", "--port", str(ours), "--store", str(folder / "idle.db"))
    empty = ("-m", "tests.bench.page_peer", "empty", "peer", str(peer))
    with process(*app, port=ours) as evenhand, process(*empty, port=peer) as gradio:
        time.sleep(IDLE_SECONDS + 5)
        before = [cpu_seconds(one.pid) for one in (evenhand, gradio)]
        time.sleep(IDLE_WATCH)
        after = [cpu_seconds(one.pid) for one in (evenhand, gradio)]
    a, b = ((new - old) / IDLE_WATCH for old, new in zip(before, after, strict=True))
    print(f"idle       {a:.1%} of a core over {IDLE_WATCH} s, an empty Gradio page {b:.1%}, "
          f"ratio {a / b:.2f} (bar 1.00)")  # fmt: skip


def main() -> int:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if SHORT:
        print(f"quick: {MILLION:,} instead of 1,000,000 judgements, {WATCH} s of live charts")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as name:
        browser = driver.chromium.launch(executable_path=found, args=QUIET)
        folder = Path(name)
        report_weight(browser, folder)
        report_first_content(browser, folder)
        report_idle(folder)
        report_lag(browser)
        report_filter(browser, folder)
        report_million(browser, folder)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
