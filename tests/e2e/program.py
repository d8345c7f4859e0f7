"""The program, with a short warm-up of its broker, for tests that compare no latencies: `program.py WORD...`."""

import sys
from collections.abc import Callable
from typing import Any, Final

PRIME_SECONDS: Final = 0.5


def brief(prime: Callable[..., int]) -> Callable[..., int]:
    """The same for half a second, which waits for no compiler: five would take two cores for all that time."""

    def primed(cluster: Any, *, replicas: int = 1, **_longer: Any) -> int:
        return prime(cluster, PRIME_SECONDS, replicas=replicas)

    return primed


def prime_briefly() -> None:
    """Warm brokers of runs in this process up for half a second."""
    from streamgauge.kafka.prime import prime
    from streamgauge.runs.conduct import target

    assert vars(target)["prime"] is prime
    vars(target)["prime"] = brief(prime)


if __name__ == "__main__":
    from streamgauge.__main__ import interruptible, loading

    with loading():
        from streamgauge.cli.main import main

        prime_briefly()
    sys.argv[0] = "streamgauge"
    with interruptible():
        main()
