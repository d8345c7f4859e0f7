"""What jobs are to make of messages."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.conftest import head

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import WorkerError
from streamgauge.domain.query import QuerySpec
from streamgauge.jobs import oracles
from streamgauge.jobs.oracles import Alert, FirstAppearance, Message, counted, oracle_of

LINE = b'1.2.3.4 - - [17] "GET / HTTP/1.1" %d 512 "agent" 0\n'
MESSAGES = st.lists(
    st.builds(
        Message,
        key=st.none() | st.sampled_from([b"", b"a", b"b"]),
        body=st.just(b""),
        at_ms=st.integers(0, 60_000),
        head=st.none() | st.builds(head, st.integers(0, 9), due_ns=st.integers(0, 9)),
    ),
    max_size=30,
)


def test_filter(make_spec: Callable[..., QuerySpec]) -> None:
    oracle = oracle_of(make_spec(job="filter", does="subset", options={"contains": "é 5"}))

    assert oracle is not None
    assert oracle(None, "xé 5y".encode(), None)
    assert not oracle(b"\xe9 5", b"e 5", None)


@pytest.mark.parametrize(
    "changes",
    [
        {"job": "pass"},
        {"job": "function", "does": "subset", "options": {"call": "a:b", "expects": None}},
        {"job": "function", "does": "changed", "options": {"call": "a:b", "expects": "a:c"}},
    ],
)
def test_where_nobody_knows(make_spec: Callable[..., QuerySpec], changes: dict[str, object]) -> None:
    assert oracle_of(make_spec(**changes)) is None


def test_the_users_oracle(make_spec: Callable[..., QuerySpec], tmp_path: Path) -> None:
    (tmp_path / "oracle_of_mine.py").write_text("def expects(key, value): return key == value\n")
    options = {"call": "oracle_of_mine:job", "expects": "oracle_of_mine:expects"}

    oracle = oracle_of(make_spec(job="function", does="subset", options=options))

    assert oracle is not None
    assert oracle(b"a", b"a", None)
    assert not oracle(b"a", b"b", None)
    with pytest.raises(WorkerError, match="has no attribute 'other'"):
        oracle_of(make_spec(job="function", does="subset", options={**options, "expects": "oracle_of_mine:other"}))


def test_of_dedup_each_message_once(make_spec: Callable[..., QuerySpec]) -> None:
    """As it came first in the source; every query has a memory of its own."""
    for _ in range(2):
        oracle = oracle_of(make_spec(job="dedup", does="subset"))
        assert oracle is not None
        assert [oracle(None, b"", each) for each in (head(1), head(1), head(2), None, None)] == [
            True, False, True, True, True,
        ]  # fmt: skip


def test_first_appearances() -> None:
    oracle = FirstAppearance()
    heads = [head(1), head(2), head(1), head(1, producer=1), None, None, head(1, tag=8), head(2, due_ns=5)]

    assert [oracle.expects(each) for each in heads] == [True, True, False, True, True, True, True, False]


@given(MESSAGES)
def test_every_message_is_counted_once_in_its_window(messages: list[Message]) -> None:
    found = counted(messages, 7 * NS_PER_SECOND)

    assert sum(each.messages for each in found) == len(messages)
    assert len({(each.from_ms, each.key) for each in found}) == len(found)
    for each in found:
        same = [m for m in messages if m.key == each.key and each.from_ms <= m.at_ms < each.from_ms + 7000]
        assert len(same) == each.messages
        assert each.head in {m.head for m in same}


def test_the_newest_is_by_due_time_or_else_by_sent_time() -> None:
    by_due, by_sent = head(1, due_ns=300, sent_ns=900), head(2, due_ns=0, sent_ns=400, scheduled=False)

    assert oracles.newest([by_due, None, by_sent]) == by_sent
    assert oracles.newest([None]) is None


def test_alerts_where_the_share_is_larger() -> None:
    bad, good = LINE % 503, LINE % 404
    messages = [Message(None, bad + good + good[:30], 500, head(1)), Message(None, good + good, 9999, head(2))]
    later = [Message(None, good, 10_000, head(3)), Message(None, b"nothing", 20_000, head(4))]

    assert oracles.alerts(messages + later, 10 * NS_PER_SECOND, 0.24) == [Alert(0, 4, 1, head(2))]
    assert oracles.alerts(messages, 10 * NS_PER_SECOND, 0.25) == []
