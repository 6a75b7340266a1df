package corpus_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// knownDefects lists reports of defects in real lock libraries.
var knownDefects = []string{
	"go-redsync 38", "go-redsync 71, 72", "go-redsync 186", "redis-semaphore 175", "go-zero 1338", "node-redlock 296",
	"redlock-rb 36",
	"redis-py 1031", "py-sherlock 66", "ShedLock 132", "laravel 26213", "laravel 31166", "redisson 84", "redisson 2669",
	"redisson 3004",
	"Redisson RedLock", "Redisson fenced lock", "etcd 11456", "etcd 22082", "curator 1121", "zk-ruby 34", "valkey 2651",
	"redis 416",
}

func TestEveryKnownDefectHasItsMutant(t *testing.T) {
	for _, defect := range knownDefects {
		if !slices.ContainsFunc(corpus.Mutants(),
			func(m corpus.Mutant) bool { return strings.Contains(m.Source, defect) }) {
			t.Errorf("no mutant shows %s", defect)
		}
	}
}

// wrongSettings lists settings that make a sound lock unsound. A mutant with a different protocol may also have to
// remove settings that the protocol does not accept.
var wrongSettings = []string{
	"lock.protocol=setnx", "lock.protocol=setnx-expire", "lock.release=del", "lock.release=get-then-del",
	"lock.release=nothing",
	"lock.reentrant=uncounted",
	"lock.reentrant=overwrite", "lock.expiry=absolute", "lock.read-token=later", "lock.extension.mode=unchecked",
	"lock.extension.mode=any-answer", "lock.extension.mode=ignore-elapsed", "lock.extension.mode=or-acquire",
	"lock.extension.mode=expire", "lock.extension.mode=release", "lock.extension.mode=reacquire",
	"lock.extension.limit=none",
	"lock.wait=none", "lock.wait.obey=off", "lock.wait.replicas=1", "lock.wait.same-connection=off", "lock.quorum=1",
	"lock.elapsed-check=off", "lock.drift-allowance=off", "lock.clock=wall", "lock.release-on-failure=off",
	"lock.value=per-acquire", "lock.value=per-client", "lock.value=fixed",
	"lock.timeout=6s", "lock.recheck=off", "lock.count-from=receipt", "lock.compare-revision=off",
	"lock.token=parent-node",
	"lock.barging=on", "lock.places=fixed",
	"lock.names=bare", "lock.check-session=off", "lock.listener=off", "work.check-validity=off",
	"work.stop-when-lost=off",
	"resource.fencing=off", "servers.persistence=none", "servers.persistence.append-fsync=everysec",
	"servers.persistence.append-fsync=no", "servers.semi-sync=off", "servers.semi-sync-timeout=20ms",
}

func TestEveryWrongSettingHasItsMutant(t *testing.T) {
	for _, setting := range wrongSettings {
		protocol := strings.HasPrefix(setting, "lock.protocol=")
		if !slices.ContainsFunc(corpus.Mutants(), func(m corpus.Mutant) bool {
			return (len(m.Edits) == 1 || protocol) && m.Edits[0].String() == setting
		}) {
			t.Errorf("no mutant has %s alone", setting)
		}
	}
}

// A mutant has the same faults and promises as its lock. It differs only in its edits.
func TestAMutantKeepsTheMixAndThePromisesOfItsLock(t *testing.T) {
	names := map[string]bool{}
	for _, m := range corpus.Mutants() {
		s, err := m.Scenario()
		if err != nil {
			t.Error(err)
			continue
		}
		of := lock(t, m.Of)
		admits := 0
		for _, e := range m.Edits {
			if e.Admit != "" {
				admits++
			}
		}
		if !reflect.DeepEqual(s.Promise, of.Promise) || len(s.Mix.Without) != len(of.Mix.Without)-admits {
			t.Errorf("%s promises %v less %v, its lock %v less %v", m.Name, s.Promise, s.Mix.Without, of.Promise,
				of.Mix.Without)
		}
		s.Mix.Without = of.Mix.Without
		if fmt.Sprint(s.Mix) != fmt.Sprint(of.Mix) {
			t.Errorf("%s has another mix than its lock", m.Name)
		}
		for _, law := range m.Breaks {
			if !slices.Contains(of.Promise.Laws, law) {
				t.Errorf("%s is to break %s, which its lock does not promise", m.Name, law)
			}
		}
		if names[m.Name] || len(m.Edits) == 0 || m.Defect == "" || len(m.Breaks) == 0 || m.Within < 1 ||
			m.Within > 20_000 {
			t.Errorf("%s: %+v", m.Name, m)
		}
		names[m.Name] = true
	}
	order := func(m corpus.Mutant) int { return slices.Index(corpus.Names(), m.Of) }
	if !slices.IsSortedFunc(corpus.Mutants(), func(a, b corpus.Mutant) int { return order(a) - order(b) }) {
		t.Error("the mutants of a lock do not stand together")
	}
	if len(names) < 40 {
		t.Errorf("%d mutants", len(names))
	}
}

