"""The one exception erlib raises for a mistake that its user can mend."""


class ErlibError(Exception):
    """A sentence that names the cause and the remedy. The command line prints it and ends with exit code 2."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a traceback: the sentence."""
        return [f"erlib: {self}"]
