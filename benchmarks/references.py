"""Published results of SSP_kafka, reproduced in one session on one broker, beside the published figures.

The figures of each round go to `--kept`, a line of JSON each, from which `--again` prints the tables once more. Whole
results go to `--out`, which `--figures` draws.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.common import analysed, broker, call, heading, idle_share, run, topic, warm_page_cache
from streamgauge.domain.clock import clock_pair, utc_text
from streamgauge.domain.text.numbers import UNKNOWN, significant, whole
from streamgauge.record.facts import machine, versions
from streamgauge.report.figures import catalogue
from streamgauge.report.figures.compare import (
    LabelledRun,
    acks,
    baseline_timeline,
    burst_summary,
    burst_timeline,
    cdfs,
    codecs,
    compression,
    payloads,
    policy_summary,
    policy_timeline,
    ratios,
    recoveries,
    sizes,
)
from streamgauge.report.figures.drawing.figure import Figure, Row
from streamgauge.result import Result
from streamgauge.result.reading import parse_result

Draw = Callable[[Sequence[LabelledRun]], Figure]

NOTES: Final = """\
SSP_kafka, M2: published by its authors, one run of each row on an Apple M2 with 8 GB. SSP_kafka, 2 cores: the same
program on 2 cores with 24 GiB. Its latency begins when a message is handed to the client, like our service time; our
response time begins when the message was due. Its percentiles are of messages that arrived; ours include missing
messages, marked by `>`. Peak lag is committed lag in both, which includes messages received since the last commit; ours
stands beside the most messages outstanding: sent and not processed.

