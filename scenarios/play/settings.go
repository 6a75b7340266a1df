package play

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// setting is one of the scenario's keys and its current value.
type setting struct {
	Key   string `json:"key"` // name as in FORMAT.md; for a value in the line of a fault, a name such as faults.1.for
	Value string `json:"value"`
	Given bool   `json:"given"` // whether the text states the value; otherwise, it is the default
	Main  bool   `json:"main"`  // whether this is one of the keys that readers change first
	// words that the key accepts; if Unit is empty, the key accepts nothing else
	Words []string `json:"words"`
	// Unit is "ns" or "1" if the value is a single number, which is then in N. Otherwise, Unit is empty. Least is the
	// smallest valid number.
	Unit  string `json:"unit"`
	N     int64  `json:"n"`
	Least int64  `json:"least"`
	Most  int64  `json:"most"` // largest valid number; 0 if there is no limit
}

// mainKeys lists the keys that users are most likely to change, in the order in which the page shows them.
var mainKeys = []string{"lock.protocol", "clients", "servers.redis", "servers.etcd", "servers.zookeeper",
	"servers.kubernetes", "servers.replicas", "lock.ttl", "lock.drift-allowance", "work.hold", "resource.fencing",
	"servers.persistence.append-fsync", "network.delay"}

// settings returns the keys that the scenario's lock accepts: first the main keys, then the values in fault lines, then
// all other keys.
func (o *opened) settings() []setting {
	var first, rest []setting
	for _, v := range o.variables() {
		s := o.setting(v)
		if s.Main = slices.Contains(mainKeys, v.Path); s.Main {
			first = append(first, s)
		} else {
			rest = append(rest, s)
		}
	}
	slices.SortStableFunc(first, func(a, b setting) int {
		return slices.Index(mainKeys, a.Key) - slices.Index(mainKeys, b.Key)
	})
	return slices.Concat(first, o.faultSettings(), rest)
}

func (o *opened) setting(v *scenarios.Variable) setting {
	s := setting{Key: v.Path, Words: v.Form.Words, Least: v.Form.Least, Most: v.Form.Most}
	s.Value, s.Given = o.doc.Get(v.Path)
	client := &o.scenario.Clients[0]
	if s.Value == "" && v.Value != nil {
		s.Value = v.Form.Text(v.Value(o.scenario, client))
	}
	switch v.Path { // the format reads these keys separately
	case "lock.protocol":
		s.Words = protocolsLike(o.doc)
	case "clients":
		s.Value, s.Least = fmt.Sprint(len(o.scenario.Clients)), 1
	}
	n, single := v.Number(o.scenario, client)
	switch {
	case !single:
	case v.Kind == format.Duration, v.Kind == format.Delay:
		s.Unit, s.N = "ns", n
	case v.Kind == format.Count:
		s.Unit, s.N = "1", n
	}
	return s
}

// faultSettings returns the durations and sizes in the scenario's fault lines as settings.
func (o *opened) faultSettings() (all []setting) {
	for i, f := range o.scenario.Faults {
		for _, of := range []struct {
			name  string
			field nemesis.Field
			n     int64
		}{{"for", nemesis.FieldFor, int64(f.For)}, {"restart", nemesis.FieldRestart, int64(f.Restart)},
			{"by", nemesis.FieldBy, int64(f.By)}} {
			if f.Kind.Has(of.field) && of.n > 0 {
				all = append(all, setting{Key: fmt.Sprintf("faults.%d.%s", i+1, of.name), Given: true, Main: true,
					Value: format.DurationText(of.n), Unit: "ns", N: of.n})
			}
		}
	}
	return all
}

// setInFault changes a value in one of the scenario's fault lines.
func (o *opened) setInFault(key, value string) error {
	subject, err := sweep.NewSubject(o.scenario)
	if err != nil {
		return err
	}
	if err := subject.Set(key + "=" + value); err != nil {
		return err
	}
	lines, err := subject.Faults()
	if err != nil {
		return err
	}
	return o.setFaults(lines)
}

// protocolsLike returns the protocols that use the scenario's kind of servers.
func protocolsLike(doc *format.Document) (all []string) {
	servers := doc.Keys("servers")
	for _, d := range locks.Definitions() {
		if slices.Contains(servers, string(d.Backend)) {
			all = append(all, string(d.Name))
		}
	}
	return all
}

// variables returns the keys that the scenario's lock accepts: those with which the scenario is still valid when they
// are set explicitly to their current values. It omits keys in mappings that are missing from the text, because setting
// such a key would add other settings too. The result is cached for each kind of lock.
func (o *opened) variables() []*scenarios.Variable {
	protocol, _ := o.doc.Get("lock.protocol")
	name := fmt.Sprint(protocol, o.doc.Keys("servers"), o.doc.Keys("lock"))
	if known, ok := o.player.taken.Load(name); ok {
		return known.([]*scenarios.Variable)
	}
	all, _ := scenarios.Variables()
	var mine []*scenarios.Variable
	absent := "" // the latest mapping that is missing from the text
	for i := range all {
		v := &all[i]
		if absent != "" && strings.HasPrefix(v.Path, absent+".") {
			continue
		}
		if v.Kind == format.Mapping {
			if len(o.doc.Keys(v.Path)) > 0 {
				continue
			}
			absent = v.Path
		}
		if o.takes(v) {
			mine = append(mine, v)
		}
	}
	o.player.taken.Store(name, mine)
	return mine
}

func (o *opened) takes(v *scenarios.Variable) bool {
	if _, given := o.doc.Get(v.Path); given || v.Path == "clients" {
		return true
	}
	if v.Value == nil {
		return false
	}
	doc := o.doc.Clone()
	doc.Set(v.Path, v.Form.Text(v.Value(o.scenario, &o.scenario.Clients[0])))
	_, err := scenarios.Parse(fileName, []byte(doc.String()))
	return err == nil
}
