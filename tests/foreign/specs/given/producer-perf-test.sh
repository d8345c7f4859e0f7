#!/bin/sh
# Ten thousand a second, acknowledged by all replicas.
kafka-producer-perf-test.sh --topic perf --num-records 300000 --record-size 512 --throughput 10000 \
  --producer-props bootstrap.servers=broker-1:9092 acks=all batch.size=65536 linger.ms=5 compression.type=snappy \
  --print-metrics
