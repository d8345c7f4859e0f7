"""A machine without Java may skip what needs it; continuous integration may not."""

from pathlib import Path
from typing import Any

import pytest

REASON = r"JAVA_HOME \(not set\): nothing found; PATH: nothing found"


@pytest.fixture
def setup_hook(pytestconfig: pytest.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook that looks for Java before each test, on a machine without one."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    plugins = pytestconfig.pluginmanager.get_plugins()
    return next(each.pytest_runtest_setup for each in plugins if hasattr(each, "NEED_JAVA"))


@pytest.mark.parametrize("marker", ["kafka", "spark"])
def test_a_user_without_java_skips_what_needs_it(request: pytest.FixtureRequest, setup_hook: Any, marker: str) -> None:
    setup_hook(request.node)
    request.node.add_marker(marker)

    with pytest.raises(pytest.skip.Exception, match=REASON):
        setup_hook(request.node)


def test_continuous_integration_without_java_fails(
    request: pytest.FixtureRequest, setup_hook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    request.node.add_marker("kafka")

    with pytest.raises(pytest.fail.Exception, match=REASON):
        setup_hook(request.node)
