"""Rows of what a producer sent: one for each message, once its report is final. What failed may be sent again first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.delivery.reports import certainly_not_written
from streamgauge.domain.blocks import NULL_INT64, Block, Refused
from streamgauge.engine.board import Latencies, Slot
from streamgauge.engine.ports.rows import Sink
from streamgauge.engine.produce.handed import Handed
from streamgauge.engine.produce.labelled import LabelledSink
from streamgauge.engine.produce.stops import Transacted
from streamgauge.engine.produce.throttle import Throttle
from streamgauge.workload.pacing import Int64s


class Again(NamedTuple):
    """Messages that are to be sent again: sequences, due times, and the errors of their last attempts."""

    seqs: Int64s
    due_ns: Int64s | None
    errors: Sequence[str]

    def chosen(self, places: Sequence[int]) -> "Again":
        """Some of them."""
        at = np.asarray(places)
        due_ns = None if self.due_ns is None else self.due_ns[at]
        return Again(self.seqs[at], due_ns, [self.errors[place] for place in places])


@dataclass(frozen=True, slots=True)
class ProducerSinks:
    """Where the rows of a producer go; without a sink there are none of the kind."""

    sent: Sink
    batches: Sink | None = None
    transactions: Sink | None = None
    attempts: Sink | None = None

    def labelled(self, labels: Mapping[str, int]) -> "ProducerSinks":
        """The same sinks, shared with others, for the rows of one producer."""
        who = {"producer": labels["producer"]}
        return ProducerSinks(
            sent=LabelledSink(self.sent, labels),
            batches=LabelledSink(self.batches, who) if self.batches else None,
            transactions=LabelledSink(self.transactions, who) if self.transactions else None,
            attempts=LabelledSink(self.attempts, labels) if self.attempts else None,
        )


@dataclass(slots=True)
class SentRows:
    """Writes the rows of one producer, and tells those who watch it and the policy that lets it go."""

    sinks: ProducerSinks
    slot: Int64s
    latencies: Latencies
    topics: Sequence[int]
    """Numbers of the topics that messages go to round robin."""
    resend: int
    """How often a message that failed is sent again."""
    scheduled: bool
    """Whether messages have due times."""
    throttle: Throttle | None
    transacted: Transacted | None
    now_ns: Callable[[], int]
    handed: Handed = field(default_factory=Handed)
    """When blocks were handed over, and what was waited for before."""
    again: list[Again] = field(default_factory=list)
    """Messages that are to be sent again."""
    _attempts: dict[int, int] = field(default_factory=dict)

    def take(self, block: Block, count: int, *, may_try_again: bool) -> None:
        """Take delivery reports; without trying again all are final."""
        if may_try_again and self.resend and block["error"] is not None:
            self._final(block, count)
        else:
            self._known(block, count)

    def turn_again(self) -> list[Again]:
        """What is to be sent again, which is forgotten here."""
        waiting, self.again = self.again, []
        return waiting

    def give_back(self, errors: Sequence[str | None]) -> None:
        """Tell the policy of messages that it let go and that failed."""
        if self.throttle and (failed := [error for error in errors if error is not None]):
            returned = sum(certainly_not_written(error) for error in failed)
            self.throttle.settle(returned=returned, ambiguous=len(failed) - returned)

    def refuse(self, refused: Refused, seqs: Int64s, due_ns: Int64s | None) -> None:
        """Record the messages of a block that the client refused for good."""
        places = np.asarray([place for place, _ in refused.failed])
        errors = [error for _, error in refused.failed]
        self.slot[Slot.KNOWN] += len(errors)
        self.slot[Slot.FAILED] += len(errors)
        self.give_back(errors)
        self.never(seqs[places], None if due_ns is None else due_ns[places], errors)

    def never(self, seqs: Int64s, due_ns: Int64s | None, errors: Sequence[str]) -> None:
        """Record messages that no client ever took."""
        self.sinks.sent.append(self._complete(never_sent(seqs, due_ns, errors)), len(seqs))

    def _known(self, block: Block, count: int) -> None:
        """Write reports that are final, and tell those who watch."""
        self.sinks.sent.append(self._complete(block), count)
        errors = block["error"]
        self.slot[Slot.KNOWN] += count
        if isinstance(errors, Sequence):
            self.slot[Slot.FAILED] += sum(error is not None for error in errors)
            self.give_back(errors)
        self.slot[Slot.BYTES] += int(np.sum(np.asarray(block["size_bytes"], np.int64)))
        self.latencies.take(block["acked_ns"], block["due_ns"], block["sent_ns"], count, self.now_ns())

    def _final(self, block: Block, count: int) -> None:
        """Write the reports that are final; messages that failed and may be sent again wait for their turn."""
        seqs, errors = np.asarray(block["seq"], np.int64), block["error"]
        assert isinstance(errors, Sequence)
        failed = [place for place, error in enumerate(errors) if error is not None]
        again = [place for place in failed if self._attempts.get(int(seqs[place]), 0) < self.resend]
        if not again:
            self._known(block, count)
            return
        places = np.array(again)
        due_ns = np.asarray(block["due_ns"], np.int64)[places]
        reasons = [str(errors[place]) for place in again]
        self.again.append(Again(seqs[places], due_ns if self.scheduled else None, reasons))
        for seq in seqs[places].tolist():
            self._attempts[seq] = self._attempts.get(seq, 0) + 1
        self._note_attempts(seqs[places], reasons)
        final = np.ones(count, np.bool_)
        final[places] = False
        if final.any():
            self._known(_chosen(block, final), int(final.sum()))

    def _note_attempts(self, seqs: Int64s, errors: Sequence[str]) -> None:
        if self.sinks.attempts:
            attempts = np.array([self._attempts[seq] for seq in seqs.tolist()], np.int32)
            row: Block = {"at_ns": self.now_ns(), "seq": seqs, "attempt": attempts, "error": errors}
            self.sinks.attempts.append(self._with_topic(row), len(seqs))

    def _with_topic(self, block: Block) -> Block:
        """The rows with their topic, where messages go to several."""
        if len(self.topics) == 1:
            return block
        places = np.asarray(block["seq"], np.int64) % len(self.topics)
        return {**block, "topic": np.array(self.topics, np.int32)[places]}

    def _complete(self, block: Block) -> Block:
        """Rows of `sent` with the columns that vary from message to message only in some loads."""
        out: dict[str, Any] = {**self._with_topic(block), "handed_ns": None, "waited_ns": None}
        if (sent_ns := block["sent_ns"]) is not None:
            sent_ns = np.asarray(sent_ns, np.int64)
            out["handed_ns"] = self.handed.returned_ns(sent_ns)
            if self.scheduled:
                out["waited_ns"] = self.handed.waited_ns(np.asarray(block["due_ns"], np.int64), sent_ns)
        if self.transacted is not None:
            out["transaction"] = self.transacted.of(np.asarray(block["seq"], np.int64))
        if self.throttle:
            seqs = np.asarray(block["seq"], np.int64)
            out["admitted_ns"] = None if sent_ns is None else self.throttle.admitted_ns(seqs)
        return out


def _chosen(block: Block, chosen: NDArray[np.bool_]) -> Block:
    """Some of the rows of a block."""
    return {
        name: values[chosen]
        if isinstance(values, np.ndarray)
        else [value for value, wanted in zip(values, chosen, strict=True) if wanted]
        if isinstance(values, list)
        else values
        for name, values in block.items()
    }


def never_sent(seqs: Int64s, due_ns: Int64s | None, errors: Sequence[str]) -> dict[str, Int64s | Sequence[str] | None]:
    """Rows of `sent`, without the constant columns, for messages that no client ever took."""
    return {
        "seq": seqs,
        "partition": None,
        "offset": None,
        "due_ns": np.full(len(seqs), NULL_INT64) if due_ns is None else due_ns,
        "sent_ns": None,
        "acked_ns": None,
        "polled_ns": None,
        "size_bytes": None,
        "error": errors,
    }
