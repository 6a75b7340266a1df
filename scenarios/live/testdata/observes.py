"""Asks a server each second while it holds the lock, and writes to the resource what it sees: how far its clocks have
advanced, how long the answer took, and the answer."""
import os
import time

import redis


def told(name):
    return os.environ["FENCEPOST_" + name]


name, client = told("LOCK"), told("CLIENT")
resource = redis.Redis.from_url(told("RESOURCE"))
server = redis.Redis.from_url(told("REDIS_1"), socket_timeout=0.5)


def report(*words):
    resource.execute_command("FENCEPOST", *words)


report("ACQUIRING", name)
server.set(name, client, px=int(told("TTL_MS")))
began, day = time.monotonic(), time.time()
report("ACQUIRED", name, client)
for n in range(5):
    asked = time.monotonic()
    try:
        server.incr("count")
        answer = (server.get(name) or b"nobody").decode()
    except redis.RedisError as e:
        answer = type(e).__name__
    took = time.monotonic() - asked
    resource.execute_command("WRITE", name, f"{asked - began:.1f} {time.time() - day - took:.1f} {took:.1f} {answer}")
    time.sleep(1)
report("RELEASING", name, client)
report("RELEASED", name, client)
