"""HdrHistogram's encoding, beside the library that others use, and in its Java original."""

import base64
import math
import struct
import subprocess
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.foreign.results.given import runs_of

from streamgauge.cluster.jars import broker_jars
from streamgauge.foreign.results.hdr import Layout, decode, encode
from streamgauge.foreign.results.measured import ForeignError
from streamgauge.foreign.results.spread import ValueCells
from streamgauge.processes.jvm.java import Java
from streamgauge.report.assemble.imports.folder import log_lines

VALUES = st.lists(st.integers(0, 3_600_000_000), min_size=1, max_size=60)


def recorded(values: list[int], digits: int = 3) -> HdrHistogram:
    histogram = HdrHistogram(1, 3_600_000_000, digits)
    for value in values:
        histogram.record_value(value)
    return histogram


def cells(spread: ValueCells) -> list[tuple[int, int, int]]:
    return list(zip(spread.low.tolist(), spread.high.tolist(), spread.count.tolist(), strict=True))


@settings(deadline=None)
@given(VALUES, st.integers(1, 4))
def test_a_percentile_is_the_cell_of_its_rank(values: list[int], digits: int) -> None:
    """The nearest rank; the library agrees on the largest, and rounds other ranks in another way than the original."""
    histogram = recorded(values, digits)
    spread = decode(histogram.encode().decode())

    assert spread.total == len(values)
    assert spread.at(100)[1] == histogram.get_max_value()
    for percent in (50.0, 90.0, 99.0):
        low, high = spread.at(percent)
        assert low <= sorted(values)[math.ceil(len(values) * percent / 100 - 1e-9) - 1] <= high


@settings(deadline=None)
@given(VALUES, st.integers(0, 5))
def test_what_is_written_is_read_again(values: list[int], digits: int) -> None:
    """Cells stay the same, whatever the digits."""
    array = np.array(sorted(values), np.int64)
    low, high = Layout(digits).cells(np.array([Layout(digits).index_of(value) for value in array.tolist()], np.int64))
    spread = ValueCells.of_cells(low, high, np.ones(len(array), np.int64))

    assert cells(decode(encode(spread, Layout(digits)))) == cells(spread)
    assert ((low <= array) & (array <= high)).all()


@settings(deadline=None)
@given(VALUES)
def test_the_library_reads_what_is_written(values: list[int]) -> None:
    spread = decode(recorded(values).encode().decode())

    assert HdrHistogram.decode(encode(spread, Layout(3)).encode()).get_value_at_percentile(99) == spread.at(99)[1]


@settings(deadline=None)
@given(VALUES, VALUES)
def test_merging_is_exact(one: list[int], other: list[int]) -> None:
    """Also of histograms of other digits: their cells stay apart."""
    parts = [decode(recorded(one).encode().decode()), decode(recorded(other, 2).encode().decode())]
    counted: Counter[tuple[int, int]] = Counter()
    for low, high, count in [*cells(parts[0]), *cells(parts[1])]:
        counted[low, high] += count

    assert {(low, high): count for low, high, count in cells(ValueCells.merged(parts))} == counted


def test_a_histogram_that_unpacks_to_too_much_is_refused() -> None:
    """A megabyte of zeros has a kilobyte."""
    packed = zlib.compress(bytes(1 << 25))
    text = base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()

    with pytest.raises(ForeignError, match="more than 16 MiB"):
        decode(text)


