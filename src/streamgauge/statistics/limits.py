"""Levels and least numbers of runs: all of them in one place."""

from typing import Final

LEVEL: Final = 0.05
"""A difference is shown if it would come by chance in fewer cases than this. Intervals leave out as many."""
LOOKING_LEVEL: Final = 0.025
"""The same where runs went on until an interval was narrow: who looks after every round finds a difference by chance
in up to 1.75 times as many cases."""
FEWEST_RUNS: Final = 5
"""With fewer runs of a variant there are figures, and no verdict: nobody knows how far runs differ."""
FEWEST_RANKED: Final = 6
"""The same for ranks and signs of pairs, which cannot reach the level with fewer."""
BOOTSTRAP_FROM: Final = 20
"""With fewer runs a bootstrap interval is too narrow."""
LEFT_OUT_SHARE: Final = 0.2
"""A variant of which more runs than this cannot be compared is not compared: those that are left were selected."""
OUTLIER_LEVEL: Final = 0.01
"""Of samples without outliers, one is seen in no more than this share."""
POWER: Final = 0.8
"""The smallest effect that runs could have shown is the one that so many of such experiments find."""
PLANNED_POWER: Final = 0.95
"""So many experiments find the effect that their number of rounds was planned for."""
MOST_ARRANGEMENTS: Final = 100_000
"""With no more arrangements than this, a permutation test counts all of them; else it draws so many."""
MOST_ROUNDS: Final = 200
"""No larger number of rounds is ever asked for."""
CHANGE_LEVEL: Final = 0.01
"""Of series of runs in which nothing changes, one is told to change in about this share: a page shows many series."""
FEWEST_IN_ORDER: Final = 12
"""With fewer runs in a row no change is looked for: too few of their orders are rarer than `CHANGE_LEVEL`."""
