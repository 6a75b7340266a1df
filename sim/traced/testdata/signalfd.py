"""Reads signals from signal files in all ways that a library may choose, and prints what comes of it, but no times."""
import ctypes
import os
import select
import signal
import struct
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
own = os.getpid()


def signal_set(*signals):
    return ctypes.byref(ctypes.c_uint64(sum(1 << (s - 1) for s in signals)))


def make(fd, signals, flags=0, size=8):
    result = libc.syscall(289, fd, signal_set(*signals), size, flags)
    return result if result >= 0 else -ctypes.get_errno()


def tries(f, *args):
    try:
        return f(*args)
    except OSError as e:
        return e.errno


def read(fd, size=2000):
    """Returns the signals that it reads, or the error."""
    b = tries(os.read, fd, size)
    if isinstance(b, int):
        return b
    all = []
    for at in range(0, len(b), 128):
        number, error, code, pid, uid, _, timer, _, overrun, _, status, value, pointer = struct.unpack_from(
            "IiiIIiIIIIiiQ", b, at)
        all.append((signal.Signals(number).name, error, code, pid == own, uid == os.getuid(), timer, overrun, status, value,
                    pointer))
    return all


some = [signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM, signal.SIGUSR2]
signal.pthread_sigmask(signal.SIG_BLOCK, some)
fd = make(-1, some + [signal.SIGKILL, signal.SIGSTOP], os.O_NONBLOCK | os.O_CLOEXEC)
print(fd > 2, os.get_inheritable(fd), os.get_blocking(fd))
print(make(-1, some, size=4), make(-1, some, flags=1), make(99, some), make(1, some))
print(libc.syscall(289, -1, None, 8, 0), ctypes.get_errno())

# without waiting
ready = select.poll()
ready.register(fd, select.POLLIN)
print(read(fd), ready.poll(0), tries(os.write, fd, bytes(128)))
os.kill(own, signal.SIGUSR1)
print(len(ready.poll(0)), read(fd, 127), read(fd, 255), read(fd), ready.poll(0))
signal.setitimer(signal.ITIMER_REAL, 0.001)
print(len(ready.poll()))
signal.raise_signal(signal.SIGUSR2)
for _ in range(3):
    os.kill(own, signal.SIGUSR1)
print(read(fd), read(fd))

# other ways to get a signal
os.kill(own, signal.SIGUSR1)
print(len(ready.poll(0)), signal.sigwait(some), ready.poll(0))
signal.signal(signal.SIGUSR1, lambda *_: print("handled"))
os.kill(own, signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
print(ready.poll(0), read(fd))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

# another set
os.kill(own, signal.SIGUSR2)
print(make(fd, [signal.SIGUSR1]) == fd, ready.poll(0), read(fd))
print(make(fd, some) == fd, len(ready.poll(0)), read(fd))

# with waiting
os.set_blocking(fd, True)
signal.setitimer(signal.ITIMER_REAL, 0.02)
print(read(fd))
threading.Timer(0.02, os.kill, [own, signal.SIGUSR1]).start()
print(select.select([fd], [], [], 10)[0] == [fd], read(fd))
edges = select.epoll()
edges.register(fd, select.EPOLLIN | select.EPOLLET)
print(edges.poll(0.01))
child = os.fork()
if child == 0:
    os.kill(own, signal.SIGUSR1)
    os._exit(7)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print(len(edges.poll()), read(fd), edges.poll(0))
print(os.waitpid(child, 0)[0] == child)
signal.signal(signal.SIGHUP, lambda *_: print("handled in between"))
threading.Timer(0.02, signal.pthread_kill, [threading.main_thread().ident, signal.SIGHUP]).start()
threading.Timer(0.5, os.kill, [own, signal.SIGUSR1]).start()
print(read(fd))


# a thread that reads while the others do something else
def reads():
    got.append(read(fd))


got, reader = [], threading.Thread(target=reads)
reader.start()
time.sleep(0.02)
os.kill(own, signal.SIGUSR1)
reader.join()
print(got)

# a copy of the file's number, and a file that is closed
copy = os.dup(fd)
os.close(fd)
os.kill(own, signal.SIGUSR1)
print(read(copy), tries(os.read, fd, 128))
os.close(copy)
os.kill(own, signal.SIGUSR1)
fd = make(-1, some)
print(read(fd))
