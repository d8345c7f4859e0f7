"""A translation as YAML, with comments on everything that it does not say."""

import shlex
from collections.abc import Iterator
from typing import Final

import yaml

from streamgauge.domain.text.numbers import listed
from streamgauge.domain.text.secrets import masked
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.write.translation import NoteKind, SpecNote, Tool, Translation

TOOL_NAMES: Final[dict[Tool, str]] = {
    "trogdor": "Trogdor",
    "tussle": "tussle",
    "omb": "OpenMessaging Benchmark",
    "kafkabench": "KafkaBench",
    "ssp": "SSP_kafka",
    "mqperf": "mqperf",
    "perf-test": "Kafka's tools",
}


def yaml_of(translation: Translation, file: str | None = None) -> str:
    """The document as YAML below its notes; `file` is what it will be called."""
    name = file or f"{translation.kind}.yaml"
    lines = [f"Converted from {TOOL_NAMES[translation.tool]}: {translation.spec}.", *_commands(translation, name)]
    for kind in NoteKind:
        of_kind = [note for note in translation.notes if note.kind is kind]
        lines += ["", f"{kind}:", *_grouped(of_kind)] if of_kind else []
    comments = "\n".join(f"# {line}".rstrip() for line in lines)
    # What has no mapping or list in it stands in one line.
    document = yaml.safe_dump(
        masked(translation.document), sort_keys=False, allow_unicode=True, default_flow_style=None, width=120
    )
    return f"{comments}\n{document}".rstrip()


def notes_of(translation: Translation) -> list[str]:
    """The notes in one line each."""
    return [f"{note.where}: {note.what}" for note in translation.notes]


def command_of(translation: Translation, file: str) -> str:
    """The command that does what the specification did."""
    command = "experiment" if translation.kind == "experiment" else "run"
    words = ["streamgauge", "search" if translation.search else command, file, *translation.search]
    words += ["--allow-code"] if any(run.commands for run in translation.programs) else []
    if translation.bootstrap:
        words += ["--bootstrap", one_line(translation.bootstrap)]
    return shlex.join(words)


def _commands(translation: Translation, file: str) -> Iterator[str]:
    yield f"{'Search' if translation.search else 'Run it'} with: {command_of(translation, file)}"
    if translation.kind == "experiment":
        yield "It is an experiment: the specification asks for several runs."


def _grouped(notes: list[SpecNote]) -> Iterator[str]:
    """A line for each thing that there is to say, with all fields of which it is said."""
    said: dict[str, list[str]] = {}
    for note in notes:
        said.setdefault(note.what, []).append(note.where)
    for what, where in said.items():
        yield f"- {listed(list(dict.fromkeys(where)), 'and')}: {what}"
