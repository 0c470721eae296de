"""The verdict: against scipy, by hand, and its properties."""

from __future__ import annotations

import dataclasses
import math
import statistics

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from erlib.errors import ErlibError
from erlib.paper.verdict import RULE, WORDS, Cell, cell, holm, judge, room


def make(ours, *, paper=70.2, spread=0.56, margin=2.0, **more):
    return Cell(paper=paper, spread=spread, ours=ours, margin=margin, **more)


def one(*args, **options):
    return judge([make(*args, **options)])[0]


def test_the_interval_and_p_are_those_of_scipy():
    ours, spread = [69.0, 70.5, 71.2, 68.8], 0.56
    verdict = one(ours, spread=spread)
    s = spread * math.sqrt(5 / 4)
    theirs = stats.ttest_ind_from_stats(statistics.fmean(ours), statistics.stdev(ours), 4, 70.2, s, 5, equal_var=False)
    assert verdict.p == pytest.approx(theirs.pvalue)
    # the same interval from raw samples that have exactly the paper's mean and spread
    paper = stats.zscore([1.0, 2.0, 3.0, 4.0, 9.0]) * spread + 70.2
    low, high = stats.ttest_ind(ours, paper, equal_var=False).confidence_interval(0.9)
    assert verdict.interval == pytest.approx((low, high))
    assert verdict.difference == pytest.approx(statistics.fmean(ours) - 70.2)


def test_a_case_worked_by_hand():
    # ours 10, 12 (mean 11, variance 2, over n: 1); paper 10 ± 2, s² = 5, over n: 1; d = 1, error √2,
    # df = 4 / (1/1 + 1/4) = 3.2
    verdict = one([10.0, 12.0], paper=10.0, spread=2.0)
    t = stats.t.ppf(0.95, 3.2)
    assert verdict.interval == pytest.approx((1 - t * math.sqrt(2), 1 + t * math.sqrt(2)))
    assert verdict.p == pytest.approx(2 * stats.t.sf(1 / math.sqrt(2), 3.2))
    assert verdict.word == "inconclusive"


@pytest.mark.parametrize(
    ("ours", "word"),
    [
        ([70.0, 70.3, 70.5, 69.9, 70.4], "reproduced"),
        ([60.0, 60.3, 60.5, 59.9, 60.4], "differs"),
        ([80.0, 80.3, 80.5, 79.9, 80.4], "differs"),
        ([66.0, 74.0, 70.0], "inconclusive"),
        ([70.2], "inconclusive"),
        ([], "not run"),
    ],
)
def test_the_words(ours, word):
    assert one(ours).word == word


def test_a_significant_difference_inside_the_margin_is_reproduced():
    verdict = one([71.4, 71.5, 71.4, 71.5, 71.4])
    assert verdict.p_holm < 0.05
    assert verdict.word == "reproduced"


def test_one_run_has_a_distance_and_no_interval():
    verdict = one([75.2])
    assert (verdict.n, verdict.interval, verdict.p) == (1, None, None)
    assert verdict.difference == pytest.approx(5.0)


def test_without_a_printed_spread_there_is_only_the_distance():
    verdict = one([84.0, 86.0], paper=83.0, spread=None, margin=None)
    assert (verdict.word, verdict.difference, verdict.interval) == ("distance only", 2.0, None)


def test_equal_runs_and_no_spread_at_all():
    assert one([71.0] * 4).word == "reproduced"  # the paper's spread alone makes the interval
    assert one([70.2] * 2, spread=0.0).interval == (0.0, 0.0)
    exact = one([80.0] * 2, paper=70.0, spread=0.0)
    assert (exact.word, exact.p, exact.difference) == ("differs", 0.0, 10.0)


def test_a_value_that_is_no_number_is_never_dropped():
    with pytest.raises(ErlibError, match="not a number"):
        one([70.0, math.nan])


