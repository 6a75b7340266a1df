package locktest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports"
	reporting "github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
)

// failure is one way in which the lock failed.
type failure struct {
	seed uint64
	what string // in a line
	runs int
	rank rank
	text func() string // made when it is reported: cutting down takes a while
}

// failures are the ways in which the lock failed, by rank.
func (p *parent) failures() (all []failure) {
	for _, r := range p.runs {
		if r.Failure == "" || r.Tolerated {
			continue
		}
		what, _, _ := strings.Cut(r.Failure, "\n")
		i := slices.IndexFunc(all, func(f failure) bool { return alike(f.what, what) })
		if i < 0 {
			i = len(all)
			all = append(all, failure{seed: r.Seed, what: what,
				text: func() string { return r.Failure + "\n" + p.again(r) }})
		}
		all[i].runs++
	}
	for _, g := range p.groups() {
		all = append(all, failure{g.first, fmt.Sprintf("%s: %s", g.Law, g.Cause), g.runs, g.rank(),
			func() string { return p.story(g) }})
	}
	return all
}

// rank is where a failure stands among others.
type rank int

const (
	ofCode  rank = iota // the run could not be judged
	ofOwner             // what the lock did to another's key: other laws break as a consequence
	ofLaws
	ofLeases // no lock with a lease survives it
)

func (g *group) rank() rank {
	switch {
	case g.Limit != "":
		return ofLeases
	case g.Law == checker.Ownership:
		return ofOwner
	}
	return ofLaws
}

// alike reports whether two lines differ in numbers alone.
func alike(a, b string) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, s)
	}
	return plain(a) == plain(b)
}

// laws counts how each law came out.
func (p *parent) laws() campaign.Laws {
	all := campaign.NewLaws(checker.Laws)
	for _, r := range p.runs {
		for i, o := range r.Outcomes {
			all[i].Count(o)
		}
		for _, l := range r.Excused {
			all[slices.Index(checker.Laws, l)].Excused++
		}
	}
	return all
}

// tolerated is how many runs could not be judged for a reason that Config.Tolerated names.
func (p *parent) tolerated() (n int) {
	for _, r := range p.runs {
		if r.Tolerated {
			n++
		}
	}
	return n
}

// summary says how each law came out, in the words of explore, and lists what failed.
func (p *parent) summary() string {
	failures := p.failures()
	var b strings.Builder
	size := fmt.Sprintf("%d runs", len(p.runs))
	if n := p.tolerated(); n > 0 {
		size += fmt.Sprintf(", %d not judged (Config.Tolerated)", n)
	}
	reports.LawSummary(&b, reporting.TextOptions{Width: width}, scenarioName(p.t.Name()), size, len(failures) == 0,
		p.laws(), p.config.promise())
	heading := "findings\n"
	for i, f := range failures {
		if f.rank == ofLeases && (i == 0 || failures[i-1].rank < ofLeases) {
			heading = "what no lock with a lease survives\n"
		}
		if heading != "" {
			b.WriteString("\n" + heading)
		}
		heading = ""
		runs := "1 run"
		if f.runs > 1 {
			runs = fmt.Sprintf("%d runs", f.runs)
		}
		fmt.Fprintf(&b, " %2d  %s, %s from seed %d\n", i+1, f.what, runs, f.seed)
	}
	return strings.TrimRight(b.String(), "\n")
}