Ours: the median of the rounds, from the lowest to the highest. A figure that is not believed takes no part; how many
rounds a figure is of is told where it is not of all. One that is bounded enters with the ends of its interval.
"""
KEPT: Final = Path(__file__).parent / "results" / "references.jsonl"
LATENCIES: Final = (("ack", "p50"), ("ack", "p99"), *(("end_to_end", name) for name in ("p50", "p95", "p99", "p99_9")))
_MACHINE: Final = ("processor", "usable_cores", "memory_bytes", "system")
KINDS: Final = ("service", "response")
RATES: Final = tuple(f"throughput.{stage}_per_second" for stage in ("sent", "received"))
NOT_BELIEVED: Final = "not_believed"
PEAKS: Final = ("lag.committed.max", "lag.outstanding.max")


@dataclass(frozen=True, slots=True)
class Setting:
    """One row to measure: what it is called in the tables and in the figures, and how it comes about."""

    row: str
    label: str
    scenario: str
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that stand in one table, and the figures of them."""

    rows: tuple[Setting, ...]
    figures: tuple[Draw, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """What all rounds have in common: when and where they were measured, and with what."""

    date: str
    commit: str
    machine: Mapping[str, object]
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure of one round, and what it can have been; None where no bound is known."""

    value: float
    low: float | None
    high: float | None
    trust: str
    least: bool
    """Whether it is a lower bound, because of messages that did not arrive."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One round of one row."""

    row: str
    round: int
    state: str | None
    """The verdict."""
    because: tuple[str, ...]
    """Why figures are not believed."""
    readings: Mapping[str, Reading]
    """By the path of the figure."""


@dataclass(frozen=True, slots=True)
class Published:
    """One row as it was published, each figure as it was written: rates in messages a second, latencies in ms."""

    row: str
    system: str
    sent: str
    received: str
    ack_p50: str
    ack_p99: str
    p50: str
    p95: str
    p99: str
    p99_9: str
    peak: str


HEADS: Final = (
    "row", "system", "sent/s", "received/s", "ack p50", "ack p99", "e2e p50", "e2e p95", "e2e p99", "e2e p99.9",
    "committed lag, peak", "outstanding, peak",
)  # fmt: skip


def _swept(prefix: str, scenario: str, path: str, *values: str) -> tuple[Setting, ...]:
    return tuple(Setting(f"{prefix}-{value}", value, scenario, (f"{path}={value}",)) for value in values)


def _as_shipped(*names: str) -> tuple[Setting, ...]:
    return tuple(Setting(name, name, name) for name in names)


GROUPS: Final[Mapping[str, Group]] = {
    "baseline": Group(_as_shipped("bench"), (baseline_timeline,)),
    "codecs": Group(
        _swept("comp", "compression", "load.client.compression.type", "none", "gzip", "snappy", "lz4", "zstd"),
        (codecs,),
    ),
    "acks": Group(_swept("acks", "acks", "load.client.acks", "0", "1", "all"), (acks,)),
    "payloads": Group(
        _swept("payload", "payload", "load.payload", "random", "zeros", "text", "json", "logline", "mixed"),
        (payloads,),
    ),
    "sizes": Group(_swept("size", "size", "load.size", "64", "256", "1024", "4096", "16384"), (sizes,)),
    "slow consumers": Group(
        _as_shipped("slow-aggr", "bp-loose", "bp-tight", "credit-5000"), (policy_timeline, policy_summary)
    ),
    "recovery": Group(_as_shipped("recovery-aggr"), (recoveries, cdfs)),
    "bursts": Group(_as_shipped("bursty-light", "bursty-heavy", "bursty-overload"), (burst_timeline, burst_summary)),
}

_PUBLISHED: Final = """
bench           | M2      | 9,924       | 9,925  | 3.32 | 15.96 | 3.89   | 7.90   | 30.77  | 97.2   | 9,990
bench           | 2 cores | 8,465       | -      | -    | -     | 4.1    | -      | 8.2    | 92     | -
comp-none       | M2      | 9,728       | -      | 3.35 | 11.13 | 3.96   | 7.59   | 17.85  | 101.5  | 9,658
comp-gzip       | M2      | 9,844       | -      | 3.41 | 12.22 | 4.01   | 7.83   | 22.43  | 102.2  | 9,799
comp-snappy     | M2      | 9,724       | -      | 3.63 | 29.51 | 4.12   | 15.92  | 74.38  | 121.8  | 9,804
comp-lz4        | M2      | 9,769       | -      | 3.22 | 10.67 | 3.82   | 6.81   | 27.81  | 105.2  | 9,794
comp-zstd       | M2      | 9,886       | -      | 3.72 | 22.16 | 4.15   | 8.85   | 41.03  | 114.9  | 9,806
acks-0          | M2      | 9,404       | -      | 2.77 | 7.04  | 4.05   | 7.45   | 13.86  | 102.6  | 9,673
acks-1          | M2      | 9,680       | -      | 3.42 | 20.64 | 4.00   | 8.30   | 48.12  | 136.4  | 9,811
acks-all        | M2      | 9,763       | -      | 3.21 | 8.09  | 3.74   | 6.55   | 11.69  | 98.9   | 9,703
payload-random  | M2      | 7,924-7,979 | -      | -    | 8-25  | -      | -      | 20.7   | -      | ~7,800
payload-zeros   | M2      | 7,924-7,979 | -      | -    | 8-25  | -      | -      | 45.2   | -      | ~7,800
payload-text    | M2      | 7,924-7,979 | -      | -    | 8-25  | -      | -      | 48.3   | -      | ~7,800
payload-json    | M2      | 7,924-7,979 | -      | -    | 8-25  | -      | -      | 49.4   | -      | ~7,800
payload-logline | M2      | 7,924-7,979 | -      | -    | 8-25  | -      | -      | 32.0   | -      | ~7,800
payload-mixed   | M2      | 7,924-7,979 | -      | -    | 8-25  | -      | -      | 17.3   | -      | ~7,800
size-64         | M2      | 7,781-7,977 | -      | -    | 9.8   | -      | -      | 41.3   | -      | ~7,800
size-256        | M2      | 7,781-7,977 | -      | -    | 6.7   | -      | -      | 11.3   | -      | ~7,800
size-1024       | M2      | 7,781-7,977 | -      | -    | 14.0  | -      | -      | 27.4   | -      | ~7,800
size-4096       | M2      | 7,781-7,977 | -      | -    | 15.9  | -      | -      | 28.7   | -      | ~7,800
size-16384      | M2      | 7,781-7,977 | -      | -    | 124.4 | -      | -      | 223.1  | -      | ~7,800
slow-aggr       | M2      | 9,701       | 2,579  | 3.57 | 12.31 | 17,035 | 30,236 | 31,434 | 31,774 | 309,435
slow-aggr       | 2 cores | -           | 2,381  | -    | -     | 16,500 | -      | 30,300 | -      | 249,950
bp-loose        | M2      | 2,269       | 2,588  | 3.35 | 10.05 | 4,606  | 8,575  | 9,171  | 9,634  | 25,956
bp-loose        | 2 cores | -           | 2,375  | -    | -     | 4,500  | -      | 8,300  | -      | 22,070
bp-tight        | M2      | 1,938       | 2,009  | 3.67 | 19.86 | 1,578  | 3,078  | 3,811  | 4,250  | 12,177
bp-tight        | 2 cores | -           | 1,742-1,886 | - | -   | 1,300  | -      | 3,100  | -      | 9,630-9,810
recovery-aggr   | M2      | 9,529       | 9,758  | 3.51 | 15.08 | 5.94   | 17,709 | 19,674 | 20,188 | 195,598
recovery-aggr   | 2 cores | -           | -      | -    | -     | -      | -      | -      | -      | 162,464
bursty-light    | M2      | 7,454       | -      | 3.40 | 9.20  | 3.91   | 6.67   | 15.30  | 111    | 14,575
bursty-heavy    | M2      | 11,200      | -      | 3.30 | 13.01 | 3.82   | 6.69   | 19.15  | 101    | 29,356
bursty-overload | M2      | 11,131      | 11,932 | 3.31 | 19.38 | 2,230  | 5,998  | 6,971  | 7,199  | 110,445
"""
_PUBLISHED_RATIOS: Final = """
payload | snappy | lz4   | gzip  | zstd
random  | 1.00   | 1.00  | 1.00  | 1.00
zeros   | 20.00  | 252.4 | 806.3 | 8904
text    | 19.86  | 230.5 | 71.1  | 2775
json    | 8.88   | 14.65 | 18.08 | 22.87
logline | 11.76  | 19.56 | 27.14 | 30.31
mixed   | 3.78   | 4.34  | 4.21  | 4.49
"""


def _cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split(" | ")] for line in table.strip().splitlines()]


