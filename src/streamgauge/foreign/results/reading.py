"""Which format a file has, and what files say together: the only list of formats."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.results import output
from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.formats import (
    hlog,
    k6,
    kafkabench,
    mqperf,
    omb,
    percentiles,
    perf_test,
    samples,
    ssp,
    tlp_stress,
    trogdor,
    tussle,
)
from streamgauge.foreign.results.given import ForeignFile, unpacked
from streamgauge.foreign.results.measured import ForeignError, Measured


@dataclass(frozen=True, slots=True)
class ResultFormat:
    """One format: whether a file has it, and the runs that files of it say."""

    recognises: Callable[[ForeignFile], bool]
    read: Callable[[Sequence[ForeignFile], Asked], list[Measured]]


FORMATS: Final[Mapping[str, ResultFormat]] = {
    "hlog": ResultFormat(hlog.recognises, hlog.read),
    "tussle": ResultFormat(tussle.recognises, tussle.read),
    "omb": ResultFormat(omb.recognises, omb.read),
    "perf-test": ResultFormat(perf_test.recognises, perf_test.read),
    "ssp": ResultFormat(ssp.recognises, ssp.read),
    "trogdor": ResultFormat(trogdor.recognises, trogdor.read),
    "kafkabench": ResultFormat(kafkabench.recognises, kafkabench.read),
    "mqperf": ResultFormat(mqperf.recognises, mqperf.read),
    "k6": ResultFormat(k6.recognises, k6.read),
    "percentiles": ResultFormat(percentiles.recognises, percentiles.read),
    "tlp-stress": ResultFormat(tlp_stress.recognises, tlp_stress.read),
    "samples": ResultFormat(samples.recognises, samples.read),
    "pattern": ResultFormat(output.recognises, output.read),
}
"""In the order in which they are tried."""
_YEAR_9999_S: Final = 253_402_300_000
_LONGEST_S: Final = 31 * 86_400
_UNKNOWN: Final = "is in an unknown format"


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """Runs that were read, and the files that they are of."""

    files: tuple[ForeignFile, ...]
    runs: tuple[Measured, ...]


def read_results(given: Sequence[ForeignFile], asked: Asked, form: str | None = None) -> list[ImportedFile]:
    """What these files say; of archives, what their files do. `form` is a format by its name.

    Raises BadInput with all that cannot be read.
    """
    found: list[ImportedFile] = []
    faults: list[Fault] = []
    logs: list[ForeignFile] = []
    for file in given:
        try:
            for each in unpacked(file):
                name = form or recognised(each)
                if name == "hlog":
                    logs.append(each)
                else:
                    found.append(_read(name, [each], asked))
        except ForeignError as error:
            faults.append(_fault(file, error))
    for together in hlog.grouped(logs):
        try:
            found.append(_read("hlog", together, asked))
        except ForeignError as error:
            faults.append(_fault(together[0], error))
    if faults:
        raise BadInput(faults)
    return found


def recognised(file: ForeignFile) -> str:
    """The name of the format of a file; raises ForeignError where it has none."""
    file.text()
    for name, each in FORMATS.items():
        if each.recognises(file):
            return name
    raise ForeignError(_UNKNOWN, f"Name a result of another tool, or say its format: --as {', '.join(FORMATS)}")


def _read(name: str, files: Sequence[ForeignFile], asked: Asked) -> ImportedFile:
    return ImportedFile(tuple(files), tuple(map(_checked, FORMATS[name].read(files, asked))))


def _checked(run: Measured) -> Measured:
    """A run whose times can be; raises ForeignError for any other."""
    if run.started_s is not None and not 0 <= run.started_s < _YEAR_9999_S:
        raise ForeignError(f"began at {run.started_s:g} s since 1970, which is not a valid time")
    ends = [
        run.seconds or 0.0,
        *(each.to_s for each in run.spans),
        *(at for at, _ in (run.lag.samples if run.lag else ())),
    ]
    if max(ends) > _LONGEST_S:
        raise ForeignError(f"lasts {max(ends):g} s, and may last {_LONGEST_S:,} s", "Check the unit of its times")
    return run


def _fault(file: ForeignFile, error: ForeignError) -> Fault:
    return Fault(f"RESULT {one_line(file.name)}", error.what, error.mend)
