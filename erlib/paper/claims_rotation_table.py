"""The claims about how well ER and A-GEM fit memory and training set (section 5.5, appendix C, Tab. 7)."""

from __future__ import annotations

from erlib.paper.claims_rotation import LONG, SHORT, after, rotation_config
from erlib.paper.lines import Claim, Line
from erlib.paper.numbers import value
from erlib.rows import AGEM_10, ER_RING, Row

PERFECT = 99.99  # percent; ten slots give steps of 10
ANGLES = (10, 90)
PAGE = "tab7_mnist_rotation"


def claims() -> list[Claim]:
    """In the order of the paper. The ten slots fit into either reference batch: both readings of A-GEM are one here."""
    cells = [(angle, examples) for examples in (SHORT, LONG) for angle in ANGLES]
    return [
        Claim(
            id="memory-perfect",
            says="ER always classifies its whole memory correctly.",
            where="Section 5.5, appendix C, Tab. 7",
            page=PAGE,
            lines=tuple(_on_memory(ER_RING, *cell) for cell in cells),
        ),
        Claim(
            id="agem-not-perfect",
            says="After 1,000 examples A-GEM does not classify its whole memory correctly.",
            where="Section 5.5, Tab. 7",
            page=PAGE,
            lines=tuple(_short_of_perfect(angle) for angle in ANGLES),
        ),
        Claim(
            id="agem-perfect-later",
            says="After 20,000 examples A-GEM does classify its whole memory correctly.",
            where="Appendix C, Tab. 7",
            page=PAGE,
            lines=tuple(_on_memory(AGEM_10, angle, LONG) for angle in ANGLES),
        ),
        Claim(
            id="agem-underfits",
            says="On task 1's training set A-GEM is less accurate than ER.",
            where="Section 5.5, Tab. 7",
            page=PAGE,
            lines=tuple(_train_gap(*cell) for cell in cells),
        ),
    ]


def _printed(row: Row, angle: int, examples: int, part: str) -> float:
    which = {"method": row.method, "angle": angle, "second_examples": examples}
    return value("tab7", metric=f"{part}_accuracy", **which)


def _on_memory(row: Row, angle: int, examples: int) -> Line:
    return Line(
        what=f"{row.label} on its memory, {angle}°, {examples:,} examples",
        arms=(rotation_config("tab7", row, angle, examples),),
        quantity=lambda result: after(result, "memory"),
        least=PERFECT,
        paper=_printed(row, angle, examples, "memory"),
        unit="percent",
    )


def _short_of_perfect(angle: int) -> Line:
    return Line(
        what=f"100 − {AGEM_10.label} on its memory, {angle}°, {SHORT:,} examples",
        arms=(rotation_config("tab7", AGEM_10, angle, SHORT),),
        quantity=lambda result: 100 - after(result, "memory"),
        paper=100 - _printed(AGEM_10, angle, SHORT, "memory"),
    )


def _train_gap(angle: int, examples: int) -> Line:
    return Line(
        what=f"{ER_RING.label} − {AGEM_10.label} on the training set, {angle}°, {examples:,} examples",
        arms=tuple(rotation_config("tab7", row, angle, examples) for row in (ER_RING, AGEM_10)),
        quantity=lambda a, b: after(a, "train") - after(b, "train"),
        paper=_printed(ER_RING, angle, examples, "train") - _printed(AGEM_10, angle, examples, "train"),
    )
