"""The kinds of Trogdor's generators."""

from collections.abc import Collection

from streamgauge.domain.text.shown import shown
from streamgauge.foreign.specs.read.fields import SpecFields


def kind_of(fields: SpecFields, known: Collection[str]) -> str:
    """The `type` of a generator; a fault where it is none of the known ones."""
    fields.required("type")
    kind = fields.text("type")
    if kind and kind not in known:
        what = f"{shown('type', kind)}: no such generator"
        fields.draft.refuse(fields.place("type"), what, f"Write one of {', '.join(known)}")
    return kind
