"""Vote: people as judges, blind, sides randomised. The ballot, and the rules for whoever asks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components import header
from components.drawing.panels import heading, notice
from components.plot import ClickableHTML, Switch
from components.vote import desk as vote_desk
from components.vote.acts import act
from components.vote.desk import AS_PROTOCOL, CHOOSE, WHOM, Rules, rules_of
from components.vote.form import NAMES
from components.vote.login import ACCOUNT, TOLD, can_log_in
from studies.errors import EvenhandError
from studies.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
_BALLOT: Final = "evenhand.ballot(element, trigger, watch); /* triggers 'select' */"
_LINK: Final = "evenhand.votersLink(element, watch);"
ASK: Final = "(...inputs) => [...inputs.slice(0, -1), evenhand.voterHere()]"
"""Who sits here and what the address shows, as the browser knows it: the last of the inputs,
whatever a page for strangers puts before them."""
OPENED: Final = ASK.replace("voterHere()", "voterHere(true)")
"""The same, and keys go to the ballot: the tab that was clicked has a use for arrows of its own."""


@dataclass(frozen=True)
class VoteTab:
    card: gr.HTML
    here: gr.Textbox
    """Carries what only the browser knows: the voter's name, whether the page is a voter's."""
    desk: gr.Column
    controls: list[Any]
    """In the order of vote_desk.Rules' fields."""
    save: gr.Button
    valid: gr.HTML
    link: gr.HTML
    people: gr.HTML

    @property
    def outputs(self) -> list[Any]:
        """What `show` fills."""
        return [self.card, self.desk, *self.controls, self.valid, self.link, self.people]


def build() -> VoteTab:
    here = gr.Textbox(visible="hidden", elem_id="eh-vote-here", label="here")
    if can_log_in():
        gr.LoginButton(visible=False)  # brings the routes; the ballot has the links to them
    card = gr.HTML(
        "", js_on_load=_BALLOT, apply_default_css=False, elem_id="eh-ballot",
        elem_classes=["eh-html", "eh-ballot"],
    )  # fmt: skip
    with gr.Column(elem_classes="eh-panel eh-vote-desk", elem_id="eh-vote-desk") as desk:
        ClickableHTML(heading("Rules of voting", "for everybody who votes on this study"))
        controls, save = _build_rules()
        valid = ClickableHTML(elem_id="eh-vote-valid")
        link = gr.HTML(
            "", js_on_load=_LINK, apply_default_css=False, elem_classes=["eh-html"],
            elem_id="eh-vote-link",
        )  # fmt: skip
        people = ClickableHTML(elem_id="eh-vote-people")
    return VoteTab(card, here, desk, controls, save, valid, link, people)


def _build_rules() -> tuple[list[Any], gr.Button]:
    with gr.Row(elem_classes="eh-vote-rules"):
        mode = gr.Dropdown(
            [AS_PROTOCOL, *NAMES.values()], value=AS_PROTOCOL, label="Form", interactive=True
        )
        votes = gr.Number(3, label="Votes on each", minimum=1, precision=0, interactive=True)
        each = gr.Number(0, label="Most per person, 0: all", minimum=0, precision=0,
                         interactive=True)  # fmt: skip
        repeats = gr.Slider(0, 50, 10, step=5, label="Repeats, %",
                            interactive=True)  # fmt: skip
        whom = gr.Dropdown(
            list(WHOM), value=next(iter(WHOM)), label="Verification of", interactive=True
        )
    with gr.Row(elem_classes="eh-vote-rules"):
        choose = Switch(list(CHOOSE), "What to vote on", elem_id="eh-vote-choose")
        timed = gr.Checkbox(True, label="Record the time of each vote", interactive=True)
        reveal = gr.Checkbox(False, label="Say who it was after each vote", interactive=True)
        save = gr.Button("Save rules", elem_classes="eh-fit", elem_id="eh-vote-save")
    return [mode, choose, votes, repeats, each, whom, timed, reveal], save


def bind(tab: VoteTab, top: header.Header, store: Store, on_tab: gr.Tab) -> None:
    """The ballot's every act is one handler; it is shown when the tab is opened, or the study is
    changed while it is."""

    def do(
        study: str, event: gr.EventData, request: gr.Request, profile: gr.OAuthProfile | None
    ) -> list[Any]:
        asked = event._data if isinstance(event._data, Mapping) else {}
        if not study:
            return [gr.skip(), gr.skip()]
        shown = act(store, study, asked, account_of(request, profile))
        return [shown, header.show_note(store, study)]

    def open_tab(
        study: str, here: str, request: gr.Request, profile: gr.OAuthProfile | None
    ) -> list[Any]:
        known = _read(here)
        if not study or known.get("tab") != "vote":
            return [gr.skip()] * len(tab.outputs)
        return show(store, study, known, account_of(request, profile))

    def people(study: str, here: str) -> Any:
        hidden = _read(here).get("blind") or not study or not store.owns(study)
        return gr.skip() if hidden else vote_desk.show_people(store, study)

    def keep(study: str, *values: Any) -> list[Any]:
        try:
            store.set_voting(study, Rules(*values).voting())
        except EvenhandError as error:
            return [notice("bad", "Not saved.", str(error))]
        gr.Info("The rules are saved; they hold from the next ballot on.")
        return [vote_desk.show_valid(store, study, values[1])]

    def valid(study: str, choose: str) -> Any:
        return vote_desk.show_valid(store, study, choose) if study else gr.skip()

    tab.card.select(do, top.study, [tab.card, top.note], trigger_mode="multiple", **QUIET).then(
        people, [top.study, tab.here], tab.people, js=ASK, **QUIET
    )
    opening: dict[str, Any] = {
        "fn": open_tab, "inputs": [top.study, tab.here], "outputs": tab.outputs, **QUIET,
    }  # fmt: skip
    on_tab.select(**opening, js=OPENED)
    top.study.change(**opening, js=ASK)
    tab.save.click(keep, [top.study, *tab.controls], tab.valid, **QUIET).then(**opening, js=ASK)
    tab.controls[1].input(valid, [top.study, tab.controls[1]], tab.valid, **QUIET)


def show(store: Store, study: str, here: Mapping[str, Any], account: str = "") -> list[Any]:
    """Everything on the tab; on a voter's page, and on somebody else's study, the ballot alone."""
    told = "" if account else TOLD.get(str(here.get("login", "")), "")
    ballot = act(store, study, {"act": "show", "voter": here.get("voter", "")}, account, told)
    if here.get("blind") or not store.owns(study):
        return [ballot, gr.Column(visible=False), *[gr.skip()] * (len(Rules.__slots__) + 3)]
    rules = rules_of(store.voting(study))
    values = [getattr(rules, name) for name in Rules.__slots__]
    return [
        ballot,
        gr.Column(visible=True),
        *values,
        vote_desk.show_valid(store, study, rules.choose),
        vote_desk.show_link(store),
        vote_desk.show_people(store, study),
    ]


def account_of(request: gr.Request, profile: gr.OAuthProfile | None) -> str:
    """Who is logged in, on a Space or where the page has a password; else nobody."""
    if profile is not None:
        return f"{ACCOUNT}{profile.username}"
    return str(getattr(request, "username", None) or "")


def _read(here: str) -> dict[str, Any]:
    try:
        said = json.loads(here or "{}")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
