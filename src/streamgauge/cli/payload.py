"""The commands `payload` and `compression`: what messages look like, and what codecs make of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.table import Table

from streamgauge.domain import stamp
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND, ClockPair
from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.numbers import UNKNOWN, percent, significant, whole
from streamgauge.domain.text.shown import one_line
from streamgauge.engine.produce.compose import Composer, Recipe
from streamgauge.engine.produce.loop import UNPACED_BLOCK
from streamgauge.record.compression import DEFAULT_LEVELS, Compression, Spread, codec_of, compress
from streamgauge.record.recordbatch import (
    HEADER_BYTES,
    Limits,
    Record,
    batches,
    encode,
    limits,
    messages_in_linger,
)
from streamgauge.report.pages.page import page
from streamgauge.runs.conduct.plan import Identity, check_settings, plan_of, read_materials
from streamgauge.runs.request.scenario_file import load_scenario, shipped
from streamgauge.runs.request.trust import check_trust, trust_of, wrong_folders
from streamgauge.scenario import Load, Scenario
from streamgauge.scenario.model.content import KINDS, MadeKeys
from streamgauge.workload.pacing import NEVER, Pacer, count_before

BASE: Final = "baseline"
"""The scenario that a kind of payload is sent in."""
CLASSES: Final = ("random", "zeros", "text", "json", "logline", "mixed")
"""The content classes that `--all` compares."""
SAMPLE_BYTES: Final = 2_000_000
SAMPLE_BATCHES: Final = 4
"""A sample has at least so many bytes of records, in at least so many batches."""
LARGEST_SAMPLE: Final = 16_000_000
"""With so many bytes it is enough in any case."""

NOTE: Final = """\
Ratio: bytes of batches before by bytes after, header of 61 bytes included; of records: without it. Times are
processor time for each 10^6 bytes of records: median (least-most) of several rounds."""

_COUNTED: Final = 100_000
"""Messages that are looked at, at most, to know a mean rate."""
_TAG: Final = 0x5EED5EED
_BEGAN_NS: Final = 1_000_000_000_000_000
"""Where the sample begins on the monotonic clock: a host that has been up for some days."""
_LATE_NS: Final = (5_000, 60_000)
"""How late a message is sent, at least and at most: stamps of a sample are as different as those of a run."""
_UNPACED_NS: Final = 2_000
"""What a message costs a producer that sends as fast as possible."""
_BATCH_MESSAGES: Final = 10_000
_BATCH_BYTES: Final = 1_000_000
_LINGER_MS: Final = 5.0
"""librdkafka's."""
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
        told = [_message(place, each, sample.in_header) for place, each in enumerate(messages)]
        out(json.dumps({"messages": told, "sizes": sizes(sample.messages), **_told(sample, found)}, indent=2))
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
        out(json.dumps([{"payload": name, **_told(*of_one)} for name, of_one in found.items()], indent=2))
    else:
        out(page(_table(found), "", NOTE))


def scenario_of(
    given: str, size: str | None, settings: Sequence[str], *, allow_code: bool = False, trust: Sequence[Path] = ()
) -> Scenario:
    """The scenario that is meant, by a kind of payload or by its own name.

    Raises BadInput where there is none, and where it asks for what was not granted.
    """
    if not (given in KINDS or given in shipped() or Path(given).suffix in {".yaml", ".yml"} or Path(given).is_file()):
        close = get_close_matches(given, [*KINDS, *shipped()], n=1)
        mend = f"Did you mean `{close[0]}`?" if close else f"Payloads are {', '.join(KINDS)}; or name a scenario"
        raise BadInput.single(one_line(given) or "KIND_OR_SCENARIO", "no payload and no scenario of this name", mend)
    kind = [f"load.payload={given}"] if given in KINDS else []
    asked = [] if size is None else [f"load.size={size}"]
    name, changes = BASE if kind else given, [*kind, *asked, *settings]
    scenario = load_scenario(name, changes)
    if wrong := wrong_folders(trust):
        raise BadInput(wrong)
    check_trust(scenario, trust_of(name, changes, allow_code=allow_code, folders=trust))
    _load(scenario)
    check_settings(scenario)
    return scenario


