package corpus

import (
	"encoding/binary"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// FuzzSoundLocks lets go test -fuzz's coverage-guided engine choose a sound lock, a seed and the faults. Each decision
// that the mix leaves open uses eight bytes of the input, so a small change to the input makes a small change to the
// plan. The engine keeps inputs that reach new code and varies them further.
//
//	go test ./scenarios/corpus -run xxx -fuzz FuzzSoundLocks -fuzztime 10m -fuzzminimizetime 1x
//
// The -fuzzminimizetime 1x flag is necessary. By default, the engine spends up to a minute shortening each input that
// reaches new code, byte by byte, and manages about 47 executions in five minutes. With the flag, it manages 2,857 per
// minute on two cores.
func FuzzSoundLocks(f *testing.F) {
	var locks []*scenarios.Scenario
	for i, name := range Names() {
		s, err := Lock(name)
		if err != nil {
			f.Fatal(err)
		}
		locks = append(locks, s)
		data := make([]byte, 160)
		for j := range data {
			data[j] = byte(31*j + 17*i)
		}
		f.Add(uint8(i), uint64(i), data)
	}
	plans, runners := make([]*search.Plans, len(locks)), make([]*scenarios.Runner, len(locks))
	f.Fuzz(func(t *testing.T, which uint8, seed uint64, data []byte) {
		i := int(which) % len(locks)
		s := locks[i]
		if plans[i] == nil {
			var err error
			if plans[i], err = search.NewPlans(s); err != nil {
				t.Fatal(err)
			}
			runners[i] = scenarios.NewRunner(s)
		}
		plan := plans[i].PlanOf(seed, data)
		result, err := runners[i].Run(plan)
		if err != nil {
			t.Fatalf("%v\n%s", err, plan)
		}
		for _, found := range checker.Check(result.History).Findings {
			if found.Outcome == checker.Violated && s.Promise.Covers(found.Law, found.Cause) {
				t.Errorf("%s by %s: %s\n%s", found.Law, found.Cause, found.Explanation, plan)
			}
		}
	})
}

// TestBytesDrawPlans checks that the bytes from the fuzzing engine affect the plan. Most of the inputs must give
// different plans, and the plans must contain at least eight kinds of faults.
func TestBytesDrawPlans(t *testing.T) {
	s, err := Lock("redlock")
	if err != nil {
		t.Fatal(err)
	}
	plans, err := search.NewPlans(s)
	if err != nil {
		t.Fatal(err)
	}
	different, kinds := map[string]bool{}, map[string]bool{}
	for n := range uint64(500) {
		data := make([]byte, 400)
		for i := 0; i < len(data); i += 8 {
			binary.LittleEndian.PutUint64(data[i:], (n+1)*0x9e3779b97f4a7c15^uint64(i)*0xbf58476d1ce4e5b9)
		}
		plan := plans.PlanOf(1, data)
		different[plan.String()] = true
		for _, f := range plan.Faults {
			kinds[f.Kind.String()] = true
		}
		if err := plan.Validate(s.Targets()); err != nil {
			t.Fatal(err)
		}
	}
	if len(different) < 400 || len(kinds) < 8 {
		t.Errorf("500 inputs drew %d plans of %d kinds", len(different), len(kinds))
	}
}
