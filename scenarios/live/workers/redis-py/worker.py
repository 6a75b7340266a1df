"""A client of `fencepost live`: redis-py's Lock guards a read and a write of the protected resource.

With the argument "fenced" each section also takes a fencing token, a counter beside the lock.
"""
import os
import sys
import time

import redis
from redis.exceptions import LockNotOwnedError


def told(name):
    return os.environ["FENCEPOST_" + name]


name, ttl, hold = told("LOCK"), int(told("TTL_MS")) / 1000, int(told("HOLD_MS")) / 1000
server = redis.Redis.from_url(told("REDIS_1"))
resource = redis.Redis.from_url(told("RESOURCE"))
server.ping()  # it is connected


def report(*words):
    resource.execute_command("FENCEPOST", *words)


for n in range(int(told("CYCLES"))):
    lock = server.lock(name, timeout=ttl)
    report("ACQUIRING", name)
    lock.acquire()
    held = lock.local.token
    token = ["TOKEN", server.incr(name + ":token")] if "fenced" in sys.argv else []
    report("ACQUIRED", name, held, *token)
    value = resource.execute_command("READ", name, *token)
    resource.execute_command("WRITE", name, f"{told('CLIENT')}.{n} after {value.decode()}"[:60], *token)
    time.sleep(hold)
    report("RELEASING", name, held)
    try:
        lock.release()
        report("RELEASED", name, held)
    except LockNotOwnedError:
        report("RELEASED", name, held, "REFUSED")
