#!/usr/bin/env bash
# Runs a scenario, and once more where the machine was not fit: retry.sh SCENARIO OUT
set -uo pipefail

run() { streamgauge run "$1" --out "$2" --quiet --json > result.json; }

run "$1" "$2"; code=$?
if [ "$code" = 4 ]; then
  echo "not valid, retrying once"
  run "$1" "$2"; code=$?
fi
cat "$2"/*/summary.md
exit "$code"
