"""A scenario of somebody else runs no code, and reaches for no file, unless the command line says so.

Everything goes through the program's own `main`. Modules leave a mark where they are imported.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from streamgauge.cli.main import main
from streamgauge.domain.errors import BadInput
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import Java
from streamgauge.runs.conduct import conduct
from streamgauge.runs.request import options as request
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.trust import Trust
from streamgauge.scenario import parse

SAY: Final = "Use --allow-code if you trust this scenario"
MODULE: Final = """\
from pathlib import Path
Path({mark!r}).touch()
from subprocess import run as their_run
from elsewhere_of_mine import lent
def handle(value, key): return value
def events(producer, seq, size, seed): return b"x" * size
def job(messages): return messages
def oracle(key, value): return True
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What a call of the program said, and whether a module of a user's was imported."""

    code: int | None
    """None where it got as far as to start something."""
    out: str
    err: str
    imported: bool


Call = Callable[..., Said]


class _Started(Exception):
    """The call was taken."""


def _start(*_: object, **__: object) -> Any:
    raise _Started


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Call]:
    """Calls `main` in a folder with modules of a user's, and in `theirs` a scenario with a module beside it."""
    here, mark = tmp_path / "here", tmp_path / "mark"
    for folder in (here, here / "theirs"):
        folder.mkdir()
    (here / "module_of_mine.py").write_text(MODULE.format(mark=str(mark)))
    (here / "elsewhere_of_mine.py").write_text("def lent(value, key): return value\n")
    (here / "theirs" / "__init__.py").touch()
    (here / "theirs" / "module.py").write_text(MODULE.format(mark=str(mark)))
    (here / "events.txt").write_text("event\n")
    (tmp_path / "private.txt").write_text("1\n2\n")
    (here / "link.txt").symlink_to("../private.txt")
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    for name, value in {"COLUMNS": "200", "NO_COLOR": "1", "JAVA_HOME": str(tmp_path), "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(request, "find_java", lambda _: Java(tmp_path / "bin" / "java", "17.0.1", 17))
    monkeypatch.setattr("streamgauge.runs.conduct.target.start_cluster", _start)
    monkeypatch.setattr(conduct, "connector_jars", _start)

    def run(*arguments: str) -> Said:
        mark.unlink(missing_ok=True)
        _forget()
        monkeypatch.setattr(sys, "argv", ["streamgauge", *arguments])
        code = None
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        except _Started:
            pass
        said = capsys.readouterr()
        return Said(code, said.out, said.err, mark.exists())

    yield run
    _forget()


def _forget() -> None:
    for name in ("module_of_mine", "elsewhere_of_mine", "theirs", "theirs.module"):
        sys.modules.pop(name, None)


def written(mapping: dict[str, Any], name: str = "mine.yaml") -> str:
    Path(name).write_text(yaml.safe_dump({"name": "mine", **mapping}))
    return name


def refused(said: Said, *lines: str) -> None:
    """One line for each fault, and no user's module was imported."""
    assert (said.code, said.imported, said.out) == (2, False, ""), said
    found = [line.removeprefix("error: ") for line in said.err.splitlines()]
    assert len(found) == len(lines), said.err
    for line, begin in zip(found, lines, strict=True):
        assert line.startswith(begin), (line, begin)


FUNCTIONS: Final = {
    "load.payload.function.name": {"load": {"payload": {"function": {"name": "module_of_mine:events"}}}},
    "load.payload.weighted.0.payload.function.name": {
        "load": {
            "payload": {"weighted": [{"percent": 100, "payload": {"function": {"name": "module_of_mine:events"}}}]}
        }
    },
    "consume.processing.function": {"consume": {"processing": {"function": "module_of_mine:handle"}}},
    "pipeline.job.function.call": {"pipeline": {"job": {"function": {"call": "module_of_mine:job"}}}},
}


@pytest.mark.parametrize(("where", "mapping"), FUNCTIONS.items(), ids=list(FUNCTIONS))
@pytest.mark.slow
def test_code_runs_only_where_somebody_said_so(where: str, mapping: dict[str, Any], call: Call) -> None:
    """Not even its module is imported before, and by what only prints never."""
    name = written({"phases": {"warmup": "0s", "measure": "1s"}, **mapping})

    for command in ("run", "payload", "compression"):
        said = call(command, name)
        refused(said, f"{where}: module_of_mine:")
        assert f"is code that would run. {SAY}, or --trust FOLDER" in said.err
    for arguments in (["scenarios", name], ["simulate", "lag", "--scenario", name]):
        assert not call(*arguments).imported
    for granted in ("--allow-code", "--trust=."):
        assert call("run", name, granted).code is None
        said = call("payload", name, granted)
        assert (said.code, said.imported) == (0, True), said


def test_all_that_is_not_granted_is_told_at_once(call: Call) -> None:
    """With every other fault, and what to say."""
    name = written(
        {
            "load": {
                "rate": {"replay": {"file": "../private.txt"}},
                "payload": {"file": {"path": "/etc/hostname"}},
                "keys": {"file": {"path": "link.txt"}},
                "client": {"plugin.library.paths": "./evil.so"},
            },
            "consume": {
                "processing": {"function": "module_of_mine:handle"},
                "client": {"sasl.kerberos.kinit.cmd": "touch /tmp/x"},
            },
            "pipeline": {
                "job": {"function": {"call": "builtins:exec", "does": "subset", "expects": "module_of_mine:oracle"}},
                "sink": {"table": "../../table"},
                "checkpoint": "/var/checkpoint",
                "settings": {"spark.plugins": "a.B", "spark.sql.shuffle.partitions": 2},
            },
            "expect": {"delivery.lots": 0},
        }
    )

    refused(
        call("run", name),
        "load.rate.replay.file: ../private.txt is outside the scenario's folder and the current folder",
        "load.payload.file.path: /etc/hostname is outside the scenario's folder",
        "load.keys.file.path: link.txt is outside the scenario's folder",
        "load.client.plugin.library.paths: ./evil.so would load a library or run a command. Use --allow-code",
        "consume.processing.function: module_of_mine:handle is code that would run. Use --allow-code",
        "consume.client.sasl.kerberos.kinit.cmd: *** would load a library or run a command. Use --allow-code",
        "pipeline.job.function.call: builtins:exec: a function of Python itself, not of yours. Define one in a module",
        "pipeline.job.function.expects: module_of_mine:oracle is code that would run. Use --allow-code",
        "pipeline.sink.table: ../../table is outside the run folder, and would be written. Use --allow-code",
        "pipeline.checkpoint: /var/checkpoint is outside the run folder, and would be written. Use --allow-code",
        "pipeline.settings.spark.plugins: a.B may name code, a program, a file or another machine. Use --allow-code",
        "expect.delivery.lots: delivery has no `lots`",
    )


def test_a_library_that_settings_name_is_not_loaded_to_ask_about_them(call: Call) -> None:
    """The client loads it when it is made; once it is allowed, what it says is told."""
    name = written({"load": {"client": {"plugin.library.paths": "./evil.so"}}})

    refused(call("run", name), "load.client.plugin.library.paths: ./evil.so would load a library")
    refused(call("payload", name), "load.client.plugin.library.paths: ./evil.so would load a library")
    assert "dlopen() failed" in call("run", name, "--allow-code").err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--job", "module_of_mine:job"],
        ["--set", "pipeline.job.function.call=module_of_mine:job"],
        ["--set", "consume.processing.function=module_of_mine:handle"],
        ["--set", "consume={processing: {function: 'module_of_mine:handle'}}"],
        ["--set", "load.payload={function: {name: 'module_of_mine:events'}}"],
        ["--set", "load.payload={file: {path: ../private.txt}}"],
        ["--set", "load.rate={replay: {file: ../private.txt}}"],
        ["--set", "pipeline.checkpoint=/var/checkpoint"],
        ["--set", "pipeline.settings.spark.plugins=a.B"],
        ["--set", "pipeline.master=spark://a:7077"],
    ],
)
def test_what_is_typed_is_a_word_by_itself(call: Call, arguments: list[str]) -> None:
    assert call("run", "baseline", *arguments).code is None


