"""A Sphinx extension: puts plotly.js, out of the installed package, beside the pages that draw with it.

It is 4.8 MB (MIT licence), so it is neither committed nor put into a page: one copy in the built book, loaded by the
pages that need it alone.
"""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NAME = "plotly.min.js"


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _copy(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        target = Path(app.outdir) / "_static" / NAME
        target.parent.mkdir(parents=True, exist_ok=True)
        with resources.as_file(resources.files("plotly").joinpath("package_data", NAME)) as source:
            shutil.copyfile(source, target)
