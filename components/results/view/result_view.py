"""A view of Results as a list of panels, without Gradio.

A panel has a name, a function that draws it and, optionally, a part of the report and a table. From
the list of panels follow the HTML of the view (`view_html`), the outputs by name, the report and
the tables. `Panel.renderer` takes the controls that are its parameters by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from components.charts.figure_parts import Figure
from components.filtering.filtered_study import FilteredStudy
from components.html.markup import EMPTY, Markup
from components.html.pieces import LegendMark, panel_heading
from components.results.view.address_choices import choice_or_default
from components.results.view.paper_table import PaperTable
from studies.lazy_values import cached_property


@dataclass(frozen=True)
class ControlState:
    """Value, choices and visibility of a control. None for choices or visibility leaves them as
    they are."""

    value: Any
    choices: Sequence[Any] | None = None
    visible: bool | None = None


@dataclass(frozen=True)
class Control:
    """A setting of a view; its name is also a parameter of the page address."""

    name: str
    label: str
    choices: Sequence[Any] = ()
    kind: Literal["switch", "menu", "session"] = "switch"
    """With `session`, the value is stored in the Gradio session instead of on the page."""
    elem_id: str | None = None
    below: bool = False
    """Whether the control is placed below the heading instead of beside it."""
    state: Callable[[FilteredStudy, str | None], ControlState] | None = None
    """Function: (study, value in the page address) -> state of the control for this study. Without
    this function, the choices are the same for every study."""

    @property
    def start_value(self) -> Any:
        """Value of the control on a new page, before a study is shown."""
        first = self.choices[0] if self.choices else None
        return first[1] if isinstance(first, tuple) else first

    def initial_state(self, filtered: FilteredStudy, wanted: str | None) -> ControlState | None:
        """State of the control when a study is opened. `wanted`: value in the page address, None
        if it has none. The result is None if the control is left as it is."""
        if self.state:
            return self.state(filtered, wanted)
        if self.kind == "session":
            return None
        return ControlState(choice_or_default(wanted, list(self.choices)))


@dataclass(frozen=True)
class Upload:
    """A file that a reader can upload and a panel shows. Its content is stored only in the
    reader's Gradio session."""

    control: str
    """Name of the control of kind "session" that receives the content."""
    panel: str
    """Name of the panel that draws it; while this panel is hidden, the upload button is hidden
    too."""
    label: str
    elem_id: str
    file_types: Sequence[str]
    read: Callable[[Path], Any]
    """Function that reads the file; it raises ValueError with a message for the reader."""


@dataclass(frozen=True)
class Body:
    """Place on the page for one part of a panel's content, which is HTML or a chart; a panel has
    one or several."""

    name: str
    elem_id: str | None = None
    chart_height: int = 0
    """Pixels reserved for a chart; 0 for HTML."""
    clickable: bool = False
    """Whether a click on a number, point or cell opens the judgements that it counts."""


@dataclass(frozen=True)
class Content:
    """Content of a panel: `bodies` (output name -> content), and `heading`; None keeps the panel's
    own heading."""

    bodies: Mapping[str, Any]
    heading: Markup | None = None


@dataclass(frozen=True)
class ReportPanel:
    """A panel of the report file; `content` is None for a chart without data."""

    title: str
    subtitle: str
    content: Markup | Figure | None


@dataclass(frozen=True)
class Panel:
    """One panel of a view: its heading, controls, parts of content (`bodies`) and the text "How is
    this computed?", and the functions that draw it on the page, in the report and as a table."""

    name: str
    renderer: Callable[..., Any]
    """Function of the filtered study and of controls by name; it returns Content, or the content of
    the only body, or None to hide the panel."""
    bodies: tuple[Body, ...]
    title: str = ""
    subtitle: str = ""
    keys: Sequence[tuple[LegendMark, str]] = ()
    legend: Markup = EMPTY
    controls: tuple[Control, ...] = ()
    how: str = ""
    scale: int = 1
    """Width relative to the other panels of the same row."""
    css: str = "eh-panel"
    """CSS classes of the panel; empty for a panel without a frame."""
    applies: Callable[[FilteredStudy], bool] | None = None
    """Function: whether the panel fits the kind of study; else it is hidden. None: it always
    does."""
    about: Callable[[FilteredStudy], Any] | None = None
    """Function that loads the results shown: the subtitle begins with their judge and prompt."""
    needs: str = ""
    """Text that names the data which would fill the panel; while `renderer` returns None, it is
    listed under "Not in this study" or "Not with these filters"."""
    in_report: Callable[[FilteredStudy], bool] | None = None
    """Function: whether the report file contains the panel as on the page, with initial control
    values; None: it does not."""
    report: Callable[[FilteredStudy], ReportPanel | Markup | None] | None = None
    """Function that draws the panel in another form for the report file; HTML alone is shown with
    the panel's title and subtitle."""
    table: Callable[[FilteredStudy], PaperTable | None] | None = None
    """Function that returns the numbers of the panel as a table for a paper."""
    json_keys: tuple[str, ...] = ()
    """Paths of the panel's numbers in the output of `python -m metrics --json`, the main one first;
    * stands for the name of a judge, prompt, model or person."""

    @property
    def heading_output(self) -> str:
        """Name of the output of `render` that is the panel's heading."""
        return f"{self.name}_heading"

    @property
    def visibility_output(self) -> str:
        """Name of the output of `render` that states whether the panel is shown."""
        return f"{self.name}_panel"

    @cached_property
    def control_names(self) -> tuple[str, ...]:
        """Names of the controls that `renderer` takes."""
        _, *names = inspect.signature(self.renderer).parameters
        return tuple(names)

    def full_subtitle(self, filtered: FilteredStudy) -> str:
        """The judge and prompt that the panel shows, if it has `about`, and the subtitle."""
        rater = self.about(filtered).shown_rater if self.about else None
        return "; ".join(filter(None, (" · ".join(rater or ()), self.subtitle)))

    def fits(self, filtered: FilteredStudy) -> bool:
        """Whether the panel fits the kind of study."""
        return self.applies is None or self.applies(filtered)

    def render(self, filtered: FilteredStudy, controls: Mapping[str, Any]) -> dict[str, Any]:
        """Draw the panel with the values in `controls` (by name); return output name ->
        content. The output `visibility_output` is True. It is False, and the only output, if
        the panel is hidden: if it does not fit the study, or has nothing to show."""
        drawn = None
        if self.fits(filtered):
            drawn = self.renderer(filtered, **{name: controls[name] for name in self.control_names})
        if drawn is None:
            return {self.visibility_output: False}
        if not isinstance(drawn, Content):
            (body,) = self.bodies
            drawn = Content({body.name: drawn})
        made = {self.visibility_output: True, **drawn.bodies}
        if drawn.heading is not None or self.about:
            usual = panel_heading(self.title, self.full_subtitle(filtered), self.keys)
            made[self.heading_output] = drawn.heading or usual
        return made


