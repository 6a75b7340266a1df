package sweep

import (
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/setting"
)

// reading takes a key's number out of a scenario, for one of its clients; false if there is no one number: the key is
// not in use, or stands for a range.
type reading func(s *scenarios.Scenario, c *scenarios.Client) (int64, bool)

// Key is something in a scenario that can be given another value.
type Key struct {
	Path    string // as in FORMAT.md; of an override, a link or a fault with its name or number
	Unit    Unit
	percent bool    // a rate that files write in percent
	read    reading // nil for words, links and faults
	client  string  // whose override it is
	fault   int     // number of the fault, from 1; 0: none
	field   *faultField
}

// ofServers and ofClients are the keys of FORMAT.md that change a run, in its order, but for those that hold mappings,
// lists and names. Those of clients may also stand under overrides; startOfClient stands there alone.
var ofServers, ofClients, startOfClient = variableKeys()

func variableKeys() (servers, clients []Key, start Key) {
	all, own := scenarios.Variables()
	for _, v := range all {
		if v.Own {
			clients = append(clients, keyOf(v))
		} else {
			servers = append(servers, keyOf(v))
		}
	}
	return servers, clients, keyOf(own[0])
}

// keyOf is the key of a sweep that a key of the format makes.
func keyOf(v scenarios.Variable) Key {
	k := Key{Path: v.Path, read: reading(v.Number)}
	switch v.Kind {
	case setting.Duration, setting.Delay:
		k.Unit = Durations
	case setting.Count:
		k.Unit = Counts
	case setting.Allowance:
		k.Unit, k.percent = Rates, true
	default:
		k.Unit, k.read = Words, nil
	}
	return k
}
