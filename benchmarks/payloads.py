"""Cost of composing a message: payloads, sizes, keys and partitions, each compared with `mixed` of 512 bytes.

CPU time of one process without a client. Each measurement is followed by one of `mixed`, so that disturbances of the
machine affect both. A saturated produce loop takes some 1.8 us a message: more than 0.18 us is more than a tenth.
"""

import argparse
import gc
import resource
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from benchmarks.common import heading, idle_share, spread
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND, monotonic_ns
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.loop import UNPACED_BLOCK
from streamgauge.engine.produce.sources import Recipe
from streamgauge.record.corpus import read_events
from streamgauge.scenario.model.content import Content, Keys, Sizes, needs_headers
from streamgauge.workload.payload.build import content_of, keys_of, law_of

CONTENT: TypeAdapter[Content] = TypeAdapter(Content)
SIZES: TypeAdapter[Sizes] = TypeAdapter(Sizes)
KEYS: TypeAdapter[Keys] = TypeAdapter(Keys)
BASE = "mixed"
FIRST = 1_000_000
"""Beyond the first round of every pool."""

PAYLOADS: Mapping[str, object] = {
    **{kind: kind for kind in (BASE, "random", "zeros", "text", "json", "logline", "sequential", "tombstone")},
    "constant": {"constant": {"text": "abc"}},
    "random, padding 10": {"random": {"padding": 10}},
    "weighted: 90 text, 10 zeros of 100": {
        "weighted": [{"percent": 90, "payload": "text"}, {"percent": 10, "payload": "zeros", "size": 100}]
    },
    "weighted: 90 json, 10 tombstone": {
        "weighted": [{"percent": 90, "payload": "json"}, {"percent": 10, "payload": "tombstone"}]
    },
    "function: bytes(size)": {"function": {"name": "benchmarks.payloads:nothing"}},
}
SIZES_BESIDE: Mapping[str, object] = {
    "uniform 40 to 984": {"uniform": {"from": 40, "to": 984}},
    "gaussian 512, 50": {"gaussian": {"mean": 512, "deviation": 50}},
    "gaussian 512, 50, hold 10": {"gaussian": {"mean": 512, "deviation": 50, "hold": 10}},
}
KEYS_BESIDE: Mapping[str, object] = {
    "sequential": "sequential",
    "constant": {"constant": {"text": "abc"}},
    "uniform, 1,000": {"uniform": {"keys": 1_000}},
    "uniform, 1,000,000": {"uniform": {"keys": 1_000_000}},
    "zipf 1.1, 1,000": {"zipf": {"keys": 1_000, "exponent": 1.1}},
    "zipf 1.1, 1,000,000": {"zipf": {"keys": 1_000_000, "exponent": 1.1}},
}
ROUTES: Mapping[str, Mapping[str, Any]] = {
    "three topics": {"topics": (0, 1, 2)},
    "partitions in turn": {"partition": "round-robin", "partitions": 12},
    "one partition": {"partition": 3},
}


def nothing(_producer: int, _seq: int, size: int, _seed: int) -> bytes:
    """A user's function that does next to nothing."""
    return bytes(size)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--blocks", type=int, default=60, help="blocks of 500 messages in each round")
    chosen = options.parse_args()
    heading(f"Payloads: composing blocks of {UNPACED_BLOCK} messages, ns a message and ratio to `{BASE}`")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        recipes = dict(_recipes(Path(folder)))
        made = {name: _made(recipe) for name, recipe in recipes.items()}
    gc.freeze()
    gc.disable()
    base, _ = made[BASE]
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in made}
    for number in range(chosen.rounds):
        first = FIRST + number * chosen.blocks * UNPACED_BLOCK
        for name, (composer, _) in made.items():
            costs[name].append((_cost_ns(composer, first, chosen.blocks), _cost_ns(base, first, chosen.blocks)))
    print("| | stamp in | ns a message | ratio | adds ns | made in ms |")
    print("|---|---|---|---|---|---|")
    for name, pairs in costs.items():
        place = "header" if recipes[name].in_headers else "value"
        cells = [
            spread([cost for cost, _ in pairs], digits=0),
            spread([cost / beside for cost, beside in pairs]),
            spread([cost - beside for cost, beside in pairs], digits=0),
            f"{made[name][1]:,.0f}",
        ]
        print(f"| {name} | {place} | {' | '.join(cells)} |")


def _recipes(folder: Path) -> Iterator[tuple[str, Recipe]]:
    for name, content in PAYLOADS.items():
        yield name, _recipe(content)
    lines = folder / "events.txt"
    lines.write_text("".join(f"event {number:>500}\n" for number in range(10_000)), encoding="utf-8")
    yield "file, 10,000 lines of 506", _recipe({"file": {"path": str(lines)}})
    for name, size in SIZES_BESIDE.items():
        yield f"{BASE}, {name}", _recipe(size=size)
    for name, keys in KEYS_BESIDE.items():
        yield f"{BASE}, keys {name}", _recipe(keys=KEYS.validate_python(keys))
    for name, route in ROUTES.items():
        yield f"{BASE}, {name}", _recipe(**route)


def _recipe(content: object = BASE, size: object = 512, **more: Any) -> Recipe:
    chosen, sizes = CONTENT.validate_python(content), SIZES.validate_python(size)
    in_headers = needs_headers(chosen, sizes)
    more["keys"] = keys_of(more.get("keys", "none"))
    made = content_of(chosen), law_of(sizes)
    return Recipe(0, 7, *made, 42, in_headers, scheduled=True, read_events=read_events, **more)


def _made(recipe: Recipe) -> tuple[Composer, float]:
    """A composer, and how long it took to make it, in ms."""
    began_ns = monotonic_ns()
    composer = Composer(recipe, UNPACED_BLOCK)
    return composer, (monotonic_ns() - began_ns) / NS_PER_MS


def _cost_ns(composer: Composer, first: int, blocks: int) -> float:
    """What one message costs, over so many blocks."""
    due_ns = np.arange(UNPACED_BLOCK, dtype=np.int64)
    seqs = [due_ns + first + number * UNPACED_BLOCK for number in range(blocks)]
    before = resource.getrusage(resource.RUSAGE_SELF)
    for each in seqs:
        composer.compose(each, due_ns, NS_PER_SECOND)
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds * NS_PER_SECOND / blocks / UNPACED_BLOCK


if __name__ == "__main__":
    main()
