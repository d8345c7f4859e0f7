"""Carriers of acknowledgements side by side: what they cost and give, in tables, figures and on the page."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import vl_convert

from streamgauge.report.compare.answers import together_of
from streamgauge.report.compare.carriers import MEASURES, carrier_bars, carrier_table, carriers
from streamgauge.report.compare.figures import carrier_figures
from streamgauge.report.compare.html import comparison_html
from streamgauge.report.compare.pages import comparison_markdown, comparison_text
from streamgauge.report.compare.variants import Alike
from streamgauge.report.pages import html
from streamgauge.result.reading import result_of

Document = dict[str, Any]
Make = Callable[..., Alike]
P99 = "latency.processing.response.p99_ms"
OPTIONS: dict[str, Any] = {
    "offsets": "offsets",
    "retry": {"retry": {"delays": ["1s"], "limit": 3}},
    "markers": {"markers": {"timeout": "1s", "limit": 3}},
    "share": {"share": {"lock": "1s", "limit": 3}},
}
BY_NUMBER = [
    {"number": number, "deliveries": count, "accepted": 0, "rejected": 0, "released": 0, "timed_out": 0,
     "unanswered": 0, "dead_letter": 0, "expected": 1_000 / 2 ** (number - 1)}
    for number, count in enumerate((1_000, 490, 260, 130), 1)
]  # fmt: skip


def wire(messages: int) -> Document:
    counts = dict.fromkeys(("message_bytes", "wire_bytes", "requests", "retries", "throttle_ms"), 0)
    means = dict.fromkeys(("ratio", "messages_per_request", "rtt_ms", "rtt_p99_ms"))
    return {"messages": messages, **counts, **means, "scope": "measure", "workers": [], "reasons": {}}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "bundle", lambda: "/* bundle */")


@pytest.fixture
def make(healthy_result: Document) -> Make:
    """A variant of a carrier with some runs; of the measure phase, 2,000 messages a second were sent."""

    def variant(name: str, carrier: str, fail: float = 0.5, *, rounds: int = 3, doubted: int = 0, **more: Any) -> Alike:
        runs = []
        for place in range(rounds):
            document = deepcopy(healthy_result)
            run = document["run"]
            run |= {"id": f"{name}-{place}", "created": f"2026-01-01T00:00:0{place}Z"}
            run["scenario"]["consume"] |= {"acknowledge": {**_of(OPTIONS[carrier]), **more} or carrier}
            run["scenario"]["consume"]["processing"] = {"fail": fail}
            run["profile"]["consume"]["acknowledge"] = None
            document["throughput"]["sent_per_second"] = 2_000.0
            document["delivery"]["checked"] = 1_000
            document["wire"] = {
                "producers": wire(1_000), "consumers": None, "bytes_per_message": 600.0 + place,
                "requests_per_message": 0.5, "reasons": {},
            }  # fmt: skip
            usage = dict.fromkeys(("cpu_us_per_message", "rss_bytes", "messages", "blocked_share", "poll_gap_ms"))
            document["resources"]["processes"] = [
                {"process": process, "role": process.rstrip("-01"), "cpu_cores": cores, **usage}
                for process, cores in (("broker-1", 0.5), ("consumer-0", 0.2), ("consumer-1", 0.2), ("tracker-0", 0.1))
            ]
            if carrier != "offsets":
                run["profile"]["consume"]["acknowledge"] = {
                    "carrier": carrier, "timeout_ms": 1_000.0, "delays_ms": [], "limit": 3, "fail": fail, "poison": 0.0,
                    "is_expected": True, "dead_letters": True,
                }  # fmt: skip
                document["wire"]["acknowledgements"] = wire(2_500)
                document["redelivery"] = redelivery()
            document["latency"]["processing"] = document["latency"]["end_to_end"]
            trust = "not_believed" if place < doubted else "believed"
            document["trust"][P99] = {**document["trust"]["latency.end_to_end.response.p99_ms"], "trust": trust}
            ends = document["throughput"]["measured_seconds"]
            last = document["timeline"][-1]
            left = ((-2, 900), (-1, 800), (0, 300), (1, 70), (2, 70))
            document["timeline"] = [
                {**last, "second": round(ends) + second, "outstanding": count} for second, count in left
            ]
            runs.append(result_of(document))
        return Alike(name, tuple(runs), tuple(range(1, rounds + 1)))

    return variant


def _of(given: Any) -> Document:
    return given if isinstance(given, dict) else {}


def redelivery() -> Document:
    counts = {
        "messages": 1_000, "succeeded": 930, "dead": 70, "dead_after_success": 2, "archived": 0, "open": 0,
        "deliveries": 1_880, "accepted": 935, "rejected": 70, "released": 870, "timed_out": 0, "unanswered": 5,
        "reread": 0, "duplicates": 3, "early": 0, "overtaken": 93,
    }  # fmt: skip
    shares = {"deliveries_per_message": 1.88, "expected_per_message": 1.875, "dead_share": 0.07}
    times = {
        f"{name}_{each}_ms": 12.0 for name in ("delay", "answer", "success") for each in ("p50", "p90", "p99", "max")
    }
    return {**counts, **shares, "expected_dead_share": 0.0625, **times, "by_number": BY_NUMBER, "reasons": {}}


def test_a_message_has_its_costs_and_what_one_gets_for_them(make: Make) -> None:
    offsets, markers = carriers([make("a", "offsets"), make("b", "markers", doubted=2)])
    cells = {each.key: (offsets.cell(each), markers.cell(each)) for each in MEASURES}
    assert cells["records_per_message"] == ("1.00", "3.50")
    assert cells["bytes_per_message"] == ("601 (600 to 602)", "601 (600 to 602)")
    # 0.5 cores for 2,000 messages a second.
    assert cells["broker_us_per_message"] == ("250", "250")
    assert cells["clients_us_per_message"] == ("250", "250")
    assert cells["deliveries_per_message"] == ("-", "1.88")
    assert cells["unprocessed_share"][1] == "7.0 %"
    assert cells["overtaken_share"] == ("0 %", "10 %")
    assert cells["duplicate_share"] == ("0 %", "0.30 %")
    assert cells["delay_p99_ms"] == ("-", "12.0")
    assert cells["processed_p99_ms"][1].endswith(", 2 not believed")
    assert [each.carrier for each in (offsets, markers)] == ["offsets", "markers"]


@pytest.mark.parametrize("only", ["offsets", "share"])
def test_one_carrier_alone_is_no_comparison(make: Make, only: str) -> None:
    found = together_of([make("a", only, 0.0), make("b", only, 0.5)])
    assert (carriers(found.variants), carrier_figures(found), found.document()["carriers"]) == ([], [], [])
    assert "Carriers" not in comparison_html(found, "one")


def test_what_else_differs_names_a_panel_and_the_same_carrier_twice_names_its_variants(make: Make) -> None:
    found = carriers([make(f"{fail} {carrier}", carrier, fail) for fail in (0.1, 0.5) for carrier in OPTIONS])
    assert [(each.carrier, each.setting) for each in found] == [
        (carrier, f"fail={fail:g}") for fail in (0.1, 0.5) for carrier in OPTIONS
    ]
    twice = carriers([make("short", "share"), make("long", "share", more=1), make("none", "offsets")])
    assert [(each.carrier, each.setting) for each in twice] == [("short", ""), ("long", ""), ("none", "")]


def test_names_that_begin_with_the_carrier_say_what_else_differs(make: Make) -> None:
    names = ["offsets, killed", "share, killed", "share, a hang"]
    found = carriers([make(name, name.partition(",")[0]) for name in names])
    assert [(each.carrier, each.setting) for each in found] == [
        ("offsets", "killed"),
        ("share", "killed"),
        ("share", "a hang"),
    ]


def test_runs_that_did_not_finish_do_not_count(make: Make) -> None:
    broken = make("b", "share")
    ended = tuple(
        run.model_copy(update={"run": run.run.model_copy(update={"ending": "failed"})}) for run in broken.runs
    )
    assert carriers([make("a", "offsets"), Alike("b", ended, broken.rounds)]) == []


def test_figures_show_each_carrier(make: Make) -> None:
    alike = [make(f"{carrier}, fail={fail}", carrier, fail) for fail in (0.1, 0.5) for carrier in OPTIONS]
    figures = {each.name: each for each in carrier_figures(together_of(alike))}
    assert list(figures) == [
        "carriers-cost",
        "carriers-gain",
        "carriers-success",
        "carriers-deliveries",
        "carriers-drain",
    ]
    for each in figures.values():
        assert vl_convert.vegalite_to_svg(each.whole_spec())

    records = [row for row in figures["carriers-cost"].data["carriers-cost"] if row["measure"] == "records written"]
    assert [row["median"] for row in records] == [1.0, 3.5, 3.5, 3.5] * 2
    dead = [row for row in figures["carriers-gain"].data["carriers-gain"] if row["measure"] == "dead letters, %"]
    assert {row["median"] for row in dead} == {7.0}

    numbers = figures["carriers-deliveries"].data["carriers-deliveries"]
    assert {row["series"] for row in numbers} == {"retry", "markers", "share"}
    second = next(row for row in numbers if row["number"] == 2)
    assert (second["share"], second["expected"], second["shown"]) == (0.49, 0.5, "490, 49 %")

    drain = [row for row in figures["carriers-drain"].data["carriers-drain"] if row["series"] == "share"]
    assert [(row["since"], row["left"]) for row in drain if row["panel"] == "fail=0.1"] == [
        (0, 730),
        (1, 230),
        (2, 0),
    ]
    assert {row["one_in"] for row in figures["carriers-success"].data["carriers-success"]} >= {2.0, 10.0, 100.0}


def test_tables_have_a_line_for_each_variant_and_no_empty_column(make: Make) -> None:
    found = carriers([make("a", "offsets"), make("b", "retry")])
    heads, rows = carrier_table(found, "cost")
    assert heads[:3] == ["median (range)", "records written", "bytes on the wire"]
    assert [row[0] for row in rows] == ["a", "b"]
    assert all(set(column) != {"-"} for column in zip(*rows, strict=True))
    assert {row["measure"] for row in carrier_bars(found, "cost")} == set(heads[1:])


def test_all_pages_tell_it(make: Make) -> None:
    found = together_of([make("a", "offsets"), make("<b>", "markers")], None, "interleaved")
    page = comparison_html(found, "carriers")
    assert "Carriers of acknowledgements" in page
    assert "&lt;b&gt;" in page
    assert "<b>, " not in page
    markdown = comparison_markdown(found)
    assert "**What a message costs**" in markdown
    assert "**What one gets for it**" in markdown
    text = comparison_text(found, colour=False, width=100)
    assert "Carriers of acknowledgements, for each message" in text
    document = json.loads(json.dumps(found.document()))["carriers"][1]
    assert (document["carrier"], document["measures"]["records_per_message"]["median"]) == ("markers", 3.5)


def test_settings_that_were_varied_are_not_told_again(make: Make) -> None:
    alike = [make("a", "offsets"), make("b", "markers")]
    told = comparison_text(together_of(alike), colour=False)
    assert "setting consume.acknowledge" in told
    varied = comparison_text(together_of(alike, varied=["consume.acknowledge"]), colour=False)
    assert "setting consume.acknowledge" not in varied
