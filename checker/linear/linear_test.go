package linear

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// enter and leave return an operation on section s that takes effect between two positions.
func enter(s int, call, ret int64) MutexOp {
	return MutexOp{Section: s, Client: s, Enter: true, Call: call, Return: ret}
}
func leave(s int, call, ret int64) MutexOp {
	return MutexOp{Section: s, Client: s, Call: call, Return: ret}
}

// whole checks all operations with a single call to porcupine.
func whole(ops []MutexOp) Answer {
	p := Parts{Least: len(ops), Most: len(ops), Steps: maxSteps}
	answer, _ := p.Mutex(ops)
	return answer
}
func shared(op MutexOp) MutexOp { op.Shared = true; return op }

func (a Answer) String() string {
	return [...]string{"unknown", "too many", "linearizable", "refuted"}[a]
}

func TestAMutexAdmitsOneSectionAtATime(t *testing.T) {
	for _, c := range []struct {
		why  string
		ops  []MutexOp
		want Answer
	}{
		{"nothing happened", nil, Linearizable},
		{"one after the other", []MutexOp{enter(0, 0, 1), leave(0, 2, 3), enter(1, 4, 5), leave(1, 6, 7)},
			Linearizable},
		{"the second enters while the first is inside",
			[]MutexOp{enter(0, 0, 1), enter(1, 2, 3), leave(0, 4, 5), leave(1, 6, 7)}, Refuted},
		{"the second was granted while the first's release was under way",
			[]MutexOp{enter(0, 0, 1), leave(0, 2, 9), enter(1, 3, 4)}, Linearizable},
		{"the first never leaves", []MutexOp{enter(0, 0, 1), enter(1, 2, 3)}, Refuted},
		{"the release never returns", []MutexOp{enter(0, 0, 1), leave(0, 2, Forever), enter(1, 3, 4)}, Linearizable},
		{"readers share", []MutexOp{shared(enter(0, 0, 2)), shared(enter(1, 1, 3)), shared(leave(0, 4, 5)),
			shared(leave(1, 6, 7))}, Linearizable},
		{"a writer among readers", []MutexOp{shared(enter(0, 0, 2)), shared(enter(1, 1, 3)), shared(leave(0, 4, 5)),
			enter(2, 6, 7)}, Refuted},
		{"a reader leaves who has not entered", []MutexOp{shared(leave(0, 0, 1))}, Refuted},
		{"a reader beside a writer", []MutexOp{enter(0, 0, 1), shared(enter(1, 2, 3))}, Refuted},
	} {
		if got := whole(c.ops); got != c.want {
			t.Errorf("%s: got %v, want %v", c.why, got, c.want)
		}
		if got := MutexEvidence(c.ops, 1).Answer; got != c.want {
			t.Errorf("%s: evidence says %v, want %v", c.why, got, c.want)
		}
	}
}

// sectionsByForce reports whether the remaining operations have an order that is consistent with time and with the
// definition of a lock. Sections may be open at the same time only if their number does not exceed the permits or, if
// there is one permit, if all of them share the lock.
func sectionsByForce(inside, left []MutexOp, permits int) bool {
	optional := func(op MutexOp) bool { return op.Return == Forever }
	if !slices.ContainsFunc(left, func(op MutexOp) bool { return !optional(op) }) {
		return true
	}
	for i, op := range left {
		if slices.ContainsFunc(left, func(o MutexOp) bool { return o.Return < op.Call }) {
			continue
		}
		is := func(o MutexOp) bool { return o.Section == op.Section }
		after := append(slices.Clone(inside), op)
		if !op.Enter {
			if !slices.ContainsFunc(inside, is) {
				continue
			}
			after = slices.DeleteFunc(after, is)
		}
		exclusive := slices.ContainsFunc(after, func(o MutexOp) bool { return !o.Shared || permits > 1 })
		if exclusive && len(after) > permits {
			continue
		}
		if sectionsByForce(after, slices.Delete(slices.Clone(left), i, i+1), permits) {
			return true
		}
	}
	return false
}

