package headline

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// clashes lists the causes that can make two grants of one lock overlap.
var clashes = []checker.CauseKind{checker.CountedWithoutQuorum, checker.GrantedByNone,
	checker.GrantedTwice, checker.DeposedMaster,
	checker.ValidityMiscounted, checker.ExpiredEarly,
	checker.LeaseNotRechecked, checker.RemovedByNonOwner, checker.RemovedByOwner, checker.LostInCrash,
	checker.LostInFailover, checker.Evicted, checker.RemovedByOperator, checker.SessionExpired,
	checker.CauseNotRecorded}

// causesOf lists the causes that the checker can give for each law.
var causesOf = map[checker.Law][]checker.CauseKind{
	checker.LeaseExclusion: clashes,
	checker.MutualExclusion: append([]checker.CauseKind{checker.HolderOutlivedLease, checker.NeverRenewed,
		checker.WaitedForOther}, clashes...),
	checker.ResourceSafety: {checker.StaleEffect, checker.LostUpdate},
	checker.Ownership:      {checker.RemovedByNonOwner, checker.ProlongedByNonOwner},
	checker.TokenOrder:     {checker.TokenRepeated, checker.TokenWentBack},
	checker.DeadlockFreedom: {checker.StuckBehindCrashed, checker.StuckBehindUncapped, checker.StuckBehindAbandoned,
		checker.StuckBehindItself, checker.StuckInCycle, checker.StuckWithoutHolder, checker.NoQuorumLeft},
	checker.FaultTolerance: {checker.TooSlow, checker.ReleaseRefused, checker.ReleaseWithoutEffect},
	checker.Fairness:       {checker.Overtaken, checker.LeftFree},
}

// details lists the variants of each cause.
var details = map[checker.CauseKind][]string{
	checker.ValidityMiscounted:   {"", checker.GoneKey},
	checker.ExpiredEarly:         {checker.ServerClock, checker.ClientClock},
	checker.RemovedByNonOwner:    {"", checker.ByFlush, checker.Overwritten},
	checker.RemovedByOwner:       {"", checker.LateTry},
	checker.RemovedByOperator:    {checker.ByDelete, checker.ByFlush},
	checker.LostInCrash:          {checker.Unsynced, checker.NoPersistence, checker.DiskLost},
	checker.HolderOutlivedLease:  {checker.ByPause, checker.ByLatePacket, checker.BySlowWork},
	checker.StuckBehindAbandoned: {"", checker.SessionLives, checker.KeptProlonged, checker.TurnNotTaken},
	checker.LeftFree:             {"", checker.AbandonedPlace},
}

// declared reads the checker's source and returns the names of the constants for causes: kinds and variants.
func declared(t *testing.T) (kinds, variants []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../checker/cause.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if v.Type != nil {
				kinds = append(kinds, text)
			} else {
				variants = append(variants, text)
			}
		}
	}
	return kinds, variants
}

// Every cause in the checker needs a headline. Without one, the headline would only repeat the checker's name for the
// cause.
func TestEveryCauseHasAHeadline(t *testing.T) {
	kinds, variants := declared(t)
	seen, seenVariants := map[string]bool{}, map[string]bool{}
	sentences := map[string]checker.Cause{}
	for law, causes := range causesOf {
		for _, kind := range causes {
			seen[string(kind)] = true
			for _, detail := range append([]string{}, orPlain(details[kind])...) {
				seenVariants[detail] = true
				for _, holders := range [][]history.Process{{"client-1", "client-2"}, {"client-1", "client-1"},
					{"client-1"}, nil} {
					f := checker.Finding{Law: law, Outcome: checker.Violated,
						Cause: checker.Cause{Kind: kind, Detail: detail}, Holders: holders}
					got := Broken(&history.History{}, &f)
					wellFormed(t, &f, got)
					if len(holders) == 2 && holders[0] != holders[1] {
						if other, twice := sentences[got]; twice {
							t.Errorf("%s and %s have the same headline: %s", f.Cause, other, got)
						}
						sentences[got] = f.Cause
					}
				}
			}
		}
	}
	for _, kind := range kinds {
		if !seen[kind] {
			t.Errorf("no law has a headline for %q", kind)
		}
	}
	for _, variant := range variants {
		if !seenVariants[variant] {
			t.Errorf("no headline was tried for the variant %q", variant)
		}
	}
	if len(kinds) < 25 || len(variants) < 7 {
		t.Errorf("read %d kinds and %d variants", len(kinds), len(variants))
	}
}

func orPlain(details []string) []string {
	if details == nil {
		return []string{""}
	}
	return details
}

func wellFormed(t *testing.T, f *checker.Finding, got string) {
	t.Helper()
	switch {
	case strings.Contains(got, "is broken: ") || strings.Contains(got, string(f.Law)):
		t.Errorf("%s, %s: only the fallback: %s", f.Law, f.Cause, got)
	case !strings.HasSuffix(got, ".") || strings.Count(got, ". ") > 0 || !unicode.IsUpper([]rune(got)[0]):
		t.Errorf("%s, %s: not one sentence: %q", f.Law, f.Cause, got)
	case strings.Contains(got, "  ") || strings.Contains(got, "them's") || len(got) > 160:
		t.Errorf("%s, %s: %q", f.Law, f.Cause, got)
	}
}

