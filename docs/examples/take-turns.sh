#!/usr/bin/env bash
# Compares two programs, `old` and `new`, whose rounds take turns: take-turns.sh EXPERIMENT ROUNDS [LIMIT]
set -uo pipefail

old experiment "$1" --repeat 1 --out old
new experiment "$1" --repeat 1 --out new
for round in $(seq 2 "$2"); do
  first=old second=new; [ $((round % 2)) = 0 ] && first=new second=old
  "$first" experiment --resume "$first"/* --repeat "$round"
  "$second" experiment --resume "$second"/* --repeat "$round"
done
streamgauge check new/* --baseline old/* --max-worse "${3:-p99=10%}" --junit junit.xml
