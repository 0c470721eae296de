"""The claims about what to write into the memory (section 5.4, Fig. 2)."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from erlib.metrics import accuracy_curve
from erlib.paper.claims_results import CIFAR, FOUR, sizes, writers
from erlib.paper.lines import Claim, Line, arm, gap, less_forgetting
from erlib.paper.numbers import text_value
from erlib.paper.runs import Place, places
from erlib.protocol import BENCHMARKS
from erlib.result import RunResult
from erlib.rows import ER_FULL_RING, ER_HYBRID, ER_KMEANS, ER_MOF, ER_RESERVOIR, ER_RING, Row

AS_GOOD = 1.0  # "at least as good": not more than this many points below


def claims() -> list[Claim]:
    """In the order of the paper."""
    return [*_reservoir(), *_balanced(), *_hybrid()]


def _reservoir() -> list[Claim]:
    enough = text_value("reservoir_best_from")
    pairs = [(b, row) for b in FOUR for row in writers(b) if row is not ER_RESERVOIR]
    return [
        Claim(
            id="reservoir-best-from-3",
            says=f"From {enough:g} examples per class on, reservoir is the best writer.",
            where="Section 5.4, Fig. 1",
            page="fig1_memory_size",
            lines=tuple(gap(b, ER_RESERVOIR, row, n) for b, row in pairs for n in sizes(b) if n >= enough),
        ),
        Claim(
            id="reservoir-evicts",
            says="With one slot per class, reservoir loses all examples of some earlier classes.",
            where="Section 5.4",
            page="fig1_memory_size",
            lines=tuple(_evicted(b) for b in FOUR),
        ),
        Claim(
            id="reservoir-forgets-more",
            says="With one slot per class, reservoir therefore forgets more than the ring.",
            where="Section 5.4",
            page="tab1_forgetting",
            lines=tuple(less_forgetting(b, ER_RING, ER_RESERVOIR, 1) for b in FOUR),
        ),
    ]


def _balanced() -> list[Claim]:
    pairs = [(b, row) for b in FOUR for row in writers(b) if row is not ER_RESERVOIR]
    apart, behind = text_value("balanced_within"), text_value("kmeans_over_reservoir")
    return [
        Claim(
            id="balanced-best-at-1",
            says="With one example per class, each balanced writer beats reservoir.",
            where="Section 5.4",
            page="fig1_memory_size",
            lines=tuple(gap(b, row, ER_RESERVOIR, 1) for b, row in pairs),
        ),
        Claim(
            id="cifar-kmeans-over-reservoir",
            says="On CIFAR with 1 per class, reservoir is below k-means, by 3.5 points.",
            where="Section 5.4, Tab. 4",
            page="tab4_cifar",
            lines=(gap(CIFAR, ER_KMEANS, ER_RESERVOIR, 1, claimed=behind),),
        ),
        Claim(
            id="cifar-balanced-within-0.5",
            says="On CIFAR with 1 per class, ring, k-means and MoF are within 0.5 points of each other.",
            where="Section 5.4, Tab. 4",
            page="tab4_cifar",
            lines=tuple(
                gap(CIFAR, a, b, 1, least=-apart, most=apart)
                for a, b in ((ER_RING, ER_KMEANS), (ER_RING, ER_MOF), (ER_KMEANS, ER_MOF))
            ),
        ),
    ]


def _hybrid() -> list[Claim]:
    others = (ER_RESERVOIR, ER_RING, ER_FULL_RING)
    first, second = _halves()
    return [
        Claim(
            id="hybrid-over-ring-early",
            says="At first, when the ring leaves slots empty, the hybrid beats the ring.",
            where="Fig. 2",
            page="fig2_hybrid",
            lines=(_along(ER_RING, first),),
        ),
        Claim(
            id="hybrid-over-reservoir-late",
            says="Once more tasks have arrived, the hybrid beats reservoir.",
            where="Section 5.4, Fig. 2",
            page="fig2_hybrid",
            lines=(_along(ER_RESERVOIR, second),),
        ),
        Claim(
            id="hybrid-at-least-as-good",
            says=f"All along, the hybrid is at least as good as the others: not more than {AS_GOOD:g} point below.",
            where="Section 5.4, Fig. 2",
            page="fig2_hybrid",
            lines=tuple(_along(row, half, least=-AS_GOOD) for row in others for half in (first, second)),
        ),
    ]


def evicted_classes(result: RunResult) -> int:
    """Classes of completed tasks of which the final memory holds no example."""
    earlier = result.config.tasks - 1
    kept = sum(count > 0 and int(key.split("/")[0]) < earlier for key, count in result.memory.items())
    return earlier * BENCHMARKS[result.config.benchmark].classes_per_task - kept


def _evicted(benchmark: str) -> Line:
    return Line(
        what=f"earlier classes without an example in the end, {BENCHMARKS[benchmark].title}, 1 per class",
        arms=(arm(benchmark, ER_RESERVOIR, 1),),
        quantity=evicted_classes,
        unit="classes",
    )


def _halves() -> tuple[range, range]:
    """The first and the second half of the stream, as indices of tasks."""
    tasks = BENCHMARKS[CIFAR].ev_tasks
    return range(tasks // 2), range(tasks // 2, tasks)


def _mean_gap(tasks: range) -> Callable[[RunResult, RunResult], float]:
    def points(a: RunResult, b: RunResult) -> float:
        curves = accuracy_curve(a.accuracy), accuracy_curve(b.accuracy)
        return 100 * statistics.fmean(curves[0][k] - curves[1][k] for k in tasks)

    return points


def _along(other: Row, tasks: range, least: float = 0.0) -> Line:
    """A_k of the hybrid minus that of another writer, averaged over a part of the stream."""
    arms = tuple(places("fig2")[Place(CIFAR, row.label, 1)] for row in (ER_HYBRID, other))
    return Line(
        what=f"{ER_HYBRID.label} − {other.label}, A_k after tasks {tasks[0] + 1} to {tasks[-1] + 1}",
        arms=arms,
        quantity=_mean_gap(tasks),
        least=least,
    )
