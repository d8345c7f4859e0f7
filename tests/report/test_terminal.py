"""The screen: the verdict first, one screen when all is well, plain text where there is no terminal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import altered, observing, processing, transacting, used, waiting

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.percentiles import CDF_EDGES_MS
from streamgauge.domain.text.bars import ASCII, BLOCKS, Signs
from streamgauge.report.assemble.result import assemble
from streamgauge.report.pages.markdown import to_markdown
from streamgauge.report.pages.terminal import in_blocks, summary
from streamgauge.runs.request.percentiles import FIGURES
from streamgauge.scenario.profile import CLOSED_LOOP

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Make = Callable[..., RunFolder]

HEALTHY = """\
VALID  baseline, finished; checks: 32 passed

Run          2 producers, 10k/s, 512 bytes -> 12 partitions -> 2 consumers
             measured 10 s, Kafka 4.3.1, embedded broker
Throughput   target 10,000/s   sent 10,000/s   acked 10,000/s   received 10,000/s   5.12 MB/s

Latency, ms                         p50   p90   p99  p99.9   max  mean
             ack         response  3.00  4.50  6.00   7.50  18.0  2.00
                         service   3.00  4.50  6.00   7.50  18.0  2.00
             end-to-end  response  3.00  4.50  6.00   7.50  18.0  2.00
                         service   3.00  4.50  6.00   7.50  18.0  2.00

Delivery     120,000 sent, 120,000 acknowledged, 120,000 delivered once
             none failed, lost, undelivered, duplicated, reordered or corrupt
Resources    cores: producers 0.21 + 0.22, consumers 0.12 + 0.12, broker 0.44
             machine 38 % idle, 0.12 % steal, 2 GC pauses, longest 2.50 ms
Expected     2 of 2 passed
Files        runs/20260101-120000-baseline"""

TROUBLED = """\
NOT VALID  baseline, interrupted; checks: 29 passed, 2 failed, 1 warned
  believe  rates; schedule delay; delivery
  not      end-to-end and ack latency; polls
  because  2 of 120,000 messages were received before they were sent

  fail  No negative latencies  instrument  2 of 120,000 messages were received before they were sent
        clock                              The clocks disagree. Run all workers on one host.
  fail  No lost messages       system      12 of 120,000 messages (0.01 %) acknowledged and lost
        lost                               Use acks=all with replication; see `problems` for their
                                           partitions and offsets.
  warn  Run finished           instrument  interrupted
        ending                             Figures until then are valid.

Run          2 producers, 10k/s, 512 bytes -> 12 partitions -> 2 consumers
             measured 10 s, Kafka 4.3.1, embedded broker
Throughput   target 10,000/s   sent 10,000/s   acked 10,000/s   received 10,000/s   5.12 MB/s

Latency, ms                           p50     p90       p99     p99.9     max    mean
             ack         response  (3.00)  (4.50)    (6.00)    (7.50)  (18.0)  (2.00)
                         service   (3.00)  (4.50)    (6.00)    (7.50)  (18.0)  (2.00)
             end-to-end  response  (3.00)  (4.50)  (> 6.00)  (> 7.50)  (18.0)  (2.00)
                         service   (3.00)  (4.50)    (6.00)    (7.50)  (18.0)  (2.00)
             in brackets: not believed

Delivery     120,000 sent, 120,000 acknowledged, 119,988 delivered once
             12 lost
Resources    cores: producers 0.21 + 0.22, consumers 0.12 + 0.12, broker 0.44
             machine 38 % idle, 0.12 % steal, 2 GC pauses, longest 2.50 ms
Expected     0 of 2 passed
             delivery.lost expected 0, found 12
             latency.end_to_end.response.p99_ms expected <= 20, counting messages that never arrived
             it may be as high as infinite
