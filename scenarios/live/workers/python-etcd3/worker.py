"""A client of `fencepost live`: the Lock of python-etcd3 guards a read and a write of the protected resource.

With the argument "fenced" each section has a fencing token: the revision that created the lock's key. With "refreshes"
the lock is refreshed every third of its TTL, which the library leaves to its caller.

Lock.acquire cannot wait with the tenacity of Debian 12: a lock that is held makes it raise TypeError. So the worker asks
again itself, unless it has the argument "waits".
"""
import os
import sys
import time
from urllib.parse import urlsplit

import etcd3
import redis


def found(name):
    return os.environ["FENCEPOST_" + name]


name, ttl = found("LOCK"), int(found("TTL_MS")) / 1000
compute, hold = int(found("COMPUTE_MS")) / 1000, int(found("HOLD_MS")) / 1000
resource = redis.Redis.from_url(found("RESOURCE"))
members = [urlsplit(u) for u in found("ETCD").split(",")]
mine = members[(int(found("CLIENT").rsplit("-", 1)[1]) - 1) % len(members)]  # it connects to one member only
client = etcd3.client(host=mine.hostname, port=mine.port)
client.status()  # it is connected


def report(*words):
    resource.execute_command("FENCEPOST", *words)


def works(seconds, lock):
    """Works so long."""
    end = time.monotonic() + seconds
    while "refreshes" in sys.argv and (left := end - time.monotonic()) > ttl / 3:
        time.sleep(min(left, ttl / 3))
        report("EXTENDING", name, lock.uuid.hex())
        alive = lock.refresh()[0].TTL > 0
        report("EXTENDED" if alive else "EXTEND-FAILED", name, lock.uuid.hex())
    time.sleep(max(end - time.monotonic(), 0))


def acquired(lock):
    try:
        return lock.acquire(timeout=None)
    except TypeError:  # tenacity 8 calls its wait with one argument, and it takes two
        if "waits" in sys.argv:
            raise
        return False


for n in range(int(found("CYCLES"))):
    lock = client.lock(name, ttl=int(ttl))
    report("ACQUIRING", name)
    while not acquired(lock):
        report("FAILED", name)
        time.sleep(0.2)
        report("ACQUIRING", name)
    token = ["TOKEN", client.get(lock.key)[1].create_revision] if "fenced" in sys.argv else []
    report("ACQUIRED", name, lock.uuid.hex(), *token)
    value = resource.execute_command("READ", name, *token)
    works(compute, lock)
    resource.execute_command("WRITE", name, f"{found('CLIENT')}.{n} after {value.decode()}"[:60], *token)
    works(hold, lock)
    report("RELEASING", name, lock.uuid.hex())
    report("RELEASED", name, lock.uuid.hex(), *([] if lock.release() else ["REFUSED"]))
