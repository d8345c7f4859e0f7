"""One or more specifications of Trogdor as one scenario: a workload, a producer and a consumer, faults beside them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.shown import one_line, shown
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.trogdor.faults import FAULTS, TrogdorFault, cluster_of, fault_of, injected_in
from streamgauge.foreign.specs.trogdor.programs import PROGRAMS, program_of
from streamgauge.foreign.specs.trogdor.topics import TrogdorTopics
from streamgauge.foreign.specs.trogdor.workloads import WORKLOADS, TrogdorOptions, TrogdorPart, workload_of
from streamgauge.foreign.specs.write.programs import ProgramRun
from streamgauge.foreign.specs.write.translation import Draft, Translation, duration, name_of, without_none

_PREFIX: Final = "org.apache.kafka.trogdor."


def is_trogdor(given: object) -> bool:
    """Whether a mapping is a specification of Trogdor, by itself or in a request that creates a task."""
    if not isinstance(given, Mapping):
        return False
    spec = given.get("spec", given)
    name = spec.get("class") if isinstance(spec, Mapping) else None
    known = {*WORKLOADS, *FAULTS, *PROGRAMS}
    return isinstance(name, str) and (name.startswith(_PREFIX) or name.rpartition(".")[2] in known)


def trogdor_specs(given: Sequence[tuple[str, Any]], options: TrogdorOptions) -> Translation:
    """The scenario of specifications, each with the name of its file; raises BadInput."""
    drafts = [Draft(source) for source, _ in given]
    parts: list[TrogdorPart] = []
    faults: list[TrogdorFault] = []
    programs: list[ProgramRun] = []
    nodes: dict[str, str] = {}
    for draft, (_, value) in zip(drafts, given, strict=True):
        _one(draft, value, options, parts, faults, programs, nodes)
    whole = Draft(given[0][0])
    for draft in drafts:
        whole.faults += draft.faults
        whole.notes += draft.notes
        whole.bootstrap = whole.bootstrap or draft.bootstrap
    if programs and len(given) > 1:
        whole.refuse("class", "a program cannot be joined with others", "Run each by itself")
    if programs:
        spec = str(programs[0].spec.get("class", "")).rpartition(".")[2]
        return whole.finished("trogdor", spec, {}, "program", programs=tuple(programs))
    if not whole.faults and not parts:
        raise BadInput.single(
            whole.source, "a fault alone has nothing to disturb", "Name a workload beside it: convert WORKLOAD FAULT"
        )
    document = _joined(whole, parts, faults, len(nodes), _rates_in_words(parts, options)) if not whole.faults else {}
    spec = " with ".join([*(part.spec for part in parts), *(fault.spec for fault in faults)])
    return whole.finished("trogdor", spec, document)


def _one(
    draft: Draft,
    value: Any,
    options: TrogdorOptions,
    parts: list[TrogdorPart],
    faults: list[TrogdorFault],
    programs: list[ProgramRun],
    nodes: dict[str, str],
) -> None:
    inner = value
    fields = SpecFields(draft, value, "", "a specification")
    if fields.has("spec"):
        fields.ignored("a run names its folder", "id", "taskId")
        inner = fields.raw("spec")
        fields.close()
        fields = SpecFields(draft, inner, "spec", "a specification")
    fields.required("class")
    given = fields.text("class")
    name = given.rpartition(".")[2]
    fields.of = name or fields.of
    if name in WORKLOADS:
        parts.append(workload_of(draft, name, fields, options))
    elif name in FAULTS:
        faults.append(fault_of(draft, name, fields, nodes))
    elif name in PROGRAMS:
        programs.append(program_of(draft, name, fields, inner))
    elif given:
        known = ", ".join([*WORKLOADS, *PROGRAMS, *FAULTS])
        draft.refuse(fields.place("class"), f"{shown('class', given)}: no specification of Trogdor", f"Known: {known}")


def _rates_in_words(parts: Sequence[TrogdorPart], options: TrogdorOptions) -> str:
    """How rates were read, so that the result of a run says it."""
    if not any(part.load for part in parts):
        return ""
    return " Rates are rounded to whole messages a window, as there." if options.floor else " Rates are exact."


def _joined(
    draft: Draft, parts: Sequence[TrogdorPart], faults: Sequence[TrogdorFault], nodes: int, rates: str
) -> dict[str, Any]:
    load, consume, connections = (_single(draft, parts, name) for name in ("load", "consume", "connections"))
    if load and consume:
        # Messages of this run carry a stamp of their own, to the nanosecond.
        consume = {name: value for name, value in consume.items() if name != "sent_time"}
    topics = _topics(draft, [part.topics for part in parts if part.topics])
    # Who sends decides when the run ends; who only reads gets what was sent.
    leading = next((part for part in parts if part.load), parts[0])
    at_most = duration(max(part.length_ms for part in parts))
    counted = leading.messages if leading.load or leading.consume else None
    expect = {name: value for part in parts for name, value in part.expect.items()}
    cluster = cluster_of(faults, nodes, topics or {})
    injected = injected_in(faults, cluster, leading.start_ms)
    if topics and "replication" not in topics:
        # Who only reads takes topics as they are.
        topics = {"partitions": 1, **topics, "adopt": True}
    return without_none(
        {
            "name": name_of("trogdor", *(part.spec.removesuffix("Spec") for part in parts)),
            "about": f"Trogdor's {one_line(' and '.join(part.spec for part in parts))}.{rates}",
            "topic": topics,
            "cluster": cluster.document or None,
            "load": load or "off",
            "consume": consume or "off",
            "connections": connections,
            "faults": injected or None,
            "phases": {
                "warmup": "0s",
                "measure": {"messages": counted, "at_most": at_most} if counted else at_most,
            },
            "expect": expect or None,
        }
    )


def _single(draft: Draft, parts: Sequence[TrogdorPart], name: str) -> dict[str, Any] | None:
    found = [part for part in parts if getattr(part, name)]
    if len(found) > 1:
        what = f"{' and '.join(part.spec for part in found)} both say a {name}"
        draft.refuse("class", what, "Convert each by itself, or a producer and a consumer together")
    made: dict[str, Any] | None = getattr(found[0], name) if found else None
    return made


def _topics(draft: Draft, given: Sequence[TrogdorTopics]) -> dict[str, Any] | None:
    names = list(dict.fromkeys(topics.name for topics in given))
    if len(names) > 1:
        draft.refuse(
            "activeTopics", f"{', '.join(map(one_line, names))}: a scenario has topics of one name", "Use the same"
        )
    if not given:
        return None
    # A producer says more of a topic than a consumer, who only names it.
    return max((topics.document for topics in given), key=len)
