"""What a scenario means, typed: run.json keeps it, and whatever looks at a run reads it instead of the scenario."""

from typing import Final

from streamgauge.scenario.profile.making import TIMEOUTS_MS as TIMEOUTS_MS
from streamgauge.scenario.profile.making import profile_of as profile_of
from streamgauge.scenario.profile.making import recorded_profile as recorded_profile
from streamgauge.scenario.profile.model import Profile as Profile

CLOSED_LOOP: Final = "closed loop: a batch is sent when the last one is acknowledged"
"""Why such a load has no schedule."""
NOT_HELD_BACK: Final = "no backpressure"
"""Why there is nothing that a policy did."""
NOT_PIPED: Final = "no pipeline"
"""Why there are no stages of a pipeline."""
