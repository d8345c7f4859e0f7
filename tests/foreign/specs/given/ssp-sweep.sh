./run.sh sweep-compression
