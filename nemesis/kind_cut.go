package nemesis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Cut is the kind of fault that stops messages between two sides until the cut heals.
var Cut = register(definition{
	words:   history.Cut,
	parts:   []part{left, direction, right, trigger, maybeLasting},
	meaning: "bytes wait until the cut heals, in both directions or one; without `for`, until the end of the run",
	check:   checkCut,
	endless: true,

	begin: func(s *striker) { s.eachDirection(s.w.Cut) },
	end:   func(s *striker) { s.eachDirection(s.w.Heal) },

	weight:   6,
	possible: func(t *Targets) bool { return len(t.linked) > 0 },
	draw:     drawCut,

	placement: Placement{Order: 10, At: AtLinks, Beside: func(*Subjects) string {
		return "cuts of several links, or of both directions of a link"
	}},
})

func checkCut(v *validator, f *Fault) {
	ends := f.On()
	for i, p := range ends {
		v.checkRole(p, anyProcess)
		if slices.Contains(ends[:i], p) {
			v.failWord(string(p), string(p)+" is named twice")
		}
	}
	for _, a := range f.Left {
		for _, b := range f.Right {
			if v.known.linked(a, b) {
				return
			}
		}
	}
	v.failWord(string(f.Right[0]), "no process on the left exchanges messages with one on the right: "+
		"there is no link to cut")
}

// drawCut draws a random cut between one process and some or all of the processes it is linked to.
func drawCut(d Dice, f *Fault) {
	process, all := d.Targets().drawLinked(d)
	some := make([]sim.ProcessID, 0, len(all))
	first, n := d.Below(len(all)), 1+d.Below(len(all))
	for i := range all { // n neighbors in the list, from a random position, continuing at the start of the list
		if (i-first+len(all))%len(all) < n {
			some = append(some, all[i])
		}
	}
	f.Left, f.Right = []sim.ProcessID{process}, some
	if f.OneWay = d.Coin(); f.OneWay && d.Coin() {
		f.Left, f.Right = f.Right, f.Left
	}
	f.For = d.OutageOrEver()
}

func (s *striker) eachDirection(f func(from, to sim.ProcessID)) {
	for _, a := range s.Left {
		for _, b := range s.Right {
			f(a, b)
			if !s.OneWay {
				f(b, a)
			}
		}
	}
}
