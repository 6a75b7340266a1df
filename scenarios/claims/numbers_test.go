package claims

import (
	"fmt"
	"iter"
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

// TestEveryNumberOfAStoryIsRight checks every number in an explanation by recomputing it from the history and with
// package slow: what happened when and to whom, for how long, and in how many cases a law that holds was judged. A
// number that no entry in clauses covers also counts as wrong, because it has not been recomputed.
func TestEveryNumberOfAStoryIsRight(t *testing.T) {
	rounds, nth := testkit.Size(1, 2, 20), testkit.Size(4, 2, 1)
	w, numbers, runs, said := NewWrongs(t), 0, 0, map[string]int{}
	Runs(t, rounds, func(r *Run) bool {
		if runs++; runs%nth == 0 {
			numbers += recompute(r, w, said)
		}
		return true
	})
	t.Logf("%d numbers recomputed, %d wrong", numbers, w.Count(""))
	if w.Count("") > 0 || numbers < testkit.Size(40, 500, 1000) {
		t.Errorf("%d of %d numbers are wrong", w.Count(""), numbers)
	}
	for _, c := range clauses {
		if said[c.text] == 0 {
			t.Logf("no story says: %s", c.text)
		}
	}
}

// recompute checks the numbers in all explanations of a run, and returns how many there are. It adds those that are
// wrong to w, and counts in said how often each clause occurs.
func recompute(r *Run, w *Wrongs, said map[string]int) (numbers int) {
	p := proof{Run: r, sections: Sections(r.History), said: said}
	literal := slow.Check(r.History)
	for f := range explained(r.Verdict) {
		p.begin(f, literal)
		n, wrong := p.check()
		numbers += n
		for _, is := range wrong {
			w.Add(is.kind, &Story{r, f}, "%s", is.what)
		}
	}
	return numbers
}

// proof compares an explanation with the history.
type proof struct {
	*Run
	checker.Finding
	seen     int         // number of cases in which a law that holds was judged, according to the literal reading
	read     slow.Breach // the breach according to the literal reading
	sections []*Section
	said     map[string]int // how often each clause occurred
}

// explained yields every finding of a verdict, each followed by its further breaches.
func explained(v checker.Verdict) iter.Seq[checker.Finding] {
	return func(yield func(checker.Finding) bool) {
		for _, f := range v.Findings {
			for _, f := range append([]checker.Finding{f}, f.Further...) {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// begin prepares p to check the finding f. literal is package slow's verdict on the same run.
func (p *proof) begin(f checker.Finding, literal slow.Verdict) {
	of := literal.Of(string(f.Law))
	p.Finding, p.seen = f, of.Judged
	p.read = of.Shown(p.History, slow.Reported{Cause: f.Cause.String(), Witness: f.Witness, At: f.At})
}

// wrong is an incorrect number in an explanation.
type wrong struct{ kind, what string }

// lease is a period in which a client was in its critical section and its lock was valid, as far as the client knew.
type lease struct {
	of       *Section
	at       int // index of the event that states the lease
	from, to history.Time
}

// leases returns the leases of a section. A lease ends when the next one begins, or when release is called for the
// section.
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

// whole returns the beginning and the end of the unbroken period that contains the lease l. The period consists of l
// and the adjacent leases of the same section.
func (p *proof) whole(l lease) (from, to history.Time) {
	all := p.leases(l.of)
	from, to = l.from, l.to
	for _, o := range all {
		if o.from == to {
			to = max(to, o.to)
		}
	}
	for _, o := range slices.Backward(all) {
		if o.to == from {
			from = min(from, o.from)
		}
	}
	return from, to
}

// words replaces the placeholders in a clause's pattern with regular expressions. NAMED matches a process, WHO a
// process and, if stated, its attempt, LOCK a lock or a value in quotes, TIME an instant or a duration, FAULTS lines of
// faults in parentheses, and COUNT a number. Each becomes one group of the regular expression, except WHO, which
// becomes two.
var words = strings.NewReplacer(
	"WHO", `(NAME)(?: \(attempt ([^)]+)\))?`,
	"NAMED", `(NAME)`,
	"LOCK", `"([^"]*)"`,
	"TIME", `(\d+\.\d+ s|never)`,
	"FAULTS", `(?: \(((?:«\d+»(?:; )?)+)\))?`,
	"COUNT", `(\d+)`)

// processes matches process names, which may be capitalized at the beginning of a sentence.
const processes = `(?i:client-\d+|probe|resource|(?:redis|etcd|zookeeper|kubernetes|consul|sentinel)-\d+(?:-replica-\d+)?)`

func pattern(text string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(words.Replace(text), "NAME", processes))
}

// clause is a phrase with numbers in an explanation. truth checks the groups of the phrase's pattern. It returns "" if
// they are right, and otherwise a message with the correct values.
type clause struct {
	text string
	*regexp.Regexp
	truth func(p *proof, groups []string) string
}

func says(text string, truth func(*proof, []string) string) clause {
	return clause{text, pattern(text), truth}
}

// faultPlace matches the marker with which the marked method replaces a fault. names matches such markers, and names
// that contain digits. number matches any number.
var (
	faultPlace = regexp.MustCompile(`«(\d+)»`)
	names      = regexp.MustCompile(processes + `|"[^"]*"|attempt [^ ,;.)]+|«\d+»`)
	number     = regexp.MustCompile(`\d+(\.\d+)?`)
)

// check returns how many numbers the explanation contains, and which of them are wrong.
func (p *proof) check() (numbers int, all []wrong) {
	text := p.marked()
	rest := []byte(text)
	for _, c := range clauses {
		for _, m := range c.FindAllStringSubmatchIndex(text, -1) {
			groups := make([]string, len(m)/2)
			for i := range groups {
				if m[2*i] >= 0 {
					groups[i] = text[m[2*i]:m[2*i+1]]
				}
			}
			p.said[c.text]++
			if truth := c.truth(p, groups); truth != "" {
				all = append(all,
					wrong{fmt.Sprintf("%.60s…: %s by %s", c.text, p.Law, p.Cause), groups[0] + ": " + truth})
			}
			for i := m[0]; i < m[1]; i++ {
				rest[i] = ' '
			}
		}
	}
	if left := number.FindString(names.ReplaceAllString(string(rest), "")); left != "" {
		all = append(all, wrong{fmt.Sprintf("nothing recomputes this: %s by %s", p.Law, p.Cause), left})
	}
	return len(number.FindAllString(names.ReplaceAllString(text, ""), -1)), all
}

// marked returns the explanation with each fault replaced by a marker that contains the index of the event at which it
// struck.
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

// TestAWrongNumberIsNoticed checks that a wrong number in an explanation is noticed. It changes the last digit of every
// number in the explanations of some runs, except in explanations that name faults.
func TestAWrongNumberIsNoticed(t *testing.T) {
	tried, missed, runs := 0, 0, 0
	Runs(t, 1, func(r *Run) bool {
		if runs++; runs%testkit.Size(8, 3, 1) > 0 {
			return true
		}
		p := proof{Run: r, sections: Sections(r.History), said: map[string]int{}}
		literal := slow.Check(r.History)
		for f := range explained(r.Verdict) {
			p.begin(f, literal)
			if _, wrong := p.check(); len(wrong) > 0 || p.marked() != f.Explanation {
				continue
			}
			nameless := names.ReplaceAllStringFunc(f.Explanation,
				func(s string) string { return strings.Repeat(" ", len(s)) })
			for _, m := range number.FindAllStringIndex(nameless, -1) {
				text := []byte(f.Explanation)
				text[m[1]-1] = '0' + (text[m[1]-1]-'0'+1)%10
				p.Explanation = string(text)
				if _, wrong := p.check(); len(wrong) == 0 {
					missed++
					t.Logf("%q is taken for %q", p.Explanation, f.Explanation)
				}
				tried++
			}
		}
		return true
	})
	if missed > 0 || tried < testkit.Size(30, 300, 300) {
		t.Errorf("%d of %d wrong numbers were not noticed", missed, tried)
	}
}
