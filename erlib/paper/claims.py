"""The ledger: every sentence of the paper that can be true or false, judged by the stored runs."""

from __future__ import annotations

import statistics
from typing import Any

import pandas

from erlib.paper import claims_results, claims_rotation, claims_rotation_table, claims_writers
from erlib.paper.claims_results import SLIGHT
from erlib.paper.claims_rotation import ABOUT, NEAR_ZERO
from erlib.paper.claims_writers import AS_GOOD
from erlib.paper.lines import (
    CONFIDENCE,
    FAILS,
    HOLDS,
    NOT_RUN,
    TOO_FEW,
    WORDS,
    Claim,
    Evidence,
    Line,
    TimeLine,
    interval,
    judged,
)
from erlib.paper.timing import learning_times
from erlib.store import Store

RULE = f"""\
A sentence of the paper is broken into lines. A line is a quantity with one value per seed, taken from runs of the same
seed (the same tasks, order and examples), and the range in which the sentence puts it: above 0 for "better", above or
between numbers where the sentence names a bound. Its {CONFIDENCE:.0%} t-interval decides.

- **{HOLDS}**: the interval lies inside the range.
- **{FAILS}**: it lies outside.
- **{TOO_FEW}**: it crosses the edge of the range, or there is only one seed.
- **{NOT_RUN}**: no seed has all the runs.

Where the sentence only mentions a number ("by 1.7"), the direction is judged, and the number stands beside the range
claimed. "Within 0.5" holds if the whole interval lies within ±0.5. "At least as good" allows
{AS_GOOD:g} point less; a "slight" overhead is less than {SLIGHT:g} times the time; a loss "nearly 0" is below
{NEAR_ZERO:g}; a level that the text gives as a round number may be {ABOUT:g} points off. ER against A-GEM or MER is
judged in both readings of these. "ER" without a writer is the writer that is best in the paper's own table, or the ring
where the paper's example is the ring. A sentence holds if all of its lines hold, and does not if one does not. The
last column says whether the paper's own tables support the line.
"""


def claims() -> list[Claim]:
    """All claims, in the order of the paper."""
    parts = (claims_results, claims_writers, claims_rotation, claims_rotation_table)
    return [claim for part in parts for claim in part.claims()]


def ledger(store: Store, seeds: int | None = None) -> pandas.DataFrame:
    """One line of the ledger a row, as `RULE` says; `seeds` uses only the first so many.

    Columns: `claim`, `says`, `where`, `page`, `benchmark`, `what` (the quantity), `unit`, `least` and `most` (the range
    claimed), `claimed` (the number that the sentence names), `mean`, `low`, `high`, `n`, `judgement`, `claimed_inside`
    (is that number inside our interval?), `paper` (the quantity from the paper's tables), `paper_table`, `run_ids`.

    >>> ledger(store)[["what", "mean", "low", "high", "judgement"]]        # doctest: +SKIP
    """
    evidence = Evidence({run.run_id: run for run in store.load()}, learning_times(store.root), seeds)
    rows = [_row(claim, line, evidence) for claim in claims() for line in claim.lines]
    whole = {"n": "Int64", "claimed_inside": "boolean"}
    return pandas.DataFrame(rows).astype(dict.fromkeys(_NUMBERS, "float64") | whole)


NO_NUMBER = "prints no number"
_NUMBERS = ("least", "most", "claimed", "mean", "low", "high", "paper")


def summary(lines: pandas.DataFrame) -> pandas.DataFrame:
    """A ledger with one row for each claim: how many of its lines hold, and what that makes of the sentence."""
    rows = []
    for claim, part in lines.groupby("claim", sort=False):
        counts = {word: int((part.judgement == word).sum()) for word in WORDS}
        supported = int((part.paper_table == "supports").sum())
        printed = int(part.paper.notna().sum())
        first = part.iloc[0]
        rows.append(
            {"claim": claim, "says": first.says, "where": first["where"], "page": first.page}
            | {"judgement": _overall(counts), "lines": len(part)}
            | counts
            | {"paper_table": f"{supported} of {printed}" if printed else NO_NUMBER}
        )
    return pandas.DataFrame(rows)


def _overall(counts: dict[str, int]) -> str:
    if counts[FAILS]:
        return FAILS
    for word in (HOLDS, NOT_RUN):
        if counts[word] == sum(counts.values()):
            return word
    return TOO_FEW


def _row(claim: Claim, line: Line, evidence: Evidence) -> dict[str, Any]:
    values, run_ids = line.sample(evidence)
    low, high = interval(values) or (None, None)
    inside = None if low is None or line.claimed is None else low <= line.claimed <= high
    return {
        "claim": claim.id,
        "says": claim.says,
        "where": claim.where,
        "page": claim.page,
        "benchmark": line.benchmark if isinstance(line, TimeLine) else line.arms[0].benchmark,
        "what": line.what,
        "unit": line.unit,
        "least": line.least,
        "most": line.most,
        "claimed": line.claimed,
        "mean": statistics.fmean(values) if values else None,
        "low": low,
        "high": high,
        "n": len(values),
        "judgement": judged(values, line.least, line.most),
        "claimed_inside": inside,
        "paper": line.paper,
        "paper_table": paper_table(line),
        "run_ids": tuple(run_ids),
    }


def paper_table(line: Line) -> str:
    """Do the paper's own tables put the quantity into the range that its sentence claims?"""
    if line.paper is None:
        return NO_NUMBER
    value = round(line.paper, 9)  # 56.6 - 54.9 is 1.7
    return "supports" if line.least < value < line.most else "does not support"
