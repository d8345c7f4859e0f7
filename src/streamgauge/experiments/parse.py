"""From a mapping to an experiment, with every fault of a wrong one at once."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from streamgauge.domain.errors import BadInput, Fault, Faults
from streamgauge.experiments.expect import ExpectedOfVariant, expected
from streamgauge.experiments.model import ExperimentFile, Stop
from streamgauge.experiments.variants import PlannedVariant, variants_of
from streamgauge.scenario.misplaced.places import fields
from streamgauge.scenario.parse import faults_of

_DOCUMENT: Final = "experiment"


def examine_experiment(
    mapping: object, source: str
) -> tuple[ExperimentFile, list[PlannedVariant], list[ExpectedOfVariant]]:
    """The experiment that a mapping says, its variants, and what it expects of them; BadInput with every fault."""
    if not isinstance(mapping, Mapping):
        raise BadInput.single(source, "not a mapping of keys to values", "Begin with `name: my-experiment`")
    faults = Faults()
    experiment = None
    try:
        experiment = ExperimentFile.model_validate(mapping)
    except ValidationError as error:
        faults += faults_of(error, _unknown, _meaning, _DOCUMENT)
    wrong = {fault.where.partition(".")[0] for fault in faults}
    # What varies is looked at also where something else is wrong.
    vary, skip = mapping.get("vary", {}), mapping.get("except", ())
    variants = None
    if not wrong & {"vary", "except"} and isinstance(vary, Mapping):
        variants = faults.of(variants_of, vary, tuple(skip), str(mapping.get("name")))
    if experiment:
        faults += _contradictions(experiment)
    expects = faults.of(expected, experiment.expect, variants) if experiment and variants else None
    if faults or experiment is None or variants is None or expects is None:
        raise BadInput(faults)
    return experiment, variants, expects


def _contradictions(experiment: ExperimentFile) -> Iterator[Fault]:
    if experiment.stop.interval is not None and experiment.order != "interleaved":
        what = f"cannot be used with order {experiment.order}, which gives no verdict"
        yield Fault("stop.interval", what, "Use order: interleaved, or leave it out")
    if experiment.stop.time is not None and experiment.order == "blocks":
        what = "cannot be used with order blocks, in which the last variants would have no runs"
        yield Fault("stop.time", what, "Use another order, or leave it out")
    for key in experiment.set:
        if key in experiment.vary:
            yield Fault(f"set.{key}", "is varied, too", "Leave it out in one place")


def _unknown(path: Sequence[str], _value: object) -> list[Fault]:
    """The fault of a key that an experiment does not have."""
    known = list(fields(Stop if path[0] == "stop" and len(path) > 1 else ExperimentFile))
    near = difflib.get_close_matches(path[-1], known, n=1)
    mend = f"Did you mean `{near[0]}`?" if near else f"Known: {', '.join(known)}"
    return [Fault(".".join(path), "no such key", mend)]


def _meaning(path: Sequence[str]) -> str:
    """What a field would accept, from its own description."""
    model: Any = ExperimentFile
    for step in path[:-1]:
        model = Stop if step == "stop" else model
    field = fields(model).get(path[-1]) if path else None
    if field is None or not field.description:
        return "Correct the value"
    return f"Its meaning: {' '.join(field.description.split()).removesuffix('.')}"
