"""Checks of delivery over the whole run."""

from dataclasses import dataclass
from typing import Final

from streamgauge.domain.events import UNDECIDED
from streamgauge.domain.text.numbers import listed, percent, whole
from streamgauge.verdict import during
from streamgauge.verdict.check import Check, Status, passed, unknown
from streamgauge.verdict.checks.pace import HELD_BACK, shortfall
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.rule import SYSTEM, Rule

_FOREIGN, _TRUNCATED = "foreign", "truncated"
_ADVICE_PIPED: Final = {
    "lost": "See `problems` for their partitions and offsets in the source, and the log of the query.",
    "undelivered": "The query had not reached them: give it more time (phases.drain), or lower load.rate.",
    "duplicate_producer": "A Kafka sink is at least once: a restarted query writes its last batch again.",
    "reordered": "Some messages of a partition were reordered: see the log of the query for retries.",
}
"""Advice for runs with a pipeline between the topics."""


@dataclass(frozen=True, slots=True)
class _Class:
    """A count that should be zero: the messages, the total they are part of, the status, and advice."""

    name: str
    title: str
    words: str
    out_of: str
    status: Status
    advice: str
    needs_load: bool = True
    needs_consumers: bool = True
    needs_log: bool = False
    """Whether only a log that was read again tells it."""

    def answer(self, run: Evidence) -> Check | None:
        """Whether the count is zero."""
        if (self.needs_load and not run.sends) or (self.needs_consumers and not run.consumes):
            return None
        if self.needs_consumers and not run.is_followed and self.name != _FOREIGN:
            return None
        if self.needs_log and not (run.profile.reads_log and (run.piped is None or self.name == _TRUNCATED)):
            return None
        row = run.delivery("run")
        count = None if row is None else row.get(self.name)
        if row is None or count is None:
            return unknown(self.name, "system", f"the number of messages {self.words} is not known")
        if count == 0:
            return passed(self.name, "system", f"none {self.words}")
        within = during.of_messages(run, self.name)
        evidence = f"{_of(count, row.get(self.out_of))} {self.words}{f'; {within}' if within else ''}"
        advice = _ADVICE_PIPED.get(self.name, self.advice) if run.piped else self.advice
        return Check(self.name, "system", self.status, evidence, advice)

    @property
    def doc(self) -> str:
        """The class as a docstring of a check."""
        when = f"{'Fails' if self.status == 'fail' else 'Warns'} when: it is above 0."
        group = " for the worst group" if self.needs_consumers else ""
        data = f"Data: the count `{self.name}` of the whole run{group}."
        return f"Whether there were messages {self.words}.\n\n{data}\n{when}\nRemedy: {self.advice}"


_CLASSES: Final = (
    _Class(
        "failed", "No failed sends", "refused or timed out", "sent", "fail",
        "The table `problems` has the errors; see the broker's log.", needs_consumers=False,
    ),
    _Class(
        "lost", "No lost messages", "acknowledged and lost", "acked", "fail",
        "Use acks=all with replication; see `problems` for their partitions and offsets.",
    ),
    _Class(
        "undelivered", "All delivered", "acknowledged and not received by the end of the drain", "acked", "fail",
        "Consumers were too slow or the drain too short: add consumers, or raise phases.drain.",
    ),
    _Class(
        "expired", "No expired messages", "deleted by retention before they were received", "acked", "fail",
        "Raise the topic's retention, or add consumers.",
    ),
    _Class(
        "duplicate_producer", "No producer duplicates", "written more than once", "acked", "warn",
        "Retries write twice: set enable.idempotence in load.client.",
    ),
    _Class(
        "duplicate_consumer", "No consumer duplicates", "received more than once by the group", "received", "warn",
        "The group re-read them after a rebalance or a restart: commit more often.", needs_load=False,
    ),
    _Class(
        "reordered", "Order kept", "received out of the order they were sent in", "received", "warn",
        "Retries reorder: set enable.idempotence, or max.in.flight of 1, in load.client.",
    ),
    _Class(
        "foreign", "No foreign messages", "not of this run", "received", "warn",
        "Another producer writes to the topic: use a separate topic.",
    ),
    _Class(
        "unacked_received", "No unacked messages received", "received though never acknowledged", "received", "warn",
        "A send that failed or has no report may still have been written: a retry creates a duplicate.",
    ),
    _Class(
        "truncated", "Log kept what was acknowledged", "acknowledged and gone from the log at the end", "acked", "fail",
        "A leader was replaced by a replica that did not have them: use acks=all and min.insync.replicas above 1, and "
        "no unclean election.", needs_consumers=False, needs_log=True,
    ),
    _Class(
        "vanished", "Log kept what was received", "received and gone from the log at the end", "received", "fail",
        "The log was cut back below what consumers had read: an unclean election, or a disk that lost data.",
        needs_log=True,
    ),
    _Class(
        "offset_conflicts", "One message at each offset", "at an offset of another message", "acked", "fail",
        "An offset was given out again after the log was cut back: see `problems` for partitions and offsets.",
        needs_consumers=False, needs_log=True,
    ),
)  # fmt: skip


