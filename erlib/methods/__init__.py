"""The learners, one method a file."""

from erlib.methods.base import Method

__all__ = ["Method"]
