"""The page of experiment files, from their model."""

from streamgauge.experiments.model import ExperimentFile
from tools.reference.fields import sections
from tools.reference.markdown import block, document, table
from tools.reference.scenario import COLUMNS

INTRO = """\
An experiment is a YAML file that describes many runs of one scenario. `streamgauge experiment FILE` carries it out;
[Run experiments](../how-to/experiments.md) explains how. Paths of the scenario are those of
[its reference](scenario.md)."""
FORMS = (
    (
        "scenario",
        "The name of a shipped scenario, the path of a YAML file, or a mapping as in such a file.",
        "`baseline`",
    ),
    ("share", "A percentage, or a number up to 1.", "`5%`, `0.05`"),
)
EXAMPLE = """\
name: codecs
scenario: baseline
set: {load.rate: 20k/s, load.payload: json}
vary:
  load.client.compression.type: [none, lz4, zstd]
  load.size: {from: 256, to: 4096, times: 4}
except:
  - {load.client.compression.type: none, load.size: 4096}
repeat: 10"""


def page() -> str:
    """Every field of an experiment."""
    return document(
        "Experiment",
        INTRO,
        block("yaml", EXAMPLE),
        *sections(ExperimentFile.model_json_schema(), COLUMNS),
        "## Forms",
        "Durations are those of [scenarios](scenario.md#forms).",
        table(("form", "syntax", "examples"), FORMS),
    )