@pytest.mark.parametrize(
    "setting",
    [
        "pipeline.job.function.does=same",
        "consume.processing.skip=0.5",
        "pipeline.settings.spark.plug=1",
        "load.client.plugin=1",
        "load.client.linger.ms=5",
        "phases.measure=5s",
    ],
)
def test_a_word_is_good_for_what_it_names_only(call: Call, setting: str) -> None:
    """Not for what stands beside it, nor for what is called alike."""
    name = written(
        {
            "load": {"client": {"plugin.library.paths": "x"}},
            "consume": {"processing": {"function": "module_of_mine:handle"}},
            "pipeline": {
                "job": {"function": {"call": "module_of_mine:job", "does": "same"}},
                "settings": {"spark.plugins": "a.B"},
            },
        }
    )

    refused(
        call("run", name, "--set", setting),
        "load.client.plugin.library.paths",
        "consume.processing.function",
        "pipeline.job.function.call",
        "pipeline.settings.spark.plugins",
    )


@pytest.mark.parametrize("granted", [["--allow-code"], ["--trust", "."], ["--allow-code", "--trust", "."]])
@pytest.mark.parametrize("function", ["builtins:exec", "os:system", "module_of_mine:their_run"])
def test_python_itself_is_never_called(call: Call, function: str, granted: list[str]) -> None:
    """Whatever is allowed, and also where somebody types it; a user's module may have it under its own name."""
    told = "a function of Python itself, not of yours"

    said = call("run", written({"consume": {"processing": {"function": function}}}), *granted)
    assert (said.code, told in said.err, said.err.count("\n")) == (2, True, 1), said
    for typed in (["--job", function], ["--set", f"consume.processing.function={function}"]):
        said = call("run", "baseline", *typed)
        assert (said.code, told in said.err) == (2, True), said


