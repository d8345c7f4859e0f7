"""Options that are not there, but are keys of a scenario: the answer is the `--set` to use."""

from collections.abc import Iterator, Sequence
from typing import Any

from typer.core import TyperCommand

from streamgauge.domain.errors import BadInput, Fault


class ScenarioCommand(TyperCommand):
    """A command that takes a scenario and `--set`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; raises BadInput with every option that is a key of a scenario."""
        known = {option for each in self.get_params(ctx) for option in (*each.opts, *each.secondary_opts)}
        if not ctx.resilient_parsing and (faults := list(keys_as_options(args, known))):
            raise BadInput(faults)
        return super().parse_args(ctx, args)


def keys_as_options(args: Sequence[str], known: set[str]) -> Iterator[Fault]:
    """The fault of each option that is not known, and is a key of a scenario."""
    from streamgauge.scenario.misplaced.places import option_fault

    for place, argument in enumerate(args):
        if argument == "--":
            return
        option, equals, value = argument.partition("=")
        if len(option) <= len("-x") or not option.startswith("-") or option in known:
            continue
        following = args[place + 1] if len(args) > place + 1 and not args[place + 1].startswith("-") else None
        if fault := option_fault(option, value if equals else following):
            yield fault
