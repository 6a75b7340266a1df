package trace

import "github.com/fencepost-sim/fencepost/checker/history"

// Promotion is a failover in which the replica New replaces the master Old and takes over its keys. If the replica was
// once a master itself, the keys that it had at that time are dropped. If the replica lacks some of the master's keys,
// later records say that these were lost.
type Promotion struct{ Old, New history.Process }

// PromotionBy returns the promotion that a fault causes. does is the fault's effect, and f names the old and the new
// master. ok is false if the effect is not a promotion, or if f is nil or does not name both.
func PromotionBy(does history.Effect, f *history.Fault) (p Promotion, ok bool) {
	if does != history.Promotes || f == nil || len(f.On) == 0 || len(f.To) == 0 {
		return p, false
	}
	return Promotion{f.On[0], f.To[0]}, true
}

// Moved returns the server that has the given server's keys after the promotion. kept is false if these keys are
// dropped.
func (p Promotion) Moved(server history.Process) (now history.Process, kept bool) {
	switch server {
	case p.New:
		return "", false
	case p.Old:
		return p.New, true
	}
	return server, true
}
