"""Run all benchmarks, one after the other; each can be run alone: `python -m benchmarks.saturation`."""

from benchmarks import analysis, consume, pacing, rate, report, saturation, watch


def main() -> None:
    for module in (pacing, rate, saturation, consume, analysis, report, watch):
        module.main()
        print()


if __name__ == "__main__":
    main()
