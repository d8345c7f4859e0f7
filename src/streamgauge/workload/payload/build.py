"""From the content that a scenario asks for to plain values.

Apart from the content itself, so that workers, which need only that, start without a validation library.
"""

import base64

from streamgauge.scenario.model import content as scenario
from streamgauge.workload.payload.described import Described, PlainContent, Portion
from streamgauge.workload.payload.sizes import Gaussian, Law, Uniform
from streamgauge.workload.payload.trogdor import PlainGenerator


def law_of(size: scenario.Sizes) -> Law:
    """By which law sizes are random; a fixed size is a range of one."""
    if isinstance(size, int):
        return Uniform(size, size)
    extent = scenario.extent_of(size)
    match size.chosen:
        case _, scenario.GaussianSize() as gaussian:
            return Gaussian(gaussian.mean, gaussian.deviation, extent.least, extent.most, gaussian.hold)
        case _:
            return Uniform(extent.least, extent.most)


def content_of(payload: scenario.Content) -> PlainContent | tuple[Portion, ...]:
    """The content of values: of one kind, or of several with their shares."""
    if isinstance(payload, scenario.MadePayload) and payload.weighted:
        return tuple(
            Portion(each.percent, _content(each.payload), None if each.size is None else law_of(each.size))
            for each in payload.weighted
        )
    return _content(payload)


def keys_of(keys: scenario.Keys) -> PlainContent:
    """Which keys messages have."""
    return _content(keys)


def _content(given: scenario.SingleContent | scenario.Keys) -> PlainContent:
    if isinstance(given, str):
        return given
    name, options = given.chosen
    if isinstance(options, scenario.SingleGenerator):
        return Described(name, {"generator": _generator(options)})
    # Options may have a field `keys`, which `dict` would take for the method.
    return Described(name, dict(iter(options)))


def _generator(given: scenario.SingleGenerator) -> PlainGenerator:
    parts = given.components or () if isinstance(given, scenario.TrogdorGenerator) else ()
    return PlainGenerator(
        kind=given.type,
        size=given.size or 0,
        value=base64.b64decode(given.value or ""),
        offset=given.offset or 0,
        seed=given.seed or 0,
        padding=given.padding or 0,
        mean=given.mean or 0,
        deviation=given.deviation or 0.0,
        hold=given.hold or 1,
        components=tuple((each.percent, _generator(each.component)) for each in parts),
    )
