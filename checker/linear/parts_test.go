package linear

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// crowd returns a random history of six clients' sections. A client asks for the lock, enters once the lock is free,
// and later begins to leave. Its leave may return, or the return may be missing. If broken is set, a client sometimes
// enters although the lock is not free.
func crowd(r *rand.Rand, sections int, broken bool) []MutexOp {
	type client struct {
		enter, leave MutexOp
		doing        int // 0: nothing, 1: asking for the lock, 2: in its section, 3: leaving it
	}
	clients := make([]client, 6)
	var ops []MutexOp
	where := map[int]int{} // index in ops of the leave of each section
	for now := int64(0); len(where) < sections; now++ {
		c := &clients[r.IntN(len(clients))]
		inside, alone := 0, false
		for _, o := range clients {
			if o.doing == 2 {
				inside, alone = inside+1, alone || !o.enter.Shared
			}
		}
		switch c.doing {
		case 0:
			c.doing, c.enter = 1, MutexOp{Enter: true, Shared: r.IntN(3) == 0, Call: now}
		case 1:
			free := inside == 0 || c.enter.Shared && !alone
			if !free && !(broken && r.IntN(4*sections) == 0) {
				continue
			}
			c.doing, c.enter.Return, c.enter.Section = 2, now, len(where)
			c.leave = MutexOp{Section: len(where), Shared: c.enter.Shared, Return: Forever}
			where[len(where)] = len(ops) + 1
			ops = append(ops, c.enter, c.leave)
		case 2:
			if c.doing, ops[where[c.enter.Section]].Call = 3, now; r.IntN(9) == 0 {
				c.doing = 0 // the return is missing from the history
			}
		case 3:
			c.doing, ops[where[c.enter.Section]].Return = 0, now
		}
	}
	// leave out the exits of sections that are still open
	return slices.DeleteFunc(ops, func(op MutexOp) bool { return !op.Enter && op.Call == 0 })
}

// TestPartsAnswerAsTheWhole checks histories of up to forty sections, first as a whole and then in parts of many sizes.
// The answers must agree.
func TestPartsAnswerAsTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 19))
	seen, divided := map[Answer]int{}, 0
	for round := range testkit.Size(250, 1000, 3000) {
		ops := crowd(r, 1+round%40, round%2 == 0)
		want := whole(ops)
		if want == Unknown {
			continue
		}
		seen[want]++
		for _, least := range []int{1, 2, 5, 30} {
			p := Parts{Least: least, Most: len(ops), Steps: 1 << 24}
			if asked, part := p.first(ops); part < len(ops) {
				divided++
			} else if asked != part {
				t.Fatalf("round %d: %d of %d are asked about", round, asked, part)
			}
			got, refuted := p.Mutex(ops)
			if got != want || (refuted != nil) != (want == Refuted) || refuted != nil && whole(refuted) != Refuted {
				t.Fatalf("round %d: %v, in parts of %d: %v by %v\n%v", round, want, least, got, refuted, ops)
			}
			p = Parts{Least: least, Most: 1 + round%3, Steps: 1 << 24}
			if got, _ = p.Mutex(ops); got != want && got != TooMany {
				t.Fatalf("round %d: %v, in pieces of %d: %v\n%v", round, want, p.Most, got, ops)
			}
			seen[got]++
		}
	}
	least := testkit.Size(75, 300, 1000)
	if seen[Linearizable] < least || seen[Refuted] < least || seen[TooMany] < least || divided < 3*least {
		t.Errorf("%v, %d fell into parts", seen, divided)
	}
}

// TestManyWhoWaitAreTooManyAtOnceOnly has a hundred clients waiting throughout. Any of them may be the next to enter.
// If porcupine judges the whole history at once, there are too many possible orders. If it judges the history in parts,
// it can decide, because each part contains only the clients that enter in it.
func TestManyWhoWaitAreTooManyAtOnceOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	called := make([]int64, 100)
	var ops []MutexOp
	for s := range 2000 {
		now, c := int64(100+4*s), r.IntN(len(called))
		ops = append(ops, enter(s, called[c], now), leave(s, now+1, now+2))
		called[c] = now + 3
	}
	if got := whole(ops); got != Unknown {
		t.Errorf("at once: %v", got)
	}
	var p Parts
	p.Renew(1)
	if got, _ := p.Mutex(ops); got != Linearizable {
		t.Errorf("in parts: %v", got)
	}
}

// TestPartsShareTheirSteps checks that porcupine is not called again once the steps are used up, but that an earlier
// refutation still counts.
func TestPartsShareTheirSteps(t *testing.T) {
	var ops []MutexOp
	for i := range 10 {
		at := int64(10 * i)
		ops = append(ops, enter(i, at, at+1), leave(i, at+2, at+3))
	}
	broken := append(slices.Clone(ops), enter(10, 100, 101), enter(11, 102, 103))
	for _, c := range []struct {
		ops   []MutexOp
		steps int
		want  Answer
	}{
		{ops, 20, Linearizable}, {ops, 19, Unknown}, {ops, 0, Unknown}, {broken, 22, Refuted}, {broken, 20, Unknown},
	} {
		p := Parts{Least: 1, Most: 5, Steps: c.steps}
		if got, _ := p.Mutex(c.ops); got != c.want || p.Steps != max(0, c.steps-len(c.ops)) {
			t.Errorf("%d steps for %d operations: %v, %d left", c.steps, len(c.ops), got, p.Steps)
		}
	}
}
