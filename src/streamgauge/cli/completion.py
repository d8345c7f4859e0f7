"""What a shell completes: scenarios, paths and values of `--set`, run folders, figures, jobs, brokers.

Everything is imported where it is needed: each press of the key starts the program.
"""

import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

Node = Mapping[str, Any]

COMPLETE: Final = "_STREAMGAUGE_COMPLETE"
BEFORE: Final = "_STREAMGAUGE_BEFORE"
"""The part of a word that bash has cut off, and does not want repeated."""
_WORDS: Final = "COMP_WORDS"
_PLACE: Final = "COMP_CWORD"
_SIGN: Final = "="
_CLUSTER: Final = "cluster."
_RUNS: Final = Path("runs")
_VALUES: Final[Mapping[str, Sequence[str]]] = {
    "load.client.acks": ("0", "1", "all"),
    "load.client.compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
    "load.client.enable.idempotence": ("true", "false"),
    "consume.client.isolation.level": ("read_committed", "read_uncommitted"),
}
"""Values of client settings, which are free in a scenario."""


def scenarios(incomplete: str) -> list[str]:
    """What a scenario may be called: a shipped name, or a YAML file that is there."""
    from streamgauge.runs.request.scenario_file import shipped

    files = [str(path) for pattern in ("*.yaml", "*.yml") for path in Path().glob(pattern)]
    return _beginning(incomplete, (*shipped(), *sorted(files)))


def experiments(incomplete: str) -> list[str]:
    """What an experiment may be called: a shipped name, or a YAML file that is there."""
    from streamgauge.runs.experiment.request import shipped_experiments

    files = [str(path) for pattern in ("*.yaml", "*.yml") for path in Path().glob(pattern)]
    return _beginning(incomplete, (*shipped_experiments(), *_searches(), *sorted(files)))


def searches(incomplete: str) -> list[str]:
    """What may be searched: a search that is shipped, or a scenario."""
    return [*_beginning(incomplete, _searches()), *scenarios(incomplete)]


def _searches() -> list[str]:
    from streamgauge.runs.experiment.search.shipped import shipped_documents

    return list(shipped_documents(searches=True))


def kinds(incomplete: str) -> list[str]:
    """Whose messages may be looked at: those of a kind of payload, or of a scenario."""
    from streamgauge.scenario.model.content import KINDS

    return [*_beginning(incomplete, KINDS), *scenarios(incomplete)]


def jobs(incomplete: str) -> list[str]:
    """The shipped jobs."""
    from streamgauge.scenario.model.jobs import DOES

    return _beginning(incomplete, [*DOES])


def tools(incomplete: str) -> list[str]:
    """Tools whose specifications can be converted."""
    from streamgauge.foreign.specs.convert import TOOLS

    return _beginning(incomplete, TOOLS)


def figures(incomplete: str) -> list[str]:
    """The last of several figures, of those that are not yet named."""
    from streamgauge.runs.request.percentiles import FIGURES, spelled

    *named, last = incomplete.split(",")
    head = "".join(f"{each}," for each in named)
    return [f"{head}{each}" for each in _beginning(last, spelled(FIGURES)) if each not in named]


def run_folders(incomplete: str) -> list[str]:
    """Run folders below the folder that is named, or below `runs`; the newest first."""
    above = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    found = [path for place in {above, _RUNS} if place.is_dir() for path in place.glob("*/run.json")]
    folders = sorted((str(path.parent) for path in found), key=lambda each: Path(each).name, reverse=True)
    # An ID may be typed without the folder that all runs are in.
    return _beginning(incomplete, folders) or [each for each in folders if Path(each).name.startswith(incomplete)]


def brokers(incomplete: str) -> list[str]:
    """Brokers that `broker start` started and that still run."""
    from streamgauge.cluster.registry import listing

    return _beginning(incomplete, [entry.name for entry in listing() if entry.owner is None])


def one_of(*known: str) -> Callable[[str], list[str]]:
    """Completes one of these words."""

    def complete(incomplete: str) -> list[str]:
        return _beginning(incomplete, known)

    return complete


def settings(incomplete: str) -> list[str]:
    """Paths of a scenario, a level at a time, and the values that are known of one: `load.payload=json`."""
    before = os.environ.get(BEFORE, "")
    path, equals, value = f"{before}{incomplete}".partition(_SIGN)
    if not equals:
        return _paths(path)
    return [f"{path}={each}".removeprefix(before) for each in _beginning(value, _values(path))]


