"""A consumer group with a name of the user's: what fits to it."""

from typing import Any

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.scenario import parse


def test_a_group_has_a_name_of_its_own() -> None:
    assert parse({"name": "a", "consume": {"group": "team.orders-1"}}).consume.group == "team.orders-1"  # type: ignore[union-attr]
    assert parse({"name": "a"}).consume.group is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"consume": {"group": ""}}, "consume.group"),
        ({"consume": {"group": "a b"}}, "consume.group"),
        ({"consume": {"group": "g" * 250}}, "consume.group"),
        ({"consume": {"group": "g", "groups": 2}}, "consume.group: one name for 2 groups"),
        ({"consume": {"group": "g", "acknowledge": {"markers": {}}}}, "consume.group: groups of markers"),
        ({"consume": {"group": "g", "acknowledge": {"retry": {"delays": ["1s"]}}}}, "of retry topics and share groups"),
        ({"consume": {"group": "g", "acknowledge": {"share": {}}}}, "share groups belong to the run"),
        ({"consume": {"group": "g"}, "pipeline": {"job": "pass"}}, "consume.group: consumers read what the pipeline"),
        (
            {"consume": {"group": "g", "start": "2026-11-21T10:00:00Z"}},
            "consume.start: .*begins where it has committed",
        ),
        ({"consume": {"client": {"group.id": "g"}}}, "group.id.*use consume.group"),
    ],
)
def test_what_does_not_fit(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse({"name": "a", **changed})


def test_a_run_that_only_reads_may_end_after_messages() -> None:
    """Of all consumers together; bytes of somebody else's load are not known in advance."""
    reading = {"name": "a", "load": "off", "consume": {}}
    assert parse({**reading, "phases": {"measure": {"messages": 500}}}).received_messages == 500
    assert parse({**reading, "phases": {"measure": "5s"}}).received_messages is None
    assert parse({"name": "a", "phases": {"measure": {"messages": 500}}}).received_messages is None

    for wrong in ({**reading, "phases": {"measure": {"bytes_per_partition": "1KiB"}}},
                  {"name": "a", "load": "off", "consume": "off", "connections": {"open": "1/s"},
                   "phases": {"measure": {"messages": 5}}}):  # fmt: skip
        with pytest.raises(BadInput, match="no messages are sent that could be counted"):
            parse(wrong)
