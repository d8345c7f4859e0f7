"""The program on a terminal of its own, with a short warm-up of brokers: `program.py WORD...`."""

import fcntl
import functools
import os
import signal
import sys
import termios
from pathlib import Path

if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # Who starts the tests may have it ignored, as `nohup` does.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    from streamgauge.__main__ import interruptible, loading

    with loading():
        Path(os.environ["TORTURE_BEGUN"]).touch()
        from streamgauge.cli.main import main
        from streamgauge.kafka.prime import prime
        from streamgauge.runs.conduct import target

    assert vars(target)["prime"] is prime
    vars(target)["prime"] = functools.partial(prime, seconds=0.5)
    sys.argv[0] = "streamgauge"
    with interruptible():
        main()
