"""The verdict: every rule in every status it can have, and the exit code."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest

from streamgauge.domain.folder.facts import Ending, RunFacts
from streamgauge.domain.tables.delivery import DELIVERY_COUNTS
from streamgauge.scenario.profile import recorded_profile
from streamgauge.verdict import RULES, Check, checks, exit_code
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.rule import Rule
from streamgauge.verdict.trust.causes import failing

SECONDS = 30
RATE = 10_000
MESSAGES = RATE * SECONDS
AHEAD_NS = 1_800_000_000 * 10**9
"""How far the wall clock is ahead of the monotonic clock."""
Tables = dict[str, list[dict[str, Any]]]


class Run:
    """A healthy run, to be made worse: facts as run.json has them, and tables by name."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = deepcopy(_FACTS)
        self.tables: Tables = _healthy_tables()
        self.reads_log = False
        """Whether its log was read again, which only run.json of a later format than 1 tells."""

    def row(self, table: str, **wanted: Any) -> dict[str, Any]:
        """The row of a table that has these values."""
        return next(row for row in self.tables[table] if wanted.items() <= row.items())

    def checks(self) -> list[Check]:
        facts = RunFacts.model_validate(self.facts)
        if self.reads_log:
            profile = recorded_profile(None, facts.scenario).model_copy(update={"reads_log": True})
            facts = facts.model_copy(update={"profile": profile.model_dump(mode="json")})
        return checks(facts, self.tables)

    def check(self, name: str) -> Check | None:
        return next((check for check in self.checks() if check.name == name), None)


_FACTS: dict[str, Any] = {
    "id": "x",
    "name": "baseline",
    "tag": 1,
    "created": "2026-01-01T00:00:00Z",
    "wall_ns": AHEAD_NS - 10 * 10**9,
    "monotonic_ns": -10 * 10**9,
    "command": [],
    "scenario": {"load": {"rate": "10k/s", "producers": 2}, "consume": {"consumers": 2}, "verify": "all"},
    "versions": {},
    "machine": {},
    "broker": {"embedded": True, "bootstrap": "127.0.0.1:1", "processes": ["broker-1"]},
    "topics": [{"id": 0, "name": "t"}],
    "groups": [{"id": 0, "name": "g"}],
    "workers": [
        {"name": "producer-0", "role": "producer", "number": 0, "exit_code": 0},
        {"name": "consumer-0", "role": "consumer", "number": 0, "exit_code": 0},
    ],
    "phases": [
        {"name": "warmup", "from_ns": -5 * 10**9, "to_ns": 0},
        {"name": "measure", "from_ns": 0, "to_ns": SECONDS * 10**9},
    ],
    "drained": True,
    "ending": "finished",
}


def _latency(metric: str, p50: float, p99: float, p99_9: float, **more: Any) -> dict[str, Any]:
    figures = {"p50_ms": p50, "p99_ms": p99, "p99_9_ms": p99_9, "max_ms": 2 * p99_9}
    scope = {"metric": metric, "scope": "measure", "count": MESSAGES, "censored": 0, "reason": None}
    return {**scope, **figures, **more}


def _healthy_tables() -> Tables:
    windows = [
        _latency("end_to_end_response", 3.3, 6.0, 8.0, scope="window", second=second) for second in range(-5, SECONDS)
    ]
    delivered = {**dict.fromkeys(DELIVERY_COUNTS, 0), "checked": MESSAGES, "negative_latencies": 0, "group": 0}
    delivered |= dict.fromkeys(("sent", "acked", "received", "delivered_once"), MESSAGES)
    looks = [
        {"process": process, "role": process[:-2], "scope": "interval", "second": half / 2, "poll_gap_ms": 0.4}
        for half in range(-4, 2 * SECONDS + 4)
        for process in ("producer-0", "producer-1", "consumer-0")
    ]
    return {
        "throughput": [
            {
                "scope": "measure",
                "duration_ns": SECONDS * 10**9,
                **dict.fromkeys(("due", "sent", "acked", "received"), MESSAGES),
            }
        ],
        "latency": [
            _latency("ack_response", 2.3, 5.0, 7.0),
            _latency("ack_service", 2.3, 5.0, 7.0),
            _latency("end_to_end_response", 3.3, 6.4, 8.6),
            _latency("end_to_end_service", 3.3, 6.4, 8.6),
            *windows,
        ],
        "schedule_delay": [
            {"producer": None, "count": MESSAGES, "p50_ms": 0.01, "p99_ms": 0.1, "p99_9_ms": 0.4, "max_ms": 2}
        ],
        "delivery": [{"scope": "run", **delivered}, {"scope": "measure", **delivered}],
        "resources": [
            {"process": "producer-0", "role": "producer", "scope": "measure", "cpu_cores": 0.2, "blocked_share": 0.0},
            {"process": "producer-1", "role": "producer", "scope": "measure", "cpu_cores": 0.3, "blocked_share": 0.0},
            {"process": "consumer-0", "role": "consumer", "scope": "measure", "cpu_cores": 0.1},
            {
                "process": "host",
                "role": "host",
                "scope": "measure",
                "cpu_cores": 0.7,
                "idle_share": 0.4,
                "steal_share": 0.001,
                "throttled_share": 0.0,
                "throttled_periods": 0,
                "throttled_periods_share": 0.0,
            },
            *looks,
            *(
                {"process": "host", "role": "host", "scope": "interval", "second": float(at), "wall_ahead_ns": AHEAD_NS}
                for at in range(-8, SECONDS + 4)
            ),
        ],
        "polls": [{"consumer": 0, "in_poll_share": 0.9}],
        "gc": [{"process": "broker-1", "second": 3.0, "pause_ms": 2.0}],
        "set_aside": [],
    }


Change = Callable[[Run], None]


def late(p50: float = 0.0, p99: float = 0.0, p99_9: float = 0.0) -> Change:
    """Make messages late, and both response times longer by so much."""

    def change(run: Run) -> None:
        added = {"p50_ms": p50, "p99_ms": p99, "p99_9_ms": p99_9}
        for row in run.tables["latency"]:
            if row["metric"].endswith("_response"):
                row.update({name: row[name] + more for name, more in added.items()})
        run.tables["schedule_delay"][0].update({name: more for name, more in added.items() if more})

    return change


def slow(added_ms: float) -> Change:
    """Make every p99 longer by so much, from due and from sent."""

    def change(run: Run) -> None:
        for row in run.tables["latency"]:
            row["p99_ms"] += added_ms

    return change


def blocked(share: float | None) -> Change:
    return lambda run: run.row("resources", process="producer-1", scope="measure").update(blocked_share=share)


def measured(**counts: int) -> Change:
    return lambda run: run.row("throughput", scope="measure").update(counts)


def throttled(
    share: float | None, periods_share: float | None, cores: int | None = 4, quota: float | None = 0.5
) -> Change:
    """A CPU quota stopped threads for so long by time, added up over cores, in periods that take so much of it."""

    def change(run: Run) -> None:
        periods = None if periods_share is None else round(10 * SECONDS * periods_share)
        figures = {"throttled_share": share, "throttled_periods_share": periods_share, "throttled_periods": periods}
        used("host", **figures)(run)
        facts(machine={"system": "Linux", "usable_cores": cores, "cpu_quota_cores": quota})(run)

    return change


def delivery(scope: str = "run", **counts: int | None) -> Change:
    return lambda run: run.row("delivery", scope=scope).update(counts)


def planted(name: str, count: int | None) -> Change:
    return lambda run: run.row("delivery", scope="run").update({name: count})


def used(process: str, **figures: float | None) -> Change:
    return lambda run: run.row("resources", process=process, scope="measure").update(figures)


def died(role: str, *, declared: bool = False, error: str | None = None, **more: Any) -> Change:
    def change(run: Run) -> None:
        worker = next(each for each in run.facts["workers"] if each["role"] == role)
        worker.update(exit_code=-9, declared_dead=declared, error=error, **more)

    return change


def another_died(run: Run) -> None:
    """A second producer, by itself."""
    run.facts["workers"].append({"name": "producer-1", "role": "producer", "number": 1, "exit_code": 1})


def silent(count: int | None, received: int | None) -> Change:
    """Messages without a report, of which so many came."""
    missed = None if count is None or received is None else count - received
    return delivery(fate_unknown=count, fate_unknown_received=received, unknown=missed)


def missing(*tables: str) -> Change:
    def change(run: Run) -> None:
        for table in tables:
            del run.tables[table]

    return change


def facts(**values: Any) -> Change:
    return lambda run: run.facts.update(values)


def polls(in_poll_share: float) -> Change:
    return lambda run: run.row("polls", consumer=0).update(in_poll_share=in_poll_share)


def gaps(process: str, gap_ms: float, every: int = 1) -> Change:
    """Long gaps in every so many looks, while the load is measured."""

    def change(run: Run) -> None:
        looks = [row for row in run.tables["resources"] if row["process"] == process and row["scope"] == "interval"]
        measured_looks = [row for row in looks if 0 < row["second"] <= SECONDS]
        for row in measured_looks[::every]:
            row["poll_gap_ms"] = gap_ms

    return change


def pauses(*pairs: tuple[float, float]) -> Change:
    rows = [{"process": "broker-1", "second": second, "pause_ms": pause} for second, pause in pairs]
    return lambda run: run.tables.update(gc=rows)


def latency(metric: str, **figures: float | None) -> Change:
    return lambda run: run.row("latency", metric=metric, scope="measure").update(figures)


