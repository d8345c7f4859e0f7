"""All pages by the name of their file."""

from tools.reference import checks, commands, exit_codes, experiment, metrics, python, result, rows, scenario

FOLDER = "docs/reference"


def pages() -> dict[str, str]:
    """The text of every page."""
    return {
        "checks.md": checks.page(),
        "commands.md": commands.page(),
        "events.md": rows.events_page(),
        "exit-codes.md": exit_codes.page(),
        "experiment.md": experiment.page(),
        "metrics.md": metrics.page(),
        "python.md": python.page(),
        "result.md": result.page(),
        "result.schema.json": result.schema_file(),
        "scenario.md": scenario.page(),
        "scenarios.md": scenario.shipped_page(),
        "tables.md": rows.tables_page(),
    }
