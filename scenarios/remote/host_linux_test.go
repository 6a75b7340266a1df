package remote

import (
	"os"
	"testing"
	"time"
)

// TestBothWaysOfMeasuringAgree compares two measurements of the processor time that this process has used: the
// process's own clock, and the sum over its threads in /proc. The sum counts only each thread's whole ticks and ignores
// threads that have ended.
func TestBothWaysOfMeasuringAgree(t *testing.T) {
	const much = 200 * time.Millisecond
	clock, threads := spentBy(os.Getpid()), usageOf(os.Getpid())
	for spentBy(os.Getpid())-clock < much {
	}
	now := usageOf(os.Getpid())
	if got := now.spent - threads.spent; !threads.known || !now.known || got < much/2 || got > 2*much {
		t.Errorf("%v by the clock are %v by the threads", much, got)
	}
	if got := spentBy(1<<22 + 1); got != 0 {
		t.Errorf("a process whose number is too large has used %v", got)
	}
}
