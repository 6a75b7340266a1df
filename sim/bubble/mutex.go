//go:build go1.26 && !go1.28

package bubble

import (
	"sync"
	"unsafe" // also for go:linkname
)

// The clock of a bubble moves when all its goroutines are durably blocked. Go does not count a goroutine that waits for
// a mutex among those, since whoever holds the mutex may be outside of the bubble. A client library that waits for the
// network with a mutex held, which another of its goroutines wants, would stop the clock, and with it its own network.
//
// Which waits count is a table in Go's runtime, isIdleInSynctest, and there is no setting for it. So this file changes
// three entries of that table, in memory. It does so only in a process that makes runs, before its first run has
// started a goroutine, and only after it has found the whole table with the values that it has in Go 1.26 and 1.27, at
// exactly one place. Otherwise nothing is changed: then a wait for a mutex holds up the clock, and package remote
// reports that.

// waitReasons is how many reasons there are for which a goroutine waits. A bubble is idle when its goroutines wait for
// those in idle; mutexWaits are added to them (runtime2.go: waitReason, isIdleInSynctest).
const waitReasons = 47

var (
	idle       = []int{14, 15, 16, 17, 21, 38, 40, 41, 42, 43, 44, 45}
	mutexWaits = []int{22, 23, 24} // Mutex.Lock, RWMutex.RLock, RWMutex.Lock
)

// countMutexes makes the waits for a mutex let time pass in all bubbles of the process. It reports whether it could.
var countMutexes = sync.OnceValue(func() bool {
	table := idleTable()
	for _, reason := range mutexWaits {
		if table != nil {
			table[reason] = true
		}
	}
	return table != nil
})

// idleTable finds the runtime's table. It returns nil unless exactly one place has its content, among the variables
// without pointers that are initialized.
//
//go:norace
func idleTable() (table []bool) {
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
	for i := range len(data) - waitReasons + 1 {
		n := 0
		for n < waitReasons && data[i+n] == want[n] {
			n++
		}
		switch {
		case n < waitReasons:
		case table != nil:
			return nil
		default:
			table = unsafe.Slice((*bool)(unsafe.Pointer(&data[i])), waitReasons)
		}
	}
	return table
}

// inside is a variable of which it is known where the linker puts it.
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
