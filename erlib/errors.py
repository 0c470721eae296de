"""The one exception erlib raises for a mistake that its user can mend."""


class ErlibError(Exception):
    """A sentence that names the cause and the remedy. The command line prints it and ends with exit code 2."""
