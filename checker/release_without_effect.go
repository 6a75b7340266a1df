package checker

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// unreleased lists the releases that had no effect and for which no fault explains why. They are in the order in which
// they were called.
func (t *judge) unreleased() (all []trace.Handback) {
	for _, r := range t.Handbacks() {
		if len(r.Left) > 0 && !t.obstructed(&r) {
			all = append(all, r)
		}
	}
	return all
}

// obstructed reports whether a fault that was active after the acquire had been called could have prevented a release.
// Clock faults never do so. Faults on links between servers count only if a server needs others to process the release.
func (t *judge) obstructed(r *trace.Handback) bool {
	g := &t.Grants[r.Grant]
	header := &t.History.Header
	together := header.OneService() || header.Applies(history.MinReplicas)
	return slices.ContainsFunc(t.Faults, func(f trace.Fault) bool {
		if f.Start > r.End || t.Mended(&f) < t.Asks[g.Ask].Call || f.Does.IsClock() {
			return false
		}
		succeeded := g.Done != trace.Open && t.History.Events[g.Done].Type == history.OK
		isClient := func(p history.Process) bool {
			return p == g.Process || !succeeded && p != history.Resource && !t.IsServer(p)
		}
		on := func(side []history.Process, is func(history.Process) bool) bool { return slices.ContainsFunc(side, is) }
		all := slices.Concat(f.On, f.To)
		switch {
		case len(all) == 0:
			return true
		case !f.Does.IsLink() || len(f.To) == 0:
			return on(all, isClient) || on(all, t.IsServer)
		}
		return on(f.On, isClient) && on(f.To, t.IsServer) || on(f.On, t.IsServer) && on(f.To, isClient) ||
			together && on(f.On, t.IsServer) && on(f.To, t.IsServer)
	})
}

// unreleasedStory reports a release that had no effect.
func (t *judge) unreleasedStory(f *Finding, r *trace.Handback) {
	g, cause := &t.Grants[r.Grant], Cause{Kind: ReleaseWithoutEffect}
	b := t.breach(f, cause, r.End, t.Locks[g.Lock].Name, g.Process)
	if b == nil {
		return
	}
	b.About = g.Process
	called := t.Time(g.Release)
	s := sentence("%s released %s at %v, while its lease was valid until %v.", capital(string(g.Process)),
		quoted(t.Locks[g.Lock].Name), called, g.Until)
	switch {
	case g.Done > r.End:
		s += sentence(" The release had still not returned %v later.", t.Time(r.End)-called)
	case t.Time(g.Done) == called:
		s += sentence(" The release returned %s at once.", t.returned(g.Done))
	default:
		s += sentence(" The release returned %s after %v.", t.returned(g.Done), t.Time(g.Done)-called)
	}
	var servers []history.Process
	witness := []int{g.OK, g.Release, g.Done, r.End}
	earlier := false
	for _, at := range r.Left {
		earlier = earlier || t.History.Events[at].Of != g.Attempt
		if e := &t.History.Events[at]; !slices.Contains(servers, e.Process) {
			servers = append(servers, e.Process)
		}
		witness = append(witness, int(at))
	}
	e, keys, first := &t.History.Events[r.End], "key", "it"
	if len(r.Left) > 1 {
		keys, first = "keys", "the first of them"
	}
	s += sentence(" It did not change the client's %s on %s: %s ", keys, list(servers), first)
	switch {
	case r.Expired && e.F == history.KeyGone:
		s += sentence("expired at %v.", e.Time)
	case r.Expired: // the expiry itself was not recorded
		s += sentence("had expired when %s set a key at %v.", t.name(e.Lock, trace.Setter(e)), e.Time)
	default:
		s += sentence("was neither deleted nor overwritten until %v.", called+t.History.Header.Bound)
	}
	s += sentence(" Since %s asked for the lock, no fault that could prevent the release was active.", g.Process)
	t.facts.earlierTry = earlier
	t.facts.unanswered = g.Done <= r.End && t.History.Events[g.Done].Type == history.Info ||
		g.Done > r.End && t.deletedLater(g, r.End)
	b.violated(t, cause, s, witness)
}

// deletedLater reports whether one of the grant's keys was deleted by its own attempt after the given position. If so,
// the release did request the deletion, but the deletion took effect late.
func (t *judge) deletedLater(g *trace.Grant, end int) bool {
	return slices.ContainsFunc(t.Keys, func(i int32) bool {
		e := &t.History.Events[i]
		return int(i) > end && e.F == history.KeyGone && e.Why == history.Deleted &&
			e.Lock == t.Locks[g.Lock].Name && e.Of == g.Attempt && e.By == g.Attempt
	})
}

// returned describes how a release returned, for example "ok" or "fail (not owner)".
func (t *judge) returned(at int) string {
	e := &t.History.Events[at]
	switch {
	case e.Value != "":
		return sentence("%s (%q)", e.Type, e.Value)
	case e.Why != "":
		return sentence("%s (%s)", e.Type, e.Why)
	}
	return e.Type.String()
}
