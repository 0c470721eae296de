"""The claims of the analysis with two rotated tasks, read from its curves (section 5.5, Fig. 3)."""

from __future__ import annotations

import math
from collections.abc import Callable

from erlib.config import RunConfig
from erlib.paper.lines import Claim, Line
from erlib.paper.numbers import text_value
from erlib.paper.runs import Place, places
from erlib.result import RunResult
from erlib.rows import ER_RING, FINETUNE, MEMORY_ONLY, MEMORY_RESTART, Row

NEAR_ZERO = 0.1  # "nearly zero" cross-entropy: the right class has a probability of about 90% or more
ABOUT = 5.0  # points around a level that the text gives as a round number
LONG, SHORT = 20000, 1000  # examples of task 2: Fig. 3, and the angle sweep
ANGLES = (20, 40, 60)  # of Fig. 3
PAGE = "fig3_mnist_rotation"


def claims() -> list[Claim]:
    """In the order of the paper; "only training on the memory" in its two readings."""
    return [
        *_start(),
        *_memory_alone("continued", MEMORY_ONLY, "the network of task 1"),
        *_memory_alone("fresh", MEMORY_RESTART, "a fresh network"),
        *_second_task(),
    ]


def rotation_config(experiment: str, row: Row, angle: int, examples: int) -> RunConfig:
    """Seed 0 of a row of the rotation analysis."""
    return places(experiment)[Place("rotated_mnist", row.label, 1 if row.memory else None, angle, examples)]


def at_step(result: RunResult, curve: str, step: int) -> float:
    """A curve's value after that many steps of task 2."""
    points = result.curves[curve]
    return points["value"][points["step"].index(step)]


def before(result: RunResult) -> float:
    """Task 1's test accuracy, in percent, just before task 2."""
    return 100 * at_step(result, "test_accuracy", 0)


def after(result: RunResult, part: str = "test") -> float:
    """Task 1's accuracy, in percent, on a part of its data ("train", "memory", "test") after task 2."""
    return 100 * result.final[part]["accuracy"]


def _fall(result: RunResult) -> float:
    return before(result) - after(result)


def _advantage(a: RunResult, b: RunResult) -> float:
    return after(a) - after(b)


def _line(what: str, quantity: Callable[..., float], *arms: RunConfig, **options: object) -> Line:
    return Line(what=what, quantity=quantity, arms=arms, **options)


def _level(what: str, quantity: Callable[..., float], config: RunConfig, name: str) -> Line:
    """A level named in the text: about that many percent."""
    named = text_value(name)
    options = {"least": named - ABOUT, "most": named + ABOUT, "claimed": named, "unit": "percent"}
    return _line(what, quantity, config, **options)


def _fig3(row: Row) -> dict[int, RunConfig]:
    return {angle: rotation_config("fig3", row, angle, LONG) for angle in ANGLES}


def _start() -> list[Claim]:
    both = _fig3(ER_RING)
    small = {"least": -math.inf, "most": NEAR_ZERO, "unit": "nats"}
    quantities = {
        "after 100 steps": lambda result: at_step(result, "memory_loss", 100),
        "in the end": lambda result: result.final["memory"]["loss"],
    }
    return [
        Claim(
            id="memory-loss-near-zero",
            says=f"With both memory and task 2, the loss on the memory soon falls to nearly 0 (below {NEAR_ZERO:g}).",
            where="Section 5.5",
            page=PAGE,
            lines=tuple(
                _line(f"loss on the memory {when}, {angle}°", quantity, both[angle], **small)
                for when, quantity in quantities.items()
                for angle in ANGLES
            ),
        ),
        Claim(
            id="after-task-1",
            says="Just after task 1 its accuracy is 85%.",
            where="Section 5.5",
            page=PAGE,
            lines=(_level("task 1 before task 2", before, both[20], "after_task_1"),),
        ),
    ]


def _memory_alone(name: str, row: Row, start: str) -> list[Claim]:
    """The sentences about training on the memory alone, in one reading of them."""
    alone, both = _fig3(row), _fig3(ER_RING)
    drop = text_value("after_task_1") - text_value("memory_only")
    harm = text_value("memory_only") - text_value("both_at_60")
    return [
        Claim(
            id=f"memory-alone-overfits-{name}",
            says=f"Training on the memory alone, from {start}, overfits: task 1 falls from 85% to 40%.",
            where="Section 5.5, Fig. 3",
            page=PAGE,
            lines=(  # the angle does not matter: task 2 is not seen
                _line("fall of task 1, memory only", _fall, alone[20], claimed=drop),
                _level("task 1 in the end, memory only", after, alone[20], "memory_only"),
            ),
        ),
        Claim(
            id=f"task-2-regularises-{name}",
            says=f"At 20 and 40 degrees, memory and task 2 are better for task 1 than the memory alone (from {start}).",
            where="Section 5.5, Fig. 3(a, b)",
            page=PAGE,
            lines=tuple(_line(f"both − memory only, {a}°", _advantage, both[a], alone[a]) for a in (20, 40)),
        ),
        Claim(
            id=f"task-2-harms-at-60-{name}",
            says=f"At 60 degrees task 2 harms: from 40% with the memory alone (from {start}) to 30% with both.",
            where="Section 5.5, Fig. 3(c)",
            page=PAGE,
            lines=(
                _line("memory only − both, 60°", _advantage, alone[60], both[60], claimed=harm),
                _level("task 1 in the end, both, 60°", after, both[60], "both_at_60"),
            ),
        ),
    ]


def _second_task() -> list[Claim]:
    tuned, both = _fig3(FINETUNE), _fig3(ER_RING)
    near = rotation_config("rotation_sweep", FINETUNE, 10, SHORT)
    return [
        Claim(
            id="task-2-alone-overfits",
            says="Task 2 alone makes task 1 worse if the two are unrelated enough (40 and 60 degrees).",
            where="Section 5.5, Fig. 3(b, c)",
            page=PAGE,
            lines=tuple(_line(f"fall of task 1, task 2 only, {a}°", _fall, tuned[a]) for a in (40, 60)),
        ),
        Claim(
            id="positive-transfer",
            says="When they are closely related (under 20 degrees, and Fig. 3(a)), task 2 alone improves task 1.",
            where="Section 5.5, Fig. 3(a)",
            page=PAGE,
            lines=tuple(
                _line(f"rise of task 1, task 2 only, {name} examples", lambda result: -_fall(result), config)
                for name, config in ((f"10°, {SHORT:,}", near), (f"20°, {LONG:,}", tuned[20]))
            ),
        ),
        Claim(
            id="both-over-task-2",
            says="Memory and task 2 together are better for task 1 than task 2 alone, at 20, 40 and 60 degrees.",
            where="Section 5.5, Fig. 3",
            page=PAGE,
            lines=tuple(_line(f"both − task 2 only, {a}°", _advantage, both[a], tuned[a]) for a in ANGLES),
        ),
    ]
