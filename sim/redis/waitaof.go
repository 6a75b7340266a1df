package redis

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// This file implements WAITAOF, which was added in Redis 7.2. It waits until a write is on disk: on the node's own
// disk, on replicas' disks, or both.

// mark links a position in the append-only file to a replication offset. Once the file is on disk up to that position,
// so is the replication stream up to that offset.
type mark struct {
	effects int
	offset  int64
}

// marksOffsets reports whether the node keeps track of how much of the stream is on disk.
func (n *Node) marksOffsets() bool { return n.cfg.Version == Redis8 && n.cfg.Persistence != store.None }

// markOffset is called at the end of each event loop turn. It records the replication offset at the current end of the
// append-only file, and sets a timer for the requests that are waiting for an fsync. If syncing is left to the
// operating system, markOffset does not record anything, because Redis never learns how much of the file is on disk.
func (n *Node) markOffset() {
	r := &n.repl
	if n.cfg.Persistence != store.No && r.offset > r.marks[len(r.marks)-1].offset {
		n.fsynced() // drop the marks that are no longer needed
		r.marks = append(r.marks, mark{n.aof.Len(), r.offset})
	}
	n.awaitFsync()
}

// markAll records that everything in the append-only file is on disk, which is true after a start and after a full
// resync.
func (n *Node) markAll() {
	n.repl.marks = append(n.repl.marks[:0], mark{n.aof.Len(), n.repl.offset})
}

// fsynced returns the offset up to which the stream is known to be on disk (fsynced_reploff in Redis). It is -1 if the
// node has no append-only file or does not keep track of this offset.
func (n *Node) fsynced() int64 {
	if !n.marksOffsets() {
		return -1
	}
	marks, synced := n.repl.marks, n.aof.Synced(n.mono)
	last := 0
	for last < len(marks)-1 && marks[last+1].effects <= synced {
		last++
	}
	n.repl.marks = append(marks[:0], marks[last:]...)
	return n.repl.marks[0].offset
}

// onDisk returns 1 if the write for which a request is waiting is on the node's own disk, and 0 otherwise.
func (n *Node) onDisk(b *blocked) int64 {
	if n.fsynced() >= b.offset {
		return 1
	}
	return 0
}

// syncedAt returns the time at which the write for which a request is waiting will be on disk. It returns 0 if no timer
// is needed, because the operating system decides when to sync or because the event loop is blocked until the fsync
// ends.
func (n *Node) syncedAt(b *blocked) int64 {
	switch n.cfg.Persistence {
	case store.Everysec:
		at := slices.IndexFunc(n.repl.marks, func(m mark) bool { return m.offset >= b.offset })
		return n.aof.SyncedAt(n.repl.marks[at].effects)
	case store.Always:
		if n.aof.Takes() <= 0 {
			return n.mono
		}
	}
	return 0
}

// waitAOF implements WAITAOF.
func waitAOF(n *Node, args []string) {
	local, ok := resp.ParseInt(args[1])
	need, ok2 := resp.ParseInt(args[2])
	switch {
	case !ok:
		n.data.ReplyError(resp.ErrNotInt)
		return
	case local < 0 || local > 1:
		n.data.ReplyError("ERR value is out of range, value must between 0 and 1")
		return
	case !ok2 || need < 0:
		n.data.ReplyError("ERR value is out of range, must be positive")
		return
	}
	until, ok := n.waitUntil(args[3])
	switch {
	case !ok:
	case n.repl.master != "":
		n.data.ReplyError("ERR WAITAOF cannot be used with replica instances. " +
			"Please also note that writes to replicas are just local and are not propagated.")
	case local > 0 && n.cfg.Persistence == store.None:
		n.data.ReplyError("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.")
	default:
		n.waitFor(&blocked{aof: true, local: local, need: need, until: until})
	}
}

// awaitFsync sets a timer for the end of the next fsync that a request is waiting for.
func (n *Node) awaitFsync() {
	at := int64(0)
	for _, b := range n.waiting {
		if b.local > n.onDisk(b) {
			if end := n.syncedAt(b); at == 0 || end > 0 && end < at {
				at = end
			}
		}
	}
	if at != n.syncAt {
		n.syncing++
		if n.syncAt = at; at > 0 {
			n.host.WakeAfter(time.Duration(at-n.mono), wakeSynced|n.syncing)
		}
	}
}
