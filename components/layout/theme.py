"""The Gradio theme, made from the variables in assets/style.css, and the HTML head of the page."""

from typing import Any, Final
from urllib.parse import quote

import gradio as gr
from starlette.middleware import Middleware

from components.html.markup import ASSETS, Markup, fill, read_program_file
from components.layout import help_texts, loading_screen
from components.server import compression, hf_login, page_cache

# Every Gradio colour is a CSS variable of style.css, so that one class switches to dark mode.
_COLOURS: Final = {
    "accordion_text_color": "ink",
    "background_fill_primary": "surface",
    "background_fill_secondary": "sunken",
    "block_border_color": "line",
    "block_info_text_color": "ink-3",
    "block_label_background_fill": "surface",
    "block_label_text_color": "ink-2",
    "block_title_text_color": "ink-2",
    "body_text_color_subdued": "ink-3",
    "border_color_accent": "ink",
    "border_color_accent_subdued": "line-2",
    "border_color_primary": "line",
    "button_cancel_background_fill": "surface",
    "button_cancel_background_fill_hover": "sunken",
    "button_cancel_border_color": "line",
    "button_cancel_text_color": "bad",
    "button_primary_background_fill": "ink",
    "button_primary_background_fill_hover": "ink-2",
    "button_primary_border_color": "ink",
    "button_primary_border_color_hover": "ink-2",
    "button_primary_text_color": "on-ink",
    "button_secondary_background_fill": "surface",
    "button_secondary_background_fill_hover": "sunken",
    "button_secondary_border_color": "line",
    "button_secondary_text_color": "ink",
    "checkbox_background_color": "surface",
    "checkbox_background_color_selected": "ink",
    "checkbox_border_color": "line-2",
    "checkbox_border_color_focus": "ink",
    "checkbox_border_color_selected": "ink",
    "checkbox_label_background_fill": "surface",
    "checkbox_label_background_fill_hover": "sunken",
    "checkbox_label_background_fill_selected": "surface",
    "checkbox_label_border_color": "line",
    "checkbox_label_border_color_selected": "ink",
    "checkbox_label_text_color": "ink",
    "checkbox_label_text_color_selected": "ink",
    "code_background_fill": "sunken",
    "color_accent_soft": "sunken",
    "error_background_fill": "bad-soft",
    "error_border_color": "bad",
    "error_icon_color": "bad",
    "error_text_color": "bad",
    "input_background_fill": "surface",
    "input_border_color": "line",
    "input_border_color_focus": "focus",
    "input_border_color_hover": "line-2",
    # Gradio's own grey is below a contrast of 4.5:1.
    "input_placeholder_color": "ink-3",
    "link_text_color": "ink",
    "link_text_color_active": "ink",
    "link_text_color_hover": "ink-2",
    "link_text_color_visited": "ink",
    "loader_color": "ink-3",
    "panel_background_fill": "surface",
    "panel_border_color": "line",
    "slider_color": "ink",
    "stat_background_fill": "sunken",
    "table_border_color": "line",
    "table_even_background_fill": "surface",
    "table_odd_background_fill": "surface",
    "table_row_focus": "sunken",
    "table_text_color": "ink",
}
# Literal colours: Gradio paints the body before style.css is loaded.
_FIRST_PAINT: Final = {
    "body_background_fill": "#F7F6F3",
    "body_background_fill_dark": "#0F1113",
    "body_text_color": "#1B1E23",
    "body_text_color_dark": "#EEF0F2",
}
_SHAPES: Final = {
    "block_background_fill": "transparent",
    "block_background_fill_dark": "transparent",
    "block_border_width": "0px",
    "block_info_text_size": "14px",
    "block_label_text_size": "14px",
    "block_padding": "0px",
    "block_radius": "8px",
    "block_shadow": "none",
    "block_title_text_size": "14px",
    "block_title_text_weight": "400",
    "button_border_width": "1px",
    "button_large_padding": "0 16px",
    "button_large_radius": "8px",
    "button_large_text_size": "14px",
    "button_large_text_weight": "700",
    "button_medium_padding": "0 16px",
    "button_medium_radius": "8px",
    "button_medium_text_size": "14px",
    "button_medium_text_weight": "700",
    "button_small_padding": "0 10px",
    "button_small_radius": "8px",
    "button_small_text_size": "14px",
    "button_small_text_weight": "700",
    "button_transform_active": "none",
    "button_transform_hover": "none",
    "checkbox_label_padding": "8px 12px",
    "checkbox_label_shadow": "none",
    "checkbox_label_text_size": "14px",
    "form_gap_width": "0px",
    "input_border_width": "1px",
    "input_padding": "8px 12px",
    "input_radius": "8px",
    "input_shadow": "none",
    "input_shadow_focus": "none",
    "input_text_size": "14px",
    "layout_gap": "16px",
    "prose_header_text_weight": "700",
    "section_header_text_weight": "700",
    "table_radius": "8px",
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


def head_html() -> Markup:
    """Favicon, stylesheet, help texts and script as inline HTML, so that the browser need not
    request them."""
    icon = quote((ASSETS / "logo.svg").read_text(encoding="utf-8"))
    return fill(
        '<link rel="icon" type="image/svg+xml" href="data:image/svg+xml,{}">'
        "<style>{}</style>{}<script>{}</script>",
        icon,
        stylesheet(),
        help_texts.help_script(),
        read_program_file(ASSETS / "page.js"),
    )


def appearance_launch_arguments(
    *, home: bool = True, preview: loading_screen.Preview = lambda _: None
) -> dict[str, Any]:
    """Arguments of launch() for the theme, the HTML head, the loading screen and the compression of
    responses; `home`: whether the page has a Home tab; `preview`: content of the loading screen."""
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
                Middleware(page_cache.PageCache),
            ]
        },
    }
