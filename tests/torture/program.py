"""The program on a terminal of its own, with a short warm-up of brokers: `program.py WORD...`."""

import fcntl
import functools
import os
import sys
import termios
from pathlib import Path

if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    from streamgauge.__main__ import interruptible, loading

    with loading():
        Path(os.environ["TORTURE_BEGUN"]).touch()
        from streamgauge.cli.main import main
        from streamgauge.kafka.prime import prime
        from streamgauge.runs.conduct import conduct

    vars(conduct)["prime"] = functools.partial(prime, seconds=0.5)
    sys.argv[0] = "streamgauge"
    with interruptible():
        main()
