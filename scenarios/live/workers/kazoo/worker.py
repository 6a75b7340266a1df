"""A client of `fencepost live`: the Lock of kazoo, on ZooKeeper, guards a read and a write of the protected resource.

With the argument "fenced" each section has a fencing token: the zxid that created the lock's znode. With "listens" it
leaves a section as soon as kazoo reports that its connection or its session is lost, as kazoo's documentation advises.
With "impatient" it gives up asking for the lock after 2 s, and asks again.
"""
import os
import sys
import threading

import redis
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, LockTimeout


def found(name):
    return os.environ["FENCEPOST_" + name]


name, ttl = found("LOCK"), int(found("TTL_MS")) / 1000
compute, hold = int(found("COMPUTE_MS")) / 1000, int(found("HOLD_MS")) / 1000
resource = redis.Redis.from_url(found("RESOURCE"))
zk = KazooClient(hosts=found("ZOOKEEPER"), timeout=ttl, randomize_hosts=False)  # a plan can name its server
away = threading.Event()
zk.add_listener(lambda state: away.clear() if state == KazooState.CONNECTED else away.set())
zk.start(timeout=30)


def report(*words):
    resource.execute_command("FENCEPOST", *words)


def works(seconds):
    """Works so long, and reports whether it may go on."""
    return not ((away if "listens" in sys.argv else threading.Event()).wait(seconds) and "listens" in sys.argv)


def acquired():
    """Returns the lock once it is acquired."""
    while True:
        lock = zk.Lock("/locks/" + name, found("CLIENT"))
        report("ACQUIRING", name)
        try:
            lock.acquire(timeout=2 if "impatient" in sys.argv else None)
            return lock
        except LockTimeout:
            report("FAILED", name)


def section(n, lock):
    node = lock.node
    token = ["TOKEN", zk.get(lock.path + "/" + node)[1].czxid] if "fenced" in sys.argv else []
    report("ACQUIRED", name, node, *token)
    value = resource.execute_command("READ", name, *token)
    if works(compute):
        resource.execute_command("WRITE", name, f"{found('CLIENT')}.{n} after {value.decode()}"[:60], *token)
    if not works(hold):
        report("LOST", name, node)
    report("RELEASING", name, node)
    try:
        lock.release()
        report("RELEASED", name, node)
    except KazooException:
        report("RELEASED", name, node, "UNKNOWN")


for n in range(int(found("CYCLES"))):
    section(n, acquired())
zk.stop()
