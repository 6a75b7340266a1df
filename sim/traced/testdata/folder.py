"""Lists two folders. Prints each listing as a line of JSON, and then the errors of wrong calls."""
import ctypes
import errno
import json
import os
import struct
import sys

GETDENTS, GETDENTS64 = 78, 217
libc = ctypes.CDLL(None, use_errno=True)


def entries(call, fd, size):
    """Reads the entries that are left. Yields the name and type of each, and the position after it."""
    b = ctypes.create_string_buffer(size)
    while n := libc.syscall(call, fd, b, size):
        if n < 0:
            raise OSError(ctypes.get_errno(), "getdents")
        at = 0
        while at < n:
            _, position, length = struct.unpack_from("=QqH", b.raw, at)
            e = b.raw[at:at + length]
            name, kind = (e[19:], e[18]) if call == GETDENTS64 else (e[18:-1], e[-1])
            yield name.split(b"\0")[0].decode(), kind, position
            at += length


def show(list):
    print(json.dumps(list))


small, large = sys.argv[1:]
names = os.listdir(large)  # with several calls
show([len(names), names == sorted(names)])
show(os.listdir(small))
fd = os.open(small, os.O_RDONLY)
for call in GETDENTS64, GETDENTS:
    os.lseek(fd, 0, os.SEEK_SET)
    listed = list(entries(call, fd, 64))
    show([name for name, _, _ in listed])
    show([kind for _, kind, _ in listed])
    os.lseek(fd, listed[2][2], os.SEEK_SET)  # after the third entry
    show([name for name, _, _ in entries(call, fd, 4096)])
for call, fd, size in (GETDENTS64, fd, 23), (GETDENTS64, os.open(__file__, os.O_RDONLY), 4096), (GETDENTS64, 99, 4096):
    try:
        os.lseek(fd, 0, os.SEEK_SET) if fd < 99 else None
        show(list(entries(call, fd, size)))
    except OSError as e:
        print(errno.errorcode[e.errno])
