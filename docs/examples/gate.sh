#!/usr/bin/env bash
# Measures an experiment, and compares it with a baseline: gate.sh EXPERIMENT BASELINE OUT [LIMIT...]
#
# Without a baseline, what was measured becomes it. Exit codes are those of `streamgauge check`: 0 within the limits,
# 3 worse, 4 not to be told; or that of the experiment, where that failed or an expectation of its own failed.
set -uo pipefail

experiment=$1 baseline=$2 out=$3
shift 3
limits=()
for limit in "${@:-p99=10%}"; do limits+=(--max-worse "$limit"); done
summary=${GITHUB_STEP_SUMMARY:-$out/summary.md}

streamgauge experiment "$experiment" --out "$out" --quiet
code=$?
measured=$(ls -d "$out"/*/ 2>/dev/null | tail -n 1)
[ -n "$measured" ] || exit "$code"
[ -f "${measured}summary.md" ] && cat "${measured}summary.md" >> "$summary"

# Runs that are not believed take no part: where code is 4, `check` says whether the others are enough.
[ "$code" = 0 ] || [ "$code" = 4 ] || exit "$code"
if [ -f "$baseline" ]; then
  streamgauge check "$measured" --baseline "$baseline" "${limits[@]}" --junit "$out/junit.xml"
elif [ "$code" = 0 ]; then
  streamgauge baseline save "$measured" --out "$baseline"
else
  exit "$code"
fi