// eventAt returns a client's event at a time in seconds.
func eventAt(seconds float64, p history.Process, f history.F, typ history.Type) history.Event {
	e := history.Event{Time: history.Time(seconds * 1e9), Process: p, F: f, Type: typ, Lock: "lock",
		Attempt: history.Attempt(p + "/1")}
	if f == history.Acquire && typ == history.OK {
		e.Grant = &history.Grant{Granted: e.Time, Until: e.Time + 10e9}
	}
	return e
}

// paused returns the event that begins or ends a pause of client-1.
func paused(seconds float64, typ history.Type) history.Event {
	return history.Event{Time: history.Time(seconds * 1e9), Process: history.Nemesis, F: history.Pause, Type: typ,
		Fault: &history.Fault{On: []history.Process{"client-1"}, Ends: true}}
}

func TestHeadlinesSayWhoAndForHowLong(t *testing.T) {
	outlived := checker.Finding{Law: checker.MutualExclusion, Outcome: checker.Violated, Lock: "lock",
		Cause:   checker.Cause{Kind: checker.HolderOutlivedLease, Detail: checker.ByPause},
		Holders: []history.Process{"client-1", "client-2"}, About: "client-1"}
	long := []history.Event{eventAt(0, "client-1", history.Acquire, history.OK), paused(1, history.Invoke),
		eventAt(11, "client-2", history.Acquire, history.OK),
		eventAt(11.25, "client-2", history.Release, history.Invoke),
		paused(12, history.OK), eventAt(13, "client-1", history.Release, history.Invoke)}
	early := []history.Event{eventAt(0, "client-1", history.Acquire, history.OK), paused(1, history.Invoke),
		paused(2, history.OK),
		eventAt(11, "client-2", history.Acquire, history.OK), eventAt(12.5, "client-1", history.Crashed, history.OK)}
	for _, c := range []struct {
		events  []history.Event
		met     int
		witness []int
		change  func(*history.Header, *checker.Finding)
		want    string
	}{
		{long, 2, []int{0, 2}, nil, "Two clients were inside at once for 250 ms: client-1 had paused past its lease."},
		{early, 3, []int{0, 3}, nil,
			"Two clients were inside at once for 1.50 s: a pause made client-1 outlast its lease."},
		{early[:4], 3, []int{0, 3}, nil,
			"Two clients were inside at once, until the end of the recording: " +
				"a pause made client-1 outlast its lease."},
		{early[:4], 3, []int{0, 3}, func(h *history.Header, _ *checker.Finding) {
			h.End, h.Seen = 20e9, map[history.Process]history.Time{"client-1": 11.5e9, "client-2": 20e9}
		}, "Two clients were inside at once for at least 500 ms: a pause made client-1 outlast its lease."},
		{long, 2, []int{0, 2}, func(h *history.Header, _ *checker.Finding) {
			h.End, h.Seen = 20e9, map[history.Process]history.Time{"client-1": 11.1e9, "client-2": 20e9}
		}, "Two clients were inside at once for at least 100 ms: client-1 had paused past its lease."},
		{long, 2, []int{0, 2}, func(h *history.Header, _ *checker.Finding) {
			h.End, h.Seen = 20e9, map[history.Process]history.Time{"client-1": 13e9, "client-2": 20e9}
		}, "Two clients were inside at once for 250 ms: client-1 had paused past its lease."},
		{long, 2, []int{0, 2},
			func(h *history.Header, _ *checker.Finding) { h.Locks = []history.Lock{"lock", "other"} },
			`Two clients were inside "lock" at once for 250 ms: client-1 had paused past its lease.`},
		{long, 2, []int{0, 2}, func(_ *history.Header, f *checker.Finding) { f.Cause.Detail = checker.BySlowWork },
			"Two clients were inside at once for 250 ms: client-1 worked for longer than its lease."},
		{long, 2, []int{0, 2}, func(h *history.Header, f *checker.Finding) {
			h.Service, f.Cause = history.ZooKeeper, checker.Cause{Kind: checker.LostInFailover}
		}, "Two clients were inside at once for 250 ms: an election lost the key of client-1, although a " +
			"server had confirmed it."},
		{long, 2, []int{0, 2}, func(_ *history.Header, f *checker.Finding) {
			f.Law, f.Cause, f.About = checker.DeadlockFreedom, checker.Cause{Kind: checker.StuckBehindCrashed},
				"client-2"
			f.Holders = []history.Process{history.Probe}
		}, "The probe (one more client, which starts after the faults) waited too long for the lock: " +
			"client-2 had crashed " +
			"and left its lock behind."},
	} {
		h := &history.History{Events: slices.Clone(c.events)}
		f := outlived
		f.At, f.Witness = c.met, c.witness
		if c.change != nil {
			c.change(&h.Header, &f)
		}
		if got := Of(h, checker.Verdict{Findings: []checker.Finding{f}}); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// The end of another attempt by the same client does not end the overlap.
func TestOnlyTheTwoWhoMetEndTheOverlap(t *testing.T) {
	earlier := eventAt(11.1, "client-2", history.Lost, history.OK)
	earlier.Attempt = "client-2/0"
	h := &history.History{Events: []history.Event{eventAt(0, "client-1", history.Acquire, history.OK),
		eventAt(11, "client-2", history.Acquire, history.OK),
		earlier, eventAt(11.2, "client-3", history.Release, history.Invoke),
		eventAt(11.4, "client-1", history.Release, history.Invoke)}}
	f := checker.Finding{Law: checker.MutualExclusion, Outcome: checker.Violated, Lock: "lock", Witness: []int{0, 1},
		At: 1, Cause: checker.Cause{Kind: checker.CauseNotRecorded}, Holders: []history.Process{"client-1", "client-2"}}
	const want = "Two clients were inside at once for 400 ms: the history does not record the cause."
	if got := Broken(h, &f); got != want {
		t.Error(got)
	}
}

// If a request failed within the time limit, the headline does not say that it took too long.
func TestARequestThatFailedInTimeWasNotSlow(t *testing.T) {
	call := history.Event{Process: "client-1", Type: history.Invoke, F: history.Acquire, Lock: "lock"}
	back := call
	back.Index, back.Time, back.Type = 1, 4e6, history.Fail
	h := &history.History{Header: history.Header{Bound: 3e9}, Events: []history.Event{call, back}}
	f := checker.Finding{Law: checker.FaultTolerance, Outcome: checker.Violated,
		Cause: checker.Cause{Kind: checker.TooSlow}, Holders: []history.Process{"client-1"}, Witness: []int{0, 1}}
	if got, want := Broken(h, &f), "The acquire of client-1 failed, although enough servers were up."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, change := range []func(*history.Event){func(e *history.Event) { e.Time = 4e9 },
		func(e *history.Event) { e.Time, e.Type = 4e9, history.OK }} {
		change(&h.Events[1])
		want := "The acquire of client-1 took too long, although enough servers were up."
		if got := Broken(h, &f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// If several laws are violated, the headline is about the most serious violation.
func TestTheGravestLawComesFirst(t *testing.T) {
	var v checker.Verdict
	order := append(slices.Clone(checker.Laws), checker.Linearizability)
	slices.SortFunc(order, func(a, b checker.Law) int { return cmp.Compare(b.Gravity(), a.Gravity()) })
	for _, law := range order {
		cause := append(causesOf[law], "no order explains it")[0]
		v.Findings = append(v.Findings, checker.Finding{Law: law, Outcome: checker.Violated,
			Cause: checker.Cause{Kind: cause, Detail: orPlain(details[cause])[0]}})
		if got, want := Of(&history.History{}, v),
			Broken(&history.History{}, &v.Findings[len(v.Findings)-1]); got != want {
			t.Errorf("with %s broken as well: %s", law, got)
		}
	}
	if first := order[len(order)-1]; first != checker.MutualExclusion {
		t.Errorf("the gravest is %s", first)
	}
}

// A headline does not claim more than the laws say.
func TestHeadlinesOfCalmRuns(t *testing.T) {
	holds, unchecked, undecided := checker.Holds, checker.Unchecked, checker.Undecided
	shared := eventAt(0, "client-1", history.Acquire, history.OK)
	shared.Shared = true
	for _, c := range []struct {
		mutual, lease, deadlock checker.Outcome
		events                  []history.Event
		locks                   []history.Lock
		want                    string
	}{
		{holds, holds, holds, nil, nil,
			"No two clients were ever inside at once; 2 other laws were checked and held."},
		{holds, holds, unchecked, nil, nil,
			"No two clients were ever inside at once; 1 other law was checked and held."},
		{holds, unchecked, unchecked, nil, nil,
			"No two clients were ever inside at once; no other law was checked."},
		{holds, holds, undecided, nil, nil,
			"No two clients were ever inside at once; deadlock-freedom could not be decided."},
		{undecided, holds, undecided, nil, nil,
			"No violation was found; mutual-exclusion and deadlock-freedom could not be decided."},
		{unchecked, holds, holds, nil, nil, "No law was broken, but mutual exclusion was not checked."},
		{unchecked, unchecked, unchecked, nil, nil, "Nothing was checked."},
		{holds, unchecked, unchecked, []history.Event{shared}, nil,
			"No two clients were ever inside at once, readers aside; no other law was checked."},
		{holds, unchecked, unchecked, nil, []history.Lock{"a", "b"},
			"No two clients were ever inside one lock at once; no other law was checked."},
	} {
		v := checker.Verdict{Findings: []checker.Finding{{Law: checker.LeaseExclusion, Outcome: c.lease},
			{Law: checker.MutualExclusion, Outcome: c.mutual}, {Law: checker.DeadlockFreedom, Outcome: c.deadlock}}}
		h := &history.History{Header: history.Header{Locks: c.locks}, Events: c.events}
		if got := Of(h, v); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