@dataclass(frozen=True, slots=True)
class Sample:
    """Messages of the first producer as it would send them, in whole batches."""

    limits: Limits
    in_header: bool
    batches: Sequence[Sequence[Record]]
    records: Sequence[bytes]
    """What a codec compresses of each batch."""

    @property
    def messages(self) -> list[Record]:
        """All of them, in order."""
        return [each for batch in self.batches for each in batch]

    @property
    def bound(self) -> str:
        """The setting that decided how large most batches are."""
        full = sum(len(batch) == self.limits.messages for batch in self.batches)
        return self.limits.bound if 2 * full >= len(self.batches) else "batch.size"


def sampled(scenario: Scenario, *, at_least: int = 0, asked: int | None = None) -> Sample:
    """Messages as a scenario sends them, in batches as its client makes them, or of `asked` messages."""
    recipe, pacer = _sender(scenario)
    most = batch_limits(scenario, recipe, pacer, asked)
    made: list[list[Record]] = []
    records: list[bytes] = []
    size = messages = 0
    for batch in batches(_records(recipe, pacer), most):
        made.append(batch)
        records.append(encode(batch))
        size, messages = size + len(records[-1]), messages + len(batch)
        enough = size >= SAMPLE_BYTES and len(made) >= SAMPLE_BATCHES and messages >= at_least
        if enough or size >= LARGEST_SAMPLE:
            break
    return Sample(most, recipe.in_headers, made, records)


def _sender(scenario: Scenario) -> tuple[Recipe, Pacer | None]:
    """What the first producer of a run of the scenario would send, and when."""
    arrivals, who = read_materials(scenario), Identity("payload", _TAG, "payload")
    plan = plan_of(scenario, who, {}, Path(), [], pair=ClockPair(0, 0), arrivals=arrivals)
    first = plan.producers[0].members[0]
    return first.recipe, first.sending.pacer


