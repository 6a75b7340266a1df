"""A client whose lock is prolonged by a thread of its own while the main thread works."""
import os
import threading
import time

import redis
from redis.exceptions import LockError


def told(name):
    return os.environ["FENCEPOST_" + name]


name, ttl = told("LOCK"), int(told("TTL_MS")) / 1000
server = redis.Redis.from_url(told("REDIS_1"))
resource = redis.Redis.from_url(told("RESOURCE"))
server.ping()


def report(*words):
    resource.execute_command("FENCEPOST", *words)


def prolong(lock, held, done):
    while not done.wait(ttl / 3):
        report("EXTENDING", name, held)
        try:
            lock.reacquire()
            report("EXTENDED", name, held)
        except LockError:
            report("EXTEND-FAILED", name, held)


for n in range(int(told("CYCLES"))):
    lock = server.lock(name, timeout=ttl, thread_local=False)
    report("ACQUIRING", name)
    lock.acquire()
    held, done = lock.local.token, threading.Event()
    report("ACQUIRED", name, held)
    keeper = threading.Thread(target=prolong, args=(lock, held, done))
    keeper.start()
    value = resource.execute_command("READ", name)
    time.sleep(ttl)
    resource.execute_command("WRITE", name, f"{told('CLIENT')}.{n} after {value.decode()}"[:60])
    done.set()
    keeper.join()
    report("RELEASING", name, held)
    try:
        lock.release()
        report("RELEASED", name, held)
    except LockError:
        report("RELEASED", name, held, "REFUSED")
