"""HTML of the Study form's controls: label, control, and a hint below.

The attribute `data-field` names the study-file field of a control; assets/page.js sends its value
to the server. All text is escaped by `escape` or `inline_markup`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.html.format import NARROW_SPACE, count
from components.html.markup import (
    EMPTY,
    Markup,
    attributes,
    escape,
    fill,
    inline_markup,
    join,
    link_button,
)
from components.html.pieces import wrap

Option = tuple[str, str]
"""(value, displayed text)."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Text below a control; `preset`: the preset's value, if the study has another value."""

    text: str = ""
    preset: str | None = None


def form_part(*parts: str, seen: int = 0) -> Markup:
    """HTML of a part of the form; `seen`: number of the last change that the server has applied."""
    return wrap(fill('<div class="eh-form" data-seen="{}">{}</div>', seen, join(parts)))


def step_heading(number: int, title: str, aside: Markup = EMPTY) -> Markup:
    """HTML heading of a numbered step of the form, with a control beside it."""
    head = fill('<h2><span class="eh-step">{}</span>{}</h2>', number, title)
    return fill('<header class="eh-head">{}{}</header>', head, aside)


def drawer_head(title: str) -> Markup:
    """HTML title of a drawer, and the button that closes it (also by the key Escape)."""
    close = fill(
        '<button type="button" class="eh-btn ghost" data-close data-do="{}">Close '
        "<kbd>Esc</kbd></button>",
        json.dumps({"do": "close"}),
    )
    return fill('<header class="eh-dhead"><h2 tabindex="-1">{}</h2>{}</header>', title, close)


def action_checkbox(label: str, action: Mapping[str, Any], on: bool) -> Markup:
    """HTML checkbox that sends an action when clicked (select or deselect a judge or a prompt)."""
    made = attributes(
        {
            "type": "button",
            "role": "checkbox",
            "class": "eh-chk on" if on else "eh-chk",
            "aria-checked": str(on).lower(),
            "aria-label": label,
            "data-do": json.dumps(dict(action)),
        }
    )
    return fill("<button{}>{}</button>", made, "✓" if on else "")


def subheading(title: str, aside: str = "") -> Markup:
    right = fill("<span>{}</span>", inline_markup(aside)) if aside else ""
    return fill('<div class="eh-sub"><b>{}</b>{}</div>', inline_markup(title), right)


def form_row(
    label: str, control: str, hint: Hint | str = "", *, to: str = "", group: bool = False
) -> Markup:
    """HTML of label, control and hint; a dot marks a value that differs from the preset's. `to`:
    name of the control's field; `group`: whether the control consists of several inputs."""
    below = Hint(hint) if isinstance(hint, str) else hint
    changed = " changed" if below.preset is not None else ""
    words = escape(label)
    name = (
        fill('<span class="l{}" id="{}-l">{}</span>', changed, html_id(to), words)
        if group
        else fill('<label class="l{}" for="{}">{}</label>', changed, html_id(to), words)
    )
    lines = [inline_markup(below.text)] if below.text else []
    if below.preset is not None:
        lines.append(fill("preset: {}", inline_markup(below.preset)))
    hint_html = (
        fill('<span class="hint" id="{}-h">{}</span>', html_id(to), join(lines, "; "))
        if lines
        else ""
    )
    return fill('<div class="eh-fl">{}<div class="c">{}</div>{}</div>', name, control, hint_html)


def html_id(field: str) -> str:
    return "f-" + re.sub(r"[^a-z0-9]+", "-", field.lower()).strip("-")


def segmented_switch(field: str, options: Sequence[Option], value: str) -> Markup:
    """HTML of a choice among a few visible options: radio buttons as a segmented switch."""
    name = html_id(field)
    parts = []
    for choice, words in options:
        made = _attributes(
            type="radio", name=name, value=choice, data_field=field, checked=choice == value
        )
        parts.append(fill("<label><input{}><span>{}</span></label>", made, words))
    group = _attributes(role="radiogroup", aria_labelledby=f"{name}-l")
    return fill('<div class="eh-segs"{}>{}</div>', group, join(parts))


def select_menu(field: str, options: Sequence[Option], value: str, label: str = "") -> Markup:
    """HTML menu for a single choice; a value that is not among the options is listed first."""
    known = [choice for choice, _ in options]
    shown = list(options) if value in known else [(value, value), *options]
    made = join(
        fill("<option{}>{}</option>", _attributes(value=choice, selected=choice == value), words)
        for choice, words in shown
    )
    own = _attributes(id=html_id(field), data_field=field, aria_label=label)
    return fill('<span class="eh-select"><select{}>{}</select></span>', own, made)


