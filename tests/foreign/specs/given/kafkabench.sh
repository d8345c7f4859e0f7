./kafkabench -f cluster.yaml -s 16777216 -m 64 -M 1024 -P 4 -p 1 -T 1 -t 1 -i 3 -pr
