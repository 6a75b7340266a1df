package scenarios

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/nemesis"
)

// TestALibrarysLockNeedsItsCode checks that a scenario file alone cannot use the protocol "library". If the library's
// code is given, runs use it, and so do runs of modified versions of the scenario.
func TestALibrarysLockNeedsItsCode(t *testing.T) {
	const text = "name: library\nservers: {redis: 1}\nlock: {protocol: library, ttl: 8s}\n"
	_, err := Parse("a.yaml", []byte(text))
	const refused = `a.yaml:3:18: expected one of setnx, setnx-expire, set-nx-px, fenced, hash-counter, redlock, ` +
		`etcd, zookeeper, lease-object, consul, permit-list, semaphore, read-write, fair, found "library"`
	if err == nil || err.Error() != refused {
		t.Errorf("without code: %v", err)
	}
	var ran []string
	code := func(name string) *Code {
		return &Code{Elsewhere: func(s *Scenario, _ nemesis.Plan, _ Wanted) (Result, error) {
			ran = append(ran, name+" "+s.Name)
			return Result{}, nil
		}}
	}
	shared := strings.Replace(text, "8s", "8s, shared: on", 1)
	_, err = ParseWith("a.yaml", []byte(shared), code("first"))
	if err == nil || !strings.Contains(err.Error(), "remove `shared`: a lock in Go reports which of its") {
		t.Errorf("a key of locks of other protocols: %v", err)
	}
	s, err := ParseWith("a.yaml", []byte(text), code("first"))
	if err != nil {
		t.Fatal(err)
	}
	form, err := s.Parse("b.yaml", []byte(strings.Replace(text, "name: library", "name: other", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []*Scenario{s, form, form.With(code("second")), form} {
		if _, err := NewRunner(of).Run(of.Plan(1)); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(ran, ", "); got != "first library, first other, second other, first other" {
		t.Error(got)
	}
}
