"""Messages as a scenario would send them, in batches as its client would make them, and what codecs make of those."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np

from streamgauge.domain import stamp
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.shown import one_line
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.loop import UNPACED_BLOCK
from streamgauge.engine.produce.sources import Recipe
from streamgauge.record.compression import DEFAULT_LEVELS, Compression, codec_of, compress
from streamgauge.record.recordbatch import (
    HEADER_BYTES,
    Limits,
    Record,
    batches,
    encode,
    limits,
    messages_in_linger,
)
from streamgauge.runs.conduct.producers import recipe_of, sending_of
from streamgauge.runs.request.materials import check_settings, read_materials
from streamgauge.runs.request.scenario_file import load_scenario, shipped
from streamgauge.runs.request.trust import check_trust, trust_of, wrong_folders
from streamgauge.scenario import Load, Scenario
from streamgauge.scenario.model.content import KINDS, MadeKeys
from streamgauge.workload.pacing import NEVER, Pacer, count_before

BASE: Final = "baseline"
"""The scenario that a kind of payload is sent in."""
SAMPLE_BYTES: Final = 2_000_000
SAMPLE_BATCHES: Final = 4
"""A sample has at least so many bytes of records, in at least so many batches."""
LARGEST_SAMPLE: Final = 16_000_000
"""With so many bytes it is enough in any case."""

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
    load_of(scenario)
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
    def sizes(self) -> dict[str, float]:
        """Bytes of value of its messages; a null value has none."""
        each = [len(message.value or b"") for message in self.messages]
        mean = sum(each) / len(each)
        return {"messages": len(each), "min_bytes": min(each), "mean_bytes": mean, "max_bytes": max(each)}

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
    arrivals, load = read_materials(scenario), load_of(scenario)
    return recipe_of(scenario, load, _TAG, 0), sending_of(scenario, load, 0, arrivals).pacer


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
    load = load_of(scenario)
    most_bytes = int(_setting(load.client, _BATCH_BYTES, "batch.size"))
    if asked is not None:
        return limits(most_bytes, {"--batch": asked})
    apart = _partitions_apart(load, recipe)
    counts = {"batch.num.messages": _setting(load.client, _BATCH_MESSAGES, "batch.num.messages")}
    if load.mean_batch:
        counts["load.rate"] = load.mean_batch / apart
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
    """Messages a second of one producer, of the whole load or of about its first `_COUNTED` messages."""
    span_ns, most = 0, _COUNTED
    # So many messages may be due at once that no time has passed before the last of them.
    while not span_ns:
        counted = count_before(pacer, load_ns, most)
        span_ns = load_ns if counted < most else int(pacer.due_ns(counted - 1, 1)[0])
        most *= 2
    return counted * NS_PER_SECOND / span_ns


def load_of(scenario: Scenario) -> Load:
    """Its load; raises BadInput where it has none."""
    if scenario.load is None:
        raise BadInput.single("load", "is off", "Name a scenario that sends something")
    return scenario.load


def _setting(client: Mapping[str, Any], default: float, *names: str) -> float:
    return float(next((client[name] for name in names if name in client), default))


def measured(scenario: Scenario, sample: Sample) -> list[Compression]:
    """What every codec makes of a sample; the one that the scenario names is at the level that it gives it."""
    client = load_of(scenario).client
    chosen = next((client[name] for name in ("compression.type", "compression.codec") if name in client), None)
    level = int(_setting(client, -1, "compression.level"))
    return [compress(sample.records, codec_of(name, level if name == chosen else None)) for name in DEFAULT_LEVELS]


def codec_report(scenario: Scenario) -> dict[str, Any]:
    """What every codec makes of batches of a scenario's load, as JSON has it."""
    sample = sampled(scenario)
    return told(sample, measured(scenario, sample))


def told(sample: Sample, found: Sequence[Compression]) -> dict[str, Any]:
    """A sample and what codecs made of it, as JSON has it."""
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
