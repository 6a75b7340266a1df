"""Uses the timers of timer_create in all ways that a library may choose, and prints what comes of it, but no times."""
import ctypes
import os
import signal
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
SIGNAL, NONE, THREAD, TO_THREAD = 0, 1, 2, 4
CREATE, SET, GET, OVERRUN, DELETE = 222, 223, 224, 225, 226


class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_size_t), ("signal", ctypes.c_int), ("notify", ctypes.c_int),
                ("function", ctypes.c_void_p), ("attribute", ctypes.c_void_p), ("pad", ctypes.c_char * 32)]


class Spec(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ["interval_s", "interval_ns", "s", "ns"]]


class Info(ctypes.Structure):
    _fields_ = [("signal", ctypes.c_int), ("error", ctypes.c_int), ("code", ctypes.c_int), ("pad", ctypes.c_int),
                ("timer", ctypes.c_int), ("overrun", ctypes.c_int), ("value", ctypes.c_size_t),
                ("rest", ctypes.c_char * 96)]


def call(number, *args):
    result = libc.syscall(number, *args)
    return result if result >= 0 else -ctypes.get_errno()


def create(clock, event=None):
    id = ctypes.c_int(-7)
    result = call(CREATE, clock, event and ctypes.byref(event), ctypes.byref(id))
    return result or id.value


def spec(value, interval=0.0):
    return Spec(int(interval), round(interval % 1 * 1e9), int(value), round(value % 1 * 1e9))


def set(id, value, interval=0.0, flags=0):
    """Returns the setting before."""
    before = Spec()
    result = call(SET, id, flags, ctypes.byref(spec(value, interval)), ctypes.byref(before))
    return result or times(before)


def get(id):
    now = Spec()
    return call(GET, id, ctypes.byref(now)) or times(now)


def times(s):
    return s.interval_s + s.interval_ns / 1e9, s.s + s.ns / 1e9


def waits(*signals):
    """Waits for a signal, and returns its number and what it carries."""
    set, info = ctypes.create_string_buffer(128), Info()
    libc.sigemptyset(set)
    for s in signals:
        libc.sigaddset(set, s)
    number = libc.sigwaitinfo(set, ctypes.byref(info))
    return number, info


real = [signal.SIGRTMIN + 1, signal.SIGRTMIN + 2]
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGUSR1] + real)

for clock in [0, 1, 4, 5, 6, 7, 11, 99]:
    print(clock, create(clock, Event(notify=NONE)))
for wrong in [Event(signal=0), Event(signal=65), Event(signal=-1), Event(signal=10, notify=9),
              Event(signal=10, notify=TO_THREAD, function=1)]:
    print(create(1, wrong))
print(call(CREATE, 1, ctypes.c_void_p(8), ctypes.byref(ctypes.c_int())), call(CREATE, 1, None, ctypes.c_void_p(8)))
for f in [lambda: get(99), lambda: set(99, 1), lambda: call(OVERRUN, 99), lambda: call(DELETE, 99)]:
    print(f())

# once, and several times
t = create(1)
print(get(t), set(t, 0.01))
number, info = waits(signal.SIGALRM)
print(number, info.code, info.timer == t, info.value == t, info.overrun, get(t), call(OVERRUN, t))
set(t, 0.01, 0.02)
time.sleep(0.3)
interval, left = get(t)
print(interval, 0 < left <= 0.02)
number, info = waits(signal.SIGALRM)
print(number, 10 <= info.overrun < 1000, call(OVERRUN, t) == info.overrun)
print(waits(signal.SIGALRM)[0], waits(signal.SIGALRM)[0])
interval, left = set(t, 0)
print(interval, 0 < left <= 0.02, get(t))
signal.sigtimedwait([signal.SIGALRM], 0)
print(set(t, 100, 7), call(OVERRUN, t))
interval, left = get(t)
print(interval, 99 < left <= 100)
print(call(SET, t, 0, None, None), call(SET, t, 0, ctypes.byref(Spec(0, 0, 0, 10**9)), None),
      call(SET, t, 0, ctypes.byref(Spec(0, -1, 0, 0)), None), call(SET, t, 0, ctypes.c_void_p(8), None),
      call(GET, t, ctypes.c_void_p(8)))
print(call(DELETE, t), call(DELETE, t), get(t))

# until a time of a clock, and until one that is over
for clock, now in [(0, time.time()), (1, time.monotonic())]:
    t = create(clock, Event(signal=signal.SIGUSR1, value=1 << 40))
    for at in [now + 0.1, now - 10]:
        set(t, at, flags=1)
        number, info = waits(signal.SIGUSR1)
        print(number, info.value, (time.time() if clock == 0 else time.monotonic()) >= at, get(t))

# without a signal
t = create(1, Event(notify=NONE))
set(t, 0.01)
time.sleep(0.02)
print(get(t))
set(t, 0.01, 100)
time.sleep(0.02)
interval, left = get(t)
print(interval, 99 < left <= 100)

# several timers with the same signal
for s in [signal.SIGUSR1, real[0]]:
    all = [create(1, Event(signal=s, value=i)) for i in range(3)]
    for i, t in enumerate(all):
        set(t, 0.01 + 0.05 * i)
    time.sleep(0.3)
    os.kill(os.getpid(), s)
    got = [waits(s) for _ in all]
    print([info.value for _, info in got], [info.timer for _, info in got] == all)
    print(signal.sigtimedwait([s], 0) is not None, signal.sigtimedwait([s], 0))

# for one thread
got = []


def gets():
    t = create(1, Event(signal=real[1], notify=TO_THREAD, function=threading.get_native_id(), value=5))
    set(t, 0.05, 0.05)
    for _ in range(3):
        number, info = waits(real[1])
        got.append((number, info.value, info.timer == t))
    call(DELETE, t)


one = threading.Thread(target=gets)
one.start()
print(signal.sigtimedwait(real, 0.4))
one.join()
print(got)

# by a function of the C library's thread
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_size_t)
done, rang = threading.Semaphore(0), []
function = FUNCTION(lambda value: (rang.append(value), done.release()))
event = Event(notify=THREAD, value=77, function=ctypes.cast(function, ctypes.c_void_p))
t = ctypes.c_void_p()
print(libc.timer_create(1, ctypes.byref(event), ctypes.byref(t)))
print(libc.timer_settime(t, 0, ctypes.byref(spec(0.01, 0.01)), None))
for _ in range(3):
    done.acquire()
print(libc.timer_delete(t), rang[:3])

# by a handler, while a call waits
signal.signal(signal.SIGUSR1, lambda *_: print("handled"))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
t = create(0, Event(signal=signal.SIGUSR1))
set(t, 0.01)
print(threading.Event().wait(0.2))
set(t, 0.01, 10)
while 0 < get(t)[1] < 5:  # until it has run and was started again
    time.sleep(0.01)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
set(t, 0.01, 0.01)
time.sleep(0.05)
interval, left = set(t, 0)
print(interval)

# another process has none
t = create(1)
set(t, 0.05)
sys.stdout.flush()
child = os.fork()
if child == 0:
    print(get(t), create(1) >= 0, flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), waits(signal.SIGALRM)[0])
