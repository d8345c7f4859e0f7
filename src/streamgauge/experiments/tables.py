"""The gold tables of an experiment: by run, by run and metric, by variant and metric, and by round and metric.

Beside these columns `runs`, `metrics` and `variants` have one for each varied setting, named by its path, as text.
"""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING

_VARIANT = (must("experiment", _STR, "name of its folder"), must("variant", _STR, "name of the variant"))
_METRIC = must("metric", _STR, "path in result.json")

EXPERIMENT_TABLES: Mapping[str, Schema] = MappingProxyType(
    {
        schema.name: schema
        for schema in (
            Schema(
                "runs",
                "The runs of an experiment that have a folder.",
                (
                    *_VARIANT,
                    must("round", _I32, "from 1 on"),
                    must("run", _STR, "name of the run folder"),
                    must("outcome", _STR, "`measured`, `not_believed`, `failed` or `interrupted`"),
                    may("seconds", _F64, "from its begin to the end of its analysis"),
                ),
            ),
            Schema(
                "metrics",
                "Figures of the runs that finished by run and metric, those of `resources` and `wire` too.",
                (
                    *_VARIANT,
                    must("round", _I32, "from 1 on"),
                    must("run", _STR, "name of the run folder"),
                    _METRIC,
                    must("value", _F64, "the figure"),
                    may("low", _F64, "low end of its interval"),
                    may("high", _F64, "high end of its interval"),
                    may("trust", _STR, "`believed`, `bounded` or `not_believed`; null for what nobody judges"),
                ),
            ),
            Schema(
                "variants",
                "The figures of the variants over the runs that count, and percentiles of all their messages together.",
                (
                    *_VARIANT,
                    _METRIC,
                    must("runs", _I32, "runs that count"),
                    must("left_out", _I32, "runs that finished, and whose figure is not believed"),
                    may("median", _F64, "median over the runs"),
                    may("least", _F64, "smallest of the runs"),
                    may("most", _F64, "largest of the runs"),
                    may("messages", _I64, "messages of latencies, of all runs that count together"),
                    may("pooled", _F64, "percentile of all these messages, from merged histograms"),
                ),
            ),
            Schema(
                "pairs",
                "The rounds in which the first variant and another both have a figure that counts.",
                (
                    must("experiment", _STR, "name of its folder"),
                    must("one", _STR, "the first variant"),
                    must("other", _STR, "another variant"),
                    must("round", _I32, "from 1 on"),
                    _METRIC,
                    must("one_value", _F64, "figure of the first"),
                    must("other_value", _F64, "figure of the other"),
                    may("ratio", _F64, "other_value / one_value; null if that is 0"),
                ),
            ),
        )
    }
)
