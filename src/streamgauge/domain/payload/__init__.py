"""What a message contains besides its stamp, and which key it has, as functions of (seed, producer, sequence).

Nothing here comes from a clock: the same seed gives the same bytes, run after run.
"""

from streamgauge.domain.payload.bodies import KINDS as KINDS
from streamgauge.domain.payload.bodies import MIXED as MIXED
from streamgauge.domain.payload.bodies import BodyKind as BodyKind
from streamgauge.domain.payload.bodies import PayloadKind as PayloadKind
from streamgauge.domain.payload.bodies import body as body
from streamgauge.domain.payload.bodies import padded as padded
from streamgauge.domain.payload.bodies import repeated as repeated
from streamgauge.domain.payload.pool import Pool as Pool
from streamgauge.domain.payload.pool import fill as fill
from streamgauge.domain.payload.pool import period_of as period_of
from streamgauge.domain.payload.pool import share_of as share_of
from streamgauge.domain.payload.sources import Sequential as Sequential
from streamgauge.domain.payload.sources import Source as Source
from streamgauge.domain.payload.sources import Weighted as Weighted
from streamgauge.domain.payload.sources import turns_of as turns_of
