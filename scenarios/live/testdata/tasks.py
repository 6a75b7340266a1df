"""A client whose lock is prolonged by a task of asyncio while another works."""
import asyncio
import os

import redis.asyncio
from redis.exceptions import LockError


def told(name):
    return os.environ["FENCEPOST_" + name]


name, ttl = told("LOCK"), int(told("TTL_MS")) / 1000


async def work():
    server = redis.asyncio.Redis.from_url(told("REDIS_1"))
    resource = redis.asyncio.Redis.from_url(told("RESOURCE"))

    async def report(*words):
        await resource.execute_command("FENCEPOST", *words)

    async def prolong(lock, held, done):
        while not done.is_set():
            try:
                await asyncio.wait_for(done.wait(), ttl / 3)
            except asyncio.TimeoutError:
                await report("EXTENDING", name, held)
                try:
                    await lock.reacquire()
                    await report("EXTENDED", name, held)
                except LockError:
                    await report("EXTEND-FAILED", name, held)

    await server.ping()
    for n in range(int(told("CYCLES"))):
        lock = server.lock(name, timeout=ttl, thread_local=False)
        await report("ACQUIRING", name)
        await lock.acquire()
        held, done = lock.local.token, asyncio.Event()
        await report("ACQUIRED", name, held)
        keeper = asyncio.create_task(prolong(lock, held, done))
        value = await resource.execute_command("READ", name)
        await asyncio.sleep(ttl)
        await resource.execute_command("WRITE", name, f"{told('CLIENT')}.{n} after {value.decode()}"[:60])
        done.set()
        await keeper
        await report("RELEASING", name, held)
        try:
            await lock.release()
            await report("RELEASED", name, held)
        except LockError:
            await report("RELEASED", name, held, "REFUSED")


asyncio.run(work())
