"""The commands `payload` and `compression`: what messages look like, and what codecs make of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from streamgauge.domain import stamp
from streamgauge.domain.text.numbers import UNKNOWN, percent, significant, whole
from streamgauge.record.compression import Compression, Spread
from streamgauge.record.recordbatch import Record
from streamgauge.report.pages.page import page
from streamgauge.runs.sample import Sample, measured, sampled, scenario_of, told
from streamgauge.scenario import Scenario
from streamgauge.scenario.model.content import KINDS

CLASSES: Final = ("random", "zeros", "text", "json", "logline", "mixed")
"""The content classes that `--all` compares."""
NOTE: Final = """\
Ratio: uncompressed by compressed bytes of batches, header of 61 bytes included; of records: without it. Times are
CPU time for each 10^6 bytes of records: median (least-most) of several rounds."""

_LINE_BYTES: Final = 16
_SHOWN_BYTES: Final = 96
_SHOWN_CHARACTERS: Final = 200


def payload(
    given: str,
    shown: int,
    *,
    size: str | None,
    batch: int | None,
    settings: Sequence[str],
    allow_code: bool,
    trust: Sequence[Path],
    as_json: bool,
    out: Callable[[str], None],
) -> None:
    """Show the first messages, the sizes of all of a sample, and what codecs make of batches of them."""
    scenario = scenario_of(given, size, settings, allow_code=allow_code, trust=trust)
    sample = sampled(scenario, at_least=shown, asked=batch)
    found = measured(scenario, sample)
    messages = sample.messages[:shown]
    if as_json:
        first = [_message(place, each, sample.in_header) for place, each in enumerate(messages)]
        out(json.dumps({"messages": first, "sizes": sample.sizes, **told(sample, found)}, indent=2))
    else:
        dumps = [text for place, each in enumerate(messages) for text in (*_dumped(place, each, sample.in_header), "")]
        out(page(*dumps, *_summed(sample), "", _table({_name(given, scenario): (sample, found)}), "", NOTE))


def compression(
    given: str,
    *,
    every: bool,
    size: str | None,
    batch: int | None,
    settings: Sequence[str],
    allow_code: bool,
    trust: Sequence[Path],
    as_json: bool,
    out: Callable[[str], None],
) -> None:
    """Show what every codec makes of batches like those that are sent: of one content, or of every class of it."""
    content = {name: [f"load.payload={name}"] for name in CLASSES} if every else {given: []}
    found = {}
    for name, chosen in content.items():
        scenario = scenario_of(given, size, [*settings, *chosen], allow_code=allow_code, trust=trust)
        sample = sampled(scenario, asked=batch)
        found[_name(name, scenario)] = (sample, measured(scenario, sample))
    if as_json:
        out(json.dumps([{"payload": name, **told(*of_one)} for name, of_one in found.items()], indent=2))
    else:
        out(page(_table(found), "", NOTE))


def _name(given: str, scenario: Scenario) -> str:
    """What the sample of a scenario is called: its kind of payload where that was asked for."""
    return given if given in KINDS else scenario.name


def _message(place: int, message: Record, in_header: bool) -> dict[str, Any]:
    """One message in JSON, whole."""
    value = message.value
    return {
        "seq": place,
        "key": None if message.key is None else escaped(message.key),
        "stamp": "header" if in_header else "value",
        "size_bytes": None if value is None else len(value),
        "hex": None if value is None else value.hex(),
        "text": None if value is None else escaped(value),
    }


def escaped(content: bytes) -> str:
    """Bytes as text in one line that a terminal can be shown: what is no printable character is its escape."""
    text = content.decode("utf-8", "backslashreplace")
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _dumped(place: int, message: Record, in_header: bool) -> Iterator[str]:
    """One message as lines: what it is, its first bytes, and its text."""
    key = "no key" if message.key is None else f"key {escaped(message.key)}"
    value = message.value
    size = "no value (a tombstone)" if value is None else f"{whole(len(value))} bytes"
    where = f"in the header `{stamp.HEADER_KEY}`" if in_header else f"in its first {stamp.SIZE} bytes"
    yield f"message {place}: {size}, {key}, stamp {where}"
    body = value or b""
    for at in range(0, min(len(body), _SHOWN_BYTES), _LINE_BYTES):
        line = body[at : min(at + _LINE_BYTES, _SHOWN_BYTES)]
        seen = "".join(chr(each) if 0x20 <= each < 0x7F else "." for each in line)
        yield f"  {at:08x}  {line.hex(' '):<{3 * _LINE_BYTES}} {seen}"
    if len(body) > _SHOWN_BYTES:
        yield f"  ... {whole(len(body) - _SHOWN_BYTES)} more bytes"
    rest = body if in_header else body[stamp.SIZE :]
    if any(rest):
        text = escaped(rest)
        yield f"  text  {text[:_SHOWN_CHARACTERS]}{'...' if len(text) > _SHOWN_CHARACTERS else ''}"


def _summed(sample: Sample) -> Iterator[str]:
    """Sizes of messages and batches, a line each."""
    of = sample.sizes
    messages, count_ = len(sample.messages), len(sample.batches)
    yield (
        f"sizes of {whole(messages)} messages: least {whole(of['min_bytes'])}, mean {significant(of['mean_bytes'])}, "
        f"most {whole(of['max_bytes'])} bytes of value"
    )
    each = significant(messages / count_)
    yield f"batches: {whole(count_)}, of {each} messages on average, limited by {sample.bound}"


def _table(found: Mapping[str, tuple[Sample, Sequence[Compression]]]) -> Table:
    """One row for each codec of each sample."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in ("Payload", "Batch", "Codec"):
        table.add_column(name, no_wrap=True)
    for name in ("Level", "Ratio", "Of records", "Saved", "Encode, ms/MB", "Decode, ms/MB"):
        table.add_column(name, no_wrap=True, justify="right")
    for name, (sample, codecs) in found.items():
        batch = f"{significant(len(sample.messages) / len(sample.batches))}"
        for place, each in enumerate(codecs):
            table.add_row(
                *((escaped(name.encode()), batch) if place == 0 else ("", "")),
                each.codec,
                UNKNOWN if each.level is None else str(each.level),
                significant(each.batch_ratio),
                significant(each.records_ratio),
                percent(each.saved_share),
                _spread(each.encode_ms_per_mb),
                _spread(each.decode_ms_per_mb),
            )
    return table


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return UNKNOWN
    return f"{_ms(spread.median)} ({_ms(spread.least)}-{_ms(spread.most)})"


def _ms(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"
