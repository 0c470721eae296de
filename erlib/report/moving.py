"""A picture that moves: widgets where there is a kernel, a script in the book, and a still picture everywhere else."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Callable
from importlib import resources
from typing import Any

from erlib.report.style import Plot

_RUN = """for (const root of document.querySelectorAll('[data-moving="%s"]:not([data-ready])')) {
  root.dataset.ready = "";
  start(root, JSON.parse(root.querySelector("script").textContent));
}"""


class Moving:
    """What a notebook shows: `widgets()` in Jupyter; elsewhere HTML with `still` in it, which a script may replace.

    `script` names a pair of files of this folder, `<script>.js` and `<script>.css`; `data` is what the script draws.
    """

    def __init__(
        self, script: str, data: dict[str, Any], still: Plot, widgets: Callable[[], Any] | None = None
    ) -> None:
        self.script, self.data, self.still, self.widgets = script, data, still, widgets

    def html(self) -> str:
        """The same text every time, and nothing in it that comes from a network."""
        text = json.dumps(self.data, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
        name = f"{self.script}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        code, css = (
            resources.files("erlib.report").joinpath(f"{self.script}.{end}").read_text() for end in ("js", "css")
        )
        return (
            f'<div class="erlib-{self.script}" data-moving="{name}">'
            f'<img class="erlib-still" alt="{self.still.name}, a still picture" src="{_png(self.still)}">'
            f'<script type="application/json">{text}</script></div>\n<style>\n{css}</style>\n'
            f"<script>\n(() => {{\nconst start = {code.strip()};\n{_RUN % name}\n}})();\n</script>"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        shown: dict[str, Any] = {"text/html": self.html(), "text/plain": repr(self)}
        if self.widgets is not None:
            view = self.widgets()._repr_mimebundle_()
            shown |= {mime: value for mime, value in view.items() if mime != "text/plain"}
        return shown

    def __repr__(self) -> str:
        return repr(self.still)


def _png(plot: Plot) -> str:
    from PIL import Image

    drawn, buffer = io.BytesIO(), io.BytesIO()
    plot.save(drawn, format="png", dpi=80)
    exact = {"method": Image.Quantize.FASTOCTREE, "dither": Image.Dither.NONE}  # small, and the colours stay
    Image.open(drawn).convert("RGB").quantize(64, **exact).save(buffer, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
