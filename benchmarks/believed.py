"""Which figures are believed in runs of `make demo`'s scenario, one after the other, on a quiet or a busy machine.

Runs share an embedded broker and a Spark session; with `--fresh` each is what `make demo` does, with a broker and a JVM
of its own. `--busy` processes that never wait run beside. With `--keep` each run is appended to a file, and what is
there is not measured again: a hundred runs take half an hour, and may be made in parts.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.common import DEMO, DEMO_SETTINGS, demo, heading, idle_share, spread
from benchmarks.starving import HOG, beside
from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.result.reading import parse_result
from streamgauge.runs.api import broker as shared_broker
from streamgauge.runs.request.options import RunOptions, request_of
from streamgauge.runs.run import run
from streamgauge.verdict.exits import Exit

_MAIN: Final = "latency.end_to_end.response."
SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "rates": tuple(f"throughput.{name}_per_second" for name in ("sent", "acked", "received")),
    "delivery": ("delivery.",),
    "p50": (f"{_MAIN}p50_ms",),
    "p99": (f"{_MAIN}p99_ms",),
    "p99.9": (f"{_MAIN}p99_9_ms",),
    "max": (f"{_MAIN}max_ms",),
}
"""Rows of the table, and the figures of each by how their paths begin: the worst counts."""
TRUST: Final = ("believed", "bounded", "not_believed")
"""From the best to the worst."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run."""

    busy: int
    fresh: bool
    code: int
    state: str | None
    """The verdict."""
    trust: Mapping[str, str]
    """Of each row of the table; figures that the run lacks are left out."""
    idle_share: float | None
    """Of the machine, while the run was measured."""
    p99_ms: float | None
    p99_low_ms: float | None
    failed: tuple[str, ...]
    """Checks of the instrument that failed."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=100)
    options.add_argument("--busy", type=int, default=0, help="processes that never wait, beside the runs")
    options.add_argument("--fresh", action="store_true", help="a broker and a JVM for each run, as in `make demo`")
    options.add_argument("--keep", type=Path, help="file of what each run said")
    chosen = options.parse_args()
    heading(f"Believed: runs of `make demo`'s scenario beside {chosen.busy} busy processes")
    print(f"The machine was {idle_share():.0%} idle before.\n", flush=True)
    alike = (chosen.busy, chosen.fresh)
    found = [each for each in _kept(chosen.keep) if (each.busy, each.fresh) == alike]
    with ExitStack() as until_end:
        out = Path(until_end.enter_context(tempfile.TemporaryDirectory(prefix="streamgauge-bench-")))
        if len(found) < chosen.runs:
            broker = None if chosen.fresh else until_end.enter_context(shared_broker(out))
            until_end.enter_context(beside(chosen.busy, HOG))
            carried_out = _fresh if broker is None else _warm(broker)
        for _ in range(len(found), chosen.runs):
            with tempfile.TemporaryDirectory(dir=out) as folder:
                found.append(_outcome(*carried_out(Path(folder)), *alike))
            if chosen.keep:
                with chosen.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(found[-1])) + "\n")
    if found:
        _print(found[: chosen.runs])


def _kept(file: Path | None) -> Iterator[Outcome]:
    for line in file.read_text(encoding="utf-8").splitlines() if file and file.exists() else ():
        told = json.loads(line)
        yield Outcome(**{**told, "failed": tuple(told["failed"])})


def _fresh(out: Path) -> tuple[int, RunFolder]:
    """Carries a run out as `make demo` does."""
    ran = demo(out)
    return ran.code, ran.folder


def _warm(broker: EmbeddedCluster) -> Callable[[Path], tuple[int, RunFolder]]:
    """Carries a run out in this process, whose Spark session serves the next, too."""

    def carry_out(out: Path) -> tuple[int, RunFolder]:
        options = RunOptions(settings=DEMO_SETTINGS, out=out, command=["streamgauge", "run", DEMO], broker=broker)
        ended = run(request_of(DEMO, options))
        return int(ended.code), ended.folder

    return carry_out


def _outcome(code: int, folder: RunFolder, busy: int, fresh: bool) -> Outcome:
    if code == Exit.INTERRUPTED:
        raise SystemExit("interrupted; what was measured before is kept")
    if not folder.result.exists():
        raise SystemExit(f"the run has no result; its exit code is {code}")
    result = parse_result(folder.result.read_bytes())
    trust: dict[str, str] = {}
    for name, begins in SHOWN.items():
        mine = {each.trust for path, each in result.trust.items() if path.startswith(begins)}
        trust |= {name: max(mine, key=TRUST.index)} if mine else {}
    host = result.resources.host
    p99 = result.trust.get(f"{_MAIN}p99_ms")
    return Outcome(
        busy=busy,
        fresh=fresh,
        code=code,
        state=result.verdict.state,
        trust=trust,
        idle_share=host.idle_share if host else None,
        p99_ms=p99.value if p99 else None,
        p99_low_ms=p99.low if p99 else None,
        failed=tuple(
            each.name for each in result.verdict.checks if each.about == "instrument" and each.status == "fail"
        ),
    )


def _print(outcomes: Sequence[Outcome]) -> None:
    idle = [each.idle_share for each in outcomes if each.idle_share is not None]
    p99 = [each.p99_ms for each in outcomes if each.p99_ms is not None]
    print(f"{len(outcomes)} runs; the machine was {spread([100 * each for each in idle], digits=0)} % idle in them, ")
    print(f"and the p99 of the end-to-end response time was {spread(p99, ' ms')}.\n")
    print("| figure | believed | bounded | not believed |")
    print("|---|---|---|---|")
    for name in SHOWN:
        counts = Counter(each.trust.get(name) for each in outcomes)
        print(f"| {name} | {' | '.join(str(counts[trust]) for trust in TRUST)} |")
    for what, told in (
        ("Verdicts", Counter(str(each.state) for each in outcomes)),
        ("Exit codes", Counter(str(each.code) for each in outcomes)),
        ("Failing checks of the instrument", Counter(name for each in outcomes for name in each.failed)),
    ):
        print(f"\n{what}: {', '.join(f'{name} {count}' for name, count in told.most_common()) or 'none'}.")


if __name__ == "__main__":
    main()
