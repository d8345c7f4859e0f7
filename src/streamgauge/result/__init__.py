"""The result of a run, typed: what result.json says, its JSON Schema, and the paths that expectations may name."""

from streamgauge.result.model.document import FORMAT as FORMAT
from streamgauge.result.model.document import Result as Result
