"""Trogdor's consumers of share groups (KIP-932)."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.read.java import consumer_client
from streamgauge.foreign.specs.write.translation import Draft, without_none

_SHARE: Final[Mapping[str, Any]] = {"lock": "30s", "limit": 4, "dead_letters": False}
"""What a share group has in a cluster that sets nothing: five deliveries of each message, and no dead letters."""
_REFUSED: Final = (
    "auto.offset.reset", "enable.auto.commit", "group.instance.id", "isolation.level", "partition.assignment.strategy",
    "session.timeout.ms", "heartbeat.interval.ms", "interceptor.classes",
)  # fmt: skip
"""Settings of consumers that the Java client refuses in a share group."""


def share_consumers(
    draft: Draft, fields: SpecFields, fixed: Mapping[str, Any], *, start: Literal["earliest", "latest"]
) -> dict[str, Any]:
    """The part of `consume` that consumers of a share group have in common; `fixed` are settings that Trogdor makes."""
    given = {**fixed, **fields.mapping("commonClientConf"), **fields.mapping("consumerConf")}
    for name in _REFUSED:
        if name in given:
            what = f"{name} is no setting of share consumers, and the Java client refuses it"
            draft.refuse(fields.place("consumerConf"), what, "Leave it out")
            del given[name]
    if fields.text("shareGroup"):
        draft.left_out(fields.place("shareGroup"), "share groups belong to the run, and are deleted with it")
    if start == "latest":
        draft.differs(fields.place("shareGroup"), "begins at the end of its topics, as a new share group does there")
    what = "five deliveries and locks of 30 s are a cluster's own defaults; write what yours has"
    draft.differs("share.delivery.count.limit, share.record.lock.duration.ms", what)
    settings = consumer_client(draft, fields.place("consumerConf"), given).settings
    return without_none({"acknowledge": {"share": dict(_SHARE)}, "start": start, "client": settings or None})
