"""Names of topics: ranges in brackets, and names that Kafka refuses."""

import math
import re
from typing import Final

from streamgauge.domain.errors import BadValue

MAX_TOPICS: Final = 100
LONGEST_NAME: Final = 249
_MOST_RANGES: Final = 3
_RANGE: Final = re.compile(r"([^\[]*)\[(\d+)-(\d+)\](.*)")
_KAFKAS_OWN: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)


def checked_name(value: str) -> str:
    """A name, or the ranges of names, that topics may have; raises BadValue for others."""
    if value in {".", ".."}:
        raise BadValue("Kafka refuses this topic name", "Choose another name")
    if value in _KAFKAS_OWN:
        raise BadValue("an internal topic of Kafka", "Choose another topic")
    if (ranges := value.count("[")) > _MOST_RANGES:
        raise BadValue(f"{ranges} ranges in a name", f"Write at most {_MOST_RANGES}")
    if (count := _number_of_names(value)) == 0 or count > MAX_TOPICS:
        raise BadValue(f"a range of {count} topics", f"Write an ascending range of at most {MAX_TOPICS}, like t[1-3]")
    return value


def expanded(name: str) -> tuple[str, ...]:
    """The names that ranges of topics mean: `t[1-3]` is t1, t2 and t3, and `t[1-2]-[1-3]` six."""
    found = _RANGE.fullmatch(name)
    if found is None:
        return (name,)
    before, first, last, after = found.groups()
    return tuple(f"{before}{number}{rest}" for number in range(int(first), int(last) + 1) for rest in expanded(after))


def retry_topic(topic: str, level: int) -> str:
    """The name of a retry topic, counted from 1."""
    return f"{topic}__retry_{level}"


def _number_of_names(name: str) -> int:
    """How many names ranges mean, without making them."""
    return math.prod(max(0, int(last) - int(first) + 1) for first, last in re.findall(r"\[(\d+)-(\d+)\]", name))
