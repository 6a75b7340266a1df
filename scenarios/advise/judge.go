package advise

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// natures lists the violations that no lock can prevent.
var natures = []struct {
	law   checker.Law // empty if the row applies to any law
	cause checker.CauseKind
	// gradual is set if some locks suffer from this violation less often than others. A change then mends the law if
	// the lock survives the faults that broke it, even if other faults still cause the violation.
	gradual bool
	why     string
}{
	{checker.MutualExclusion, checker.HolderOutlivedLease, false,
		"a lease ends whether or not its holder notices, " +
			"and a lock without a lease is never free again once its holder has crashed"},
	{"", checker.NoQuorumLeft, true, "no lock service survives the loss of its quorum"},
}

// byNature explains why no lock can prevent a finding, and reports whether the violation is gradual (see natures). It
// returns "" if a lock can prevent the finding. If the scenario states its promises, it also returns "", unless they
// excuse the violation.
func (b *subject) byNature(f campaign.Finding) (why string, gradual bool) {
	for _, n := range natures {
		if (n.law == "" || n.law == f.Law) && n.cause == f.Cause.Kind && (!b.stated || b.promised.Excuses(f.Cause)) {
			return n.why, n.gradual
		}
	}
	return "", false
}

// judge computes t's fields Mended, Left, New, Known and GivesUp from the runs so far.
func (b *subject) judge(base, t *Tried) {
	t.Mended, t.Left, t.New, t.Known = nil, nil, nil, nil
	for _, law := range b.promised.Laws {
		switch {
		case !slices.Contains(b.broken, law):
			if breach := b.newBreach(base, t, law); breach != nil {
				t.New = append(t.New, *breach)
				continue
			}
		case b.mends(base, t, law):
			t.Mended = append(t.Mended, law)
		default:
			t.Left = append(t.Left, law)
		}
		t.Known = append(t.Known, b.knownBreaches(t, law)...)
	}
	// GivesUp is set if clients give up more often per run than with the unchanged lock under the same faults.
	runs := t.Given.Runs + t.Elsewhere.Runs
	t.GivesUp = (t.Given.GivenUp+t.Elsewhere.GivenUp)*base.Given.Runs > base.Given.GivenUp*runs
}

// mends reports whether change t mends a broken law. The law must hold under the given faults. It must not be broken
// under the same faults on other servers, or under fresh faults. It must not be undecided more often than with the
// unchanged lock (see undecided).
//
// On other servers and under fresh faults, a violation that no lock can prevent usually does not count. It does count
// if the given faults break the unchanged lock in the same way, and the violation is not gradual (see natures).
func (b *subject) mends(base, t *Tried, law checker.Law) bool {
	for _, f := range slices.Concat(t.Elsewhere.Findings, t.Fresh.Findings) {
		before := func(g campaign.Finding) bool { return g.Law == law && g.Cause.Kind == f.Cause.Kind }
		why, gradual := b.byNature(f)
		if f.Law == law && (why == "" || !gradual && slices.ContainsFunc(base.Given.Findings, before)) {
			return false
		}
	}
	return t.Given.keeps(law) && !undecided(base, t, law)
}

// undecided reports whether a law is undecided in more runs than with the unchanged lock.
func undecided(base, t *Tried, law checker.Law) bool {
	return t.Elsewhere.Laws.Of(law).Undecided > 0 ||
		t.Fresh.Laws.Of(law).Undecided > base.Fresh.Laws.Of(law).Undecided
}

// newBreach returns the first way in which the changed lock breaks a promise that the unchanged lock keeps under the
// same faults. If there is none, but the law no longer holds under the faults that broke the lock, or is undecided in
// more runs than before, it returns a breach without a cause. Otherwise, it returns nil.
func (b *subject) newBreach(base, t *Tried, law checker.Law) *Breach {
	find := func(before, now *Trial, excused func(why string, gradual bool) bool) *Breach {
		for _, f := range now.Findings {
			if f.Law == law && before.violated(law) == 0 && !excused(b.byNature(f)) {
				return &Breach{Finding: f, Of: now.Runs}
			}
		}
		return nil
	}
	never := func(string, bool) bool { return false }
	natural := func(why string, _ bool) bool { return why != "" }
	steady := func(why string, gradual bool) bool { return why != "" && !gradual }
	list := []*Breach{find(&base.Given, &t.Given, never), find(&base.Given, &t.Elsewhere, natural),
		find(&base.Fresh, &t.Fresh, steady), find(&base.Others, &t.Others, steady)}
	for i := range min(len(base.Everyday), len(t.Everyday)) {
		excused := steady
		if i == 0 { // the first trial has no faults
			excused = never
		}
		list = append(list, find(&base.Everyday[i], &t.Everyday[i], excused))
	}
	if base.Given.keeps(law) && !t.Given.keeps(law) || undecided(base, t, law) {
		list = append(list, &Breach{Finding: campaign.Finding{Law: law}})
	}
	i := slices.IndexFunc(list, func(b *Breach) bool { return b != nil })
	if i < 0 {
		return nil
	}
	return list[i]
}

// knownBreaches returns the ways in which a law is broken under the given faults, on the same servers and on others,
// and under fresh faults.
func (b *subject) knownBreaches(t *Tried, law checker.Law) (list []Breach) {
	var all campaign.Findings
	for _, trial := range []*Trial{&t.Given, &t.Elsewhere, &t.Fresh} {
		all.Add(trial.Findings)
	}
	for _, f := range all {
		if f.Law == law {
			why, _ := b.byNature(f)
			list = append(list, Breach{f, t.wasMet(), why})
		}
	}
	return list
}