def test_a_folder_is_trusted_and_nothing_else(call: Call) -> None:
    """Neither other folders, nor what a module of the folder hands on, nor anything but functions and files to read."""
    here = written({"consume": {"processing": {"function": "module_of_mine:handle"}}})
    refused(call("run", here, "--trust", "theirs"), "consume.processing.function: module_of_mine:handle is code")
    assert f"from {Path.cwd() / 'module_of_mine.py'}. Use" in call("run", here, "--trust", "theirs").err
    assert call("run", here, "--trust", "theirs", "--trust", ".").code is None

    theirs = written({"consume": {"processing": {"function": "theirs.module:handle"}}})
    assert call("run", theirs, "--trust", "theirs").code is None

    lent = written({"consume": {"processing": {"function": "theirs.module:lent"}}})
    said = call("run", lent, "--trust", "theirs")
    assert said.code == 2
    assert "theirs.module:lent comes from elsewhere_of_mine, which is outside the folders of --trust" in said.err

    settings = written({"pipeline": {"settings": {"spark.plugins": "a.B"}, "checkpoint": "here"}})
    refused(call("run", settings, "--trust", "."), "pipeline.checkpoint: ", "pipeline.settings.spark.plugins: ")
    for command in ("run", "payload"):
        said = call(command, settings, "--trust", "nowhere", "--trust", "events.txt", "--allow-code")
        refused(
            said, "--trust nowhere: there is no such folder. Name one", "--trust events.txt: there is no such folder"
        )


