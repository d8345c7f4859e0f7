"""Why a query failed, in one line. The texts are of the kinds that Spark 4.2 gives."""

import pytest

from streamgauge.domain.errors import BadInput, WorkerError
from streamgauge.jobs.driver import failures

QUERY = "org.apache.spark.sql.streaming.StreamingQueryException"
SPARK = "org.apache.spark.SparkException"
STAGE = (
    "Job aborted due to stage failure: Task 1 in stage 3.0 failed 1 times, most recent failure: Lost task 1.0 in stage "
    "3.0 (TID 7) (127.0.0.1 executor driver): {cause}\n\tat org.apache.spark.Some.thing(Some.scala:5)\n{more}\n"
    "Driver stacktrace:"
)
PYTHON = (
    'org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
    "ZeroDivisionError: division by zero\n"
)


@pytest.mark.parametrize(
    ("chain", "line"),
    [
        (
            [
                (QUERY, "[STREAM_FAILED] Query x\n=== Streaming Query ===\nplan"),
                ("java.lang.Illegal", "bad"),
            ],
            "Illegal: bad",
        ),
        (
            [(QUERY, "[STREAM_FAILED] x"), (SPARK, STAGE.format(cause="org.apache.kafka.A$BException: gone", more=""))],
            "BException: gone",
        ),
        (
            [
                (QUERY, "[STREAM_FAILED] x"),
                (
                    SPARK,
                    STAGE.format(
                        cause=f"{SPARK}: [TASK_WRITE_FAILED] Task failed. SQLSTATE: 58030",
                        more="Caused by: java.io.IOException: disk full\n\tat a.b(c:1)\n",
                    ),
                ),
            ],
            "IOException: disk full",
        ),
        ([(QUERY, "x"), (SPARK, STAGE.format(cause=PYTHON, more=""))], "ZeroDivisionError: division by zero"),
        (
            [("AnalysisException", "[MISSING] No column `a`. SQLSTATE: 42703;\n'Project ['a]\n+- Relation")],
            "[MISSING] No column `a`.",
        ),
        ([("ValueError", "first line\n  goes on\n\tat x.y(z)")], "ValueError: first line goes on"),
        ([(QUERY, ""), (SPARK, "")], "SparkException"),
    ],
)
def test_the_cause_in_one_line(chain: list[tuple[str, str]], line: str) -> None:
    assert failures.said(chain) == line


def test_a_long_line_is_cut() -> None:
    assert len(failures.said([("ValueError", "x" * 2000)])) == failures.LONGEST


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (WorkerError("my:job: raised ValueError: no"), "my:job: raised ValueError: no"),
        (BadInput.single("a", "is wrong", "Mend it"), "a: is wrong. Mend it"),
        (KeyError("x"), "KeyError: 'x'"),
    ],
)
def test_an_exception_of_python(error: Exception, line: str) -> None:
    assert failures.of(error) == line
