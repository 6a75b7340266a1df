"""Lets processes wait for each other by memory that they share, and prints what comes of it, but no times."""
import ctypes
import mmap
import multiprocessing as mp
import os
import time

lock, total = mp.Lock(), mp.Value("i", 0, lock=False)


def adds():
    for _ in range(20):
        with lock:
            before = total.value
            time.sleep(0.0001)
            total.value = before + 1


def runs(*targets):
    all = [mp.Process(target=t) for t in targets]
    for p in all:
        p.start()
    for p in all:
        p.join()
    print([p.exitcode for p in all], flush=True)


runs(adds, adds, adds)
print(total.value)

semaphore = mp.BoundedSemaphore(1)
print(semaphore.acquire(timeout=1), semaphore.acquire(timeout=0.01), semaphore.release())
try:
    semaphore.release()
except ValueError as e:
    print(e)

event, begun, condition, queue, barrier = mp.Event(), mp.Event(), mp.Condition(), mp.Queue(), mp.Barrier(3)


def waits():
    print(event.wait(10), flush=True)
    with condition:
        condition.notify_all()
    barrier.wait()


def sets():
    begun.wait()
    time.sleep(0.01)
    event.set()
    queue.put("set")
    barrier.wait()


def is_notified():
    with condition:
        begun.set()
        print(condition.wait(10), flush=True)
    barrier.wait()


runs(is_notified, waits, sets)
print(queue.get(), barrier.broken)
with mp.Pool(2) as pool:
    print(pool.map(abs, range(-5, 0)))

# a futex in memory that a process has mapped before it started another
wait, wake, page = 0, 1, mmap.mmap(-1, 4096)
word = ctypes.c_int.from_buffer(page, 8)
futex = lambda operation, value: ctypes.CDLL(None).syscall(202, ctypes.byref(word), operation, value, None)
child = os.fork()
if child == 0:
    time.sleep(0.5)
    word.value = 1
    os._exit(futex(wake, 5))
print(futex(wait, 0), word.value, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

# files
path = "/dev/shm/shared-by-a-test"
for name in [path, path + "2"]:
    if os.path.exists(name):
        os.unlink(name)


def tries(f):
    try:
        print(f())
    except OSError as e:
        print(e.errno)


tries(lambda: os.open(path, os.O_RDWR))
fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
tries(lambda: os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
print(os.write(fd, b"text"))
tries(lambda: os.link(path, path + "2"))
tries(lambda: os.link(path, path + "2"))
tries(lambda: os.unlink(path))
tries(lambda: os.open(path, os.O_RDONLY))
tries(lambda: os.rename(path + "2", path))
tries(lambda: os.rename(path, path))
tries(lambda: os.read(os.open(path, os.O_RDONLY), 9))
tries(lambda: os.read(os.open(path, os.O_RDWR | os.O_TRUNC), 9))
tries(lambda: os.unlink(path))
tries(lambda: os.unlink(path))
