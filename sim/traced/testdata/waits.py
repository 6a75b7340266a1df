"""Waits in all ways that a library may choose, with threads and asyncio, and prints what comes of it, but no times."""
import asyncio
import os
import queue
import select
import socket
import sys
import threading
import time

host, port = sys.argv[1].split(":")
address = (host, int(port))
print(os.uname().sysname, os.uname().release, os.uname().version, os.uname().machine)


def talk(wait):
    s = socket.create_connection(address)
    for line in [b"one\n", b"two\n"]:
        s.sendall(line)
        got = b""
        while not got.endswith(b"\n"):
            wait(s)
            got += s.recv(2)
        print(got)
    s.close()


def by_poll(s):
    p = select.poll()
    p.register(s, select.POLLIN)
    print(len(p.poll(10_000)))


def by_epoll(s):
    with select.epoll() as e:
        e.register(s, select.EPOLLIN | select.EPOLLET)
        print(len(e.poll(10)))


for wait in [lambda s: None, lambda s: print(len(select.select([s], [], [], 10)[0])), by_poll, by_epoll]:
    talk(wait)

s = socket.create_connection(address)
s.settimeout(0.01)
try:
    s.recv(1)
except socket.timeout as e:
    print(e)
s.settimeout(None)
s.sendall(b"end\n")
print(s.recv(100), s.recv(100))

jobs, done = queue.Queue(), []


def work():
    while (job := jobs.get()) is not None:
        time.sleep(0.001 * job)
        done.append(job)


threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads:
    t.start()
for job in [5, 3, 1, 4, 2, 6]:
    jobs.put(job)
for t in threads:
    jobs.put(None)
for t in threads:
    t.join()
print(sorted(done))
event = threading.Event()
print(event.wait(0.01))
r, w = os.pipe()
threading.Timer(0.01, lambda: os.write(w, b"x")).start()
print(os.read(r, 1))


async def client(n):
    reader, writer = await asyncio.open_connection(*address)
    for i in range(3):
        writer.write(b"%d %d\n" % (n, i))
        print(await reader.readline() == b"%d %d\n" % (n, i))
        await asyncio.sleep(0.001 * n)
    writer.close()


async def main():
    await asyncio.gather(*[client(n) for n in range(3)])
    try:
        await asyncio.wait_for(asyncio.sleep(100), 0.01)
    except asyncio.TimeoutError:
        print("timeout")
    await asyncio.to_thread(time.sleep, 0.001)


asyncio.run(main())
