"""Real runs whose workers are starved, against the modelled broker: refused, or what they say is true."""

import random
from functools import partial

import pytest
from benchmarks.starving import starved

from streamgauge.processes.jvm.java import Java
from streamgauge.runs.machine.calibrate.planned import Planned
from streamgauge.runs.machine.calibrate.run import calibrate

pytestmark = [pytest.mark.e2e, pytest.mark.spark]

SECONDS, WARMUP = 3.0, 1.0
USED = {"end_to_end.response.p50", "end_to_end.response.p99"}
WAYS = (("quota",), ("same core", "stops"))


def test_starved_runs_are_refused_or_tell_the_truth(warm_spark: None, java: Java) -> None:
    beside = [partial(starved, ways, random.Random(number), SECONDS + WARMUP) for number, ways in enumerate(WAYS)]

    found = calibrate([Planned(3_000, SECONDS, WARMUP)] * len(WAYS), java, lambda _: None, beside)

    for each in found:
        assert each.state == "not_valid" or not USED & set(each.outside), each
    # What was counted is right in any case.
    assert [each.miscounted for each in found] == [[] for _ in WAYS]
