"""Brokers that outlive a run: what must hold of them when it has ended, and how they are stopped."""

from pathlib import Path
from typing import Final, Literal

import confluent_kafka as ck
import psutil
from confluent_kafka.admin import AdminClient
from tests.torture.place import Place
from tests.waiting import until

from streamgauge.cluster import registry
from streamgauge.cluster.registry import Entry
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.admin import Cluster

BROKERS: Final = 3
_COMMAND_SECONDS: Final = 120.0
WHOLE_SECONDS: Final = 60.0
"""Within this the brokers know each other, also where one has just been started again."""
_TOPIC: Final = "torture-serves"
KEPT: Final = "broker kept at "
"""What a run says of brokers that it leaves."""
_NEXT: Final = "next"


def started(place: Place) -> str:
    """The address of brokers that `broker start` started."""
    done = place.call("broker", "start", "--brokers", str(BROKERS), seconds=_COMMAND_SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def outages(place: Place) -> list[Path]:
    """What is noted of faults of brokers."""
    return list(place.state.glob("**/brokers/*.outage"))


def running(place: Place) -> list[Entry]:
    """The brokers that nobody ends but `broker stop`."""
    with place.entered():
        return [each for each in registry.listing() if each.owner is None]


def looked_after(place: Place, heir: Literal["status", "start"]) -> list[str]:
    """Let a command come next that looks after brokers; its own faults."""
    words = ["broker", heir, *(["--name", _NEXT] if heir == "start" else [])]
    done = place.call(*words, seconds=_COMMAND_SECONDS)
    return [] if done.returncode == 0 else [f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-500:]}"]


def swept(place: Place) -> list[Entry]:
    """The brokers that run once the next start of one has cleared away what nobody looks after."""
    with place.entered():
        registry.sweep()
    return running(place)


def kept_holds(found: list[Entry], *, is_told: bool, is_silent: bool, is_wanted: bool, brokers: int) -> list[str]:
    """Faults of what a run with --keep-broker left: all of its `brokers`, or nothing where they are not `is_wanted`.

    Somebody has to know of them: `is_told` if the run said so, `is_silent` if it could not.
    """
    if not found:
        return ["the brokers that were to be kept are gone"] if is_wanted else []
    if not is_told and not is_silent:
        return [f"{len(found)} brokers run of which nobody was told"]
    return serves(found) if len(found) == brokers else [f"{len(found)} brokers run of {brokers}"]


def standing_holds(place: Place) -> list[str]:
    """Faults of brokers that were there before a run, when somebody has looked after them."""
    left = [f"still noted: {path}" for path in outages(place)]
    found = [each for each in running(place) if each.name != _NEXT]
    paused = [f"{each.name} is paused" for each in found if _is_paused(each)]
    lacking = [] if len(found) == BROKERS else [f"{len(found)} brokers run of {BROKERS}"]
    return left + paused + (lacking or ([] if paused else serves(found)))


def serves(brokers: list[Entry]) -> list[str]:
    """Faults: a message is acknowledged by a replica on each of these brokers, which are all there are."""
    bootstrap = ",".join(each.bootstrap for each in brokers)
    # Others list a broker for seconds after it has died: each is asked itself.
    asking = [AdminClient({"bootstrap.servers": each.bootstrap, "log_level": 0}) for each in brokers]

    def serving() -> int:
        return sum(_known(each) == len(brokers) for each in asking)

    try:
        until(lambda: serving() == len(brokers), WHOLE_SECONDS)
    except AssertionError:
        return [f"{serving()} brokers serve of {len(brokers)}"]
    cluster = Cluster(bootstrap, {})
    try:
        cluster.create_topic(_TOPIC, 1, len(brokers))
        is_acknowledged = _is_acknowledged(bootstrap)
        cluster.delete_topic(_TOPIC)
    except BrokerError as error:
        return [f"they do not serve: {error}"]
    return [] if is_acknowledged else ["no message is acknowledged"]


def stopped(place: Place) -> list[str]:
    """Faults of `broker stop`, after which none runs."""
    done = place.call("broker", "stop", "--all", seconds=_COMMAND_SECONDS)
    faults = [] if done.returncode == 0 else [f"broker stop ended with {done.returncode}: {done.stderr[-500:]}"]
    return faults + [f"not stopped: {each.name}" for each in running(place)]


def _known(asking: AdminClient) -> int:
    try:
        return len(asking.list_topics(timeout=min(5.0, WHOLE_SECONDS)).brokers)
    except ck.KafkaException:
        return 0


def _is_acknowledged(bootstrap: str) -> bool:
    errors: list[object] = []
    timeout = {"message.timeout.ms": int(WHOLE_SECONDS * 1000), "log_level": 0}
    producer = ck.Producer({"bootstrap.servers": bootstrap, "acks": "all", **timeout})
    producer.produce(_TOPIC, b"served", on_delivery=lambda error, _: errors.append(error))
    producer.flush(WHOLE_SECONDS + 5)
    return errors == [None]


def _is_paused(entry: Entry) -> bool:
    try:
        return psutil.Process(entry.process.pid).status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False
