"""The command `calibrate`, without its runs: rates, what is printed and kept, and how it ends."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streamgauge.cli.machine.calibrate import calibrate
from streamgauge.domain.errors import BadInput
from streamgauge.record.calibrations import read_calibrations
from streamgauge.result.model.trust import FigureTrust
from streamgauge.runs.machine.calibrate.compared import INVENTED, NAMES, PLANTED, Compared, Figures
from streamgauge.runs.machine.calibrate.planned import Planned
from streamgauge.verdict.exits import Exit

TRUTH = Figures(dict.fromkeys(NAMES, 1.0), dict.fromkeys(PLANTED, 3) | dict.fromkeys(INVENTED, 0))

TRUST = {
    name: FigureTrust(value=1.25, low=1.125 if name == NAMES[1] else 0.75, high=1.25, trust="bounded", because=[])
    for name in NAMES[1:]
}


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Planned]:
    """What would have been carried out; every latency is a quarter of a millisecond too long."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("streamgauge.cli.machine.calibrate.checked_java", lambda: None)
    monkeypatch.setattr("streamgauge.cli.machine.calibrate.shifts_ms", lambda: {1: 1.125, 5: 5.25})
    asked: list[Planned] = []

    def carry_out(plans: Sequence[Planned], *_: Any) -> list[Compared]:
        asked.extend(plans)
        late = replace(TRUTH, latencies_ms=dict.fromkeys(NAMES, 1.25), trust=TRUST)
        counts = dict(TRUTH.counts) | ({"foreign": 2} if plans[0].rate == 666 else {})
        return [Compared(plan.rate, TRUTH, replace(late, counts=counts), plan.rate // 50_000) for plan in plans]

    monkeypatch.setattr("streamgauge.cli.machine.calibrate.carry_out", carry_out)
    return asked


def said(rates: str | None = None, seconds: float | None = None, **how: Any) -> tuple[Exit, str]:
    lines: list[str] = []
    code = calibrate(
        rates, seconds, **{"quick": False, "as_json": False} | how, out=lines.append, progress=lambda _: None
    )
    return code, "\n".join(lines)


def test_it_prints_and_keeps_every_error(plans: list[Planned], tmp_path: Path) -> None:
    """In at most a hundred columns; what an overloaded machine did not send is told."""
    code, text = said()

    assert code == Exit.DONE
    assert [(each.rate, each.seconds) for each in plans] == [(1_000, 8), (10_000, 8), (100_000, 8)]
    assert text.count("+0.250") == 3 * len(NAMES)
    assert "10,000/s: found lost 3 of 3, duplicate producer 3 of 3, reordered 3 of 3, corrupt 3 of 3" in text
    assert "2 messages were never sent" in text
    assert "14 of 15 intervals hold what was planted; not ack response p99\n" in text
    assert "Round trips of 1 and 5 ms on librdkafka's mock cluster: found 1.12 and 5.25 ms" in text
    assert max(map(len, text.split("Error = ")[0].splitlines())) <= 100
    kept = read_calibrations(tmp_path / "streamgauge" / "calibrations.json")
    assert [(each.rate, set(each.errors_ms.values()), each.miscounted) for each in kept] == [
        (rate, {0.25}, ()) for rate in (1_000, 10_000, 100_000)
    ]


def test_what_is_invented_makes_it_not_valid(plans: list[Planned]) -> None:
    """And is named."""
    code, text = said("666,2k", 3)

    assert code == Exit.NOT_VALID
    assert "and what was not planted: foreign 2" in text
    assert [(each.rate, each.seconds) for each in plans] == [(666, 3), (2_000, 3)]


def test_json_has_all_of_it(plans: list[Planned]) -> None:
    """Both sides, errors, and where they are kept."""
    code, text = said(quick=True, as_json=True)
    told = json.loads(text)

    assert code == Exit.DONE
    (rate,) = told["rates"]
    assert (rate["rate"], rate["errors_ms"]["ack.response.p50"], rate["miscounted"]) == (1_000, 0.25, [])
    assert rate["planted"]["counts"] == rate["measured"]["counts"]
    assert (rate["outside"], told["round_trip_shifts_ms"]) == (["ack.response.p99"], {})
    assert told["kept"].endswith("calibrations.json")
    assert [each.seconds for each in plans] == [2]


@pytest.mark.parametrize("rates", ["", "fast", "1k,", "10", "2M", "1k,1000"])
def test_wrong_rates_are_bad_input(plans: list[Planned], rates: str) -> None:
    """Before anything starts."""
    with pytest.raises(BadInput, match="--rates"):
        said(rates or " ")
    assert plans == []
