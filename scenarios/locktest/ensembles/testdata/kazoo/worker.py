"""A client of kazoo's Lock: worker.py HOST:PORT,... NAME SECTIONS

It prints ENTERED and LEAVING with the time in ns, and with ENTERED the czxid of its znode, which is its fencing token.
"""
import sys
import time

from kazoo.client import KazooClient, KazooState

hosts, name, sections = sys.argv[1], sys.argv[2], int(sys.argv[3])
client = KazooClient(hosts=hosts, timeout=8.0)


def listen(state):
    """Says what kazoo says of the session: after SUSPENDED or LOST the lock may be another's."""
    if state != KazooState.CONNECTED:
        print(state, time.time_ns(), flush=True)


client.start(timeout=30)
client.add_listener(listen)
lock = client.Lock("/locks/lock", name)
for _ in range(sections):
    with lock:
        own = [n for n in client.get_children("/locks/lock") if n.startswith(lock.prefix)]
        token = client.exists("/locks/lock/" + own[0]).czxid
        print("ENTERED", time.time_ns(), token, flush=True)
        time.sleep(0.05)
        print("LEAVING", time.time_ns(), flush=True)
client.stop()
client.close()
