"""The names of all metrics, each once: the endpoint, the rules, the dashboard and the reference take them from here."""

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram", "info"]

RUN_LABELS: Final = ("test", "run", "host")
"""Labels of every sample: name of the scenario, name of the run folder, name of the machine."""
WORKER_LABELS: Final = ("worker", "role")
STAGES: Final = ("starting", "warmup", "measure", "drain", "ending")


@dataclass(frozen=True, slots=True)
class Name:
    """A metric: its name as queries write it, what it means, and its labels besides those of the run."""

    name: str
    kind: Kind
    about: str
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def _counter(name: str, about: str, labels: tuple[str, ...] = WORKER_LABELS) -> Name:
    return Name(f"streamgauge_{name}_total", "counter", about, labels)


def _gauge(name: str, about: str, labels: tuple[str, ...] = ()) -> Name:
    return Name(f"streamgauge_{name}", "gauge", about, labels)


def _histogram(name: str, about: str) -> Name:
    return Name(f"streamgauge_{name}_latency_seconds", "histogram", about, ("role", "kind"))


RUN: Final = Name("streamgauge_run_info", "info", "1 while the endpoint serves a run.", ("version",))
STAGE: Final = _gauge(
    "stage", "1 for the current stage of the run, 0 for the others; ending lasts until the report is written.",
    ("stage",),
)  # fmt: skip
TARGET: Final = _gauge(
    "target_messages_per_second", "Target rate; absent without one. `pace` is constant, or mean for a shape.", ("pace",)
)

SENT: Final = _counter("sent_messages", "Messages handed to the Kafka client.")
ACKED: Final = _counter("acked_messages", "Messages acknowledged by the broker.")
FAILED: Final = _counter("failed_messages", "Messages that failed.")
RECEIVED: Final = _counter("received_messages", "Messages received, duplicates included.")
ACKED_BYTES: Final = _counter("acked_bytes", "Bytes of the values of acknowledged messages.")
RECEIVED_BYTES: Final = _counter("received_bytes", "Bytes of the values of received messages.")

ACK: Final = _histogram("ack", "From the due time, or the send without a schedule, to the acknowledgement.")
END_TO_END: Final = _histogram("end_to_end", "From the due time, or the send without a schedule, to the receipt.")
SEND_BATCH: Final = _histogram("send_batch", "From the first send of a batch to the last report of its messages.")

OUTSTANDING: Final = _gauge(
    "outstanding_messages",
    "Messages sent and not yet received; absent with several groups, a pipeline or redelivery.",
)
LAG: Final = _gauge(
    "committed_lag_messages", "Log end minus committed offset, last sample of the consumer group with the most lag."
)
BUFFERED: Final = _gauge("buffered_messages", "Messages polled and not yet processed.", WORKER_LABELS)
LIMIT: Final = _gauge("backpressure_limit_messages", "Lag above which producers pause, or the limit of credit.")
PAUSED: Final = _gauge("producers_paused", "1 while hysteresis pauses the producers, 0 while they send.")
IN_USE: Final = _gauge("credit_in_use_messages", "Credit in use.")
QUEUE_FULL: Final = _counter("queue_full_seconds", "Time that a producer was blocked by a full client queue.")

UP: Final = _gauge("worker_up", "1 while it runs or after a worker exited normally, 0 after it died.", WORKER_LABELS)
CLIENTS: Final = _gauge("worker_clients", "Producers or consumers in a worker process.", WORKER_LABELS)
DONE: Final = _gauge("worker_clients_done", "Producers or consumers in it that have finished.", WORKER_LABELS)
DROPPED: Final = _counter("dropped_rows", "Rows that a worker could not write: the recording is incomplete.")
CPU: Final = _counter("worker_cpu_seconds", "CPU time of a worker or broker process.")
CORES: Final = _gauge("machine_cores", "CPU cores of the machine.")
IDLE: Final = _counter("machine_idle_seconds", "Idle time of all cores since the machine was started.", ())

NAMES: Final = (
    RUN, STAGE, TARGET,
    SENT, ACKED, FAILED, RECEIVED, ACKED_BYTES, RECEIVED_BYTES,
    ACK, END_TO_END, SEND_BATCH,
    OUTSTANDING, LAG, BUFFERED, LIMIT, PAUSED, IN_USE, QUEUE_FULL,
    UP, CLIENTS, DONE, DROPPED, CPU, CORES, IDLE,
)  # fmt: skip
"""All of them."""
