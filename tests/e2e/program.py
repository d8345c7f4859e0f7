"""The program, with a short warm-up of its broker, for tests that compare no latencies: `program.py WORD...`."""

import functools
import sys
from typing import Final

PRIME_SECONDS: Final = 0.5


def prime_briefly() -> None:
    """Warm brokers of runs in this process up for half a second; five would take two cores for all that time."""
    from streamgauge.kafka.prime import prime
    from streamgauge.runs.conduct import target

    assert vars(target)["prime"] is prime
    vars(target)["prime"] = functools.partial(prime, seconds=PRIME_SECONDS)


if __name__ == "__main__":
    from streamgauge.__main__ import interruptible, loading

    with loading():
        from streamgauge.cli.main import main

        prime_briefly()
    sys.argv[0] = "streamgauge"
    with interruptible():
        main()
