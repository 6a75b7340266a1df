package store

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestDeadlineHeapEqualsSearchingAList compares the deadline heap with a list that is searched from beginning to end
// each time.
func TestDeadlineHeapEqualsSearchingAList(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var heap deadlines
	var list []deadline
	for seq := range uint64(5000) {
		switch {
		case r.IntN(3) > 0 || len(list) == 0:
			d := deadline{when: int64(r.IntN(50)), seq: seq}
			heap.push(d)
			list = append(list, d)
		case r.IntN(50) == 0:
			odd := func(d deadline) bool { return d.when%2 == 1 }
			heap.keep(odd)
			list = slices.DeleteFunc(list, func(d deadline) bool { return !odd(d) })
		default:
			least := 0
			for i := range list {
				if list[i].before(list[least]) {
					least = i
				}
			}
			if heap[0] != list[least] {
				t.Fatalf("the top of the heap is %v and not %v", heap[0], list[least])
			}
			heap.pop()
			list = slices.Delete(list, least, least+1)
		}
		if len(heap) != len(list) {
			t.Fatalf("the heap has %d entries and not %d", len(heap), len(list))
		}
	}
}

// nobody is a Server and an Onlooker that ignores everything.
type nobody struct{}

func (nobody) Replica() bool                    { return false }
func (nobody) Record(history.Event)             {}
func (nobody) Due(d time.Duration) history.Time { return history.Time(d) }
func (nobody) Log(Effect)                       {}
func (nobody) LogCommand([]string)              {}
func (nobody) Changed(string, bool)             {}
func (nobody) Flushed()                         {}
func (nobody) Do([]string)                      {}
func (nobody) Watches(string) bool              { return false }
func (nobody) ListMade(string)                  {}
func (nobody) Publish(string, string)           {}

func TestHeapStaysSmallUnderRenewal(t *testing.T) {
	d := New(nobody{})
	d.Onlooker = nobody{}
	d.SetString("lock", "a", 1000)
	for i := range int64(10_000) {
		d.MoveDeadline("lock", d.Find("lock"), 100_000+i)
	}
	if size := len(d.deadlines); size > 100 {
		t.Errorf("one key has %d entries in the heap of deadlines", size)
	}
	if when := d.NextDeadline(); when != 109_999 {
		t.Errorf("the next deadline is %d", when)
	}
}

// TestCommandsReachTheNewMiniredis checks that miniredis executes commands on the data that this package reads, also
// after Clear has replaced miniredis.
func TestCommandsReachTheNewMiniredis(t *testing.T) {
	d := New(nobody{})
	for range 2 {
		d.Pass([]string{"RPUSH", "list", "a"})
		if list, err := d.DB.List("list"); err != nil || len(list) != 1 {
			t.Errorf("the list is %q, and the error %v", list, err)
		}
		d.made = maxMade + 1
		d.Clear()
	}
}
