package sweep

import (
	"fmt"
	"go/constant"
	"go/token"
	"sync"

	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// reading returns a key's numeric value in a scenario, for one of its clients. ok is false if the key is not in use or
// its value is a range or a word.
type reading func(s *scenarios.Scenario, c *scenarios.Client) (int64, bool)

// Key is a scenario setting that a sweep can vary. It is named by its path in the scenario file, such as lock.ttl.
type Key struct {
	Path    string // as in FORMAT.md; for overrides, links and faults, the path contains their name or number
	Unit    Unit
	percent bool    // scenario files give this rate in percent
	read    reading // nil for words, links and faults
	client  string  // the client, if the key is in the client's overrides; otherwise ""
	fault   int     // the fault's number, counted from 1; 0 if the key is not in a fault
	field   *faultField
}

// variableKeys returns the settings that affect runs, in FORMAT.md order, without mappings, lists and names. Those in
// ofClients can be set for all clients or, in the "overrides" mapping, for a single client. startOfClient can be set
// only in that mapping.
var variableKeys = sync.OnceValue(func() (v struct {
	ofServers, ofClients []Key
	startOfClient        Key
}) {
	all, own := scenarios.Variables()
	for _, each := range all {
		if each.Own {
			v.ofClients = append(v.ofClients, keyOf(each))
		} else {
			v.ofServers = append(v.ofServers, keyOf(each))
		}
	}
	v.startOfClient = keyOf(own[0])
	return v
})

// keyOf returns the Key for a variable in the scenario format.
func keyOf(v scenarios.Variable) Key {
	k := Key{Path: v.Path, read: reading(v.Number)}
	switch v.Kind {
	case format.Duration, format.Delay:
		k.Unit = Durations
	case format.Count:
		k.Unit = Counts
	case format.Allowance:
		k.Unit, k.percent = Rates, true
	default:
		k.Unit, k.read = Words, nil
	}
	return k
}

// million is 1,000,000, the number of ppm in 1.
var million = constant.MakeInt64(1_000_000)

// value returns a key's exact value at a point. A rate is returned as a fraction.
func (v *varied) value(k *Key) (constant.Value, error) {
	if l, ok := v.given[k.Path]; ok {
		if l.Unit == Words {
			return constant.MakeString(l.Text), nil
		}
		return k.exact(l.N), nil
	}
	if n, ok := v.read(k); ok {
		return k.exact(n), nil
	}
	return nil, fmt.Errorf("%s is not a single number in this scenario: "+
		"it is not in use, or it is a range or a word", k.Path)
}

// exact converts a number in the key's unit to a value that conditions can use.
func (k *Key) exact(n int64) constant.Value {
	v := constant.MakeInt64(n)
	if k.Unit == Rates {
		return constant.BinaryOp(v, token.QUO, million)
	}
	return v
}

// read returns the numeric value of a key that no axis varies.
func (v *varied) read(k *Key) (int64, bool) {
	switch {
	case k.fault > 0:
		return k.readFault(v.faults)
	case k.client != "":
		for i := range v.scenario.Clients {
			if c := &v.scenario.Clients[i]; string(c.ID) == k.client {
				return k.read(v.scenario, c)
			}
		}
		return 0, false
	case k.read == nil: // the key belongs to a link
		text, _ := v.doc.Get(k.Path)
		n, err := k.parseNumber(text)
		return n, err == nil
	}
	s := v.withoutOverrides()
	if s == nil {
		return 0, false
	}
	return k.read(s, &s.Clients[0])
}
