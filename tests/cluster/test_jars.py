"""Jars are fetched once, checked always, and never half there."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from threading import Barrier, Event

import pytest

from streamgauge.cluster import jars
from streamgauge.cluster.jars import KAFKA_VERSION, Jar, broker_jars, format_list, jar_folder, parse_list
from streamgauge.domain.errors import BrokerError, Interrupted

CONTENTS = {"one-1.0.jar": b"first", "two-2.0.jar": b"second"}
LISTED = [
    Jar("org.example", "one", "1.0", hashlib.sha256(b"first").hexdigest()),
    Jar("org.example", "two", "2.0", hashlib.sha256(b"second").hexdigest()),
]


def serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fetch: Callable[[Jar], bytes]) -> None:
    """Put a list of two jars and a repository in place of the real ones."""

    def download(scratch: Path, jar: Jar) -> Path:
        path = scratch / jar.file_name
        path.write_bytes(fetch(jar))
        return path

    listed = tmp_path / "jars.txt"
    listed.write_text(format_list(LISTED), encoding="utf-8")
    monkeypatch.setattr(jars, "BROKER", replace(jars.BROKER, listed=listed))
    monkeypatch.setattr(jars, "_maven", lambda cache: cache)
    monkeypatch.setattr(jars, "_download", download)


def right(jar: Jar) -> bytes:
    return CONTENTS[jar.file_name]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_missing_jars_are_fetched_once_and_the_user_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    told: list[str] = []

    def note(jar: Jar) -> bytes:
        fetched.append(jar.file_name)
        return right(jar)

    serve(monkeypatch, tmp_path, note)
    folder = tmp_path / "cache"

    first = broker_jars(told.append, folder)
    second = broker_jars(told.append, folder)

    assert first == second == [folder / "one-1.0.jar", folder / "two-2.0.jar"]
    assert sorted(fetched) == names(folder) == ["one-1.0.jar", "two-2.0.jar"]
    assert len(told) == 1
    assert "2 jars" in told[0]


def test_a_changed_jar_is_named_and_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, tmp_path, right)
    folder = tmp_path / "cache"
    broker_jars(None, folder)
    (folder / "two-2.0.jar").write_bytes(b"second!")

    with pytest.raises(BrokerError, match=r"cache/two-2\.0\.jar\. Delete"):
        broker_jars(None, folder)


def test_what_comes_with_another_sum_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, tmp_path, lambda jar: b"evil" if jar.artifact == "two" else right(jar))
    folder = tmp_path / "cache"

    with pytest.raises(BrokerError, match=r"1 of 2 .*org\.example:two:2\.0: the SHA-256 sum differs from that in"):
        broker_jars(None, folder)

    assert names(folder) == ["one-1.0.jar"]


def test_a_network_that_fails_is_told_with_remedies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(jar: Jar) -> bytes:
        raise ConnectionError("no route to host")

    serve(monkeypatch, tmp_path, fail)
    folder = tmp_path / "cache"

    with pytest.raises(BrokerError, match=r"2 of 2 .*no route to host.*HTTPS_PROXY.*--bootstrap"):
        broker_jars(None, folder)

    assert names(folder) == []


def test_a_fetch_that_fails_once_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fail_first(jar: Jar) -> bytes:
        asked.append(jar.file_name)
        if asked.count(jar.file_name) == 1:
            raise RuntimeError("not found")
        return right(jar)

    serve(monkeypatch, tmp_path, fail_first)

    assert len(broker_jars(None, tmp_path / "cache")) == 2


def test_two_at_once_do_not_disturb_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Barrier(4)

    def meet(jar: Jar) -> bytes:
        both.wait(timeout=60)
        return right(jar)

    serve(monkeypatch, tmp_path, meet)
    folder = tmp_path / "cache"

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: broker_jars(None, folder), range(2)))

    assert results[0] == results[1]
    assert names(folder) == ["one-1.0.jar", "two-2.0.jar"]


def test_a_fetch_can_be_given_up_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that sends nothing would hold it for as long as it likes."""
    asked, over = list[str](), Event()

    def stall(jar: Jar) -> bytes:
        asked.append(jar.file_name)
        over.wait(60)
        return right(jar)

    def check() -> None:
        if asked:
            raise Interrupted("enough")

    serve(monkeypatch, tmp_path, stall)
    try:
        with pytest.raises(Interrupted, match="enough"):
            broker_jars(None, tmp_path / "cache", check)
        assert names(tmp_path / "cache") == []
    finally:
        over.set()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, tmp_path, right)
    (tmp_path / "file").touch()

    with pytest.raises(BrokerError, match=r"file/cache.*XDG_CACHE_HOME"):
        broker_jars(None, tmp_path / "file" / "cache")


def test_the_cache_follows_the_users_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert jar_folder() == Path("/elsewhere/streamgauge/jars")


@pytest.mark.parametrize(("bundle", "at_least"), [(jars.BROKER, 50), (jars.CONNECTOR, 4)])
def test_the_shipped_lists_are_whole_and_as_they_would_be_written(bundle: jars.Bundle, at_least: int) -> None:
    text = bundle.listed.read_text(encoding="utf-8")
    listed = parse_list(text)

    assert format_list(listed, bundle) == text
    assert len({jar.file_name for jar in listed}) == len(listed) >= at_least
    assert all(len(bytes.fromhex(jar.sha256)) == 32 for jar in listed)
    roots = {coordinate.rstrip("!") for coordinate in bundle.roots}
    assert roots <= {jar.coordinate for jar in listed}


def test_the_broker_is_of_one_version() -> None:
    assert {jar.version for jar in jars.BROKER.jars() if jar.group == "org.apache.kafka"} == {KAFKA_VERSION}


def test_the_connector_is_of_the_version_that_spark_is() -> None:
    assert version("pyspark") in {jar.version for jar in jars.CONNECTOR.jars() if jar.group == "org.apache.spark"}
