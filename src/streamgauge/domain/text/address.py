"""Addresses as people write them: of a cluster, and of a Spark master; and where to listen."""

import re
from typing import Final

from streamgauge.domain.errors import BadValue

LOOPBACK: Final = "127.0.0.1"
"""Where everything that Streamgauge starts listens, unless somebody asked for more."""

_SAY: Final = "Write HOST:PORT, like localhost:9092, and commas between several"
_HOST: Final = r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?\])"
_ADDRESS: Final = re.compile(rf"{_HOST}:(\d{{1,5}})")
_LAST_PORT: Final = 65535

_MASTER: Final = re.compile(
    r"local|local\[(?:\*|[1-9]\d*)(?:,\s*[1-9]\d*)?\]|local-cluster\[\d+,\s*\d+,\s*\d+\]|yarn"
    rf"|spark://{_HOST}:\d{{1,5}}(?:,{_HOST}:\d{{1,5}})*|k8s://\S+"
)
_LOOPBACK: Final = r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]):\d{1,5}"
_HERE: Final = re.compile(rf"local(?:-cluster)?(?:\[.*\])?|spark://{_LOOPBACK}(?:,{_LOOPBACK})*")


def parse_bootstrap(text: str) -> str:
    """The addresses of a cluster, without spaces; BadValue for what is no list of HOST:PORT."""
    addresses = [address.strip() for address in text.split(",")]
    if not any(addresses):
        raise BadValue("no address", _SAY)
    for address in addresses:
        _check(address)
    return ",".join(addresses)


def is_spark_master(text: str) -> bool:
    """Whether a text is the address of a Spark master, as Spark writes them."""
    return _MASTER.fullmatch(text) is not None


def is_this_machine(master: str | None) -> bool:
    """Whether Spark runs within this machine, so that nobody else need reach its driver; None is Spark's `local`."""
    return master is None or _HERE.fullmatch(master) is not None


def driver_address(master: str | None) -> dict[str, str]:
    """The settings by which nobody else reaches the driver, where Spark runs within this machine."""
    if not is_this_machine(master):
        return {}
    return {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}


def _check(address: str) -> None:
    if not address:
        raise BadValue("an empty address between commas", _SAY)
    if "://" in address:
        raise BadValue(
            "an address cannot contain a protocol", "Write HOST:PORT, and `security.protocol` in --client-config"
        )
    found = _ADDRESS.fullmatch(address)
    if found is None and re.fullmatch(_HOST, address):
        raise BadValue("the port is missing", _SAY)
    if found is None:
        raise BadValue("not an address", _SAY)
    if not 1 <= int(found.group(1)) <= _LAST_PORT:
        raise BadValue(f"ports lie between 1 and {_LAST_PORT}", _SAY)
