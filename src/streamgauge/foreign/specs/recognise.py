"""Which tool wrote a text: by the command that it calls, or by fields that only one tool has."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.kafkas_own import tool_in
from streamgauge.foreign.specs.mqperf import FIRST, SECOND
from streamgauge.foreign.specs.omb import is_driver
from streamgauge.foreign.specs.read.texts import (
    assigned,
    check_text,
    command_lines,
    command_words,
    read_json,
    read_mapping,
)
from streamgauge.foreign.specs.ssp import KNOWN as SSP_FLAGS
from streamgauge.foreign.specs.trogdor.specs import is_trogdor
from streamgauge.foreign.specs.tussle.process import BENCHMARK as PROCESS_BENCHMARK
from streamgauge.foreign.specs.tussle.specs import is_tussle
from streamgauge.foreign.specs.write.translation import Tool
from streamgauge.scenario.model.scenario import Scenario

_WORKLOAD: Final = frozenset(
    "topics partitionsPerTopic messageSize subscriptionsPerTopic producersPerTopic consumerPerSubscription producerRate"
    " testDurationMinutes".split()
)
_OURS: Final = Scenario.model_fields.keys() - {"name", "topic"}
"""What a scenario says, and no specification of others."""
_NUMBER: Final = re.compile(r"-\d+(\.\d+)?")


class SpecText(NamedTuple):
    """A specification as it was read, and what its file is called."""

    source: str
    text: str


class ReadSpec(NamedTuple):
    """A specification as a value, or as the words of a command and the lines behind it."""

    source: str
    tool: Tool | None
    """Whose it is; None where nobody knows."""
    value: Any = None
    words: Sequence[str] = ()
    script: Sequence[str] = ()
    line: str = ""

    @property
    def arguments(self) -> list[str]:
        """What stands behind the program: `java -jar x.jar`, or a name that is no option and no property."""
        rest = list(self.words)
        if rest and _program(rest[0]) == "java":
            jar = next((place for place, word in enumerate(rest) if word.endswith(".jar")), 0)
            return rest[jar + 1 :]
        is_named = rest and not rest[0].startswith("-") and "=" not in rest[0]
        return rest[1:] if is_named else rest

    @property
    def variables(self) -> dict[str, str]:
        """Variables of the shell that are set before the command, and their values."""
        return assigned(self.line)

    @property
    def is_script(self) -> bool:
        """Whether it calls SSP_kafka's script."""
        return bool(self.words) and _program(self.words[0]) == "run.sh"


def read_spec(spec: SpecText, tool: Tool | None) -> ReadSpec:
    """A specification of a tool, or of the one that its content tells; raises BadInput."""
    source, text = one_line(spec.source), spec.text
    check_text(text, source)
    if text.lstrip().startswith(("{", "//", "/*")):
        value = read_json(text, source)
        return ReadSpec(source, tool or _of_value(value), value)
    lines = command_lines(text)
    words = _words(lines, source) if lines else []
    by_command = _of_command(words)
    if by_command or (tool and lines and _is_command(lines, tool)):
        # Only a script of steps has more lines.
        script = lines[1:]
        if script and (by_command or tool) != "tussle":
            raise BadInput.single(source, f"{len(lines)} commands", "Convert one at a time")
        return ReadSpec(source, tool or by_command, None, words or command_words(lines[0], source), script, lines[0])
    value = read_mapping(text, source)
    return ReadSpec(source, tool or _of_value(value), value)


def _words(lines: Sequence[str], source: str) -> list[str]:
    """The words of the first line, where it may be a command; none where it is something else."""
    try:
        return command_words(lines[0], source)
    except BadInput:
        if tool_in(lines[0].split()):
            raise
        return []


def _is_command(lines: Sequence[str], tool: Tool) -> bool:
    """Whether a text that is said to be a tool's is its command line, rather than YAML."""
    if tool in {"ssp", "perf-test"}:
        return True
    first, *others = lines[0].split()
    is_option = first.startswith("-") and first not in {"-", "---"}
    return is_option or (":" not in first and ("=" in first or any(word.startswith("-") for word in others)))


def _of_command(words: Sequence[str]) -> Tool | None:
    """The tool that a command calls."""
    if not words:
        return None
    name = _program(words[0])
    flags = {
        word.lstrip("-").partition("=")[0] for word in words[1:] if word.startswith("-") and not _NUMBER.fullmatch(word)
    }
    if tool_in(words):
        return "perf-test"
    if "--runner" in words or _runs_benchmark(words):
        return "tussle"
    if name.startswith("kafkabench"):
        return "kafkabench"
    if name == "run.sh" or (name in {"bench", "bench.exe"} and flags <= SSP_FLAGS):
        return "ssp"
    return None


def _runs_benchmark(words: Sequence[str]) -> bool:
    """Whether words name a benchmark of tussle: the jar of one, or the class of another; a line of YAML does not."""
    is_jar = any(word.endswith(".jar") and "kafka-benchmark" in word for word in words)
    is_class = not words[0].endswith(":") and any(word.rpartition(".")[2] == PROCESS_BENCHMARK for word in words)
    return is_jar or is_class


def _of_value(value: object) -> Tool | None:
    """The tool whose fields a mapping has; None for a scenario, and for what nobody knows."""
    return (
        next((tool for tool, is_its in _VALUES.items() if is_its(value)), None) if isinstance(value, Mapping) else None
    )


def _program(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2].lower()


def _is_mqperf(value: Mapping[str, Any]) -> bool:
    return value.keys() >= FIRST or value.keys() >= SECOND


def _is_omb(value: Mapping[str, Any]) -> bool:
    return is_driver(value) or (len(_WORKLOAD & value.keys()) >= 4 and not _OURS & value.keys())


def _is_kafkabench(value: Mapping[str, Any]) -> bool:
    kafka = value.get("kafka")
    return isinstance(kafka, Mapping) and "bootstrapServers" in kafka


def _is_properties(value: Mapping[str, Any]) -> bool:
    return is_tussle(value) and not _OURS & value.keys()


_VALUES: Final[Mapping[Tool, Callable[[Any], bool]]] = {
    "trogdor": is_trogdor,
    "mqperf": _is_mqperf,
    "omb": _is_omb,
    "kafkabench": _is_kafkabench,
    "tussle": _is_properties,
}
