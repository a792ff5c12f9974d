"""Set up Gradio's queue of events (requests of open pages): its size, and a fair order of visitors;
and Gradio's sessions, which then contain no typed values."""

from typing import Final

import gradio as gr

from components.server import gradio_private
from components.server.access import Access

HANDLER_CONCURRENCY: Final = 16
"""Maximum events (requests of open pages) that one handler processes at the same time."""


def configure_queue_and_sessions(blocks: gr.Blocks, access: Access) -> None:
    """Prepare a page before its launch: its queue of events gets the limits and the order of
    `access`, its sessions keep no typed values, and in public mode no call of the API can bypass
    the queue."""
    blocks.queue(
        default_concurrency_limit=HANDLER_CONCURRENCY,
        max_size=access.queue,
        api_open=not access.public,
    )  # with a closed API no long call can bypass the queue
    gradio_private.replace_queue(blocks, access.queue_limits)
    gradio_private.use_minimal_sessions(blocks)
