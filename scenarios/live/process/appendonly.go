package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// logs returns the append-only files that may grow, oldest first. There is only one, unless the server is or was a
// replica.
func logs(folder string) (list []string) {
	for _, pattern := range []string{"appendonlydir/*.incr.aof", "appendonly.aof"} {
		found, _ := filepath.Glob(filepath.Join(folder, pattern)) // the pattern is well-formed
		list = append(list, found...)
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b) // a longer name has a higher number
		}
		return strings.Compare(a, b)
	})
	return list
}

// Disk tracks how much of the append-only files would survive a power loss even if nothing had been fsynced: what
// existed when the process started, and what was written more than writeBack ago.
type Disk struct {
	mu    sync.Mutex
	found map[uint64]int64 // for each inode, how many bytes are on disk
	sizes []grown
}

// grown is a file's size at a particular time.
type grown struct {
	at    time.Time
	inode uint64
	size  int64
}

// writeBack is how long Linux takes to write data to disk without an fsync (vm.dirty_expire_centisecs).
const writeBack = 30 * time.Second

// Begin records the file sizes when a process starts.
func (d *Disk) Begin(folder string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found, d.sizes = map[uint64]int64{}, nil
	for _, path := range logs(folder) {
		if i, err := os.Stat(path); err == nil {
			d.found[inode(i)] = i.Size()
		}
	}
}

// Watch records how the files grow. It returns when stop is closed.
func (d *Disk) Watch(folder string, stop <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-tick.C:
			d.mu.Lock()
			for _, path := range logs(folder) {
				if i, err := os.Stat(path); err == nil {
					d.sizes = append(d.sizes, grown{now, inode(i), i.Size()})
				}
			}
			for len(d.sizes) > 0 && now.Sub(d.sizes[0].at) >= writeBack {
				d.found[d.sizes[0].inode] = d.sizes[0].size
				d.sizes = d.sizes[1:]
			}
			d.mu.Unlock()
		}
	}
}

// Cut truncates the append-only files to the part that is on disk: what was there when the process started, what the
// operating system has written back, and what has been fsynced.
func (d *Disk) Cut(folder string, s *Shim) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var last uint64
	var synced int64
	if s != nil {
		var err error
		if last, synced, err = s.synced(); err != nil {
			return err
		}
	}
	after := last == 0 // the file that was synced last, and older files, keep their data; newer files do not
	files := logs(folder)
	for i, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		keep := d.found[inode(info)]
		switch {
		case inode(info) == last:
			keep, after = max(keep, synced), true
		case !after && i < len(files)-1:
			continue
		}
		if keep < info.Size() {
			if err := os.Truncate(path, keep); err != nil {
				return err
			}
		}
	}
	return nil
}
