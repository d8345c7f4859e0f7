kafka-e2e-latency.sh --bootstrap-server broker-1:9092 --topic latency --num-records 10000 --producer-acks all --record-size 1024 --record-key-size 8 --num-headers 2 --record-header-size 16
