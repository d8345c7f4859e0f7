"""What threads wait for a core, as Linux counts it."""

import os
import threading
from pathlib import Path

import pytest

from streamgauge.processes.cpu.waiting import (
    Pressure,
    ThreadDelay,
    Threads,
    Waited,
    involuntary_switches,
    pressure,
    pressure_ns,
    run_delay_ns,
)


class Proc:
    """A folder like /proc, with one process."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def thread(self, number: int, delay_ns: int, switches: int, name: str = "python") -> None:
        place = self.root / "7" / "task" / str(number)
        place.mkdir(parents=True, exist_ok=True)
        (place / "schedstat").write_text(f"100 {delay_ns} 3\n")
        (place / "status").write_text(
            f"Name:\t{name}\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t{switches}\n"
        )
        (place / "comm").write_text(f"{name}\n")

    def end(self, number: int) -> None:
        place = self.root / "7" / "task" / str(number)
        for file in place.iterdir():
            file.unlink()
        place.rmdir()


def test_threads_of_the_client_are_counted_apart(tmp_path: Path) -> None:
    proc = Proc(tmp_path)
    proc.thread(7, 50, 1)
    proc.thread(8, 30, 2, "rdk:main")
    proc.thread(9, 20, 4, "rdk:broker1")

    threads = Threads(7, root=tmp_path)
    assert threads.waited() == Waited(50, 50, 7)
    assert threads.has_client


def test_compilers_of_a_jvm_do_not_count(tmp_path: Path) -> None:
    proc = Proc(tmp_path)
    proc.thread(7, 50, 1, "data-plane-kafka")
    proc.thread(8, 3_000, 2, "C2 CompilerThre")
    proc.thread(9, 4_000, 4, "C1 CompilerThre")

    assert Threads(7, root=tmp_path).waited() == Waited(50, 0, 7)


def test_context_switches_are_looked_at_where_that_is_wanted(tmp_path: Path) -> None:
    Proc(tmp_path).thread(7, 50, 1)

    threads = Threads(7, with_switches=False, root=tmp_path)
    assert threads.waited() == Waited(50, 0, None)
    assert not threads.has_client


def test_what_a_thread_waited_stays_when_it_ends_and_its_number_comes_again(tmp_path: Path) -> None:
    """Counters of a process never fall."""
    proc, threads = Proc(tmp_path), Threads(7, root=tmp_path)
    proc.thread(7, 50, 1)
    proc.thread(8, 30, 2)
    assert threads.waited() == Waited(80, 0, 3)
    proc.end(8)
    proc.thread(7, 60, 1)
    assert threads.waited() == Waited(90, 0, 3)
    proc.thread(8, 5, 1, "rdk:main")
    assert threads.waited() == Waited(90, 5, 4)
    proc.thread(8, 2, 0, "rdk:main")
    assert threads.waited() == Waited(90, 7, 4)


@pytest.mark.parametrize("gone", ["schedstat", "status"])
def test_what_the_kernel_does_not_count_is_unknown(gone: str, tmp_path: Path) -> None:
    proc = Proc(tmp_path)
    proc.thread(7, 50, 1)
    (tmp_path / "7" / "task" / "7" / gone).unlink()

    assert Threads(7, root=tmp_path).waited() is None
    assert Threads(8, root=tmp_path).waited() is None


@pytest.mark.parametrize(("text", "expected"), [("5 7 1", 7), ("0 0 0\n", 0), ("5", None), ("", None), ("a b c", None)])
def test_a_run_delay_is_read(text: str, expected: int | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match=r".+"):
            run_delay_ns(text)
    else:
        assert run_delay_ns(text) == expected


def test_switches_are_the_involuntary_ones() -> None:
    assert involuntary_switches("voluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t4") == 4
    with pytest.raises(ValueError, match="no context switches"):
        involuntary_switches("voluntary_ctxt_switches:\t9")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["some avg10=0.00 avg60=0.00 avg300=0.00 total=42", "full avg10=0.00 total=7"], 42_000),
        (["full avg10=0.00 total=7"], None),
        (["some avg10=0.00"], None),
        (["some total=x"], None),
        ([], None),
    ],
)
def test_pressure_is_read(lines: list[str], expected: int | None) -> None:
    assert pressure_ns(lines) == expected


def test_a_machine_without_pressure_has_none(tmp_path: Path) -> None:
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure" / "io").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n")

    assert pressure(tmp_path) == Pressure(None, 3_000, None)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count run delay")
def test_this_process_is_looked_at() -> None:
    """Its counters never fall."""
    threads, over = Threads(os.getpid()), threading.Event()
    first = threads.waited()
    other = threading.Thread(target=over.wait)
    other.start()
    second = threads.waited()
    over.set()
    other.join()
    third = threads.waited()

    assert first is not None
    assert second is not None
    assert third is not None
    assert first.run_delay_ns <= second.run_delay_ns
    assert second.run_delay_ns <= third.run_delay_ns


def test_a_thread_is_asked_again_and_again(tmp_path: Path) -> None:
    """The file stays open: a look must not find the path again."""
    place = tmp_path / "thread-self"
    place.mkdir()
    (place / "schedstat").write_text("1 250 3")
    delay = ThreadDelay(tmp_path)

    first = delay()
    (place / "schedstat").write_text("1 990 3")

    assert (first, delay()) == (250, 990)
    delay.close()
    assert delay() is None


@pytest.mark.parametrize("content", [None, "", "0"])
def test_a_kernel_that_does_not_count_is_not_asked(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "thread-self").mkdir()
        (tmp_path / "thread-self" / "schedstat").write_text(content)
    delay = ThreadDelay(tmp_path)

    assert delay() is None
    delay.close()


def test_this_thread_is_looked_at() -> None:
    """On the real system, which counts or does not."""
    delay = ThreadDelay()
    before, after = delay(), delay()
    delay.close()

    assert (before is None) is not Path("/proc/thread-self/schedstat").exists()
    assert before is None or (after is not None and after >= before)
