"""Specifications that run programs: ExternalCommand and NoOp of Trogdor, and tussle's ProcBenchmark."""

import json
from typing import Any

import pytest
from tests.foreign.specs.samples import PRODUCE, STOP, WORKLOAD, comes_to

from streamgauge.domain.errors import BadInput
from streamgauge.foreign.specs.write.programs import ProgramRun, plan_lines
from streamgauge.foreign.specs.write.written import command_of

EXTERNAL: dict[str, Any] = {
    "class": f"{WORKLOAD}ExternalCommandSpec",
    "durationMs": 30_000,
    "commandNode": "node0",
    "command": ["python3", "./worker.py", "a b"],
    "workload": {"messages": 5, "name": "x"},
    "shutdownGracePeriodMs": 2000,
}
NO_OP: dict[str, Any] = {"class": "org.apache.kafka.trogdor.task.NoOpTaskSpec", "durationMs": 1500}
PROCESS = "java -jar tussle.jar org.tussleframework.ProcBenchmark"
BENCH: dict[str, Any] = {
    "name": "wrk",
    "init": {"cmd": ["make", "-C", "{home}"]},
    "reset": {"cmd": ["rm", "-rf", "{home}/data"], "delay": "30s"},
    "cleanup": {"cmd": ["true"]},
    "run": {
        "cmd": [
            "wrk",
            "-R{targetRate}",
            "-d{runTime}s",
            "-w{warmupTime}",
            "--log",
            "{runDir}/{runStep}.hlog",
            "{other}",
        ],
        "dir": "{home}/out-{runStep}",
        "env": ["RATE={targetRate}", "EMPTY="],
        "delay": "1m",
    },
    "vars": {"home": "/opt/wrk"},
    "resultFiles": [r"{runStep}\.hlog"],
    "outputPatterns": [r"Requests/sec: (?<sent_per_second>[\d.]+)"],
    "outputLatency": "end-to-end.response",
}


def runs(given: Any, **files: str) -> tuple[ProgramRun, ...]:
    return comes_to(given, files={f"{name}.yaml": text for name, text in files.items()}).programs


def process(runner: str, script: str = "", **changed: Any) -> tuple[ProgramRun, ...]:
    return runs(f"{PROCESS} -f bench.yaml --runner {runner}{script}", bench=json.dumps({**BENCH, **changed}))


def test_an_external_command_is_told_its_workload() -> None:
    """In one line, as Trogdor's agent writes it."""
    made = comes_to(EXTERNAL)
    [run] = made.programs

    assert (made.kind, made.spec, made.document) == ("program", "ExternalCommandSpec", {})
    assert run.command is not None
    assert run.command.words == ("python3", "./worker.py", "a b")
    assert json.loads(run.input or "") == {"id": "task0", "workload": EXTERNAL["workload"]}
    assert (run.command.limit_s, run.grace_s, run.is_ended_in_time, run.speech) == (30.0, 2.0, True, "trogdor")
    assert command_of(made, "spec.json") == "streamgauge run spec.json --allow-code"


def test_nothing_needs_no_permission() -> None:
    made = comes_to(NO_OP)

    assert made.programs[0].commands == ()
    assert made.programs[0].lasts_s == 1.5
    assert command_of(made, "spec.json") == "streamgauge run spec.json"


def test_a_request_has_its_program() -> None:
    assert runs({"id": "a", "spec": EXTERNAL})[0].spec["command"] == EXTERNAL["command"]


def test_placeholders_are_filled() -> None:
    """Those that nobody knows stay: a regular expression has braces, too."""
    [run] = process("BasicRunner targetRate=2k warmupTime=5 runTime=1m")

    assert run.command is not None
    assert run.command.folder == "/opt/wrk/out-0"
    assert run.command.words == (
        "wrk", "-R2000", "-d60s", "-w5", "--log", "/opt/wrk/out-0/0.hlog", "{other}",
    )  # fmt: skip
    assert run.command.environment == {"RATE": "2000", "EMPTY": ""}
    assert run.command.limit_s == 5 + 60 + 60
    assert run.output.files == (r"0\.hlog",)
    assert run.output.asked.latency == ("end_to_end", "response")
    assert [each.words for each in run.before] == [("make", "-C", "/opt/wrk"), ("rm", "-rf", "/opt/wrk/data")]
    assert [each.limit_s for each in run.before] == [600.0, 30.0]
    assert [each.words[0] for each in run.after] == ["true"]
    assert run.settings == {"targetRate": 2000, "warmupTime": 5, "runTime": 60}


@pytest.mark.parametrize(
    ("runner", "before"),
    [
        ("BasicRunner runSteps=3", [["make", "rm"], ["rm"], ["rm"]]),
        ("BasicRunner runSteps=3 reset=false", [["make"], [], []]),
        ("ScenarioRunner", [["make", "rm"], [], []]),
    ],
)
def test_what_is_done_before_each_run(runner: str, before: list[list[str]]) -> None:
    """A list of rates is not reset between its steps; repetitions are."""
    made = process(runner)

    assert [[each.words[0] for each in run.before] for run in made] == before
    assert [len(run.after) for run in made] == [0, 0, 1]
    assert [run.name for run in made] == ["tussle-wrk-1", "tussle-wrk-2", "tussle-wrk-3"]


