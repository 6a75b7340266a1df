//go:build linux && amd64

package traced

import (
	"bytes"
	"slices"

	"golang.org/x/sys/unix"
)

// The kernel lists the entries of a folder in an order that depends on the file system and on how the folder came
// about. A process sees them sorted by name instead. For example, the order of the jars in the class path lib/* is then
// the same on every host.

// direntName is the offset of the name in a linux_dirent64, after d_ino, d_off, d_reclen and d_type.
const direntName = 19

// getdents lists entries of an open folder (getdents64 or getdents). The position in the open file is the number of
// entries that have been listed, and so are the positions (d_off) that the process sees.
func (t *thread) getdents() outcome {
	own, ok := t.p.dup(t.regs.Rdi)
	if !ok {
		return passes
	}
	defer unix.Close(own)
	entries, err := entriesOf(own)
	if err != nil {
		return passes // the kernel fails in the same way
	}
	at, err := unix.Seek(own, 0, unix.SEEK_CUR)
	if err != nil {
		return passes
	}
	var list []byte
	next := int(at)
	for ; next < len(entries); next++ {
		e := entries[next]
		le.PutUint64(e[8:], uint64(next+1))
		if t.name == "getdents" { // the type comes last
			e = append(slices.Delete(slices.Clone(e), direntName-1, direntName), e[direntName-1])
		}
		if len(list)+len(e) > int(uint32(t.regs.Rdx)) {
			break
		}
		list = append(list, e...)
	}
	switch {
	case len(list) == 0 && next < len(entries):
		return t.errs(unix.EINVAL)
	case !poke(t.tid, t.regs.Rsi, list):
		return t.errs(unix.EFAULT)
	}
	if _, err := unix.Seek(own, int64(next), unix.SEEK_SET); err != nil {
		t.p.m.fail(t, t.name, "for a folder whose position could not be set: "+err.Error())
		return gone
	}
	return t.gives(int64(len(list)))
}

// entriesOf returns the entries of an open folder, as a linux_dirent64 each, sorted by name.
func entriesOf(folder int) (entries [][]byte, err error) {
	dir, err := unix.Openat(folder, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	for {
		b := make([]byte, 1<<16)
		n, err := unix.Getdents(dir, b)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		for b = b[:n]; len(b) > 0; {
			size := le.Uint16(b[16:])
			entries, b = append(entries, b[:size:size]), b[size:]
		}
	}
	slices.SortFunc(entries, func(a, b []byte) int {
		return bytes.Compare(nameIn(a), nameIn(b))
	})
	return entries, nil
}

// nameIn returns the name in a linux_dirent64.
func nameIn(entry []byte) []byte {
	name, _, _ := bytes.Cut(entry[direntName:], []byte{0})
	return name
}
