"""Share links to a study in public mode: links to read, links to vote, and their withdrawal."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import gradio as gr

from components.html.format import count
from components.html.pieces import paragraph
from components.layout.widgets import ClickableHTML, HiddenText
from studies.sharing.visitor_store import VisitorStore

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
_BUTTONS: Final = {
    "make": "Make a read-only link",
    "voters": "Make a link for voters",
    "withdraw": "Withdraw",
}
SHOW_LINK: Final = "(token) => evenhand.link(token)"
SHOW_VOTERS_LINK: Final = "(token) => evenhand.linkForVoters(token)"


@dataclass(frozen=True)
class ShareLinks:
    note: gr.HTML
    make: gr.Button
    voters: gr.Button
    withdraw: gr.Button
    token: gr.Textbox
    """The token of a new link, from which the page's script makes the address."""


def build() -> ShareLinks:
    note = ClickableHTML(elem_id="eh-link-note")
    with gr.Row(elem_classes="eh-chips"):
        make, voters, withdraw = (
            gr.Button(
                text, size="sm", elem_id=f"eh-link-{name}", elem_classes="eh-fit", visible=False
            )
            for name, text in _BUTTONS.items()
        )
    token = HiddenText("link", elem_id="eh-link-token")
    return ShareLinks(note, make, voters, withdraw, token)


def bind(links: ShareLinks, opener: gr.Button, study: gr.Dropdown, store: VisitorStore) -> None:
    shown = [links.note, links.make, links.voters, links.withdraw]

    def make_link(name: str, votes: bool) -> list[Any]:
        return [store.create_share_link(name, votes=votes), *render(store, name)]

    def withdraw_links(name: str) -> list[Any]:
        store.revoke_links(name)
        return ["", *render(store, name)]

    opener.click(lambda name: render(store, name), study, shown, **QUIET)
    for button, handler, script in (
        (links.make, partial(make_link, votes=False), SHOW_LINK),
        (links.voters, partial(make_link, votes=True), SHOW_VOTERS_LINK),
        (links.withdraw, withdraw_links, SHOW_LINK),
    ):
        event = button.click(handler, study, [links.token, *shown], **QUIET)
        event.success(None, links.token, None, js=script)


def render(store: VisitorStore, name: str) -> list[Any]:
    """Values of the outputs: a note on who can open the study, then two buttons that make links and
    one that withdraws them. Only the owner sees the buttons, and the last only if there are
    links."""
    mine = bool(name) and store.owns(name)
    made = store.count_links(name) if mine else 0
    return [
        paragraph(link_status_text(store, name, made), "eh-small") if name else "",
        gr.Button(visible=mine),
        gr.Button(visible=mine),
        gr.Button(f"Withdraw {count(made, 'link')}", visible=made > 0),
    ]


def link_status_text(store: VisitorStore, name: str, links: int) -> str:
    if store.owns(name) and not links:
        return (
            "Only you can open this study. With a read-only link others can view and export it, "
            "but not run or change it. A link for voters also lets them vote."
        )
    if store.owns(name):
        return (
            f"Links to this study: {count(links)}. Everyone who has a link can view and export the "
            "study; a link for voters also lets them vote. Each link is shown only once."
        )
    if store.is_ownerless(name):
        return "This study is open to every visitor of this page: everyone can open its link."
    return "Another user shared this study with you. The link works for everyone who has it."
