"""Lists a folder in several ways. Prints its entries, whether the ways agree, and the errors of wrong calls. With a
second argument, only prints whether each listing is sorted by name."""
import ctypes
import errno
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


def listings(fd):
    """Yields the whole folder as a list of entries, for each call and for small and large buffers."""
    for call in GETDENTS64, GETDENTS:
        for size in 64, 1 << 16:
            os.lseek(fd, 0, os.SEEK_SET)
            listed = list(entries(call, fd, size))
            yield listed
            os.lseek(fd, listed[2][2], os.SEEK_SET)  # after the third entry
            yield listed[:3] + list(entries(call, fd, size))


fd = os.open(sys.argv[1], os.O_RDONLY)
if len(sys.argv) > 2:
    for listed in listings(fd):
        names = [name for name, _, _ in listed]
        print(len(names), names == sorted(names))
    sys.exit()
first, *others = listings(fd)
print(sorted((name, kind) for name, kind, _ in first))
print([listed == first for listed in others])
for fd, size in (fd, 23), (os.open(__file__, os.O_RDONLY), 4096), (99, 4096):
    try:
        if fd < 99:
            os.lseek(fd, 0, os.SEEK_SET)
        print(list(entries(GETDENTS64, fd, size)))
    except OSError as e:
        print(errno.errorcode[e.errno])
