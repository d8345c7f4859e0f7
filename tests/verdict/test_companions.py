"""Every figure of the result says whether it may be believed, or is named here with the reason why not."""

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel
from tests.verdict.test_verdict import Run

from streamgauge.domain.folder.facts import RunFacts
from streamgauge.domain.tables.latency import BOUNDS, METRICS
from streamgauge.domain.tables.pressure import RECOVERY
from streamgauge.domain.tables.schema import Schema
from streamgauge.result import Result
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.trust.causes import TAKES
from streamgauge.verdict.trust.figures import figures
from streamgauge.verdict.trust.judged import NOT_FIGURES, SECTIONS, exemption, judge_by_faults

NOT_JUDGED: Final = {
    "format": "no figure",
    "run": "what was run",
    "verdict": "what follows from the figures",
    "warmup": "what is in no figure",
    "rates": "the rates of throughput, in parts",
    "expectations": "what follows from the figures",
    "trust": "the companions",
    "imported": "what another tool says",
    "missing": "examples of what delivery counts",
    "redelivery": "counted delivery by delivery; times have companions where the latency of the run is not believed",
    "transactions": "as the client ended them",
    "processing": "what the load itself did, asked by the check of processing delays",
    "wire": "as the clients count",
    "compression": "a sample, and no figure of the run",
    "replication": "as the cluster tells",
    "backpressure": "what the policy did",
    "faults": "what the scenario did",
    "scorecards": "what faults did, as the rows tell; their latencies are those of recovery",
    "resources": "as the kernel counts",
    "timeline": "seconds of the same figures",
    "reasons": "no figure",
}
"""Sections without companions, and why."""


def filled(kind: Any) -> Any:
    """A value of a type, as plain data: each number is there, and each list has one item."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {name: filled(field.annotation) for name, field in kind.model_fields.items()}
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return filled(parts[0])
    if origin in {Union, types.UnionType}:
        return filled(next(part for part in parts if part is not types.NoneType))
    if origin is Literal:
        return parts[0]
    if origin is list:
        return [filled(parts[0])]
    return {dict: {}, int: 1, float: 1.0, bool: True, str: "x"}[origin or kind]


def sections() -> dict[str, Any]:
    """Every section that is judged, with all that it can have."""
    found = {}
    for name in SECTIONS:
        kind = Result.model_fields[name].annotation
        parts = [part for part in get_args(kind) if part is not types.NoneType] or [kind]
        values = filled(kind)
        if get_origin(parts[0]) is list:
            (model,) = get_args(parts[0])
            found[name] = [model.model_validate(value, strict=False) for value in values]
        else:
            found[name] = parts[0].model_validate(values, strict=False)
    return found


def companions(*, known: bool = True) -> set[str]:
    """The paths of all figures that a result can have."""
    given = sections()
    (step,) = given["steps"]
    seconds = (None, step.from_second)
    bounds = [
        ones(BOUNDS) | {"metric": name, "known": known, "second": second}
        for second in seconds
        for name in (*METRICS, "x")
    ]
    tables = {"bounds": bounds, "recovery": [ones(RECOVERY)]}
    run = Evidence(RunFacts.model_validate(Run().facts), tables)
    return set(figures(run, [], **given, path="end_to_end"))


def ones(schema: Schema) -> dict[str, Any]:
    return dict.fromkeys((column.name for column in schema.columns), 1.0)


def numbers(value: Any, path: str) -> Iterator[str]:
    """The paths of all numbers below a place of the document."""
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from numbers(below, f"{path}.{name}")
    elif isinstance(value, list):
        for place, below in enumerate(value):
            yield from numbers(below, f"{path}.{place}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def all_numbers() -> set[str]:
    documents = {
        name: [each.model_dump(by_alias=True) for each in section]
        if isinstance(section, list)
        else section.model_dump()
        for name, section in sections().items()
    }
    return {path for name, document in documents.items() for path in numbers(document, name)}


@pytest.mark.parametrize("known", [True, False])
def test_every_number_has_a_companion_or_a_reason(*, known: bool) -> None:
    """Also where no bound is known: then it is not believed, and not left out."""
    missing = {path for path in all_numbers() - companions(known=known) if exemption(path) is None}

    assert sorted(missing) == []


def test_every_companion_stands_beside_a_number() -> None:
    assert sorted(companions() - all_numbers()) == []


def test_every_exemption_is_needed() -> None:
    assert {exemption(path) for path in all_numbers() - companions()} == set(NOT_FIGURES)


def test_a_run_can_be_judged_by_every_figure_that_has_a_companion() -> None:
    """And by no other: what names nothing would be judged by nothing."""
    assert {path for path in all_numbers() if not judge_by_faults([path])} == companions()


@pytest.mark.parametrize(
    "path", [*SECTIONS, "latency.ack", "latency.end_to_end.response", "delivery.measure", "lag.groups.3"]
)
def test_a_run_can_be_judged_by_how_the_paths_of_figures_begin(path: str) -> None:
    assert judge_by_faults([path]) == []


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("throughputs", "judge_by.0: throughputs: the result has no `throughputs`. Did you mean `throughput`?"),
        ("latency.end_to_end.response.p99", "latency.end_to_end.response has no `p99`. Did you mean `p99_ms`?"),
        ("latency.ack.", "latency.ack has no ``. Known here: response, service"),
        ("", "the result has no ``. Known here: format, run"),
        ("delivery.lots", "delivery has no `lots`. Did you mean `lost`?"),
        ("resources", "resources: has no interval to judge by. Write one of throughput, latency, schedule_delay"),
        ("throughput.target_per_second", "is not judged: the scenario's. Name another figure of throughput"),
        ("latency.topics", "is not judged: told of all topics together. Name another figure of latency"),
        ("latency.reasons", "is not judged: it holds no number"),
    ],
)
def test_what_no_run_can_be_judged_by_is_refused_with_the_nearest_name(path: str, says: str) -> None:
    (fault,) = judge_by_faults([path])

    assert says in str(fault)


def test_every_section_is_judged_or_named() -> None:
    assert {*SECTIONS, *NOT_JUDGED} == set(Result.model_fields)


def test_what_a_check_takes_can_be_there() -> None:
    """Each beginning of a path is that of some figure."""
    begins = {begin for takes in TAKES.values() for begin in takes.begins}

    assert {begin for begin in begins if not any(path.startswith(begin) for path in companions())} == set()