def at_start(**figures: float) -> Change:
    return lambda run: run.row("latency", scope="window", second=1).update(figures)


def each_window(**figures: float | None) -> Change:
    def change(run: Run) -> None:
        for row in run.tables["latency"]:
            if row["scope"] == "window":
                row.update(figures)

    return change


def aside(kind: str, rows: int | None) -> Change:
    row = {"kind": kind, "source": f"events/{kind}/worker=w/part-0.parquet", "reason": "no footer", "rows": rows}
    return lambda run: run.tables["set_aside"].append(row)


def measured_for(seconds: int) -> Change:
    def change(run: Run) -> None:
        run.row("throughput", scope="measure").update(duration_ns=seconds * 10**9)
        run.tables["latency"] = [row for row in run.tables["latency"] if row.get("second", 0) < seconds]

    return change


def load(**values: Any) -> Change:
    return lambda run: run.facts["scenario"]["load"].update(values)


def consume(**values: Any) -> Change:
    return lambda run: run.facts["scenario"]["consume"].update(values)


def paced(rate: Any) -> Change:
    return load(rate=rate)


unpaced = paced("max")
closed_loop = paced({"closed": {"batch": 10}})
ramp = paced({"ramp": {"from": "1k/s", "to": "19k/s", "over": "30s"}})
poisson = paced({"poisson": {"rate": "10k/s"}})
flushing = load(flush=16)
transacted = load(transactions={"messages": 100})
slowed = consume(processing={"delay": "4ms"})


def lingering(milliseconds: object) -> Change:
    return load(client={"linger.ms": milliseconds})


def due_in_a_second(count: int) -> Change:
    """The most that was due in a second of the measure phase; in the drain, more."""
    rows = [{"scope": "window", "second": at, "due": due} for at, due in ((3, 10), (7, count), (40, 99_999))]
    return lambda run: run.tables["throughput"].extend(rows)


def two_groups(least: int) -> Change:
    rows = [{"scope": "group", "group": group, "received": count} for group, count in enumerate((MESSAGES, least))]

    def change(run: Run) -> None:
        run.tables["throughput"] += rows
        run.row("throughput", scope="measure").update(received=MESSAGES + least)

    return change


def sharing(role: str, *numbers: int) -> Change:
    """One process for several clients."""

    def change(run: Run) -> None:
        worker = next(each for each in run.facts["workers"] if each["role"] == role)
        name = f"{role}-{numbers[0]}..{numbers[-1]}"
        for row in run.tables["resources"]:
            if row["process"] == worker["name"]:
                row["process"] = name
        worker.update(name=name, number=numbers[0], members=numbers)

    return change


def processed(*rows: tuple[int, float | None, float | None, float | None]) -> Change:
    """Processed messages, their mean, what was asked and its deviation, of each delay; beside it a consumer's row."""
    names = ("processed", "mean_ms", "target_ms", "target_stddev_ms")
    phases = [{"phase": phase, **dict(zip(names, row, strict=True))} for phase, row in enumerate(rows)]
    consumer = {
        "phase": None,
        "consumer": 0,
        "processed": 9,
        "mean_ms": 9.0,
        "target_ms": 1.0,
        "target_stddev_ms": None,
    }
    return lambda run: run.tables.update(processing=[consumer, *phases])


def ended(**outcomes: int) -> Change:
    rows = [{"scope": "run", "outcome": outcome, "count": count} for outcome, count in outcomes.items()]
    return lambda run: run.tables.update(transactions=rows)


def connecting(failed: int = 0, began: int = 300, exhausted: int = 0, under_way: float = 1.0) -> Change:
    """Ten connections opened a second."""
    row = {"kind": "open", "made": began - failed, "failed": failed, "exhausted": exhausted, "error": "_TRANSPORT"}
    row |= {"target_per_second": 10.0, "duration_ns": SECONDS * 10**9, "schedule_delay_p99_ms": 1.0}
    row |= {"under_way": under_way, "at_once": 4}

    def change(run: Run) -> None:
        run.facts["scenario"]["connections"] = {"open": "10/s"}
        run.tables["connections"] = [row | {"scope": scope} for scope in ("run", "measure")]

    return change


def scenario(**parts: Any) -> Change:
    return lambda run: run.facts["scenario"].update(parts)


def policed(own_p99_ms: float = 0.1, waited_ms: float = 900.0, **row: Any) -> Change:
    """A credit of 5,000 messages: they wait for it, response times show it, and schedule delay from due does."""
    told = {"policy": "credit", "limit": 5_000, "credits_used_max": 5_000, "ambiguous": 0, "decisions": 9}

    def change(run: Run) -> None:
        late(p50=waited_ms / 2, p99=waited_ms, p99_9=waited_ms)(run)
        scenario(backpressure={"credit": {"limit": 5_000, "poll": "1ms"}})(run)
        run.facts["workers"].append({"name": "controller", "role": "controller", "number": 0, "exit_code": 0})
        run.tables["latency"] += [
            _latency("throttle", waited_ms / 2, waited_ms, waited_ms),
            _latency("own_schedule_delay", 0.01, own_p99_ms, max(0.4, own_p99_ms)),
        ]
        run.tables["backpressure"] = [{**told, "controller_died_second": None, **row}]

    return change


hysteresis = scenario(backpressure={"hysteresis": {"max_lag": 20_000, "resume_lag": None, "poll": "200ms"}})


def faults_of(*rows: tuple[float, str, str, str], error: str | None = None, asked: int = 1) -> Change:
    """Faults that were carried out, or not, of so many that were asked for."""
    names = ("second", "kind", "target", "action")
    found = [{**dict(zip(names, row, strict=True)), "error": error} for row in rows]

    def change(run: Run) -> None:
        scenario(faults=[{"at": "5s", "kind": "kill", "target": "consumer-0"}] * asked)(run)
        run.tables["faults"] = found

    return change


def paused(target: str, begin: float = 5.0, end: float = 9.0) -> Change:
    return faults_of((begin, "pause", target, "begin"), (end, "pause", target, "end"))


def piped(*happened: str, lacking: int = 0) -> Change:
    """A pipeline, and what happened to its query, which is back 4 s after each death."""
    names = ("event", "detail", "down_s")
    rows = [(each, "it threw", 4.0 if each == "ready" and place > 1 else None) for place, each in enumerate(happened)]

    def change(run: Run) -> None:
        scenario(pipeline={"job": {"pass": {}}, "engine": {"micro-batch": {}}})(run)
        run.tables["query"] = [dict(zip(names, row, strict=True)) for row in rows]
        run.tables["waterfall"] = [{"stage": "stage_all", "count": 1000, "null_count": lacking}]

    return change


lived = piped("started", "ready", "ended")


def read_again(run: Run) -> None:
    run.reads_log = True


counting = scenario(pipeline={"job": {"count": {"window": "10s"}}, "engine": {"micro-batch": {}}})
DIED = ("started", "ready", "died", "started", "ready", "ended")
AGAIN = ("started", "ready", "died", "started", "died", "started", "ready")
killed_twice = faults_of((5.0, "kill", "driver", "begin"), (8.0, "kill", "driver", "begin"), asked=2)
killed_driver = faults_of((5.0, "kill", "driver", "begin"))


def dropped(paused_s: float) -> Change:
    """Hysteresis that pauses, and drops what is due meanwhile: nothing waits for it."""

    def change(run: Run) -> None:
        hysteresis(run)
        run.tables["latency"].append(_latency("own_schedule_delay", 0.01, 0.1, 0.4))
        run.tables["backpressure"] = [{"policy": "hysteresis", "decisions": 1, "paused_s": paused_s}]

    return change


def sampled(failed: int = 0, cores: float | None = 0.01) -> Change:
    rows = [{"scope": "group", "error": "timed out" if number < failed else None} for number in range(100)]

    def change(run: Run) -> None:
        scenario(lag={"every": "100ms"})(run)
        run.tables["lag"] = [*rows, {"scope": "partition", "error": "not looked at"}]
        run.tables["resources"].append({"process": "lag", "role": "lag", "scope": "measure", "cpu_cores": cores})

    return change


def replicated(replicas: int = 3, **lacking: float) -> Change:
    """So many replicas of two partitions; the second one had these figures."""

    def change(run: Run) -> None:
        scenario(topic={"replication": replicas})(run)
        fine = {"under_replicated_seconds": 0.0, "leaderless_seconds": 0.0, "leader_changes": 0}
        fine["least_in_sync"] = replicas
        run.tables["partition_replicas"] = [{"partition": 0, **fine}, {"partition": 1, **fine, **lacking}]

    return change


def looked_for(*followers: tuple[float, int | None, int | None]) -> Change:
    """A worker looked, at these followers (second, controller, messages behind)."""

    def change(run: Run) -> None:
        run.facts["workers"].append({"name": "replicas-0", "role": "replicas", "number": 0, "exit_code": 0})
        names = ("second", "controller", "worst")
        run.tables["followers"] = [dict(zip(names, each, strict=True)) for each in followers]

    return change


def unanswered(*looks: tuple[float, bool]) -> Change:
    """Looks at replicas, and whether the cluster answered."""

    def change(run: Run) -> None:
        run.tables["replication"] = [{"second": second, "answered": answered} for second, answered in looks]

    return change


def asking(cores: float | None) -> Change:
    """Somebody asked for replicas."""

    def change(run: Run) -> None:
        row = {"process": "replicas-0", "role": "replicas", "scope": "measure", "cpu_cores": cores}
        run.tables["resources"].append(row)

    return change


