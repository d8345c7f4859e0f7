"""Files that are none of what they seem: one message each, and nothing is written."""

import base64
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.foreign.results.given import NOTHING_ASKED, all_samples, sample
from tests.foreign.results.test_formats import BY_PARTITION, SUMMARY

from streamgauge.domain.errors import BadInput
from streamgauge.foreign.results import given
from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.reading import read_results

JSONS = [name for name in all_samples() if name.endswith(".json")]


def changed(name: str, *path: str | int, to: Any) -> bytes:
    """A JSON sample with another value at a path."""
    document = json.loads(sample(name).content)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return json.dumps(document).encode()


def histogram(inner: bytes, cookie: int = 0x1C849314, length: int | None = None) -> bytes:
    """An interval log with one histogram of this content."""
    packed = zlib.compress(inner)
    head = struct.pack(">ii", cookie, len(packed) if length is None else length)
    return b"0.0,1.0,1.0," + base64.b64encode(head + packed) + b"\n"


def header(
    cookie: int = 0x1C849313, offset: int = 0, digits: int = 3, lowest: int = 1, payload: bytes = b"\x02"
) -> bytes:
    return struct.pack(">iiiiqqd", cookie, len(payload), offset, digits, lowest, 1000, 1.0) + payload


def archive(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return out.getvalue()


def damaged_lzma() -> bytes:
    """An archive whose only file was compressed with LZMA, and its first bytes overwritten."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as opened:
        opened.writestr("a", bytes(range(256)) * 40)
        at = opened.getinfo("a").header_offset + 30 + 1 + 9
    content = bytearray(out.getvalue())
    content[at : at + 40] = b"\xff" * 40
    return bytes(content)


def text(name: str) -> bytes:
    return sample(name).content


def cases() -> Iterator[tuple[str, bytes, str]]:
    """What it is, its content, and what the message says."""
    yield "nothing", b"", "is empty"
    yield "white space", b" \n \n", "is empty"
    yield "binary", bytes(range(256)) * 8, "no text"
    yield "zeros", b"abc\0def", "bytes of value 0"
    yield "other encoding", "Verz\u00f6gerung".encode("utf-16"), "no text"
    yield "prose", b"hello world\n", "an unknown format"
    yield "other JSON", b'{"a": 1}', "an unknown format"
    yield "a list", b"[1, 2]", "an unknown format"
    for name in JSONS:
        yield f"cut off {name}", text(name)[:-40], "no complete JSON"
        yield f"two of {name}", text(name) * 2, "no complete JSON"
    yield "deep", b'{"publishRate":' + b"[" * 100_000, "nested too deeply"
    yield "no rate", changed("omb.json", "publishRate", to=[]), "no publishRate"
    yield "rates of text", changed("omb.json", "publishRate", to="fast"), "no list of numbers"
    yield "rate below 0", changed("omb.json", "publishRate", to=[-1]), "cannot be below 0"
    yield "rate of nothing", changed("omb.json", "publishRate", to=[float("nan")]), "not a valid number"
    yield "rate without end", changed("omb.json", "publishRate", to=[float("inf")]), "not a valid number"
    yield "rate of 10^300", changed("omb.json", "publishRate", to=[1e300]), "not a valid number"
    yield "true rate", changed("omb.json", "publishRate", to=[True]), "not a valid number"
    yield "size of text", changed("omb.json", "messageSize", to={}), "not a valid number"
    yield "falling percentiles", changed("omb.json", "aggregatedPublishLatency99pct", to=0.1), "no distribution"
    yield "quantiles of no object", changed("omb.json", "aggregatedPublishLatencyQuantiles", to=3), "no object"
    yield "a quantile of 101", changed("omb.json", "aggregatedPublishLatencyQuantiles", to={"101": 3}), "percentile"
    yield "half a partition", changed("omb.json", "partitions", to=1.5), "must be whole"
    yield (
        "no metrics",
        changed("metrics.json", "doc", "metrics", to=[{"name": "metricValues", "metricValues": []}]),
        "no metric service_time",
    )
    yield "metrics of text", changed("metrics.json", "doc", "metrics", to=["metricValues"]), "no list of objects"
    yield "odd unit", changed("metrics.json", "doc", "metrics", 0, "units", to="fortnight"), "an unknown unit"
    yield "count of text", changed("metrics.json", "doc", "metrics", 0, "totalValues", to="x"), "not a valid number"
    yield (
        "fewer names",
        changed("metrics.json", "doc", "metrics", 0, "metricValues", 4, "values", to=[1]),
        "as many names",
    )
    yield "doc of text", changed("metrics.json", "doc", to="metricValues"), "no object"
    for key in ("final", "timeline"):
        document = json.loads(text("results-recovery.json"))
        del document[key]
        yield f"SSP without {key}", json.dumps(document).encode(), f"has no `{key}`"
    yield "SSP config", changed("results-recovery.json", "final", to=[]), "no object"
    yield "SSP lag", changed("results-recovery.json", "lag_timeline", 0, "total_lag", to=-5), "cannot be below 0"
    yield "SSP time", changed("results-recovery.json", "lag_timeline", 0, "elapsed_s", to=None), "not a valid number"
    yield "SSP back", changed("results-recovery.json", "timeline", 3, "elapsed_s", to=1), "goes back"
    yield "SSP sent", changed("results-recovery.json", "final", "messages_sent", to=1.5), "must be whole"
    yield "SSP p99", changed("results-recovery.json", "final", "ack_latency_ms", "P99", to=0), "no distribution"
    yield (
        "SSP bucket",
        changed("results-recovery.json", "final", "ack_latency_ms", "CDFBuckets", to=["x"]),
        "not a valid number",
    )
    yield "Trogdor count", changed("trogdor-produce.json", "status", "totalSent", to="many"), "not a valid number"
    yield "Trogdor status", changed("trogdor-produce.json", "status", to="totalSent"), "no object"
    yield "Trogdor nothing", b'{"status": {"x": {}}, "spec": {"totalSent": 1}}', "no status of a workload"
    yield "Trogdor falls", changed("trogdor-produce.json", "status", "p99LatencyMs", to=1), "no distribution"
    yield "k6 metrics", changed("k6.json", "metrics", to={}), "an unknown format|no metrics"
    yield "k6 value", changed("k6.json", "metrics", "iterations", to=7), "no object"
    yield "k6 p(95)", changed("k6.json", "metrics", "iteration_duration", "p(95)", to="slow"), "not a valid number"
    yield "k6 p(90)", changed("k6.json", "metrics", "iteration_duration", "p(90)", to=99), "no distribution"
    log = text("plain.hlog")
    yield "cut log", log[:-30], "cut off|no base64"
    yield "log line", log + b"x,y\n", "no interval of a log"
    yield "log number", log.replace(b"0.127,", b"abc,", 1), "not a valid number"
    yield "log time", log.replace(b"1441812279.474", b"1.2.3", 1), "not a valid number"
    yield "log base64", b"0.0,1.0,1.0,HIST!!!!\n", "no base64"
    yield "short histogram", b"0.0,1.0,1.0,HISTFA==\n", "cut off"
    yield "V0", histogram(header(), cookie=0x1C849309), "damaged|cut off|no format"
    yield "V1", histogram(header(cookie=0x1C849301)), "damaged histogram"
    yield "shifted", histogram(header(offset=4)), "damaged histogram"
    yield "digits", histogram(header(digits=99)), "damaged"
    yield "lowest", histogram(header(lowest=0)), "damaged"
    yield "cut payload", histogram(header()[:-1]), "cut off"
    yield "cut header", histogram(b"abc"), "cut off"
    yield (
        "not zlib",
        b"0.0,1.0,1.0," + base64.b64encode(struct.pack(">ii", 0x1C849314, 9) + b"123456789") + b"\n",
        "damaged",
    )
    yield "hostile skip", histogram(header(payload=b"\xff" * 9)), "damaged"
    yield "cut number", histogram(header(payload=b"\x80")), "cut off"
    yield "bomb", histogram(bytes(1 << 25)), "more than 16 MiB"
    yield "no unit", histogram(header()), "in which unit"
    yield "no values", b"#[Values in microseconds]\n" + histogram(header(payload=b"\x00")), "no values"
    yield "producer cut off", b"\n".join(text("producer-3.log").splitlines()[:2]), "cut off"
    yield (
        "producer comma",
        b"1 records sent, 1..2 records/sec (1 MB/sec), 1 ms avg latency, 1 ms max latency, 1 ms 50th.",
        "not a valid number",
    )
    yield "producer falls", text("producer-3.log").replace(b"18 ms 99th", b"1 ms 99th"), "no distribution"
    yield "consumer cut off", text("consumer-3.log").splitlines()[0], "no line below its header"
    yield "consumer back", text("consumer-3.log").replace(b"10:00:00:606", b"09:00:00:606"), "ends before it starts"
    yield "consumer time", text("consumer-3.log").replace(b"10:00:00:606", b"99:99:99:606"), "an invalid time"
    yield "consumer count", text("consumer-3.log").replace(b"300203", b"-300203"), "below 0"
    yield "e2e cut off", text("e2e.log").split(b"Percentiles")[0], "cut off"
    yield "distribution cut off", text("percentiles.txt").split(b"#[Max")[0], "cut off"
    yield "distribution falls", text("percentiles.txt").replace(b"9900 ", b"  99 "), "counts fall"
    yield "distribution above", text("percentiles.txt").replace(b"0.999000000000", b"9.999000000000"), "above 1"
    yield "distribution line", text("percentiles.txt").replace(b"       5000           2.00", b""), "no line of"
    yield "distribution of nothing", text("percentiles.txt").splitlines()[0], "no line below its header"
    yield "samples unit", b"timestamp,value\n1,2\n", "in which unit"
    yield "samples none", b"timestamp,value_ms\n", "no sample"
    yield "samples cut off", b"timestamp,value_ms\n1,2\n3\n", "cut off"
    yield "samples for ever", b"timestamp,value_ms\n1,2\n99999999,2\n", "may last"
    yield "samples of a huge cell", b"timestamp,value_ms\n1," + b"9" * 200_000 + b"\n", "no table|not a valid number"
    yield "log of year 10^9", log.replace(b"0.127,", b"99999999999999999,", 1), "may last|not a valid time"
    yield "tussle of year 10^6", changed("metrics.json", "doc", "metrics", 0, "start", to=1e17), "not a valid time"
    yield "consumer columns", text("consumer-3.log").replace(b"end.time", b"end"), "no column end.time"
    yield "samples text", b"timestamp,value_ms\n1,fast\n", "not a valid number"
    yield "samples below 0", b"timestamp,value_ms\n1,-1\n", "below 0"
    yield "tlp cells", text("tlp.csv") + b"1,2,3\n", "3 cells instead of 31"
    yield "tlp none", b"\n".join(text("tlp.csv").splitlines()[:4]), "no row below"
    yield "tlp back", text("tlp.csv").replace(b",159233,", b",1,"), "go back"
    yield "tlp time", text("tlp.csv").replace(b"2021-11-09T20:02", b"2021-99-09T20:02"), "an invalid time"
    yield "mqperf cells", text("mqperf.md") + b"| 1 | 2 |\n", "2 cells instead of 7"
    yield "mqperf none", text("mqperf.md").splitlines()[0], "no row below"
    yield "mqperf rate", text("mqperf.md").replace(b"7,458", b"fast"), "not a valid number"


@pytest.mark.parametrize(("content", "said"), [pytest.param(content, said, id=name) for name, content, said in cases()])
def test_one_message(content: bytes, said: str) -> None:
    with pytest.raises(BadInput, match=said) as found:
        read_results([ForeignFile("result", "", content)], NOTHING_ASKED)

    assert len(found.value.faults) == 1
    assert len(str(found.value)) < 400
    assert str(found.value).isprintable()


@pytest.mark.parametrize(
    ("name", "cells", "said"),
    [
        (SUMMARY, "2, 4, 64\n", "3 cells instead of 10"),
        (SUMMARY, "2, 4, 64, 64, -1, 897, 290, 1.1, 18.0, 28.4\n", "below 0"),
        (SUMMARY, "2, 4, 64, x, 1, 897, 290, 1.1, 18.0, 28.4\n", "not a valid number"),
        (BY_PARTITION, "2, 4, 64, 64, 1, 897, 290, 1.1, 18.0, 28.4\n", "rows are missing"),
    ],
)
def test_rows_of_kafkabench(name: str, cells: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_results([ForeignFile(name, "", sample(name).content + cells.encode())], NOTHING_ASKED)


ARCHIVES = {
    "empty": (archive(), "empty archive"),
    "cut off": (archive(a=b"x" * 999)[:-30], "damaged archive"),
    "in an archive": (archive(a=archive(b=b"x")), "archive in it"),
    "outside": (archive(**{"../../etc/passwd": b"x"}), "outside of itself"),
    "absolute": (archive(**{"/etc/passwd": b"x"}), "outside of itself"),
    "drive": (archive(**{"C:/windows": b"x"}), "outside of itself"),
    "backslash": (archive(**{"..\\x": b"x"}), "outside of itself"),
    "unknown": (archive(a=b"hello"), "an unknown format"),
    "nameless": (archive(**{".": b"x"}), "a file without a name"),
    "damaged LZMA": (damaged_lzma(), "damaged archive"),
    "many": (archive(**{str(number): b"x" for number in range(1_001)}), "more than 1,000 files"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_bad_archives(name: str) -> None:
    content, said = ARCHIVES[name]

    with pytest.raises(BadInput, match=said):
        read_results([ForeignFile("all.zip", "", content)], NOTHING_ASKED)


@pytest.mark.parametrize("step", ["2024.01.15_1", "1.2.3", "."])
def test_a_name_that_is_no_step(step: str) -> None:
    """A date is no rate."""
    found = ForeignFile(f"send_service_time_{step}.hlog", "", sample("plain.hlog").content)
    [run] = (run for each in read_results([found], Asked("us")) for run in each.runs)

    assert "target_per_second" not in run.throughput


def test_an_archive_that_unpacks_to_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it says less about itself."""
    monkeypatch.setattr(given, "MOST_BYTES", 1 << 20)
    honest = archive(a=bytes(2 << 20))
    size = struct.pack("<I", 2 << 20)
    liar = honest.replace(size, struct.pack("<I", 5))

    for content in (honest, liar):
        with pytest.raises(BadInput, match=r"unpacks to more than 1 MiB|damaged archive"):
            read_results([ForeignFile("bomb.zip", "", content)], NOTHING_ASKED)


def test_an_archive_of_samples() -> None:
    """All that is in it is read, and logs of a step are one run."""
    files = {name: sample(name).content for name in all_samples() if name.startswith("tussle/")}
    found = read_results(
        [ForeignFile("all.zip", "", archive(**files, **{"x/omb.json": text("omb.json")}))], NOTHING_ASKED
    )

    assert sorted(run.tool for each in found for run in each.runs) == ["OpenMessaging Benchmark", "tussle"]
