package tracking

import (
	"fmt"
	"testing"
)

// TestWhoBroadcastsHearsOfLaterChanges: not of those from before it asked, whoever had read the key.
func TestWhoBroadcastsHearsOfLaterChanges(t *testing.T) {
	var table Table
	table.On(1, Options{})
	table.Remember(1, []string{"a"})
	table.Off(1)
	if tell := table.Changed("a", 1, false); len(tell) > 0 {
		t.Errorf("%v are told although nobody tracks", tell)
	}
	table.On(1, Options{Broadcast: true, Prefixes: []string{"a"}})
	if list := table.Broadcasts(); len(list) > 0 {
		t.Errorf("%v of a change from before", list)
	}
	table.Changed("ab", 2, false)
	if got, want := fmt.Sprint(table.Broadcasts()), "[{1 [ab]}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
