"""What a scenario asks for that could do harm when somebody else wrote it: code, programs, files, other machines.

Everything else that a scenario can say is a number, a name or a text that is sent, which do nothing by themselves.
"""

import os.path
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from streamgauge.domain.text.address import is_this_machine
from streamgauge.scenario.model.content import FromFile, MadeKeys, SinglePayload, UserFunction
from streamgauge.scenario.model.load import Load
from streamgauge.scenario.model.pacing.pace import Pace
from streamgauge.scenario.model.pipeline import Pipeline
from streamgauge.scenario.model.scenario import Scenario
from streamgauge.scenario.model.values import ClientSettings, Setting

Keys = tuple[str, ...]
"""Where something stands in a scenario: its keys from the top, places in lists among them."""

CLIENT_RUNS: Final = frozenset(
    {"plugin.library.paths", "sasl.kerberos.kinit.cmd", "ssl.engine.id", "ssl.engine.location", "ssl.providers"}
)
"""Settings of librdkafka that load a library or run a command."""
_GUARDS: Final = ("security.", "sasl.", "ssl.", "https.", "enable.ssl.", "enable.sasl.")
"""How settings of librdkafka begin that say how a connection is guarded, and where who one is is proved."""
_RUNS: Final = re.compile(
    r"^spark\.executorEnv\.|(jars|files|archives|packages|python|path|options|script|module|command)$", re.IGNORECASE
)
"""Names of Spark's settings that name programs, files of code, options of a JVM, variables of an environment."""
_PLAIN: Final = re.compile(r"true|false|-?\d+(\.\d+)?\s?[a-z%]{0,3}", re.IGNORECASE)
"""A number, a size, a time, or a truth."""
_SPARKS_OWN: Final = re.compile(r"org\.apache\.spark(\.\w+)+\$?")
_BROKER_RUNS: Final = re.compile(r"provider|jaas|file|dir|path|location|url|module|reporter|command", re.IGNORECASE)
"""Names of settings of brokers that name files, classes that read them, or other machines."""
_KAFKAS_OWN: Final = re.compile(r"org\.apache\.kafka(\.\w+)+\$?|[\w-]+(,[\w-]+)*")
"""Its classes, and words, which name no class that there is."""
_CODECS: Final = "lz4|lzf|snappy|zstd|gzip|uncompressed|none"
_WORDS: Final[Mapping[str, str]] = {
    "spark.io.compression.codec": _CODECS,
    "spark.log.level": "[A-Z]+",
    "spark.scheduler.mode": "FAIR|FIFO",
    "spark.sql.parquet.compression.codec": _CODECS,
    "spark.sql.session.timeZone": r"[\w/+:-]+",
    "spark.sql.streaming.stateStore.compression.codec": _CODECS,
}
"""Settings of Spark that are words, and which words."""


class PowerKind(StrEnum):
    """What could be done."""

    FUNCTION = "function"
    """Python of a user is run."""
    CLIENT = "client"
    """The client loads a library or runs a command."""
    GUARD = "guard"
    """Secrets of `--client-config` are guarded in another way, or sent to somebody else."""
    SPARK = "spark"
    """Spark may load code, run a program, or reach for a file or another machine."""
    BROKER = "broker"
    """The embedded broker may load code, or reach for a file or another machine."""
    MASTER = "master"
    """A Spark cluster elsewhere is given the messages, and what opens the Kafka cluster."""
    READ = "read"
    """A file is read, and what is in it is sent."""
    WRITE = "write"
    """Files are written outside of the run folder."""


@dataclass(frozen=True, slots=True)
class Power:
    """One thing that a scenario asks for."""

    keys: Keys
    kind: PowerKind
    value: str
    """The function, the file, the address; of a setting its value."""

    @property
    def where(self) -> str:
        """Where it stands, as messages have it."""
        return ".".join(self.keys)