// TestALockAgreesWithItsDefinition checks that porcupine and a search through all orders agree on random sections. Some
// of the sections are shared, and some may have ended before their enter operation returned.
func TestALockAgreesWithItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	seen := map[Answer]int{}
	for range testkit.Size(5_000, 20_000, 400_000) {
		sections, permits := 2+r.IntN(3), 1+r.IntN(2)
		at := r.Perm(4 * sections)
		var ops []MutexOp
		for s := range sections {
			times := at[4*s:][:4]
			slices.Sort(times)
			in, out := enter(s, int64(times[0]), int64(times[1])), leave(s, int64(times[2]), int64(times[3]))
			if r.IntN(3) == 0 { // the client crashed, perhaps before enter returned
				in.Return, out = int64(times[3]), leave(s, int64(times[1+r.IntN(2)]), Forever)
			}
			if r.IntN(2) == 0 {
				in, out = shared(in), shared(out)
			}
			ops = append(ops, in, out)
		}
		p := Parts{Least: len(ops), Most: len(ops), Steps: maxSteps, Permits: permits}
		got, _ := p.Mutex(ops)
		want := Refuted
		if sectionsByForce(nil, ops, permits) {
			want = Linearizable
		}
		if got != want {
			t.Fatalf("%d permits: porcupine says %v, the definition %v: %+v", permits, got, want, ops)
		}
		seen[got]++
	}
	if seen[Linearizable] < 1000 || seen[Refuted] < 1000 {
		t.Errorf("the answers are one-sided: %v", seen)
	}
}

func update(read, written string, call, ret int64) Update {
	return Update{Read: read, Written: written, Call: call, Return: ret}
}
func optional(u Update) Update { u.Optional, u.Return = true, Forever; return u }
func blind(u Update) Update    { u.Blind = true; return u }

func TestARegisterLosesNoUpdate(t *testing.T) {
	for _, c := range []struct {
		why  string
		ops  []Update
		want Answer
	}{
		{"a chain", []Update{update("", "a", 0, 1), update("a", "b", 2, 3)}, Linearizable},
		{"a chain that runs against time", []Update{update("", "a", 2, 3), update("a", "b", 0, 1)}, Refuted},
		{"both built on the same value", []Update{update("", "a", 0, 4), update("", "b", 1, 3)}, Refuted},
		{"one of the two may not have happened", []Update{update("", "a", 0, 4), optional(update("", "b", 1, 0))},
			Linearizable},
		{"an update of unknown outcome is seen", []Update{optional(update("", "a", 0, 0)), update("a", "b", 5, 6)},
			Linearizable},
		{"an update cannot be seen before it was asked for",
			[]Update{update("a", "b", 0, 1), optional(update("", "a", 2, 0))}, Refuted},
		{"a blind write explains any value", []Update{blind(update("", "x", 0, 1)), update("x", "y", 2, 3)},
			Linearizable},
		{"a blind write is not undone", []Update{blind(update("", "x", 0, 1)), update("", "y", 2, 3)}, Refuted},
		{"a blind write of unknown outcome may be skipped",
			[]Update{optional(blind(update("", "x", 0, 0))), update("", "y", 2, 3)}, Linearizable},
	} {
		if got := Register("", c.ops); got != c.want {
			t.Errorf("%s: got %v, want %v", c.why, got, c.want)
		}
		if got := RegisterEvidence("", c.ops).Answer; got != c.want {
			t.Errorf("%s: evidence says %v, want %v", c.why, got, c.want)
		}
	}
}

// updatesByForce implements the definition directly. It reports whether the updates can be put into an order that is
// consistent with real time and explains what was read. The order must contain every update that is not optional. It
// may contain any of the optional ones.
func updatesByForce(value string, left []Update) bool {
	done := true
	for i, u := range left {
		done = done && u.Optional
		first := true // no other update returned before u was called
		for _, o := range left {
			first = first && (o.Return >= u.Call || o.Optional)
		}
		if !first || !u.Blind && value != u.Read {
			continue
		}
		rest := append(append([]Update(nil), left[:i]...), left[i+1:]...)
		if updatesByForce(u.Written, rest) {
			return true
		}
	}
	return done
}

