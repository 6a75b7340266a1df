"""Waits for signals and for the alarm in all ways that a library may choose, and prints what comes of it, but no times."""
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
rang = []
signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])  # also in threads, which may end only after join

signal.alarm(100)
print(signal.alarm(0), signal.alarm(0), signal.getitimer(signal.ITIMER_REAL))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # an alarm before the call would not end it
signal.setitimer(signal.ITIMER_REAL, 0.01)
libc.sigsuspend(ctypes.create_string_buffer(128))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
print(len(rang), signal.getitimer(signal.ITIMER_REAL))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.02)
while len(rang) < 4:
    signal.pause()
left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
print(0 < left <= 0.02, interval)
rang.clear()
signal.setitimer(signal.ITIMER_REAL, 0.01)
print(threading.Event().wait(0.05), len(rang))
for wrong in [(9, 1.0), (signal.ITIMER_REAL, -1.0)]:
    try:
        signal.setitimer(*wrong)
    except Exception as e:
        print(type(e).__name__, e)

# whether a read is made again after a signal
for again in [True, False]:
    r, w = os.pipe()
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, not again)
    writer = threading.Timer(0.5, os.write, [w, b"x"])
    writer.start()
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    n = libc.read(r, ctypes.create_string_buffer(1), 1)
    e = ctypes.get_errno()
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(n, e if n < 0 else 0)
    writer.join()

# signals that are received by a call
some = [signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM]
signal.pthread_sigmask(signal.SIG_BLOCK, some)
os.kill(os.getpid(), signal.SIGUSR1)
print(signal.sigpending(), signal.sigwait(some))
info = signal.sigtimedwait(some, 0)
print(info, signal.sigtimedwait(some, 0.01))
signal.setitimer(signal.ITIMER_REAL, 0.01)
info = signal.sigwaitinfo(some)
print(info.si_signo, info.si_code, info.si_pid)
signal.raise_signal(signal.SIGUSR1)
info = signal.sigwaitinfo(some)
print(info.si_signo, info.si_code, info.si_pid == os.getpid())
child = os.fork()
if child == 0:
    time.sleep(0.01)
    os.kill(os.getppid(), signal.SIGUSR1)
    os._exit(7)
for _ in range(2):
    info = signal.sigwaitinfo(some)
    print(info.si_signo, info.si_code, info.si_pid == child, info.si_status if info.si_signo == signal.SIGCHLD else 0)
print(os.waitpid(child, 0)[0] == child)

# a signal that is not waited for ends the wait
signal.signal(signal.SIGUSR2, lambda *_: print("handled"))
threading.Timer(0.01, os.kill, [os.getpid(), signal.SIGUSR2]).start()
print(signal.sigtimedwait([signal.SIGUSR1], 0.5))
signal.pthread_sigmask(signal.SIG_UNBLOCK, some)

# the alarm of a process is its own, and ends one that does not handle it
sys.stdout.flush()
child = os.fork()
if child == 0:
    print(signal.getitimer(signal.ITIMER_REAL), flush=True)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(1)
    time.sleep(60)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
sys.stdout.flush()
for code in ["sleep 0.1 & wait $!; echo $?", "sleep 60 & kill $!; wait $!; echo $?",
             "trap 'echo trapped' USR1; (sleep 0.5; kill -USR1 $$; sleep 0.5) & wait; echo $?; wait"]:
    print(subprocess.run(["/bin/sh", "-c", code], capture_output=True, text=True).stdout)
