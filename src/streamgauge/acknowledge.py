"""Acknowledge single messages of a Kafka topic, and have the others delivered again: kmq's protocol, in Python.

`MarkerConsumer` polls messages and acknowledges each of them with markers in a topic of their own. A `MarkerTracker`
runs beside the consumers and sends messages again that were not acknowledged in time. `make_marker_topic` makes the
topic of markers. Clients and trackers of kmq, which runs on the JVM, can share the topics with these.
"""

from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.carriers.markers.consumer import MarkerConsumer
from streamgauge.kafka.carriers.markers.topics import make_marker_topic
from streamgauge.kafka.carriers.markers.tracked import Tracked
from streamgauge.kafka.carriers.markers.tracker import MarkerTracker

__all__ = ["Cluster", "MarkerConsumer", "MarkerTracker", "Tracked", "make_marker_topic"]
