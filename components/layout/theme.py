"""The Gradio theme, made from the variables in assets/style.css, and the HTML head of the page."""

from typing import Any, Final
from urllib.parse import quote

import gradio as gr
from starlette.middleware import Middleware

from components.html.markup import ASSETS, Markup, fill, read_program_file
from components.layout import help_texts, loading_screen, page_head
from components.server import compression, hf_login, page_cache

# Every Gradio colour is a CSS variable of style.css, so that one class switches to dark mode.
_COLOURS: Final = {
    name: value
    for value, names in {
        "ink": "accordion_text_color border_color_accent button_primary_background_fill "
        "button_primary_border_color button_secondary_text_color "
        "checkbox_background_color_selected checkbox_border_color_focus "
        "checkbox_border_color_selected checkbox_label_border_color_selected "
        "checkbox_label_text_color checkbox_label_text_color_selected link_text_color "
        "link_text_color_active link_text_color_visited slider_color table_text_color",
        "surface": "background_fill_primary block_label_background_fill "
        "button_cancel_background_fill button_secondary_background_fill "
        "checkbox_background_color checkbox_label_background_fill "
        "checkbox_label_background_fill_selected input_background_fill panel_background_fill "
        "table_even_background_fill table_odd_background_fill",
        "sunken": "background_fill_secondary button_cancel_background_fill_hover "
        "button_secondary_background_fill_hover checkbox_label_background_fill_hover "
        "code_background_fill color_accent_soft stat_background_fill table_row_focus",
        "line": "block_border_color border_color_primary button_cancel_border_color "
        "button_secondary_border_color checkbox_label_border_color input_border_color "
        "panel_border_color table_border_color",
        # Gradio's own grey of placeholders is below a contrast of 4.5:1.
        "ink-3": "block_info_text_color body_text_color_subdued input_placeholder_color "
        "loader_color",
        "ink-2": "block_label_text_color block_title_text_color "
        "button_primary_background_fill_hover button_primary_border_color_hover "
        "link_text_color_hover",
        "line-2": "border_color_accent_subdued checkbox_border_color input_border_color_hover",
        "bad": "button_cancel_text_color error_border_color error_icon_color error_text_color",
        "on-ink": "button_primary_text_color",
        "bad-soft": "error_background_fill",
        "focus": "input_border_color_focus",
    }.items()
    for name in names.split()
}
# Literal colours: Gradio paints the body before style.css is loaded.
_FIRST_PAINT: Final = {
    "body_background_fill": "#F7F6F3",
    "body_background_fill_dark": "#0F1113",
    "body_text_color": "#1B1E23",
    "body_text_color_dark": "#EEF0F2",
}
_SHAPES: Final = {
    name: value
    for value, names in {
        "transparent": "block_background_fill block_background_fill_dark",
        "0px": "block_border_width block_padding form_gap_width",
        "14px": "block_info_text_size block_label_text_size block_title_text_size "
        "button_large_text_size button_medium_text_size button_small_text_size "
        "checkbox_label_text_size input_text_size",
        "8px": "block_radius button_large_radius button_medium_radius button_small_radius "
        "input_radius table_radius",
        "none": "block_shadow button_transform_active button_transform_hover "
        "checkbox_label_shadow input_shadow input_shadow_focus",
        "400": "block_title_text_weight",
        "1px": "button_border_width input_border_width",
        "0 16px": "button_large_padding button_medium_padding",
        "700": "button_large_text_weight button_medium_text_weight button_small_text_weight "
        "prose_header_text_weight section_header_text_weight",
        "0 10px": "button_small_padding",
        "8px 12px": "checkbox_label_padding input_padding",
        "16px": "layout_gap",
    }.items()
    for name in names.split()
}


def evenhand_theme() -> gr.themes.Base:
    """Gradio's Base theme with black as its accent colour, so that only data are coloured. Font
    weights are 400 and 700, since Gradio's SemiBold files lack Latin letters."""
    theme = gr.themes.Base(
        font=[gr.themes.LocalFont("IBM Plex Sans", weights=(400, 700)), "system-ui", "sans-serif"],
        font_mono=[gr.themes.LocalFont("IBM Plex Mono", weights=(400, 700)), "monospace"],
        text_size=gr.themes.sizes.text_lg,
        radius_size=gr.themes.sizes.radius_md,
    )
    modes = ("", "_dark")
    colours = {f"{name}{mode}": f"var(--{to})" for name, to in _COLOURS.items() for mode in modes}
    return theme.set(color_accent="var(--ink)", **_FIRST_PAINT, **colours, **_SHAPES)


def stylesheet() -> Markup:
    """The text of the stylesheet. head_html() includes it, because Gradio rewrites CSS rules given
    to launch(css=…)."""
    return read_program_file(ASSETS / "style.css")


def look_html() -> Markup:
    """Favicon and stylesheet as inline HTML, so that the browser need not request them."""
    icon = quote((ASSETS / "logo.svg").read_text(encoding="utf-8"))
    link = fill('<link rel="icon" type="image/svg+xml" href="data:image/svg+xml,{}">', icon)
    return link + fill("<style>{}</style>", stylesheet())


def script_html() -> Markup:
    """Help texts and script as inline HTML."""
    script = read_program_file(ASSETS / "page.js")
    return fill("{}<script>{}</script>", help_texts.help_texts_script_html(), script)


def head_html() -> Markup:
    """HTML that Gradio's script adds to the head of a page of another site that contains Evenhand.
    Evenhand's own page has it already (components.layout.page_head)."""
    return look_html() + script_html()


def appearance_launch_arguments(
    *, home: bool = True, preview: loading_screen.Preview = lambda _: None
) -> dict[str, Any]:
    """Arguments of Gradio's launch() for the theme, the HTML head, the loading screen and the
    compression of responses. `home`: whether the page has a Home tab; `preview`: function that gets
    the query parameters of the page's address and returns the content to show while the page loads,
    or None."""
    return {
        "theme": evenhand_theme(),
        "head": head_html(),
        "footer_links": [],
        "run_history": False,
        "ssr_mode": False,
        "app_kwargs": {
            "middleware": [
                Middleware(compression.CompressionMiddleware),
                Middleware(hf_login.LoginMiddleware),
                Middleware(loading_screen.LoadingScreen, home=home, preview=preview),
                Middleware(
                    page_cache.PageCache,
                    change=page_head.make_head_move(look_html(), script_html()),
                ),
            ]
        },
    }
