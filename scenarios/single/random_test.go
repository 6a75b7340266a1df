package single_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

// nonsense returns a run with a random history, which need not make sense.
func nonsense(r *rand.Rand) *single.Run {
	oneOf := func(s ...string) string { return s[r.IntN(len(s))] }
	h := &history.History{}
	if r.IntN(3) > 0 {
		h.Header.Clients = []history.Process{"client-1", "client-2", "probe"}
		h.Header.Servers = []history.Process{"redis-1", "redis-1-replica-1"}
		h.Header.Locks = []history.Lock{"a", "b", "c", "d"}[:r.IntN(5)]
		h.Header.End = history.Time(r.Int64N(1e12))
	}
	fs := []string{"acquire", "extend", "release", "lost", "read", "write", "crashed", "apply", "key-set",
		"key-prolonged", "key-gone", "pause", ""}
	lines := []string{"pause client-1 for 3s at 1s", "crash redis-1 losing everything at 1s",
		"jump redis-1 clock by +30s at 4s",
		"drift client-2 clock by -20000ppm from 0s", "cut client-1 -> redis-1 at 1s", "", "-",
		"crash client-1 after acquired", "\x1b[2J"}
	for range r.IntN(80) {
		e := history.Event{
			Index: len(h.Events), Time: history.Time(r.Int64N(1 << uint(1+r.IntN(40)))), Type: history.Type(r.IntN(6)),
			Process: history.Process(oneOf("client-1", "client-2", "redis-1", "resource", "nemesis", "probe", "",
				"分散-1", "client-99999999999999999999")),
			F: history.F(oneOf(fs...)), Lock: history.Lock(oneOf("a", "b", "c", "d", "e", "")),
			Shared:  r.IntN(4) == 0,
			Attempt: history.Attempt(oneOf("client-1/1", "client-1/2", "client-2/1", "probe/1", "", "/", "x")),
			Of:      history.Attempt(oneOf("client-1/1", "client-2/1", "", "/")),
			By:      history.Attempt(oneOf("client-1/1", "")),
			Token:   history.Token(r.IntN(3)), Value: oneOf(lines...),
			Why: history.Why(oneOf("", "expired", "deleted", "stale token")),
			Op:  history.F(oneOf("read", "write", "")), Until: history.Time(r.Int64N(1e12)),
		}
		if r.IntN(2) == 0 {
			on := []history.Process{e.Process, "client-1", "redis-1"}
			e.Fault = &history.Fault{On: on[:1], To: on[1:], Shift: e.Time}
			e.Grant = &history.Grant{Since: e.Time, Granted: e.Time - 5, Until: history.Time(r.Int64N(1e12)) - 1e11,
				Counted: on}
			if r.IntN(9) == 0 {
				e.Grant.Until, e.Until = history.Never, history.Never
			}
		}
		h.Events = append(h.Events, e)
	}
	run := &single.Run{History: h, OK: r.IntN(2) == 0, Repeat: "again"}
	for _, law := range checker.Laws {
		f := checker.Finding{Law: law, Outcome: checker.Outcome(r.IntN(4))}
		for range r.IntN(5) {
			f.Witness = append(f.Witness, r.IntN(100)-10)
		}
		run.Verdict.Findings = append(run.Verdict.Findings, f)
	}
	return run
}

func TestNoHistoryBreaksAReport(t *testing.T) {
	for seed := range testkit.Size(25, 100, 1500) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		run := nonsense(r)
		width := 60 + r.IntN(141)
		for _, l := range strings.Split(textOf(t, run, document.TextOptions{Width: width}), "\n") {
			if text.Cells(l) > width || strings.ContainsRune(l, 0x1b) {
				t.Fatalf("seed %d, width %d: %q", seed, width, l)
			}
		}
		if err := run.Document().HTML(io.Discard, "page.html"); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		// JSON may return an error for an event that is not allowed in a history file, but must never panic
		_, _ = run.Document().JSON("run")
	}
}

func TestReportsLeaveTheRunAlone(t *testing.T) {
	for seed := range 50 {
		run := nonsense(rand.New(rand.NewPCG(uint64(seed), 1)))
		before := fmt.Sprintf("%+v", run.History)
		textOf(t, run, document.TextOptions{})
		_ = run.Document().HTML(io.Discard, "page.html")
		if after := fmt.Sprintf("%+v", run.History); after != before {
			t.Fatalf("seed %d: the history changed", seed)
		}
	}
}

func BenchmarkText(b *testing.B) {
	run := singletest.Long()
	for b.Loop() {
		_ = run.Document().Text(io.Discard, document.TextOptions{Width: 100})
	}
}

func BenchmarkHTML(b *testing.B) {
	run := singletest.Long()
	for b.Loop() {
		_ = run.Document().HTML(io.Discard, "page.html")
	}
}
