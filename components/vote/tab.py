"""The Vote tab: the blind ballot for voters, and the voting rules for the organiser."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from components.html.pieces import notice_html, panel_heading
from components.layout import header
from components.layout.widgets import ClickableHTML, HiddenText, Switch
from components.server.gradio_private import click_data
from components.server.hf_login import ACCOUNT_PREFIX, LOGIN_MESSAGES, can_log_in
from components.vote import ballot_actions, ballot_form, organiser
from studies.errors import EvenhandError
from studies.store.ballot_queries import read_voting_rules
from studies.store.store import Store

QUIET: Final[dict[str, Any]] = {"show_progress": "hidden", "api_visibility": "private"}
_BALLOT_SCRIPT: Final = "evenhand.ballot(element, trigger, watch); /* triggers 'select' */"
_LINK_SCRIPT: Final = "evenhand.votersLink(element, watch);"
READ_BROWSER_STATE: Final = "(...inputs) => [...inputs.slice(0, -1), evenhand.voterHere()]"
"""Script that sets the last input of an event to the browser state (see `VoteTab.browser_state`).
On a public page, further inputs come first."""
READ_STATE_AND_FOCUS: Final = READ_BROWSER_STATE.replace("voterHere()", "voterHere(true)")
"""READ_BROWSER_STATE that also focuses the ballot; a focused tab would take the arrow keys."""


@dataclass(frozen=True)
class VoteTab:
    card: gr.HTML
    browser_state: gr.Textbox
    """Browser state as JSON: the voter's name, whether the page is a voter's page, the result of a
    login, and the open tab."""
    organiser: gr.Column
    controls: list[Any]
    """The controls of the voting rules, in the order of the fields of `VotingControls`."""
    save: gr.Button
    validity: gr.HTML
    link: gr.HTML
    people: gr.HTML

    @property
    def outputs(self) -> list[Any]:
        """The Gradio outputs of `render`, in the order of its return values."""
        return [self.card, self.organiser, *self.controls, self.validity, self.link, self.people]


def build() -> VoteTab:
    here = HiddenText("here", elem_id="eh-vote-here")
    if can_log_in():
        gr.LoginButton(visible=False)  # registers the login routes, which the ballot links to
    card = gr.HTML(
        "",
        js_on_load=_BALLOT_SCRIPT,
        apply_default_css=False,
        elem_id="eh-ballot",
        elem_classes=["eh-html", "eh-ballot"],
    )
    with gr.Column(elem_classes="eh-panel eh-vote-desk", elem_id="eh-vote-desk") as organiser_panel:
        ClickableHTML(
            panel_heading("Voting rules", "these rules apply to all voters of this study")
        )
        controls, save = _build_rules()
        valid = ClickableHTML(elem_id="eh-vote-valid")
        link = gr.HTML(
            "",
            js_on_load=_LINK_SCRIPT,
            apply_default_css=False,
            elem_classes=["eh-html"],
            elem_id="eh-vote-link",
        )
        people = ClickableHTML(elem_id="eh-vote-people")
    return VoteTab(card, here, organiser_panel, controls, save, valid, link, people)


def _build_rules() -> tuple[list[Any], gr.Button]:
    with gr.Row(elem_classes="eh-vote-rules"):
        mode = gr.Dropdown(
            [organiser.AS_PROTOCOL, *(mode.name for mode in ballot_form.MODES.values())],
            value=organiser.AS_PROTOCOL,
            label="Form",
            interactive=True,
        )
        votes = gr.Number(3, label="Votes per comparison", minimum=1, precision=0, interactive=True)
        each = gr.Number(
            0,
            label="Maximum number of votes per person (0: no limit)",
            minimum=0,
            precision=0,
            interactive=True,
        )
        repeats = gr.Slider(0, 50, 10, step=5, label="Repeats, %", interactive=True)
        whom = gr.Dropdown(
            list(organiser.VERIFY_TARGETS),
            value=next(iter(organiser.VERIFY_TARGETS)),
            label="Verification of",
            interactive=True,
        )
    with gr.Row(elem_classes="eh-vote-rules"):
        choose = Switch(
            list(organiser.SAMPLING_CHOICES), "What to vote on", elem_id="eh-vote-choose"
        )
        timed = gr.Checkbox(True, label="Record how long each vote takes", interactive=True)
        reveal = gr.Checkbox(False, label="Reveal the models after each vote", interactive=True)
        save = gr.Button("Save rules", elem_classes="eh-fit", elem_id="eh-vote-save")
    return [mode, choose, votes, repeats, each, whom, timed, reveal], save


def bind(tab: VoteTab, top: header.Header, store: Store, on_tab: gr.Tab) -> None:
    """Connect the events: one handler for all ballot actions, and the redraws of the tab. The tab
    is drawn when it is opened, and when the study changes while it is open."""

    def handle_ballot_click(
        study: str, event: gr.EventData, request: gr.Request, profile: gr.OAuthProfile | None
    ) -> list[Any]:
        action = click_data(event)
        action = action if isinstance(action, Mapping) else {}
        if not study:
            return [gr.skip(), gr.skip()]
        shown = ballot_actions.handle_ballot_action(
            store, study, action, logged_in_account(request, profile)
        )
        return [shown, header.study_size_html(store, study)]

    def draw_tab(
        study: str, browser_state: str, request: gr.Request, profile: gr.OAuthProfile | None
    ) -> list[Any]:
        known = _parse_browser_state(browser_state)
        if not study or known.get("tab") != "vote":
            return [gr.skip()] * len(tab.outputs)
        return render(store, study, known, logged_in_account(request, profile))

    def show_voters_to_organiser(study: str, browser_state: str) -> Any:
        hidden = (
            _parse_browser_state(browser_state).get("blind") or not study or not store.owns(study)
        )
        return gr.skip() if hidden else organiser.voters_table_html(store, study)

    def save_rules(study: str, *values: Any) -> list[Any]:
        try:
            store.set_voting_rules(study, organiser.VotingControls(*values).to_voting_rules())
        except EvenhandError as error:
            return [notice_html("bad", "Not saved.", str(error))]
        gr.Info("The rules are saved and apply from the next ballot on.")
        return [organiser.sampling_validity_notice(store, study, values[1])]

    def show_sampling_notice(study: str, choose: str) -> Any:
        return organiser.sampling_validity_notice(store, study, choose) if study else gr.skip()

    tab.card.select(
        handle_ballot_click, top.study, [tab.card, top.note], trigger_mode="multiple", **QUIET
    ).then(
        show_voters_to_organiser,
        [top.study, tab.browser_state],
        tab.people,
        js=READ_BROWSER_STATE,
        **QUIET,
    )
    opening: dict[str, Any] = {
        "fn": draw_tab,
        "inputs": [top.study, tab.browser_state],
        "outputs": tab.outputs,
        **QUIET,
    }
    on_tab.select(**opening, js=READ_STATE_AND_FOCUS)
    top.study.change(**opening, js=READ_BROWSER_STATE)
    tab.save.click(save_rules, [top.study, *tab.controls], tab.validity, **QUIET).then(
        **opening, js=READ_BROWSER_STATE
    )
    tab.controls[1].input(show_sampling_notice, [top.study, tab.controls[1]], tab.validity, **QUIET)


def render(store: Store, study: str, state: Mapping[str, Any], account: str = "") -> list[Any]:
    """Values for all outputs of the tab. `state`: what the browser stores, such as the voter's
    name; `account`: name of a logged-in voter, used in its place. On a voter's page, and if another
    visitor owns the study, the organiser's part is hidden and only the ballot is shown."""
    login_error = "" if account else LOGIN_MESSAGES.get(str(state.get("login", "")), "")
    ballot = ballot_actions.handle_ballot_action(
        store, study, {"act": "show", "voter": state.get("voter", "")}, account, login_error
    )
    if state.get("blind") or not store.owns(study):
        return [
            ballot,
            gr.Column(visible=False),
            *[gr.skip()] * (len(organiser.VotingControls.__slots__) + 3),
        ]
    rules = organiser.controls_from_rules(read_voting_rules(store.read_connection, study))
    values = [getattr(rules, name) for name in organiser.VotingControls.__slots__]
    return [
        ballot,
        gr.Column(visible=True),
        *values,
        organiser.sampling_validity_notice(store, study, rules.choose),
        organiser.voter_link_html(store),
        organiser.voters_table_html(store, study),
    ]


def logged_in_account(request: gr.Request, profile: gr.OAuthProfile | None) -> str:
    """Name under which a logged-in visitor votes: "hf:" and the name of the Hugging Face account,
    or the name of the page's password login; "" without a login."""
    if profile is not None:
        return f"{ACCOUNT_PREFIX}{profile.username}"
    return str(getattr(request, "username", None) or "")


def _parse_browser_state(text: str) -> dict[str, Any]:
    try:
        state = json.loads(text or "{}")
    except ValueError:
        return {}
    return state if isinstance(state, dict) else {}