def test_margins_and_floor_of_the_design():
    assert cell("permuted_mnist", "accuracy", 70.0, 0.5, []).margin == 2
    assert cell("permuted_mnist", "forgetting", 0.1, 0.01, []).margin == 0.03
    assert cell("split_cub", "accuracy", 70.0, 0.5, []).margin == 4
    assert cell("split_cifar", "forgetting", 0.1, 0.01, []).margin == 0.04
    assert cell("split_cifar", "forgetting", 0.1, 0.0, []).paper_std == 0.003
    assert cell("split_cifar", "forgetting", 0.1, 0.01, []).paper_std == pytest.approx(0.01 * math.sqrt(1.25))
    assert cell("split_cifar", "accuracy", 70.0, 0.0, []).paper_std == 0
    assert make([], paper_runs=3).paper_std == pytest.approx(0.56 * math.sqrt(1.5))


def test_holm_by_hand():
    # sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04 -> 0.06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_goes_over_the_tested_cells_of_the_table_only():
    borderline = make([66.0, 68.0, 64.0, 66.0, 65.0], spread=2.0)
    alone = judge([borderline])[0]
    untested = [make([]), make([70.0]), make([80.0, 90.0], spread=None, margin=None)]
    assert judge([borderline, *untested])[0] == alone
    crowd = [make([70.0, 71.0, 66.0]) for _ in range(20)]
    crowded = judge([borderline, *crowd])[0]
    assert crowded.p == alone.p
    assert crowded.p_holm == pytest.approx(min(1.0, 21 * alone.p))
    assert (alone.word, crowded.word) == ("differs", "inconclusive")


def test_the_room_that_the_papers_spread_leaves():
    # s / √5 = 0.56 · √(5/4) / √5 = 0.28, times t(0.95, 4) = 2.132 is 0.597 of the margin of 2
    assert room(make([])) == pytest.approx(2 - 0.597, abs=1e-3)
    assert room(make([], spread=2.0)) < 0
    assert room(make([], spread=None, margin=None)) is None


@pytest.mark.parametrize("sign", [-1, 1])
def test_many_runs_decide_at_the_edge_of_the_room(sign):
    edge = room(make([]))
    many = [sign * 0.01 * (-1) ** i for i in range(1000)]
    assert one([70.2 + sign * (edge - 0.02) + x for x in many]).word == "reproduced"
    assert one([70.2 + sign * (edge + 0.02) + x for x in many]).word != "reproduced"


def test_the_printed_rule_names_its_own_constants_and_every_word():
    for text in ("n = 5", "0.003", "2 points", "0.03", "4 points", "0.04", "90%", "5%", *WORDS):
        assert text in RULE


values = st.lists(st.floats(0, 100), min_size=2, max_size=6)


@given(values, st.floats(0, 100), st.floats(0.01, 5), st.floats(0.1, 5), st.floats(1, 4))
def test_a_wider_margin_never_speaks_against_the_cell(ours, paper, spread, margin, factor):
    narrow = one(ours, paper=paper, spread=spread, margin=margin)
    wide = one(ours, paper=paper, spread=spread, margin=margin * factor)
    assert wide.word in {narrow.word, "reproduced"}


@given(values, st.floats(0, 100), st.floats(0.01, 5))
def test_the_sign_of_the_difference_does_not_matter(ours, paper, spread):
    verdict = one(ours, paper=paper, spread=spread)
    mirrored = one([2 * paper - x for x in ours], paper=paper, spread=spread)
    assume(abs(verdict.p - 0.05) > 1e-6 and all(abs(abs(end) - 2) > 1e-6 for end in verdict.interval))
    assert mirrored.word == verdict.word
    assert mirrored.interval == pytest.approx((-verdict.interval[1], -verdict.interval[0]), abs=1e-6)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_the_order(p_values):
    corrected = holm(p_values)
    assert all(p <= c <= 1 for p, c in zip(p_values, corrected))
    pairs = sorted(zip(p_values, corrected))
    assert [c for _, c in pairs] == sorted(corrected)


def test_cells_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make([]).paper = 1.0
