"""Starts processes in all ways that a library may choose, and prints what comes of it, but no times and no numbers."""
import asyncio
import ctypes
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time

parent = os.getpid()


def show(*what):
    print(*what, flush=True)


def forked(child):
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(3)
    return pid


def status(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def fails(do, *args, **more):
    try:
        show("no error:", do(*args, **more))
    except (OSError, subprocess.TimeoutExpired) as e:
        show(type(e).__name__, getattr(e, "errno", None))


def numbers():
    """The child has a number of its own, which getpid returns in both although the parent has asked before."""
    out, to = os.pipe()
    pid = forked(lambda: os.write(to, f"{os.getpid()} {os.getppid() == parent}".encode()))
    number, is_parent = os.read(out, 100).split()
    show("numbers", int(number) == pid, is_parent, os.getpid() == parent, status(pid))
    pid = forked(lambda: forked(lambda: (time.sleep(0.5), os.write(to, b"%d" % os.getppid()))))
    show("orphan", status(pid), os.read(out, 100) != b"%d" % pid)


def programs():
    told = dict(capture_output=True, text=True)
    show(subprocess.run(["echo", "hello"], **told).stdout)
    show(subprocess.run(["cat"], input="through a pipe", **told).stdout)
    show(subprocess.run(["sh", "-c", "echo $WHAT in $(pwd) >&2; exit 7"], env={"WHAT": "told"}, cwd="/usr", **told))
    show(subprocess.run("echo one | tr a-z A-Z && sleep 0.01 && false", shell=True, stdout=subprocess.PIPE))
    show(os.system("echo printed by a shell"), os.popen("echo popen").read())
    fails(subprocess.run, ["/no/such/program"])
    fails(subprocess.run, ["sleep", "100"], timeout=0.05)
    big = b"x" * 1_000_000
    show(subprocess.run(["cat"], input=big, stdout=subprocess.PIPE).stdout == big)
    show(os.waitstatus_to_exitcode(os.posix_spawn("/bin/true", ["true"], {}) and os.wait()[1]))
    p = subprocess.Popen(["true"], preexec_fn=os.setpgrp)
    show(os.getpgid(p.pid) == p.pid, os.getpgid(0) != p.pid, p.wait())
    pid = forked(lambda: os._exit(subprocess.run(["sh", "-c", "exit $((6 + $$ - $$))"]).returncode))
    show("nested", status(pid))


def waits():
    fails(os.waitpid, -1, 0)
    fails(os.waitpid, parent, 0)
    fails(os.waitid, os.P_ALL, 0, os.WNOHANG)
    p = subprocess.Popen(["sleep", "0.5"])
    show(p.poll(), os.waitpid(-1, os.WNOHANG), os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG))
    for options in [os.WEXITED | os.WNOWAIT, os.WEXITED]:
        i = os.waitid(os.P_PID, p.pid, options)
        show(i.si_pid == p.pid, i.si_signo, i.si_code, i.si_status)
    several = [forked(lambda: time.sleep(0.01 * i)) for i in range(3)]
    show(sorted(several.index(os.wait()[0]) for _ in several))
    pid = forked(lambda: time.sleep(0.5))
    show(os.waitpid(0, os.WNOHANG))
    os.setpgid(pid, 0)
    fails(os.waitpid, 0, os.WNOHANG)
    fails(os.setpgid, pid, 1)
    show(os.waitid(os.P_PGID, pid, os.WEXITED).si_status)


class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ["signo", "errno", "code", "pad", "pid", "uid", "status"]]


HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.POINTER(Info), ctypes.c_void_p)


class Action(ctypes.Structure):
    _fields_ = [("handler", HANDLER), ("mask", ctypes.c_ulong * 16), ("flags", ctypes.c_int),
                ("restorer", ctypes.c_long)]


def pauses(pause, seen, count):
    """Pauses until signals have been seen. An alarm ends a pause that begins only after the signal."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    while len(seen) < count:
        pause()
    signal.setitimer(signal.ITIMER_REAL, 0)


def signals():
    for sig in [signal.SIGTERM, signal.SIGKILL]:
        p = subprocess.Popen(["sleep", "100"])
        p.send_signal(sig)
        i = os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
        show(i.si_signo, i.si_code, i.si_status, p.wait())
    code = "import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: exit(5))\nprint(1, flush=True)\n" \
           "time.sleep(100)"
    p = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    p.stdout.readline()
    p.send_signal(0)
    p.send_signal(signal.SIGTERM)
    show(p.wait())
    p = subprocess.Popen("sleep 100 & sleep 100", shell=True, start_new_session=True)
    show(os.getpgid(p.pid) == p.pid, os.getsid(p.pid) == p.pid)
    os.killpg(p.pid, signal.SIGKILL)
    show(p.wait())
    fails(os.kill, p.pid, 0)
    seen = []
    signal.signal(signal.SIGCHLD, lambda *_: seen.append("SIGCHLD"))
    p = subprocess.Popen(["sleep", "0.05"])
    pauses(signal.pause, seen, 1)
    show(seen, p.wait())
    names = ["signo", "code", "pid", "status"]
    told = HANDLER(lambda sig, info, _: seen.append([getattr(info[0], name) for name in names]))
    ctypes.CDLL(None).sigaction(signal.SIGCHLD, ctypes.byref(Action(told, flags=4)), None)
    pid = forked(lambda: time.sleep(0.05))
    pauses(ctypes.CDLL(None).pause, seen, 2)
    show(seen[1][:2], seen[1][2] == pid, seen[1][3], status(pid))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    fails(os.waitpid, forked(lambda: time.sleep(0.05)), 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    r, w = os.pipe()
    pid = forked(lambda: (os.close(r), time.sleep(0.05), os.kill(parent, signal.SIGUSR1)))
    os.close(w)
    signal.signal(signal.SIGUSR1, lambda *_: show("from the child"))
    show(os.read(r, 1), status(pid))


def connections():
    """A connection stays open while one of the processes has it."""
    host, port = sys.argv[1].split(":")
    s = socket.create_connection((host, int(port)))
    talk = lambda s, text: s.sendall(text) or s.recv(100) == text
    show(status(forked(lambda: os._exit(talk(s, b"child\n")))), talk(s, b"parent\n"))
    show(status(forked(lambda: os._exit(talk(socket.create_connection((host, int(port))), b"of its own\n")))))
    out, to = os.pipe()
    pid = forked(lambda: (os.read(out, 1), os._exit(talk(s, b"child\n"))))
    s.close()
    os.write(to, b"x")
    show(status(pid))


def answers(pipe, of):
    pipe.send((os.getppid() == of, multiprocessing.current_process().name))


def with_multiprocessing():
    for method in ["fork", "spawn"]:
        way = multiprocessing.get_context(method)
        here, there = way.Pipe()
        p = way.Process(target=answers, args=(there, parent))
        p.start()
        show(method, here.recv())
        p.join()
        show(p.exitcode)


async def with_asyncio():
    async def one(i):
        script = f"sleep 0.{9 - i}; echo {i}; exit {i}"
        p = await asyncio.create_subprocess_exec("sh", "-c", script, stdout=asyncio.subprocess.PIPE)
        out, _ = await p.communicate()
        return out, p.returncode

    show(await asyncio.gather(*map(one, range(3))))


if __name__ == "__main__":
    for do in [numbers, programs, waits, signals, connections, with_multiprocessing]:
        do()
    asyncio.run(with_asyncio())