def text_input(
    field: str,
    value: object,
    *,
    placeholder: str = "",
    suggestions: Sequence[Option] = (),
    mono: bool = False,
    label: str = "",
    slow: bool = False,
    renames: str = "",
) -> Markup:
    """HTML of a one-line text field; `suggestions` appear while typing. A `slow` field (a file, the
    Hub) is sent only when it loses focus. `renames`: present name of the judge that this field
    renames; the page then keeps the key typed for the judge."""
    listed = f"{html_id(field)}-d" if suggestions else ""
    made = _attributes(
        data_renames=renames, type="text", id=html_id(field),
        cls="eh-in mono" if mono else "eh-in", data_field=field, value=str(value),
        placeholder=placeholder, list=listed, aria_label=label,
        autocomplete="off", spellcheck="false" if mono else None, data_slow=slow,
    )  # fmt: skip
    offered = join(
        fill("<option{}>{}</option>", _attributes(value=v), text) for v, text in suggestions
    )
    return fill("<input{}>", made) + (
        fill('<datalist id="{}">{}</datalist>', listed, offered) if listed else ""
    )


def text_area(field: str, value: str, *, rows: int = 3) -> Markup:
    made = _attributes(
        id=html_id(field), cls="eh-in mono", data_field=field, rows=rows, spellcheck="false"
    )
    # Browsers drop a line break right after the tag, so one is added to keep that of the text.
    return fill("<textarea{}>\n{}</textarea>", made, value)


def key_input(owner: str, to: str, url: str, *, disabled: bool = False) -> Markup:
    """HTML password field (id `to`) for the key of `owner`, a judge or the Hub. The key stays in
    the browser until a run or a test sends it, and is never in the study file. It belongs to the
    origin of `url`: the page deletes it when the origin changes."""
    made = _attributes(
        type="password", id=to, cls="eh-in", data_key=owner, autocomplete="off",
        data_key_url=url, placeholder="the key is held in memory, never stored",
        disabled=disabled,
    )  # fmt: skip
    note = _attributes(
        cls="eh-small", data_key_of=owner, data_key_url=url, data_none="", role="status"
    )
    return fill("<input{}><span{}></span>", made, note)


def key_reason_field(owner: str, to: str, url: str, host: str) -> Markup:
    """HTML field (id `to`) for the missing key of `owner`, with its button "Use this key"."""
    field = _attributes(
        type="password", id=to, cls="eh-in", data_key_draft=owner, autocomplete="off",
        data_key_url=url, aria_describedby=f"{to}-note",
    )  # fmt: skip
    button = _attributes(type="button", cls="eh-btn primary", data_use_key=owner)
    state = _attributes(data_key_of=owner, data_key_url=url, data_none="", role="status")
    return fill(
        '<div class="key"><label for="{}">{}</label><span class="eh-row"><input{}>'
        '<button{}>Use this key</button></span><span class="eh-small" id="{}">{}</span> '
        '<span class="eh-small"{}></span></div>',
        to,
        f"Key of {owner}",
        field,
        button,
        f"{to}-note",
        f"The key is sent to {host} only; it stays in memory.",
        state,
    )


def integer_input(
    field: str, value: object, *, low: int = 0, high: int | None = None, label: str = ""
) -> Markup:
    """HTML field for a whole number, with − and + buttons."""
    made = _attributes(
        type="number", inputmode="numeric", id=html_id(field), data_field=field,
        value=str(value), min=str(low), max=None if high is None else str(high), step="1",
        aria_label=label,
    )  # fmt: skip
    less, more = (
        fill(
            "<button{}>{}</button>",
            _attributes(type="button", data_step=by, aria_label=word, tabindex="-1"),
            sign,
        )
        for by, word, sign in (("-1", "less", "\u2212"), ("1", "more", "+"))
    )
    return fill('<span class="eh-num2">{}<input{}>{}</span>', less, made, more)


def decimal_input(
    field: str,
    value: object,
    *,
    high: float | None = None,
    unit: str = "",
    placeholder: str = "",
    label: str = "",
) -> Markup:
    made = _attributes(
        type="number", inputmode="decimal", id=html_id(field), cls="eh-in short",
        data_field=field, value=str(value), min="0",
        max=None if high is None else f"{high:g}", step="any", placeholder=placeholder,
        aria_label=label,
    )  # fmt: skip
    after = fill(' <span class="eh-small eh-mute">{}</span>', unit) if unit else ""
    return fill("<input{}>{}", made, after)