def observed(p50_ms: float = 3.0, *, negative: int = 0, embedded: bool = True) -> Change:
    def change(run: Run) -> None:
        consume_only(run)
        row = _latency("since_record_time", p50_ms, 9.0, 12.0, min_ms=-4.0, negative=negative, count=1_000)
        run.tables["latency"] = [row]
        run.facts["broker"]["embedded"] = embedded

    return change


def wall_clock(*moves: tuple[float, float], ended_ms: float | None = None) -> Change:
    """From each second on, the wall clock is ahead by so many ms more; and when the run ended."""

    def change(run: Run) -> None:
        for row in run.tables["resources"]:
            if row["process"] == "host" and row["scope"] == "interval":
                row["wall_ahead_ns"] += round(1e6 * sum(ms for second, ms in moves if row["second"] >= second))
        if ended_ms is not None:
            ended_ns = 99 * 10**9
            run.facts.update(ended_monotonic_ns=ended_ns, ended_wall_ns=ended_ns + AHEAD_NS + round(1e6 * ended_ms))

    return change


def unread_wall_clock(run: Run) -> None:
    """As a run of an older version is."""
    for row in run.tables["resources"]:
        row.pop("wall_ahead_ns", None)


def begun(late_s: float, asked: str = "2027-01-15T07:59:55Z") -> Change:
    """The load was to begin five seconds after the run, in wall time, and began so much later."""

    def change(run: Run) -> None:
        scenario(phases={"start_at": asked})(run)
        begun_ns = round((late_s - 5) * 1e9)
        cuts = (("warmup", begun_ns, begun_ns + 5 * 10**9), ("measure", begun_ns + 5 * 10**9, begun_ns + 35 * 10**9))
        run.facts["phases"] = [{"name": name, "from_ns": begin, "to_ns": end} for name, begin, end in cuts]

    return change


def produce_only(run: Run) -> None:
    run.facts["scenario"]["consume"] = "off"


def consume_only(run: Run) -> None:
    run.facts["scenario"]["load"] = "off"


def few_samples(count: int) -> Change:
    def change(run: Run) -> None:
        for row in run.tables["latency"]:
            row.update(count=count)

    return change


def nothing_measured(run: Run) -> None:
    for row in run.tables["latency"]:
        row.update(count=0, p99_ms=None, reason="no message was measured")


SET_BACK = (
    "the wall clock was set back by 2.5 s, detected at 12.0 s; it moved by 2.5 s in total; it affects "
    "the stages of the pipeline"
)

