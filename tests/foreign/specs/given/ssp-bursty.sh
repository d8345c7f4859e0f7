./run.sh bursty-light
