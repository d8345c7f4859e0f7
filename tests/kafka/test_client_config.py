"""Settings for a cluster: read with every fault at once, and never written with their secrets."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.kafka.carriers.share.settings import share_faults
from streamgauge.kafka.client_config import read_client_config
from streamgauge.kafka.clients.settings import JAVA_NAMES, consumer_faults, producer_faults, refusal

GOOD = """\
# a cluster somewhere
! and an older kind of comment

bootstrap.servers = a.example:9093,b.example:9093
security.protocol=SASL_SSL
sasl.mechanism: PLAIN
  sasl.username =   me
sasl.password=pa=ss:word #1
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "client.properties"
    path.write_text(text, encoding="utf-8")
    return path


def faults_of(path: Path) -> list[str]:
    with pytest.raises(BadInput) as caught:
        read_client_config(path)
    return [str(fault) for fault in caught.value.faults]


def test_every_way_to_write_a_property_is_read(tmp_path: Path) -> None:
    assert read_client_config(write(tmp_path, GOOD)) == {
        "bootstrap.servers": "a.example:9093,b.example:9093",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "pa=ss:word #1",
    }


def test_all_faults_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    text = "no setting hunter2\ngroup.id=g\nlinger.ms=abc\nnope.nope=1\nssl.truststore.location=/x\nlinger.ms=5\n"

    faults = faults_of(write(tmp_path, text))

    path = f"{tmp_path}/client.properties"
    beginnings = [
        f"{path}:1: is not a setting. Write it as name=value",
        f"{path}:2: group.id is set by the run. Leave it out",
        f"{path}:3: linger.ms: Invalid value",
        f'{path}:4: No such configuration property: "nope.nope"',
        f"{path}:5: ssl.truststore.location is a setting of the Java client. Write `ssl.ca.location`",
        f"{path}:6: linger.ms is already set in line 3",
    ]
    assert [fault[: len(begin)] for fault, begin in zip(faults, beginnings, strict=True)] == beginnings
    assert "hunter2" not in "".join(faults)


@pytest.mark.parametrize("name", sorted(JAVA_NAMES))
def test_a_name_of_the_java_client_is_translated_in_files_and_scenarios(tmp_path: Path, name: str) -> None:
    """By one table, whose names are unknown to librdkafka and whose remedies are known to it."""
    said = f"is a setting of the Java client. {JAVA_NAMES[name]}"

    assert faults_of(write(tmp_path, f"{name}=1\n")) == [f"{tmp_path}/client.properties:1: {name} {said}"]
    assert [str(each) for each in producer_faults("load.client", {name: "1"})] == [f"load.client.{name}: {said}"]
    assert refusal({name: "1"}) is not None
    for instead in re.findall(r"Write `([a-z.]+)`", JAVA_NAMES[name]):
        assert "No such configuration property" not in (refusal({instead: "1"}) or "")


def test_settings_that_only_fail_together_are_told_as_one(tmp_path: Path) -> None:
    faults = faults_of(write(tmp_path, "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"))

    assert len(faults) == 1
    assert "sasl.username and sasl.password must be set" in faults[0]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "nowhere.properties: cannot be read" in faults_of(tmp_path / "nowhere.properties")[0]


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")

    assert "binary: cannot be read" in faults_of(tmp_path / "binary")[0]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bufferMemory", "is a setting of the Java client. Write `queue.buffering.max.kbytes` instead"),
        ("max_block_ms", "is a setting of the Java client. Leave it out"),
        ("lingerMs", "Did you mean `linger.ms`?"),
        ("socketTimeoutMs", "Did you mean `socket.timeout.ms`?"),
        ("nopeNope", "Names and values are those of librdkafka"),
    ],
)
def test_a_name_in_another_spelling_leads_to_the_setting(name: str, said: str) -> None:
    (fault,) = producer_faults("load.client", {name: 1000})

    assert said in str(fault)


def test_what_the_run_decides_is_left_to_the_scenario() -> None:
    """Its rules refuse the setting whatever its value is; a second fault would say nothing new."""
    assert consumer_faults("consume.client", {"auto.offset.reset": 7}) == []


@pytest.mark.parametrize(
    ("wrong", "name", "home"),
    [
        (consumer_faults, "linger.ms", "load.client"),
        (consumer_faults, "acks", "load.client"),
        (consumer_faults, "request.timeout.ms", "load.client"),
        (share_faults, "linger.ms", "load.client"),
        (producer_faults, "session.timeout.ms", "consume.client"),
        (producer_faults, "fetch.min.bytes", "consume.client"),
    ],
)
def test_a_setting_of_the_other_side_leads_to_its_place(
    wrong: Callable[..., list[Fault]], name: str, home: str
) -> None:
    """The client would take it, log a warning, and ignore it; those beside it are right."""
    right = {"socket.timeout.ms": 60_000, "statistics.interval.ms": 1_000, "client.id": "me"}

    assert wrong("x.client", right) == []
    (fault,) = wrong("x.client", {**right, name: 6_000 if name != "acks" else "all"})
    assert str(fault).startswith(f"x.client.{name}: is a setting of ")
    assert str(fault).endswith(f"and has no effect here. Its place is `{home}.{name}`")


@pytest.mark.parametrize(
    ("setting", "whose", "home"),
    [
        ("acks=0", "producers", "load.client.acks"),
        ("linger.ms=50", "producers", "load.client.linger.ms"),
        ("session.timeout.ms=6000", "consumers", "consume.client.session.timeout.ms"),
    ],
)
def test_a_setting_of_one_side_belongs_to_the_scenario(tmp_path: Path, setting: str, whose: str, home: str) -> None:
    """By which a run is checked, judged and compared: it must not be changed from elsewhere."""
    name = setting.partition("=")[0]

    (fault,) = faults_of(write(tmp_path, f"{GOOD}{setting}\n"))
    assert fault.startswith(f"{tmp_path}/client.properties:9: {name} is a setting of {whose}, not of a cluster. ")
    assert fault.endswith(f"Write it into the scenario as `{home}`")
