"""A client of Fencepost for the locks of Python: worker.py LOCK, where LOCK is a name in `locks` below.

Each class wraps one library in the settings of its documentation. acquire returns the owner value and, where the
library says so, for how many ms the lock is valid; the client then writes only as long as it is valid.
"""
import asyncio
import functools
import os
import random
import sys
import time
import urllib.parse

import redis


def setting(name):
    return os.environ["FENCEPOST_" + name]


@functools.cache
def servers():
    urls = [os.environ.get(f"FENCEPOST_REDIS_{n}") for n in range(1, 10)]
    return [redis.Redis.from_url(url) for url in urls if url]


class RedisPy:
    """redis-py's Lock: acquire blocks."""
    options = {}

    def __init__(self, name, ttl):
        self.lock = servers()[0].lock(name, timeout=ttl, **self.options)

    def acquire(self):
        return (self.lock.local.token, None) if self.lock.acquire() else None

    def extend(self):
        self.lock.extend(float(setting("TTL_MS")) / 1000, replace_ttl=True)

    def release(self):
        self.lock.release()


class RedisPyTries(RedisPy):
    """redis-py's Lock with blocking=False: the client tries again by itself."""
    options = {"blocking": False}


class RedisPyShared(RedisPy):
    """redis-py's Lock with thread_local=False."""
    options = {"thread_local": False}


class Asyncio:
    """A lock of asyncio: its loop runs also while the client computes."""

    def __init__(self):
        self.run = asyncio.new_event_loop().run_until_complete

    def sleep(self, seconds):
        self.run(asyncio.sleep(seconds))


class RedisPyAsyncio(Asyncio):
    """redis-py's asyncio Lock."""

    def __init__(self, name, ttl):
        super().__init__()
        self.lock = redis.asyncio.Redis.from_url(setting("REDIS_1")).lock(name, timeout=ttl)

    def acquire(self):
        return (self.lock.local.token, None) if self.run(self.lock.acquire()) else None

    def release(self):
        self.run(self.lock.release())


class Aioredlock(Asyncio):
    """aioredlock: lock() gives up after three tries, with an exception."""

    def __init__(self, name, ttl):
        super().__init__()
        import aioredlock
        self.name, self.ttl = name, ttl
        self.manager = aioredlock.Aioredlock([os.environ[f"FENCEPOST_REDIS_{n + 1}"] for n in range(len(servers()))])

    def acquire(self):
        self.lock = self.run(self.manager.lock(self.name, lock_timeout=self.ttl))
        return self.lock.id, None

    def release(self):
        self.run(self.manager.unlock(self.lock))


class PythonRedisLock:
    """python-redis-lock: the waiting are woken by a list, and the key is lock:NAME."""
    options = {}

    def __init__(self, name, ttl):
        import redis_lock
        self.lock = redis_lock.Lock(servers()[0], name.removeprefix("lock:"), expire=int(ttl), **self.options)

    def acquire(self):
        return (self.lock.id, None) if self.lock.acquire() else None

    def release(self):
        self.lock.release()


class PythonRedisLockRenewal(PythonRedisLock):
    """python-redis-lock with auto_renewal: a thread extends the lock after two thirds of its expiry."""
    options = {"auto_renewal": True}


class Pottery:
    """pottery's Redlock, whose key is redlock:NAME; locked() says how long it is valid."""

    def __init__(self, name, ttl):
        import pottery
        self.lock = pottery.Redlock(key=name.removeprefix("redlock:"), masters=servers(), auto_release_time=ttl)

    def acquire(self):
        return (self.lock._uuid, int(self.lock.locked() * 1000)) if self.lock.acquire() else None

    def release(self):
        self.lock.release()


class RedlockPy:
    """redlock-py: lock() gives up after three tries, and returns a validity."""

    def __init__(self, name, ttl):
        import redlock
        self.manager, self.name, self.ttl = redlock.Redlock(servers()), name, int(ttl * 1000)

    def acquire(self):
        self.lock = self.manager.lock(self.name, self.ttl)
        return (self.lock.key, self.lock.validity) if self.lock else None

    def release(self):
        self.manager.unlock(self.lock)


class Sherlock:
    """sherlock's RedisLock, which waits as long as it takes."""

    def __init__(self, name, ttl):
        import sherlock
        self.lock = sherlock.RedisLock(name, client=servers()[0], expire=int(ttl), timeout=3600)

    def acquire(self):
        return (self.lock._owner, None) if self.lock.acquire() else None

    def release(self):
        self.lock.release()


