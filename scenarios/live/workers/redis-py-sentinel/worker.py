"""A client of `fencepost live`: redis-py's Lock, on the master that a Sentinel names.

With the argument "waits" it gives a lock up again that no replica has within 100 ms (WAIT).
"""
import os
import sys
import time
from urllib.parse import urlparse

from redis import Redis
from redis.exceptions import LockNotOwnedError, RedisError
from redis.sentinel import Sentinel


def told(name):
    return os.environ["FENCEPOST_" + name]


name, ttl, hold = told("LOCK"), int(told("TTL_MS")) / 1000, int(told("HOLD_MS")) / 1000
at = urlparse(told("SENTINEL"))
sentinel = Sentinel([(at.hostname, at.port)], sentinel_kwargs={"password": at.password}, socket_timeout=1)
server = sentinel.master_for(told("MASTER_1"), password=at.password)  # all servers have one password
resource = Redis.from_url(told("RESOURCE"))
server.ping()  # it is connected


def report(*words):
    resource.execute_command("FENCEPOST", *words)


def acquired():
    while True:
        lock = server.lock(name, timeout=ttl)
        try:
            lock.acquire()
            if "waits" not in sys.argv or server.wait(1, 100) > 0:
                return lock
            lock.release()
        except RedisError:  # the master is gone, or another one by now
            time.sleep(0.1)


for n in range(int(told("CYCLES"))):
    report("ACQUIRING", name)
    lock = acquired()
    held = lock.local.token
    report("ACQUIRED", name, held)
    value = resource.execute_command("READ", name)
    resource.execute_command("WRITE", name, f"{told('CLIENT')}.{n} after {value.decode()}"[:60])
    time.sleep(hold)
    report("RELEASING", name, held)
    try:
        lock.release()
        report("RELEASED", name, held)
    except LockNotOwnedError:
        report("RELEASED", name, held, "REFUSED")
    except RedisError:
        report("RELEASED", name, held, "UNKNOWN")
