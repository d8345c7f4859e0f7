kafka-e2e-latency.sh broker-1:9092 latency 10000 1 20
