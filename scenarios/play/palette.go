package play

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// kindOffer is a kind of fault on the page's palette.
type kindOffer struct {
	Kind string `json:"kind"`
	Is   string `json:"is"` // what the fault does
	// lanes on which the fault can be placed; empty if the scenario does not accept the fault
	On  []string `json:"on"`
	Why string   `json:"why"` // why On is empty
}

// palette returns all kinds of faults, with a reason for each kind that the scenario does not accept.
func (o *opened) palette() (all []kindOffer) {
	names := o.scenario.Targets()
	targets := nemesis.TargetsOf(&names)
	for _, k := range nemesis.Kinds {
		offer := kindOffer{Kind: k.String(), Is: k.Meaning()}
		for _, p := range targets.Processes {
			if f, ok := o.on(k, p, &targets); ok && nemesis.Validate(f, names) == nil {
				offer.On = append(offer.On, string(p))
			}
		}
		if len(offer.On) == 0 {
			offer.Why = fmt.Sprintf("%s: this fault cannot affect anything in this scenario", k)
		}
		all = append(all, offer)
	}
	return all
}

// propose returns a fault of the given kind that strikes the given process. It strikes at the start of the run and is
// large enough to be visible.
func (o *opened) propose(k nemesis.Kind, on sim.ProcessID) (nemesis.Fault, error) {
	names := o.scenario.Targets()
	targets := nemesis.TargetsOf(&names)
	f, ok := o.on(k, on, &targets)
	if !ok {
		return f, fmt.Errorf("this fault cannot strike %s: %s", on, k.Meaning())
	}
	return f, nemesis.Validate(f, names)
}

// on returns a fault of the given kind that strikes the given process or one of its links. ok is false if there is no
// such fault.
func (o *opened) on(k nemesis.Kind, on sim.ProcessID, targets *nemesis.Targets) (f nemesis.Fault, ok bool) {
	if !targets.Has(k) {
		return f, false
	}
	for first := range len(targets.Processes) {
		k.Draw(&hand{targets: targets, on: on, ttl: o.scenario.Clients[0].Lock.TTL, first: first}, &f)
		if slices.Contains(f.On(), on) {
			return f, true
		}
	}
	return f, false
}

// hand replaces random draws when a user creates a fault. It makes the choices that a person would make: the process
// that was picked, and sizes large enough to be visible next to the lock's TTL.
type hand struct {
	targets *nemesis.Targets
	on      sim.ProcessID
	ttl     time.Duration
	first   int // result of the first call of Below, which reduces it modulo n
}

func (h *hand) Targets() *nemesis.Targets { return h.targets }

// Among returns the picked process if it is in the list, and otherwise the first process in the list.
func (h *hand) Among(list []sim.ProcessID) sim.ProcessID {
	if slices.Contains(list, h.on) {
		return h.on
	}
	return list[0]
}

// Below returns h.first (modulo n) the first time it is called, and 0 after that.
func (h *hand) Below(n int) int {
	i := h.first % n
	h.first = 0
	return i
}

func (h *hand) Coin() bool                    { return false }
func (h *hand) Pause() time.Duration          { return h.ttl + h.ttl/2 }
func (h *hand) Jump() time.Duration           { return h.ttl }
func (h *hand) Delay() time.Duration          { return h.ttl / 2 }
func (h *hand) Fsync() time.Duration          { return h.ttl / 10 }
func (h *hand) Outage() time.Duration         { return h.ttl / 2 }
func (h *hand) OutageOrEver() time.Duration   { return h.ttl / 2 }
func (h *hand) DowntimeOrEver() time.Duration { return h.ttl / 10 }
func (h *hand) PPM() int                      { return 100_000 }
func (h *hand) Message() int                  { return 1 }
