"""Prints files as a process sees them, or why they cannot be opened. PID in a name stands for the process's ID."""
import json
import os
import socket
import sys


def show(path):
    try:
        with open(path) as f:
            return json.dumps(f.read())
    except OSError as e:
        return json.dumps(e.strerror)


for path in sys.argv[1:]:
    print(path, show(path.replace("PID", str(os.getpid()))))
if os.fork() == 0:
    print("parent", show(f"/proc/{os.getppid()}/stat"))
    print("child", show("/proc/self/stat"), flush=True)
    os._exit(0)
os.wait()
print("host", json.dumps(socket.gethostname() + " " + socket.gethostbyname(socket.gethostname())))
print(os.cpu_count(), os.sysconf("SC_NPROCESSORS_CONF"), os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_AVPHYS_PAGES"))
