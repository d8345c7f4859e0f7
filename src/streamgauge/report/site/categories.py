"""What a run was made for, in the categories of SSP_kafka's page: from what it does, and what others do otherwise."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

from streamgauge.result.model.run import RunSection
from streamgauge.scenario.comparing import COMPARED, apart, has_load
from streamgauge.scenario.profile.model import BURST, CONSTANT, Profile

CATEGORIES: Final = (
    "baseline", "compression", "acks", "payload", "message-size", "lag-recovery", "bursty", "backpressure", "other",
)  # fmt: skip
_OF_SETTING: Final = {"codec": "compression", "acks": "acks", "payload": "payload", "size": "message-size"}


def categories(runs: Sequence[RunSection]) -> list[str]:
    """The category of each run."""
    varied: defaultdict[int, list[str]] = defaultdict(list)
    for setting in COMPARED:
        values: defaultdict[str, dict[int, str]] = defaultdict(dict)
        for place, run in enumerate(runs):
            if has_load(run.scenario):
                rest, value = apart(run.scenario, setting)
                values[rest][place] = value
        for places in values.values():
            for place in places if len(set(places.values())) > 1 else ():
                varied[place].append(setting)
    return [_category(run.profile, varied[place]) for place, run in enumerate(runs)]


def _category(profile: Profile, varied: Collection[str]) -> str:
    """What is done to the stream comes first, then the one setting in which other runs differ from it."""
    pace, consume, load = profile.pace, profile.consume, profile.load
    if profile.backpressure:
        return "backpressure"
    if pace and pace.kind == BURST:
        return "bursty"
    if profile.fault_count or (
        consume and consume.processing and any(each.mean_ns for each in consume.processing.delays)
    ):
        return "lag-recovery"
    if setting := next((each for each in _OF_SETTING if each in varied), None):
        return _OF_SETTING[setting]
    is_plain = not (profile.pipeline or profile.connections or (load and (load.flushes or load.transactional)))
    return "baseline" if is_plain and consume and pace and pace.kind == CONSTANT else "other"