OLD = {
    ("V0", 2): (
        "HISTiQAAAG14nO3bqw2AMBAA0BYmqGdILB6B7wrMxDyEgKghFUCA5D1xzX3EDXDtxjyFEJqwi1tY8nxkaSjrxXumrfQBAAD4k5j6"
        "t1fgkqY+AgAAAAAAADysdn8LAAAAAAAAAAAAAAAAAABf5J/sTVZe+gTi"
    ),
    ("V0", 3): (
        "HISTiQAAAQp4nO3ZIQ6AMAwF0C2cYJ5DYvEI/K7AmTgPISBmCMOwZHlPtGlrvu+45DWEMIRLPMuet3tKc7kv+pPh5Q4AAAAAAPQm"
        "pql1BAD4Ue3/HAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAKgXWwcAAAAAAAAA"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADgk9g6AAAAfTgAVJIE4w=="
    ),
    ("V1", 2): (
        "HISTggAAAHV4nO3asQ2DQAwFUN8xAT27sE1qVojEBrdChmAS5mAEFEERRYquQCggvVf4F9+FB3A3lmfEY4pN3jO9x1xe0S/xKX3l"
        "L02lBwAA4E5SO/z7BA7J9RUAAAAAAADgZLX/WwAAAAAAAAAAAAAAAAAAuKK0AiHxBp0="
    ),
    ("V1", 3): (
        "HISTggAAAQt4nO3ZsQmEUBAE0L/3KzC/Xq4lWxDswBYMbEjrsAQRDUQQNVE43gt2gkkm32/dVOnTd2mR14z5DE2bfmPail0eySc9"
        "AAAAAADwb6Io354AAA+6+j8HAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAArou3"
        "BwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHBLTBSwBv8="
    ),
}
"""By version and digits, as HdrHistogram 1.2.1 and 2.1.0 wrote them: 0, 1, three of 5, 1000, 1001, 123456, an hour less
one microsecond, and 70,000 of 777."""
WRITTEN = [0, 1, 5, 5, 5, 1000, 1001, 123_456, 3_599_999_999]


@pytest.mark.parametrize(("version", "digits"), OLD)
def test_older_encodings_are_read(version: str, digits: int) -> None:
    """Numbers of fixed length, and the same cells as in the new encoding."""
    new = recorded(WRITTEN, digits)
    for _ in range(70_000):
        new.record_value(777)

    assert cells(decode(OLD[version, digits])) == cells(decode(new.encode().decode()))


@pytest.mark.parametrize("version", ["V0", "V1"])
def test_damaged_older_encodings_are_refused(version: str) -> None:
    """Cut off anywhere, or with numbers of another length."""
    content = base64.b64decode(OLD[version, 2])
    inner = zlib.decompress(content[8:])

    def enclosed(changed: bytes) -> str:
        packed = zlib.compress(changed)
        return base64.b64encode(content[:4] + struct.pack(">i", len(packed)) + packed).decode()

    assert cells(decode(enclosed(inner))) == cells(decode(OLD[version, 2]))
    for changed in (inner[:20], inner[:-3], inner[:3] + b"\x18" + inner[4:], inner[:40] + b"\xff" * (len(inner) - 40)):
        with pytest.raises(ForeignError):
            decode(enclosed(changed))


JAVA = """
import org.HdrHistogram.*;
public class Read {
  public static void main(String[] args) throws Exception {
    HistogramLogReader reader = new HistogramLogReader(args[0]);
    Histogram sum = new Histogram(3);
    for (EncodableHistogram h; (h = reader.nextIntervalHistogram()) != null;) sum.add((Histogram) h);
    System.out.println(sum.getTotalCount() + " " + sum.getValueAtPercentile(99) + " " + sum.getMaxValue());
  }
}
"""


@pytest.mark.slow
def test_the_original_reads_our_logs(tmp_path: Path, java: Java) -> None:
    """HdrHistogram's jar is among those of the embedded broker, which this fetches where they are missing."""
    jar = next(jar for jar in broker_jars() if jar.name.startswith("HdrHistogram-"))
    found = runs_of("plain.hlog")[0].latencies[0]
    assert found.log
    assert found.spread
    log, source = tmp_path / "log.hlog", tmp_path / "Read.java"
    log.write_text("\n".join(log_lines("plain", found.log)) + "\n")
    source.write_text(JAVA)
    said = subprocess.run(
        [str(java.path), "-cp", str(jar), str(source), str(log)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout.split()

    assert [int(each) for each in said] == [found.spread.total, found.spread.at(99)[1], found.spread.at(100)[1]]
