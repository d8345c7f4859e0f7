bench -duration=1m20s -consumer-delay=3ms -phase-duration=30s -acks=-1 -msg-size=8 -compression=gzip
