java -jar kafka-benchmark.jar rf=1 producerAcks=all --runner org.tussle.ScenarioRunner scenario=RAMP_5_1k_10k_6s
