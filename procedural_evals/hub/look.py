"""How the project's pages look: gradio's theme, the fonts it ships, and the shared style sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

APPS = Path(__file__).resolve().parent / "apps"

# Ink, ground, lines and the one accent, for light and for dark pages; `page.css` has the same.
LIGHT = {"ink": "#17222d", "muted": "#55616e", "line": "#dbe1e7", "ground": "#ffffff"}
DARK = {"ink": "#e8edf2", "muted": "#a4b0bd", "line": "#2b3641", "ground": "#10171e"}
RAISED, RAISED_DARK = "#f5f7f9", "#18212a"
ACCENT, ACCENT_DARK = "#0a5ca8", "#74b6f5"


def options(*sheets: str) -> dict[str, Any]:
    """Arguments of `launch` and `mount_gradio_app`: theme and style sheets (files in `apps/`)."""
    from gradio import themes

    # Weights 400 and 700: gradio's file of the semibold Plex Sans holds a part of the letters only.
    theme = themes.Base(
        primary_hue=themes.colors.blue,
        neutral_hue=themes.colors.slate,
        font=[themes.utils.fonts.LocalFont("IBM Plex Sans", weights=(400, 700)), "sans-serif"],
        font_mono=[themes.utils.fonts.LocalFont("IBM Plex Mono", weights=(400, 700)), "monospace"],
    ).set(
        body_background_fill=LIGHT["ground"],
        body_background_fill_dark=DARK["ground"],
        body_text_color=LIGHT["ink"],
        body_text_color_dark=DARK["ink"],
        body_text_color_subdued=LIGHT["muted"],
        body_text_color_subdued_dark=DARK["muted"],
        block_background_fill=LIGHT["ground"],
        block_background_fill_dark=DARK["ground"],
        input_background_fill=RAISED,
        input_background_fill_dark=RAISED_DARK,
        checkbox_label_background_fill=RAISED,
        checkbox_label_background_fill_dark=RAISED_DARK,
        block_label_text_color=LIGHT["muted"],
        block_label_text_color_dark=DARK["muted"],
        border_color_primary=LIGHT["line"],
        border_color_primary_dark=DARK["line"],
        button_primary_background_fill=ACCENT,
        button_primary_background_fill_dark=ACCENT_DARK,
        button_primary_background_fill_hover="#084a88",
        button_primary_background_fill_hover_dark="#9accfa",
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark="#0c1218",
    )
    css = "\n".join((APPS / name).read_text(encoding="utf-8") for name in ("page.css", *sheets))
    return {"theme": theme, "css": css, "ssr_mode": False}
