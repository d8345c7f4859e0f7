"""Why a query failed, in one line: the cause in what Spark says, without its traces and plans."""

import re
from collections.abc import Sequence
from typing import Any, Final

from streamgauge.domain.errors import StreamgaugeError

LONGEST: Final = 500
_NO_CAUSE: Final = (
    "StreamingQueryException", "SparkException", "ExecutionException", "RuntimeException", "Py4JJavaError",
    "UndeclaredThrowableException", "InvocationTargetException",
)  # fmt: skip
"""Classes that carry the exception of somebody else."""
_TASK: Final = re.compile(r"Lost task [^:]*?(?:\([^()]*\))?: (?P<cause>.*)", re.DOTALL)
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+")
_CAUSED: Final = re.compile(r"^Caused by: (?P<cause>.+)$", re.MULTILINE)
_PACKAGE: Final = re.compile(r"^(?:[a-z_][\w$]*\.)+(?:\w+\$)*(?=[A-Z])")
_PYTHON: Final = re.compile(r"^(?P<cause>[A-Za-z_][\w.]*(?:Error|Exception|Exit)\b.*)$", re.MULTILINE)


def of(error: BaseException) -> str:
    """Why, from an exception of Python."""
    if isinstance(error, StreamgaugeError):
        return " ".join(str(error).split())
    # An exception of the JVM that PySpark has no class for.
    if (thrown := getattr(error, "java_exception", None)) is not None:
        return of_java(thrown)
    return said([(type(error).__name__, str(error))])


def of_java(thrown: Any) -> str:
    """Why, from an exception of the JVM and its causes."""
    chain: list[tuple[str, str]] = []
    while thrown is not None and len(chain) < 20:
        chain.append((str(thrown.getClass().getName()), str(thrown.getMessage() or "")))
        thrown = thrown.getCause()
    return said(chain)


def said(chain: Sequence[tuple[str, str]]) -> str:
    """One line from the names and the messages of an exception, its cause, the cause of that, and so on."""
    *outer, _ = chain
    telling = [(name, text) for name, text in chain if text and _simple(name) not in _NO_CAUSE]
    name, text = telling[-1] if telling else chain[-1]
    if not telling:
        texts = [text for _, text in (*outer, chain[-1]) if text]
        text = texts[-1] if texts else ""
    return _line(_simple(name), _cause(text))


def _cause(text: str) -> str:
    """The cause within a message that has that of another process in it."""
    if found := _TASK.search(text):
        text = found["cause"]
        text = text.partition("\n\nDriver stacktrace")[0]
    if "Traceback (most recent call last)" in text and (errors := _PYTHON.findall(text.rpartition("Traceback")[2])):
        return str(errors[-1])
    if causes := _CAUSED.findall(text):
        return str(causes[-1])
    return text


def _line(name: str, text: str) -> str:
    """The first paragraph, without what only a machine reads."""
    first = _STATE.split(text.strip(), maxsplit=1)[0]
    first = re.split(r"\n(?:\s*at |=|\s*;?\n|'|Driver stacktrace)", first, maxsplit=1)[0].strip().rstrip(";")
    line = _PACKAGE.sub("", " ".join(first.split()))
    line = line if line.startswith("[") or _named(line) else f"{name}: {line}".removesuffix(": ")
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def _named(line: str) -> bool:
    """Whether it begins with the name of an exception."""
    return re.match(r"[\w.$]*(?:Exception|Error|Exit)\b", line) is not None


def _simple(name: str) -> str:
    return name.rpartition(".")[2].rpartition("$")[2]
