"""Bad input gets one clear message: where, what, how to mend it, all faults at once, exit 2, before anything starts.

Everything goes through the program's own `main`. A message never holds a traceback or a secret, and nothing is made.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from tests.report.conftest import FACTS, changed

from streamgauge.cli.kafka import brokers
from streamgauge.cli.main import main
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.processes.jvm.java import Java
from streamgauge.report.assemble.result import write_result
from streamgauge.report.pages import html
from streamgauge.runs.request import options as request

SECRET: Final = "hunter2"
SEE: Final = "librdkafka's CONFIGURATION.md"


@dataclass(frozen=True, slots=True)
class Said:
    """What a call of the program said."""

    code: int
    out: str
    err: str


Call = Callable[..., Said]


def _never(*_: object, **__: object) -> Any:
    raise AssertionError("something was started")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls `main` in a folder of its own; whatever would start something fails the test."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "200", "NO_COLOR": "1", "JAVA_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(request, "find_java", lambda _: Java(tmp_path / "bin" / "java", "17.0.1", 17))
    monkeypatch.setattr("streamgauge.runs.conduct.target.start_cluster", _never)
    monkeypatch.setattr("streamgauge.runs.conduct.target.Cluster", _never)
    monkeypatch.setattr(brokers, "start_cluster", _never)

    def run(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["streamgauge", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)

    return run


def refused(call: Call, *arguments: str, faults: int = 1) -> str:
    """The message with which a call is refused: so many faults, each on a line of its own, and nothing else."""
    before = sorted(Path().rglob("*"))

    said = call(*arguments)

    assert said.code == 2, said
    assert said.out == ""
    assert "Traceback" not in said.err
    assert SECRET not in said.err
    assert all(each.isprintable() or each == "\n" for each in said.err)
    assert sorted(Path().rglob("*")) == before
    assert all(line.startswith("error: ") for line in said.err.splitlines()), said.err
    assert len(said.err.splitlines()) == faults, said.err
    assert len(said.err) < 800 * faults
    return said.err


def holds(message: str, fragments: tuple[str, ...]) -> None:
    assert [fragment for fragment in fragments if fragment not in message] == [], message


NOT_A_MAPPING: Final = ("mine.yaml: not a mapping of keys to values.", "Begin with `name: my-scenario`")
ALLOWED_NAME: Final = ("not in an allowed form", "lower-case letters, digits")
NOT_A_RATE: Final = ("not a rate", "Write messages a second like 10k/s")
NOT_A_SIZE: Final = ("not a size", "Write bytes like 512, or a size with a unit")
NOT_A_DURATION: Final = ("not a duration", "Write a number and a unit", "like 30s")
DIGITS: Final = "9" * 5000
BOMB: Final = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES: Final = BOMB.replace("[x, x]", "{x: 1}").replace("[*", "{<<: [*").replace("]\n", "]}\n")

FILES: list[tuple[str | bytes, tuple[str, ...]]] = [
    # What is no scenario at all.
    ("", NOT_A_MAPPING),
    ("# only a comment\n", NOT_A_MAPPING),
    ("null\n", NOT_A_MAPPING),
    ("- a\n- b\n", NOT_A_MAPPING),
    ("5\n", NOT_A_MAPPING),
    ("just words\n", NOT_A_MAPPING),
    (b"\xff\xfe\x00", ("mine.yaml: cannot be read: it is not UTF-8 text.", "Name a readable YAML file")),
    (b"name: x\n\x89PNG\r\n\x1a\n", ("mine.yaml: cannot be read: it is not UTF-8 text.",)),
    (b"\x00\x01\x02\x03", ("mine.yaml:1:1: not YAML: the character U+0000 is not allowed. Remove it",)),
    ("name: x\nabout: \x1b[31m\n", ("mine.yaml:2:8:", "the character U+001B is not allowed. Remove it")),
    ("a" * 300_000, ("mine.yaml: is larger than 256 KiB", "Name a file with a scenario")),
    # What is no YAML, or more than plain values.
    ("name: x\n\tload: 1\n", ("mine.yaml:2:1: not YAML: found character '\\t'", "indent with spaces")),
    ("name: [a\n", ("mine.yaml:2:1: not YAML: expected ',' or ']'", "Correct the line")),
    ("name: 'a\n", ("mine.yaml:2:1: not YAML: found unexpected end of stream", "Correct the line")),
    ("name: x: y\n", ("mine.yaml:1:8: not YAML: mapping values are not allowed here", "Correct the line")),
    ("name: x\n---\nname: y\n", ("mine.yaml:2:1: not YAML: but found another document",)),
    ("name: *nothing\n", ("mine.yaml:1:7: not YAML: found undefined alias 'nothing'",)),
    ("name: x\n? [a]\n: 3\n", ("mine.yaml:2:3: not YAML: found unhashable key.", "plain text and numbers")),
    ("name: x\nname: y\n", ("mine.yaml:2:1: not YAML: `name` is already defined in line 1. Keep one of them",)),
    ("name: x\nload: {rate: 1, rate: 2}\n", ("mine.yaml:2:17:", "`rate` is already defined in line 2. Keep one")),
    ("name: !!python/object/apply:os.system [ls]\n", ("mine.yaml:1:7:", "tag !!python/object/apply:os.system is not")),
    ("name: !!python/name:os.system\n", ("mine.yaml:1:7:", "is not supported. Write keys and values as plain")),
    ("!scenario\nname: x\n", ("mine.yaml:1:1:", "the tag !scenario is not supported")),
    ("name: x\nseed: !!int five\n", ("mine.yaml:2:7:", "the tag !!int is not supported")),
    ("name: x\nabout: " + "[" * 5000 + "]" * 5000, ("mine.yaml: not YAML: nested too deeply. Write it with fewer",)),
    (f"name: x\nload: {{rate: {DIGITS}}}\n", ("mine.yaml:2:14:", "a number of 5000 digits")),
    (f"name: x\nseed: 0x{'f' * 5000}\n", ("mine.yaml:2:7:", "a number of 5002 digits")),
    ("name: x\nseed: 0b_\n", ("mine.yaml:2:7: not YAML: not a number",)),
    ("about: &n [*n]\nname: x\n", ("mine.yaml:1:12: not YAML: *n is part of itself. Write keys and values as plain",)),
    ("name: x\nfoo: &a {b: *a}\n", ("mine.yaml:2:13: not YAML: *a is part of itself",)),
    ("name: x\nphases: {measure: {messages: 10000000000000000000000}}\n", ("phases.measure", "less than or equal to")),
    # Names.
    ("about: no name\n", ("name: is missing. Add it",)),
    ("name: Upper Case\n", ("name: 'Upper Case': ", *ALLOWED_NAME)),
    ("name: a/b\n", ("name: 'a/b': ", *ALLOWED_NAME)),
    ("name: ../x\n", ("name: '../x': ", *ALLOWED_NAME)),
    ('name: "a\\e[31m"\n', ("name: 'a\\x1b[31m': ", *ALLOWED_NAME)),
    ('name: "x\\n"\n', ("name: 'x\\n': ", *ALLOWED_NAME)),
    ("name: ''\n", ("name: '': should have at least 1 character", "lower-case letters")),
    (f"name: {'a' * 101}\n", ("name: 'aaaa", "should have at most 100 characters")),
    ("name: 5\n", ("name: 5: should be text. Quote it",)),
    ("name: null\n", ("name: null: should be text",)),
    ("name: x\nabout: [a]\n", ("about: ['a']: should be text",)),
    # Keys.
    ("name: x\nlaod: {}\n", ("laod: no such key. Did you mean `load`?",)),
    ("name: x\nzzz: 1\n", ("zzz: no such key. Known keys here: name, about, topic, cluster, load",)),
    ("name: x\nload: {sise: 10}\n", ("load.sise: no such key. Did you mean `size`?",)),
    ("name: x\nphases: {meassure: 10s}\n", ("phases.meassure: no such key. Did you mean `measure`?",)),
    ("name: x\n1: 2\n", ("1: a key must be text. Quote it",)),
    ("name: x\nload: {client: {1: 2}}\n", ("load.client.1: a key must be text. Quote it",)),
    # Parts.
    ("name: x\nload:\n", ("load: null: no value. Write `off`, or leave the key out",)),
    ("name: x\nconsume: null\n", ("consume: null: no value. Write `off`, or leave",)),
    ("name: x\nload: []\n", ("load: []: not a mapping. Write it as `load: {key: value}`",)),
    ("name: x\nload: on\n", ("load: true: not a mapping. Write it as `load: {key: value}`",)),
    ("name: x\ntopic: orders\n", ("topic: 'orders': not a mapping. Write it as `topic: {key: value}`",)),
    ("name: x\ntopic: null\n", ("topic: null: not a mapping.",)),
    ("name: x\nphases: [5s]\n", ("phases: ['5s']: not a mapping. Write it as `phases: {key: value}`",)),
    ("name: x\nload: off\nconsume: off\n",
     ("load, consume: both are off, so the run would do nothing", "Leave one of them on, or add connections")),
    # The topic.
    ("name: x\ntopic: {name: a/b}\n", ("topic.name: 'a/b': not in an allowed form", "letters, digits, `.`")),
    ("name: x\ntopic: {name: .}\n", ("topic.name: '.': Kafka refuses this topic name. Choose another name",)),
    ("name: x\ntopic: {name: ..}\n", ("topic.name: '..': Kafka refuses this topic name.",)),
    ("name: x\ntopic: {name: __consumer_offsets}\n",
     ("topic.name: '__consumer_offsets': an internal topic of Kafka. Choose",)),
    ("name: x\ntopic: {name: ''}\n", ("topic.name: '': should have at least 1 character",)),
    (f"name: x\ntopic: {{name: {'t' * 250}}}\n", ("topic.name: 'ttt", "should have at most 249 characters")),
    ("name: x\ntopic: {partitions: 0}\n", ("topic.partitions: 0: should be greater than or equal to 1",)),
    ("name: x\ntopic: {partitions: 10001}\n", ("topic.partitions: 10001: should be less than or equal to 10000",)),
    ("name: x\ntopic: {partitions: 1e9}\n", ("topic.partitions: '1e9': should be a whole number",)),
    ("name: x\ntopic: {replication: 8}\n", ("topic.replication: 8: an embedded cluster has at most 7 brokers. Write",)),
    ("name: x\ntopic: {replication: 3}\ncluster: {brokers: 2}\n",
     ("topic.replication: 3 replicas need 3 brokers; cluster.brokers is 2. Write 2 or less, or more brokers",)),
    ("name: x\ncluster: {brokers: 0}\n", ("cluster.brokers: 0: should be greater than or equal to 1",)),
    ("name: x\ncluster: {brokers: 5, controllers: 3}\n", (": 8 nodes. Write at most 7 brokers and",)),
    ("name: x\ncluster: {brokers: 3, racks: 4}\n", (": 4 racks for 3 brokers. Write at most one rack",)),
    ("name: x\ncluster: {heap: lots}\n", ("cluster.heap: 'lots': ",)),
    ("name: x\ncluster: {configs: {node.id: 7}}\n",
     ("cluster.configs: ", "node.id: the embedded cluster decides this itself. Leave it out",)),
    ("name: x\ncluster: {security: {protocol: TLS}}\n",
     ("cluster.security.protocol: 'TLS': should be 'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT' or 'SASL_SSL'",)),
    ("name: x\ncluster: {security: {protocol: SSL, mechanism: PLAIN}}\n",
     ("SSL has no mechanism. Leave mechanism out, or write protocol: SASL_SSL",)),
    ("name: x\ncluster: {configs: {ssl.keystore.location: /x}}\n",
     ("cluster.configs: ", "ssl.keystore.location: the embedded cluster decides this itself. Leave it out",)),
    ("name: x\nfaults: [{at: 1s, kind: burn, target: broker, for: 1s}]\n",
     ("faults.0.kind: 'burn': not a kind of fault. Write one of pause, kill, stop, restart, rolling-restart, cut",)),
    ("name: x\nfaults: [{at: 1s, kind: lose-data, target: broker}]\n", ("faults.0.for: is missing. Add it",)),
    ("name: x\nfaults: [{at: 1s, kind: lose-data, target: producer-0, for: 1s}]\n",
     ("faults.0.target: 'producer-0': not a broker. Write one of broker-1 (or another number), brokers",)),
    ("name: x\nfaults: [{at: 1s, kind: lose-data, target: broker-2, for: 1s}]\n",
     ("faults.0.target: broker-2: the run has 1. Name a target that the run has",)),
    ("name: x\nfaults: [{at: 1s, kind: lose-data, target: broker, for: 1s, bytes: 1KiB}]\n",
     ("faults.0: ", "lose-data has no bytes. Leave it out, or write kind: truncate-tail")),
    ("name: x\nfaults: [{at: 1s, kind: dir-full, target: broker, for: 1s}]\n",
     ("faults.0.kind: dir-full is done to one of several log directories, and brokers have one. Write `cluster:",)),
    ("name: x\ncluster: {data_dirs: 2}\nfaults: [{at: 1s, kind: dir-full, target: broker, for: 1s, directory: 3}]\n",
     ("faults.0.directory: 3: each broker has 2. Name one of them, or raise cluster.data_dirs",)),
    ("name: x\ncluster: {brokers: 3}\nfaults: [{at: 1s, kind: kill, target: broker-4, for: 1s}]\n",
     ("faults.0.target: broker-4: the run has 3. Name a target that the run has",)),
    ("name: x\ncluster: {brokers: 3}\nfaults: [{at: 1s, kind: kill, target: broker, for: 1s}]\n",
     ("faults.0.target: broker: the cluster has 3. Write broker-1 or another number, or brokers for all",)),
    ("name: x\ntopic: {reset: maybe}\n", ("topic.reset: 'maybe': should be true or false",)),
    ("name: x\ntopic: {configs: {retention.ms: [1]}}\n",
     ("topic.configs.retention.ms: [1]: not a scalar value. Write",)),
    # The load.
    ("name: x\nload: {rate: fast}\n", ("load.rate: 'fast': ", *NOT_A_RATE)),
    ("name: x\nload: {rate: 10 MB/s}\n", ("load.rate: '10 MB/s': ", *NOT_A_RATE)),
    ("name: x\nload: {rate: -5}\n", ("load.rate: -5: ", *NOT_A_RATE)),
    ("name: x\nload: {rate: .inf}\n", ("load.rate: inf: ", *NOT_A_RATE)),
    ("name: x\nload: {rate: .nan}\n", ("load.rate: nan: ", *NOT_A_RATE)),
    ("name: x\nload: {rate: null}\n", ("load.rate: null: ", *NOT_A_RATE)),
    ("name: x\nload: {rate: yes}\n", ("load.rate: true: ", *NOT_A_RATE)),
    ("name: x\nload: {rate: 2026-13-45}\n", ("load.rate: '2026-13-45': ", *NOT_A_RATE)),
    ("name: x\nload: {rate: 0}\n", ("load.rate: 0: a rate lies between 0.001/s", "Write `max` for as fast")),
    (f"name: x\nload: {{rate: '{DIGITS}'}}\n", ("load.rate: '999", "a rate lies between 0.001/s")),
    ("name: x\nload: {size: 10q}\n", ("load.size: '10q': ", *NOT_A_SIZE)),
    ("name: x\nload: {size: -1}\n", ("load.size: -1: ", *NOT_A_SIZE)),
    ("name: x\nload: {size: '1.5'}\n", ("load.size: '1.5': not a whole number of bytes. Write a size like",)),
    ("name: x\nload: {size: 200MiB}\n", ("load.size: '200MiB': more than 100MiB. Write a smaller size",)),
    (f"name: x\nload: {{size: '{DIGITS}GiB'}}\n", ("load.size: '999", "more than 100MiB. Write a smaller size")),
    ("name: x\nload: {size: 2MiB}\n",
     ("load.size: 2097152 bytes exceed the client's limit", "Write a smaller size")),
    ("name: x\nload: {producers: 0}\n", ("load.producers: 0: not a number of workers. Write 1 to 256, per-topic or",)),
    ("name: x\nload: {producers: 1.5}\n", ("load.producers: 1.5: not a number of workers.",)),
    ("name: x\nload: {producers: yes}\n", ("load.producers: true: not a number of workers.",)),
    ("name: x\nload: {producers: '2'}\n", ("load.producers: '2': not a number of workers.",)),
    ("name: x\nload: {payload: xml}\n", ("load.payload: 'xml': should be", "Write one of random, zeros, text, json")),
    ("name: x\nload: {stamp: value, size: 10}\n", ("load.stamp: a value of 10 bytes has no room", "`stamp: headers`")),
    ("name: x\nload: {client: null}\n", ("load.client: null: not a mapping. Write it as `client: {key: value}`",)),
    ("name: x\nload: {client: {lingr.ms: 5}}\n",
     ('load.client.lingr.ms: No such configuration property: "lingr.ms"', SEE)),
    ("name: x\nload: {client: {buffer.memory: 33554432}}\n",
     ("load.client.buffer.memory: is a setting of the Java client. Write `queue.buffering.max.kbytes` instead",)),
    ("name: x\nconsume: {client: {ssl.truststore.password: hunter2}}\n",
     ("consume.client.ssl.truststore.password: is a setting of the Java client. Leave it out",)),
    ("name: x\nload: {client: {linger.ms: soon}}\n", ("load.client.linger.ms: 'soon': Invalid value", SEE)),
    ("name: x\nload: {client: {linger.ms: .nan}}\n", ("load.client.linger.ms: nan: not a number. Write a finite",)),
    ("name: x\nload: {client: {linger.ms: null}}\n", ("load.client.linger.ms: null: not a scalar value. Write",)),
    ("name: x\nload: {client: {acks: 7}}\n", ("load.client.acks: 7: not a value of acks. Write 0, 1 or all",)),
    ("name: x\nload: {client: {client.id: me}}\n", ("load.client.client.id: is set by the run. Leave it out",)),
    ("name: x\nload: {client: {error_cb: me}}\n", ("load.client.error_cb: 'me': expected error_cb property", SEE)),
    ("name: x\nload: {client: {acks: 1, enable.idempotence: true}}\n",
     ("load.client: Failed to create", "`acks` must be")),
    # Who reads, how long, and the rest.
    ("name: x\nconsume: {consumers: -1}\n", ("consume.consumers: -1: not a number of workers. Write 1 to 256",)),
    ("name: x\nconsume: {start: middle}\n",
     ("consume.start: 'middle': not a start position", "Write auto, earliest, latest, or a time")),
    ("name: x\nconsume: {client: {fetch.min.bytes: -1}}\n",
     ("consume.client.fetch.min.bytes: -1: ", "outside allowed range")),
    ("name: x\nphases: {measure: -30}\n", ("phases.measure: -30: ", *NOT_A_DURATION)),
    ("name: x\nphases: {measure: 5d}\n", ("phases.measure: '5d': ", *NOT_A_DURATION)),
    ("name: x\nphases: {warmup: -1s}\n", ("phases.warmup: '-1s': ", *NOT_A_DURATION)),
    ("name: x\nphases: {measure: .nan}\n", ("phases.measure: nan: ", *NOT_A_DURATION)),
    ("name: x\nphases: {measure: 0s}\n", ("phases.measure: 0s leaves nothing to measure. Write a duration like 30s",)),
    ("name: x\nphases: {drain: 0s}\n", ("phases.drain: 0s leaves no time for messages to arrive.",)),
    ("name: x\nphases: {measure: 8760h}\n", ("phases.measure: '8760h': longer than 7 days. Write a shorter",)),
    ("name: x\nverify: 1/0\n", ("verify: '1/0': not in an allowed form", "`all`, `1/16` (every sixteenth), or `off`")),
    ("name: x\nverify: yes\n", ("verify: true: not a share. Write all, off, or a share like 1/16",)),
    ("name: x\nseed: -1\n", ("seed: -1: should be greater than or equal to 0",)),
    ("name: x\nseed: 1.5\n", ("seed: 1.5: should be a whole number",)),
    (f"name: x\nseed: {1 << 63}\n", ("seed: 9223372036854775808: should be less than 9223372036854775808",)),
    # What is judged.
    ("name: x\njudge_by: [throughputs]\n", ("judge_by.0: throughputs: the result has no `throughputs`. Did you",)),
    ("name: x\njudge_by: [delivery, latency.ack.response.p99]\n",
     ("judge_by.1: latency.ack.response.p99: latency.ack.response has no `p99`. Did you mean `p99_ms`?",)),
    ("name: x\njudge_by: [resources]\n", ("judge_by.0: resources: has no interval to judge by. Write one of",)),
    # What is expected.
    ("name: x\nexpect: [a]\n", ("expect: ['a']: not a mapping. Write it as `expect: {key: value}`",)),
    ("name: x\nexpect: {delivery.lost: =< 5}\n", ("expect.delivery.lost: '=< 5': not a bound. Write one of < <=",)),
    ("name: x\nexpect: {delivery.lost: <= few}\n", ("expect.delivery.lost: '<= few': not a bound.",)),
    ("name: x\nexpect: {delivery.lost: .nan}\n", ("expect.delivery.lost: nan: not a number. Write a finite",)),
    ("name: x\nexpect: {delivery: {lost: 0}}\n", ("expect.delivery: {'lost': 0}: not a scalar value. Write",)),
    ("name: x\nexpect: {delivery.lots: 0}\n", ("expect.delivery.lots: delivery has no `lots`. Did you mean `lost`?",)),
    ("name: x\nexpect: {delivery: 0}\n", ("expect.delivery: is not a scalar value. Known here: sent, acked",)),
    ("name: x\nexpect: {latency.ack.p99_ms: <= 5}\n", ("latency.ack has no `p99_ms`. Known here: response, service",)),
    ("name: x\nexpect: {latency.ack.response.p98_ms: 5}\n", ("has no `p98_ms`. Did you mean `p9",)),
    ("name: x\nexpect: {timeline.first.second: 0}\n",
     ("timeline has no `first`. Write the number of one of its items",)),
    ("name: x\nexpect: {delivery.lost.more: 0}\n", ("delivery.lost has no `more`. Leave out what comes after it",)),
    ("name: x\nexpect: {delivery.lost: none}\n", ("expect.delivery.lost: 'none': it is never that. It is a number",)),
    ("name: x\nexpect: {run.ending: done}\n", ("'done': it is never that. It is `failed` or `finished` or",)),
    ("name: x\nexpect: {'': 0}\n", ("expect.: the result has no ``. Known here: format, run",)),
    # Secrets.
    (f"name: x\nload: {{client: {{sasl.password: [{SECRET}]}}}}\n",
     ("load.client.sasl.password: ***: not a scalar value",)),
    (f"name: x\nload: {{client: {{sasl.pasword: {SECRET}}}}}\n", ("load.client.sasl.pasword: No such configuration",)),
    (f"name: x\nload: {{client: {{pasword: {SECRET}}}}}\n", ("load.client.pasword: No such configuration property",)),
    (f"name: x\nload: {{client: 'sasl.password={SECRET}'}}\n", ("load.client: ***: not a mapping",)),
    (f"name: x\nload: {{client: {{sasl.oauthbearer.method: {SECRET}}}}}\n",
     ("load.client.sasl.oauthbearer.method: ***",)),
    (f"name: x\nload: ['sasl.password={SECRET}']\n", ("load: ***: not a mapping",)),
]  # fmt: skip


def _title(value: object) -> str | None:
    return None if isinstance(value, tuple) else ascii(value)[1:60]


@pytest.mark.parametrize(("content", "fragments"), FILES, ids=_title)
@pytest.mark.slow
def test_a_wrong_scenario(call: Call, content: str | bytes, fragments: tuple[str, ...]) -> None:
    Path("mine.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())

    message = refused(call, "run", "mine.yaml", "--out", "out")

    holds(message, fragments)
    assert refused(call, "run", "mine.yaml", "--out", "out", "--dry-run") == message
    if "an embedded cluster has at most" not in message:
        assert refused(call, "scenarios", "mine.yaml") == message


@pytest.mark.parametrize("bomb", [BOMB, MERGES], ids=["lists", "merges"])
def test_aliases_that_multiply_are_told_in_a_few_words(call: Call, bomb: str) -> None:
    """A few hundred bytes that stand for gigabytes."""
    Path("mine.yaml").write_text(f"{bomb}name: *i\n")

    holds(refused(call, "run", "mine.yaml", faults=10), ("name: ", "should be text", "b: no such key"))


SETTINGS: list[tuple[str, tuple[str, ...]]] = [
    ("load.rate", ("--set load.rate: not of the form path=value. Write e.g. --set load.rate=20k/s",)),
    ("", ("--set : not of the form path=value. Write e.g.",)),
    ("=5", ("--set =5: not of the form path=value. Write e.g.",)),
    (" =5", ("not of the form path=value. Write e.g.",)),
    ("load..rate=5", ("--set load..rate=5: the path has an empty part. Write e.g.",)),
    (".rate=5", ("--set .rate=5: the path has an empty part.",)),
    ("load.client.=5", ("--set load.client.=5: the path has an empty part.",)),
    ("load.rate.x=1", ("--set load.rate.x=1: load.rate is a single value. Set load.rate instead",)),
    ("load.client.acks", ("not of the form path=value",)),
    ("laod.rate=1", ("laod: no such key. Did you mean `load`?",)),
    ("load.spede=1", ("load.spede: no such key. Known keys here: rate, producers",)),
    ("load.rate=", ("load.rate: null: ", *NOT_A_RATE)),
    ("load.rate=[1", ("--set load.rate=[1: the value is not valid YAML: expected ',' or ']'", "Quote it")),
    ("load.rate=\x1b[31m", ("--set load.rate=?[31m: the value is not valid YAML", "Quote it")),
    ("load.rate=!!python/object:os.system x", ("the tag !!python/object:os.system is not supported. Quote it",)),
    (f"load.rate={DIGITS}", ("--set load.rate=999", "a number of 5000 digits. Quote it")),
    ("load={rate: 1, rate: 2}", ("the value is not valid YAML: `rate` is already defined",)),
    ("load=5", ("load: 5: not a mapping. Write it as `load: {key: value}`",)),
    ("phases=", ("phases: null: not a mapping.",)),
    ("phases.start_at=2026-01-01T00:00:00Z", ("phases.start_at: 2026-01-01T00:00:00Z has passed; broker and workers",)),
    ("name=a/b", ("name: 'a/b': ", *ALLOWED_NAME)),
    ("consume.client.group.id=g", ("consume.client.group.id: is set by the run. Leave it out",)),
    ("load.client.a.b.c=1", ('load.client.a.b.c: No such configuration property: "a.b.c"',)),
    ("expect.delivery.lots=0", ("expect.delivery.lots: delivery has no `lots`. Did you mean `lost`?",)),
    ("expect.delivery.lost=<= few", ("expect.delivery.lost: '<= few': not a bound. Write one of",)),
    (f"load.client.sasl.password=[{SECRET}]", ("load.client.sasl.password: ***: not a scalar value.",)),
    (f"load.client.sasl.password={{{SECRET}", ("--set load.client.sasl.password=***: the value is not valid YAML",)),
    (f"load.client.sasl.password {SECRET}", ("--set load.client.sasl.password ***: not of the form path=value",)),
    (f"load.client={{sasl.password: {SECRET}, a: [1]}}", ("load.client.a: [1]: not a scalar value",)),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "fragments"), SETTINGS, ids=_title)
def test_a_wrong_setting(call: Call, setting: str, fragments: tuple[str, ...]) -> None:
    holds(refused(call, "run", "baseline", "--out", "out", "--set", setting), fragments)


ADDRESS: Final = "Write HOST:PORT, like localhost:9092, and commas between several"
CALLS: list[tuple[list[str], tuple[str, ...]]] = [
    # Which scenario.
    (["run", "basline"], ("basline: no scenario of this name. Did you mean `baseline`?",)),
    (["run", "nothing-like-it"],
     ("nothing-like-it: no scenario", "List the shipped ones with `streamgauge scenarios`", "or name a YAML file")),
    (["run", ""], ("SCENARIO: no scenario of this name. List the shipped ones",)),
    (["run", "\x1b[31mred"], ("?[31mred: no scenario of this name",)),
    (["run", "x" * 5000], ("xxx...: no scenario of this name",)),
    (["run", "x" * 5000 + ".yaml"], ("cannot be read: File name too long. Name a readable YAML file",)),
    (["run", "nowhere.yaml"], ("nowhere.yaml: cannot be read: No such file or directory. Name a readable",)),
    (["run", "folder"], ("folder: cannot be read: Is a directory. Name a readable YAML file",)),
    (["run", "dangling"], ("dangling: cannot be read: No such file or directory. Name a readable",)),
    (["run", "loop.yaml"], ("loop.yaml: cannot be read: Too many levels of symbolic links",)),
    (["scenarios", "basline"], ("basline: no scenario of this name. Did you mean `baseline`?",)),
    (["scenarios", "folder"], ("folder: cannot be read: Is a directory.",)),
    (["scenarios", "baseline", "--set", "load.rate"], ("--set load.rate: not of the form path=value",)),
    (["scenarios", "baseline", "--set", "phases.measure=soon"], ("phases.measure: 'soon': ", *NOT_A_DURATION)),
    (["scenarios", "--set", "load.rate=5"], ("--set: needs a NAME. Use: streamgauge scenarios",)),
    # Which cluster.
    (["run", "baseline", "--bootstrap", ""], ("--bootstrap: '': no address.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "localhost"], ("--bootstrap: 'localhost': the port is missing.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "localhost:"], ("--bootstrap: 'localhost:': not an address.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "localhost:kafka"], ("'localhost:kafka': not an address.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "localhost:99999"], ("ports lie between 1 and 65535.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "localhost:0"], ("ports lie between 1 and 65535.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "local host:9092"], ("'local host:9092': not an address.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "a:9092 b:9092"], ("'a:9092 b:9092': not an address.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "a:9092;b:9092"], ("'a:9092;b:9092': not an address.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "a:9092,,b:9092"], ("an empty address between commas.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "a:9092,b"], ("'a:9092,b': the port is missing.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "::1"], ("'::1': not an address.", ADDRESS)),
    (["run", "baseline", "--bootstrap", "http://h:9092"],
     ("an address cannot contain a protocol. Write HOST:PORT, and `security",)),
    (["run", "baseline", "--bootstrap", "h\x1b[2J:9092"], ("'h\\x1b[2J:9092': not an address.",)),
    (["run", "baseline", "--keep-broker", "--bootstrap", "h:1"],
     ("--keep-broker: cannot be combined with --bootstrap. Leave",)),
    (["run", "baseline", "--client-config", "nowhere"],
     ("--client-config nowhere: cannot be read: No such file", "Name a")),
    (["run", "baseline", "--client-config", "folder"], ("--client-config folder: cannot be read: Is a directory.",)),
    (["run", "baseline", "--client-config", "dangling"], ("--client-config dangling: cannot be read: No such file",)),
    # Where to.
    (["run", "baseline", "--out", "file"], ("--out file: cannot be written: Not a directory. Name another folder",)),
    (["run", "baseline", "--out", "file/below"], ("--out file/below: cannot be written: Not a directory.",)),
    (["run", "baseline", "--out", "dangling"], ("--out dangling: cannot be written: a broken link.",)),
    (["run", "baseline", "--out", "loop.yaml/x"], ("--out loop.yaml/x: cannot be written: a broken link",)),
    (["run", "baseline", "--out", "x" * 300], ("cannot be written: File name too long. Name another folder",)),
    # Brokers.
    (["broker", "start", "--heap", "lots"], ("--heap: 'lots' is not a heap size of Java. Write one like `512m`",)),
    (["broker", "start", "--name", "a/b"], ("--name: 'a/b' is not a name. Use letters, digits",)),
    (
        ["broker", "start", "--set", "load.rate=5"],
        ("--set load.rate=5: not a setting of a cluster. Write one of the section", "`cluster.controllers=3`"),
    ),
    (["broker", "start", "--brokers", "2", "--set", "cluster.racks=3"], ("3 racks for 2 brokers. Write at",)),
    (["broker", "start", "--set", "cluster.configs={log.dirs: /x}"], ("log.dirs: the embedded cluster decides",)),
    (["broker", "stop", "nobody"], ("NAME: no broker nobody is running. Running: none",)),
    (["broker", "stop", "nobody", "--all"], ("NAME: cannot be combined with --all. Leave one of them",)),
    # Runs.
    (["runs", "nowhere"], ("DIR nowhere: there is no such folder. Name the folder with the runs",)),
    (["runs", "file"], ("DIR file: cannot be read: Not a directory.",)),
    (["runs", "dangling"], ("DIR dangling: there is no such folder.",)),
    (["runs", "x" * 300], ("cannot be read: File name too long. Name the folder",)),
    *[
        ([command, where],
         (f"{shown}: not a run folder: it has no ", "run.json. Name a folder made by `streamgauge run`"))
        for command in ("analyse", "report")
        for where, shown in (("nowhere", "nowhere"), ("file", "file"), ("folder", "folder"), ("dangling", "dangling"),
                             ("", "."), ("x" * 300, "x" * 300))
    ],
    (["analyse", "healthy", "--master", "spark"], ("--master: 'spark' is not a Spark master. Write",)),
    (["analyse", "healthy", "--master", "spark://host"], ("--master: 'spark://host' is not a Spark", "local[4]")),
    (["analyse", "healthy", "--master", "local[x]"], ("--master: 'local[x]' is not a Spark",)),
    (["analyse", "healthy", "--master", "local[0]"], ("--master: 'local[0]' is not a Spark",)),
    (["analyse", "healthy", "--master", ""], ("--master: '' is not a Spark master",)),
    (["run", "baseline", "--metrics-names", "kmq"], ("--metrics-names kmq: no tool whose", "streamgauge, mqperf")),
]  # fmt: skip


def _arguments(value: object) -> str | None:
    return ascii(" ".join(map(str, value)))[1:60] if isinstance(value, list) else None


@pytest.fixture
def ground(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What calls stumble over. No broker is running, also where the broker of the tests is."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    (tmp_path / "file").write_text("no scenario and no run\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "healthy").mkdir()
    (tmp_path / "healthy" / "run.json").write_text(json.dumps(FACTS))
    return tmp_path


@pytest.mark.parametrize(("arguments", "fragments"), CALLS, ids=_arguments)
@pytest.mark.slow
def test_a_wrong_call(call: Call, ground: Path, arguments: list[str], fragments: tuple[str, ...]) -> None:
    holds(refused(call, *arguments), fragments)


USAGE: list[tuple[list[str], str]] = [
    (["run"], "Missing argument 'SCENARIO'"),
    (["run", "baseline", "saturate"], "Got unexpected extra argument(s) (saturate)"),
    (["run", "baseline", "--sett", "x=1"], "No such option: --sett"),
    (["run", "baseline", "--out"], "Option '--out' requires an argument"),
    (["run", "baseline", "--json=5"], "Option '--json' does not take a value"),
    (["nonsense"], "No such command 'nonsense'"),
    (["anlyse", "x"], "No such command 'anlyse'. Did you mean 'analyse'"),
    (["analyze"], "Missing argument 'RUN'"),
    (["--nonsense"], "No such option: --nonsense"),
    (["broker", "restart"], "No such command 'restart'. Did you mean"),
    (["broker", "start", "--data", "file"], "Invalid value for '--data': dir 'file' is a file"),
    (["analyse"], "Missing argument 'RUN'"),
    (["report", "a", "b"], "Got unexpected extra argument(s) (b)"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "expected"), USAGE, ids=_arguments)
def test_wrong_words_on_the_command_line(call: Call, ground: Path, arguments: list[str], expected: str) -> None:
    """In the words of the library that reads them, with where help is."""
    said = refused(call, *arguments)

    assert said.startswith("error: streamgauge")
    assert expected in said
    assert "Did you mean" in said or said.endswith(" -h`\n")


CLUSTER: Final = "bootstrap.servers=h:9092\n"
CONFIGS: list[tuple[str | bytes, tuple[str, ...]]] = [
    ("", ("--client-config c: names no cluster. Use --bootstrap HOST:PORT, or write bootstrap.servers into the file",)),
    ("client.rack=a\n", ("--client-config c: names no cluster. Use --bootstrap HOST:PORT",)),
    ("bootstrap.servers=\n", ("--client-config c: names no cluster.",)),
    ("bootstrap.servers=h\n", ("c: bootstrap.servers: 'h': the port is missing.", ADDRESS)),
    ("bootstrap.servers=h:1:2\n", ("c: bootstrap.servers: 'h:1:2': not an address.", ADDRESS)),
    (b"\xff\xfe\x00", ("--client-config c: cannot be read: it is not UTF-8 text. Name a properties file",)),
    (f"{CLUSTER}linger.ms\n", ("c:2: is not a setting. Write it as name=value",)),
    (f"{CLUSTER}=5\n", ("c:2: is not a setting. Write it as name=value",)),
    (f"{CLUSTER}lingr.ms=5\n", ('c:2: No such configuration property: "lingr.ms"', SEE)),
    (f"{CLUSTER}linger.ms=soon\n", ("c:2: linger.ms: Invalid value", SEE)),
    (f"{CLUSTER}security.protocol=FOO\n", ('c:2: Invalid value "FOO" for configuration property "security.protocol"',)),
    (f"{CLUSTER}client.rack=a\nclient.rack=b\n", ("c:3: client.rack is already set in line 2. Keep one of them",)),
    (f"{CLUSTER}group.id=g\n", ("c:2: group.id is set by the run. Leave it out: use consume.group",)),
    (f"{CLUSTER}error_cb=f\n", ("c:2: expected error_cb property as a callable function", SEE)),
    (f"{CLUSTER}ssl.truststore.location=/x\n",
     ("c:2: ssl.truststore.location is a setting of the Java client. Write",)),
    (f"{CLUSTER}ssl.ca.location=/nowhere/ca.pem\n", ("c:2: ssl.ca.location names a file that does not exist. Use",)),
    (f"{CLUSTER}enable.idempotence=true\n", ("c:2: enable.idempotence is a setting of producers, not of a cluster.",)),
    (f"{CLUSTER}security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n", ("sasl.username and sasl.password must be set",)),
    # Secrets.
    (f"{CLUSTER}sasl.password={SECRET}\nlingr.ms=5\n", ('c:3: No such configuration property: "lingr.ms"',)),
    (f"{CLUSTER}sasl.password {SECRET}\n", ("c:2: is not a setting. Write it as name=value",)),
    (f"{CLUSTER}={SECRET}\n", ("c:2: is not a setting.",)),
    (f"{CLUSTER}sasl.pasword={SECRET}\n", ('c:2: No such configuration property: "sasl.pasword"',)),
    (f"{CLUSTER}sasl.jaas.config=Plain password={SECRET};\n",
     ("c:2: sasl.jaas.config is a setting of the Java", "Write")),
    (f"{CLUSTER}sasl.oauthbearer.method={SECRET}\n", ('c:2: Invalid value *** for', '"sasl.oauthbearer.method"')),
    (f"{CLUSTER}security.protocol=SSL\nssl.key.pem={SECRET}\n",
     ("--client-config c: Failed to create", "ssl.key.pem failed")),
    (f"sasl.password={SECRET}\nbootstrap.servers=h\n", ("c: bootstrap.servers: 'h': the port is missing",)),
]  # fmt: skip


@pytest.mark.parametrize(("content", "fragments"), CONFIGS, ids=_title)
@pytest.mark.slow
def test_a_wrong_client_config(call: Call, content: str | bytes, fragments: tuple[str, ...]) -> None:
    Path("c").write_bytes(content if isinstance(content, bytes) else content.encode())

    holds(refused(call, "run", "baseline", "--out", "out", "--client-config", "c"), fragments)


RESTORE: Final = "Restore the file; the events are not affected"
NOT_FACTS: Final = "run: run.json has unexpected content: "
RUN_JSON: list[tuple[str | bytes, tuple[str, ...]]] = [
    ("", (f"{NOT_FACTS}it is empty. ", RESTORE)),
    ("not json", (f"{NOT_FACTS}it is not JSON. ", RESTORE)),
    (json.dumps(FACTS)[:-20], (f"{NOT_FACTS}it is not JSON. ", RESTORE)),
    (b"\xff\xfe\x00", (f"{NOT_FACTS}it is not JSON. ", RESTORE)),
    ("[" * 100_000, (f"{NOT_FACTS}it is not JSON. ", RESTORE)),
    ("[]", (f"{NOT_FACTS}it is not an object. ", RESTORE)),
    ("null", (f"{NOT_FACTS}it is not an object. ", RESTORE)),
    ("{}", (f"{NOT_FACTS}id: Field required, name: Field required", "(and 10 more)", RESTORE)),
    (json.dumps(FACTS | {"phases": 5}), (f"{NOT_FACTS}phases: Input should be a valid list. ", RESTORE)),
    (json.dumps(FACTS | {"format": 99}), ("run: format 99 is newer than this version reads (2). Use a newer version",)),
    ('{"format": 99}', ("run: format 99 is newer than this version reads (2). Use a newer version of streamgauge",)),
]  # fmt: skip


@pytest.mark.parametrize(("content", "fragments"), RUN_JSON, ids=_title)
def test_a_run_folder_that_cannot_be_analysed(call: Call, content: str | bytes, fragments: tuple[str, ...]) -> None:
    Path("run").mkdir()
    Path("run", "run.json").write_bytes(content if isinstance(content, bytes) else content.encode())

    holds(refused(call, "analyse", "run"), fragments)
    assert "run: this run has not been analysed. Use: streamgauge analyse run" in refused(call, "report", "run")


TOGETHER: list[tuple[str, list[str], list[str]]] = [
    (
        "name: A B\nload: {rate: x, size: y, spede: 1}\nphases: {measure: z}\nfase: {}\n",
        [],
        ["name: 'A B'", "load.rate: 'x'", "load.size: 'y'", "load.spede: no", "phases.measure: 'z'",
         "fase: no such key"],
    ),
    (
        # Faults of a field, between fields, of the client, of an expectation.
        "name: x\nload: {rate: x, client: {lingr.ms: 1, acks: 7}}\nphases: {drain: 0s}\nexpect: {delivery.lots: 0}\n",
        [],
        ["load.rate: 'x'", "phases.drain: 0s leaves", "load.client.acks: 7", "load.client.lingr.ms: No",
         "expect.delivery.lots"],
    ),
    (
        "name: x\nname: y\nload: {rate: 1, rate: 2}\n",
        [],
        ["mine.yaml:2:1: not YAML: `name`", "mine.yaml:3:17: not YAML: `rate`"],
    ),
    (
        "name: x\ntopic: {partitions: 0}\n",
        ["--set", "a", "--set", "b=[", "--set", "load.rate=x"],
        ["--set a: not of the form", "--set b=[: the value", "topic.partitions: 0", "load.rate: 'x'"],
    ),
    (
        "name: x\nseed: x\nload: {client: {acks: all, enable.idempotence: true}}\n",
        ["--bootstrap", "h", "--client-config", "nowhere", "--out", "mine.yaml", "--keep-broker"],
        ["seed: 'x'", "--client-config nowhere: cannot", "--bootstrap: 'h'", "--keep-broker: cannot",
         "--out mine.yaml: cannot"],
    ),
    (
        "- no mapping\n",
        ["--set", "a", "--bootstrap", "h"],
        ["mine.yaml: not a mapping", "--set a: not of the form", "--bootstrap: 'h'"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("content", "options", "begins"), TOGETHER)
def test_all_faults_are_told_at_once(call: Call, content: str, options: list[str], begins: list[str]) -> None:
    """Nobody has to call five times."""
    Path("mine.yaml").write_text(content)

    lines = refused(call, "run", "mine.yaml", *options, faults=len(begins)).splitlines()

    for begin in begins:
        assert [line for line in lines if line.startswith(f"error: {begin}")], (begin, lines)


def test_what_shows_a_result_is_refused_where_a_run_is_only_recorded(call: Call) -> None:
    shows = ["--json", "--figures", "--percentiles", "p50"]
    said = refused(call, "run", "baseline", "--record-only", *shows, faults=3)
    holds(said, ("--json: cannot be combined with --record-only", "--figures:", "--percentiles:", "Ask for it when"))


def test_options_that_are_keys_of_a_scenario_name_the_setting(call: Call) -> None:
    """As other benchmarks have them; all at once, and what they would change is not started."""
    message = refused(call, "run", "baseline", "--rate", "20k/s", "--duration=30s", "-acks", "all", faults=3)

    assert message.splitlines() == [
        "error: --rate: no such option. Use --set load.rate=20k/s",
        "error: --duration: no such option. Use --set phases.measure=30s",
        "error: -acks: no such option. Use --set load.client.acks=all",
    ]


def test_a_secret_that_is_no_option_is_not_repeated(call: Call) -> None:
    assert "--set 'load.payload=***'" in refused(call, "run", "baseline", "--payload", f"password={SECRET}")


def test_all_that_an_analysis_lacks_is_told_at_once(call: Call, ground: Path) -> None:
    lines = refused(call, "analyse", "folder", "--master", "here", faults=2).splitlines()

    assert "folder: not a run folder" in lines[0]
    assert "--master: 'here'" in lines[1]


@pytest.mark.parametrize("name", ["", "tables", "logs", "logs/spark.log"])
def test_a_run_that_cannot_be_written_is_not_analysed(call: Call, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = Path("finished") / name
    (path.parent if name.endswith(".log") else path).mkdir(parents=True)
    if name.endswith(".log"):
        path.touch()
    Path("finished", "run.json").write_text(json.dumps(FACTS))
    # Who runs the tests may be allowed to write anything, unless the disk is read-only.
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda place, rights: not (place == path and rights & os.W_OK) and access(place, rights)
    )

    message = refused(call, "analyse", "finished")

    assert message.startswith(f"error: {path}: cannot be written, and an analysis writes")
    assert "analyse a copy of the run" in message


@pytest.mark.parametrize("arguments", [["run", "baseline"], ["analyse", "finished"]])
def test_a_temporary_folder_that_spark_cannot_use(
    call: Call, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    Path("finished").mkdir()
    Path("finished", "run.json").write_text(json.dumps(FACTS))
    monkeypatch.setattr(tempfile, "tempdir", "/tmp/a,b")

    message = refused(call, *arguments)

    assert message.startswith("error: temporary folder /tmp/a,b: Spark does not support commas in this path. ")


def test_the_table_is_large() -> None:
    """And what is right is not refused, or all of this would prove nothing."""
    assert len(FILES) + len(SETTINGS) + len(CALLS) + len(USAGE) + len(CONFIGS) + len(RUN_JSON) > 250


RIGHT: list[list[str]] = [
    ["run", "baseline"],
    ["run", "baseline", "--bootstrap", "localhost:9092"],
    ["run", "baseline", "--bootstrap", "[::1]:9092, kafka-1.example:9093"],
    ["run", "baseline", "--set", "topic.replication=3", "--bootstrap", "h:1"],
    ["run", "baseline", "--client-config", "right", "--out", "a/b/c"],
    ["run", "mine.yaml"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", RIGHT, ids=_arguments)
def test_what_is_right_is_taken(call: Call, arguments: list[str]) -> None:
    """It gets as far as to be started."""
    Path("right").write_text("bootstrap.servers=h:9092\nsasl.password=hunter2\n")
    Path("mine.yaml").write_text(
        "name: 2026-01-01\nload: &l {client: &c {linger.ms: 1}}\nconsume: {client: {<<: {fetch.min.bytes: 2}}}\n"
        "expect: {latency.ack.response.p99_9_hi_ms: <= 20, run.scenario.load.rate: 10k/s, timeline.0.errors: 0}\n"
    )

    with pytest.raises(AssertionError, match="something was started"):
        call(*arguments)


@pytest.mark.parametrize("arguments", [arguments for arguments in RIGHT if "right" not in arguments], ids=_arguments)
def test_a_dry_run_tells_what_a_run_would_do_and_does_nothing(call: Call, arguments: list[str]) -> None:
    """It ends with 0; what it prints is a scenario file, with the rest in comments."""
    Path("mine.yaml").write_text("name: x\nload: {rate: 5k/s}\n")
    before = sorted(Path().rglob("*"))

    said = call(*arguments, "--dry-run")

    assert (said.code, said.err, sorted(Path().rglob("*"))) == (0, "", before)
    where = arguments[arguments.index("--bootstrap") + 1].split(",")[0] if "--bootstrap" in arguments else "embedded"
    holds(
        said.out, (where, "of load, at most 30 s of drain", "# Messages: about ", "# Bytes written below runs: at most")
    )
    Path("again.yaml").write_text(said.out)
    assert yaml.safe_load(said.out) == yaml.safe_load(call("scenarios", "again.yaml").out)


def test_a_dry_run_as_json(call: Call) -> None:
    told = json.loads(call("run", "baseline", "--set", "phases.measure.messages=1M", "--dry-run", "--json").out)

    assert told["runs_on"] == "an embedded broker (Java 17.0.1)"
    assert (told["load_seconds"], told["messages"], told["notes"]) == (105, 1_050_000, [])
    assert told["scenario"]["phases"]["measure"] == {"messages": 1_000_000, "at_most": "10m"}


@pytest.mark.parametrize(
    ("rate", "messages"),
    [
        ("RAMP_10_1k_10k_6s", "about 333,000"),
        ("{replay: {file: arrivals.txt, scale: 2}}", "about 3"),
        ("max", "as many as the clients accept"),
        ("closed", "as many as the clients accept"),
    ],
)
def test_a_dry_run_tells_how_many_messages_a_schedule_has(call: Call, rate: str, messages: str) -> None:
    """Of a replay those that are due before the load ends, twice as fast here: the last one is not."""
    Path("arrivals.txt").write_text("0.5\n0.75\n119\n121\n")
    asked = ("--set", f"load.rate={rate}", "--set", "phases.warmup=3s", "--set", "phases.measure=60s")

    said = call("run", "baseline", *asked, "--dry-run").out.splitlines()

    assert f"# Messages: {messages}." in said
    assert ("# Bytes written below runs: unknown." in said) == (rate in {"max", "closed"})


def test_a_dry_run_tells_the_faults_one_by_one(call: Call) -> None:
    """Those of a nemesis as they will be drawn."""
    nemesis = "{kind: nemesis, at: 2s, pace: 4s, kinds: [kill, move-leader]}"
    waits = '{kind: pause, when: {lag: "> 5k"}, every: 9s, target: consumer-0, for: 1s}'
    asked = ("--set", "topic.replication=3", "--set", f"faults=[{nemesis}, {waits}]")
    lines = [line for line in call("run", "baseline", *asked, "--dry-run").out.splitlines() if "# Fault: " in line]

    assert lines[0] == "# Fault: at 0s when lag > 5000 every 9s, pause of consumer-0 for 1s"
    assert len(lines) > 3
    assert all("kill of random-broker for" in line or "move-leader of partitions" in line for line in lines[1:])
    told = json.loads(call("run", "baseline", *asked, "--dry-run", "--json").out)
    assert [f"# Fault: {each}" for each in told["faults"]] == lines


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["--bootstrap", "nowhere:9"], "faults.0.target: is done to the cluster"),
        (["--keep-broker"], "--keep-broker: the scenario has faults of its cluster"),
        (["--out", "a,b"], "Kafka does not support commas in data paths"),
        (["--metrics-names", "foo"], "--metrics-names foo: no tool whose names metrics can have"),
    ],
)
def test_a_dry_run_refuses_what_a_run_refuses(call: Call, arguments: list[str], wrong: str) -> None:
    command = ["run", "baseline", "--set", "faults=[{kind: kill, target: broker, at: 1s, for: 1s}]", *arguments]

    message = refused(call, *command)

    holds(message, (wrong,))
    assert refused(call, *command, "--dry-run") == message


def test_a_dry_run_tells_of_a_cluster(call: Call) -> None:
    replicated = ("--set", "topic.replication=3", "--set", "cluster.controllers=1")
    told = json.loads(call("run", "baseline", *replicated, "--dry-run", "--json").out)

    assert told["runs_on"] == "an embedded cluster of 4 nodes (Java 17.0.1)"

    told = json.loads(call("run", "baseline", "--set", "cluster.security.protocol=SSL", "--dry-run", "--json").out)

    assert told["runs_on"] == "an embedded broker with SSL (Java 17.0.1)"


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run that was analysed, to be copied."""
    folder = changed(tmp_path_factory.mktemp("healthy") / "run")
    write_result(folder)
    return folder


