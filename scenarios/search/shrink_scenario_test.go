package search

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

func documentOf(t *testing.T, text string) *format.Document {
	t.Helper()
	d, err := format.ParseDocument("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestClientsAreTakenOut checks that if the second and third of four clients are removed, the others keep their
// settings under their new names.
func TestClientsAreTakenOut(t *testing.T) {
	d := documentOf(t, `name: x
servers: {redis: 2}
network:
  links: {client-4 -> redis-1: 4ms, client-1 | resource: 1ms, redis-2 -> client-3: 3ms}
clients: 4
lock: {protocol: redlock}
overrides:
  client-4: {work: {cycles: 4}}
  client-3: {work: {cycles: 3}}
  client-1: {work: {cycles: 1}}
`)
	p := planOf(t, 5,
		"pause client-4 for 1s after acquired by client-1",
		"pause client-1 for 1s after acquired by client-3",
		"pause client-3 for 1s at 0s",
		"cut client-1 client-2 client-4 | redis-1 at 0s",
		"cut client-2 -> redis-1 at 0s",
		"crash redis-2 losing everything after acquired by client-2",
		"break client-2 | redis-1 before reply 1",
		"delay message 3 of redis-1 -> client-4 by 4s",
	)
	before := p.String()
	e := withoutClients(d, p, 4, 1, 2)
	const want = `name: x
servers: {redis: 2}
network: {links: {client-2 -> redis-1: 4ms, client-1 | resource: 1ms}}
clients: 2
lock: {protocol: redlock}
overrides:
  client-2: {work: {cycles: 4}}
  client-1: {work: {cycles: 1}}
`
	if got := e.doc.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const faults = `scenario test
seed 5
pause client-2 for 1s after acquired by client-1
pause client-1 for 1s after acquired by client-1
cut client-1 client-2 | redis-1 at 0s
crash redis-2 losing everything after acquired by client-1
delay message 3 of redis-1 -> client-2 by 4s
`
	if got := e.plan.String(); got != faults {
		t.Errorf("got\n%s\nwant\n%s", got, faults)
	}
	if p.String() != before || !strings.Contains(d.String(), "clients: 4") {
		t.Errorf("the original has changed:\n%s%s", p, d)
	}
}

// TestEditsOfAScenario checks all edits of a scenario with three clients. Each edited scenario must be valid, and many
// of them must be smaller than the original. The edits must include the listed changes.
func TestEditsOfAScenario(t *testing.T) {
	sh := &shrinker{original: &scenarios.Scenario{}, subjects: map[string]*subject{}}
	const text = `name: x
servers: {redis: 1}
clients: 3
lock: {protocol: fenced}
work: {cycles: 5, writes: 2, locks: [a, b]}
overrides:
  client-3: {work: {cycles: 2, locks: [b, a]}}
`
	s, err := sh.subject(documentOf(t, text))
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	smaller := 0
	for _, e := range edits(s, nemesis.Plan{}) {
		tried[e.doc.String()] = true
		to, err := sh.subject(e.doc)
		if err != nil {
			t.Errorf("%v\n%s", err, e.doc)
			continue
		}
		if compareSizes(to, s) < 0 {
			smaller++
		}
	}
	if smaller < 12 {
		t.Errorf("%d of %d edits make the scenario smaller", smaller, len(tried))
	}
	alone := "  client-3: {work: {cycles: 2, locks: [b, a]}}\n"
	for _, change := range [][]string{
		{"clients: 3", "clients: 2", "client-3:", "client-2:"},
		{"clients: 3", "clients: 2", "overrides:\n" + alone, ""},
		{"clients: 3", "clients: 1", "client-3:", "client-1:"},
		{"cycles: 5", "cycles: 1"}, {"cycles: 5", "cycles: 2"}, {"cycles: 5", "cycles: 4"}, {"cycles: 5, ", ""},
		{"writes: 2, ", ""}, {"writes: 2", "writes: 0"}, {"writes: 2", "writes: 1"}, {"cycles: 2", "cycles: 1"},
		{"cycles: 2, ", ""},
		{"[a, b]", "[a]"}, {"[a, b]", "[b]"}, {"[b, a]", "[a]"}, {"[a, b]", "[b]", "[b, a]", "[b]"},
		{"[a, b]", "[a]", "[b, a]", "[a]"},
	} {
		if want := strings.NewReplacer(change...).Replace(text); !tried[want] {
			t.Errorf("not tried: %v\n%s", change, want)
		}
	}
}
