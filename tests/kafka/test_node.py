"""The files of an embedded broker, as far as they can be told without one."""

from pathlib import Path

from streamgauge.kafka.node import escaped


def test_paths_are_written_as_java_reads_them() -> None:
    assert escaped(Path("/a b/\u00fc/\U0001f600/c\\d")) == "/a b/\\u00fc/\\ud83d\\ude00/c\\\\d"