def cluster_settings(incomplete: str) -> list[str]:
    """Those of the section `cluster`, with which brokers are started."""
    path = f"{os.environ.get(BEFORE, '')}{incomplete}"
    if path.startswith(_CLUSTER):
        return settings(incomplete)
    return settings(_CLUSTER) if _CLUSTER.startswith(path) else []


def _paths(incomplete: str) -> list[str]:
    from streamgauge.scenario.written.paths import keys_of

    *above, last = keys_of(incomplete)
    found = [
        ".".join([*above, name]) + sign
        for name, node in _below(_at(above), above)
        if name.startswith(last)
        for sign in _signs(node, [*above, name])
    ]
    # A shell puts a space behind the only answer: there is more to be said.
    if len(found) == 1:
        only = found[0]
        return (
            _paths(only) or found if only.endswith(".") else [*found, *(f"{only}{each}" for each in _values(only[:-1]))]
        )
    return found


def _signs(node: Node, path: Sequence[str]) -> Iterator[str]:
    """Whether a value may follow, or another key, or both."""
    parts = [part for part in _parts(node) if not {"$ref", "anyOf", "oneOf"} & part.keys()]
    if any(part.get("type") != "object" for part in parts):
        yield "="
    if any(True for _ in _below(_parts(node), path)):
        yield "."


def _values(path: str) -> list[str]:
    """The values of an enumeration; elsewhere the default and examples."""
    from streamgauge.scenario.written.paths import keys_of

    if path in _VALUES:
        return list(_VALUES[path])
    nodes = _at(keys_of(path))
    known = [value for node in nodes for value in node.get("enum", [node["const"]] if "const" in node else ())]
    known += [value for node in nodes if node.get("type") == "boolean" for value in (True, False)]
    if not known:
        known = [value for node in nodes for value in (node.get("default"), *node.get("examples", ()))]
        known = [value for value in known if isinstance(value, str | int | float) and value != ""]
    if any(node.get("type") == "null" for node in nodes):
        known.append("off")
    texts = [str(each).lower() if isinstance(each, bool) else str(each) for each in known]
    return list(dict.fromkeys(texts))


def _at(path: Sequence[str]) -> list[Node]:
    """What a path leads to."""
    nodes = _parts(_schema())
    for place, key in enumerate(path):
        nodes = [part for name, node in _below(nodes, path[:place]) if name == key for part in _parts(node)]
    return nodes


def _below(nodes: Sequence[Node], path: Sequence[str]) -> Iterator[tuple[str, Node]]:
    """The keys that may follow a path; where they are free, those that are known."""
    from streamgauge.scenario.misplaced.names import SETTINGS

    for node in nodes:
        yield from node.get("properties", {}).items()
    for name in SETTINGS.get(".".join(path), "").split():
        yield name, {"type": "string"}


def _parts(node: Node) -> list[Node]:
    """All that a node is made of: itself, what it refers to, and what it may be."""
    found = [node]
    if "$ref" in node:
        found += _parts(_schema()["$defs"][node["$ref"].rpartition("/")[2]])
    for each in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        found += _parts(each)
    return found


@cache
def _schema() -> Node:
    from streamgauge.scenario import Scenario

    return Scenario.model_json_schema()


def _beginning(incomplete: str, known: Sequence[str]) -> list[str]:
    return [each for each in known if each.startswith(incomplete)]


def rejoin(environment: MutableMapping[str, str]) -> None:
    """Put together what bash takes for several words: it parts `load.payload=json` at its sign.

    Of the word that is completed only the rest stays, for nothing else may be answered; BEFORE keeps its begin.
    """
    if environment.get(COMPLETE) != "complete_bash" or _WORDS not in environment:
        return
    words, current = environment[_WORDS].split("\n"), int(environment.get(_PLACE, "0"))
    earlier, last = words[:current], "".join(words[current : current + 1])
    joined: list[str] = []
    for word in earlier if last != _SIGN else [*earlier, last]:
        is_glued = joined and (word == _SIGN or joined[-1].endswith(_SIGN))
        if is_glued and not joined[-1].startswith("-"):
            joined[-1] += word
        elif word != _SIGN:
            joined.append(word)
    is_open = bool(joined) and joined[-1].endswith(_SIGN)
    environment[BEFORE] = joined.pop() if is_open else ""
    environment[_WORDS] = "\n".join([*joined, "" if last == _SIGN else last])
    environment[_PLACE] = str(len(joined))