def _records(recipe: Recipe, pacer: Pacer | None) -> Iterator[Record]:
    """The messages of one producer, to the end of its schedule; each has its own time of sending where there is one."""
    block = UNPACED_BLOCK if pacer is None else 1
    composer = Composer(recipe, block)
    late = np.random.default_rng([recipe.seed, recipe.producer])
    for first in count(0, block):
        due_ns = None if pacer is None else pacer.due_ns(first, block)
        if due_ns is not None and due_ns[0] >= NEVER:
            return
        began_ns = _BEGAN_NS + (first * _UNPACED_NS if due_ns is None else int(due_ns[0]))
        sent_ns = began_ns + int(late.integers(*_LATE_NS))
        made = composer.compose(np.arange(first, first + block), due_ns, sent_ns)
        for place, value in enumerate(made.values):
            headers = [(stamp.HEADER_KEY, made.stamps[place].tobytes())] if recipe.in_headers else []
            yield Record(value, made.keys[place] if made.keys else None, headers, sent_ns // NS_PER_MS)


def batch_limits(scenario: Scenario, recipe: Recipe, pacer: Pacer | None, asked: int | None) -> Limits:
    """How large the batches of one producer get at most; `pacer` is its schedule."""
    load = _load(scenario)
    most_bytes = int(_setting(load.client, _BATCH_BYTES, "batch.size"))
    if asked is not None:
        return limits(most_bytes, {"--batch": asked})
    apart = _partitions_apart(load, recipe)
    counts = {"batch.num.messages": _setting(load.client, _BATCH_MESSAGES, "batch.num.messages")}
    if load.batch:
        counts["load.rate"] = load.batch / apart
    if load.flush:
        counts["load.flush"] = (load.flush if isinstance(load.flush, int) else load.flush.mean) / apart
    if load.transactions and load.transactions.messages:
        counts["load.transactions"] = load.transactions.messages / apart
    if pacer is not None:
        linger_ms = _setting(load.client, _LINGER_MS, "linger.ms", "queue.buffering.max.ms")
        per_second = _mean_rate(pacer, scenario.load_ns) / len(recipe.topics)
        if load.keys == "none" and load.partition == "client":
            sticky_ms = _setting(load.client, 2 * linger_ms, "sticky.partitioning.linger.ms")
            counts["linger.ms"] = messages_in_linger(per_second, linger_ms, sticky_ms, recipe.partitions)
        else:
            counts["linger.ms"] = messages_in_linger(per_second, linger_ms, 0, apart)
    return limits(most_bytes, counts)


def _partitions_apart(load: Load, recipe: Recipe) -> int:
    """Over how many partitions of a topic messages that follow each other are spread: 1 where they stay together."""
    if load.partition == "round-robin":
        return recipe.partitions
    keyed = load.keys == "sequential" or (isinstance(load.keys, MadeKeys) and not load.keys.constant)
    return recipe.partitions if keyed and load.partition == "client" else 1


def _mean_rate(pacer: Pacer, load_ns: int) -> float:
    """Messages a second of one producer, of the whole load or of its first `_COUNTED` messages."""
    counted = count_before(pacer, load_ns, _COUNTED)
    span_ns = load_ns if counted < _COUNTED else int(pacer.due_ns(counted - 1, 1)[0])
    return counted * NS_PER_SECOND / span_ns


def _name(given: str, scenario: Scenario) -> str:
    """What the sample of a scenario is called: its kind of payload where that was asked for."""
    return given if given in KINDS else scenario.name


def _load(scenario: Scenario) -> Load:
    if scenario.load is None:
        raise BadInput.single("load", "is off", "Name a scenario that sends something")
    return scenario.load


def _setting(client: Mapping[str, Any], default: float, *names: str) -> float:
    return float(next((client[name] for name in names if name in client), default))


def measured(scenario: Scenario, sample: Sample) -> list[Compression]:
    """What every codec makes of a sample; the one that the scenario names is at the level that it gives it."""
    client = _load(scenario).client
    chosen = next((client[name] for name in ("compression.type", "compression.codec") if name in client), None)
    level = int(_setting(client, -1, "compression.level"))
    return [compress(sample.records, codec_of(name, level if name == chosen else None)) for name in DEFAULT_LEVELS]


def sizes(messages: Sequence[Record]) -> dict[str, float]:
    """Bytes of value of some messages; a null value has none."""
    each = [len(message.value or b"") for message in messages]
    return {"messages": len(each), "min_bytes": min(each), "mean_bytes": sum(each) / len(each), "max_bytes": max(each)}


def _told(sample: Sample, found: Sequence[Compression]) -> dict[str, Any]:
    """The part that both commands tell in JSON."""
    return {
        "batches": {
            "count": len(sample.batches),
            "mean_messages": len(sample.messages) / len(sample.batches),
            "bound": sample.bound,
            "header_bytes": HEADER_BYTES,
        },
        "codecs": [
            {
                **asdict(each),
                "records_ratio": each.records_ratio,
                "batch_ratio": each.batch_ratio,
                "saved_share": each.saved_share,
            }
            for each in found
        ],
    }


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
        yield f"  ... {whole(len(body) - _SHOWN_BYTES)} bytes more"
    rest = body if in_header else body[stamp.SIZE :]
    if any(rest):
        text = escaped(rest)
        yield f"  text  {text[:_SHOWN_CHARACTERS]}{'...' if len(text) > _SHOWN_CHARACTERS else ''}"


def _summed(sample: Sample) -> Iterator[str]:
    """Sizes of messages and batches, a line each."""
    of = sizes(sample.messages)
    messages, count_ = len(sample.messages), len(sample.batches)
    yield (
        f"sizes of {whole(messages)} messages: least {whole(of['min_bytes'])}, mean {significant(of['mean_bytes'])}, "
        f"most {whole(of['max_bytes'])} bytes of value"
    )
    yield f"batches: {whole(count_)}, of {significant(messages / count_)} messages on average; {sample.bound} decides"


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
