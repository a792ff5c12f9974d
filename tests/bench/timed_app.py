"""The app itself, printing the milliseconds Python spends on each redraw of Results."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from components import results_tab
from components.page_tab import create_page
from components.theme import launch_look
from judges.engine import Engine
from studies.store import Store


def main() -> None:
    plain = results_tab.show

    def timed(*arguments: Any) -> list[Any]:
        began = time.perf_counter()
        made = plain(*arguments)
        print(f"python {1000 * (time.perf_counter() - began):.1f}", flush=True)
        return made

    results_tab.show = timed
    port, store = sys.argv[1:]
    page = create_page(Store(Path(store)), Engine())
    page.queue(default_concurrency_limit=16)
    page.launch(server_port=int(port), quiet=True, **launch_look())


if __name__ == "__main__":
    main()
