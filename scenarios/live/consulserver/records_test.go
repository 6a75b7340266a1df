package consulserver

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/consul"
)

// onlooker stands in for a server's host in record tests.
type onlooker struct {
	sim.Host
	said *[]string
}

func (onlooker) Due(d time.Duration) sim.Time { return history.Of(d) }

func (o onlooker) Record(e history.Event) {
	*o.said = append(*o.said, fmt.Sprint(e.F, " ", e.Lock, " of ", e.Of, " ", e.Why, " ", e.Until))
}

// TestChangesAreRecordedOnce checks that each change of a key's holder is recorded once, no matter how many servers
// report it, how far they lag behind each other, and what else is in their lists.
func TestChangesAreRecordedOnce(t *testing.T) {
	r := newRecords()
	r.created("s1", session{"client-1", 10 * time.Second})
	r.created("s2", session{"client-1", 0})
	r.created("s3", session{"client-2", 0})
	r.created("", session{"client-2", 0}) // the reply was an error
	if got := r.of("client-1"); !slices.Equal(got, []string{"s1", "s2"}) {
		t.Errorf("the client's sessions are %q", got)
	}
	for id, of := range map[string]history.Attempt{"s1": "A", "s2": "B"} {
		r.ask(consul.Purpose{Acquires: true, Key: "l", Session: id}, of)
	}
	r.ask(consul.Purpose{Key: "l", Session: "s1"}, "C") // it releases the key
	pair := func(session string, lock, modified uint64) []consul.Pair {
		return []consul.Pair{{Key: "l", Session: session, LockIndex: lock, ModifyIndex: modified}}
	}
	forever := history.Never.String()
	for i, step := range []struct {
		list  []consul.Pair
		index uint64
		want  []string
	}{
		{nil, 1, nil},
		{pair("s1", 1, 10), 10, []string{"key-set l of A  20.000 s"}},
		{pair("s1", 1, 10), 10, nil},
		{nil, 9, nil}, // a server that lags behind
		{pair("s1", 0, 11), 11, nil},
		{pair("s1", 1, 13), 13, []string{"key-gone l of A not recorded 0.000 s", "key-set l of A  20.000 s"}},
		{pair("s2", 2, 15), 15, []string{"key-gone l of A not recorded 0.000 s", "key-set l of B  " + forever}},
		{pair("", 2, 14), 14, nil},
		{pair("", 2, 16), 16, []string{"key-gone l of B not recorded 0.000 s"}},
		{nil, 17, nil}, // nobody held it
		{pair("s2", 2, 15), 15, nil},
		{pair("s3", 1, 18), 18, []string{"key-set l of   " + forever}}, // its request was not seen
		{nil, 19, []string{"key-gone l of  not recorded 0.000 s"}},
		{nil, 20, nil},
	} {
		var said []string
		if r.take(onlooker{said: &said}, step.list, step.index); !slices.Equal(said, step.want) {
			t.Errorf("step %d: recorded %q, want %q", i, said, step.want)
		}
	}
}
