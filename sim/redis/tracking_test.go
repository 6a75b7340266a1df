package redis

import (
	"fmt"
	"testing"
)

// TestBroadcastSubscribersLearnOfLaterChanges checks that a client in broadcasting mode is not notified of changes that
// happened before it chose that mode, even if it had read the changed key.
func TestBroadcastSubscribersLearnOfLaterChanges(t *testing.T) {
	var table table
	table.enable(1, options{})
	table.remember(1, []string{"a"})
	table.disable(1)
	if notify := table.dataChanged("a", 1, false); len(notify) > 0 {
		t.Errorf("%v are notified although nobody tracks", notify)
	}
	table.enable(1, options{Broadcast: true, Prefixes: []string{"a"}})
	if list := table.broadcasting(); len(list) > 0 {
		t.Errorf("%v of a change from before", list)
	}
	table.dataChanged("ab", 2, false)
	if got, want := fmt.Sprint(table.broadcasting()), "[{1 [ab]}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestWhatIsRemembered checks, for each combination of options, whether the server remembers the keys that a client
// reads. CLIENT CACHING matters only with OPTIN or OPTOUT.
func TestWhatIsRemembered(t *testing.T) {
	for _, test := range []struct {
		o       options
		caching bool
		want    bool
	}{
		{options{}, false, true}, {options{}, true, true},
		{options{OptIn: true}, false, false}, {options{OptIn: true}, true, true},
		{options{OptOut: true}, false, true}, {options{OptOut: true}, true, false},
		{options{Broadcast: true}, false, false}, {options{Broadcast: true}, true, false},
	} {
		c := &trackedClient{options: test.o, Caching: test.caching}
		if c.remembers() != test.want {
			t.Errorf("%+v, caching %v: %v", test.o, test.caching, !test.want)
		}
	}
}
