package claims

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestEveryNumberOfAStoryIsRight recomputes from the history, and from the literal reading of the laws, every number
// that an explanation states: when what happened to whom, for how long, and how much was seen of a law that holds. A
// number that belongs to no clause below is wrong as well: nobody has recomputed it.
func TestEveryNumberOfAStoryIsRight(t *testing.T) {
	rounds := 2
	if testkit.Full() {
		rounds = 20
	}
	w := NewWrongs(t)
	numbers := 0
	Runs(t, rounds, func(r *Run) bool {
		p := proof{Run: r, literal: slow.Check(r.History), sections: Sections(r.History)}
		for i, f := range r.Verdict.Findings {
			if f.Explanation == "" {
				continue
			}
			p.Finding, p.read = f, p.literal[i]
			for _, wrong := range p.check(&numbers) {
				w.Add(wrong.kind, &Story{r, f}, "%s", wrong.what)
			}
		}
		return true
	})
	t.Logf("%d numbers recomputed, %d wrong", numbers, w.Count(""))
	if w.Count("") > 0 {
		t.Errorf("%d of %d numbers are wrong", w.Count(""), numbers)
	}
}

// proof holds an explanation to what its history shows.
type proof struct {
	*Run
	checker.Finding
	literal  []slow.Finding
	read     slow.Finding // of the law
	sections []*Section
}

type wrong struct{ kind, what string }

// lease is a stretch of time for which a section was told that it holds the lock.
type lease struct {
	of       *Section
	at       int // the event that states it
	from, to history.Time
}

// leases are the section's: each ends where the next one begins, or with the call of its release.
func (p *proof) leases(s *Section) (all []lease) {
	for _, at := range s.Grants {
		g := p.History.Events[at].Grant
		l := lease{s, at, g.Granted, max(g.Granted, g.Until)}
		if s.Release >= 0 {
			l.to = min(l.to, p.History.Events[s.Release].Time)
		}
		if l.to < l.from {
			continue
		}
		for i := range all {
			all[i].to = min(all[i].to, l.from)
		}
		all = append(all, l)
	}
	return all
}

// The words of a clause, in its pattern: NAME is a process, WHO a process with its attempt if it is said, LOCK a lock,
// TIME an instant or a length, FAULT lines of the plan, COUNT a number.
var words = strings.NewReplacer(
	"WHO", `(NAME)(?: \(attempt ([^)]+)\))?`,
	"NAMED", `(NAME)`,
	"LOCK", `"([^"]*)"`,
	"TIME", `(\d+\.\d+ s|never)`,
	"FAULTS", `(?: \(((?:«\d+»(?:; )?)+)\))?`,
	"COUNT", `(\d+)`)

const processes = `(?i:client-\d+|probe|resource|(?:redis|etcd|zookeeper|sentinel)-\d+(?:-replica-\d+)?)`

func pattern(text string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(words.Replace(text), "NAME", processes))
}

func says(text string, truth func(*proof, []string) string) clause {
	return clause{text, pattern(text), truth}
}

// clause is a piece of a story that states numbers, and what is true in its place: empty if it is right.
type clause struct {
	text string
	*regexp.Regexp
	truth func(p *proof, m []string) string
}

// faultPlace is how the lines of faults stand in the text that is checked.
var (
	faultPlace = regexp.MustCompile(`«\d+»`)
	named      = regexp.MustCompile(processes + `|"[^"]*"|attempt [^ ,;.)]+|«\d+»`)
	number     = regexp.MustCompile(`\d+(\.\d+)?`)
)

func (p *proof) check(numbers *int) (all []wrong) {
	text := p.marked()
	covered := []byte(text)
	for _, c := range clauses {
		for _, m := range c.FindAllStringSubmatchIndex(text, -1) {
			var parts []string
			for i := 0; i < len(m); i += 2 {
				if parts = append(parts, ""); m[i] >= 0 {
					parts[i/2] = text[m[i]:m[i+1]]
				}
			}
			*numbers += len(number.FindAllString(named.ReplaceAllString(parts[0], ""), -1))
			if truth := c.truth(p, parts); truth != "" {
				all = append(all, wrong{fmt.Sprintf("%.60s…: %s by %s", c.text, p.Law, p.Cause), parts[0] + ": " + truth})
			}
			for i := m[0]; i < m[1]; i++ {
				covered[i] = ' '
			}
		}
	}
	rest := named.ReplaceAllString(string(covered), "")
	for _, m := range number.FindAllStringIndex(rest, -1) {
		*numbers++
		all = append(all, wrong{fmt.Sprintf("nobody recomputes this: %s by %s", p.Law, p.Cause),
			strings.TrimSpace(rest[max(0, m[0]-60):min(len(rest), m[1]+40)])})
	}
	return all
}

// marked is the explanation with the place of the strike in place of each line of a fault.
func (p *proof) marked() string {
	text := p.Explanation
	var struck []int
	for i := range p.History.Events {
		if e := &p.History.Events[i]; e.Process == history.Nemesis && e.Type == history.Invoke {
			struck = append(struck, i)
		}
	}
	slices.SortStableFunc(struck, func(a, b int) int {
		return len(p.History.Events[b].Value) - len(p.History.Events[a].Value)
	})
	for _, i := range struck {
		text = strings.ReplaceAll(text, p.History.Events[i].Value, "«"+strconv.Itoa(i)+"»")
	}
	return text
}