CASES: Sequence[tuple[str, tuple[Change, ...], tuple[str, str] | None]] = [
    ("ending", (), ("instrument", "pass")),
    ("ending", (facts(reasons=["group g was not removed"]),), ("instrument", "warn")),
    ("ending", (facts(ending="interrupted"),), ("instrument", "warn")),
    ("ending", (facts(ending="failed", reasons=["no producer is running"]),), ("instrument", "fail")),
    ("ending", (facts(ending=None),), ("instrument", "fail")),
    ("workers", (), ("instrument", "pass")),
    ("workers", (died("producer"),), ("instrument", "fail")),
    ("workers", (died("producer", declared=True),), ("system", "warn")),
    ("workers", (died("producer", declared=True), died("consumer")), ("instrument", "fail")),
    ("workers", (facts(workers=[]),), ("instrument", "unknown")),
    ("dropped_rows", (), ("instrument", "pass")),
    ("dropped_rows", (lambda run: run.facts["workers"][0].update(dropped_rows=7),), ("instrument", "fail")),
    ("dropped_rows", (facts(workers=[]),), None),
    ("set_aside", (), ("instrument", "pass")),
    ("set_aside", (aside("sent", None),), ("instrument", "fail")),
    ("set_aside", (aside("resources", 4), aside("received", 5)), ("instrument", "fail")),
    ("set_aside", (aside("resources", 4),), ("instrument", "warn")),
    # A kind that a later version may have made.
    ("set_aside", (aside("tides", None),), ("instrument", "warn")),
    ("set_aside", (missing("set_aside"),), ("instrument", "unknown")),
    ("unrecorded", (), ("instrument", "pass")),
    ("unrecorded", (delivery(unrecorded=3),), ("instrument", "fail")),
    ("unrecorded", (delivery(unrecorded=3), died("producer")), ("instrument", "fail")),
    ("unrecorded", (delivery(unrecorded=3), died("producer", declared=True)), ("system", "warn")),
    # What it took up is known and recorded: another message without a row was lost otherwise.
    ("unrecorded", (delivery(unrecorded=3), died("producer", declared=True, next_seqs=[9])), ("instrument", "fail")),
    ("accounted", (), ("instrument", "pass")),
    ("accounted", (delivery(unaccounted=1),), ("instrument", "fail")),
    ("accounted", (delivery(unaccounted=1), died("producer", declared=True)), ("instrument", "fail")),
    ("accounted", (delivery(unaccounted=None),), ("instrument", "unknown")),
    ("accounted", (missing("delivery"),), ("instrument", "unknown")),
    ("accounted", (produce_only,), ("instrument", "pass")),
    ("accounted", (scenario(load="off"),), None),
    ("fate_unknown", (), ("instrument", "pass")),
    ("fate_unknown", (silent(400, 150), died("producer", declared=True)), ("system", "warn")),
    ("fate_unknown", (silent(400, 150), died("producer")), ("instrument", "fail")),
    ("fate_unknown", (silent(400, None), died("producer", declared=True), produce_only), ("system", "warn")),
    # Nobody knows whose they are, or one of several died by itself.
    ("fate_unknown", (silent(1, 1),), ("instrument", "fail")),
    ("fate_unknown", (silent(1, 1), died("consumer", declared=True)), ("instrument", "fail")),
    ("fate_unknown", (silent(1, 1), died("producer", declared=True), another_died), ("instrument", "fail")),
    ("fate_unknown", (died("producer"),), ("instrument", "pass")),
    ("fate_unknown", (silent(None, None),), ("instrument", "unknown")),
    ("fate_unknown", (scenario(load="off"),), None),
    ("unrecorded", (delivery(unrecorded=None),), ("instrument", "unknown")),
    ("unrecorded", (produce_only,), None),
    ("clock", (), ("instrument", "pass")),
    ("clock", (delivery(negative_latencies=1),), ("instrument", "fail")),
    ("clock", (missing("delivery"),), ("instrument", "unknown")),
    ("clock", (consume_only,), None),
    ("wall_clock", (), ("instrument", "pass")),
    ("wall_clock", (wall_clock((12, 0.9)),), ("instrument", "pass")),
    ("wall_clock", (wall_clock((12, 1.1)),), ("instrument", "warn")),
    ("wall_clock", (wall_clock((12, -3_600_000)),), ("instrument", "warn")),
    # There and back, and only between the last look and the end.
    ("wall_clock", (wall_clock((12, 2_000), (13, -2_000)),), ("instrument", "warn")),
    ("wall_clock", (wall_clock(ended_ms=2_000),), ("instrument", "warn")),
    ("wall_clock", (wall_clock(ended_ms=0.5),), ("instrument", "pass")),
    # Drifting, by less at each look than would be a step.
    ("wall_clock", (wall_clock(*((at, 0.4) for at in range(10))),), ("instrument", "warn")),
    # What rests on it: times of records, stages of a pipeline, the begin of the load if it has not begun yet.
    ("wall_clock", (observed(), wall_clock((12, 0.9))), ("instrument", "pass")),
    ("wall_clock", (observed(), wall_clock((12, 1.1))), ("instrument", "fail")),
    ("wall_clock", (observed(), wall_clock((-9, 2_000))), ("instrument", "fail")),
    ("wall_clock", (consume_only, wall_clock((12, 2_000))), ("instrument", "warn")),
    ("wall_clock", (lived, wall_clock((12, 2_000))), ("instrument", "fail")),
    ("wall_clock", (begun(0.0), wall_clock((12, 2_000))), ("instrument", "warn")),
    ("wall_clock", (begun(0.0), wall_clock((-9, 2_000))), ("instrument", "fail")),
    ("wall_clock", (unread_wall_clock,), None),
    ("wall_clock", (unread_wall_clock, observed()), ("instrument", "unknown")),
    ("wall_clock", (unread_wall_clock, begun(0.0)), ("instrument", "unknown")),
    ("start", (), None),
    ("start", (begun(0.0),), ("instrument", "pass")),
    ("start", (begun(0.1),), ("instrument", "pass")),
    ("start", (begun(0.101),), ("instrument", "fail")),
    ("start", (begun(11.6),), ("instrument", "fail")),
    ("start", (begun(-0.2),), ("instrument", "fail")),
    ("start", (begun(0.0, "2027-01-15T08:59:55+01:00"),), ("instrument", "pass")),
    ("start", (begun(0.0), facts(phases=[])), ("instrument", "unknown")),
    ("schedule", (), ("instrument", "pass")),
    # Late, but neither by a tenth of a figure nor by a millisecond.
    ("schedule", (late(p99=0.7),), ("instrument", "pass")),
    (
        "schedule",
        (late(p99=0.9), latency("ack_response", p99_ms=50), latency("ack_service", p99_ms=1)),
        ("instrument", "pass"),
    ),
    ("schedule", (late(p99=0.99),), ("instrument", "pass")),
    # Late by more than a millisecond, but by less than a tenth of a figure that is large.
    ("schedule", (slow(50.0), late(p99=1.5)), ("instrument", "pass")),
    ("schedule", (slow(50.0), late(p99=8.0)), ("instrument", "fail")),
    ("schedule", (late(p99=1.5),), ("instrument", "fail")),
    ("schedule", (late(p50=1.5),), ("instrument", "fail")),
    ("schedule", (late(p99_9=20.0),), ("instrument", "warn")),
    ("schedule", (late(p99=1500), blocked(0.06)), ("system", "warn")),
    ("schedule", (late(p99=1500), blocked(0.004)), ("instrument", "fail")),
    ("schedule", (late(p99=1500), died("producer", declared=True)), ("system", "warn")),
    # Never sent, not late: response time is moved by what was not sent.
    ("schedule", (latency("ack_response", p99_ms=9_000),), ("instrument", "pass")),
    ("schedule", (late(p99=1500), flushing), ("system", "warn")),
    ("schedule", (late(p99=1500), transacted), ("system", "warn")),
    ("schedule", (late(p99=1500), ramp), ("instrument", "fail")),
    ("schedule", (closed_loop,), None),
    ("schedule", (missing("schedule_delay"),), ("instrument", "unknown")),
    # What a policy holds back is late by a second, and not by the instrument's fault.
    ("schedule", (policed(),), ("instrument", "pass")),
    ("schedule", (policed(own_p99_ms=80.0),), ("instrument", "pass")),
    ("schedule", (policed(own_p99_ms=200.0),), ("instrument", "fail")),
    ("schedule", (policed(own_p99_ms=200.0), blocked(0.06)), ("system", "warn")),
    ("schedule", (policed(waited_ms=0.0, own_p99_ms=1.5),), ("instrument", "fail")),
    ("schedule", (policed(), hysteresis), ("instrument", "pass")),
    ("schedule", (hysteresis,), ("instrument", "unknown")),
    ("schedule", (late(p99=1500), paused("producer-1")), ("system", "warn")),
    ("schedule", (late(p99=1500), paused("broker-1")), ("system", "warn")),
    ("schedule", (late(p99=1500), paused("consumer-0")), ("instrument", "fail")),
    (
        "schedule",
        (late(p99=1500), faults_of((5.0, "pause", "producer-1", "begin"), error="gone")),
        ("instrument", "fail"),
    ),
    ("schedule", (unpaced,), None),
    ("schedule", (consume_only,), None),
    ("rate", (), ("instrument", "pass")),
    ("rate", (measured(sent=MESSAGES - 300),), ("instrument", "pass")),
    ("rate", (measured(sent=MESSAGES - 301),), ("instrument", "warn")),
    ("rate", (measured(sent=MESSAGES + 301),), ("instrument", "warn")),
    ("rate", (measured(sent=MESSAGES - 3_001),), ("instrument", "fail")),
    ("rate", (measured(sent=8_465 * SECONDS), blocked(0.4)), ("system", "fail")),
    ("rate", (measured(sent=8_465 * SECONDS), delivery("measure", failed=50_000)), ("system", "fail")),
    ("rate", (measured(sent=8_465 * SECONDS), died("producer", declared=True)), ("system", "fail")),
    ("rate", (measured(sent=8_465 * SECONDS), died("producer")), ("instrument", "fail")),
    # In a short phase, a short delay at its start or end is a large share.
    ("rate", (measured_for(3), measured(sent=3 * RATE - 1_000)), ("instrument", "warn")),
    ("rate", (measured_for(3), measured(sent=3 * RATE + 1_000)), ("instrument", "warn")),
    ("rate", (measured_for(3), measured(sent=3 * RATE + 1_001)), ("instrument", "fail")),
    # At low rates a message or two fall on the other side of the edges of the phase.
    ("rate", (paced("10/s"), measured(sent=302)), ("instrument", "pass")),
    ("rate", (paced("10/s"), measured(sent=303)), ("instrument", "warn")),
    # Nothing was due yet when it was interrupted, but something late was sent.
    ("rate", (poisson, measured(due=0, sent=1)), ("instrument", "pass")),
    ("rate", (policed(), measured(sent=8_465 * SECONDS)), ("system", "warn")),
    ("rate", (policed(waited_ms=0.0), measured(sent=0)), ("system", "warn")),
    ("rate", (policed(waited_ms=0.0), measured(sent=8_465 * SECONDS)), ("instrument", "fail")),
    ("rate", (policed(own_p99_ms=200.0), measured(sent=8_465 * SECONDS)), ("instrument", "fail")),
    ("rate", (policed(), measured(sent=8_465 * SECONDS), died("producer")), ("instrument", "fail")),
    ("rate", (paused("producer-0"), measured(sent=8_465 * SECONDS)), ("system", "fail")),
    ("rate", (dropped(5.0), measured(sent=2_000 * SECONDS)), ("system", "warn")),
    ("rate", (dropped(0.0), measured(sent=2_000 * SECONDS)), ("instrument", "fail")),
    # Of a run that was killed, what was sent last is not known.
    ("rate", (facts(ending=None),), ("instrument", "pass")),
    ("rate", (facts(ending=None), measured(sent=MESSAGES - 3_000)), ("instrument", "warn")),
    ("rate", (facts(ending=None), measured(sent=MESSAGES - 3_001)), ("instrument", "unknown")),
    (
        "rate",
        (measured(sent=200_000), delivery("measure", fate_unknown=97_000), died("producer")),
        ("instrument", "unknown"),
    ),
    (
        "rate",
        (measured(sent=200_000), delivery("measure", fate_unknown=96_999), died("producer")),
        ("instrument", "fail"),
    ),
    ("rate", (missing("throughput"),), ("instrument", "unknown")),
    # What was due is known, whatever the pace is called.
    ("rate", (paced("?"),), ("instrument", "pass")),
    ("rate", (unpaced,), None),
    ("rate", (closed_loop,), None),
    ("rate", (paced("closed"),), None),
    # What a shape asks for is what was due.
    ("rate", (ramp, measured(due=90_000, sent=90_000)), ("instrument", "pass")),
    ("rate", (ramp, measured(due=90_000, sent=89_000)), ("instrument", "fail")),
    ("rate", (paced("RAMP_10_from_1000_to_60"), measured(due=90_000, sent=90_050)), ("instrument", "pass")),
    ("rate", (ramp, missing("throughput")), ("instrument", "unknown")),
    ("unsent", (), ("instrument", "pass")),
    ("unsent", (delivery(unsent=5),), ("instrument", "fail")),
    ("unsent", (delivery(unsent=5), blocked(0.9)), ("system", "fail")),
    ("unsent", (delivery(unsent=5), died("producer", declared=True)), ("system", "fail")),
    ("unsent", (delivery(unsent=5), policed()), ("system", "warn")),
    ("unsent", (delivery(unsent=5), policed(own_p99_ms=200.0)), ("instrument", "fail")),
    ("unsent", (delivery(unsent=5), paused("broker-1")), ("system", "fail")),
    ("unsent", (delivery(unsent=None),), ("instrument", "unknown")),
    ("unsent", (unpaced,), None),
    ("linger", (), ("system", "pass")),
    ("linger", (lingering(0),), ("system", "warn")),
    ("linger", (lingering(0), unpaced), ("system", "warn")),
    ("linger", (lingering("0.5"),), ("system", "pass")),
    ("linger", (lingering(0), paced("900/s")), ("system", "pass")),
    ("linger", (lingering(0), ramp, due_in_a_second(1_200)), ("system", "warn")),
    ("linger", (lingering(0), ramp, due_in_a_second(900)), ("system", "pass")),
    ("linger", (lingering(0), closed_loop), ("system", "pass")),
    ("linger", (lingering(0), unpaced, flushing), ("system", "pass")),
    ("linger", (consume_only,), None),
    ("full_queue", (), ("system", "pass")),
    ("full_queue", (blocked(0.02),), ("system", "warn")),
    ("full_queue", (unpaced, blocked(0.8)), ("system", "pass")),
    ("full_queue", (unpaced, blocked(0.01)), ("instrument", "warn")),
    ("full_queue", (closed_loop, blocked(0.0)), None),
    ("full_queue", (unpaced, flushing, blocked(0.01)), None),
    ("full_queue", (flushing, blocked(0.02)), ("system", "warn")),
    ("full_queue", (ramp, blocked(0.02)), ("system", "warn")),
    ("full_queue", (missing("resources"),), ("system", "unknown")),
    ("full_queue", (consume_only,), None),
    ("credit", (), None),
    ("credit", (hysteresis,), None),
    ("credit", (policed(),), ("instrument", "pass")),
    ("credit", (policed(credits_used_max=5_001),), ("instrument", "fail")),
    ("credit", (policed(credits_used_max=5_001), died("consumer", declared=True)), ("instrument", "unknown")),
    ("credit", (policed(), died("consumer", declared=True)), ("instrument", "pass")),
    ("credit", (policed(credits_used_max=None),), ("instrument", "unknown")),
    # What a producer that died had taken up may have been outstanding besides.
    ("credit", (policed(within_limit=None), died("producer", declared=True)), ("instrument", "unknown")),
    ("credit", (policed(within_limit=True), died("producer", declared=True)), ("instrument", "pass")),
    ("credit", (policed(credits_used_max=5_001, within_limit=False), died("producer")), ("instrument", "fail")),
    ("credit", (policed(), missing("backpressure")), ("instrument", "unknown")),
    ("controller", (), None),
    ("controller", (policed(),), ("instrument", "pass")),
    ("controller", (policed(), died("controller")), ("instrument", "fail")),
    ("controller", (policed(controller_died_second=7.0), died("controller")), ("instrument", "fail")),
    ("controller", (policed(), died("controller", declared=True)), ("system", "warn")),
    ("controller", (hysteresis,), ("instrument", "unknown")),
    ("lost_credit", (), None),
    ("lost_credit", (hysteresis,), None),
    ("lost_credit", (policed(),), ("system", "pass")),
    ("lost_credit", (policed(ambiguous=3),), ("system", "warn")),
    ("lost_credit", (policed(ambiguous=None),), ("system", "unknown")),
    ("faults", (), None),
    ("faults", (paused("consumer-0"),), ("instrument", "pass")),
    ("faults", (faults_of((5.0, "kill", "consumer-0", "begin")),), ("instrument", "pass")),
    ("faults", (faults_of((5.0, "pause", "broker-1", "begin"), error="no such process"),), ("instrument", "fail")),
    ("faults", (faults_of((5.0, "kill", "consumer-0", "begin"), asked=2),), ("instrument", "fail")),
    ("faults", (faults_of((5.0, "move-leader", "partitions", "begin")),), ("instrument", "pass")),
    ("faults", (faults_of((5.0, "delay", "consumers", "begin")),), ("instrument", "fail")),
    ("faults", (faults_of((5.0, "delay", "clients-broker-1", "begin")),), ("instrument", "pass")),
    ("faults", (faults_of((5.0, "cut", "broker-1-broker-2", "begin")),), ("instrument", "pass")),
    ("faults", (paused("consumer-0"), missing("faults")), ("instrument", "unknown")),
    ("lag_samples", (), None),
    ("lag_samples", (scenario(lag=None),), None),
    ("lag_samples", (sampled(),), ("instrument", "pass")),
    ("lag_samples", (sampled(failed=1),), ("instrument", "warn")),
    ("query", (), None),
    ("query", (lived,), ("system", "pass")),
    ("query", (lived, missing("query")), ("system", "unknown")),
    ("query", (piped(*DIED), killed_driver), ("system", "pass")),
    ("query", (piped(*DIED),), ("system", "warn")),
    ("query", (piped(*DIED, *DIED[1:]), killed_driver), ("system", "warn")),
    # Killed again before it was ready, it comes back once.
    ("query", (piped(*AGAIN), killed_twice), ("system", "pass")),
    ("query", (piped(*AGAIN), killed_driver), ("system", "warn")),
    ("query", (piped(*AGAIN, "died"), killed_twice), ("system", "fail")),
    ("query", (piped("started", "ready", "failed"),), ("system", "fail")),
    ("source", (), None),
    ("source", (lived,), ("instrument", "pass")),
    ("source", (piped("started", "ready", "ended", lacking=3),), ("instrument", "warn")),
    ("source", (lived, missing("waterfall")), ("instrument", "unknown")),
    ("lag_samples", (sampled(failed=1), paused("broker-1")), ("system", "warn")),
    ("lag_samples", (sampled(), missing("lag")), ("instrument", "unknown")),
    ("replicas_in_sync", (), None),
    ("replicas_in_sync", (replicated(),), ("system", "pass")),
    ("replicas_in_sync", (replicated(under_replicated_seconds=3.0),), ("system", "warn")),
    ("replicas_in_sync", (replicated(leaderless_seconds=0.2),), ("system", "warn")),
    ("replicas_in_sync", (replicated(), missing("partition_replicas")), ("system", "unknown")),
    ("replicas_in_sync", (replicated(1),), ("system", "pass")),
    ("replicas_in_sync", (replicated(1, leaderless_seconds=0.2),), ("system", "warn")),
    # Nobody asked, and somebody did whose rows are gone.
    ("replicas_in_sync", (replicated(1), missing("partition_replicas")), None),
    ("replicas_in_sync", (looked_for(),), ("system", "unknown")),
    ("replica_sampler", (), None),
    ("replica_sampler", (replicated(), asking(0.05)), ("instrument", "pass")),
    ("replica_sampler", (replicated(), asking(0.06)), ("instrument", "warn")),
    ("replica_sampler", (replicated(), asking(None)), ("instrument", "unknown")),
    ("replica_sampler", (replicated(),), ("instrument", "unknown")),
    ("replica_sampler", (replicated(1),), None),
    ("replica_sampler", (replicated(1), looked_for(), asking(0.05)), ("instrument", "pass")),
    ("replica_sampler", (replicated(1), looked_for()), ("instrument", "unknown")),
    ("lag_sampler", (), None),
    ("lag_sampler", (sampled(cores=0.05),), ("instrument", "pass")),
    ("lag_sampler", (sampled(cores=0.06),), ("instrument", "warn")),
    ("lag_sampler", (sampled(cores=None),), ("instrument", "unknown")),
    ("connections", (), None),
    ("connections", (connecting(),), ("system", "pass")),
    ("connections", (connecting(failed=2),), ("system", "fail")),
    ("connections", (connecting(failed=2, exhausted=1),), ("instrument", "fail")),
    ("connection_rate", (), None),
    ("connection_rate", (connecting(),), ("instrument", "pass")),
    ("connection_rate", (connecting(began=297),), ("instrument", "warn")),
    ("connection_rate", (connecting(began=290),), ("instrument", "fail")),
    ("connection_rate", (connecting(began=290, under_way=3.9),), ("system", "fail")),
    ("worker_cpu", (), ("instrument", "pass")),
    ("worker_cpu", (used("producer-1", cpu_cores=0.97),), ("instrument", "warn")),
    ("worker_cpu", (used("producer-1", cpu_cores=0.97), late(p99=3)), ("instrument", "fail")),
    ("worker_cpu", (used("producer-1", cpu_cores=0.97), late(p99=3), blocked(0.3)), ("instrument", "warn")),
    (
        "worker_cpu",
        (used("producer-1", cpu_cores=0.97), late(p99=3), paused("producer-1")),
        ("instrument", "warn"),
    ),
    ("worker_cpu", (used("producer-1", cpu_cores=0.97), policed()), ("instrument", "warn")),
    ("worker_cpu", (used("producer-1", cpu_cores=0.97), policed(own_p99_ms=200.0)), ("instrument", "fail")),
    (
        "worker_cpu",
        (used("consumer-0", cpu_cores=1.2), polls(0.01), measured(received=9), paused("consumer-0")),
        ("instrument", "warn"),
    ),
    ("worker_cpu", (used("producer-1", cpu_cores=1.4), unpaced), ("instrument", "pass")),
    ("worker_cpu", (used("consumer-0", cpu_cores=1.2), polls(0.01)), ("instrument", "warn")),
    ("worker_cpu", (used("consumer-0", cpu_cores=1.2), polls(0.01), measured(received=9)), ("instrument", "fail")),
    ("worker_cpu", (used("consumer-0", cpu_cores=1.2), polls(0.5), measured(received=9)), ("instrument", "warn")),
    ("worker_cpu", (used("producer-1", cpu_cores=0.97), closed_loop), ("instrument", "fail")),
    ("worker_cpu", (used("producer-1", cpu_cores=0.9), closed_loop), ("instrument", "pass")),
    ("worker_cpu", (used("producer-1", cpu_cores=0.97), unpaced, flushing), ("instrument", "fail")),
    ("worker_cpu", (used("producer-1", cpu_cores=0.97), late(p99=3), ramp), ("instrument", "fail")),
    (
        "worker_cpu",
        (used("consumer-0", cpu_cores=1.2), polls(0.01), measured(received=9), slowed),
        ("instrument", "pass"),
    ),
    ("worker_cpu", (used("consumer-0", cpu_cores=1.2), polls(0.01), two_groups(9)), ("instrument", "fail")),
    ("worker_cpu", (used("consumer-0", cpu_cores=1.2), polls(0.01), two_groups(MESSAGES)), ("instrument", "warn")),
    # Nobody is to receive what was aborted, or what is in partitions that nobody is to read.
    (
        "worker_cpu",
        (
            used("consumer-0", cpu_cores=1.2),
            polls(0.01),
            measured(received=9),
            delivery("measure", aborted=9, unread=MESSAGES - 18),
        ),
        ("instrument", "warn"),
    ),
    # What came without a report does not make up for what was acknowledged and did not come.
    (
        "worker_cpu",
        (
            used("consumer-0", cpu_cores=1.2),
            polls(0.01),
            measured(acked=MESSAGES // 2, received=MESSAGES // 2 + 9),
            delivery("measure", fate_unknown_received=MESSAGES // 2),
        ),
        ("instrument", "fail"),
    ),
    (
        "worker_cpu",
        (used("consumer-0", cpu_cores=1.2), polls(0.01), measured(received=9), sharing("consumer", 0, 2)),
        ("instrument", "fail"),
    ),
    (
        "worker_cpu",
        (used("consumer-0", cpu_cores=1.2), polls(0.5), measured(received=9), sharing("consumer", 0, 2)),
        ("instrument", "warn"),
    ),
    ("worker_cpu", (missing("resources"),), ("instrument", "unknown")),
    ("worker_cpu", (produce_only, consume_only, missing("resources")), None),
    ("machine_cpu", (), ("instrument", "pass")),
    ("machine_cpu", (used("host", steal_share=None),), ("instrument", "pass")),
    ("machine_cpu", (used("host", steal_share=0.03),), ("instrument", "warn")),
    ("machine_cpu", (used("host", steal_share=0.2),), ("instrument", "fail")),
    ("machine_cpu", (used("host", idle_share=0.01),), ("instrument", "warn")),
    ("machine_cpu", (used("host", idle_share=0.01), unpaced), ("instrument", "pass")),
    ("machine_cpu", (used("host", idle_share=0.01), closed_loop), ("instrument", "warn")),
    ("machine_cpu", (used("host", idle_share=0.01, cpu_cores=0.76), unpaced), ("instrument", "warn")),
    ("machine_cpu", (used("host", idle_share=0.01, cpu_cores=None), unpaced), ("instrument", "pass")),
    ("machine_cpu", (used("host", idle_share=0.4, cpu_cores=2.0),), ("instrument", "pass")),
    ("machine_cpu", (used("host", idle_share=None),), ("instrument", "unknown")),
    ("cpu_quota", (), ("instrument", "pass")),
    ("cpu_quota", (throttled(0.0, 0.0, quota=2.0),), ("instrument", "pass")),
    ("cpu_quota", (throttled(0.0001, 0.003),), ("instrument", "warn")),
    # On four cores: a core was stopped for a quarter of the sum at least, and for all of it at most ...
    ("cpu_quota", (throttled(0.039, 0.9),), ("instrument", "warn")),
    ("cpu_quota", (throttled(0.041, 0.9),), ("instrument", "fail")),
    # ... but no longer than the periods in which that happened.
    ("cpu_quota", (throttled(0.041, 0.005),), ("instrument", "warn")),
    ("cpu_quota", (throttled(0.099, 0.9, cores=64),), ("instrument", "warn")),
    ("cpu_quota", (throttled(0.101, 0.9, cores=64),), ("instrument", "fail")),
    ("cpu_quota", (throttled(0.101, 0.09, cores=64),), ("instrument", "warn")),
    ("cpu_quota", (throttled(0.101, None, cores=None),), ("instrument", "fail")),
    ("cpu_quota", (throttled(1.9, 1.0), unpaced), ("instrument", "fail")),
    ("cpu_quota", (throttled(None, None), facts(machine={"system": "Linux"})), ("instrument", "unknown")),
    ("cpu_quota", (missing("resources"), facts(machine={"system": "Linux"})), ("instrument", "unknown")),
    ("cpu_quota", (throttled(None, None), facts(machine={"system": "Darwin"})), None),
    ("ack_polls", (), ("instrument", "pass")),
    ("ack_polls", (gaps("producer-1", 9.0, every=2),), ("instrument", "pass")),
    ("ack_polls", (gaps("producer-1", 9.0), latency("ack_response", p99_ms=90.0)), ("instrument", "pass")),
    ("ack_polls", (gaps("producer-1", 12.0),), ("instrument", "warn")),
    ("ack_polls", (gaps("producer-1", 120.0),), ("instrument", "fail")),
    ("ack_polls", (gaps("producer-1", 120.0), unpaced), ("instrument", "warn")),
    ("ack_polls", (gaps("producer-1", 120.0), closed_loop), ("instrument", "fail")),
    # While a worker is stopped on purpose, and when it looks again, it has not polled; at other times it must.
    ("ack_polls", (gaps("producer-1", 120.0), paused("producer-1", 0.0, 28.5)), ("instrument", "pass")),
    ("ack_polls", (gaps("producer-1", 120.0), paused("producer-1", 0.0, 20.0)), ("instrument", "fail")),
    ("ack_polls", (gaps("producer-1", 120.0), paused("producer-0", 0.0, 28.5)), ("instrument", "fail")),
    ("ack_polls", (gaps("consumer-0", 120.0),), ("instrument", "pass")),
    ("ack_polls", (missing("resources"),), ("instrument", "unknown")),
    ("ack_polls", (consume_only,), None),
    ("receive_polls", (), ("instrument", "pass")),
    ("receive_polls", (gaps("consumer-0", 12.0),), ("instrument", "warn")),
    ("receive_polls", (gaps("consumer-0", 120.0),), ("instrument", "fail")),
    ("receive_polls", (gaps("consumer-0", 120.0), paused("consumer-0", 0.0, 20.0)), ("instrument", "fail")),
    ("receive_polls", (gaps("consumer-0", 9.0), paused("consumer-0", 0.0, 30.0)), ("instrument", "unknown")),
    ("receive_polls", (missing("latency"),), ("instrument", "unknown")),
    ("receive_polls", (gaps("consumer-0", 120.0), slowed), None),
    ("receive_polls", (gaps("consumer-0", 120.0), consume(rate="1k/s")), None),
    ("receive_polls", (gaps("consumer-0", 120.0), consume(rate="unlimited", processing=None)), ("instrument", "fail")),
    ("receive_polls", (produce_only,), None),
    ("processing_delay", (), None),
    ("processing_delay", (slowed,), ("instrument", "unknown")),
    ("processing_delay", (slowed, processed((1_000, 4.079, 4.0, 0.0))), ("instrument", "pass")),
    ("processing_delay", (slowed, processed((1_000, 3.921, 4.0, 0.0))), ("instrument", "pass")),
    ("processing_delay", (slowed, processed((1_000, 4.09, 4.0, 0.0))), ("instrument", "warn")),
    ("processing_delay", (slowed, processed((1_000, 3.91, 4.0, 0.0))), ("instrument", "warn")),
    ("processing_delay", (slowed, processed((1_000, 4.5, 4.0, 0.0))), ("instrument", "fail")),
    ("processing_delay", (slowed, processed((1_000, 4.5, 4.0, 0.0)), paused("consumer-0")), ("system", "warn")),
    ("processing_delay", (slowed, processed((1_000, 4.5, 4.0, 0.0)), paused("producer-0")), ("instrument", "fail")),
    # The mean of a hundred exponential draws may be a tenth off; that of ten thousand may not.
    ("processing_delay", (slowed, processed((100, 4.8, 4.0, 4.0))), ("instrument", "pass")),
    ("processing_delay", (slowed, processed((10_000, 4.8, 4.0, 4.0))), ("instrument", "fail")),
    ("processing_delay", (slowed, processed((1_000, 4.0, 4.0, 0.0), (1_000, 2.3, 2.0, 0.0))), ("instrument", "fail")),
    ("processing_delay", (slowed, processed((1_000, 4.0, 4.0, 0.0), (1_000, 0.02, 0.0, 0.0))), ("instrument", "pass")),
    ("processing_delay", (slowed, processed((1_000, 0.02, 0.0, 0.0))), None),
    (
        "processing_delay",
        (consume(processing={"delay": None, "function": "a:b"}), processed((9, 1.0, None, None))),
        None,
    ),
    ("garbage_collection", (), ("system", "pass")),
    ("garbage_collection", (pauses((3.0, 5.0)),), ("system", "warn")),
    (
        "garbage_collection",
        (pauses(*((second, 12.0) for second in range(SECONDS))), late(p99_9=90)),
        ("system", "warn"),
    ),
    ("garbage_collection", (pauses((-1.0, 500.0), (30.0, 500.0)),), ("system", "pass")),
    ("garbage_collection", (missing("gc"),), ("system", "unknown")),
    ("garbage_collection", (facts(broker={"embedded": False, "bootstrap": "b:1"}),), None),
    ("start_transient", (), ("instrument", "pass")),
    ("start_transient", (at_start(p99_ms=300, max_ms=400),), ("instrument", "pass")),
    (
        "start_transient",
        (at_start(p99_ms=90, max_ms=130), latency("end_to_end_response", p99_9_ms=92.0)),
        ("instrument", "warn"),
    ),
    ("start_transient", (at_start(p99_ms=90), latency("end_to_end_response", p99_ms=11.9)), ("instrument", "pass")),
    ("start_transient", (at_start(p99_ms=90), latency("end_to_end_response", p99_ms=12.1)), ("instrument", "fail")),
    (
        "start_transient",
        (latency("end_to_end_response", p99_ms=1.2), each_window(p99_ms=0.5, max_ms=9.0)),
        ("instrument", "pass"),
    ),
    ("start_transient", (measured_for(4),), ("instrument", "unknown")),
    ("start_transient", (each_window(max_ms=None),), ("instrument", "unknown")),
    ("start_transient", (at_start(p99_ms=90), latency("end_to_end_response", p99_ms=12.1), ramp), None),
    (
        "start_transient",
        (at_start(p99_ms=90), latency("end_to_end_response", p99_ms=12.1), poisson),
        ("instrument", "fail"),
    ),
    ("start_transient", (consume(processing={"delay": "4ms", "changes": [{"at": "9s", "delay": "0s"}]}),), None),
    ("start_transient", (at_start(p99_ms=90), paused("consumer-0")), None),
    ("start_transient", (missing("latency"),), None),
    ("samples", (), ("instrument", "pass")),
    ("samples", (few_samples(10_000),), ("instrument", "pass")),
    ("samples", (few_samples(9_999),), ("instrument", "warn")),
    ("samples", (nothing_measured,), ("instrument", "unknown")),
    ("samples", (consume_only,), None),
    *[
        (name, changes, expected)
        for name, status in {
            "failed": "fail",
            "lost": "fail",
            "undelivered": "fail",
            "expired": "fail",
            "duplicate_producer": "warn",
            "duplicate_consumer": "warn",
            "reordered": "warn",
            "foreign": "warn",
            "unacked_received": "warn",
        }.items()
        for changes, expected in (
            ((), ("system", "pass")),
            ((planted(name, 1),), ("system", status)),
            ((planted(name, None),), ("system", "unknown")),
            ((missing("delivery"),), ("system", "unknown")),
        )
    ],
    *[
        (name, changes, expected)
        for name, status in {"truncated": "fail", "vanished": "fail", "offset_conflicts": "fail"}.items()
        for changes, expected in (
            ((planted(name, 1),), None),
            ((read_again, planted(name, 0)), ("system", "pass")),
            ((read_again, planted(name, 1)), ("system", status)),
            ((read_again, planted(name, None)), ("system", "unknown")),
            ((read_again, missing("delivery")), ("system", "unknown")),
            ((read_again, consume_only), None),
        )
    ],
    ("truncated", (read_again, produce_only, planted("truncated", 1)), ("system", "fail")),
    ("vanished", (read_again, produce_only), None),
    ("truncated", (read_again, piped(), planted("truncated", 1)), ("system", "fail")),
    ("vanished", (read_again, piped(), planted("vanished", 1)), None),
    ("offset_conflicts", (read_again, piped(), planted("offset_conflicts", None)), None),
    ("received_early", (), None),
    ("received_early", (transacted, delivery(received_early=0)), ("system", "pass")),
    ("received_early", (transacted, delivery(received_early=1)), ("system", "fail")),
    (
        "received_early",
        (transacted, delivery(received_early=1), consume(client={"isolation.level": "read_uncommitted"})),
        ("system", "pass"),
    ),
    ("received_early", (transacted, delivery(received_early=None)), None),
    ("received_early", (transacted, missing("delivery")), ("system", "unknown")),
    ("received_early", (transacted, produce_only), None),
    ("lost", (produce_only,), None),
    ("failed", (produce_only,), ("system", "pass")),
    ("duplicate_consumer", (consume_only,), ("system", "pass")),
    ("reordered", (consume_only,), None),
    ("corrupt", (), ("system", "pass")),
    ("corrupt", (delivery(corrupt=2),), ("system", "fail")),
    ("corrupt", (delivery(corrupt=None),), ("system", "unknown")),
    ("corrupt", (delivery(corrupt=None, checked=0),), ("system", "unknown")),
    ("corrupt", (lambda run: run.facts["scenario"].update(verify="off"),), None),
    ("aborted_received", (), None),
    ("aborted_received", (transacted,), ("system", "pass")),
    ("aborted_received", (transacted, delivery(aborted=500)), ("system", "pass")),
    ("aborted_received", (transacted, delivery(aborted=500, aborted_received=1)), ("system", "fail")),
    (
        "aborted_received",
        (
            transacted,
            delivery(aborted=500, aborted_received=500),
            consume(client={"isolation.level": "read_uncommitted"}),
        ),
        ("system", "pass"),
    ),
    ("aborted_received", (transacted, missing("delivery")), ("system", "unknown")),
    ("aborted_received", (transacted, produce_only), None),
    ("transactions", (), None),
    ("transactions", (ended(committed=90, aborted=10, unknown=0),), ("system", "pass")),
    ("transactions", (ended(committed=90, aborted=10, unknown=1),), ("system", "warn")),
    ("resent", (), None),
    ("resent", (load(resend=0),), None),
    ("resent", (load(resend=3),), ("system", "pass")),
    ("resent", (load(resend=3), delivery(resent=4)), ("system", "warn")),
    ("resent", (load(resend=3), delivery(resent=None)), ("system", "unknown")),
    ("record_clock", (), None),
    ("record_clock", (consume_only,), None),
    ("record_clock", (observed(),), ("instrument", "pass")),
    ("record_clock", (observed(embedded=False),), ("instrument", "unknown")),
    ("record_clock", (observed(0.9),), ("instrument", "warn")),
    ("record_clock", (observed(negative=9),), ("instrument", "warn")),
    ("record_clock", (observed(negative=10),), ("instrument", "fail")),
    ("undecided", (), ("instrument", "pass")),
    ("undecided", (delivery(unknown=4),), ("instrument", "unknown")),
    ("undecided", (delivery(unknown=None),), ("instrument", "unknown")),
    ("undecided", (produce_only,), None),
    ("undecided", (counting, delivery(unknown=None)), None),
    ("lost", (counting, delivery(lost=None)), None),
    ("foreign", (counting,), ("system", "pass")),
    ("corrupt", (counting,), None),
    ("corrupt", (lived,), ("system", "pass")),
    ("drain", (), ("system", "pass")),
    ("drain", (facts(drained=False),), ("system", "warn")),
    ("drain", (facts(drained=None),), ("system", "unknown")),
    ("drain", (produce_only,), None),
]


@pytest.mark.parametrize(("name", "changes", "expected"), CASES)
def test_a_rule(name: str, changes: tuple[Change, ...], expected: tuple[str, str] | None) -> None:
    """What the rule says of a healthy run with these changes; None where the question does not arise."""
    run = Run()
    for change in changes:
        change(run)

    check = run.check(name)

    assert (check and (check.about, check.status)) == expected
    if check:
        assert check.evidence
        assert bool(check.advice) == (check.status != "pass")


def test_a_healthy_run_passes_every_check() -> None:
    """Each name once; every name has its cases above."""
    answers = Run().checks()

    assert {check.status for check in answers} == {"pass"}
    assert [check.name for check in answers] == list(dict.fromkeys(check.name for check in answers))
    assert {check.name for check in answers} == {name for name, changes, expected in CASES if not changes and expected}
    assert {rule.name for rule in RULES} == {name for name, _, _ in CASES}


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_a_rule_says_what_it_may_answer(rule: Rule) -> None:
    """Its docstring is its reference: it warns and fails where that says so, about those that are named."""
    seen = {expected for name, _, expected in CASES if name == rule.name and expected}
    statuses = {status for _, status in seen}

    assert {about for about, _ in seen} == set(rule.about)
    assert ("Warns when:" in rule.doc, "Fails when:" in rule.doc) == ("warn" in statuses, "fail" in statuses)


def test_what_to_do_about_messages_that_came_twice_depends_on_what_stands_between() -> None:
    """A producer that retries, or a query that was restarted."""
    plain, through = Run(), Run()
    lived(through)
    for run in (plain, through):
        delivery(duplicate_producer=3)(run)
    checks = [run.check("duplicate_producer") for run in (plain, through)]
    assert ["enable.idempotence" in check.advice for check in checks if check] == [True, False]


def test_what_a_filter_drops_was_not_to_be_received() -> None:
    """Consumers that got all the rest have not fallen behind."""
    run = Run()
    scenario(pipeline={"job": {"filter": {"contains": "x"}}, "engine": {"micro-batch": {}}})(run)
    acked = run.row("throughput", scope="measure")["acked"]
    run.row("throughput", scope="measure")["received"] = acked / 4
    run.tables["pipeline_delivery"] = [{"scope": "measure", "group": 0, "dropped": acked * 3 // 4}]
    assert Evidence(RunFacts.model_validate(run.facts), run.tables).received_share == pytest.approx(1.0)


def test_the_group_that_fared_worst_is_judged() -> None:
    """One healthy group does not hide a group that lost messages."""
    run = Run()
    run.tables["delivery"].append({**run.row("delivery", scope="run"), "group": 1, "lost": 6})

    check = run.check("lost")

    assert check is not None
    assert (check.status, check.evidence) == ("fail", "6 of 300,000 messages (< 0.01 %) acknowledged and lost")


@pytest.mark.parametrize(
    ("changes", "name", "evidence"),
    [
        (
            (measured(sent=8_465 * SECONDS), blocked(0.4)),
            "rate",
            "target 10,000/s, sent 8,465/s, 15 % less; the client's queue was full 40 % of the time",
        ),
        (
            (late(p99=1.5),),
            "schedule",
            "schedule delay p99 1.50 ms, max 2.00 ms; ack p99 6.50 ms from due, 5.00 ms from sent",
        ),
        (
            (policed(own_p99_ms=200.0),),
            "schedule",
            "after admission: schedule delay p99 200 ms, max 400 ms; ack p99 905 ms from due, 705 ms without it",
        ),
        (
            (policed(), measured(sent=8_465 * SECONDS)),
            "rate",
            "target 10,000/s, sent 8,465/s, 15 % less; the policy throttled producers",
        ),
        ((policed(),), "credit", "at most 5,000 messages outstanding, credit for 5,000"),
        (
            (policed(controller_died_second=7.0), died("controller")),
            "controller",
            "the controller died at 7.0 s; no grants after that",
        ),
        ((sampled(failed=1),), "lag_samples", "1 of 100 samples failed: timed out"),
        ((paused("consumer-0"),), "faults", "injected: pause of consumer-0 at 5.0 s"),
        (
            (faults_of((5.0, "pause", "broker-1", "begin"), error="no such process"),),
            "faults",
            "pause of broker-1: no such process",
        ),
        ((), "rate", "target 10,000/s, sent 10,000/s"),
        ((measured(sent=MESSAGES + 600),), "rate", "target 10,000/s, sent 10,020/s, 0.20 % more"),
        (
            (late(p99_9=20.0),),
            "schedule",
            "schedule delay p99 0.100 ms, max 2.00 ms; ack p99.9 27.0 ms from due, 7.00 ms from sent",
        ),
        (
            (latency("ack_service", count=500),),
            "samples",
            "500 messages measured; p99.9 and p99.99 need 10,000 and more",
        ),
        ((delivery(unsent=100_000),), "unsent", "100,000 of 400,000 messages (25 %) were due but not sent"),
        ((facts(ending="failed", reasons=["a", "b"]),), "ending", "a; b"),
        ((facts(ending="failed"),), "ending", "the run failed"),
        ((facts(ending="interrupted", reasons=["a"]),), "ending", "interrupted: a"),
        ((facts(ending=None),), "ending", "run.json has no ending: the run was killed, or is still active"),
        ((), "worker_cpu", "busiest worker: producer-1 0.30 cores"),
        (
            (),
            "machine_cpu",
            "machine idle 40 % of the time, steal time 0.10 %, other processes used 0.10 cores",
        ),
        ((used("host", steal_share=None, cpu_cores=None),), "machine_cpu", "machine idle 40 % of the time"),
        ((), "cpu_quota", "no CPU quota"),
        (
            (throttled(0.9, 0.93),),
            "cpu_quota",
            "the CPU quota of 0.5 cores throttled threads for 22 % to 90 % of the time, in 279 periods",
        ),
        ((throttled(0.0, 0.0),), "cpu_quota", "the CPU quota of 0.5 cores throttled nothing"),
        ((begun(11.6),), "start", "the load was scheduled for 2027-01-15T07:59:55Z, and started 11.6 s late"),
        ((begun(0.05),), "start", "the load started at 2027-01-15T07:59:55Z as scheduled, 50.0 ms late"),
        (
            (lived, wall_clock((12, -2_500), (20, 1.5))),
            "wall_clock",
            SET_BACK,
        ),
        ((wall_clock(*((at, 0.4) for at in range(10))),), "wall_clock", "the wall clock drifted by 4.00 ms in total"),
        ((), "garbage_collection", "pauses: 1, < 0.01 % of the time, the longest 2.00 ms"),
        ((), "start_transient", "end-to-end p99 6.40 ms; highest p99 of a second in the later half 6.00 ms"),
        ((died("producer", error="disk full"),), "workers", "producer-0 died (disk full)"),
        ((died("consumer"),), "workers", "consumer-0 died (signal 9)"),
        (
            (gaps("producer-1", 120.0),),
            "ack_polls",
            "gaps above 1.00 ms take 12 % of the time, the longest 120 ms",
        ),
        (
            (aside("sent", None), aside("polls", 5)),
            "set_aside",
            "at least 5 rows from 2 places could not be used: events/sent/worker=w/part-0.parquet: no footer",
        ),
        (
            (aside("sent", None),),
            "set_aside",
            "an unknown number of rows from 1 place could not be used: events/sent/worker=w/part-0.parquet: no footer",
        ),
        (
            # What is told first is what the failure rests on.
            (aside("polls", 1), aside("received", 0)),
            "set_aside",
            "1 row from 2 places could not be used: events/received/worker=w/part-0.parquet: no footer",
        ),
        ((few_samples(500),), "samples", "500 messages measured; p99.9 and p99.99 need 10,000 and more"),
        ((delivery(unknown=4),), "undecided", "the outcome of 4 messages is not known"),
        (
            (silent(9, 3),),
            "undecided",
            "the outcome of 6 messages is not known: 6 of them have no report",
        ),
        (
            (silent(38_400, 6_746), died("producer")),
            "fate_unknown",
            (
                "38,400 messages were claimed by producer-0, which was killed, and have no report: 6,746 of them were "
                "received"
            ),
        ),
        (
            (silent(2, None), died("producer"), another_died),
            "fate_unknown",
            "2 messages were claimed by producer-0 and producer-1, which died, and have no report",
        ),
        ((silent(2, 0),), "fate_unknown", "2 messages were claimed and have no report: 0 of them were received"),
        (
            (delivery(unaccounted=None),),
            "accounted",
            "it is not known whether every message has a row: run.json does not say how many producer-0 claimed",
        ),
        (
            (delivery(unaccounted=None), facts(ending=None)),
            "accounted",
            (
                "it is not known whether every message has a row: "
                "the run was killed before it recorded how many messages were claimed"
            ),
        ),
        (
            (delivery(unaccounted=None), died("producer", next_seqs=[4])),
            "accounted",
            "it is not known whether every message has a row: the run was analysed by an older version",
        ),
        (
            (facts(ending=None), measured(sent=MESSAGES // 2)),
            "rate",
            (
                "target 10,000/s, sent 5,000/s, 50 % less; the run was killed, and the last messages may not have been "
                "recorded"
            ),
        ),
        (
            (
                replicated(under_replicated_seconds=3.04, leaderless_seconds=0.2, leader_changes=2, least_in_sync=1),
                looked_for((-1.0, 3, 0), (1.0, 1, 0), (2.0, None, None), (3.0, 1, 40), (4.0, 2, 0), (99.0, 1, 999)),
            ),
            "replicas_in_sync",
            (
                "1 of 2 partitions lacked a replica, for up to 3.0 s, 1 of 2 partitions lacked a leader, for up to "
                "0.2 s; the smallest in-sync replica set had 1 replica; 2 leader changes; 1 controller change; a "
                "broker was up to 40 messages of a partition behind"
            ),
        ),
        ((replicated(),), "replicas_in_sync", "3 replicas of each partition"),
        ((replicated(1),), "replicas_in_sync", "each partition has one replica"),
        (
            (replicated(1, under_replicated_seconds=3.0, leaderless_seconds=3.0, least_in_sync=0),),
            "replicas_in_sync",
            "1 of 2 partitions lacked a leader, for up to 3.0 s",
        ),
        (
            # The last one is after the measure phase.
            (replicated(1), unanswered((-2.0, False), (0.5, True), (4.0, False), (5.25, True), (30.0, False))),
            "replicas_in_sync",
            "each partition has one replica; the cluster did not answer for up to 1.2 s",
        ),
    ],
)
def test_evidence_is_numbers_with_units(changes: tuple[Change, ...], name: str, evidence: str) -> None:
    """What was seen, in words that can be checked."""
    run = Run()
    for change in changes:
        change(run)

    check = run.check(name)

    assert check is not None
    assert check.evidence == evidence


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((), True),
        ((delivery(lost=9, undelivered=9, corrupt=9, failed=9),), True),
        # Overload: the queue is full, messages are late and unsent, and nothing drains.
        ((late(p50=900, p99=1500), blocked(0.9), measured(sent=9), delivery(unsent=9), facts(drained=False)), True),
        ((facts(ending="interrupted"), measured_for(3), measured(sent=3 * RATE)), True),
        (
            (missing("delivery", "latency", "resources", "schedule_delay", "throughput", "gc", "polls", "set_aside"),),
            True,
        ),
        ((died("producer", declared=True), delivery(unrecorded=2, unsent=9), measured(sent=9)), True),
        # Declared: a worker is killed, others are paused, and a policy holds back what is due.
        (
            (
                policed(),
                died("consumer", declared=True),
                paused("producer-0"),
                gaps("producer-0", 120.0, every=20),
                measured(sent=9),
                delivery(unsent=9),
            ),
            True,
        ),
        ((silent(400, 150), died("producer", declared=True)), True),
        ((silent(400, 150),), False),
        ((delivery(unaccounted=1),), False),
        ((policed(credits_used_max=5_001),), False),
        ((late(p99=1.5),), False),
        ((delivery(negative_latencies=1),), False),
    ],
)
def test_only_the_instrument_makes_a_run_invalid(changes: tuple[Change, ...], expected: bool) -> None:
    """Whatever the system does, and whatever is not known, the measurement stands."""
    run = Run()
    for change in changes:
        change(run)

    assert (not failing(run.checks())) is expected


@pytest.mark.parametrize(
    ("changes", "name", "told", "untold"),
    [
        ((died("producer"),), "workers", ("`fate_unknown`", "log"), ("`unknown`", "block")),
        ((died("consumer"),), "workers", ("`unknown`", "log"), ("`fate_unknown`", "block")),
        ((died("consumer", declared=True),), "workers", ("`unknown`", "scenario"), ("block", "log")),
        ((died("producer"), died("consumer")), "workers", ("`fate_unknown`", "`unknown`"), ()),
        ((silent(9, 3),), "undecided", ("`fate_unknown`", "lower bounds"), ("Log ends",)),
        ((silent(9, 3), delivery(unknown=7)), "undecided", ("`fate_unknown`", "Log ends"), ()),
        ((delivery(unknown=7),), "undecided", ("Log ends",), ("`fate_unknown`",)),
    ],
)
def test_advice_says_where_to_find_what_the_dead_could_not_tell(
    changes: tuple[Change, ...], name: str, told: tuple[str, ...], untold: tuple[str, ...]
) -> None:
    run = Run()
    for change in changes:
        change(run)

    check = run.check(name)

    assert check is not None
    assert [words for words in told if words not in check.advice] == []
    assert [words for words in untold if words in check.advice] == []


def test_a_folder_without_anything_is_judged() -> None:
    """No table, no worker, no scenario worth the name: checks say unknown or are left out, and nothing raises."""
    bare: Mapping[str, Any] = {**_FACTS, "scenario": {}, "workers": [], "ending": None, "drained": None}

    answers = checks(RunFacts.model_validate(bare), {})

    assert {check.name: check.status for check in answers} == {
        "ending": "fail",
        "workers": "unknown",
        "set_aside": "unknown",
        "machine_cpu": "unknown",
        "garbage_collection": "unknown",
    }


@pytest.mark.parametrize(
    ("ending", "is_valid", "held", "code"),
    [
        ("finished", True, True, 0),
        ("finished", True, False, 3),
        ("finished", False, True, 4),
        ("finished", False, False, 4),
        ("failed", True, True, 1),
        ("failed", False, False, 1),
        ("interrupted", True, True, 130),
        ("interrupted", False, False, 130),
        (None, True, True, 1),
    ],
)
def test_exit_code(ending: Ending | None, is_valid: bool, held: bool, code: int) -> None:
    """The first that applies: interrupted, failed, not valid, expectation failed, done."""
    assert exit_code(ending, valid=is_valid, expectations_passed=held) == code
