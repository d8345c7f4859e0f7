"""What `--climb` says: the steps of a search that climbs."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from streamgauge.domain.errors import Fault, Faults
from streamgauge.domain.text.shown import one_line
from streamgauge.experiments.search.staircase import Staircase
from streamgauge.scenario.written.yaml_text import YamlError, read_yaml

_LIKE_CLIMB: Final = "Write e.g. --climb 'from: 50%, to: 110%, by: 1%, bound: unthrottled, retries: 2, finer: 0'"


def staircase_of(climb: str | Mapping[str, Any], faults: Faults) -> Staircase | None:
    """The steps; None where what is written is wrong, which is added to the faults."""
    try:
        return Staircase.model_validate(_mapping(climb) if isinstance(climb, str) else climb)
    except YamlError as error:
        faults.append(Fault("--climb", f"not valid YAML: {one_line(error.flaws[0].what)}", _LIKE_CLIMB))
    except ValidationError as error:
        for each in error.errors(include_url=False):
            what = each["msg"].removeprefix("Value error, ")
            faults.append(Fault(f"--climb {one_line('.'.join(map(str, each['loc'][:1])))}".strip(), what, _LIKE_CLIMB))
    return None


def _mapping(text: str) -> Any:
    """What `from: 50%, by: 5%` says, with or without braces; nothing for `default`."""
    inner = text.strip().removeprefix("{").removesuffix("}")
    return read_yaml(f"{{{'' if inner.strip() == 'default' else inner}}}")
