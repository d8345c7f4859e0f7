"""The commands `payload` and `compression`: what is shown of messages, and which batches are compressed."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from streamgauge.cli.completion import kinds
from streamgauge.cli.loads.payload import CLASSES, escaped
from streamgauge.cli.main import app
from streamgauge.domain import stamp
from streamgauge.domain.errors import BadInput
from streamgauge.record.recordbatch import HEADER_BYTES, Limits, Record
from streamgauge.runs.sample import LARGEST_SAMPLE, SAMPLE_BATCHES, Sample, sampled, scenario_of
from streamgauge.scenario.model.content import KINDS

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
SMALL = 200_000


@pytest.fixture(autouse=True)
def _small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of what the commands look at is enough here, and so are the bodies that it is made of."""
    monkeypatch.setattr("streamgauge.runs.sample.SAMPLE_BYTES", SMALL)
    monkeypatch.setattr("streamgauge.workload.payload.pool.LONGEST_PERIOD", 500)


def said(arguments: str) -> str:
    result = CliRunner().invoke(app, shlex.split(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def told(arguments: str) -> Any:
    return json.loads(said(f"{arguments} --json"))


def refused(arguments: str) -> str:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(app, shlex.split(arguments), catch_exceptions=False)
    return str(caught.value)


def scenario(path: Path, text: str) -> Path:
    file = path / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_messages_are_those_that_a_producer_sends() -> None:
    """The same each time, whole in JSON; a JSON value stays JSON, since its stamp travels in a header."""
    first, again = told("payload json --count 4"), told("payload json --count 4")

    assert first["messages"] == again["messages"]
    assert [each["seq"] for each in first["messages"]] == [0, 1, 2, 3]
    for each in first["messages"]:
        value = bytes.fromhex(each["hex"])
        assert (len(value), each["size_bytes"], each["stamp"], each["key"]) == (512, 512, "header", None)
        assert json.loads(value)["seq"] == each["seq"]
        assert each["text"] == value.decode()
    assert len({each["hex"] for each in first["messages"]}) == 4


def test_a_stamp_in_the_value_is_seen() -> None:
    (message,) = told("payload text --count 1 --size 100")["messages"]
    value = bytes.fromhex(message["hex"])

    assert (message["stamp"], len(value)) == ("value", 100)
    assert stamp.is_stamp(stamp.decode(value[: stamp.SIZE]), None).all()


def test_text_shows_bytes_and_words() -> None:
    """The first bytes as hex and as characters, then the text behind the stamp, cut where it is long."""
    shown = said("payload text --count 2 --size 300").splitlines()

    assert shown[0] == "message 0: 300 bytes, no key, stamp in its first 40 bytes"
    assert shown[1].startswith("  00000000  53 67 01 00 ")
    assert "  Sg...^.^...." in shown[1]
    assert shown[7] == "  ... 204 more bytes"
    assert shown[8].startswith("  text  ")
    assert shown[8].endswith("...")
    assert shown[10].startswith("message 1: 300 bytes")
    assert [line.split()[0] for line in shown if line.endswith(")")][-4:] == CODECS[1:]
    assert max(len(line) for line in shown if not line.startswith("  text")) <= 120


def test_nothing_reaches_the_terminal_that_would_move_its_cursor() -> None:
    """Not even from bytes that are no text; what is text stays as it is."""
    for kind in ("random", "zeros", "logline"):
        shown = said(f"payload {kind} --count 20")
        assert all(each.isprintable() for line in shown.split("\n") for each in line)
        assert ("  text  " in shown) == (kind != "zeros")
    assert escaped(b"\x1b[31mred\r\n\x00\x07\xff\xc3\xbc \xe2\x80\xae") == "\\x1b[31mred\\r\\n\\x00\\x07\\xffü \\u202e"


def test_text_of_the_user_does_not_move_the_cursor_either(tmp_path: Path) -> None:
    """Neither in values nor in keys."""
    text = r'{constant: {text: "\e[31mred\r\a"}}'
    shown = said(shlex.join(["payload", "baseline", "--set", f"load.payload={text}", "--set", f"load.keys={text}"]))

    assert all(each.isprintable() for line in shown.split("\n") for each in line)
    assert "key \\x1b[31mred\\r\\x07, stamp" in shown
    assert "text  \\x1b[31mred\\r\\x07\\x1b[31mred" in shown


def test_a_tombstone_has_no_value() -> None:
    (message,) = told("payload tombstone --count 1")["messages"]

    assert (message["hex"], message["text"], message["size_bytes"], message["stamp"]) == (None, None, None, "header")
    assert "message 0: no value (a tombstone), no key, stamp in the header `streamgauge`" in said("payload tombstone")


@pytest.mark.slow
def test_keys_and_sizes_are_those_of_the_scenario() -> None:
    arguments = "payload json --set load.keys=sequential --set 'load.size={uniform: {from: 100, to: 900}}'"
    found = told(f"{arguments} --count 3")

    assert [each["key"] for each in found["messages"]] == ["0", "1", "2"]
    assert 100 <= found["sizes"]["min_bytes"] < 150 < 400 < found["sizes"]["mean_bytes"] < 600
    assert 850 < found["sizes"]["max_bytes"] <= 900


def test_a_schedule_that_ends_ends_the_sample(tmp_path: Path) -> None:
    """With whatever is left for the last batch."""
    arrivals = tmp_path / "arrivals.txt"
    arrivals.write_text("\n".join(str(number / 1_000) for number in range(10)), encoding="utf-8")

    sample = sampled(scenario_of("json", None, [f"load.rate={{replay: {{file: {arrivals}}}}}"]), asked=4)

    assert [len(batch) for batch in sample.batches] == [4, 1]


@pytest.mark.parametrize(("count", "lines"), [(0, 0), (1, 1), (3, 3)])
@pytest.mark.slow
def test_as_many_messages_are_shown_as_asked_for(count: int, lines: int) -> None:
    assert said(f"payload random --size 64 --count {count}").count("message ") == lines
    assert len(told(f"payload random --size 64 --count {count}")["messages"]) == lines


def test_a_stamp_in_a_header_is_compressed_with_the_rest() -> None:
    inside, outside = sampled(scenario_of("json", None, [])), sampled(scenario_of("zeros", None, []))

    assert (inside.in_header, outside.in_header) == (True, False)
    assert inside.records[0].count(stamp.HEADER_KEY.encode()) == len(inside.batches[0])
    assert stamp.HEADER_KEY.encode() not in outside.records[0]


@pytest.mark.parametrize(
    ("lengths", "bound"), [((2, 2), "linger.ms"), ((2, 1), "linger.ms"), ((1, 2, 1), "batch.size")]
)
def test_most_batches_tell_what_decided(lengths: tuple[int, ...], bound: str) -> None:
    made = [[Record(b"")] * length for length in lengths]

    assert Sample(Limits(2, 1_000, "linger.ms"), False, made, []).bound == bound


def test_sizes_are_of_all_messages_of_the_sample() -> None:
    found = told("payload zeros --size 4KiB")

    assert found["sizes"]["messages"] > 10
    assert {found["sizes"][name] for name in ("min_bytes", "mean_bytes", "max_bytes")} == {4096}


def test_a_report_has_every_codec() -> None:
    """With bytes before and after, of records and of whole batches, and times with their spread."""
    found = told("payload mixed --count 0")

    assert [each["codec"] for each in found["codecs"]] == CODECS
    assert [each["level"] for each in found["codecs"]] == [None, 6, None, 0, 3]
    batches = found["batches"]
    assert (batches["bound"], batches["mean_messages"], batches["header_bytes"]) == ("linger.ms", 26, HEADER_BYTES)
    for each in found["codecs"]:
        assert each["batches"] == batches["count"]
        headers = each["batches"] * HEADER_BYTES
        assert each["records_ratio"] == each["records_bytes"] / each["compressed_bytes"]
        assert each["batch_ratio"] == (headers + each["records_bytes"]) / (headers + each["compressed_bytes"])
        for took in (each["encode_ms_per_mb"], each["decode_ms_per_mb"]):
            assert (took is None) == (each["codec"] == "none")
            assert took is None or 0 < took["least"] <= took["median"] <= took["most"]


@pytest.mark.slow
def test_classes_of_content_are_compared() -> None:
    """All six with all five codecs, in JSON and as a table."""
    found = {each["payload"]: each["codecs"] for each in told("compression --all")}
    ratio = {
        name: dict(zip(CODECS, (each["batch_ratio"] for each in codecs), strict=True)) for name, codecs in found.items()
    }

    assert tuple(found) == CLASSES
    for codec in CODECS[1:]:
        assert ratio["zeros"][codec] > ratio["text"][codec] > ratio["random"][codec] >= 1
        assert ratio["random"][codec] < 1.1
    assert {each["none"] for each in ratio.values()} == {1}
    assert ratio["zeros"]["zstd"] < 100
    shown = said("compression --all --size 200")
    assert [line.split()[0] for line in shown.splitlines() if " none " in line] == list(CLASSES)
    assert max(map(len, shown.splitlines())) <= 120


@pytest.mark.parametrize(
    ("settings", "bound", "messages"),
    [
        ([], "linger.ms", 26),
        (["load.client.linger.ms=20"], "linger.ms", 101),
        (["load.rate=100/s"], "linger.ms", 1),
        (["load.producers=1"], "linger.ms", 51),
        (["load.client.sticky.partitioning.linger.ms=2"], "linger.ms", 12),
        (["load.rate={ramp: {from: 1k/s, to: 9k/s, over: 30s}}"], "linger.ms", 12),
        (["load.rate={poisson: {rate: 100k/s}}"], "linger.ms", 251),
        (["topic.name=t[1-4]"], "linger.ms", 14),
        (["load.keys=sequential"], "linger.ms", 3),
        (["load.keys={zipf: {keys: 100, exponent: 1.1}}"], "linger.ms", 3),
        (["load.keys={constant: {text: same}}"], "linger.ms", 26),
        (["load.partition=round-robin"], "linger.ms", 3),
        (["load.partition=3", "load.keys=sequential"], "linger.ms", 26),
        (["load.client.linger.ms=20", "load.client.batch.num.messages=40"], "batch.num.messages", 40),
        (["load.client.batch.size=5300"], "batch.size", 10),
        (["load.rate=max"], "batch.size", 1915),
        (["load.rate=max", "load.size=10"], "batch.num.messages", 10_000),
        (["load.rate=closed"], "load.rate", 1),
        (["load.rate={closed: {batch: 60}}"], "load.rate", 60),
        (["load.rate={closed: {batch: 60}}", "load.partition=round-robin"], "load.rate", 5),
        (["load.flush=16"], "load.flush", 16),
        (["load.flush={mean: 12, deviation: 4}"], "load.flush", 12),
        (["load.flush=24", "load.keys=sequential", "load.client.linger.ms=100"], "load.flush", 2),
        (["load.transactions={messages: 8}", "load.client.acks=all"], "load.transactions", 8),
        (["load.transactions={interval: 1s}", "load.client.acks=all"], "linger.ms", 26),
    ],
)
@pytest.mark.slow
def test_batches_are_as_large_as_the_client_makes_them(settings: list[str], bound: str, messages: int) -> None:
    """By the rate of one producer and its linger, unless something else comes first."""
    sample = sampled(scenario_of("zeros", None, settings))

    assert sample.bound == bound
    assert len(sample.messages) / len(sample.batches) == pytest.approx(messages, rel=0.005)


@pytest.mark.parametrize("messages", [100_000, 250_000, 50_000])
def test_all_messages_of_a_window_may_be_due_at_its_begin(messages: int) -> None:
    """Without a warm-up the first hundred thousand are due at 0."""
    rate = f"load.rate={{windows: {{messages: {messages}, window: 1s}}}}"
    sample = sampled(scenario_of("zeros", None, [rate, "phases.warmup=0s", "load.producers=1"]))

    assert sample.messages


@pytest.mark.parametrize(("asked", "bound", "messages"), [(7, "--batch", 7), (5_000, "batch.size", 1915)])
def test_batches_are_as_large_as_one_asks(asked: int, bound: str, messages: int) -> None:
    """Within what the client allows."""
    sample = sampled(scenario_of("zeros", None, []), asked=asked)

    assert (sample.bound, len(sample.batches[0])) == (bound, messages)


def test_a_level_is_for_the_codec_that_the_scenario_names() -> None:
    arguments = "payload text --count 0 --set load.client.compression.type=gzip --set load.client.compression.level=9"

    assert [each["level"] for each in told(arguments)["codecs"]] == [None, 9, None, 0, 3]


@pytest.mark.slow
def test_a_sample_ends_where_messages_are_large() -> None:
    """It has four batches, unless they would be too much."""
    usual = sampled(scenario_of("zeros", None, []))
    large = sampled(scenario_of("zeros", "20MB", ["load.client.message.max.bytes=30000000"]))

    assert SMALL <= sum(map(len, usual.records)) < 2 * SMALL
    assert len(usual.batches) >= SAMPLE_BATCHES
    assert len(sampled(scenario_of("zeros", "300KB", [])).batches) == SAMPLE_BATCHES
    assert len(large.batches) == 1
    assert len(large.records[0]) > LARGEST_SAMPLE
    assert len(sampled(scenario_of("zeros", None, []), at_least=9_999).messages) >= 9_999


def test_a_file_is_taken_like_a_shipped_scenario(tmp_path: Path) -> None:
    """With what it says of size, content and client; called by its name."""
    text = "name: mine\nload: {rate: 1k/s, producers: 1, size: 100, payload: logline, client: {linger.ms: 100}}\n"
    file = scenario(tmp_path, text)

    (found,) = told(f"compression {file}")
    assert found["payload"] == "mine"
    assert found["batches"]["mean_messages"] == 101
    assert told(f"payload {file} --count 1")["messages"][0]["size_bytes"] == 100
    assert "mine " in said(f"payload {file} --count 0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("payload jsn", "jsn: no payload and no scenario of this name. Did you mean `json`?"),
        ("payload baselin", "baselin: no payload and no scenario of this name. Did you mean `baseline`?"),
        ("payload nowhere.yaml", "nowhere.yaml: cannot be read: No such file or directory. Name a readable YAML file"),
        ("compression ''", "KIND_OR_SCENARIO: no payload and no scenario of this name."),
        ("payload json --size big", "load.size: 'big': not a size"),
        ("payload json --set load.rat=1", "load.rat: no such key"),
        ("payload json --set load=off", "load: is off. Name a scenario that sends something"),
        ("payload baseline --set 'load.payload={file: {path: nowhere.txt}}'", "nowhere.txt"),
        ("compression --all --set load.client.linger.mss=1", "load.client.linger.mss: No such configuration property"),
    ],
)
def test_what_cannot_be_shown_is_one_clear_message(arguments: str, message: str) -> None:
    assert message in refused(arguments)


def test_kinds_and_scenarios_are_completed() -> None:
    assert kinds("lo") == ["logline"]
    assert set(kinds("")) >= {*KINDS, "baseline"}


@pytest.mark.parametrize("command", ["payload", "compression"])
def test_help_teaches_with_an_example(command: str) -> None:
    assert f"Example: streamgauge {command}" in said(f"{command} --help")
