package search

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/shrink"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// edit is a changed version of the scenario, along with the plan adapted to the change.
type edit struct {
	doc  *format.Document
	plan nemesis.Plan
}

// reduce makes the clients do less, until any further edit would lose the violation. It does not change the lock. It
// tries each edit with the plan's own seed first, and then with others.
func (sh *shrinker) reduce(s *subject, p nemesis.Plan) (*subject, nemesis.Plan) {
	for again := true; again; {
		if s, p, again = sh.smaller(s, p, underOwnSeed); !again {
			s, p, again = sh.smaller(s, p, shrink.UnderSomeSeed)
		}
	}
	return s, p
}

// seedSearch looks for a seed with which a plan fails.
type seedSearch func(p nemesis.Plan, fails func(nemesis.Plan) bool) (nemesis.Plan, bool)

func underOwnSeed(p nemesis.Plan, fails func(nemesis.Plan) bool) (nemesis.Plan, bool) {
	return p, fails(p)
}

// smaller looks for the first edit that preserves the violation.
func (sh *shrinker) smaller(s *subject, p nemesis.Plan, try seedSearch) (*subject, nemesis.Plan, bool) {
	for _, e := range edits(s, p) {
		t, err := sh.subject(e.doc)
		if err != nil || compareSizes(t, s) >= 0 || e.plan.Validate(t.scenario.Targets()) != nil {
			continue
		}
		if q, ok := try(e.plan, t.fails); ok {
			return t, q, true
		}
		t.runner = nil // free memory; t is unlikely to be needed again
	}
	return s, p, false
}

// compareSizes compares scenarios by how many clients, cycles, writes and locks they have, in this order, and finally
// by the length of their text.
func compareSizes(a, b *subject) int {
	size := func(s *subject) []int {
		cycles, writes, locks := 0, 0, 0
		for _, c := range s.scenario.Clients {
			cycles, writes, locks = cycles+c.Work.Cycles, writes+c.Work.Writes, locks+len(c.Work.Locks)
		}
		return []int{len(s.scenario.Clients), cycles, writes, locks, len(s.doc.String())}
	}
	return slices.Compare(size(a), size(b))
}

// edits returns the edits to try, starting with those that remove the most.
func edits(s *subject, p nemesis.Plan) []edit {
	var list []edit
	clients := len(s.scenario.Clients)
	for n := clients - 1; n > 0; n /= 2 {
		for from := max(clients-n, 0); from > -n; from -= n {
			list = append(list, withoutClients(s.doc, p, clients, max(from, 0), n))
		}
	}
	change := func(do func(*format.Document)) {
		doc := s.doc.Clone()
		do(doc)
		list = append(list, edit{doc, p})
	}
	works := []string{"work"}
	for _, client := range s.doc.Keys("overrides") {
		works = append(works, "overrides."+client+".work")
	}
	for _, work := range works {
		fewer(s.doc, work+".cycles", 1, change)
		fewer(s.doc, work+".writes", 0, change)
	}
	fewerLocks(s.doc, works, change)
	return list
}

// fewer adds edits that change a count in the document. One removes the count, so that the default applies. The others
// reduce it.
func fewer(doc *format.Document, path string, least int, change func(func(*format.Document))) {
	text, _ := doc.Get(path)
	n, err := strconv.Atoi(text)
	if err != nil {
		return
	}
	change(func(d *format.Document) { d.Remove(path) })
	for _, m := range []int{least, n / 2, n - 1} {
		if m >= least && m < n {
			change(func(d *format.Document) { d.Set(path, strconv.Itoa(m)) })
		}
	}
}

// fewerLocks adds edits that each remove a lock, either from all lists of locks or from one. They never leave a list
// empty.
func fewerLocks(doc *format.Document, works []string, change func(func(*format.Document))) {
	without := func(d *format.Document, lock string, works ...string) {
		for _, work := range works {
			left := slices.DeleteFunc(d.List(work+".locks"), func(l string) bool { return l == lock })
			if len(left) > 0 {
				d.SetList(work+".locks", left)
			}
		}
	}
	for _, work := range works {
		for _, lock := range doc.List(work + ".locks") {
			change(func(d *format.Document) { without(d, lock, works...) })
			change(func(d *format.Document) { without(d, lock, work) })
		}
	}
}

// withoutClients returns an edit that removes n clients and renumbers the clients after them. first is the index of the
// first removed client, counting from 0.
func withoutClients(doc *format.Document, p nemesis.Plan, clients, first, n int) edit {
	doc = doc.Clone()
	renamed := func(id sim.ProcessID) sim.ProcessID {
		switch i := clientNumber(string(id)) - 1; {
		case i < first: // names of other processes have number 0, so i is -1
			return id
		case i < first+n:
			return ""
		default:
			return clientID(i - n)
		}
	}
	doc.Set("clients", strconv.Itoa(clients-n))
	renameKeys(doc, "overrides", renamed)
	renameKeys(doc, "network.links", renamed)
	p.Faults = slices.Clone(p.Faults)
	for i, f := range p.Faults {
		p.Faults[i] = withoutGone(f.Renamed(renamed))
		if t := &p.Faults[i].Trigger; f.Trigger.By != "" && t.By == "" && f.Kind != 0 {
			t.By = clientID(0) // By may be any other client
		}
	}
	p.Faults = slices.DeleteFunc(p.Faults, func(f nemesis.Fault) bool { return f.Kind == 0 })
	return edit{doc, p}
}

// withoutGone removes clients that no longer exist, which have empty names, from a fault. If the fault affected only
// such clients, withoutGone returns the zero Fault.
func withoutGone(f nemesis.Fault) nemesis.Fault {
	gone := func(id sim.ProcessID) bool { return id == "" }
	if f.Kind.Has(nemesis.FieldSides) {
		f.Left, f.Right = slices.DeleteFunc(f.Left, gone), slices.DeleteFunc(f.Right, gone)
		if len(f.Left) == 0 || len(f.Right) == 0 {
			return nemesis.Fault{}
		}
	} else if slices.ContainsFunc(f.On(), gone) {
		return nemesis.Fault{}
	}
	return f
}

// renameKeys renames the clients in a mapping's keys, and removes the keys of removed clients.
func renameKeys(doc *format.Document, path string, renamed func(sim.ProcessID) sim.ProcessID) {
	keys := doc.Keys(path)
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(clientNumber(a), clientNumber(b)) })
	// The keys are renamed in ascending order, so a new name never equals a key that hasn't been renamed yet.
	for _, key := range keys {
		words := strings.Fields(key)
		for i, word := range words {
			words[i] = string(renamed(sim.ProcessID(word)))
		}
		if slices.Contains(words, "") {
			doc.Remove(path + "." + key)
		} else {
			doc.Rename(path+"."+key, strings.Join(words, " "))
		}
	}
}

func clientID(i int) sim.ProcessID { return sim.ProcessID(fmt.Sprintf("client-%d", i+1)) }

// clientNumber returns the number of the first client named in text, or 0 if there is none.
func clientNumber(text string) int {
	for _, word := range strings.Fields(text) {
		if digits, ok := strings.CutPrefix(word, "client-"); ok {
			n, _ := strconv.Atoi(digits)
			return n
		}
	}
	return 0
}
