"""Words and heights of the views of Results in a real browser, at the widths of a desk and a phone.

`python -m tests.bench.view_sizes URL STUDY...` prints a table of a page that is running. With
EVENHAND_PICTURES=FOLDER it also writes a screenshot of each view in both themes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

WIDTHS = (1440, 390)
MEASURE = """() => {
  const tab = [...document.querySelectorAll('#eh-tabs > .tabitem')]
    .find(node => node.getClientRects().length);
  const seen = (node) => !node.closest('.eh-vh, [hidden], style, script')
    && node.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const walker = document.createTreeWalker(tab, NodeFilter.SHOW_TEXT);
  let words = 0;
  while (walker.nextNode()) {
    const {parentElement, textContent} = walker.currentNode;
    if (!parentElement || !seen(parentElement)) continue;
    words += textContent.split(/\\s+/).filter(word => /[\\p{L}\\p{N}]/u.test(word)).length;
  }
  return {words, height: document.documentElement.scrollHeight};
}"""
"""Words: those of the tab that are seen (no folded text, nothing for screen readers alone), with
the numbers in cells. Height: of the whole page."""


class ViewSize(NamedTuple):
    view: str
    width: int
    words: int
    height: int


def open_view(page: Page, url: str, study: str, view: str, theme: str, **more: str) -> None:
    """Open a view by its address and wait until its panels are drawn."""
    asked = {"__theme": theme, "study": study, "tab": "results", "view": view, **more}
    page.goto(f"{url}/?{urlencode(asked)}")
    page.wait_for_selector("#eh-loading", state="hidden", timeout=120_000)
    page.wait_for_selector("#eh-results-view label", timeout=120_000)
    page.wait_for_selector("#eh-results-data p", state="attached", timeout=120_000)
    page.wait_for_function("() => !document.querySelector('#eh-drawing.on, .eh-old, .eh-wait')")
    page.wait_for_timeout(700)  # charts are drawn in the next frames
    note = page.locator("#eh-results-data p").first.text_content() or ""
    if f"“{study}”" not in note:
        raise SystemExit(f"The page has no study {study!r}; it shows another one: {note}")


def view_names(page: Page) -> list[str]:
    """Names on the switch of views."""
    labels = page.locator("#eh-results-view label")
    return [str(text).strip() for text in labels.all_text_contents()]


def measure_views(
    browser: Browser, url: str, study: str, folder: Path | None = None
) -> list[ViewSize]:
    """Sizes of every view of a study at both widths; screenshots into `folder` if given."""
    page = browser.new_page(viewport={"width": WIDTHS[0], "height": 900})
    open_view(page, url, study, "", "light")
    sizes = []
    for view in view_names(page):
        for theme in ("light", "dark") if folder else ("light",):
            page.set_viewport_size({"width": WIDTHS[0], "height": 900})
            open_view(page, url, study, view, theme)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                page.wait_for_timeout(500)
                found: dict[str, Any] = page.evaluate(MEASURE)
                if theme == "light":
                    sizes.append(ViewSize(view, width, found["words"], found["height"]))
                if folder:
                    picture = folder / f"{view}_{width}_{theme}.png"
                    page.screenshot(path=str(picture), full_page=True)
    page.close()
    return sizes


def main(url: str, *studies: str) -> None:
    """Print the table; fail if the page does not have one of the studies."""
    pictures = os.environ.get("EVENHAND_PICTURES")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        for study in studies:
            folder = Path(pictures, study.replace(" ", "_")) if pictures else None
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
            for size in measure_views(browser, url, study, folder):
                print(
                    f"{study:<28}{size.view:<12}{size.width:>5} px wide"
                    f"{size.words:>6} words{size.height:>6} px",
                    flush=True,
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
