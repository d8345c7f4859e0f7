java -jar kafka-benchmark.jar topics=3 producers=3 consumers=3 --runner ScenarioRunner scenario=SPIKE_1k_10k_20s_10s
