"""The episodic memory, one writing strategy a file."""

from erlib.memory.base import Memory

__all__ = ["Memory"]