def test_a_package_outside_is_not_trusted_for_its_module_inside(call: Call, tmp_path: Path) -> None:
    """Its own file would be run as well; and links lead where they lead."""
    (tmp_path / "outside.py").write_text(f"from pathlib import Path\nPath({str(tmp_path / 'mark')!r}).touch()\n")
    Path("theirs", "linked.py").symlink_to(tmp_path / "outside.py")
    Path("theirs", "below").mkdir()
    Path("theirs", "below", "leaf.py").write_text("def handle(value, key): return value\n")

    name = written({"consume": {"processing": {"function": "theirs.linked:handle"}}})
    refused(call("run", name, "--trust", "theirs"), "consume.processing.function: theirs.linked:handle is code")
    name = written({"consume": {"processing": {"function": "theirs.below.leaf:handle"}}})
    refused(call("run", name, "--trust", "theirs/below"), "consume.processing.function: theirs.below.leaf:handle is")
    assert call("run", name, "--trust", "theirs").code is None


@pytest.mark.parametrize(
    ("path", "is_near"),
    [
        ("events.txt", True),
        ("theirs/../events.txt", True),
        ("../private.txt", False),
        ("link.txt", False),
        ("~/private.txt", False),
        ("~nobody-like-this/private.txt", True),
        ("/etc/hostname", False),
    ],
)
def test_files_are_read_near_the_scenario_and_here(call: Call, path: str, is_near: bool) -> None:
    """What is not there is told as such; a link is what it leads to."""
    name = written({"load": {"payload": {"file": {"path": path}}}})

    said = call("run", name)

    assert ("is outside the scenario's folder" in said.err) is not is_near, said
    assert call("run", name, "--allow-code").code is None or "no such file" in said.err


def test_a_scenario_may_read_what_lies_beside_it(call: Call, tmp_path: Path) -> None:
    """Wherever it is; not what lies above it."""
    name = written({"load": {"payload": {"file": {"path": str(tmp_path / "private.txt")}}}}, str(tmp_path / "s.yaml"))
    assert call("run", name).code is None

    name = written({"load": {"payload": {"file": {"path": str(tmp_path / "private.txt")}}}})
    assert call("run", name).code == 2
    assert call("run", name, "--trust", "..").code is None


def test_a_run_that_is_not_asked_for_on_the_command_line_is_granted_nothing_either(tmp_path: Path) -> None:
    """Before its folder is made."""
    scenario = parse({"name": "x", "consume": {"processing": {"function": "module_of_mine:handle"}}})
    asked = Request(scenario, tmp_path / "runs", [], Java(tmp_path, "17", 17))

    with pytest.raises(BadInput, match="is code that would run"):
        conduct.conduct(asked, Interrupts(), lambda _: None)

    assert not (tmp_path / "runs").exists()
    assert asked.trust == Trust()


def test_the_secrets_of_the_one_who_runs_it_stay_guarded(call: Call) -> None:
    """A scenario must not send them elsewhere, or in the clear; what it guards of its own is its own matter."""
    Path("client.properties").write_text("bootstrap.servers=h:1\nsecurity.protocol=SSL\n")
    settings = {"enable.ssl.certificate.verification": False, "client.rack": "a"}
    name = written(
        {"load": {"client": {**settings, "metadata.broker.list": "evil:1"}}, "consume": {"client": settings}}
    )

    refused(
        call("run", name, "--client-config", "client.properties"),
        "load.client.metadata.broker.list: is set by the run. Leave it out: name the cluster with --bootstrap",
        "load.client.enable.ssl.certificate.verification: False changes how the secrets of --client-config are",
        "consume.client.enable.ssl.certificate.verification: False changes how the secrets of --client-config are",
    )
    name = written({"load": {"client": {"linger.ms": 5}}, "consume": {"client": settings}})
    assert call("run", name).code is None


def test_a_secret_that_was_masked_must_be_written_again(call: Call) -> None:
    """A scenario that was printed has lost it."""
    name = written({"load": {"client": {"sasl.password": "hunter2"}}})
    Path("copy.yaml").write_text(call("scenarios", name).out)

    refused(
        call("run", "copy.yaml"),
        "load.client.sasl.password: *** stands for a masked secret. Write the secret, or put it",
    )
