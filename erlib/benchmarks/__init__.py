"""Data sets on disk, and the streams of tasks made from them."""