func TestEveryLockHasAMutantAndAReason(t *testing.T) {
	for _, name := range corpus.Names() {
		s := lock(t, name)
		if s.Name != name || s.Summary == "" || s.Source == "" || len(s.Clients) < 3 || len(s.Shown) == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if !slices.ContainsFunc(corpus.Mutants(), func(m corpus.Mutant) bool { return m.Of == name }) {
			t.Errorf("%s has no mutant", name)
		}
		in := false // each exclusion is on a separate line, which states the reason
		for _, line := range strings.Split(string(s.Text()), "\n") {
			if strings.HasPrefix(line, "    - ") && !strings.Contains(line, " # ") && in {
				t.Errorf("%s: no reason in %q", name, line)
			}
			in = in && strings.HasPrefix(line, "    ") || line == "  without:"
		}
	}
	if _, err := corpus.Lock("fence"); err == nil || !strings.Contains(err.Error(), "fenced") {
		t.Error(err)
	}
}

func lock(t *testing.T, name string) *scenarios.Scenario {
	t.Helper()
	s, err := corpus.Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMutantsAreCaughtByTheLawsThatTheyBreak(t *testing.T) {
	most := 20_000
	if !testkit.Full() {
		most = 100 // only the mutants that must be caught within 100 seeds are tried
	}
	for _, m := range corpus.Mutants() {
		if m.Within > most {
			continue
		}
		t.Run(m.Of+" "+m.Name, func(t *testing.T) {
			testkit.OneIn(t, 4)
			t.Parallel()
			s, err := m.Scenario()
			if err != nil {
				t.Fatal(err)
			}
			p, err := search.FindFirst(t.Context(), s, 0, m.Within)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", p)
			if !p.Found || !slices.Contains(m.Breaks, p.Law) {
				t.Errorf("%s: %+v; want %v within %d seeds", m.Defect, p, m.Breaks, m.Within)
			}
		})
	}
}

func TestSoundLocksKeepTheirPromisesUnderRandomFaults(t *testing.T) {
	seeds := testkit.Size(2, 10, 150)
	for i, name := range corpus.Names() {
		if i%testkit.Size(3, 1, 1) > 0 {
			continue
		}
		s := lock(t, name)
		e, err := search.NewExploration(s, 0, seeds, search.Whole)
		if err == nil {
			err = e.Run(context.Background(), s, 0, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range e.Findings {
			if s.Promise.Covers(f.Law, f.Cause) {
				t.Errorf("%s promises %s: %s in %d runs, first with seed %d", name, f.Law, f.Cause, f.Runs, f.First)
			}
		}
		for _, tally := range e.Laws {
			if slices.Contains(s.Promise.Laws, tally.Law) && tally.Exercised() < seeds*9/10 {
				t.Errorf("%s: %s was exercised in %d of %d runs", name, tally.Law, tally.Exercised(), seeds)
			}
		}
	}
}

// An edit that does not change anything, or that removes something that does not exist, is an error.
func TestEditsThatChangeNothingAreErrors(t *testing.T) {
	for want, e := range map[string]corpus.Edit{
		"changes nothing":              {Path: "lock.release", Value: "script"},
		"does not exclude this fault":  {Admit: "pause"},
		"expected a fault":             {Admit: "paus"},
		"found \"delete\"":             {Path: "lock.release", Value: "delete"},
		`unknown key "relese" in lock`: {Path: "lock.relese", Value: "del"},
	} {
		m := corpus.Mutant{Name: "x", Of: "set-nx-px", Edits: []corpus.Edit{e}}
		if _, err := m.Scenario(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", e, err, want)
		}
	}
	nothing := corpus.Mutant{Name: "x", Of: "nothing"}
	if _, err := nothing.Scenario(); err == nil {
		t.Error("a mutant of nothing")
	}
}
