package shrink

import (
	"reflect"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// measure says how complex a fault looks to a reader. The simpler of two faults has the smaller measure. Measures are
// compared number by number from the left. Since no number is negative, repeated simplification always ends.
type measure [17]int64

func measureOf(f *nemesis.Fault, known *nemesis.Names) measure {
	t := &f.Trigger
	return measure{
		int64(f.Loss), // less loss is simpler, and makes the finding stronger
		int64(len(f.Left) + len(f.Right)),
		flag(f.OneWay), // a cut in only one direction needs more words
		flag(f.For > 0) + flag(f.Restart > 0),
		class(t),
		flag(t.By != "") + flag(t.Message.Of != "") + flag(t.Message.To != "") + flag(t.Message.Attempt > 0),
		int64(t.Pass + t.Message.Nth),
		int64(slices.Index(familiarPoints[:], t.Point) + 1),
		durationRoughness(t.Time),
		durationRoughness(f.By),
		durationRoughness(f.For) + durationRoughness(f.Restart), // a fault uses at most one of these two
		roughness(int64(max(f.PPM, -f.PPM)), 0),
		int64(f.Number),
		numbers(named(f)...),
		int64(slices.Index(known.Locks, f.Lock) + 1),
		flag(t.SaidAt),
		flag(turned(f)),
	}
}

func (m measure) compare(other measure) int { return slices.Compare(m[:], other[:]) }

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// class ranks triggers, the simplest first. The start of the run is the simplest, because the line need not mention it.
// A named point in the protocol, or a message identified by its content, shows why the fault strikes at that moment. A
// time does not.
func class(t *nemesis.Trigger) int64 {
	switch {
	case t.Point != "":
		return 1
	case t.Message.Named():
		return 2
	case t.Time == 0:
		return 0
	}
	return 3
}

// familiarPoints lists the points at which a fault can strike, the best-known points first.
var familiarPoints = [...]sim.Point{
	sim.Acquired, sim.BeforeWrite, sim.AfterRead, sim.BeforeRelease, sim.Released, sim.AcquireStart, sim.BeforeExtend,
	sim.BeforeExpire, sim.BeforeWait, sim.QuorumReached, sim.ValidityChecked, sim.ClockRead, sim.OwnerCompared,
}

// turned reports whether the fault is a two-way cut that names the servers before the clients.
func turned(f *nemesis.Fault) bool {
	return len(f.Left) > 0 && !f.OneWay && !nemesis.IsClient(f.Left[0]) && nemesis.IsClient(f.Right[0])
}

// numbers returns the sum of all numbers in the processes' names.
func numbers(processes ...sim.ProcessID) int64 {
	sum := int64(0)
	for _, p := range processes {
		number := int64(0)
		for _, c := range []byte(p) {
			if c < '0' || c > '9' {
				sum, number = sum+number, 0
				continue
			}
			number = 10*number + int64(c-'0')
		}
		sum += number
	}
	return sum
}

// Simpler returns faults to try instead of f, the simplest first. Each is simpler than f and valid for a run with the
// known processes. The following make a fault simpler, the most important first:
//
//   - it destroys less data: not everything, but only unsynced writes, or nothing (the server is shut down);
//   - it cuts off fewer processes, or cuts both directions; it has no end and no restart;
//   - its trigger is simpler: first the start of the run, then a point, then a message identified by its content, and
//     last a time; a point is simpler if the client that the fault itself names passes it, for the first time, and if
//     it is well known;
//   - times and durations are rounder, from round to rough: 1s, 2s, 5s, 500ms, 20s, 3s, 15s, 1.25s; drifts are rounder
//     and weaker; messages and replies are earlier;
//   - processes have lower numbers, and locks come earlier in the run's list of locks.
//
// f must be valid. Each of the returned faults differs from f in only one respect, so the list is short. To simplify
// further, call Simpler again on a result.
func Simpler(f nemesis.Fault, known nemesis.Names) []nemesis.Fault {
	type candidate struct {
		fault   nemesis.Fault
		measure measure
	}
	var list []*candidate
	own := measureOf(&f, &known)
	for _, v := range variantsOf(f, known) {
		if m := measureOf(&v, &known); m.compare(own) < 0 && nemesis.Validate(v, known) == nil {
			list = append(list, &candidate{v, m})
		}
	}
	slices.SortStableFunc(list, func(a, b *candidate) int { return a.measure.compare(b.measure) })
	var simpler []nemesis.Fault
	for i, c := range list {
		if i == 0 || !reflect.DeepEqual(c.fault, list[i-1].fault) {
			simpler = append(simpler, c.fault)
		}
	}
	return simpler
}

// variantsOf returns faults that differ from f in one respect. They need not be simpler. Some may be invalid, and some
// may be listed twice.
func variantsOf(f nemesis.Fault, known nemesis.Names) []nemesis.Fault {
	v := variants{of: f, known: known}
	f.Plainer(v.add)
	v.moments()
	v.quantities()
	v.processes()
	v.locks()
	return v.list
}

// variants collects faults that differ from a given one in one respect.
type variants struct {
	of    nemesis.Fault
	known nemesis.Names
	list  []nemesis.Fault
}

// add adds a changed copy of the fault. The change must not write into Left or Right, which the copies share.
func (v *variants) add(change func(*nemesis.Fault)) {
	f := v.of
	change(&f)
	v.list = append(v.list, f)
}

// moments adds variants of the fault with other times or triggers.
func (v *variants) moments() {
	t := v.of.Trigger
	if !v.of.Kind.Has(nemesis.FieldTrigger) {
		return
	}
	v.add(func(f *nemesis.Fault) { f.Trigger = nemesis.Trigger{} })
	if t.Time > 0 { // a fault that begins earlier may have to last longer, so that it ends at the same time
		v.add(func(f *nemesis.Fault) {
			f.Trigger = nemesis.Trigger{}
			if f.For > 0 {
				f.For += t.Time
			}
			if f.Restart > 0 {
				f.Restart += t.Time
			}
		})
	}
	for _, point := range familiarPoints {
		v.add(func(f *nemesis.Fault) { f.Trigger = nemesis.Trigger{Point: point, Pass: 1} })
		for _, client := range v.known.Clients {
			v.add(func(f *nemesis.Fault) { f.Trigger = nemesis.Trigger{Point: point, Pass: 1, By: client} })
		}
	}
	for _, pass := range smaller(t.Pass) {
		v.add(func(f *nemesis.Fault) { f.Trigger.Pass = pass })
	}
	if t.Point != "" {
		v.add(func(f *nemesis.Fault) { f.Trigger.SaidAt = false })
		v.add(func(f *nemesis.Fault) { f.Trigger.By = "" })
	}
	if t.Message.Named() {
		v.add(func(f *nemesis.Fault) { f.Trigger.SaidAt = false })
		v.add(func(f *nemesis.Fault) { f.Trigger.Message.Of = "" })
	}
	for _, d := range rounderDurations(t.Time) {
		v.add(func(f *nemesis.Fault) { f.Trigger.Time = d })
	}
}

// quantities adds variants with rounder or smaller numbers.
func (v *variants) quantities() {
	f := &v.of
	for _, d := range rounderDurations(f.By) {
		v.add(func(f *nemesis.Fault) { f.By = d })
	}
	for _, d := range rounderDurations(f.For) {
		v.add(func(f *nemesis.Fault) { f.For = d })
	}
	for _, d := range rounderDurations(f.Restart) {
		v.add(func(f *nemesis.Fault) { f.Restart = d })
	}
	for _, ppm := range weaker(f.PPM) {
		v.add(func(f *nemesis.Fault) { f.PPM = ppm })
	}
	for _, n := range smaller(f.Number) {
		v.add(func(f *nemesis.Fault) { f.Number = n })
	}
	for _, n := range smaller(f.Trigger.Message.Nth) {
		v.add(func(f *nemesis.Fault) { f.Trigger.Message.Nth = n })
	}
}

// processes adds variants that name processes of the same kind with lower numbers.
func (v *variants) processes() {
	for _, p := range named(&v.of) {
		for _, lower := range lowerProcesses(&v.known, p) {
			v.list = append(v.list, v.of.Renamed(func(q sim.ProcessID) sim.ProcessID {
				if q == p {
					return lower
				}
				return q
			}))
		}
	}
}

// locks adds variants that name an earlier lock.
func (v *variants) locks() {
	for _, earlier := range earlierLocks(&v.known, v.of.Lock) {
		v.add(func(f *nemesis.Fault) { f.Lock = earlier })
	}
}

// named returns the processes that the fault names, without duplicates.
func named(f *nemesis.Fault) []sim.ProcessID {
	var list []sim.ProcessID
	for _, p := range append(f.On(), f.Trigger.By, f.Trigger.Message.Of, f.Trigger.Message.To) {
		if p != "" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// lowerProcesses returns the processes of the same kind as p with lower numbers. For redis-3, these are redis-1 and
// redis-2. For redis-1-replica-2, it is redis-1-replica-1.
func lowerProcesses(known *nemesis.Names, p sim.ProcessID) []sim.ProcessID {
	var list []sim.ProcessID
	for _, q := range slices.Concat(known.Clients, known.Servers()) {
		if unnumbered(q) == unnumbered(p) && numbers(q) < numbers(p) {
			list = append(list, q)
		}
	}
	return list
}

// earlierLocks returns the locks that come before the given one in the run's list of locks. If no lock is given, it
// returns none.
func earlierLocks(known *nemesis.Names, lock history.Lock) []history.Lock {
	return known.Locks[:max(slices.Index(known.Locks, lock), 0)]
}

func unnumbered(p sim.ProcessID) string { return strings.TrimRight(string(p), "0123456789") }
