"""The command `simulate lag`: what its options mean, what it shows, and what it refuses."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.cli.simulate.checked import checked
from streamgauge.cli.simulate.options import SimulationOptions
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.runs.request.scenario_file import load_scenario

HEADS = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}


def said(arguments: str) -> str:
    result = CliRunner().invoke(app, ["simulate", "lag", *shlex.split(arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def told(arguments: str) -> Any:
    return json.loads(said(f"{arguments} --json"))


def refused(arguments: str) -> list[str]:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(app, ["simulate", "lag", *shlex.split(arguments)], catch_exceptions=False)
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.slow
def test_a_line_for_each_second_with_a_bar_as_long_as_the_lag() -> None:
    """10,000/s into 4,000/s for 8 s, and into 16,000/s from then on: the lag rises by 6,000 a second, and falls so."""
    lines = said("--change 8s:capacity=16k/s").splitlines()

    assert lines[0].split() == ["Second", "End", "Committed", "Lag", "Outstanding", "Worst"]
    rows = [line.split() for line in lines[1:18]]
    assert [row[0] for row in rows] == [str(second) for second in range(17)]
    assert rows[8][:2] == ["8", "80,001"]
    assert rows[8][4] == "48,024"
    bars = [line.count("#") for line in lines[1:18]]
    assert max(bars) == bars[8] == 32
    assert bars[:9] == sorted(bars[:9])
    assert bars[8:] == sorted(bars[8:], reverse=True)
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in "".join(lines)


def test_the_summary_stands_beside_the_theory() -> None:
    """Under a policy with its limits, and the limit of credit is exact."""
    shown = said("--limit 500 --duration 4s")

    assert "4 partitions, 8 producers, round robin, 4 slots, capacity 4,000/s" in shown
    assert "Outstanding  peak 500, mean" in shown
    (law,) = [line.split() for line in shown.splitlines() if line.startswith("peak outstanding")]
    assert law == ["peak", "outstanding", "500", "<=", "500", "the", "limit,", "exactly"]


def test_pauses_show_in_the_bars() -> None:
    shown = said("--max-lag 2k --held drop --duration 5s --every 500ms")

    assert any(line.endswith("==") for line in shown.splitlines())
    assert "A bar of = : producers are paused." in shown
    assert "paused." not in said("--duration 2s")


def test_json_has_all_of_it() -> None:
    """Scenario, model, rows, summary, and each law with what was simulated."""
    found = told("--limit 500 --duration 3s --every 500ms --sticky 10ms")

    assert set(found) == {"scenario", "model", "rows", "summary", "laws"}
    assert found["scenario"]["backpressure"] == {"credit": {"limit": 500, "poll": "1ms"}}
    assert found["model"]["sticky"] == {"lasts_ms": 10.0, "messages": None}
    assert [row["second"] for row in found["rows"]] == [0, 0.5, 1, 1.5, 2, 2.5, 3]
    for row in found["rows"]:
        assert row["lag"] == row["end"] - row["committed"]
        assert row["outstanding"] == row["end"] - row["processed"] <= 500
        assert (row["paused"], row["granted"]) == (None, row["processed"] + 500)
    for law in found["laws"]:
        assert law["simulated"] == found["summary"][law["figure"]]
    assert {law["relation"] for law in found["laws"]} <= {"at most", "at least", "about"}


@pytest.mark.parametrize(
    ("arguments", "path", "value"),
    [
        ("--partitions 6", "topic.partitions", 6),
        ("--duration 3s", "phases.measure", "3s"),
        ("--rate 2k/s", "load.rate", "2k/s"),
        ("--producers 3", "load.producers", 3),
        ("--capacity 8k/s", "consume.processing.delay", "500us"),
        ("--capacity 8k/s --partitions 8", "consume.processing.delay", "1ms"),
        ("--capacity 8k/s --slots 16", "consume.processing.delay", "2ms"),
        ("--slots 16", "consume.processing.slots", 16),
        ("--delay 3ms --jitter 1ms", "consume.processing.jitter", "1ms"),
        ("--change 500ms:delay=2ms", "consume.processing.changes.0.delay", "2ms"),
        ("--change 900ms:capacity=8k/s --change 500ms:capacity=2k/s", "consume.processing.changes.1.delay", "500us"),
        ("--change 500ms:rate=5k/s", "load.rate.segments.list.1.rate", "5k/s"),
        ("--change 500ms:rate=5k/s", "load.rate.segments.list.0.for", "500ms"),
        ("--max-lag 5k", "backpressure.hysteresis.max_lag", 5000),
        ("--max-lag 5k --resume-lag 1k --poll 50ms", "backpressure.hysteresis.resume_lag", 1000),
        ("--max-lag 5k --poll 50ms", "backpressure.hysteresis.poll", "50ms"),
        ("--limit 9", "backpressure.credit.limit", 9),
        ("--policy credit --limit 9 --poll 5ms", "backpressure.credit.poll", "5ms"),
        ("--sampling 200ms", "lag.every", "200ms"),
        ("--commit 70ms", "consume.commit.interval", "70ms"),
        ("--commit never", "consume.commit", "never"),
        ("--partitioning sticky", "load.partition", "client"),
        ("--seed 7", "seed", 7),
    ],
)
def test_an_option_means_a_key_of_a_scenario(arguments: str, path: str, value: object) -> None:
    found = told(arguments if "--duration" in arguments else f"{arguments} --duration 1s")["scenario"]
    for key in path.split("."):
        found = found[int(key) if key.isdecimal() else key]

    assert found == value


def test_a_scenario_gives_all_numbers_and_options_change_them() -> None:
    """The policy of the scenario stays with what is not said of it, and another one takes its place."""
    found = told("--scenario bp-tight --duration 2s --max-lag 6k")
    shipped = load_scenario("bp-tight").backpressure

    assert shipped is not None
    assert shipped.hysteresis is not None
    assert found["scenario"]["name"] == "bp-tight"
    assert found["scenario"]["backpressure"]["hysteresis"] == {
        "max_lag": 6000,
        "resume_lag": 1000,
        "poll": "100ms",
        "held": "drop",
    }
    assert found["model"]["slots"] == 12
    assert "hysteresis" in told("--scenario bp-tight --duration 2s --poll 50ms")["scenario"]["backpressure"]
    credited = told("--scenario bp-tight --duration 2s --limit 50")["scenario"]["backpressure"]
    assert credited == {"credit": {"limit": 50, "poll": "1ms"}}
    assert "backpressure" not in told("--scenario bp-tight --duration 2s --policy off")["scenario"]
    changed = told("--scenario bp-tight --set topic.partitions=3 --duration 2s")
    assert changed["model"]["slots"] == 3


@pytest.mark.parametrize(
    ("named", "settings", "slots"),
    [
        ("baseline", (), 2),
        ("quick", (), 1),
        ("client-pass", (), 1),
        ("bp-tight", (), 12),
        ("bp-tight", ("topic.partitions=3",), 3),
        ("bp-tight", ("load.partition=0",), 1),
        ("baseline", ("topic.count=3",), 2),
        ("baseline", ("consume.processing.order=partitions", "topic.count=3"), 36),
        ("baseline", ("consume.consumers=3", "consume.processing={order: slots, slots: 2}"), 6),
    ],
)
@pytest.mark.parametrize("said", [{"capacity": "4k/s"}, {"change": ("1s:capacity=4k/s",)}])
def test_a_capacity_is_that_of_all_slots_of_a_scenario(
    named: str, settings: Sequence[str], slots: int, said: dict[str, Any]
) -> None:
    """However many the model has: by consumers, partitions of all topics, or as the scenario says."""
    _, found, _ = checked(SimulationOptions(scenario=named, settings=settings, duration="2s", **said))

    assert found.slots == slots
    assert found.capacity(NS_PER_SECOND) == pytest.approx(4000, rel=1e-3)


def test_partitions_may_be_drawn() -> None:
    drawn = [told(f"--duration 2s --limit 20 {how}") for how in ("--partitioning random", "--sticky 25", "")]

    assert [each["model"]["sticky"] for each in drawn] == [
        {"lasts_ms": 0.0, "messages": None}, {"lasts_ms": None, "messages": 25}, None,
    ]  # fmt: skip
    random, stuck, even = (each["summary"]["utilisation"] for each in drawn)
    assert stuck < random < even


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
@pytest.mark.parametrize("policy", ["", "--limit 100", "--max-lag 2k", "--max-lag 2k --held drop"])
@pytest.mark.slow
def test_a_figure_is_drawn(kind: str, policy: str, tmp_path: Path) -> None:
    """Of the kind that its name says, whole or not at all."""
    said(f"--duration 2s {policy} --figure {tmp_path}/lag.{kind}")

    assert (tmp_path / f"lag.{kind}").read_bytes()[: len(HEADS[kind])] == HEADS[kind]
    assert [path.name for path in tmp_path.iterdir()] == [f"lag.{kind}"]


def test_a_figure_names_its_limits(tmp_path: Path) -> None:
    said(f"--duration 4s --max-lag 2k --held drop --figure {tmp_path}/lag.svg")
    drawn = (tmp_path / "lag.svg").read_text(encoding="utf-8")

    for word in ("committed lag", "outstanding", "worst partition", "max lag", "resume lag", "in theory"):
        assert word in drawn


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--rate fast", "--rate: 'fast': not a rate"),
        ("--capacity fast", "--capacity: 'fast': not a rate. Write messages a second like 4k/s"),
        ("--capacity 0/s", "--capacity: '0/s': a capacity of 0"),
        ("--capacity 1k/s --delay 1ms", "--capacity: cannot be combined with --delay and --jitter"),
        ("--duration 16q", "--duration: '16q': not a duration"),
        ("--duration 11m", "--duration: warm-up and measure phase are longer than 10 minutes"),
        ("--partitions 0", "--partitions: 0"),
        ("--slots 0", "--slots: 0"),
        ("--change 8s", "--change: '8s': not a change"),
        ("--change 8s:speed=1", "--change: '8s:speed=1': not a change"),
        ("--change 0s:rate=1k/s", "--change: '0s:rate=1k/s': changes a value before it exists"),
        ("--change 1s:capacity=1k/s,delay=1ms", "capacity and delay exclude each other"),
        ("--change 1s:rate=fast", "--change: 'fast': not a rate"),
        ("--scenario bursty-heavy --change 1s:rate=1k/s", "--change: the scenario's rate has a shape"),
        ("--policy loose", "--policy: 'loose' is not known. Write one of off, hysteresis, credit"),
        ("--policy credit", "--limit: is missing"),
        ("--policy off --limit 3", "--policy off: has no limits of credit"),
        ("--max-lag 5 --limit 10", "--max-lag, --limit: select two policies"),
        ("--max-lag 5 --resume-lag 6", "--max-lag, --resume-lag: "),
        ("--limit 3", "--limit: 3: 8 producers"),
        ("--poll 1s", "--poll: no policy is given"),
        ("--sampling 1ms", "--sampling: "),
        ("--partitioning hash", "--partitioning: 'hash' is not known"),
        ("--partitioning random --sticky 5ms", "--sticky: cannot be combined with --partitioning random"),
        ("--sticky 0", "--sticky: '0': 0 messages"),
        ("--held lost", "--held: 'lost' is not known. Write one of keep, drop"),
        ("--transit fast", "--transit: 'fast': not a duration"),
        ("--every 1us", "--every: '1us': less than 1ms"),
        ("--every 1ms", "--every: prints more than 10,000 lines"),
        ("--figure lag.txt", "--figure lag.txt: not a format of figures"),
        ("--figure no/where/lag.svg", "--figure no/where/lag.svg: there is no such folder"),
        ("--set topic.partitions=3", "--set: needs --scenario"),
        ("--scenario bp-tigt", "bp-tigt: no scenario of this name. Did you mean `bp-tight`?"),
        ("--scenario bp-tight --set load.rat=1", "load.rat: no such key"),
        ("--scenario drain", "load, consume: one of them is off"),
        ("--scenario kill-consumer", "faults: are not simulated"),
    ],
)
def test_bad_input_gets_one_clear_message(arguments: str, expected: str) -> None:
    """With the name of the option that it is about, where there is one."""
    assert any(expected in fault for fault in refused(arguments))


def test_everything_that_is_wrong_is_said_at_once() -> None:
    found = refused("--rate fast --capacity x --held x --sticky 0 --every 1us --figure a.txt --change 8s --slots 0")

    assert {fault.partition(":")[0] for fault in found} == {
        "--rate", "--capacity", "--held", "--sticky", "--every", "--figure a.txt", "--change", "--slots",
    }  # fmt: skip


def test_help_teaches_with_examples() -> None:
    shown = " ".join(said("--help").split())

    assert "Example: streamgauge simulate lag --change 8s:capacity=16k/s" in shown
    assert "--scenario NAME" in shown
