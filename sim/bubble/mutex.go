//go:build go1.26 && !go1.28

package bubble

import (
	"bytes"
	"sync"
	"unsafe" // also needed for go:linkname
)

// A bubble's clock advances when all its goroutines are durably blocked. To Go's runtime, a goroutine that is waiting
// for a mutex is not durably blocked, because a goroutine outside the bubble may be holding the mutex. Suppose that a
// client library holds a mutex while it is waiting for the network, and another of its goroutines is waiting for the
// mutex. Then the clock stops, and the simulated network stops with it.
//
// Go's runtime has a table of the wait reasons that count as durably blocked, isIdleInSynctest, but no way to change
// it. So this file changes three of its entries in memory. Only processes that perform runs do so, and only before the
// first run starts a goroutine. The file changes the table only if the table's whole content, as in Go 1.26 and 1.27,
// is found in exactly one place. Otherwise, a wait for a mutex stops the clock, and package remote reports this.

// waitReasons is the number of reasons why a goroutine can be waiting (waitReason in runtime2.go). The runtime
// considers a bubble idle if every goroutine is waiting for one of the reasons in idle (isIdleInSynctest). This file
// adds the reasons in mutexWaits.
const waitReasons = 47

var (
	idle       = []int{14, 15, 16, 17, 21, 38, 40, 41, 42, 43, 44, 45}
	mutexWaits = []int{22, 23, 24} // Mutex.Lock, RWMutex.RLock, RWMutex.Lock
)

// countMutexes lets time advance in all of the process's bubbles even while goroutines are waiting for a mutex. It
// reports whether this is possible.
var countMutexes = sync.OnceValue(func() bool {
	table := idleTable()
	for _, reason := range mutexWaits {
		if table != nil {
			table[reason] = true
		}
	}
	return table != nil
})

// idleTable finds the runtime's table. It searches the initialized variables that contain no pointers, and returns nil
// unless the table's content occurs in exactly one place.
func idleTable() []bool {
	m := lastmoduledatap
	here := uintptr(unsafe.Pointer(&inside))
	if here < uintptr(m.noptrdata) || here >= uintptr(m.enoptrdata) {
		return nil
	}
	var want [waitReasons]byte
	for _, reason := range idle {
		want[reason] = 1
	}
	data := unsafe.Slice((*byte)(m.noptrdata), uintptr(m.enoptrdata)-uintptr(m.noptrdata))
	at := bytes.Index(data, want[:])
	if at < 0 || bytes.Contains(data[at+1:], want[:]) {
		return nil
	}
	return unsafe.Slice((*bool)(unsafe.Pointer(&data[at])), waitReasons)
}

// inside is a variable that the linker puts into the same section as the runtime's table of wait reasons. idleTable
// uses its address to verify the section's bounds.
var inside = [4]byte{1, 2, 3, 4}

// lastmoduledatap is the runtime's description of the program's sections.
//
//go:linkname lastmoduledatap runtime.lastmoduledatap
var lastmoduledatap *struct {
	_                     uintptr    // pcHeader
	_                     [6][]byte  // funcnametab, cutab, filetab, pctab, pclntable, ftab
	_                     [5]uintptr // findfunctab, minpc, maxpc, text, etext
	noptrdata, enoptrdata unsafe.Pointer
}
