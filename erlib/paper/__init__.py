"""The paper's side of every comparison: its numbers, the verdict on each cell, and the ledger of its claims.

`numbers` holds what is printed, `verdict` the rule, `compare` the tables beside ours, `claims` the sentences.
"""