CLASSES: Final = tuple(Rule(each.name, each.title, SYSTEM, each.answer, each.doc) for each in _CLASSES)
"""One rule for each delivery class."""


def _of(count: int, total: int | None) -> str:
    return (
        f"{whole(count)} of {whole(total)} messages ({percent(count / total)})" if total else f"{whole(count)} messages"
    )


def corrupt(run: Evidence) -> Check | None:
    """Whether all verified checksums match.

    Data: the count `corrupt` of the whole run; `verify` sets the share of checksums to verify.
    Fails when: a checksum does not match.
    Remedy: see the table `problems` for partitions and offsets; bytes changed on the way.
    """
    if not run.consumes or run.profile.verify_every is None or (run.piped and not run.piped.keeps_content):
        return None
    row = run.delivery("run") or {}
    count, checked = row.get("corrupt"), row.get("checked")
    if checked == 0:
        return unknown("corrupt", "system", "no checksum was verified", "No messages to verify were received.")
    if count is None or checked is None:
        return unknown("corrupt", "system", "the number of correct checksums is not known")
    evidence = f"{whole(checked)} of {whole(row.get('received'))} checksums verified, {whole(count)} wrong"
    if count == 0:
        return passed("corrupt", "system", evidence)
    return Check("corrupt", "system", "fail", evidence, "Bytes changed: see `problems` for partitions and offsets.")


def aborted_received(run: Evidence) -> Check | None:
    """Whether messages of aborted transactions stayed invisible.

    Data: the count `aborted_received` of the whole run, for the worst group; and `isolation.level` in consume.client.
    Consumers with read_uncommitted are expected to receive such messages.
    Fails when: the count is above 0 and consumers use read_committed.
    Remedy: see `problems` for partitions and offsets; the broker or the client delivered aborted messages.
    """
    row = run.delivery("run") or {}
    count, aborted = row.get("aborted_received"), row.get("aborted")
    words = None if count is None else f"{whole(count)} of {whole(aborted)} aborted messages were received"
    return _uncommitted(run, "aborted_received", words if aborted is not None else None, count, "aborted messages")


def received_early(run: Evidence) -> Check | None:
    """Whether no message was received before its producer asked for the commit of its transaction.

    Data: the count `received_early` of the whole run, for the worst group; and `isolation.level` in consume.client.
    Consumers with read_uncommitted are expected to receive such messages.
    Fails when: the count is above 0 and consumers use read_committed.
    Remedy: see `problems` for partitions and offsets; the broker or the client delivered messages too early.
    """
    row = run.delivery("run") or {}
    count = row.get("received_early")
    if run.piped or (row and count is None):
        # Of another topic, or recorded by a version that did not note when commits were asked for.
        return None
    words = None if count is None else f"{whole(count)} messages were received before the commit was asked for"
    return _uncommitted(run, "received_early", words, count, "messages too early")


def _uncommitted(run: Evidence, name: str, evidence: str | None, count: int | None, what: str) -> Check | None:
    """Whether nothing of what was not committed was received, by consumers that ask for that."""
    load, consume = run.profile.load, run.profile.consume
    if consume is None or load is None or not load.transactional:
        return None
    if evidence is None:
        return unknown(name, "system", f"it is not known whether {what} were received")
    if not consume.read_committed:
        return passed(name, "system", f"{evidence}, as allowed by isolation.level")
    if not count:
        return passed(name, "system", evidence)
    advice = f"The broker or the client delivered {what}: see `problems` for partitions and offsets."
    return Check(name, "system", "fail", evidence, advice)


