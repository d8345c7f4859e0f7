"""Run all benchmarks, one after the other. To run one alone: `python -m benchmarks.saturation`."""

from benchmarks import (
    analysis,
    audit,
    backpressure,
    batches,
    clusters,
    consume,
    engines,
    first_answer,
    pacers,
    pacing,
    payloads,
    processing,
    proxy,
    rate,
    redelivery,
    report,
    saturation,
    schedule_delay,
    seams,
    site,
    starting,
    waking,
    warm,
    watch,
)


def main() -> None:
    for module in (
        first_answer,
        starting,
        clusters,
        pacing,
        schedule_delay,
        waking,
        pacers,
        payloads,
        rate,
        saturation,
        consume,
        processing,
        proxy,
        backpressure,
        redelivery,
        engines,
        batches,
        seams,
        analysis,
        warm,
        audit,
        report,
        site,
        watch,
    ):
        module.main()
        print()


if __name__ == "__main__":
    main()
