"""Priming drives a broker and leaves nothing on it."""

import pytest

from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.embedded import EmbeddedBroker
from streamgauge.kafka.prime import TOPIC, prime


@pytest.mark.kafka
def test_it_sends_and_reads_and_leaves_no_topic(broker: EmbeddedBroker) -> None:
    cluster = Cluster(broker.bootstrap, {})

    assert prime(cluster) > 0
    assert cluster.partitions_of(TOPIC) is None


@pytest.mark.kafka
def test_it_stops_when_the_run_is_to_stop(broker: EmbeddedBroker) -> None:
    """Ctrl-C does not wait for it, and it cleans up all the same."""
    cluster = Cluster(broker.bootstrap, {})

    assert prime(cluster, 3600.0, stopped=lambda: True) == 0
    assert cluster.partitions_of(TOPIC) is None