def transactions(run: Evidence) -> Check | None:
    """Whether every transaction was committed or aborted as intended.

    Data: outcomes of transactions of the whole run, in the table `transactions`.
    Warns when: the outcome of a transaction is unknown; the outcome of its messages is then unknown unless they were
    received.
    Remedy: see the broker's log; raise transaction.timeout.ms in load.client.
    """
    ended = {row["outcome"]: row["count"] for row in run.matching("transactions", scope="run")}
    if not ended:
        return None
    told = listed([f"{whole(count)} {outcome}" for outcome, count in ended.items() if count])
    if not ended.get(UNDECIDED):
        return passed("transactions", "system", f"transactions: {told}")
    advice = "Their outcome is unknown: see the broker's log, or raise transaction.timeout.ms in load.client."
    return Check("transactions", "system", "warn", f"transactions: {told}", advice)


def resent(run: Evidence) -> Check | None:
    """Whether no message had to be sent again.

    Data: the count `resent` of the whole run.
    Warns when: it is above 0.
    Remedy: see the table `resends` for the errors, and the broker's log.
    """
    if run.profile.load is None or not run.profile.load.resend:
        return None
    row = run.delivery("run") or {}
    count = row.get("resent")
    if count is None:
        return unknown("resent", "system", "the number of messages sent again is not known")
    if count == 0:
        return passed("resent", "system", "none had to be sent again")
    errors = listed([row["error"] for row in run.matching("resends", scope="run") if row["error"] is not None])
    evidence = f"{_of(count, row.get('sent'))} had to be sent again: {errors}"
    return Check("resent", "system", "warn", evidence, "See the table `resends`, and the broker's log.")


def undecided(run: Evidence) -> Check | None:
    """Whether the outcome of every message is known. The check is unknown otherwise; it never warns or fails.

    Data: the count `unknown` of the whole run: acknowledged messages for which it is unknown whether they should have
    been received, and messages without a delivery report that were not received.
    Remedy: read the delivery counts as lower bounds; log ends, positions or transaction outcomes are missing, or a
    worker died.
    """
    if not (run.sends and run.consumes and run.is_followed):
        return None
    row = run.delivery("run") or {}
    count = row.get("unknown")
    if count == 0:
        return passed("undecided", "instrument", "the outcome of every acknowledged message is known")
    silent = (row.get("fate_unknown") or 0) - (row.get("fate_unknown_received") or 0)
    seen = "the outcome of the messages" if count is None else f"the outcome of {whole(count)} messages"
    seen += f" is not known{f': {whole(silent)} of them have no report' if count and silent else ''}"
    advice = "The delivery counts are lower bounds."
    if count is None or count > silent:
        advice = f"Log ends, positions or the end of a transaction are missing, or a consumer died. {advice}"
    if silent:
        advice = f"A producer died before it could report: see `fate_unknown`. {advice}"
    return unknown("undecided", "instrument", seen, advice)


def unsent(run: Evidence) -> Check | None:
    """Whether all due messages were sent.

    Data: the count `unsent` of the whole run.
    Warns when: it is above 0, and the policy throttled producers.
    Fails when: it is above 0 otherwise; about the system if the client's queue was full {FULL_QUEUE_SHARE:.1%} of the
    time or more, or the scenario stopped a producer or the broker.
    Remedy: add producers (load.producers) or CPU, or lower load.rate.
    """
    if not run.has_schedule:
        return None
    row = run.delivery("run") or {}
    count, sent = row.get("unsent"), row.get("sent") or 0
    if count is None:
        return unknown("unsent", "instrument", "the number of unsent messages is not known")
    if count == 0:
        return passed("unsent", "instrument", "every due message was sent")
    about, seen, advice = shortfall(run)
    status: Status = "warn" if seen == HELD_BACK else "fail"
    return Check("unsent", about, status, f"{_of(count, count + sent)} were due but not sent{seen}", advice)


def drain(run: Evidence) -> Check | None:
    """Whether consumers reached the log end before the end of the drain.

    Data: `drained` in run.json.
    Warns when: they did not.
    Remedy: raise phases.drain, add consumers, or lower load.rate.
    """
    if not (run.sends and run.consumes):
        return None
    if run.facts.drained is None:
        return unknown(
            "drain", "system", "it is not known whether consumers reached the log end", "See how the run ended."
        )
    if run.facts.drained:
        return passed("drain", "system", "consumers reached the log end")
    advice = "Raise phases.drain, add consumers, or lower load.rate."
    return Check("drain", "system", "warn", "consumers had not reached the log end when the drain was over", advice)