Files        20260101-120000-baseline"""


BROKER = "the broker's threads waited for a core for 24 % of the time"
WORKERS = "the workers' threads waited for a core for 16 % of the time, those of their Kafka clients for 7.4 %"
EACH = "each can explain that share of the slowest messages, and what queued behind them"


def troubled(facts: Row, tables: Tables) -> None:
    facts["ending"] = "interrupted"
    tables["delivery"][0].update(lost=12, delivered_once=119_988, negative_latencies=2)
    response = next(row for row in tables["latency"] if row["metric"] == "end_to_end_response")
    response.update(p99_censored=True, p99_hi_ms=None, p99_9_censored=True, p99_9_hi_ms=None)


@pytest.mark.parametrize("signs", [BLOCKS, ASCII])
def test_a_drawn_healthy_run_has_at_most_forty_lines(make: Make, signs: Signs) -> None:
    """With every range of a wide distribution."""
    wide = [{"le_ms": edge, "share": (at + 1) / len(CDF_EDGES_MS)} for at, edge in enumerate(CDF_EDGES_MS)]
    result = altered(assemble(make()), "latency.end_to_end.response.cdf", wide)

    text = summary(result, colour=False, width=100, signs=signs)

    assert "Histogram" in text
    assert "received " + signs.levels[-1] * 10 in text
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("width", [80, 100])
def test_a_drawn_run_that_is_valid_in_part_has_at_most_forty_lines(make: Make, width: int) -> None:
    """Every latency is an interval, threads waited, a check warns: what a sound run on a small machine looks like."""
    reasons = ["schedule delay p99 0.942 ms", "longest gap between polls 60.6 ms", f"{WORKERS}: this can explain it"]
    result = altered(
        altered(assemble(make()), "verdict.place", f"{BROKER}; {WORKERS}: {EACH}"), "verdict.state", "in_part"
    )
    bounded = {
        path: each.model_copy(
            update={
                "trust": "not_believed" if path.endswith(("stddev_ms", "mad_ms")) else "bounded",
                "because": reasons,
            }
            | {"low": 6.21, "high": 7.9}
        )
        for path, each in result.trust.items()
        if path.startswith(("latency.ack", "latency.end_to_end"))
    }
    warned = [
        each.model_copy(update={"status": "warn", "evidence": "pauses: 4, 0.27 % of the time, the longest 7.54 ms"})
        if each.name == "garbage_collection"
        else each
        for each in result.verdict.checks
    ]
    verdict = result.verdict.model_copy(update={"checks": warned})
    shown = result.model_copy(update={"trust": result.trust | bounded, "verdict": verdict})

    text = summary(shown, colour=False, width=width, signs=BLOCKS)

    assert text.startswith("VALID IN PART")
    assert "warn  GC pauses short" in text
    assert "received " + BLOCKS.levels[-1] * 10 in text
    assert "  because       schedule delay p99 0.942 ms; longest gap between polls 60.6 ms" in text.splitlines()
    assert " ".join(text.split()).count(WORKERS) == 1
    assert len(text.splitlines()) <= 40


def test_a_result_that_is_longer_than_a_screen_is_drawn_whole(make: Make) -> None:
    """It has to be scrolled anyway."""
    result = assemble(make(troubled))
    checks = [each.model_copy(update={"status": "fail"}) for each in result.verdict.checks]
    failed = result.model_copy(update={"verdict": result.verdict.model_copy(update={"checks": checks})})

    text = summary(failed, colour=False, width=100, signs=BLOCKS)

    assert len(text.splitlines()) > 60
    assert "Histogram" in text


@pytest.mark.parametrize("width", [80, 100])
def test_figures_that_have_no_room_stand_below(make: Make, width: int) -> None:
    """Whole, also intervals of all of them, and under the head of each."""
    result = assemble(make(troubled))
    bounded = {
        path: each.model_copy(update={"trust": "bounded", "low": 1_234.5, "high": 12_345.6})
        for path, each in result.trust.items()
        if path.startswith("latency.")
    }
    text = summary(result.model_copy(update={"trust": bounded}), colour=False, width=width, names=FIGURES)

    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert text.count("1,234 to 12,346") == 4 * len(FIGURES)
    heads = [word for line in text.splitlines() for word in line.split() if word.replace(".", "_") in FIGURES]
    assert heads == [name.replace("_", ".") for name in FIGURES]


@pytest.mark.parametrize(
    ("widths", "room", "blocks"),
    [
        ([5, 5], 10, [[0, 1]]),
        ([5, 5, 5, 5, 5, 5], 25, [[0, 1, 2], [3, 4, 5]]),
        ([5, 5, 5, 5, 5, 5, 5], 25, [[0, 1, 2], [3, 4, 5, 6]]),
        ([5, 5, 5, 5, 5], 10, [[0], [1, 2], [3, 4]]),
        # Not even, where the second half has no room.
        ([1, 1, 1, 1, 6, 6], 10, [[0, 1, 2, 3, 4], [5]]),
        # What has no room at all stands alone.
        ([20, 3], 10, [[0], [1]]),
    ],
)
def test_columns_are_spread_evenly(widths: list[int], room: int, blocks: list[list[int]]) -> None:
    assert in_blocks(widths, room) == blocks


def test_other_percentiles_may_be_asked_for(make: Make) -> None:
    """On the screen and in summary.md alike."""
    result = assemble(make())

    lines = summary(result, colour=False, width=100, names=("p95", "p99_99", "min")).splitlines()

    assert "Latency, ms                         p95  p99.99    min" in lines
    assert "             ack         response  5.25    8.25  0.400" in lines
    assert "| ack | response | 5.25 | 8.25 | 0.400 |" in to_markdown(result, ("p95", "p99_99", "min"))


@pytest.mark.parametrize("width", range(80, 101, 5))
def test_a_rate_is_never_parted_from_its_name(make: Make, width: int) -> None:
    text = summary(assemble(make()), colour=False, width=width)

    assert all(f"{stage} 10,000/s" in text for stage in ("target", "sent", "acked", "received"))
    assert "5.12 MB/s" in text


def test_a_healthy_run_fits_on_one_screen(make: Make) -> None:
    """At most 24 lines of at most 100 columns."""
    text = summary(assemble(make()), Path("runs/20260101-120000-baseline"), colour=False, width=100)

    assert text == HEALTHY
    assert len(text.splitlines()) <= 24


def test_what_is_wrong_comes_first(make: Make) -> None:
    """The gravest checks first, with evidence and advice; intervals are marked; only troubles that there are."""
    assert summary(assemble(make(troubled)), colour=False, width=100) == TROUBLED


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("change", [None, troubled])
def test_lines_keep_to_the_width(make: Make, change: Any, width: int) -> None:
    """Text is wrapped, never cut off."""
    text = summary(assemble(make(*([change] if change else []))), colour=False, width=width)

    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert text.isascii()


@pytest.mark.parametrize(("columns", "width"), [("40", 80), ("90", 90), ("200", 100)])
def test_the_terminal_gives_the_width(make: Make, monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    """Within limits: narrower would be unreadable, and so would wider."""
    monkeypatch.setenv("COLUMNS", columns)
    result = assemble(make(troubled))

    assert summary(result, colour=False) == summary(result, colour=False, width=width)


def test_a_path_is_never_broken(make: Make) -> None:
    """It is there to be copied."""
    folder = Path("/".join(["a-rather-long-name-of-a-folder"] * 6))

    assert f"Files        {folder}" in summary(assemble(make()), folder, colour=False, width=80).splitlines()


def test_colour_is_for_terminals(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """None into a file or pipe; NO_COLOR takes colours away on a terminal too."""
    result = assemble(make())
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    green = "\x1b[1;32mVALID"

    assert "\x1b" not in summary(result)
    assert green in summary(result, colour=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert green not in summary(result, colour=True)


def test_what_a_run_has_not_is_left_out(make: Make) -> None:
    """A run that only consumes has polls and no latency of messages."""

    def consume_only(facts: Row, tables: Tables) -> None:
        facts["scenario"].update(load="off", expect={})
        facts["broker"] = {"embedded": False, "bootstrap": "kafka:9092"}
        for row in tables["latency"]:
            if row["metric"] != "poll":
                row.update({name: None for name in row if name.endswith(("_ms", "_ms2"))}, count=0, reason="no load")
        for row in tables["delivery"]:
            row.update(dict.fromkeys(("sent", "acked", "failed", "unsent", "lost", "undelivered", "delivered_once")))

    lines = summary(assemble(make(consume_only)), colour=False, width=100).splitlines()

    assert "Run          12 partitions -> 2 consumers" in lines
    assert "             measured 10 s, Kafka, kafka:9092" in lines
    assert "Throughput   received 10,000/s   5.12 MB/s" in lines
    assert "             poll    3.00  4.50  6.00   7.50  18.0  2.00" in lines
    assert "Delivery     120,000 received" in lines
    assert not any(line.startswith("Expected") for line in lines)


def test_a_cluster_is_told_by_its_nodes_whichever_of_their_lives(make: Make) -> None:
    def three(facts: Row, _tables: Tables) -> None:
        facts["broker"]["processes"] = ["broker-1", "broker-2", "broker-2.2", "broker-3"]

    lines = summary(assemble(make(three)), colour=False, width=100).splitlines()

    assert "             measured 10 s, Kafka 4.3.1, embedded cluster of 3 nodes" in lines


def test_how_clients_connected_is_told(make: Make) -> None:
    def secured(facts: Row, _tables: Tables) -> None:
        facts["broker"]["security"] = "SASL_SSL with PLAIN"

    lines = summary(assemble(make(secured)), colour=False, width=100).splitlines()

    assert "             measured 10 s, Kafka 4.3.1, embedded broker, SASL_SSL with PLAIN" in lines


def test_a_reason_stands_where_there_is_no_figure(make: Make) -> None:
    """A load as fast as possible has no response time."""

    def unpaced(facts: Row, tables: Tables) -> None:
        facts["scenario"]["load"]["rate"] = "max"
        for row in tables["latency"]:
            if row["metric"].endswith("_response") and row["scope"] == "measure":
                row.update({name: None for name in row if name.endswith("_ms")}, reason="the load has no schedule")

    lines = summary(assemble(make(unpaced)), colour=False, width=100).splitlines()

    assert "             ack         response     -     -     -      -     -     -  the load has no schedule" in lines
    rates = (f"{stage} >= 10,000/s" for stage in ("sent", "acked", "received"))
    assert f"Throughput   {'   '.join(rates)}   5.12 MB/s" in lines


def test_many_workers_are_told_by_their_range(make: Make) -> None:
    """Forty figures are none."""

    def many(_facts: Row, tables: Tables) -> None:
        row = tables["resources"][0]
        tables["resources"] += [row | {"process": f"producer-{each}", "cpu_cores": each / 10} for each in range(3, 8)]

    assert "cores: 7 producers 0.21 to 0.70," in summary(assemble(make(many)), colour=False, width=100)


def test_controllers_apart_are_no_brokers_and_one_that_started_again_is_one_of_them(make: Make) -> None:
    """Four brokers and two controllers in seven processes."""

    def clustered(_facts: Row, tables: Tables) -> None:
        others = [row for row in tables["resources"] if row["role"] != "broker"]
        nodes = ["broker-1", "broker-1.2", "broker-2", "broker-3", "broker-4", "controller-1", "controller-2"]
        tables["resources"] = [*others, *(used(node, "broker", 0.1 * at) for at, node in enumerate(nodes, 1))]

    shown = summary(assemble(make(clustered)), colour=False, width=200)
    assert "4 brokers 0.10 to 0.50, KRaft controllers 0.60 + 0.70" in shown


def test_a_folder_that_was_never_analysed_is_shown(make: Make) -> None:
    """No table, no end: dashes, and nothing that looks like a result."""

    def bare(facts: Row, tables: Tables) -> None:
        tables.clear()
        del facts["ending"]

    lines = summary(assemble(make(bare, judged=False)), colour=False, width=100).splitlines()

    assert lines[0] == "NOT JUDGED  baseline, did not end; no checks"
    assert "             no measurement, Kafka 4.3.1, embedded broker" in lines
    assert "             poll      -    -    -      -    -     -" in lines
    assert "Throughput   target 10,000/s" in lines
    assert "Delivery     not known" in lines
    assert "Resources    -" in lines


def lines_of(folder: RunFolder) -> list[str]:
    return summary(assemble(folder), colour=False, width=100).splitlines()


def test_what_few_runs_have_is_one_line_each(make: Make) -> None:
    """How transactions ended, what was processed, how long batches took."""
    lines = lines_of(make(transacting, waiting, processing))

    told = "900 committed, 100 aborted, 90.0/s of 100 messages, p50 12.5 ms, max 31.0 ms"
    assert f"Transactions  {told}" in lines
    assert "Processing    4,000 in 3.02 ms each (target 3.00 ms), 7 not processed, busy 75 % of the time" in lines
    assert "              10,000 aborted" in lines
    assert "              batch                 2.00  3.00  4.00   5.00  12.0  2.00" in lines
    assert "              flush wait            1.50  2.25  3.00   3.75  9.00  2.00" in lines


def test_the_age_of_records_says_whose_clock_it_is_from(make: Make) -> None:
    """It is no latency that the run measured itself."""

    def steady(_facts: Any, tables: Any) -> None:
        """Nobody has set the wall clock."""
        look = {"process": "host", "role": "host", "scope": "interval", "duration_ns": 10**9, "wall_ahead_ns": 0}
        tables["resources"] += [look | {"second": second} for second in (1.0, 2.0, 3.0)]

    lines = lines_of(make(observing, steady))

    assert "             since record time  broker  4.00  6.00  8.00   10.0  24.0  2.00" in lines
    assert not any("poll" in line.split() for line in lines)


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        ("closed", "closed loop"),
        ({"closed": {"batch": 10}}, "closed batch 10"),
        ({"ramp": {"from": "1k/s", "to": "10k/s", "over": "60s"}}, "ramp from 1k/s to 10k/s over 1m"),
        ({"segments": {"list": [{"rate": "1k/s", "for": "10s"}] * 3, "then": "hold"}}, "segments list of 3 then hold"),
        (
            {"windows": {"messages": 500, "window": "100ms", "spread": False}},
            "windows messages 500 window 100ms hold 1",
        ),
        ("RAMP_10_from_1000_to_60", "RAMP_10_from_1000_to_60"),
    ],
)
def test_a_load_is_told_in_a_few_words(make: Make, rate: Any, said: str) -> None:
    """Whatever shape it has."""

    def shaped(facts: Row, _tables: Tables) -> None:
        facts["scenario"]["load"].update(rate=rate, size={"uniform": {"from": 100, "to": 2000}})

    text = " ".join(" ".join(lines_of(make(shaped))).split())

    assert f"Run 2 producers, {said}, uniform from 100 to 2000 bytes -> 12 partitions -> 2 consumers" in text


def test_a_long_reason_is_cut_at_its_colon(make: Make) -> None:
    """It would be told in every line."""

    def closed(facts: Row, tables: Tables) -> None:
        facts["scenario"]["load"]["rate"] = "closed"
        for row in tables["latency"]:
            if row["metric"].endswith("_response") and row["scope"] == "measure":
                row.update({name: None for name in row if name.endswith("_ms")}, reason=CLOSED_LOOP)

    assert "             ack         response     -     -     -      -     -     -  closed loop" in lines_of(
        make(closed)
    )


def test_sizes_have_separators(make: Make) -> None:
    def large(facts: Row, _tables: Tables) -> None:
        facts["scenario"]["load"]["size"] = "100KiB"

    assert "Run          2 producers, 10k/s, 102,400 bytes -> 12 partitions -> 2 consumers" in lines_of(make(large))


def test_several_topics_and_groups_are_counted(make: Make) -> None:
    """Partitions and consumers are those of each."""

    def several(facts: Row, tables: Tables) -> None:
        facts["topics"] += [{"id": 1, "name": "b"}, {"id": 2, "name": "c"}]
        facts["groups"].append({"id": 1, "name": "h"})
        facts["scenario"]["consume"]["processing"] = {"delay": "4ms", "jitter": "1ms"}

    chain = "3 topics of 12 partitions -> 2 groups of 2 consumers, 4ms plus up to 1ms a message"
    assert chain in " ".join(" ".join(lines_of(make(several))).split())
