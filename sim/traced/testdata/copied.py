"""Has threads and open files when it makes the socket that it connects, and prints then whether they are as before."""
import ctypes
import faulthandler
import mmap
import os
import select
import signal
import socket
import sys
import threading
import time

faulthandler.enable()  # a stack for signals
own = open(sys.argv[0])
line = own.readline()
r, w = os.pipe2(os.O_NONBLOCK)
os.write(w, b"kept")
events, empty = os.eventfd(3, os.EFD_SEMAPHORE | os.EFD_NONBLOCK), os.eventfd(0, os.EFD_NONBLOCK)
watched = select.epoll()
watched.register(r, select.EPOLLIN)
watched.register(empty, select.EPOLLIN)
again, also = os.dup(events), select.epoll.fromfd(os.dup(watched.fileno()))  # of the same open files
late, late_w = os.pipe()
socket.socket().close()  # it only sees whether it can
end, other = socket.socketpair()
other.close()
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
page.madvise(mmap.MADV_DONTFORK)
page[:4] = b"kept"
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
libc, timer = ctypes.CDLL(None), ctypes.c_int()
event = (ctypes.c_int * 16)(7, 0, signal.SIGUSR2)  # a sigevent: value, signal
libc.syscall(222, 1, event, ctypes.byref(timer))  # timer_create
libc.syscall(223, timer, 0, (ctypes.c_long * 4)(0, 0, 0, 500_000_000), None)  # timer_settime
before, done, lock, condition = {}, [], threading.Lock(), threading.Condition()
local = threading.local()


def state():
    return threading.get_ident(), threading.get_native_id(), signal.pthread_sigmask(signal.SIG_BLOCK, []), 0.1 + 0.2


def works(name, wait):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGRTMIN + len(name)])
    local.name = name
    before[name] = state()
    wait()
    with lock:
        done.append((name, local.name, state() == before[name]))


def until_notified():
    with condition:
        condition.wait()


connecting, sockets = threading.Event(), []


def makes_another():
    connecting.wait()
    sockets.append(socket.socket())


threads = [threading.Thread(target=works, args=a) for a in [
    ("sleeps", lambda: time.sleep(0.05)), ("reads", lambda: os.read(late, 1)), ("polls", lambda: watched.poll()),
    ("is notified", until_notified), ("follows", makes_another)]]
watched.modify(r, 0)
for t in threads:
    t.start()
while len(before) < 5:
    time.sleep(0.001)
time.sleep(0.01)
main = state()

connecting.set()
s = socket.socket()
print(state() == main, own.readline() != line, os.get_blocking(r), os.get_blocking(late), os.get_inheritable(r))
print(os.read(r, 9), os.eventfd_read(events), os.eventfd_read(again), os.eventfd_read(events))
try:
    os.eventfd_read(events)
except BlockingIOError as e:
    print(e.errno)
print(page[:4], end.recv(9))
print(signal.sigtimedwait([signal.SIGUSR2], 10).si_code, libc.syscall(226, timer), libc.syscall(226, timer))
os.write(late_w, b"x")
with condition:
    condition.notify_all()
os.eventfd_write(empty, 1)
for t in threads:
    t.join()
print(sorted(done), watched.poll(0) == [(empty, select.EPOLLIN)])
also.unregister(empty)
print(watched.poll(0))
host, port = sys.argv[1].split(":")
s.connect((host, int(port)))
s.sendall(b"one\n")
print(s.recv(9))