class Kazoo:
    """kazoo's Lock, with a listener, as its documentation recommends."""

    def __init__(self, name, ttl):
        import kazoo.client
        self.session_lost = False
        self.client = kazoo.client.KazooClient(hosts=setting("ZOOKEEPER"), timeout=ttl)
        self.client.add_listener(self.listen)
        self.client.start(timeout=30)
        self.name = name

    def listen(self, state):
        self.session_lost |= state == "LOST"

    def acquire(self):
        self.session_lost = False
        self.lock = self.client.Lock("/locks/" + self.name, setting("CLIENT"))
        return (self.lock.node, None) if self.lock.acquire() else None

    def lost(self):
        return self.session_lost or not self.client.connected

    def release(self):
        self.lock.release()


class Etcd3:
    """python-etcd3's Lock, through one member for each client; acquire waits as long as it takes."""

    def __init__(self, name, ttl):
        import etcd3
        members = setting("ETCD").split(",")
        member = urllib.parse.urlsplit(members[int(setting("CLIENT").rsplit("-", 1)[1]) % len(members)])
        self.lock = etcd3.client(member.hostname, member.port, timeout=ttl / 3).lock(name, ttl=int(ttl))

    def acquire(self):
        return (self.lock.uuid.hex(), None) if self.lock.acquire(timeout=None) else None

    def extend(self):
        if self.lock.refresh()[0].TTL == 0:
            raise TimeoutError("the lease is over")

    def release(self):
        if not self.lock.release():
            raise TimeoutError("the lock was lost")


locks = {
    "redis-py": RedisPy, "redis-py-tries": RedisPyTries, "redis-py-shared": RedisPyShared,
    "redis-py-extend": RedisPy, "redis-py-asyncio": RedisPyAsyncio,
    "aioredlock": Aioredlock,
    "python-redis-lock": PythonRedisLock, "python-redis-lock-renewal": PythonRedisLockRenewal,
    "pottery": Pottery, "redlock-py": RedlockPy, "sherlock": Sherlock,
    "kazoo": Kazoo, "etcd3": Etcd3, "etcd3-refresh": Etcd3,
}


class Client:
    """What a client does: it takes the lock, reads, computes, writes, and gives the lock back."""

    def __init__(self, kind):
        self.name, self.ttl, self.compute = setting("LOCK"), int(setting("TTL_MS")), int(setting("COMPUTE_MS")) / 1000
        self.resource = redis.Redis.from_url(setting("RESOURCE"), socket_timeout=None, retry=None)
        self.lock, self.extends = locks[kind](self.name, self.ttl / 1000), kind.endswith(("-extend", "-refresh"))
        self.sleep = getattr(self.lock, "sleep", time.sleep)

    def report(self, *words):
        self.resource.execute_command("FENCEPOST", *words)

    def take(self):
        while True:
            self.report("ACQUIRING", self.name)
            try:
                if got := self.lock.acquire():
                    return got
            except Exception as error:  # a server that cannot be reached, or one that said no
                print("acquire:", repr(error), flush=True)
            self.report("FAILED", self.name)
            self.sleep(0.1 + 0.1 * random.random())

    def work(self, owner, until):
        """Computes. The client that extends does so every third of the TTL, and is False when it could not."""
        end = time.monotonic() + self.compute
        while self.extends and time.monotonic() + self.ttl / 3000 < end:
            self.sleep(self.ttl / 3000)
            self.report("EXTENDING", self.name, owner)
            try:
                self.lock.extend()
            except Exception as error:
                print("extend:", repr(error), flush=True)
                self.report("EXTEND-FAILED", self.name, owner, "UNKNOWN")
                self.report("LOST", self.name, owner)
                return False
            self.report("EXTENDED", self.name, owner)
        self.sleep(max(0, end - time.monotonic()))
        if hasattr(self.lock, "lost") and self.lock.lost():
            self.report("LOST", self.name, owner)
            return False
        return until is None or time.monotonic() < until

    def section(self, n):
        owner, valid = self.take()
        until = None if valid is None else time.monotonic() + valid / 1000
        self.report("ACQUIRED", self.name, owner, *([] if valid is None else ["VALIDITY", valid]))
        value = self.resource.execute_command("READ", self.name)
        if self.work(owner, until):
            self.resource.execute_command("WRITE", self.name, f"{setting('CLIENT')}.{n} after {value.decode()}"[:60])
        self.sleep(int(setting("HOLD_MS")) / 1000)
        self.report("RELEASING", self.name, owner)
        try:
            self.lock.release()
            self.report("RELEASED", self.name, owner)
        except Exception as error:
            print("release:", repr(error), flush=True)
            self.report("RELEASED", self.name, owner, "UNKNOWN")


client = Client(sys.argv[1])
for server in servers():
    server.ping()  # it is there
for n in range(int(setting("CYCLES"))):
    client.section(n)