@pytest.mark.parametrize(
    ("runner", "script", "rates"),
    [
        ("ScenarioRunner", "", [1000, 2000, 3000]),
        ("ScenarioRunner -s 'scenario: [{targetRate: 5k, runTime: 5s}, {targetRate: 0}]'", "", [5000, 0]),
        ("ScenarioRunner scenario=RAMP_3_1k_2k_1m", "", [1000, 1500, 2000]),
        ("ScenarioRunner scenario=SPIKE_100_5k_10s_2s", "", [100, 5000, 100]),
        ("InteractiveRunner", "\ntargetRate=1k runTime=5s\n{targetRate: 3k}\nquit\ntargetRate=9", [1000, 3000]),
    ],
)
def test_rates_come_one_after_the_other(runner: str, script: str, rates: list[int]) -> None:
    assert [run.settings["targetRate"] for run in process(runner, script)] == rates


def test_a_spike_lasts_as_long_as_it_says() -> None:
    lengths = [run.settings["runTime"] for run in process("ScenarioRunner scenario=SPIKE_100_5k_10s_2s")]
    assert lengths == [10, 2, 10]


def test_properties_in_one_file() -> None:
    """`reset` is a command where it has one, and the runner's otherwise."""
    [run] = runs(json.dumps({**BENCH, "reset": False, "targetRate": 50, "runTime": 2}))

    assert [each.words[0] for each in run.before] == ["make"]
    assert run.settings["targetRate"] == 50


@pytest.mark.parametrize(
    "command", [PROCESS, "tussle --runner ProcBenchmark", "tussle org.tussleframework.Run ProcBenchmark"]
)
def test_ways_to_name_it(command: str) -> None:
    assert len(runs(f"{command} -f bench.yaml", bench=json.dumps(BENCH))) == 1


def test_the_old_names() -> None:
    [run] = runs(f"{PROCESS} -s 'runCmd: [run.sh]' -s 'hdrResults: [a.hlog]'")

    assert run.command is not None
    assert (run.command.words, run.output.files) == (("run.sh",), ("a.hlog",))


def test_a_plan_is_told_as_a_shell_would_take_it() -> None:
    [run] = process("BasicRunner")

    assert list(plan_lines([run]))[2] == (
        "tussle-wrk: run.cmd: cd /opt/wrk/out-0 && RATE=1000 EMPTY='' wrk -R1000 -d60s -w0 --log /opt/wrk/out-0/0.hlog "
        "'{other}'  (fails after 2m)"
    )
    assert list(plan_lines(runs(NO_OP))) == ["trogdor-no-op: nothing is done for 1500ms"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"command": []}, "command: .*names no program"),
        ({"command": [" "]}, "command: .*names no program"),
        ({"command": None}, "command: is missing"),
        ({"command": [1]}, "command: .*not a list of texts"),
        ({"command": ["a\u0000b"]}, "command: is no command"),
        ({"durationMs": 0}, "durationMs: 0 ends it at once"),
        ({"shutdownGracePeriodMs": -1}, "shutdownGracePeriodMs: -1: not between"),
        ({"workload": "x" * 40_000}, "workload: has 40,0.. bytes"),
        ({"commands": ["a"]}, "commands: no such field"),
    ],
)
def test_wrong_external_commands(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        comes_to({**EXTERNAL, **changed})


@pytest.mark.parametrize(
    ("runner", "changed", "said"),
    [
        ("StepRater", {}, "--runner: StepRater: no runner of ProcBenchmark"),
        ("BasicRunner", {"run": {"cmd": []}}, "run.cmd: is missing"),
        ("BasicRunner", {"run": {"cmd": ["a"], "env": ["x"]}}, "run.env: 'x': no variable"),
        ("BasicRunner", {"run": {"cmd": ["a"], "path": "x"}}, "run.path: no such field"),
        ("BasicRunner", {"resultFiles": ["["]}, "resultFiles: not a regular expression"),
        ("BasicRunner", {"outputPatterns": ["x", "("]}, r"outputPatterns\.0: has no named groups"),
        ("BasicRunner", {"outputLatency": "send"}, "outputLatency: .*no latency"),
        ("BasicRunner", {"vars": {"a": []}}, "vars.a: not a text"),
        ("BasicRunner", {"speed": 1}, "speed: no such field of ProcBenchmark"),
        ("BasicRunner targetRate=-1", {}, "targetRate: -1: below 0"),
        ("BasicRunner runTime=0", {}, "runTime: 0 leaves"),
        ("BasicRunner colour=1", {}, "colour: no such field of BasicRunner"),
        ("BasicRunner runSteps=0", {}, "runSteps: 0: not between"),
        ("ScenarioRunner scenario=3", {}, "scenario: not a list of steps"),
        ("ScenarioRunner scenario=STAIRS_3", {}, "scenario: STAIRS_3: not a scenario"),
        ("ScenarioRunner scenario=RAMP_2000", {}, "scenario: RAMP_2000: has more than 1,000 steps"),
        ("InteractiveRunner", {}, "InteractiveRunner has no steps"),
    ],
)
def test_wrong_processes(runner: str, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        process(runner, **changed)


@pytest.mark.parametrize("beside", [PRODUCE, STOP, NO_OP])
def test_a_program_is_run_alone(beside: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="class: a program cannot be joined with others"):
        comes_to(EXTERNAL, None, beside)
