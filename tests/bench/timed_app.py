"""The app itself, printing the milliseconds Python spends on each redraw of Results."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from components.layout.theme import appearance_launch_arguments
from components.page.page_tab import create_page
from components.results import results_tab, view_drawing
from judges.engine.engine import Engine
from studies.store.store import Store


def main() -> None:
    plain = view_drawing.render_view

    def timed(*arguments: Any) -> dict[str, Any]:
        began = time.perf_counter()
        made = plain(*arguments)
        print(f"python {1000 * (time.perf_counter() - began):.1f}", flush=True)
        return made

    vars(results_tab)["render_view"] = timed
    port, store = sys.argv[1:]
    page = create_page(Store(Path(store)), Engine())
    page.queue(default_concurrency_limit=16)
    page.launch(server_port=int(port), quiet=True, **appearance_launch_arguments())


if __name__ == "__main__":
    main()