@dataclass(frozen=True)
class PanelGroup:
    """Panels beside each other (`row`) or below each other. `visible`: function that tells whether
    the group is shown for a study; without it, the group always is. With `fold`, a title, the
    panels are hidden until the title is clicked; such a group is left out if none of its panels
    has content."""

    panels: tuple[Panel | PanelGroup, ...]
    row: bool = True
    css: str = "eh-pair"
    name: str = ""
    visible: Callable[[FilteredStudy], bool] | None = None
    fold: str = ""


def fold(title: str, *panels: Panel) -> PanelGroup:
    """Group of panels that are hidden behind a title until it is clicked."""
    return PanelGroup(panels, False, "eh-fold", f"fold_{panels[0].name}", fold=title)


@dataclass(frozen=True)
class View:
    """A view of Results: panels from top to bottom, headline and key numbers."""

    name: str
    layout: tuple[Panel | PanelGroup, ...]
    headline: Callable[[FilteredStudy], tuple[str, str]] = lambda _: ("", "")
    """Function that returns the headline and the sentence below it; two empty texts if a panel
    draws the headline because it depends on controls."""
    kpis: Callable[[FilteredStudy], Markup] | None = None
    """Function that draws key numbers instead of the default key numbers."""
    upload: Upload | None = None
    report: Callable[[FilteredStudy], Markup] | None = None
    """Function that draws the start of the view's part of the report, before its panels."""
    json_keys: tuple[str, ...] = ()
    """Paths of the headline's and the key figures' numbers, as in `Panel.json_keys`."""
    panels: tuple[Panel, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "panels", tuple(_iterate_panels(self.layout)))

    @cached_property
    def controls(self) -> dict[str, Control]:
        return {one.name: one for panel in self.panels for one in panel.controls}

    @property
    def start_values(self) -> dict[str, Any]:
        """Values of the controls on a new page."""
        return {name: control.start_value for name, control in self.controls.items()}

    def initial_values(self, filtered: FilteredStudy) -> dict[str, Any]:
        """Name of a control -> its value when a study is opened without values in the page
        address; None for a value that is stored in the session."""
        states = {name: one.initial_state(filtered, None) for name, one in self.controls.items()}
        return {name: state.value if state else None for name, state in states.items()}

    def panels_of_shown_groups(self, filtered: FilteredStudy) -> list[Panel]:
        """The view's panels, except those in groups that are hidden for this study. A panel of the
        result may still be hidden when it is drawn, if it has nothing to show."""
        groups = [group for group in _iterate_groups(self.layout) if group.visible]
        hidden = {
            panel.name
            for group in groups
            if group.visible and not group.visible(filtered)
            for panel in _iterate_panels(group.panels)
        }
        return [panel for panel in self.panels if panel.name not in hidden]

    def render(self, filtered: FilteredStudy, controls: Mapping[str, Any]) -> dict[str, Any]:
        """Draw all panels, except those of hidden groups, with the values in `controls` (by name).
        Return output name -> content and, for each group that has `visible`, its name ->
        whether it is shown."""
        groups = [group for group in _iterate_groups(self.layout) if group.visible]
        made: dict[str, Any] = {one.name: one.visible(filtered) for one in groups if one.visible}
        for panel in self.panels_of_shown_groups(filtered):
            made |= panel.render(filtered, controls)
        return made

    def missing_panels(
        self, filtered: FilteredStudy, contents: Mapping[str, Any]
    ) -> list[tuple[str, str]]:
        """(title, text on the data it needs) of each panel that would fit the study but has
        nothing to show for lack of data. `contents`: result of `render`."""
        absent = [
            panel
            for panel in self.panels
            if contents.get(panel.visibility_output) is False and panel.fits(filtered)
        ]
        return [(p.title or p.name.capitalize(), p.needs) for p in absent if p.needs]


def _iterate_panels(layout: Iterable[Panel | PanelGroup]) -> Iterator[Panel]:
    for part in layout:
        if isinstance(part, Panel):
            yield part
        else:
            yield from _iterate_panels(part.panels)


def _iterate_groups(layout: Iterable[Panel | PanelGroup]) -> Iterator[PanelGroup]:
    for part in layout:
        if isinstance(part, PanelGroup):
            yield part
            yield from _iterate_groups(part.panels)
