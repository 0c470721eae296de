"""Figures, tables and verdicts of the book. A notebook opens its page and shows what these functions return.

`open_page` checks the parameters and finds the runs; every other function takes the page.
"""

from erlib.report.choice import agreement, choices
from erlib.report.comparison import comparison, counts, lines, rotation_table, to_latex
from erlib.report.explore import Explorer, explorer
from erlib.report.ledger import claim_counts, claim_lines, claim_table, evidence_table, intervals
from erlib.report.lever_figure import lever_intervals
from erlib.report.levers import asked, beyond, differing, levers
from erlib.report.memory_size import memory_size
from erlib.report.missing import missing
from erlib.report.own import beside_the_paper
from erlib.report.page import PAGES, Page, Series, open_page
from erlib.report.quickstart import live_curves, memory_pictures, quick_configs, train_live
from erlib.report.rates import same_rate
from erlib.report.room import room, room_counts
from erlib.report.rotation import rotation_curves, rotation_strength, rotation_sweep
from erlib.report.shown import Note, Table
from erlib.report.speed import aims, how, limits, speed
from erlib.report.speed_figures import growth, speed_ratios
from erlib.report.stream import along_stream, hybrid_switch
from erlib.report.style import Plot, look
from erlib.report.theatre import STREAMS, balance, record, theatre
from erlib.report.timing import learning_table, ordering, rounds, time_bars

__all__ = [
    "PAGES",
    "STREAMS",
    "Explorer",
    "Note",
    "Page",
    "Plot",
    "Series",
    "Table",
    "agreement",
    "aims",
    "along_stream",
    "asked",
    "balance",
    "beside_the_paper",
    "beyond",
    "choices",
    "claim_counts",
    "claim_lines",
    "claim_table",
    "comparison",
    "counts",
    "differing",
    "evidence_table",
    "explorer",
    "growth",
    "how",
    "hybrid_switch",
    "intervals",
    "learning_table",
    "lever_intervals",
    "levers",
    "limits",
    "lines",
    "live_curves",
    "look",
    "memory_pictures",
    "memory_size",
    "missing",
    "open_page",
    "ordering",
    "quick_configs",
    "record",
    "room",
    "room_counts",
    "rotation_curves",
    "rotation_strength",
    "rotation_sweep",
    "rotation_table",
    "rounds",
    "same_rate",
    "speed",
    "speed_ratios",
    "theatre",
    "time_bars",
    "to_latex",
    "train_live",
]
