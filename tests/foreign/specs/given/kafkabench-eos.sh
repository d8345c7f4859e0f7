kafkabench -s=1024 -m=64 -M=64 -p=4 -P=4 -t=1 -T=1 -eos -r=1 -D