@pytest.fixture
def analysed(healthy: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run that was analysed, to be damaged."""
    monkeypatch.setattr(html, "bundle", lambda: "/* bundle */")
    return RunFolder(shutil.copytree(healthy.root, tmp_path / "run"))


def _cut(name: str) -> Callable[[RunFolder], object]:
    return lambda folder: os.truncate(folder.table(name), folder.table(name).stat().st_size // 2)


def _foreign(name: str) -> Callable[[RunFolder], object]:
    return lambda folder: pq.write_table(pa.table({"x": [1]}), folder.table(name))


def _strange_events(folder: RunFolder) -> None:
    for kind, name in (("strange", "part-0.parquet"), ("sent", "_open-0"), ("received", "part-0.parquet")):
        place = folder.events / kind / "worker=x"
        place.mkdir(parents=True)
        (place / name).write_bytes(b"PAR1")


def _as_folder(folder: RunFolder) -> None:
    folder.table("gc").unlink()
    folder.table("gc").mkdir()


def _facts(**changes: object) -> Callable[[RunFolder], object]:
    return lambda folder: folder.facts.write_text(json.dumps(FACTS | changes))


AS_WRITTEN: Final = "showing the existing result.json"
DAMAGED: list[tuple[str, Callable[[RunFolder], object], tuple[str, ...]]] = [
    ("a figure's table cut off", _cut("heat"), ("heat.parquet cannot be read", "analyse the run again")),
    ("a table of the result cut off", _cut("latency"), ("latency.parquet cannot be read", AS_WRITTEN)),
    ("an empty table", lambda folder: folder.table("delivery").write_bytes(b""),
     ("delivery.parquet cannot", AS_WRITTEN)),
    ("a folder for a table", _as_folder, ("gc.parquet cannot be read", AS_WRITTEN)),
    ("a table of another shape", _foreign("latency"),
     ("latency.parquet cannot be read: it has no column `metric`", AS_WRITTEN)),
    ("a verdict of another shape", _foreign("verdict"),
     ("verdict.parquet cannot be read: it has no column", AS_WRITTEN)),
    ("no tables", lambda folder: shutil.rmtree(folder.tables), ()),
    ("no verdict", lambda folder: folder.table("verdict").unlink(), ()),
    ("no run.json", lambda folder: folder.facts.unlink(), ()),
    ("run.json cut off", lambda folder: os.truncate(folder.facts, 100),
     ("run.json has unexpected content", AS_WRITTEN)),
    ("run.json of another shape", _facts(phases=5), ("phases: Input should be a valid list", AS_WRITTEN)),
    ("run.json of a later format", _facts(format=99), ("format 99 is newer than this version reads", AS_WRITTEN)),
    ("events of an unknown kind, cut off, left open", _strange_events, ()),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "told"), [pytest.param(*each[1:], id=each[0]) for each in DAMAGED])
@pytest.mark.slow
def test_a_report_of_what_is_damaged_shows_what_is_there(
    call: Call, analysed: RunFolder, damage: Callable[[RunFolder], object], told: tuple[str, ...]
) -> None:
    """And says what is not; the result on disk is never made worse."""
    before = json.loads(analysed.result.read_text())
    damage(analysed)

    said = call("report", "run")

    assert said.code == 0, said
    assert "Traceback" not in said.err
    holds(said.err, told)
    holds(said.out, ("baseline, finished", "sent 10,000/s", "Delivery", "120,000"))
    assert {"report.html", "summary.md"} <= {path.name for path in analysed.root.iterdir()}
    assert json.loads(analysed.result.read_text())["latency"] == before["latency"]


@pytest.mark.parametrize("many", ["experiment", "search"])
def test_a_report_of_many_runs_is_written_by_what_carries_them_out(call: Call, tmp_path: Path, many: str) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / f"{many}.json").write_text("{}")
    (folder / "result.json").write_text("{}")

    said = call("report", str(folder))

    assert said.code == 2
    holds(said.err, (f"the folder of a whole {many}", f"streamgauge {many} --resume {folder}"))


def _result(**changes: object) -> Callable[[RunFolder], object]:
    return lambda folder: folder.result.write_text(json.dumps(json.loads(folder.result.read_text()) | changes))


AGAIN: Final = "Analyse the run again"
RESULTS: list[tuple[Callable[[RunFolder], object], tuple[str, ...]]] = [
    (lambda folder: folder.result.write_text(""), ("result.json: cannot be read: ", AGAIN)),
    (lambda folder: os.truncate(folder.result, 500), ("result.json: cannot be read: ", AGAIN)),
    (lambda folder: folder.result.write_bytes(b"\xff\xfe\x00"), ("result.json: cannot be read: ", AGAIN)),
    (lambda folder: folder.result.write_text("[" * 100_000), ("result.json: cannot be read: ", AGAIN)),
    (lambda folder: folder.result.write_text("[]"), ("is not a result of streamgauge: it is not object", AGAIN)),
    (_result(run={}), ("is not a result of streamgauge: run has no `id`", AGAIN)),
    (_result(delivery={"sent": 1}), ("is not a result of streamgauge: delivery has no `", AGAIN)),
    (_result(timeline=[{}]), ("is not a result of streamgauge: timeline.0 has no `second`", AGAIN)),
    (_result(latency={"ack": 5}), ("is not a result of streamgauge: latency has no `end_to_end`", AGAIN)),
    (_result(expectations=[5]), ("is not a result of streamgauge: expectations.0 is not object", AGAIN)),
    (_result(verdict={"valid": "yes", "checks": []}), ("verdict.valid is not boolean", AGAIN)),
    (_result(format=3), ("format 3 is newer than this version reads (2). Use a newer version",)),
    (_result(format="1"), ("is not a result of streamgauge: format is not 2", AGAIN)),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "fragments"), RESULTS)
def test_a_result_that_cannot_be_shown(
    call: Call, analysed: RunFolder, damage: Callable[[RunFolder], object], fragments: tuple[str, ...]
) -> None:
    """Where there is nothing else to show."""
    shutil.rmtree(analysed.tables)
    damage(analysed)

    holds(refused(call, "report", "run"), ("run/result.json: ", *fragments))


@pytest.mark.parametrize(
    "damage", [_cut("polls"), _foreign("schedule_delay"), lambda folder: os.truncate(folder.facts, 100)]
)
def test_where_nothing_can_be_shown_the_remedy_is_told(
    call: Call, analysed: RunFolder, damage: Callable[[RunFolder], object]
) -> None:
    analysed.result.unlink()
    damage(analysed)

    assert "Use: streamgauge analyse run" in refused(call, "report", "run")
