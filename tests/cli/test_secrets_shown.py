"""No secret of a scenario is written or shown, wherever a scenario has room for one.

The places are found from the model: every field that is a mapping with keys of the user's choice.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel

from streamgauge.cli.main import main
from streamgauge.domain.folder.facts import BrokerFacts
from streamgauge.domain.text.secrets import MASK, is_secret, masked
from streamgauge.engine.supervise.plan import Outcome
from streamgauge.processes.jvm.java import Java
from streamgauge.runs.conduct import facts as run_facts
from streamgauge.runs.conduct.prepare import prepare_run
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.trust import Trust
from streamgauge.scenario import Scenario, parse

SECRET: Final = "hunter2"
Keys = tuple[str, ...]


def open_mappings(kind: Any, path: Keys = ()) -> Iterator[Keys]:
    """The paths below which a type takes any key."""
    if kind is Any or kind is object or get_origin(kind) in {dict, Mapping}:
        yield path
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            yield from open_mappings(field.annotation, (*path, field.alias or name))
    else:
        below = (*path, "0") if get_origin(kind) in {tuple, list} else path
        for each in get_args(kind):
            yield from open_mappings(each, below)


def keys_of(kind: Any) -> Iterator[str]:
    """Every key that the model itself gives a name."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            yield field.alias or name
            yield from keys_of(field.annotation)
    for each in get_args(kind):
        yield from keys_of(each)


OPEN: Final = sorted(set(open_mappings(Scenario)))
PLANTED: Final[Mapping[str, str]] = {
    "sasl.password": SECRET,
    "spark.hadoop.fs.s3a.access.key": SECRET,
    "spark.hadoop.fs.s3a.secret.key": SECRET,
    "spark.hadoop.fs.s3a.session.token": SECRET,
    "spark.hadoop.fs.azure.account.key.me.dfs.core.windows.net": SECRET,
    "spark.hadoop.fs.azure.sas.files.me": SECRET,
    "spark.ssl.keyPassword": SECRET,
    "innocent.login": f'org.apache.kafka.X required username="me" password="{SECRET}";',
    "innocent.address": f"https://me:{SECRET}@host/there",
    "innocent.connection": f"Endpoint=sb://x/;SharedAccessKeyName=me;SharedAccessKey={SECRET}=",
    "innocent.options": f"-Dstore.password={SECRET} -Xint",
    "innocent.header": f"Authorization: Basic {SECRET}",
}
"""Names that tell, and values that do under names that do not."""


def with_settings(path: Keys, settings: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario that has these settings at a path."""
    value: Any = dict(settings)
    for key in reversed(path):
        # What stands in a list has a name, as idle topics do.
        value = [{"name": "planted-too", **value}] if key == "0" else {key: value}
    return {"name": "planted", **value}


def test_the_places_are_found() -> None:
    """Or nothing below would prove anything."""
    assert {("load", "client"), ("consume", "client"), ("topic", "configs"), ("pipeline", "settings")} <= set(OPEN)


def test_no_key_of_the_model_is_called_like_a_secret() -> None:
    """It would be masked, and the scenario would not parse any more."""
    assert [key for key in set(keys_of(Scenario)) if is_secret(key)] == []


@pytest.fixture
def request_of_mine(tmp_path: Path) -> Any:
    return lambda scenario: Request(
        scenario, tmp_path, ["test"], Java(tmp_path, "17", 17), trust=Trust(allow_code=True)
    )


@pytest.mark.parametrize("path", OPEN, ids=".".join)
def test_run_json_has_no_secret(path: Keys, request_of_mine: Any) -> None:
    """And what is written can be read: names are kept, and it parses."""
    scenario = parse(with_settings(path, PLANTED))
    request = request_of_mine(scenario)
    run = prepare_run(request)

    facts = run_facts.begun(run, BrokerFacts(embedded=False, bootstrap="h:1", version="4"), {}, None)
    outcome = Outcome(reasons=[f"the client says {PLANTED['innocent.address']}", f"no {SECRET}", "plain"])
    text = run_facts.ended(facts, outcome, run.hide).model_dump_json()

    assert SECRET not in text
    assert json.loads(text)["reasons"] == ["the client says ***", "no ***", "plain"]
    found: Any = parse(facts.scenario)
    for key in path:
        found = found[int(key)] if key.isdecimal() else getattr(found, key)
    assert found.keys() == PLANTED.keys()


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """What the program says to a call."""
    monkeypatch.setattr(sys, "argv", ["streamgauge", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out + told.err


@pytest.mark.parametrize("place", ["load.client", "consume.client"])
def test_a_scenario_is_printed_without_the_secrets_of_a_client(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With settings that a client knows, so that it is printed."""
    sets = [f"--set={place}.{name}={value}" for name, value in {"sasl.password": SECRET, "linger.ms": 3}.items()]
    code, text = said(monkeypatch, capsys, "scenarios", "baseline", *sets[: 1 if place == "consume.client" else 2])
    assert (code, SECRET in text, f"sasl.password: '{MASK}'" in text) == (0, False, True), text


@pytest.mark.parametrize("path", OPEN, ids=".".join)
@pytest.mark.slow
def test_nothing_that_is_printed_has_a_secret(
    path: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the resolved scenario, nor what is said of a value that is wrong."""
    monkeypatch.chdir(tmp_path)
    Path("right.yaml").write_text(yaml.safe_dump(with_settings(path, PLANTED)))
    Path("wrong.yaml").write_text(yaml.safe_dump(with_settings(path, {name: [PLANTED[name]] for name in PLANTED})))

    code, text = said(monkeypatch, capsys, "scenarios", "right.yaml")
    refused = code == 2  # a client and the result have no such names
    assert (SECRET in text, MASK in text or refused) == (False, True), text
    # It may be that it cannot be simulated; then this is said.
    _, text = said(monkeypatch, capsys, "simulate", "lag", "--scenario", "right.yaml", "--json")
    assert SECRET not in text
    broken = [f"{'.'.join(path)}.{name}=[{value}" for name, value in PLANTED.items()]
    for command in (
        ["run", "right.yaml", "--bootstrap", "nowhere"],
        ["run", "wrong.yaml"],
        ["payload", "wrong.yaml"],
        ["run", "baseline", *(f"--set={setting}" for setting in broken)],
    ):
        code, text = said(monkeypatch, capsys, *command)
        assert (code, SECRET in text) == (2, False), text


def test_what_is_no_secret_stays_as_it_is() -> None:
    plain = {
        "spark.sql.shuffle.partitions": 9,
        "spark.hadoop.fs.s3a.endpoint": "https://minio:9000/",
        "spark.io.encryption.keySizeBits": 128,
        "checkpoint": "abfss://files@me.dfs.core.windows.net/here",
        "list": [{"linger.ms": 5}, "text", None, True],
    }

    assert masked(plain) == plain