// TestRegisterAgreesWithItsDefinition checks every combination of three updates and two values, with five ways in which
// the updates can overlap in time.
func TestRegisterAgreesWithItsDefinition(t *testing.T) {
	values := []string{"", "a"}
	spans := [][3][2]int64{{{0, 1}, {2, 3}, {4, 5}}, {{0, 3}, {1, 2}, {4, 5}}, {{0, 5}, {1, 2}, {3, 4}},
		{{0, 3}, {1, 4}, {2, 5}}, {{0, 2}, {1, 4}, {3, 5}}}
	var kinds []Update
	for _, read := range values {
		for _, written := range values {
			kinds = append(kinds, Update{Read: read, Written: written},
				Update{Read: read, Written: written, Optional: true})
		}
	}
	kinds = append(kinds, Update{Blind: true, Written: "a"}, Update{Blind: true, Optional: true, Written: "a"})
	tried, refuted := 0, 0
	for _, span := range spans {
		for i := range len(kinds) * len(kinds) * len(kinds) {
			ops := []Update{kinds[i%len(kinds)], kinds[i/len(kinds)%len(kinds)], kinds[i/len(kinds)/len(kinds)]}
			for j := range ops {
				ops[j].Call, ops[j].Return = span[j][0], span[j][1]
				if ops[j].Optional {
					ops[j].Return = Forever
				}
			}
			want := Refuted
			if updatesByForce("", ops) {
				want = Linearizable
			} else {
				refuted++
			}
			if got := Register("", ops); got != want {
				t.Fatalf("%+v: got %v, want %v", ops, got, want)
			}
			tried++
		}
	}
	if tried != 5000 || refuted == 0 || refuted == tried {
		t.Errorf("tried %d, refuted %d", tried, refuted)
	}
}

// TestABudgetEndsInUnknown checks that the answer is Unknown if there are too many orders to try. Forty overlapping
// readers and a writer that cannot enter have 2^40 possible orders.
func TestABudgetEndsInUnknown(t *testing.T) {
	ops := []MutexOp{enter(100, 0, 1)}
	for i := range 40 {
		ops = append(ops, shared(enter(i, int64(10+i), int64(60+i))), shared(leave(i, int64(110+i), int64(160+i))))
	}
	ops = append(ops, leave(100, 2, 3), enter(101, 104, 105))
	if got := whole(ops); got != Unknown {
		t.Errorf("got %v, want unknown", got)
	}
}

func TestEvidenceIsDrawnTheSameEachTime(t *testing.T) {
	ops := []MutexOp{shared(enter(0, 0, 4)), shared(enter(1, 1, 5)), shared(enter(2, 2, 6)), enter(3, 3, 7),
		leave(3, 8, 9), shared(leave(0, 10, 11))}
	ops[3].Name = "client-4/1"
	var first bytes.Buffer
	if err := MutexEvidence(ops, 1).WriteHTML(&first); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"enter client-4/1", "held by client-4/1", "shared by section 0, section 1",
		"enter shared section 1"} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for range 20 {
		var again bytes.Buffer
		if err := MutexEvidence(ops, 1).WriteHTML(&again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), again.Bytes()) {
			t.Fatal("two pages of one check differ")
		}
	}
}

func BenchmarkMutex(b *testing.B) {
	var ops []MutexOp
	for i := range 15 {
		at := int64(10 * i)
		ops = append(ops, enter(i, max(0, at-8), at+1), leave(i, at+2, at+5))
	}
	b.ReportAllocs()
	for b.Loop() {
		if whole(ops) != Linearizable {
			b.Fatal("refuted")
		}
	}
}
