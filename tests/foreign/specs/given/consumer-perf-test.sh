kafka-consumer-perf-test --bootstrap-server broker-1:9092 --topic perf --messages 300000 --group perf-readers --show-detailed-stats --timeout 20000
