"""What a sentence of the paper comes down to: lines, each a quantity per seed and the range in which it should lie."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from scipy import stats

from erlib.config import RunConfig
from erlib.experiments import TABLES
from erlib.paper.numbers import value
from erlib.paper.runs import Place, first_seeds, places
from erlib.paper.timing import ratios
from erlib.protocol import BENCHMARKS
from erlib.result import RunResult
from erlib.rows import Row

CONFIDENCE = 0.95
HOLDS, FAILS, TOO_FEW, NOT_RUN = "holds", "does not hold", "not enough runs", "not run"
WORDS = (HOLDS, FAILS, TOO_FEW, NOT_RUN)


@dataclass(frozen=True)
class Evidence:
    """What the ledger is judged by: the stored runs by id, the learning times, and how many seeds to use."""

    runs: Mapping[str, RunResult]
    times: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    seeds: int | None = None


@dataclass(frozen=True, kw_only=True)
class Line:
    """One quantity, measured once per seed on the runs of all `arms` of that seed, and the range claimed for it."""

    what: str
    arms: tuple[RunConfig, ...]  # seed 0 of each
    quantity: Callable[..., float] | None  # of one RunResult for each arm
    least: float = 0.0  # the quantity is claimed to be above this
    most: float = math.inf  # and below this
    claimed: float | None = None  # the number that the sentence names
    paper: float | None = None  # the same quantity from the paper's own tables
    unit: str = "points"

    def sample(self, evidence: Evidence) -> tuple[list[float], list[str]]:
        """The quantity of each seed that all arms have, from seed 0 on, and the ids of the runs used."""
        found = list(zip(*(first_seeds(arm, evidence.runs, evidence.seeds) for arm in self.arms)))
        return [self.quantity(*results) for results in found], [run.run_id for results in found for run in results]


@dataclass(frozen=True, kw_only=True)
class TimeLine(Line):
    """A ratio of learning times, one for each round of the measurement."""

    benchmark: str
    row: str
    base: str
    arms: tuple[RunConfig, ...] = ()
    quantity: None = None
    unit: str = "ratio"

    def sample(self, evidence: Evidence) -> tuple[list[float], list[str]]:
        return ratios(evidence.times, self.benchmark, self.row, self.base)[: evidence.seeds], []


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the paper that can be true or false, in our words; it is true if all of its lines are."""

    id: str
    says: str
    where: str  # in the paper
    page: str  # the notebook that shows the evidence
    lines: tuple[Line, ...]


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The t-interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean, error = statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error
    return mean - half, mean + half


def judged(values: Sequence[float], least: float, most: float) -> str:
    """The word for a sample: its interval lies inside the range, outside it, or across its edge.

    >>> judged([1.0, 1.2, 1.1], 0.0, math.inf)
    'holds'
    """
    if not values:
        return NOT_RUN
    ends = interval(values)
    if ends is None:
        return TOO_FEW
    low, high = ends
    if least < low and high < most:
        return HOLDS
    return FAILS if high <= least or low >= most else TOO_FEW


def accuracy(result: RunResult) -> float:
    """A_T in percent."""
    return 100 * result.average_accuracy


def forgetting(result: RunResult) -> float:
    """F_T."""
    return result.forgetting


def arm(benchmark: str, row: Row, size: int) -> RunConfig:
    """The config of a row of Tab. 3 to 6; `size` is passed over for a row without a memory."""
    return places("fig1")[Place(benchmark, row.label, size if row.memory else None)]


def printed(benchmark: str, row: Row, size: int, metric: str = "accuracy") -> float:
    """The paper's number for a row of Tab. 3 to 6."""
    table = next(name for name, of in TABLES.items() if of == benchmark)
    at = size if row.memory else None
    return value(table, method=row.method, memory=row.memory, samples_per_class=at, metric=metric)


def gap(benchmark: str, better: Row, worse: Row, size: int, **options: float) -> Line:
    """How much more accurate one row is than another with the same memory."""
    return Line(
        what=f"{better.label} − {worse.label}, {BENCHMARKS[benchmark].title}, {size} per class",
        arms=(arm(benchmark, better, size), arm(benchmark, worse, size)),
        quantity=lambda a, b: accuracy(a) - accuracy(b),
        paper=printed(benchmark, better, size) - printed(benchmark, worse, size),
        **options,
    )


def less_forgetting(benchmark: str, better: Row, worse: Row, size: int) -> Line:
    """How much more one row forgets than another with the same memory."""
    return Line(
        what=f"forgetting of {worse.label} − {better.label}, {BENCHMARKS[benchmark].title}, {size} per class",
        arms=(arm(benchmark, worse, size), arm(benchmark, better, size)),
        quantity=lambda a, b: forgetting(a) - forgetting(b),
        paper=printed(benchmark, worse, size, "forgetting") - printed(benchmark, better, size, "forgetting"),
        unit="fraction",
    )


def growth(benchmark: str, row: Row, small: int, large: int) -> Line:
    """What a larger memory adds to the accuracy of a row."""
    return Line(
        what=f"{row.label}, {BENCHMARKS[benchmark].title}: {large} − {small} per class",
        arms=(arm(benchmark, row, large), arm(benchmark, row, small)),
        quantity=lambda a, b: accuracy(a) - accuracy(b),
        paper=printed(benchmark, row, large) - printed(benchmark, row, small),
    )
