"""What a message contains besides its stamp, and which key it has, as functions of (seed, producer, sequence).

Nothing here comes from a clock: the same seed gives the same bytes, run after run.
"""

from streamgauge.workload.payload.bodies import MIXED as MIXED
from streamgauge.workload.payload.bodies import body as body
from streamgauge.workload.payload.bodies import padded as padded
from streamgauge.workload.payload.bodies import repeated as repeated
from streamgauge.workload.payload.pool import Pool as Pool
from streamgauge.workload.payload.pool import fill as fill
from streamgauge.workload.payload.pool import period_of as period_of
from streamgauge.workload.payload.pool import share_of as share_of
from streamgauge.workload.payload.sources import PayloadSource as PayloadSource
from streamgauge.workload.payload.sources import Sequential as Sequential
from streamgauge.workload.payload.sources import Weighted as Weighted
from streamgauge.workload.payload.sources import turns_of as turns_of
from streamgauge.workload.payload.trogdor import Generated as Generated
