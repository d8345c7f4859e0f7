"""How calls that may take long are waited for: in threads of their own, with something that may end the waiting.

A call of a library in C that waits cannot be interrupted, not even by a signal: Python's handler runs when it returns.
So nobody waits for such a thread at the end of the process.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Final, TypeVar

from streamgauge.domain import clock

_PAUSE_SECONDS: Final = 0.05
CLOSE_SECONDS: Final = 5.0
"""Leaving a group takes milliseconds; a broker that does not answer would keep a consumer for 45 s and longer."""

Check = Callable[[], None]
"""Asked while something is waited for; what it raises ends the waiting."""
Progress = Callable[[str], None]
"""Takes a line of text that says what is being done; a user may be waiting for it."""
_T = TypeVar("_T")


def no_check() -> None:
    """Wait on, whatever happens."""


def awaited(call: Callable[[], _T], check: Check = no_check) -> _T:
    """What a call returns or raises, made in a thread of its own; when `check` raises, it is left to itself."""
    return side_by_side([call], 1, check)[0]


def side_by_side(calls: Sequence[Callable[[], _T]], at_once: int, check: Check = no_check) -> list[_T]:
    """What calls return, so many of them made at a time; raises what one of them raises.

    When `check` raises, the calls under way are left to themselves, and no other is begun.
    """
    results: dict[int, _T] = {}
    errors: list[BaseException] = []
    waiting = deque(enumerate(calls))

    def carry_out() -> None:
        with contextlib.suppress(IndexError):
            while True:
                place, call = waiting.popleft()
                try:
                    results[place] = call()
                except BaseException as error:  # noqa: BLE001 - raised again by who waits for it
                    errors.append(error)
                    waiting.clear()

    threads = [threading.Thread(target=carry_out, daemon=True) for _ in range(min(at_once, len(calls)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                check()
                thread.join(_PAUSE_SECONDS)
    finally:
        waiting.clear()
    if errors:
        raise errors[0]
    return [results[place] for place in range(len(calls))]


def asked(call: Callable[[], _T]) -> Future[_T]:
    """What a call will have returned or raised, made in a thread of its own that nobody waits for."""
    future: Future[_T] = Future()

    def carry_out() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again by who wants the result
            future.set_exception(error)

    threading.Thread(target=carry_out, daemon=True).start()
    return future


def let_go(closes: Iterable[Callable[[], object]], seconds: float = CLOSE_SECONDS) -> bool:
    """Close clients side by side, in threads of their own; whether all were closed in that time.

    One that was not goes on in its thread, which holds it: freeing a consumer waits for commits under way too.
    """
    threads = [threading.Thread(target=close, daemon=True) for close in closes]
    for thread in threads:
        thread.start()
    deadline_ns = clock.monotonic_ns() + int(seconds * clock.NS_PER_SECOND)
    for thread in threads:
        thread.join(max(0.0, (deadline_ns - clock.monotonic_ns()) / clock.NS_PER_SECOND))
    return not any(thread.is_alive() for thread in threads)
