"""Whether what is asked of an experiment that goes on is what was asked of it before. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamgauge.domain.errors import Fault
from streamgauge.domain.text.numbers import listed
from streamgauge.domain.text.shown import one_line
from streamgauge.experiments.model import ExperimentFile, Stop
from streamgauge.experiments.record import ExperimentRecord, RecordedVariant
from streamgauge.scenario.comparing import as_text, settings_of

_NEW: Final = "Start a new experiment, or correct it"
_MOST_NAMED: Final = 5


def differences(
    record: ExperimentRecord,
    experiment: ExperimentFile,
    asked: Mapping[str, Any],
    variants: Sequence[RecordedVariant],
    cluster: str | None,
    place: str,
) -> Iterator[Fault]:
    """What must not change before an experiment goes on, and has; `asked` is the file with its scenario written out.

    More rounds, another `stop.time`, `settle` or `expect` may be asked for.
    """
    if [(each.name, each.settings) for each in record.variants] != [(each.name, each.settings) for each in variants]:
        yield Fault(place, "has other variants than the experiment", _NEW)
    if (experiment.order, experiment.seed) != (record.order, record.seed):
        yield Fault("order", "differs from that of the experiment", _NEW)
    if experiment.repeat < record.repeat or (experiment.repeat > record.repeat and record.order == "blocks"):
        what = f"{experiment.repeat}: the experiment has {record.repeat} rounds, in order {record.order}"
        yield Fault("repeat", what, "Write a larger number, for an order other than blocks")
    before, now = _settings(record.asked), _settings(asked)
    if paths := [path for path in {**before, **now} if as_text(before.get(path)) != as_text(now.get(path))]:
        more = [f"{len(paths) - _MOST_NAMED} more"] if len(paths) > _MOST_NAMED else []
        what = f"differs from that of the experiment: {listed([*map(one_line, paths[:_MOST_NAMED]), *more])}"
        yield Fault("scenario", what, _NEW)
    if experiment.metric not in {None, record.asked.get("metric"), record.metric}:
        mend = "Leave it out, and use `streamgauge compare DIR --metric` afterwards"
        yield Fault("metric", f"differs from that of the experiment: {record.metric or 'none was named'}", mend)
    interval = Stop.model_validate(record.asked.get("stop", {})).interval
    kept = {"again": record.again, "broker": record.asked.get("broker", ExperimentFile.model_fields["broker"].default)}
    told = {**{key: getattr(experiment, key) for key in kept}, "stop.interval": experiment.stop.interval}
    for key, value in {**kept, "stop.interval": interval}.items():
        if told[key] != value:
            yield Fault(key, "differs from that of the experiment", _NEW)
    if cluster != record.cluster:
        what = f"the experiment was begun on {record.cluster or 'embedded brokers'}"
        yield Fault("--bootstrap", what, "Leave it out, or start a new experiment")


def _settings(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What all runs have in common, by its paths: the scenario, and what is `set`, as JSON has them."""
    plain = json.loads(json.dumps(asked, default=str))
    scenario = plain.get("scenario", {})
    found = settings_of({**scenario, "topic": scenario.get("topic") or {}})
    return {**found, **{f"set.{path}": value for path, value in plain.get("set", {}).items()}}