def powers(scenario: Scenario) -> Iterator[Power]:
    """All that a scenario asks for beyond sending, receiving and counting, in its order."""
    yield from _of_client(("topic", "client"), scenario.topic.client)
    if scenario.load:
        yield from _of_load(scenario.load)
        yield from _of_client(("load", "client"), scenario.load.client)
    if scenario.consume:
        if scenario.consume.processing and scenario.consume.processing.function:
            yield Power(("consume", "processing", "function"), PowerKind.FUNCTION, scenario.consume.processing.function)
        yield from _of_client(("consume", "client"), scenario.consume.client)
    if scenario.pipeline:
        yield from _of_pipeline(scenario.pipeline)
    for name, value in scenario.cluster.configs.items():
        if not only_tunes_broker(name, value):
            yield Power(("cluster", "configs", name), PowerKind.BROKER, str(value))


def _of_load(load: Load) -> Iterator[Power]:
    if isinstance(load.rate, Pace) and load.rate.replay:
        yield Power(("load", "rate", "replay", "file"), PowerKind.READ, load.rate.replay.file)
    payload = load.payload
    if isinstance(payload, SinglePayload):
        yield from _of_content(("load", "payload"), payload)
        for place, component in enumerate(getattr(payload, "weighted", None) or ()):
            if isinstance(component.payload, SinglePayload):
                yield from _of_content(("load", "payload", "weighted", str(place), "payload"), component.payload)
    if isinstance(load.keys, MadeKeys) and load.keys.file:
        yield Power(("load", "keys", "file", "path"), PowerKind.READ, load.keys.file.path)


def _of_content(keys: Keys, content: SinglePayload) -> Iterator[Power]:
    match content.chosen[1]:
        case FromFile(path=path):
            yield Power((*keys, "file", "path"), PowerKind.READ, path)
        case UserFunction(name=name):
            yield Power((*keys, "function", "name"), PowerKind.FUNCTION, name)


def _of_client(keys: Keys, settings: ClientSettings) -> Iterator[Power]:
    for name, value in settings.items():
        if name in CLIENT_RUNS:
            yield Power((*keys, name), PowerKind.CLIENT, str(value))
        elif name.startswith(_GUARDS):
            yield Power((*keys, name), PowerKind.GUARD, str(value))


def _of_pipeline(pipeline: Pipeline) -> Iterator[Power]:
    if function := pipeline.job.function:
        yield Power(("pipeline", "job", "function", "call"), PowerKind.FUNCTION, function.call)
        if function.expects:
            yield Power(("pipeline", "job", "function", "expects"), PowerKind.FUNCTION, function.expects)
    if pipeline.table and _leaves(pipeline.table.table):
        yield Power(("pipeline", "sink", "table"), PowerKind.WRITE, pipeline.table.table)
    if not is_this_machine(pipeline.master):
        yield Power(("pipeline", "master"), PowerKind.MASTER, str(pipeline.master))
    if pipeline.checkpoint:
        yield Power(("pipeline", "checkpoint"), PowerKind.WRITE, pipeline.checkpoint)
    for name, value in pipeline.settings.items():
        if not only_tunes(name, value):
            yield Power(("pipeline", "settings", name), PowerKind.SPARK, str(value))


def only_tunes(name: str, value: Setting) -> bool:
    """Whether a setting of Spark can change nothing but how fast it is, and which classes of its own it takes.

    That holds for numbers, sizes, times, truths, classes of Spark and a few words; not for a setting that names a
    program, a file, an option of a JVM or a variable, whatever its value: `true` is a program.
    """
    if _RUNS.search(name):
        return False
    text = str(value)
    word = _WORDS.get(name)
    return any(form.fullmatch(text) for form in (_PLAIN, _SPARKS_OWN, *([re.compile(word)] if word else [])))


def only_tunes_broker(name: str, value: Setting) -> bool:
    """Whether a setting of a broker can change nothing but how it works, with classes of Kafka's own."""
    known = (_PLAIN, _KAFKAS_OWN)
    return not _BROKER_RUNS.search(name) and any(form.fullmatch(str(value)) for form in known)


def _leaves(folder: str) -> bool:
    """Whether a path that is relative to the run folder leads out of it."""
    return Path(folder).is_absolute() or Path(os.path.normpath(folder)).parts[:1] == (os.pardir,)