PUBLISHED: Final = [Published(*cells) for cells in _cells(_PUBLISHED)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", nargs="+", default=[], metavar="NAME", help="run only these rows or groups")
    options.add_argument("--seconds", type=int, help="length of the measure phase; default: that of each scenario")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--kept", type=Path, default=KEPT, metavar="FILE", help="figures of each round")
    options.add_argument("--out", type=Path, default=Path("runs/references"), help="folder of each result.json")
    options.add_argument("--figures", type=Path, metavar="FOLDER", help="save the figures here")
    options.add_argument("--again", action="store_true", help="measure nothing; print and draw what is kept")
    given = options.parse_args()
    try:
        groups = chosen(given.only)
    except ValueError as error:
        options.error(str(error))
    heading("References: published results of SSP_kafka, reproduced on this machine")
    if not given.again:
        print(f"The machine was {idle_share():.0%} idle before.\n", flush=True)
        _measure(groups, given.out, given.kept, rounds=given.rounds, seconds=given.seconds)
    session, rounds = read(given.kept)
    print(f"Measured {session.date} at commit {session.commit}; versions: {dict(session.versions)}\n\n{NOTES}")
    for name, group in groups.items():
        found = offline() if name == "payloads" else []
        print("\n".join([f"### {name.capitalize()}", "", *table(group, rounds), *ratio_table(found), ""]))
        if given.figures:
            results = {each.row: kept(given.out, each.row) for each in group.rows}
            catalogue.save(drawn(group, results, found), given.figures)
    print("\n".join(["### Figures that are not believed", "", *doubts(rounds)]))


def chosen(only: Sequence[str]) -> dict[str, Group]:
    """The groups with the rows that were asked for, by their own name or that of their group; all when none was.

    Raises ValueError, with the names that there are, for any other.
    """
    rows = {each.row: name for name, group in GROUPS.items() for each in group.rows}
    if unknown := [name for name in only if name not in GROUPS and name not in rows]:
        raise ValueError(f"unknown row or group {unknown[0]}; known are {', '.join([*GROUPS, *rows])}")
    left = {
        name: Group(tuple(each for each in group.rows if not only or name in only or each.row in only), group.figures)
        for name, group in GROUPS.items()
    }
    return {name: group for name, group in left.items() if group.rows}


def _measure(groups: Mapping[str, Group], out: Path, to: Path, *, rounds: int, seconds: int | None) -> None:
    """Every row once in each round, so that what changes meanwhile meets all of them."""
    for folder in (out, to.parent):
        folder.mkdir(parents=True, exist_ok=True)
    rows = [each for group in groups.values() for each in group.rows]
    _write(to, asdict(_session()), new=True)
    with broker() as running:
        warm_page_cache(running.bootstrap)
        for number in range(rounds):
            for each in rows:
                print(f"round {number + 1} of {rounds}: {each.row}", file=sys.stderr, flush=True)
                lasting = [] if seconds is None else [f"phases.measure={seconds}s"]
                with topic(running.bootstrap, None) as name:
                    settings = [*each.settings, *lasting, f"topic.name={name}", "topic.reset=false"]
                    with run(each.scenario, running.bootstrap, *settings) as ran:
                        result = analysed(ran.folder)
                _keep(result, out, each.row, number)
                _write(to, asdict(measured(each.row, number, result)))


def _session() -> Session:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.strip()

    changed = " and changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    facts = {name: value for name, value in machine().items() if name in _MACHINE}
    date, _, _ = utc_text(clock_pair().wall_ns).partition("T")
    return Session(date, git("rev-parse", "--short", "HEAD") + changed, facts, versions())


def _write(to: Path, told: Mapping[str, object], *, new: bool = False) -> None:
    with to.open("w" if new else "a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")


def read(kept_in: Path) -> tuple[Session, list[Measured]]:
    """What was kept of all rounds; SystemExit where there is nothing."""
    if not kept_in.exists():
        raise SystemExit(f"there is no {kept_in}; measure first")
    session, *rounds = map(json.loads, kept_in.read_text(encoding="utf-8").splitlines())
    return Session(**session), [
        Measured(
            **{
                **told,
                "because": tuple(told["because"]),
                "readings": {path: Reading(**each) for path, each in told["readings"].items()},
            }
        )
        for told in rounds
    ]


def measured(row: str, number: int, result: Result) -> Measured:
    """What is kept of one round: the figures of the tables."""
    found = {path: result.trust[path] for path in _paths() if path in result.trust}
    doubted = [each for each in found.values() if each.trust == NOT_BELIEVED]
    return Measured(
        row,
        number + 1,
        result.verdict.state,
        tuple(dict.fromkeys(reason for each in doubted for reason in each.because)),
        {path: _reading(result, path) for path in found},
    )


def _paths() -> Iterator[str]:
    yield from RATES
    yield from (_path(kind, *where) for kind in KINDS for where in LATENCIES)
    yield from PEAKS


def _path(kind: str, path: str, name: str) -> str:
    return f"latency.{path}.{kind}.{name}_ms"


def _reading(result: Result, path: str) -> Reading:
    companion = result.trust[path]
    return Reading(companion.value, companion.low, companion.high, companion.trust, _is_least(result, path))


def _is_least(result: Result, path: str) -> bool:
    section, *where = path.split(".")
    if section != "latency":
        return False
    metric, kind, figure = where
    figures = getattr(result.latency, metric).kinds[kind]
    return figures is not None and figures.is_least(figure.removesuffix("_ms"))


def _keep(result: Result, out: Path, row: str, number: int) -> None:
    """The first round of a row takes the place of all that were measured at another time."""
    for old in _files(out, row) if number == 0 else ():
        old.unlink()
    (out / f"{row}.{number}.json").write_text(result.text() + "\n")


def kept(out: Path, row: str) -> list[Result]:
    """The results of a row, one for each round; SystemExit where there are none."""
    found = [parse_result(path.read_bytes()) for path in _files(out, row)]
    if not found:
        raise SystemExit(f"{out} has no result of {row}; measure it first")
    return found


def _files(out: Path, row: str) -> list[Path]:
    return sorted(out.glob(f"{row}.*.json"))


def table(group: Group, rounds: Sequence[Measured]) -> list[str]:
    """A Markdown table: each row as it was measured, by both kinds of latency, and as it was published."""
    lines = [HEADS, ("---",) * len(HEADS)]
    for each in group.rows:
        found = [measured.readings for measured in rounds if measured.row == each.row]
        lines += [_row(each.row, kind, found) for kind in KINDS]
        lines += [_published(known) for known in PUBLISHED if known.row == each.row]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def doubts(rounds: Sequence[Measured]) -> list[str]:
    """Which figures of the tables are not believed in which round, and why."""
    return [
        f"- {each.row}, round {each.round}: {', '.join(refused)}: {'; '.join(each.because)}"
        for each in rounds
        if (refused := [path for path, found in each.readings.items() if found.trust == NOT_BELIEVED])
    ]


def _row(row: str, kind: str, rounds: Sequence[Mapping[str, Reading]]) -> tuple[str, ...]:
    def cell(path: str, written: Callable[[float], str]) -> str:
        return spread([found.get(path) for found in rounds], written)

    return (
        row,
        f"Streamgauge, {kind} time",
        *(cell(path, whole) for path in RATES),
        *(cell(_path(kind, *where), significant) for where in LATENCIES),
        *(cell(path, whole) for path in PEAKS),
    )


def _published(known: Published) -> tuple[str, ...]:
    row, system, *figures = (getattr(known, each.name) for each in fields(known))
    return (row, f"SSP_kafka, {system}", *figures, "")


def spread(rounds: Sequence[Reading | None], written: Callable[[float], str]) -> str:
    """The median of the rounds in which a figure is believed or bounded, and from the lowest to the highest.

    The lowest and highest are ends of intervals, and left out where they are the same. In how many rounds the figure
    has a part is told where one lacks it; where fewer than half have it, there is no median.
    """
    known = [each for each in rounds if each is not None]
    if not known:
        return UNKNOWN
    believed = [each for each in known if each.trust != NOT_BELIEVED]
    if 2 * len(believed) < len(rounds):
        return f"not believed in {len(known) - len(believed)} of {len(rounds)}"
    low = min(each.value if each.low is None else min(each.low, each.value) for each in believed)
    high = max(each.value if each.high is None else max(each.high, each.value) for each in believed)
    mark = "> " if any(each.least for each in believed) else ""
    told = [] if written(low) == written(high) else [f"{written(low)} to {written(high)}"]
    told += [] if len(believed) == len(rounds) else [f"{len(believed)} of {len(rounds)} rounds"]
    return f"{mark}{written(median(each.value for each in believed))}" + (f" ({'; '.join(told)})" if told else "")


def offline() -> list[Row]:
    """What codecs make of batches of each kind of content, without a broker."""
    command = [sys.executable, "-m", "streamgauge", "compression", "payload", "--all", "--json"]
    return ratios(json.loads(call(command).output))


def ratio_table(found: Sequence[Row]) -> list[str]:
    """A Markdown table of ratios without a broker, each beside the one that was published; no line without ratios."""
    if not found:
        return []
    (_, *names), *published = _cells(_PUBLISHED_RATIOS)
    ours = {(row["payload"], row["codec"]): significant(row["ratio"]) for row in found}
    lines = [["payload", *(f"{name}, {whose}" for name in names for whose in ("here", "SSP_kafka"))]]
    lines += [["---"] * len(lines[0])]
    for payload, *theirs in published:
        pairs = zip(names, theirs, strict=True)
        lines.append(
            [payload, *(cell for name, ratio in pairs for cell in (ours.get((payload, name), UNKNOWN), ratio))]
        )
    why = "Uncompressed / compressed bytes of batches. SSP_kafka: one block of 1 MB, no stamps, gzip at its fastest."
    return ["", why, "", *(f"| {' | '.join(cells)} |" for cells in lines)]


def drawn(group: Group, results: Mapping[str, Sequence[Result]], ratios_found: Sequence[Row]) -> list[Figure]:
    """The figures of a group, of the round of each row whose end-to-end p99 is the median."""
    runs = [LabelledRun(each.label, _middle(results[each.row])) for each in group.rows]
    return [*(draw(runs) for draw in group.figures), *(compression(found) for found in (ratios_found,) if found)]


def _middle(rounds: Sequence[Result]) -> Result:
    def tail(result: Result) -> float:
        service = result.latency.end_to_end.service
        return float("inf") if service is None or service.p99_ms is None else service.p99_ms

    return sorted(rounds, key=tail)[len(rounds) // 2]


if __name__ == "__main__":
    main()