def slider(field: str, value: float, *, low: float = 0, high: float = 1) -> Markup:
    """HTML slider, with its current value beside it."""
    position = 100 * (value - low) / (high - low)
    made = _attributes(
        type="range", id=html_id(field), data_field=field, value=f"{value:g}", min=f"{low:g}",
        max=f"{high:g}", step="0.05", style=f"--at: {position:.1f}%",
    )  # fmt: skip
    output = fill('<output for="{}">{:g}</output>', html_id(field), value)
    return fill('<span class="eh-range"><input{}>{}</span>', made, output)


def checkbox(field: str, value: bool, words: str) -> Markup:
    made = _attributes(type="checkbox", id=html_id(field), data_field=field, checked=value)
    return fill(
        '<label class="eh-tick"><input{}><span>{}</span></label>', made, inline_markup(words)
    )


def multi_select(
    field: str,
    options: Sequence[Option],
    chosen: Sequence[str],
    *,
    nothing: str = "all",
    label: str = "",
) -> Markup:
    """HTML list of checkboxes that unfolds; its heading shows the checked options, or `nothing`."""
    selected = set(chosen)
    unknown = [(name, f"{name} (not in the data)") for name in chosen if name not in dict(options)]
    labels = dict([*options, *unknown])
    boxes = join(
        fill(
            "<label><input{}><span>{}</span></label>",
            _checkbox_attributes(field, choice, choice in selected),
            text,
        )
        for choice, text in labels.items()
    )
    head = _selection_summary(len(options), [labels[name] for name in chosen], nothing)
    own = _attributes(id=html_id(field), aria_label=f"{label}: {head}" if label else None)
    return fill(
        '<details class="eh-many" data-keep="{}">'
        "<summary{}>{}</summary>"
        '<div class="eh-boxes">{}</div></details>',
        field,
        own,
        head,
        boxes or "nothing to choose from",
    )


def _checkbox_attributes(field: str, choice: str, on: bool) -> Markup:
    return _attributes(type="checkbox", value=choice, data_field=field, data_many=True, checked=on)


def _attributes(**values: object) -> Markup:
    """HTML attributes. True: an attribute without a value. False, None and "": no attribute (but
    `value` may be empty)."""
    made: dict[str, object] = {}
    for name, value in values.items():
        named = "class" if name == "cls" else name.replace("_", "-")
        if value is True:
            made[named] = ""
        elif (value or name == "value") and value is not None and value is not False:
            made[named] = value
    return attributes(made)


def _selection_summary(known: int, names: Sequence[str], nothing: str) -> str:
    if not names:
        return f"{nothing} {count(known)}" if nothing == "all" and known else nothing
    listed = ", ".join(names)
    return listed if len(listed) <= 34 else f"{count(len(names))} of {count(known)}"


def form_button(
    words: str,
    action: Mapping[str, Any],
    *,
    kind: str = "",
    label: str = "",
    disabled: bool = False,
    errand: bool = False,
) -> Markup:
    """HTML button that sends an action; with `errand`, the action is a slow job (such as a judge
    test) that does not block the form."""
    action_json = json.dumps(dict(action), ensure_ascii=False)
    sends = {"data_errand": action_json} if errand else {"data_do": action_json}
    made = _attributes(type="button", cls=f"eh-btn {kind}".strip(), aria_label=label,
                 disabled=disabled, **sends)  # fmt: skip
    return fill("<button{}>{}</button>", made, words)


def form_link(words: str, action: Mapping[str, Any], label: str = "") -> Markup:
    action_json = json.dumps(dict(action), ensure_ascii=False)
    return link_button(words, {"data-do": action_json, "aria-label": label or None})


def previous_next(at: int, of: int, action: str) -> Markup:
    """HTML buttons to the previous and the next item, from item `at` of `of`."""
    before = form_button(
        "‹", {"do": action, "to": at - 1}, kind="small", label="previous item", disabled=at <= 0
    )
    after = form_button(
        "›", {"do": action, "to": at + 1}, kind="small", label="next item", disabled=at >= of - 1
    )
    return fill('<span class="eh-steps">{}{}</span>', before, after)


def percent_text(value: float) -> str:
    """Format a share as a whole percentage: 0.2 is "20 %"."""
    return f"{100 * value:.0f}{NARROW_SPACE}%"
