"""When message j of a load is due, as arithmetic: no clock, no waiting.

A schedule is absolute: due times follow from the index alone, so a stall never moves what comes after it
(coordinated omission). Multiply first, round last: a rounded interval would drift.
"""

from streamgauge.workload.pacing.constant import ConstantPacer as ConstantPacer
from streamgauge.workload.pacing.constant import constant as constant
from streamgauge.workload.pacing.pacer import NEVER as NEVER
from streamgauge.workload.pacing.pacer import Int64s as Int64s
from streamgauge.workload.pacing.pacer import Pacer as Pacer
from streamgauge.workload.pacing.pacer import count_before as count_before
