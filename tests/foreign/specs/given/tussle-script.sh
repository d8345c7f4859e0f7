java -jar kafka-benchmark.jar brokerList=broker-1:9092 --runner InteractiveRunner
targetRate=1k runTime=10s
reset
{targetRate: 2k, runTime: 10s, warmupTime: 2s}
quit
