"""Does a cell reproduce? The rule, decided before any result; `RULE` is the same rule for a page to print."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from erlib.errors import ErlibError
from erlib.paper.numbers import RUNS

CONFIDENCE = 0.90  # of the Welch interval: two one-sided tests at 5%
ALPHA = 0.05  # of "differs", after Holm's correction
FORGETTING_FLOOR = 0.003  # least standard deviation of a printed F_T: it is rounded to 0.01
MNIST_MARGIN = {"accuracy": 2.0, "forgetting": 0.03}
MARGIN = {"accuracy": 4.0, "forgetting": 0.04}  # the other benchmarks

REPRODUCED, DIFFERS, INCONCLUSIVE = "reproduced", "differs", "inconclusive"
NOT_RUN, DISTANCE_ONLY = "not run", "distance only"
WORDS = (REPRODUCED, DIFFERS, INCONCLUSIVE, NOT_RUN, DISTANCE_ONLY)

RULE = f"""\
Each cell is compared with the number that the paper prints. The paper's ± is a population standard deviation over
n = {RUNS} runs, so its sample standard deviation is s = ± · √(n/(n−1)), and at least {FORGETTING_FLOOR} for
forgetting, which is printed with two decimals (Tab. 1 has no ±; it takes those of the same numbers in Tab. 3 to 6). The
margin is {MNIST_MARGIN["accuracy"]:g} points of accuracy and
{MNIST_MARGIN["forgetting"]:g} of forgetting on Permuted MNIST, {MARGIN["accuracy"]:g} points and
{MARGIN["forgetting"]:g} on the other benchmarks.

- **{REPRODUCED}**: the {CONFIDENCE:.0%} Welch interval of the difference (ours − paper) lies inside the margin.
- **{DIFFERS}**: not reproduced, and the difference is not 0 at {ALPHA:.0%} (Welch's test, Holm's correction over all
  tested cells of the table).
- **{INCONCLUSIVE}**: neither; so is a cell with one run, which has no interval.
- **{DISTANCE_ONLY}**: the paper prints no ± (multi-task, Tab. 2, Tab. 7), so there is nothing to test.
- **{NOT_RUN}**: the store holds no run of it.

The distance is always shown. Seeds are 0 to n−1, none dropped.
"""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A printed number and our runs of it, in the same unit: accuracy in points, forgetting as a fraction."""

    paper: float
    spread: float | None  # the printed ±, or None
    ours: Sequence[float]  # one value a seed
    margin: float | None  # how far apart still counts as the same; None where the paper gives no ±
    floor: float = 0.0  # least standard deviation of the paper's runs
    paper_runs: int = RUNS

    @property
    def paper_std(self) -> float | None:
        """Sample standard deviation of the paper's runs."""
        if self.spread is None:
            return None
        return max(self.spread * math.sqrt(self.paper_runs / (self.paper_runs - 1)), self.floor)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The word and the numbers behind it; a number is None where it is not defined."""

    word: str  # one of WORDS
    n: int  # our runs
    difference: float | None = None  # ours - paper
    interval: tuple[float, float] | None = None  # of the difference, at CONFIDENCE
    p: float | None = None  # Welch's test of a difference of 0
    p_holm: float | None = None  # the same, corrected over the table


def cell(benchmark: str, metric: str, paper: float, spread: float | None, ours: Sequence[float]) -> Cell:
    """A cell of a table with the margin and floor of its benchmark and metric."""
    margins = MNIST_MARGIN if benchmark == "permuted_mnist" else MARGIN
    floor = FORGETTING_FLOOR if metric == "forgetting" else 0.0
    margin = margins[metric] if spread is not None else None
    return Cell(paper=paper, spread=spread, ours=tuple(ours), margin=margin, floor=floor)


def judge(cells: Sequence[Cell]) -> list[Verdict]:
    """The verdicts of one table: Holm's correction goes over all of its cells that can be tested."""
    tests = [_welch(one) for one in cells]
    corrected = iter(holm([test[1] for test in tests if test is not None]))
    return [_verdict(one, test, None if test is None else next(corrected)) for one, test in zip(cells, tests)]


def room(cell: Cell) -> float | None:
    """The largest distance from the paper that many runs of ours could call reproduced; none, if it is not above 0.

    It is the margin less half the interval that the paper's own spread leaves in the limit. None without a ±.
    """
    if cell.paper_std is None or cell.margin is None:
        return None
    error = cell.paper_std / math.sqrt(cell.paper_runs)
    return cell.margin - float(stats.t.ppf((1 + CONFIDENCE) / 2, cell.paper_runs - 1)) * error


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given.

    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        running = max(running, (len(p_values) - rank) * p_values[index])
        corrected[index] = min(1.0, running)
    return corrected


def _verdict(cell: Cell, test: tuple[tuple[float, float], float] | None, p_holm: float | None) -> Verdict:
    n = len(cell.ours)
    if n == 0:
        return Verdict(word=NOT_RUN, n=0)
    difference = statistics.fmean(cell.ours) - cell.paper
    if test is None:
        return Verdict(word=DISTANCE_ONLY if cell.spread is None else INCONCLUSIVE, n=n, difference=difference)
    (low, high), p = test
    word = DIFFERS if p_holm < ALPHA else INCONCLUSIVE
    if -cell.margin < low and high < cell.margin:
        word = REPRODUCED
    return Verdict(word=word, n=n, difference=difference, interval=(low, high), p=p, p_holm=p_holm)


def _welch(cell: Cell) -> tuple[tuple[float, float], float] | None:
    """The interval of the difference and the p-value of 0; None for a cell that cannot be tested."""
    if not all(map(math.isfinite, (cell.paper, cell.spread or 0.0, *cell.ours))):
        raise ErlibError("a value of a cell is not a number; look for the damaged run, none may be dropped.")
    if cell.spread is None or len(cell.ours) < 2:
        return None
    difference = statistics.fmean(cell.ours) - cell.paper
    ours = statistics.variance(cell.ours) / len(cell.ours)
    paper = cell.paper_std**2 / cell.paper_runs
    error = math.sqrt(ours + paper)
    if error == 0:  # no spread on either side: the difference is exact
        return (difference, difference), float(difference == 0)
    # Welch and Satterthwaite, with shares of the variance so that tiny ones do not underflow
    share = ours / (ours + paper)
    freedom = 1 / (share**2 / (len(cell.ours) - 1) + (1 - share) ** 2 / (cell.paper_runs - 1))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * error
    return (difference - half, difference + half), float(2 * stats.t.sf(abs(difference) / error, freedom))
